"""What stands between a camera and a point."""

from __future__ import annotations

from math import radians

import numpy as np
import pytest
from simloop.models.arm import Arm, Tools
from simloop.models.robots.packbot import ROBOT
from simloop.models.sight import Sight

# A camera 1 m above a box of half size 0.1 m, in a housing of its own; beside them a box that a slide moves along x.
SCENE = """
<mujoco>
  <worldbody>
    <body pos="0 0 1"><geom name="housing" type="box" size="0.05 0.05 0.05"/><site name="camera"/></body>
    <geom name="table" type="box" size="0.1 0.1 0.1"/>
    <geom name="paint" type="box" size="9 9 0.1" pos="0 0 0.3" contype="0" conaffinity="0"/>
    <body name="shutter" pos="0.2 0 0.5">
      <joint type="slide" axis="1 0 0"/><geom name="shutter" type="box" size="0.2 0.2 0.01" mass="1"/>
    </body>
  </worldbody>
</mujoco>
"""
ON_THE_TABLE = (0.0, 0.0, 0.1)


@pytest.mark.parametrize(
    ("gap", "expected"),
    [(1e-6, ()), (1e-9, ()), (-1e-9, ("shutter",)), (-0.2, ("shutter",)), (-0.4 - 1e-9, ())],
    ids=["1e-6 beside", "1e-9 beside", "1e-9 in the way", "in the middle", "beyond"],
)
def test_a_box_blocks_the_view_exactly_when_it_reaches_the_line(gap: float, expected: tuple[str, ...]) -> None:
    arm = Arm(SCENE)
    arm.kinematics(np.array([gap]))
    assert Sight(arm, "camera").blocked_by(ON_THE_TABLE) == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ((0.0, 0.0, 0.1), ()),
        ((0.1, -0.1, 0.1), ()),
        ((0.0, 0.0, 0.1 - 1e-4), ("table",)),
        ((0.0, 0.0, -0.1), ("table",)),
        ((0.0, 0.0, 1.0), ()),
    ],
    ids=["on the near face", "on a corner", "under the face", "on the far face", "at the lens"],
)
def test_a_target_on_a_surface_is_seen_from_outside_only(
    target: tuple[float, float, float], expected: tuple[str, ...]
) -> None:
    arm = Arm(SCENE)
    arm.kinematics(np.array([1.0]))
    assert Sight(arm, "camera").blocked_by(target) == expected


def test_all_that_stands_in_the_way_is_named() -> None:
    arm = Arm(SCENE)
    arm.kinematics(np.array([-0.2]))
    assert Sight(arm, "camera").blocked_by((0.0, 0.0, -1.0)) == ("table", "shutter")


def packbot(**degrees: float) -> Arm:
    """PackBot at home but for the joints named."""
    arm = Arm(ROBOT.mjcf)
    q = np.array(ROBOT.home)
    for joint, angle in degrees.items():
        q[arm.model.joint(joint).id] = radians(angle)
    arm.kinematics(q)
    return arm


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [
        ({"camera_tilt": 0.0}, ()),
        ({"camera_tilt": 0.0, "gripper_roll": 45.0}, ("finger_left",)),
        ({}, ("palm",)),
        ({"gripper_roll": 90.0}, ()),
    ],
    ids=["along the link", "a finger in front", "from beside", "from beside between the fingers"],
)
def test_what_packbot_holds_is_hidden_by_palm_or_finger(degrees: dict[str, float], expected: tuple[str, ...]) -> None:
    arm = packbot(**degrees)
    assert Sight(arm, ROBOT.camera).blocked_by(Tools(arm, ROBOT.tools).position()) == expected


def test_packbot_s_second_link_hides_the_plate_until_the_arm_turns() -> None:
    on_the_plate = (-0.2, -0.05, 0.19)
    assert Sight(packbot(), ROBOT.camera).blocked_by(on_the_plate) == ("link2_tube",)
    assert Sight(packbot(turret=90.0), ROBOT.camera).blocked_by(on_the_plate) == ()
