"""A platform that cannot move sideways: it does not, its limits hold, and the gripper follows all the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simloop.models.arm import Arm, Vector
from simloop.models.limits import JointLimits
from simloop.models.pose import ToolPose
from simloop.models.redundancy import ByInertia, Evenly, Resolution
from simloop.models.redundant_planner import advance, joints_at_rest
from simloop.models.robots.iiwa import ROBOT as IIWA
from simloop.models.robots.mobile import ROBOT
from simloop.models.rolling import Rolling

HOME = np.array(ROBOT.home)
H = 1 / 200


def limits_of(arm: Arm, acceleration: float, room: float = 5.0) -> JointLimits:
    """The robot's, on a square of ± `room` m."""
    low, high = arm.model.jnt_range.T.copy()
    low[:2], high[:2] = -room, room
    return JointLimits(low, high, np.array(ROBOT.max_speed), np.full(arm.n, acceleration))


def make(arm: Arm, limits: JointLimits, evenly: bool = False) -> Resolution:
    weight = Evenly() if evenly else ByInertia()
    return Resolution(arm, ToolPose(arm, "tool"), limits, weight=weight, rolling=Rolling(arm, limits))


def sideways(q: Vector, v: Vector) -> float:
    return float(-np.sin(q[2]) * v[0] + np.cos(q[2]) * v[1])


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**31), acceleration=st.sampled_from([1.0, 5.0]), evenly=st.booleans())
def test_it_never_goes_sideways_and_no_limit_is_ever_broken(seed: int, acceleration: float, evenly: bool) -> None:
    """However the gripper is commanded, in a yard so small that the platform is at its ends again and again."""
    arm = Arm(ROBOT.mjcf)
    limits = limits_of(arm, acceleration, room=0.3)
    resolution = make(arm, limits, evenly)
    rng = np.random.default_rng(seed)
    q, v = HOME.copy(), np.zeros(9)
    for k in range(500):
        if k % 100 == 0:
            twist = 2.0 * rng.normal(size=6)
        new = resolution.velocity(q, v, twist, H)
        assert abs(sideways(q, new)) < 1e-12
        assert np.all(np.abs(new - v) <= limits.acceleration * H * (1 + 1e-9))
        assert np.all(np.abs(new) <= limits.speed * (1 + 1e-9))
        q, v = q + H * new, new
        assert np.all(q >= limits.low - 1e-9)
        assert np.all(q <= limits.high + 1e-9)


def test_it_drives_to_the_end_of_its_range_and_stops_there() -> None:
    arm = Arm(ROBOT.mjcf)
    resolution = make(arm, limits_of(arm, 5.0, room=0.3), evenly=True)
    q, v = HOME.copy(), np.zeros(9)
    for _ in range(600):
        v = resolution.velocity(q, v, np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0]), H)
        q = q + H * v
    assert q[0] == pytest.approx(0.3, abs=1e-3)
    assert abs(v[0]) < 1e-3


def test_too_fast_at_first_it_brakes_as_hard_as_it_may() -> None:
    """A plan can be taken up from a robot that is faster than the plan's limits: 1 m/s at 5 m/s², half for this."""
    arm = Arm(ROBOT.mjcf)
    resolution = make(arm, limits_of(arm, 5.0))
    v = np.array([1.5, *[0.0] * 8])
    new = resolution.velocity(HOME, v, np.array([1.5, *[0.0] * 5]), H)
    np.testing.assert_allclose(new[:2], [1.5 - 0.5 * 5.0 * H, 0.0], atol=1e-12)


def test_the_gripper_follows_where_it_can_reach() -> None:
    """Led to the side, which the platform alone cannot do: heading and arm make up for it."""
    arm = Arm(ROBOT.mjcf)
    tool = ToolPose(arm, "tool")
    resolution = make(arm, limits_of(arm, 5.0), evenly=True)
    plan = joints_at_rest(HOME)
    arm.kinematics(HOME)
    begin = tool.position().copy()
    for k in range(600):
        share = min(1.0, (k + 1) * H / 0.5)
        twist = share * np.array([0.05, 0.15, 0.0, 0.0, 0.0, 0.0])
        before = plan.q.copy()
        advance(plan, resolution, lambda t, q, twist=twist: twist, k * H, H, error_controlled=False)  # type: ignore[misc]
        arm.kinematics(before)
        np.testing.assert_allclose(tool.jacobian() @ plan.v, twist, atol=1e-9)
        assert abs(sideways(before, plan.v)) < 1e-12
    arm.kinematics(plan.q)
    assert (tool.position() - begin)[1] > 0.35
    assert np.abs(plan.q[2] - HOME[2]) > 0.05, "the platform turns"


def test_integrated_under_error_control_it_goes_along_its_heading() -> None:
    """The way of a step is a chord of the arc: along the mean heading, but for the third order of its turn."""
    arm = Arm(ROBOT.mjcf)
    limits = limits_of(arm, 5.0)
    resolution = make(arm, limits, evenly=True)
    plan = joints_at_rest(HOME)
    rng = np.random.default_rng(3)
    turned = 0.0
    for k in range(200):
        if k % 50 == 0:
            wish = 0.5 * rng.normal(size=6)
        before, fast = plan.q.copy(), plan.v.copy()
        advance(plan, resolution, lambda t, q, wish=wish: wish, k * H, H, error_controlled=True)  # type: ignore[misc]
        middle = 0.5 * (before + plan.q)
        assert abs(sideways(middle, plan.v)) < 1e-5
        assert np.all(np.abs(plan.v - fast) <= limits.acceleration * H * (1 + 1e-6))
        turned = max(turned, abs(float(plan.v[2])))
    assert turned > 0.1


def test_a_robot_without_a_platform_is_refused() -> None:
    arm = Arm(IIWA.mjcf)
    n = arm.n
    limits = JointLimits(np.full(n, -1.0), np.full(n, 1.0), np.ones(n), np.ones(n))
    with pytest.raises(ValueError, match="slides along x and y and a heading about z"):
        Rolling(arm, limits)
