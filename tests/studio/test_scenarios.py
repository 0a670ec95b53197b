"""The sphere's scenarios give the figures that S1 prints, on FMU files."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from simloop.master import TimedWrite
from simloop.studio import scenarios
from simloop.studio.request import Finished, Request
from simloop.studio.runner import run_in_memory, run_to_folder
from simloop.studio.scenario import Variant

MASS_ERROR = {"plant.mass_error": 0.1}


def run_files(out: Path, name: str, step: str = "1/200", **more: object) -> Finished:
    request = Request(scenarios.load(name), step=step, **more)  # type: ignore[arg-type]
    return run_to_folder(request, out, csv=False, command="test")


@pytest.mark.parametrize("name", ["sphere-step", "sphere-offline"])
@pytest.mark.parametrize(("step", "error"), [("1/200", 2.5e-5), ("1/2000", 2.5e-7)])
def test_mass_error_gives_the_printed_force_difference_and_tracking_error(
    name: str, step: str, error: float, tmp_path: Path
) -> None:
    """S1, appendix A: 0.982 N, and 2.5e-5 m or 2.5e-7 m: the error falls with the square of the step."""
    finished = run_files(tmp_path, name, step, settings=MASS_ERROR)
    result = finished.outcome.result
    difference = result["control.tau[1]"] - result["control.tau_replay[1]"]
    assert difference[-1] == pytest.approx(0.982, rel=0.01)
    assert np.median(difference) == pytest.approx(0.982, rel=0.02)
    assert np.abs(result["plant.q[1]"] - result["planner.q_d[1]"]).max() == pytest.approx(error, rel=0.1)
    assert result["planner.q_d[1]"][-1] == pytest.approx(1.0, abs=1e-6)
    assert result["planner.q_d[1]"].max() <= 1.0
    assert all(figure.ok is not False for figure in finished.figures.values())


@pytest.mark.parametrize("name", ["sphere-step", "sphere-offline"])
def test_without_mass_error_the_plant_is_where_the_planner_wants_it(name: str, tmp_path: Path) -> None:
    result = run_files(tmp_path, name).outcome.result
    assert np.abs(result["plant.q[1]"] - result["planner.q_d[1]"]).max() < 1e-12
    assert result["plant.q[1]"][-1] == pytest.approx(1.0, abs=1e-6)
    assert abs(result["plant.v[1]"][-1]) < 1e-12


def test_the_plants_true_motion_has_the_planners_acceleration(tmp_path: Path) -> None:
    """S1, 5.4.1: 0.1 m/s² up, then down, even with a mass error; from the second half of each phase."""
    result = run_files(tmp_path, "sphere-step", settings=MASS_ERROR).outcome.result
    time, v = result["time"], result["plant.v[1]"]
    for first, last, expected in ((1.5, 3.0, 0.1), (4.5, 6.0, -0.1)):
        part = (time > first) & (time < last)
        assert np.polyfit(time[part], v[part], 1)[0] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("name", scenarios.names())
def test_the_same_run_gives_the_same_bytes_and_files_give_the_numbers_of_objects(name: str, tmp_path: Path) -> None:
    settings = {"plant.noise": 1e-6, **MASS_ERROR}
    if name == "iiwa-avoid":
        settings["planner.plan_ahead"] = False  # seconds each time; tests/models/test_guide.py has its bytes
    request = Request(scenarios.load(name), duration="3.5", seed=5, settings=settings)
    tables = []
    for folder in ("one", "two"):
        run_to_folder(request, tmp_path / folder, csv=False, command="test")
        tables.append(pyarrow.parquet.read_table(tmp_path / folder / "signals.parquet"))
    assert (tmp_path / "one/signals.parquet").read_bytes() == (tmp_path / "two/signals.parquet").read_bytes()
    assert tables[0].equals(tables[1])
    plain = run_in_memory(request).outcome.result
    assert list(plain.columns) == tables[0].column_names
    for column in tables[0].column_names:
        recorded = tables[0][column].to_numpy()
        assert recorded.dtype == plain[column].dtype
        assert recorded.tobytes() == plain[column].tobytes(), column


def test_a_mass_error_from_2_s_on_gives_the_printed_force_difference_from_then_on(tmp_path: Path) -> None:
    """S1, appendix A: 0.982 N at rest, mass error · m g, and none before 2 s or after 7 s. Files and objects give the
    same bits, twice."""
    writes = (TimedWrite(Fraction(2), "plant.mass_error", 0.1), TimedWrite(Fraction(7), "plant.mass_error", 0.0))
    finished = [run_files(tmp_path / folder, "sphere-step", writes=writes) for folder in ("one", "two")]
    assert (tmp_path / "one/signals.parquet").read_bytes() == (tmp_path / "two/signals.parquet").read_bytes()
    result = finished[0].outcome.result
    plain = run_in_memory(Request(scenarios.load("sphere-step"), writes=writes)).outcome.result
    for column in plain.columns:
        assert result[column].tobytes() == plain[column].tobytes(), column
    time, difference = result["time"], result["control.tau[1]"] - result["control.tau_replay[1]"]
    assert np.abs(difference[time <= 2.0]).max() < 1e-9
    for first, last, a in ((2.5, 3.0, 0.1), (4.0, 6.0, -0.1), (6.7, 7.0, 0.0)):
        part = difference[(time > first) & (time <= last)]
        np.testing.assert_allclose(part, 0.1 * (9.82 + a), rtol=1e-5)
    assert np.abs(difference[time > 7.5]).max() < 1e-9


def test_figures_whose_laws_know_one_mass_error_only_inform_where_it_changes() -> None:
    for write in (("plant.mass_error", 0.1), ("plant.noise", 1e-6), ("control.sigma[1]", 0.1)):
        request = Request(scenarios.load("sphere-step"), writes=(TimedWrite(Fraction(2), *write),))
        figures = run_in_memory(request).figures
        assert {key for key, figure in figures.items() if figure.ok is not None} == set(), write


def test_what_a_variant_changes_is_not_written_on_the_way() -> None:
    """Compared with a run without mass error, a mass error from 1 s on is the whole difference."""
    without = Variant("without mass error", {"plant.mass_error": 0.0})
    scenario = replace(scenarios.load("sphere-step"), variants=lambda given, h: (without,))
    writes = (TimedWrite(Fraction(1), "plant.mass_error", 0.1), TimedWrite(Fraction(1), "plant.f_ext[1]", 2.0))
    outcome = run_in_memory(Request(scenario, duration="2", writes=writes)).outcome
    other, parameters = outcome.variants["without mass error"]
    assert parameters["plant.mass_error"] == 0.0
    for result, expected in ((outcome.result, 0.982 - 2.0), (other, -2.0)):
        difference = result["control.tau[1]"][-1] - result["control.tau_replay[1]"][-1]
        assert difference == pytest.approx(expected, abs=0.02)


def test_another_seed_gives_other_noise() -> None:
    runs = [
        run_in_memory(Request(scenarios.load("sphere-step"), duration="0.1", seed=seed, settings={"plant.noise": 1e-6}))
        for seed in (1, 2)
    ]
    one, two = (finished.outcome.result["plant.q[1]"] for finished in runs)
    assert not np.array_equal(one, two)


@pytest.mark.parametrize("mass_error", [0.0, 0.1])
def test_contact_is_noticed_by_both_means_and_never_before_the_touch(mass_error: float) -> None:
    """S1, 7.1, with noise of 1e-6 m at h = 1/200 over twenty seeds."""
    for seed in range(20):
        settings = {"plant.noise": 1e-6, "plant.mass_error": mass_error}
        request = Request(scenarios.load("sphere-collision"), duration="3.5", seed=seed, settings=settings)
        finished = run_in_memory(request)
        result, figures = finished.outcome.result, finished.figures
        first_touch = result["time"][np.flatnonzero(result["collision.contact"])[0]]
        for means in ("contact_by_position", "contact_by_force"):
            first = result["time"][np.flatnonzero(result[f"control.{means}"])[0]]
            assert first >= first_touch
            assert first - first_touch <= 2 / 200
            assert figures[f"{means}_false_alarms"].value == 0
            assert figures[f"{means}_delay"].value == pytest.approx(first - figures["touch_time"].value)


def test_the_touch_is_where_mechanics_has_it(tmp_path: Path) -> None:
    """From rest with 0.1 m/s² the sphere covers the 0.5 m to the plane in √10 s."""
    finished = run_files(tmp_path, "sphere-collision", "1/2000")
    assert finished.figures["touch_time"].value == pytest.approx(np.sqrt(10.0), abs=1 / 2000)
    assert finished.figures["max_penetration"].value < 0.005


def test_without_contact_the_sphere_goes_through_the_plane_and_nothing_is_noticed() -> None:
    request = Request(scenarios.load("sphere-collision"), duration="4", settings={"plant.contact": "none"})
    finished = run_in_memory(request)
    assert finished.outcome.result["collision.distance"].min() < -0.05
    assert finished.figures["contact_by_force_time"].value is None
    assert finished.figures["contact_by_force_delay"].ok is False


@pytest.mark.parametrize(("step", "drift"), [("1/200", 0.01473), ("1/2000", 0.001473)])
def test_hand_guiding_drifts_by_the_mass_error_and_the_band_cuts_it_a_hundredfold(
    step: str, drift: float, tmp_path: Path
) -> None:
    """The law of the drift, e g h t, and S1, 7.2: re-seed only outside a band."""
    finished = run_files(tmp_path, "sphere-guiding", step)
    figures = finished.figures
    assert figures["drift"].value == pytest.approx(drift, rel=0.01)
    assert figures["drift_with_band"].value < drift / 100
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(figures[key].label in report for key in ("drift", "drift_with_band"))
    held = run_in_memory(Request(scenarios.load("sphere-guiding"), step=step, settings={"planner.band": 0.001}))
    assert held.figures["drift"].value == pytest.approx(drift, rel=0.01)
    assert held.figures["drift_ratio"].value < 0.01


def test_a_hand_still_guides_through_the_band() -> None:
    """A push of 20 N, above the guiding force of 5 N, moves the sphere, and it stays where the hand left it."""
    push = (TimedWrite(Fraction(1), "plant.f_ext", 20.0), TimedWrite(Fraction(2), "plant.f_ext", 0.0))
    settings = {"planner.band": 5.0 / 200**2}
    request = Request(scenarios.load("sphere-guiding"), settings=settings, writes=push)
    result = run_in_memory(request).outcome.result
    q, time = result["plant.q_true[1]"], result["time"]
    assert abs(q[time == 1.0][0]) < 1e-4
    moved = q[time == 2.05][0]
    assert moved > 0.05
    assert q[-1] == pytest.approx(moved, abs=1e-4)
