"""After joints have failed: where loose links hang, what is left in reach, and the way there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from simloop.fmus.export import instantiate
from simloop.models.arm import Arm, Tools, Vector
from simloop.models.detour import Detour, DetourPlan, no_detour
from simloop.models.faults import Fault
from simloop.models.hanging import Hanging
from simloop.models.planner import OnlinePlanner, rest_at
from simloop.models.reach import REACHED, Reach, driven_jacobian
from simloop.models.robot import Robot

UPPER, FORE = 0.5, 0.3
# Turns in the x-z plane, under gravity; q = 0 points along x, a positive angle downwards.
TWO = f"""<mujoco><option gravity="0 0 -9.81"/><worldbody>
<body name="one"><joint name="a" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 {UPPER} 0 0" size="0.02" mass="1"/>
<body name="two" pos="{UPPER} 0 0"><joint name="b" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 {FORE} 0 0" size="0.02" mass="0.7"/><site name="tip" pos="{FORE} 0 0"/></body></body>
</worldbody></mujoco>"""
# A third link that leaves the plane.
THREE = TWO.replace(
    '<site name="tip"',
    f'<body pos="{FORE} 0 0"><joint name="c" axis="0.3 1 0.2"/><geom type="box" size="0.1 0.02 0.03" pos="0.1 0.02 0" '
    'mass="0.4"/></body><site name="tip"',
)
HEALTHY = np.zeros(2)


def fault(joint: int, kind: Fault, n: int = 2) -> Vector:
    faults = np.zeros(n)
    faults[joint] = kind
    return faults


def tip(q: Vector) -> Vector:
    a, b = q[0], q[0] + q[1]
    return np.array([UPPER * math.cos(a) + FORE * math.cos(b), 0.0, -UPPER * math.sin(a) - FORE * math.sin(b)])


@pytest.mark.parametrize("a", [-2.0, -0.4, 0.3, 1.2])
@pytest.mark.parametrize("b", [-1.0, 0.5, 2.0])
def test_a_loose_second_link_hangs_vertical(a: float, b: float) -> None:
    """The angles add up to a right angle down, whole turns aside."""
    q = Hanging(Arm(TWO), np.array([1])).settle(np.array([a, b]))
    assert q[0] == a
    assert math.cos(q[0] + q[1] - math.pi / 2) == pytest.approx(1.0, abs=1e-12)


def test_a_hanging_link_keeps_its_direction() -> None:
    """q₁ + q₂ stays, so the second joint follows the first with −1."""
    arm = Arm(TWO)
    hanging = Hanging(arm, np.array([1]))
    np.testing.assert_allclose(hanging.follow(hanging.settle(np.array([0.4, 0.0]))), [[-1.0, 0.0]], atol=1e-7)
    standing = np.array([0.4, -math.pi / 2 - 0.4])
    np.testing.assert_array_equal(hanging.follow(standing), [[0.0, 0.0]])


@pytest.mark.parametrize("loose", [[1], [2], [1, 2], [0, 2]])
def test_following_is_the_derivative_of_settling(loose: list[int]) -> None:
    arm, joints, d = Arm(THREE), np.array(loose), 1e-4
    hanging = Hanging(arm, joints)
    q = hanging.settle(np.array([0.3, 0.4, -0.2]))
    rates = hanging.follow(q)
    for other in sorted({0, 1, 2} - set(loose)):
        there, back = (hanging.settle(q + sign * d * np.eye(3)[other]) for sign in (1, -1))
        np.testing.assert_allclose(rates[:, other], (there - back)[joints] / (2 * d), atol=1e-5)


def test_the_driven_jacobian_equals_finite_differences_with_the_loose_joint_hanging() -> None:
    arm, faults, d = Arm(TWO), fault(1, Fault.LOOSE), 1e-5
    tools, hanging = Tools(arm, ("tip",)), Hanging(arm, np.array([1]))
    q = hanging.settle(np.array([0.3, 0.9]))
    J = driven_jacobian(arm, tools, q, faults)
    ends = [tip(hanging.settle(q + sign * d * np.eye(2)[0])) for sign in (1, -1)]
    np.testing.assert_allclose(J[:, 0], (ends[0] - ends[1]) / (2 * d), atol=1e-6)
    np.testing.assert_array_equal(J[:, 1], 0.0)


def reaches(goal: Vector, q: Vector, faults: Vector) -> bool:
    arm = Arm(TWO)
    tools = Tools(arm, ("tip",))
    found = Reach(arm, tools).find(goal, q, faults)
    if found is not None:
        assert np.abs(tip(found) - goal).max() <= REACHED, "what is found is there"
    return found is not None


@pytest.mark.parametrize("angle", np.linspace(-3.0, 3.0, 5))
@pytest.mark.parametrize(
    ("radius", "inside"), [(0.15, False), (0.19, False), (0.21, True), (0.5, True), (0.795, True), (0.81, False)]
)
def test_two_links_reach_an_annulus(radius: float, inside: bool, angle: float) -> None:
    """From the difference of their lengths to the sum."""
    goal = radius * np.array([math.cos(angle), 0.0, math.sin(angle)])
    assert reaches(goal, np.array([0.2, 0.4]), HEALTHY) == inside


def test_out_of_the_plane_nothing_is_in_reach() -> None:
    assert not reaches(np.array([0.5, 0.01, 0.0]), np.array([0.2, 0.4]), HEALTHY)


@pytest.mark.parametrize("angle", np.linspace(-3.0, 3.0, 5))
def test_with_the_second_joint_frozen_they_reach_a_circle(angle: float) -> None:
    """Its radius is by the law of cosines."""
    q = np.array([0.2, 1.1])
    radius = math.sqrt(UPPER**2 + FORE**2 + 2 * UPPER * FORE * math.cos(q[1]))
    for change, inside in ((0.0, True), (0.01, False), (-0.01, False)):
        goal = (radius + change) * np.array([math.cos(angle), 0.0, math.sin(angle)])
        assert reaches(goal, q, fault(1, Fault.FROZEN)) == inside


@pytest.mark.parametrize("angle", [-0.9, 0.2, 0.8])
def test_with_the_second_joint_loose_they_reach_a_circle_below_the_first_links(angle: float) -> None:
    """The second link hangs: the tip is FORE below the end of the first."""
    elbow = UPPER * np.array([math.cos(angle), 0.0, -math.sin(angle)])
    q = Hanging(Arm(TWO), np.array([1])).settle(np.array([0.2, 1.1]))
    below = np.array([0.0, 0.0, FORE])
    assert reaches(elbow - below, q, fault(1, Fault.LOOSE))
    assert not reaches(elbow - 0.9 * below, q, fault(1, Fault.LOOSE))


ACCELERATION, MAX_SPEED, H = 0.4, 0.25, 1 / 200
START = np.array([0.2, 1.1])


def travel(faults: Vector, goal: Vector, steps: int = 1200) -> tuple[Vector, DetourPlan]:
    """Joint positions that a robot which follows exactly is given, from START on."""
    arm = Arm(TWO)
    detour = Detour(arm, Tools(arm, ("tip",)), goal, acceleration=ACCELERATION, max_speed=MAX_SPEED)
    plan = no_detour(2)
    path = np.empty((steps + 1, 2))
    path[0] = START
    for k in range(steps):
        detour.step(plan, path[k], faults, H, path[k + 1])
    return path, plan


def frozen_goal() -> Vector:
    return tip(np.array([1.4, START[1]]))


def test_a_detour_ends_at_the_goal_at_rest_within_its_speed_and_acceleration() -> None:
    """The line of joint space is measured in 64 pieces, whose corners are the play that the acceleration has."""
    goal = frozen_goal()
    path, plan = travel(fault(1, Fault.FROZEN), goal)
    assert np.abs(tip(path[-1]) - goal).max() <= REACHED
    np.testing.assert_array_equal(path[-1], path[-2])
    np.testing.assert_array_equal(path[:, 1], START[1])
    tips = np.array([tip(q) for q in path])
    v = np.linalg.norm(np.diff(tips, axis=0), axis=1) / H
    assert v.max() == pytest.approx(MAX_SPEED, rel=1e-3), "far enough to cruise"
    along = np.diff(np.concatenate([[0.0], v, [0.0]])) / H
    assert np.abs(along).max() <= ACCELERATION * 1.01
    assert plan.way == pytest.approx(1.2 * np.linalg.norm(tips[0]), rel=1e-3)


def test_a_detour_to_what_is_out_of_reach_holds_still() -> None:
    path, _ = travel(fault(1, Fault.FROZEN), 1.1 * frozen_goal(), steps=20)
    np.testing.assert_array_equal(path, np.tile(START, (21, 1)))


def test_the_same_detour_is_the_same_to_the_last_bit() -> None:
    one, other = (travel(fault(1, Fault.FROZEN), frozen_goal())[0] for _ in range(2))
    assert one.tobytes() == other.tobytes()


def test_joints_that_cannot_be_driven_are_wanted_where_they_are() -> None:
    arm = Arm(TWO)
    detour = Detour(arm, Tools(arm, ("tip",)), frozen_goal(), acceleration=ACCELERATION, max_speed=MAX_SPEED)
    plan, q_d = no_detour(2), np.zeros(2)
    for swing in (1.1, 1.3, 0.7):
        detour.step(plan, np.array([0.2, swing]), fault(1, Fault.LOOSE), H, q_d)
        assert q_d[1] == swing


def planner(goal: Vector) -> OnlinePlanner:
    arm = Arm(TWO)
    limits = {"acceleration": ACCELERATION, "max_speed": MAX_SPEED, "band": 0.0, "trim": 0.0}
    return OnlinePlanner(arm, Tools(arm, ("tip",)), goal, **limits)


def test_a_fault_that_comes_back_begins_a_new_detour_from_where_the_robot_is() -> None:
    """Frozen, well, moved, frozen again: the command goes on from the robot, never back to the first detour."""
    goal, rest, frozen = frozen_goal(), np.zeros(2), fault(1, Fault.FROZEN)
    plans = planner(goal)
    plan = rest_at(START, plans.tools)
    for _ in range(1200):
        plans.step(plan, plan.q.copy(), rest, H, frozen)
    away = np.array([0.5, START[1]])
    plans.step(plan, away, rest, H, HEALTHY)
    plans.step(plan, away, rest, H, frozen)
    assert np.abs(plan.q - away).max() < MAX_SPEED * H


def test_a_joint_that_is_well_again_starts_from_rest() -> None:
    """Whatever speed the tool had when the joint failed."""
    goal, rest = frozen_goal(), np.zeros(2)
    plans = planner(goal)
    plan = rest_at(START, plans.tools)
    for _ in range(100):
        plans.step(plan, plan.q.copy(), rest, H, HEALTHY)
    assert plan.speed[0] > 0.19
    here = plan.q.copy()
    plans.step(plan, here, rest, H, fault(0, Fault.FROZEN))
    plans.step(plan, here, rest, H, HEALTHY)
    assert np.linalg.norm(tip(plan.q) - tip(here)) == pytest.approx(ACCELERATION * H**2, rel=1e-3)


@pytest.mark.parametrize("kind", [Fault.WEAK, Fault.STUCK, Fault.NOISY, Fault.LOST])
def test_a_fault_that_leaves_the_joint_its_motor_needs_no_detour(kind: Fault) -> None:
    """The tool goes on along its straight line."""
    goal, rest = tip(np.array([0.6, 0.5])), np.zeros(2)
    ends = []
    for faults in (HEALTHY, fault(1, kind)):
        plans = planner(goal)
        plan = rest_at(START, plans.tools)
        for _ in range(300):
            plans.step(plan, plan.q.copy(), rest, H, faults)
        ends.append(plan.q)
    np.testing.assert_array_equal(*ends)


def test_in_the_planner_unit_a_detour_rolls_back_exactly() -> None:
    robot = Robot("two", TWO, ("tip",), (float(START[0]), float(START[1])))
    straight, rolled = (instantiate("planner", robot) for _ in range(2))
    for unit in (straight, rolled):
        unit.view("goal")[:] = frozen_goal()
        unit.exit_initialization_mode()
    slot = None
    for k in range(200):
        for unit in (straight, rolled):
            unit.view("q")[:] = straight.view("q_d")
            unit.view("fault")[1] = Fault.FROZEN if k >= 20 else Fault.NONE
        straight.do_step(k * H, H)
        slot = rolled.save(slot)
        rolled.view("fault")[:] = [Fault.LOOSE, Fault.NONE] if k % 50 == 0 else [Fault.NONE, Fault.NONE]
        rolled.do_step(k * H, H)
        rolled.restore(slot)
        rolled.do_step(k * H, H)
        np.testing.assert_array_equal(rolled.view("q_d"), straight.view("q_d"))
    other = instantiate("planner", robot)
    other.exit_initialization_mode()
    other.restore(other._fmu_state_from_bytes(rolled._fmu_state_to_bytes(rolled.save())))
    for unit in (other, rolled):
        unit.do_step(1.0, H)
    np.testing.assert_array_equal(other.view("q_d"), rolled.view("q_d"))
