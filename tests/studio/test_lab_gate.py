"""S3's test sequence through planner, gate, control and plant as FMU files: where it stops, and that it stops."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from simloop.models.lab_gate import GATE, MOTORS
from simloop.studio import scenarios
from simloop.studio.runner import Finished, Request, run_in_memory, run_to_folder

# S3, 3.2, recomputed: 113; 74..90; 170; 58..117.
FIGURES = {
    "motor3_first_refused": 113,
    "motor4_low_at_119_141": 74,
    "motor4_high_at_119_141": 90,
    "motor3_high_at_90_90": 170,
    "motor4_low_at_90_170": 58,
    "motor4_high_at_90_170": 117,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Finished]:
    out = tmp_path_factory.mktemp("lab") / "run"
    return out, run_to_folder(Request(scenarios.load("lab-gate")), out, csv=False, command="test")


def test_the_record_has_the_figures_of_s3_and_they_hold(folder: tuple[Path, Finished]) -> None:
    record = json.loads((folder[0] / "run.json").read_text(encoding="utf-8"))
    assert {key: record["summary"][key]["value"] for key in FIGURES} == FIGURES
    assert [key for key, figure in record["summary"].items() if not figure["ok"]] == []
    assert "gate.fmu" in record["units"]


def test_nothing_illegal_reaches_the_plant(folder: tuple[Path, Finished]) -> None:
    result = folder[1].outcome.result
    q = np.stack([result[f"plant.q_true[{i}]"] for i in range(1, 7)], axis=1)
    wanted = np.stack([result[f"planner.q_d[{i}]"] for i in range(1, 7)], axis=1)
    assert all(GATE.check(row).allowed for row in q[::5])
    assert not all(GATE.check(row).allowed for row in wanted[::5])
    # It is told so, and one motor moves at a time.
    assert 0.0 < result["gate.allowed"].mean() < 1.0
    motors = np.linalg.solve(MOTORS.joints_per_motor, q.T).T
    moving = np.abs(np.diff(motors, axis=0)) > 1e-9
    assert moving.any(axis=1).mean() > 0.5
    # Where one motor's step ends within a macro step, the next one's begins there.
    assert moving.sum(axis=1).max() <= 2


def test_the_report_says_what_was_let_through_and_why_not(folder: tuple[Path, Finished]) -> None:
    report = (folder[0] / "report.html").read_text(encoding="utf-8")
    assert report.count("<td>stops it</td>") == 6
    assert report.count("<td>lets it through</td>") == 5
    assert "P7 is 1.54 mm below the top of the floor" in report
    assert "Motor 3: commanded and reached" in report


def test_the_gate_by_polyhedra_stops_within_2_degrees_also_with_a_heavier_arm() -> None:
    settings = {"gate.gate": "polyhedra", "plant.mass_error": 0.1}
    finished = run_in_memory(Request(scenarios.load("lab-gate"), settings=settings))
    for key, value in FIGURES.items():
        assert finished.figures[key].value == pytest.approx(value, abs=2.0)
    assert all(figure.ok for figure in finished.figures.values())


def test_other_steps_inform_and_are_not_judged_against_s3() -> None:
    finished = run_in_memory(Request(scenarios.load("lab-gate"), duration="4", settings={"gate.step": 0.01}))
    assert {key: figure.ok for key, figure in finished.figures.items() if key in FIGURES} == {
        "motor3_first_refused": None
    }
