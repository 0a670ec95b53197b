"""S3's test sequence through planner, gate, control and plant as FMU files: where it stops, and that it stops."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from simloop.master import Result
from simloop.models.lab_gate import GATE, MOTORS
from simloop.studio import scenarios
from simloop.studio.request import Request
from simloop.studio.runner import run_in_memory, run_to_folder

# S3, 3.2, recomputed: 113; 74..90; 170; 58..117.
FIGURES = {
    "motor3_first_refused": 113,
    "motor4_low_at_119_141": 74,
    "motor4_high_at_119_141": 90,
    "motor3_high_at_90_90": 170,
    "motor4_low_at_90_170": 58,
    "motor4_high_at_90_170": 117,
}


def test_the_sequence_stops_where_s3_says_and_nothing_illegal_reaches_the_plant(tmp_path: Path) -> None:
    finished = run_to_folder(Request(scenarios.load("lab-gate")), tmp_path, csv=False, command="test")
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert {key: record["summary"][key]["value"] for key in FIGURES} == FIGURES
    assert [key for key, figure in record["summary"].items() if not figure["ok"]] == []
    assert "gate.fmu" in record["units"]
    check_motion(finished.outcome.result)
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (report.count("<td>stops it</td>"), report.count("<td>lets it through</td>")) == (6, 5)
    assert "P7 is 1.54 mm below the top of the floor" in report
    assert "Motor 3: commanded and reached" in report


def check_motion(result: Result) -> None:
    q, wanted = (
        np.stack([result[f"{port}[{i}]"] for i in range(1, 7)], axis=1) for port in ("plant.q_true", "planner.q_d")
    )
    assert all(GATE.check(row).allowed for row in q)
    assert not all(GATE.check(row).allowed for row in wanted)
    assert 0.0 < result["gate.allowed"].mean() < 1.0
    moving = np.abs(np.diff(np.linalg.solve(MOTORS.joints_per_motor, q.T).T, axis=0)) > 1e-9
    assert moving.any(axis=1).mean() > 0.5
    # One motor moves at a time; where its step ends within a macro step, the next one's begins there.
    assert moving.sum(axis=1).max() <= 2


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
