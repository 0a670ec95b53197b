"""What a person may write while a run goes on, with no browser: the loop's side of a view, told what to hear."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from click.testing import Result as Answer
from simloop.master import Result, TimedWrite
from simloop.models.robots import iiwa
from simloop.studio import scenarios
from simloop.studio.archive import read_archive
from simloop.studio.cli import main
from simloop.studio.request import Cut, Request
from simloop.studio.runner import run_to_folder
from simloop.studio.session import Session, read_session
from simloop.studio.view.board import Board
from simloop.studio.view.live import ABOUT, Live, Window


class Heard:
    """A pipe that has one thing to say each time that the loop looks, or all `at_once`, and is then closed."""

    def __init__(self, *commands: dict[str, Any], at_once: bool = False) -> None:
        self._left = [{"do": "beat", "watchers": 1}, *commands]
        self._silent, self._at_once = False, at_once

    def poll(self) -> bool:
        self._silent = not self._silent and not self._at_once
        return self._silent or self._at_once

    def recv(self) -> dict[str, Any]:
        if not self._left:
            raise EOFError
        return self._left.pop(0)


class Chatter(Heard):
    """A pipe that never has said enough: after its commands, the same thing again and again."""

    def poll(self) -> bool:
        return True

    def recv(self) -> dict[str, Any]:
        return self._left.pop(0) if self._left else {"do": "write", "values": {"plant.nothing": 1.0}}


def watched(out: Path, commands: Heard, request: Request | None = None) -> tuple[list[str], Live]:
    """Half a second of the sphere, unless asked for something else, by the wall clock; what was told on the way."""
    told: list[str] = []

    class Listening(Live):
        def tell(self, notice: str, **more: Any) -> None:
            told.append(notice)
            super().tell(notice, **more)

    def open_window(shown: Mapping[str, Sequence[str]]) -> Window:
        board = Board(multiprocessing.get_context("spawn"), ABOUT + sum(map(len, shown.values())))
        return Window(board, commands, lambda: True)  # type: ignore[arg-type]

    live = Listening(open_window)
    request = request or Request(scenarios.load("sphere-step"), duration="1/2")
    run_to_folder(request, out, csv=False, command="test", live=live)
    return told, live


def replayed_to_the_same_bytes(folder: Path) -> Result:
    session = read_session(folder / "live" / "operator.json")
    request = Request(
        scenarios.load("sphere-step"),
        duration=str(session.duration),
        settings=session.parameters,
        replayed=session.writes,
        cut=session.cut,
    )
    result = run_to_folder(request, folder / "again", csv=False, command="test").outcome.result
    one, other = (folder / name / "signals.parquet" for name in ("live", "again"))
    assert one.read_bytes() == other.read_bytes()
    return result


def test_what_is_asked_for_before_the_first_step_counts_from_there(tmp_path: Path) -> None:
    """A sensor's noise would else be in the first row already, before the step that the write is recorded for."""
    _, live = watched(tmp_path / "live", Heard({"do": "write", "values": {"plant.noise": 1e-4}}, at_once=True))
    assert [(write.time, write.name) for write in live.writes] == [(0, "plant.noise")]
    result = replayed_to_the_same_bytes(tmp_path)
    error = result["plant.q[1]"] - result["plant.q_true[1]"]
    assert error[0] == 0.0
    assert error[1] != 0.0


def test_tunable_parameters_are_written_recorded_and_replayed_to_the_same_bytes(tmp_path: Path) -> None:
    commands = [
        {"do": "write", "values": {"plant.mass_error": 0.1, "plant.fault[1]": 3}},
        {"do": "write", "values": {"plant.noise": 1e-4, "plant.fault_size": 20.0}},
        {"do": "write", "values": {"plant.noise": 1e-4}},
    ]
    _, live = watched(tmp_path / "live", Heard(*commands))
    names = ["plant.mass_error", "plant.fault[1]", "plant.noise", "plant.fault_size[1]"]
    assert [write.name for write in live.writes] == names, "what changes nothing is no write"
    session = read_session(tmp_path / "live" / "operator.json")
    assert session.writes == tuple(live.writes)
    result = replayed_to_the_same_bytes(tmp_path)
    error = result["plant.q[1]"] - result["plant.q_true[1]"]
    begin = float(live.writes[2].time)
    assert not error[result["time"] <= begin].any()
    assert np.count_nonzero(error[result["time"] > begin]) > 10


def test_what_may_not_be_written_is_told_and_left_out(tmp_path: Path) -> None:
    wrong = {
        "plant.seed": (3, "fixed at the start"),
        "plant.tau[1]": (1.0, "driven by control.tau[1]"),
        "plant.q[1]": (1.0, "causality"),
        "plant.nothing": (1.0, "there is no variable"),
        "plant.noise": ("loud", "takes a finite number"),
        "plant.mass_error": (-2.0, "must be at least -1"),
    }
    told, live = watched(
        tmp_path / "live", Heard({"do": "write", "values": {name: v for name, (v, _) in wrong.items()}})
    )
    assert live.writes == []
    for name, (_, said) in wrong.items():
        assert [name in notice for notice in told if said in notice] == [True], name


def test_what_is_written_before_a_step_that_is_never_made_is_no_part_of_the_session(tmp_path: Path) -> None:
    """A write at the end of a run would be refused in the replay, and in runs to compare with."""
    last = [{"do": "write", "values": {"plant.mass_error": 0.1}}, {"do": "finish"}]
    _, live = watched(tmp_path / "live", Heard({"do": "write", "values": {"plant.noise": 1e-6}}, {"do": "beat"}, *last))
    assert [write.name for write in live.writes] == ["plant.noise", "plant.mass_error"]
    commands = Heard({"do": "pause"}, *last, at_once=True)
    _, live = watched(tmp_path / "paused", commands)
    assert live.writes == []


def test_a_page_that_never_stops_talking_does_not_stop_the_loop(tmp_path: Path) -> None:
    _, live = watched(tmp_path / "live", Chatter())
    assert read_archive(tmp_path / "live").record["rows"] == 101
    assert live.writes == []


def test_what_a_hand_holds_cannot_be_set_to_stay(tmp_path: Path) -> None:
    """Else the arm would go on when no one is there any more."""
    steered = scenarios.load("mobile-teleop").steered
    assert steered is not None
    moving = {"planner.twist[1]": 0.1, "planner.enable": 1.0}
    request = Request(steered(), duration="1/2")
    told, live = watched(tmp_path / "live", Heard({"do": "write", "values": moving}), request)
    assert live.writes == []
    assert [name for name in moving if f"{name} is held by a hand that is there; it cannot be set to stay" in told] == [
        *moving
    ]


def test_the_same_value_counts_again_after_something_else_was_written_in_between(tmp_path: Path) -> None:
    same = {"do": "write", "values": {"plant.mass_error": 0.1}}
    between = TimedWrite(Fraction(1, 5), "plant.mass_error", 0.3)
    request = Request(scenarios.load("sphere-step"), duration="1/2", writes=[between])
    _, live = watched(tmp_path / "live", Heard(same, *[{"do": "beat"}] * 10, same), request)
    assert [write.value for write in live.writes] == [0.1, 0.1]
    assert live.writes[0].time < between.time < live.writes[1].time


def test_a_speed_that_was_much_too_low_can_be_changed(tmp_path: Path) -> None:
    commands = Heard({"do": "speed", "value": 1e-9}, {"do": "beat"}, {"do": "speed", "value": 1.0})
    watched(tmp_path / "live", commands)
    assert read_archive(tmp_path / "live").record["rows"] == 101


def test_a_replay_plays_the_table_that_was_played(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("time,q[1]\n" + "".join(f"{k / 200!r},{1e-4 * k!r}\n" for k in range(1, 402)))
    request = Request(scenarios.load("sphere-offline"), duration="1/2", settings={"planner.table": str(table)})
    told, _ = watched(tmp_path / "live", Heard({"do": "again", "set": {"planner.table": "/etc/passwd"}}), request)
    assert "planner.table is a file, and given with --set when the run is started" in told
    table.unlink()
    words = ["run", "sphere-offline", "--replay", str(tmp_path / "live" / "operator.json")]
    answer = CliRunner().invoke(main, [*words, "--out", str(tmp_path / "again")])
    assert answer.exit_code == 0, answer.output
    one, other = (tmp_path / name / "signals.parquet" for name in ("live", "again"))
    assert one.read_bytes() == other.read_bytes()


def test_a_replay_takes_control_and_writes_from_the_session_and_refuses_another_robot(tmp_path: Path) -> None:
    """What was typed for the live run need not be typed again; what is typed again changes the replay."""
    step = scenarios.load("step")
    assert step.fit is not None
    asked = [TimedWrite(Fraction(1, 10), "plant.f_ext[1]", 2.0)]
    request = Request(replace(step.fit(iiwa.ROBOT), control="pid"), duration="1/2", writes=asked)
    watched(tmp_path / "live", Heard({"do": "write", "values": {"plant.mass_error": 0.1}}), request)

    def replay(*more: str) -> Answer:
        words = ["run", "step", "--replay", str(tmp_path / "live" / "operator.json"), *more]
        return CliRunner().invoke(main, [*words, "--out", str(tmp_path / "again")])

    assert replay("--robot", "iiwa").exit_code == 0
    signals = [(tmp_path / folder / "signals.parquet").read_bytes() for folder in ("live", "again")]
    assert signals[0] == signals[1]
    assert read_archive(tmp_path / "again").record["control"] == "pid"
    refused = replay("--robot", "yumi")
    assert refused.exit_code == 2
    assert "is a session with iiwa, not with yumi; give its --robot" in refused.output
    assert replay("--robot", "iiwa", "--control", "control").exit_code == 0
    assert (tmp_path / "again" / "signals.parquet").read_bytes() != signals[0]


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_replay_leaves_the_session_and_its_results_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the folders that are used when none is named: those of the README."""
    monkeypatch.chdir(tmp_path)
    live = Path("runs/sphere-step")
    watched(live, Heard({"do": "write", "values": {"plant.mass_error": 0.1}}))
    before = contents(live)
    words = ["run", "sphere-step", "--replay", str(live / "operator.json")]
    answer = CliRunner().invoke(main, words)
    assert answer.exit_code == 0, answer.output
    assert Path("runs/sphere-step-replay/signals.parquet").read_bytes() == before[live / "signals.parquet"]
    for same in (str(live), f"{live}/../sphere-step", str(live.absolute())):
        refused = CliRunner().invoke(main, [*words, "--out", same])
        assert refused.exit_code == 2
        assert refused.output.count("\n") == 1
        assert "is the folder of the session itself; name another one with --out" in refused.output
    assert contents(live) == before


def test_a_view_that_is_finished_before_the_first_step_leaves_no_trace(tmp_path: Path) -> None:
    watched(tmp_path / "live", Heard({"do": "finish"}, at_once=True))
    assert not (tmp_path / "live").exists()


def ended_by_hand(request: Request, out: Path) -> Path:
    """Watched, written to, and finished in the same look as a last write, which no step comes after."""
    commands = [
        {"do": "write", "values": {"plant.mass_error": 0.15}},
        {"do": "speed", "value": 1.0},
        {"do": "write", "values": {"plant.mass_error": 0.2}},
        {"do": "finish"},
    ]

    class Late(Heard):
        """The last two are heard in one look."""

        def poll(self) -> bool:
            if len(self._left) == 1:
                return True
            return super().poll()

    watched(out, Late(*commands), request)
    return out


def replay(folder: Path, *more: str) -> Answer:
    session = folder / "operator.json"
    scenario = read_session(session).scenario
    out = str(folder.with_name("again"))
    return CliRunner().invoke(main, ["run", scenario, "--replay", str(session), "--out", out, *more])


def test_a_run_that_a_person_ends_early_is_partial_and_so_is_its_replay(tmp_path: Path) -> None:
    """Of 25 s a few steps are run; what was asked for beyond them is no part of it."""
    asked = [TimedWrite(Fraction(20), "plant.f_ext[1]", 2.0)]
    live = ended_by_hand(Request(scenarios.load("iiwa-avoid"), writes=asked), tmp_path / "live")
    record = read_archive(live).record
    steps = record["rows"] - 1
    assert 0 < steps < 5000
    assert (record["status"], record["ended"]) == ("partial", "finished by hand")
    assert (record["duration"], record["asked"]) == (steps / 200, 25.0)
    assert [write["value"] for write in record["writes"]] == [0.15]
    assert record["summary"], "its figures are judged"
    notice = f"a person ended it at {steps / 200:g} s of 25 s; {steps} of its steps are recorded"
    assert notice in (live / "report.html").read_text(encoding="utf-8")
    answer = replay(live)
    assert answer.exit_code == 0, answer.output
    said = f"iiwa-avoid: finished by hand after {steps} steps of 1/200 s ({steps / 200:g} of 25 s)\n"
    assert answer.output.startswith(said)
    again = read_archive(tmp_path / "again").record
    same = ("status", "ended", "duration", "asked", "rows", "writes", "summary")
    assert {key: again[key] for key in same} == {key: record[key] for key in same}
    signals = [(tmp_path / folder / "signals.parquet").read_bytes() for folder in ("live", "again")]
    assert signals[0] == signals[1]


def test_what_a_person_leads_for_as_long_as_they_like_is_complete(tmp_path: Path) -> None:
    steered = scenarios.load("mobile-teleop").steered
    assert steered is not None
    live = ended_by_hand(Request(steered()), tmp_path / "live")
    record = read_archive(live).record
    assert (record["status"], record["ended"]) == ("complete", "finished by hand")
    assert "This run is partial" not in (live / "report.html").read_text(encoding="utf-8")
    said = replay(live).output
    steps = record["rows"] - 1
    assert said.startswith(f"mobile-teleop: finished by hand after {steps} steps of 1/200 s ({steps / 200:g} s)\n")
    signals = [(tmp_path / folder / "signals.parquet").read_bytes() for folder in ("live", "again")]
    assert signals[0] == signals[1]


def test_what_is_compared_with_a_run_that_a_person_ended_is_as_long(tmp_path: Path) -> None:
    """What was to be written later is not written to the variants either, and takes no results with it."""
    asked = [TimedWrite(Fraction(2), "plant.f_ext[1]", 2.0)]
    request = Request(scenarios.load("sphere-guiding"), writes=asked, settings={"plant.mass_error": 0.1})
    live = ended_by_hand(request, tmp_path / "live")
    assert read_archive(live).record["ended"] == "finished by hand"


def test_a_session_that_was_interrupted_or_failed_says_how_its_replay_ends() -> None:
    h, duration = Fraction(1, 200), Fraction(1)

    def cut(ended: str, steps: int) -> Cut | None:
        return Session("s", "r", "f", "control", h, steps, duration, ended, {}, ()).cut

    assert cut("interrupted", 40) == Cut(40 * h, "interrupted")
    assert cut("failed", 40) == Cut(41 * h, "interrupted"), "the step that failed is made again"
    assert cut("complete", 200) is None
    assert cut("failed", 200) is None, "in a variant"


@pytest.mark.parametrize(
    ("words", "own"), [(["--step", "1/100"], "1/200 s"), (["--duration", "1"], "1/2 s"), (["--seed", "3"], "7")]
)
def test_a_replay_refuses_what_the_session_has_of_its_own(tmp_path: Path, words: list[str], own: str) -> None:
    request = Request(scenarios.load("sphere-step"), duration="1/2", seed=7)
    watched(tmp_path / "live", Heard(), request)
    answer = replay(tmp_path / "live", *words)
    assert answer.exit_code == 2
    assert answer.output == f"simloop: {words[0]} does not go with --replay: the session has its own, {own}\n"
    assert not (tmp_path / "again").exists()
