"""The YuMi's step: both grippers 0.3 m outwards, as S1 moves them."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
from simloop.models.arm import Arm, Tools
from simloop.models.robots.yumi import ROBOT
from simloop.studio import scenarios
from simloop.studio.request import Finished, Request
from simloop.studio.runner import run_in_memory, run_to_folder


@functools.cache
def step(h: str, mass_error: float, band: float = 0.0) -> Finished:
    settings = {"plant.mass_error": mass_error, "planner.band": band}
    return run_in_memory(Request(scenarios.load("yumi-step"), step=h, duration="4", settings=settings))


def value(finished: Finished, key: str) -> float:
    found = finished.figures[key].value
    assert found is not None
    return found


def test_the_goals_are_the_thesis_step() -> None:
    """S1, 6.1.1: each gripper 0.3 m along y, opposite ways."""
    arm = Arm(ROBOT.mjcf)
    arm.kinematics(np.array(ROBOT.home))
    parameters = scenarios.load("yumi-step").parameters(1 / 200)
    move = np.array([parameters[f"planner.goal[{i}]"] for i in range(1, 7)]) - Tools(arm, ROBOT.tools).position()
    np.testing.assert_allclose(move, [0, 0.3, 0, 0, -0.3, 0], atol=1e-15)


@pytest.mark.parametrize("h", ["1/200", "1/2000"])
def test_ten_percent_heavier_it_follows_arrives_and_touches_nothing(h: str) -> None:
    finished = step(h, 0.1)
    assert finished.status == "complete"
    assert [key for key, figure in finished.figures.items() if figure.ok is False] == []
    for side in ROBOT.tools:
        assert value(finished, f"{side}_distance_to_goal") < 1e-3
    result = finished.outcome.result
    assert np.min(result["collision.distance"]) > 0.01
    assert not np.any(result["collision.contact"])


def test_the_joint_error_falls_with_the_square_of_the_step() -> None:
    coarse, fine = (value(step(h, 0.1), "max_joint_error") for h in ("1/200", "1/2000"))
    assert coarse / fine == pytest.approx(100, rel=0.05)


def test_with_a_true_model_the_grippers_arrive_to_a_micrometre() -> None:
    finished = step("1/200", 0.0)
    assert value(finished, "left_distance_to_goal") < 1e-6
    assert value(finished, "right_distance_to_goal") < 1e-6
    assert value(finished, "max_joint_error") < 1e-10
    assert value(finished, "drift_at_rest") < 1e-10


def test_both_arms_do_the_mirrored_move() -> None:
    """Mirrored robots and goals: the figures of both arms agree, and the joints up to their sign."""
    q = step("1/200", 0.1).outcome.result.vector("plant.q_true")
    mirror = np.array([-1, 1, -1, 1, -1, 1, -1])
    np.testing.assert_allclose(q[:, 7:], mirror * q[:, :7], atol=1e-6)


def test_the_spare_joint_drifts_for_the_mass_error_and_the_band_stops_it() -> None:
    free, held = step("1/200", 0.1), step("1/200", 0.1, band=1e-4)
    assert value(free, "drift_at_rest") > 1e-3
    assert value(held, "drift_at_rest") < 1e-9
    assert value(held, "left_distance_to_goal") < 1e-4


def test_off_line_on_unit_files_it_follows_the_table(tmp_path: Path) -> None:
    request = Request(scenarios.load("yumi-offline"), duration="4", settings={"plant.mass_error": 0.1})
    finished = run_to_folder(request, tmp_path / "out", csv=False, command="test")
    assert [key for key, figure in finished.figures.items() if figure.ok is False] == []
    assert (tmp_path / "out/table.csv").read_text(encoding="utf-8").startswith("time,q[1],q[2]")
    assert max(value(finished, f"{side}_distance_to_goal") for side in ROBOT.tools) < 1e-4
