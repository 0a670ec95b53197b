"""The goal planner as a unit: what cannot be reached is refused at the start, and a pose is reached like a posture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from simloop.fmus.export import build, instantiate
from simloop.fmus.slave import Slave
from simloop.master import FmuComponent
from simloop.master.errors import UnitError
from simloop.models.arm import Arm
from simloop.models.clearance import Clearance
from simloop.models.pose import ToolPose, quaternion_of_zyz, rotation_between
from simloop.models.robot import scene_mjcf
from simloop.models.robots.iiwa import POSTURE_B, ROBOT
from simloop.studio.scenarios.iiwa_goal import OBSTACLES

H = 1 / 200
# In front of the pillar and turned, m and rad.
POSE = (0.6, -0.4, 0.2, 0.3, 0.4, -0.2)


def set_vector(unit: Slave, name: str, values: tuple[float, ...]) -> None:
    unit.view(name)[:] = values


def test_a_pose_is_reached_from_home() -> None:
    unit = instantiate("goal", ROBOT, OBSTACLES)
    unit.set_text("goal", "pose")
    set_vector(unit, "pose", POSE)
    unit.exit_initialization_mode()
    np.testing.assert_array_equal(unit.view("q_d"), ROBOT.home)
    for k in range(1600):
        unit.view("q")[:] = unit.view("q_d")
        unit.do_step(k * H, H)
    arm = Arm(ROBOT.mjcf)
    tool = ToolPose(arm, ROBOT.tools[0])
    arm.kinematics(unit.view("q_d"))
    assert np.linalg.norm(tool.position() - POSE[:3]) < 1e-4
    turned = quaternion_of_zyz(np.array(POSE[3:]))
    assert np.degrees(np.linalg.norm(rotation_between(tool.quaternion(), turned))) < 0.01


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"posture[1]": 4.0}, r"joint_1 can be from -2\.967 to 2\.967 rad; the nearest feasible posture is \(2\.967,"),
        ({"goal": "pose", "pose[1]": 3.0}, r"goal pose \(3, .* is out of reach; the nearest feasible pose is \("),
        ({"goal": "place"}, "goal is 'place'; it can be posture or pose"),
        ({"max_joint_speed[2]": 0.0}, r"max_joint_speed\[2\] is 0; it must be greater than 0"),
        ({"spacing": 0.04, "posture[7]": 1.0}, r"is not feasible: .* and 0\.042 m are needed"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_moves(
    settings: dict[str, float | str], said: str, tmp_path: Path
) -> None:
    component = FmuComponent("planner", build("goal", ROBOT, tmp_path / "goal.fmu", OBSTACLES))
    for name, value in settings.items():
        component.set(name, value)
    with pytest.raises(UnitError, match=said):
        component.initialize(0.0)
    component.close()


def test_a_goal_inside_an_obstacle_comes_with_the_nearest_that_is_not() -> None:
    unit = instantiate("goal", ROBOT, OBSTACLES)
    inside = np.array(ROBOT.home) + 0.6 * (np.array(POSTURE_B) - np.array(ROBOT.home))
    set_vector(unit, "posture", tuple(inside))
    with pytest.raises(ValueError, match="nearest feasible posture is") as refused:
        unit.exit_initialization_mode()
    numbers = str(refused.value).rpartition("(")[2].rstrip(")").split(", ")
    clearance = Clearance(Arm(scene_mjcf(ROBOT, OBSTACLES)))
    clearance.update(inside)
    assert clearance.distance < 0.0
    clearance.update(np.array(numbers, dtype=float))
    assert clearance.distance >= unit.view("spacing")[0]


def test_a_state_goes_on_in_a_unit_that_was_never_started_with_its_parameters() -> None:
    """The way is planned again from the parameters alone, wherever on it the state is."""
    straight, other = (instantiate("goal", ROBOT, OBSTACLES) for _ in range(2))
    set_vector(straight, "posture", POSTURE_B)
    straight.exit_initialization_mode()
    other.exit_initialization_mode()
    for k in range(200):
        straight.view("q")[:] = straight.view("q_d")
        straight.do_step(k * H, H)
    other.restore(other._fmu_state_from_bytes(straight._fmu_state_to_bytes(straight.save())))
    for unit in (straight, other):
        unit.do_step(200 * H, H)
    assert other.view("q_d").tobytes() == straight.view("q_d").tobytes()
    assert np.abs(straight.view("q_d") - POSTURE_B).max() > 0.1, "it was on its way"
