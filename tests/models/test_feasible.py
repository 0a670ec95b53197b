"""What an arm cannot reach: the nearest that it can, against geometry; and what it can is never refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from simloop.models.arm import Arm, Tools, Vector
from simloop.models.clearance import Clearance
from simloop.models.feasible import REACHED, Points, Pose, check_goal, check_via_poses, nearest
from simloop.models.path import ViaPoses
from simloop.models.pose import ToolPose
from simloop.models.redundancy import Spacing
from simloop.models.robot import Ball, Robot, scene_mjcf
from simloop.models.robots import iiwa, mobile, packbot, sphere, yumi

from tests.models.test_detour import FORE, TWO, UPPER


@pytest.mark.parametrize("angle", [-2.5, 0.3, 1.9])
@pytest.mark.parametrize(("radius", "edge"), [(1.4, UPPER + FORE), (0.05, UPPER - FORE)])
def test_beyond_the_ring_of_two_links_the_nearest_is_on_its_edge(angle: float, radius: float, edge: float) -> None:
    arm = Arm(TWO)
    tools = Tools(arm, ("tip",))
    direction = np.array([math.cos(angle), 0.0, math.sin(angle)])
    q, off = nearest(arm, Points(tools, radius * direction), np.array([0.2, 0.4]))
    arm.kinematics(q)
    np.testing.assert_allclose(tools.position(), edge * direction, atol=1e-3)
    assert off == pytest.approx(abs(radius - edge), abs=1e-4)


def random_position(arm: Arm, random: np.random.Generator) -> Vector:
    low, high = arm.ranges
    low, high = np.where(np.isinf(low), -1.0, low), np.where(np.isinf(high), 1.0, high)
    return np.asarray(low + (high - low) * random.random(arm.n))


@pytest.mark.parametrize("robot", [iiwa.ROBOT, mobile.ROBOT, packbot.ROBOT, sphere.ROBOT, yumi.ROBOT])
def test_where_an_arm_has_been_it_can_be(robot: Robot) -> None:
    """Goals of all tools and poses of the first, taken from random joint positions, are found from home."""
    arm, random = Arm(robot.mjcf), np.random.default_rng(3)
    tools, tool, home = Tools(arm, robot.tools), ToolPose(arm, robot.tools[0]), np.array(robot.home)
    low, high = arm.ranges
    for _ in range(5):
        arm.kinematics(random_position(arm, random))
        goal = tools.position().copy()
        pose = Pose(tool, tool.position().copy(), tool.quaternion().copy())
        for target in (Points(tools, goal), pose):
            q, off = nearest(arm, target, home)
            assert off <= REACHED
            assert np.all((q >= low) & (q <= high))


def test_the_slopes_are_those_of_differences() -> None:
    arm = Arm(iiwa.ROBOT.mjcf)
    tool = ToolPose(arm, "tool")
    target = Pose(tool, np.array([0.4, 0.2, 0.1]), np.array([0.5, 0.5, -0.5, 0.5]))
    q, step = np.array(iiwa.POSTURE_A), 1e-6
    arm.kinematics(q)
    slopes = target.slopes().copy()
    for i in range(arm.n):
        ends = []
        for sign in (1, -1):
            moved = q.copy()
            moved[i] += sign * step
            arm.kinematics(moved)
            ends.append(target.off())
        np.testing.assert_allclose(slopes[:, i], (ends[0] - ends[1]) / (2 * step), atol=1e-8)


def via(arm: Arm, tool: ToolPose, q: Vector, *moves: tuple[float, float, float]) -> ViaPoses:
    """From the pose at q on, each moved by so much, m, a second apart."""
    arm.kinematics(q)
    positions = tool.position() + np.array([(0.0, 0.0, 0.0), *moves])
    return ViaPoses(np.arange(len(positions)) * 1.0, positions, np.tile(tool.quaternion(), (len(positions), 1)))


def test_a_via_point_out_of_reach_is_named_with_the_nearest_pose_that_is_not() -> None:
    """The iiwa's shoulder is 0.34 m along x from its wall; wrist and tool are 0.8 m and 0.126 m from there."""
    arm = Arm(iiwa.ROBOT.mjcf)
    tool, q = ToolPose(arm, "tool"), np.array(iiwa.POSTURE_A)
    check_via_poses(arm, tool, via(arm, tool, q, (0.05, 0.0, 0.05)), q, None)
    with pytest.raises(
        ValueError, match=r"^via point 3 at 2 s, \(.*\) m turned by zyz \(.*\) rad, is out of reach;"
    ) as e:
        check_via_poses(arm, tool, via(arm, tool, q, (0.05, 0.0, 0.05), (2.0, 0.0, 0.0)), q, None)
    text = str(e.value)
    assert "the nearest feasible pose is (" in text
    told = np.array([float(part) for part in text.split("the nearest feasible pose is (")[1].split(")")[0].split(",")])
    assert np.linalg.norm(told - (0.34, 0.0, 0.0)) <= 0.8 + 0.126 + 1e-3
    wanted = via(arm, tool, q, (2.0, 0.0, 0.0)).positions[1]
    assert np.linalg.norm(told - wanted) < np.linalg.norm(via(arm, tool, q).positions[0] - wanted)


def test_a_via_point_inside_an_obstacle_is_out_of_reach_and_the_nearest_keeps_its_distance() -> None:
    arm = Arm(mobile.ROBOT.mjcf)
    q = np.array(mobile.ROBOT.home)
    poses = via(arm, ToolPose(arm, "tool"), q, (0.6, 0.0, 0.0))
    ball = Ball("ball", tuple(poses.positions[1]), 0.1)
    arm = Arm(scene_mjcf(mobile.ROBOT, (ball,)))
    tool, clearance = ToolPose(arm, "tool"), Clearance(arm)
    spacing = Spacing(clearance, 0.02, 0.1, 5.0)
    found, off = nearest(arm, Pose(tool, poses.positions[1], poses.quaternions[1]), q, spacing)
    clearance.update(found)
    assert clearance.distance >= 0.02 - REACHED
    assert REACHED < off < 0.3
    check_via_poses(arm, tool, poses, q, None)


def test_a_goal_beside_the_slide_is_told_with_the_nearest_on_it() -> None:
    arm = Arm(sphere.ROBOT.mjcf)
    tools = Tools(arm, sphere.ROBOT.tools)
    with pytest.raises(
        ValueError, match=r"goal \(0.3, 0, 0.5\) m is out of reach; the nearest feasible is .*0.3 m off"
    ):
        check_goal(arm, tools, np.array([0.3, 0.0, 0.5]), np.zeros(1))
    check_goal(arm, tools, np.array([0.0, 0.0, 0.5]), np.zeros(1))
