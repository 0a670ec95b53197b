"""Controllers compared: every one stable, each with the error its law has, the table written whole."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from simloop.fmus.export import CONTROLLERS
from simloop.studio import compare, scenarios
from simloop.studio.cli import main
from simloop.studio.compare import Controller, Row, bench_of, controllers_at, measure
from simloop.studio.request import Request
from simloop.studio.runner import run_in_memory

E, G, A = 0.1, 9.82, 0.1
OMEGA = 30.0


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("compare") / "out"
    chosen = ("--robot", "sphere", "--step", "1/200", "--mass-error", "0", "--mass-error", "0.1", "--noise", "0")
    answer = call("compare-controllers", *chosen, "--out", out)
    assert answer.exit_code == 0, answer.output
    (out / "printed.txt").write_text(answer.output, encoding="utf-8")
    return out


def row_of(folder: Path, control: str, mass_error: float) -> Row:
    rows = [Row(**row) for row in json.loads((folder / "compare.json").read_text(encoding="utf-8"))["rows"]]
    (found,) = (row for row in rows if (row.control, row.mass_error) == (control, mass_error))
    return found


def test_the_table_is_printed_and_written_three_ways(compared: Path) -> None:
    printed = (compared / "printed.txt").read_text(encoding="utf-8").splitlines()
    widths = {len(line) for line in printed[1:-2] if line and "–" not in line}
    assert len(printed[2:-2]) == 6
    assert max(widths) - min(widths) <= 1
    with open(compared / "compare.csv", newline="", encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    rows = json.loads((compared / "compare.json").read_text(encoding="utf-8"))["rows"]
    assert [row["control"] for row in written] == [row["control"] for row in rows] == list(CONTROLLERS) * 2
    assert [float(row["max_error"]) for row in written] == [row["max_error"] for row in rows]
    assert (compared / "compare.md").read_text(encoding="utf-8").count("\n|") == 8


def test_every_controller_makes_the_error_that_its_law_has(compared: Path) -> None:
    ours, torque, pid = (row_of(compared, control, E) for control in CONTROLLERS)
    assert ours.final_error == pytest.approx(E * G / 200**2, rel=1e-3)
    assert torque.final_error == pytest.approx(E * G / OMEGA**2, rel=1e-3)
    assert torque.max_error == pytest.approx(E * (G + A) / OMEGA**2, rel=0.01)
    assert pid.final_error is not None
    assert pid.final_error < 1e-6
    assert pid.max_error is not None
    assert pid.rms_error is not None
    assert 3 * A / OMEGA**2 < pid.max_error < 6 * A / OMEGA**2


def test_with_a_true_model_the_two_that_have_one_make_no_error(compared: Path) -> None:
    for control in ("control", "computed_torque"):
        error = row_of(compared, control, 0.0).max_error
        assert error is not None
        assert error < 1e-12


def test_all_carry_the_same_weight(compared: Path) -> None:
    for control in CONTROLLERS:
        assert row_of(compared, control, E).rms_force == pytest.approx((1 + E) * G, rel=0.01)


def noticed(row: Row) -> bool:
    return row.position_delay is not None and row.position_delay < 0.03 and not row.position_false_alarms


def test_all_notice_the_plane_and_nothing_before(compared: Path) -> None:
    for control in CONTROLLERS:
        for mass_error in (0.0, E):
            row = row_of(compared, control, mass_error)
            assert noticed(row)
            assert row.force_false_alarms == 0
            assert (row.force_delay is None) == (control == "pid")


def test_with_noise_too_it_is_noticed_and_the_same_again_to_the_last_bit() -> None:
    bench = bench_of("sphere")
    first, again = (measure(bench, Controller("computed_torque", OMEGA), "1/200", E, 1e-5) for _ in range(2))
    assert first == again
    assert noticed(first)
    assert first.force_false_alarms == 0


@pytest.mark.parametrize("step", ["1/200", "1/2000"])
@pytest.mark.parametrize(("scenario", "duration"), [("sphere-offline", "0.4"), ("yumi-step", "0.3")])
def test_all_are_stable_at_both_steps(scenario: str, duration: str, step: str) -> None:
    """A heavier robot with a noisy sensor does not get away from its plan."""
    for controller in controllers_at(1 / 200):
        chosen = replace(scenarios.load(scenario), control=controller.control)
        settings = {"plant.mass_error": E, "plant.noise": 1e-7}
        finished = run_in_memory(Request(chosen, step=step, duration=duration, settings=settings))
        assert finished.status == "complete"
        result = finished.outcome.result
        error = np.abs(result.vector("plant.q_true") - result.vector("planner.q_d"))
        assert error.max() < 5e-3
        # Once it has settled under the mass error, the error changes no more than slowly.
        late = error[-len(error) // 4 :]
        assert np.ptp(late, axis=0).max() < 5e-4


def test_at_a_small_step_the_others_run_a_second_time_tuned_as_much_faster() -> None:
    assert [c.natural_frequency for c in controllers_at(1 / 200)] == [None, 30.0, 30.0]
    assert [c.natural_frequency for c in controllers_at(1 / 2000)] == [None, 30.0, 30.0, 300.0, 300.0]


def test_a_run_that_fails_is_told_in_its_row() -> None:
    """Tuned faster than its step allows, it blows up."""
    row = measure(bench_of("sphere"), Controller("computed_torque", 1000.0), "1/200", 0.0, 1e-5)
    assert "finite" in row.failure
    assert row.max_error is None
    assert row.failure in compare.line(row)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compare-controllers", "--robot", "nao"), "sphere and yumi, not for 'nao'"),
        (("compare-controllers", "--step", "0"), "step"),
        (("compare-controllers", "--step", "soon"), "step"),
        (("compare-controllers", "--mass-error", "-1"), "--mass-error is -1"),
        (("compare-controllers", "--noise", "nan"), "nan"),
        (("compare-controllers", "--noise", "-1"), "noise is -1"),
        (("run", "sphere-step", "--control", "lqr"), "control, computed_torque or pid"),
    ],
)
def test_bad_input_is_one_sentence(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    answer = call(*arguments, "--out", tmp_path / "out")
    assert answer.exit_code == 2
    assert said in answer.output
    assert answer.output.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    answer = call("compare-controllers", "--robot", "sphere", "--step", "1/200", "--out", tmp_path)
    assert answer.exit_code == 2
    assert "--out" in answer.output
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_scenario_runs_on_the_unit_that_is_named(tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = call("run", "sphere-step", "--control", "pid", "--set", "plant.mass_error=0.1", "--out", out)
    assert answer.exit_code == 0, answer.output
    assert "FAIL" not in answer.output
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert record["control"] == "pid"
    assert set(record["units"]) == {"planner.fmu", "pid.fmu", "plant.fmu", "collision.fmu"}
    assert record["summary"]["plant_distance_to_goal"]["value"] < 1e-9
