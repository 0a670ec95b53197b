"""The parts of a view, with no browser: the board, the hand, the player, sessions."""

from __future__ import annotations

import json
import math
import multiprocessing
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

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
from simloop.studio.view.server import LoopSource
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


def test_a_viewer_waits_for_no_loop_and_the_loop_for_no_half_of_a_message() -> None:
    """What does not fit into a pipe at once is not begun."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe(duplex=False)
    source = LoopSource(Board(multiprocessing.get_context("spawn"), 1), theirs)
    source.command({"do": "again", "set": {"x": "1" * 14_000}})
    assert not ours.poll()
    for _ in range(5_000):
        source.command({"do": "step", "count": 1})
    heard = 0
    while ours.poll():
        assert ours.recv() == {"do": "step", "count": 1}
        heard += 1
    assert 100 < heard < 5_000


def test_a_session_comes_back_exactly(tmp_path: Path) -> None:
    h = Fraction(1, 3000)
    writes = (TimedWrite(7 * h, "planner.twist[1]", 0.1), TimedWrite(10**7 * h, "plant.fault[2]", 2.0))
    asked = (TimedWrite(Fraction(1, 7), "plant.f_ext[1]", 20.0),)
    robot = ("mobile", fingerprint_of(ROBOT), "pid")
    parameters = {"plant.seed": 3, "plant.contact": "none"}
    ended = (Fraction(4000), "finished by hand")
    session = Session("mobile-teleop", *robot, h, 10**7 + 1, *ended, parameters, writes, asked)
    write_session(tmp_path / "operator.json", session)
    assert read_session(tmp_path / "operator.json") == session


def refusal_of_session(path: Path) -> str:
    with pytest.raises(SimloopError) as refused:
        read_session(path)
    return str(refused.value)


GOOD_SESSION: dict[str, Any] = {
    **{"scenario": "s", "robot": "r", "fingerprint": "f", "control": "control", "step": "1/200", "steps": 9},
    **{"duration": "1", "ended": "finished by hand", "parameters": {}, "writes": [[3, "plant.noise", 0.1]]},
    "asked": [["1/7", "plant.f_ext[1]", "20"]],
}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"step": None}, "its 'step' is not a text"),
        ({"step": "1/0"}, "the step is '1/0'; it must be a time in s such as 1/2000 or 0.005"),
        ({"steps": math.inf}, "its 'steps' is not a whole number"),
        ({"steps": True}, "its 'steps' is not a whole number"),
        ({"parameters": []}, "its 'parameters' is not a table"),
        ({"parameters": {"plant.seed": None}}, "its parameter 'plant.seed' is neither a number nor a text"),
        ({"writes": {}}, "its 'writes' is not a list"),
        ({"writes": [[0.5, "plant.noise", 1]]}, '[0.5, "plant.noise", 1] in it is not a time, a name and a value'),
        ({"writes": [3]}, "3 in it is not a time, a name and a value"),
        ({"asked": [["1/0", "plant.f_ext[1]", 1]]}, '["1/0", "plant.f_ext[1]", 1] in it is not'),
        ({"asked": [["1", "plant.f_ext[1]", {}]]}, '["1", "plant.f_ext[1]", {}] in it is not'),
    ],
)
def test_what_is_wrong_with_a_session_is_told(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    path = tmp_path / "operator.json"
    path.write_text(json.dumps(GOOD_SESSION))
    assert read_session(path).cut is not None
    path.write_text(json.dumps(GOOD_SESSION | changes))
    said = refusal_of_session(path)
    assert said.startswith(f"'{path}' is not a recorded session such as a live run writes as operator.json: {told}")


@pytest.mark.parametrize("key", GOOD_SESSION)
def test_what_a_session_lacks_is_told(tmp_path: Path, key: str) -> None:
    path = tmp_path / "operator.json"
    path.write_text(json.dumps({name: value for name, value in GOOD_SESSION.items() if name != key}))
    assert refusal_of_session(path).endswith(f"it has no '{key}'")


@pytest.mark.parametrize(
    ("data", "told"), [(b"", "it is not JSON"), (b"\xff", "it is not JSON"), (b"[]", "it is not a table")]
)
def test_what_is_no_session_is_told(tmp_path: Path, data: bytes, told: str) -> None:
    path = tmp_path / "operator.json"
    assert refusal_of_session(path) == f"the session '{path}' cannot be read: there is no such file"
    path.write_bytes(data)
    assert refusal_of_session(path).endswith(told)


def refusal_of(folder: Path) -> str:
    """What follows the folder's name."""
    with pytest.raises(SimloopError) as refused:
        read_archive(folder)
    name, _, reason = str(refused.value).partition(" holds no results that can be read: ")
    assert name == repr(str(folder))
    return reason


def test_what_is_no_folder_of_results_is_told(tmp_path: Path) -> None:
    assert refusal_of(tmp_path) == "run.json is missing"
    assert refusal_of(tmp_path / "none") == "there is no such folder"


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("run.json", b"[]", "run.json is not the record of a run"),
        ("run.json", b"\xff", "run.json is not JSON"),
        ("run.json", b'{"scenario": "yumi-step"}', "run.json has no 'plant'"),
        ("run.json", b'{"scenario": 3}', "'scenario' in run.json is not a text"),
        ("run.json", b'{"system": "car"}', "they are those of a package, which has no robot to show"),
        ("signals.parquet", None, "signals.parquet is missing"),
        ("signals.parquet", b"PAR1", "signals.parquet is not a whole Parquet file"),
        ("units/plant.fmu", None, "units/plant.fmu is missing"),
        ("units/plant.fmu", b"PK", "units/plant.fmu is damaged"),
    ],
)
def test_what_is_wrong_with_results_is_told(
    recorded: Path, tmp_path: Path, name: str, data: bytes | None, told: str
) -> None:
    shutil.copytree(recorded, tmp_path / "run")
    (tmp_path / "run" / name).unlink()
    if data is not None:
        (tmp_path / "run" / name).write_bytes(data)
    assert refusal_of(tmp_path / "run").startswith(told)


@pytest.mark.parametrize("key", ["plant", "status", "command", "parameters", "summary", "account", "units", "versions"])
def test_what_a_record_lacks_is_told(recorded: Path, tmp_path: Path, key: str) -> None:
    shutil.copytree(recorded, tmp_path / "run")
    record = json.loads((recorded / "run.json").read_text(encoding="utf-8"))
    (tmp_path / "run" / "run.json").write_text(json.dumps({k: v for k, v in record.items() if k != key}))
    assert refusal_of(tmp_path / "run") == f"run.json has no '{key}'"


@pytest.mark.parametrize(("rows", "h"), [(2, 0.1), (2001, 1 / 2000), (200_001, 1 / 200)])
def test_a_replay_shows_the_first_and_the_last_row_evenly(rows: int, h: float) -> None:
    shown = frame_rows(np.arange(rows) * h)
    assert (shown[0], shown[-1]) == (0, rows - 1)
    assert np.ptp(np.diff(shown)) <= 1
    assert len(shown) <= 3000
