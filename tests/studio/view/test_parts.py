"""The parts of a view, with no browser: the board, the hand, the player, sessions."""

from __future__ import annotations

import multiprocessing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from simloop.master import SimloopError, TimedWrite
from simloop.models.arm import Arm
from simloop.models.robots.iiwa import ROBOT
from simloop.studio.archive import read_archive
from simloop.studio.session import Session, fingerprint_of, read_session, write_session
from simloop.studio.view.board import Board
from simloop.studio.view.hand import STRONGEST, Hand, Pull
from simloop.studio.view.live import ABOUT
from simloop.studio.view.recorded import Player
from simloop.studio.view.stage import frame_rows


def _write_rows(board: Board, rows: int) -> None:
    for k in range(rows):
        board.write(np.full(100, float(k)))
        board.tell(k=k)


def test_a_reader_never_sees_half_a_row() -> None:
    context = multiprocessing.get_context("spawn")
    board = Board(context, 100)
    writer = context.Process(target=_write_rows, args=(board, 30_000))
    writer.start()
    last, seen = -1.0, 0
    while writer.is_alive() or last < 29_999:
        found = board.read()
        if found is None:
            continue
        assert np.ptp(found[1]) == 0.0
        assert found[1][0] >= last
        seen += found[1][0] > last
        last = found[1][0]
    writer.join()
    assert seen > 1
    assert board.read()[2] == {"k": 29_999}  # type: ignore[index]


def test_a_pull_does_the_work_of_its_spring() -> None:
    """Virtual work: joint forces times a small joint motion are the spring's force times the point's motion."""
    arm = Arm(ROBOT.mjcf)
    hand, body, local = Hand(arm), arm.model.nbody - 1, np.array([0.02, -0.03, 0.05])
    rng = np.random.default_rng(3)
    q = np.array(ROBOT.home) + 0.3 * rng.standard_normal(arm.n)

    def point(q: np.ndarray) -> np.ndarray:
        arm.kinematics(q)
        return np.array(arm.data.xpos[body] + arm.data.xmat[body].reshape(3, 3) @ local)

    there = point(q)
    for away in (np.array([0.05, 0.02, -0.04]), np.array([3.0, 0.0, 0.0])):
        force = hand.joint_forces(Pull(body, tuple(local), tuple(there + away)), q, np.zeros(arm.n))
        spring = 400.0 * away if np.linalg.norm(400.0 * away) < STRONGEST else np.array([STRONGEST, 0.0, 0.0])
        for _ in range(5):
            dq = 1e-6 * rng.standard_normal(arm.n)
            moved = (point(q + dq) - point(q - dq)) / 2
            np.testing.assert_allclose(force @ dq, spring @ moved, rtol=1e-6, atol=1e-12)


def test_the_player_keeps_time_and_obeys(recorded: Path) -> None:
    wall = [10.0]
    player = Player(read_archive(recorded), clock=lambda: wall[0])

    def shown_at(later: float) -> float:
        wall[0] += later
        return float(player.read()[1][0])

    assert shown_at(0.5) == pytest.approx(0.5)
    player.command({"do": "speed", "value": 2.0})
    assert shown_at(0.25) == pytest.approx(1.0)
    player.command({"do": "pause"})
    assert shown_at(5.0) == pytest.approx(1.0)
    player.command({"do": "step", "count": 3})
    assert shown_at(1.0) == pytest.approx(1.0 + 3 / 200)
    player.command({"do": "seek", "time": 0.1})
    assert shown_at(1.0) == pytest.approx(0.1)
    row = player.read()[1]
    q = read_archive(recorded).result.vector("plant.q_true")[20]
    np.testing.assert_array_equal(row[ABOUT : ABOUT + 14], q)
    player.command({"do": "play"})
    assert shown_at(100.0) == 2.0


def test_a_session_comes_back_exactly(tmp_path: Path) -> None:
    h = Fraction(1, 3000)
    writes = (TimedWrite(7 * h, "planner.twist[1]", 0.1), TimedWrite(10**7 * h, "plant.fault[2]", 2.0))
    asked = (TimedWrite(Fraction(1, 7), "plant.f_ext[1]", 20.0),)
    robot = ("mobile", fingerprint_of(ROBOT), "pid")
    parameters = {"plant.seed": 3, "plant.contact": "none"}
    session = Session("mobile-teleop", *robot, h, 10**7 + 1, parameters, writes, asked)
    write_session(tmp_path / "operator.json", session)
    assert read_session(tmp_path / "operator.json") == session


@pytest.mark.parametrize("text", ["", "[]", '{"scenario": "x"}', '{"scenario":"x","step":"1/0","steps":1}'])
def test_what_is_no_session_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "operator.json"
    path.write_text(text)
    with pytest.raises(SimloopError, match=r"is not a recorded session|the step is"):
        read_session(path)


def test_what_is_no_folder_of_results_is_told(tmp_path: Path) -> None:
    with pytest.raises(SimloopError, match="holds no results that can be read"):
        read_archive(tmp_path)


@pytest.mark.parametrize(("rows", "h"), [(2, 0.1), (2001, 1 / 2000), (200_001, 1 / 200)])
def test_a_replay_shows_the_first_and_the_last_row_evenly(rows: int, h: float) -> None:
    shown = frame_rows(np.arange(rows) * h)
    assert (shown[0], shown[-1]) == (0, rows - 1)
    assert np.ptp(np.diff(shown)) <= 1
    assert len(shown) <= 3000
