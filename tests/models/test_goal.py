"""Ways from goal to goal: within the joints' limits, apart from everything as coal sees it, and repeatable."""

from __future__ import annotations

import sys

import coal
import numpy as np
import pytest
from simloop.models.along_way import AlongWay
from simloop.models.arm import Arm, Vector
from simloop.models.clearance import Clearance, solid, solid_geoms
from simloop.models.free_space import FreeSpace
from simloop.models.gjk import Hull
from simloop.models.goal import HELD, GoalPlanner
from simloop.models.limits import JointLimits
from simloop.models.pose import ToolPose
from simloop.models.redundancy import Spacing
from simloop.models.redundant_planner import joints_at_rest
from simloop.models.robot import Ball, Box, Obstacle, Robot, scene_mjcf
from simloop.models.robots import mobile
from simloop.models.robots.iiwa import POSTURE_A, POSTURE_B, ROBOT
from simloop.models.swept import Sweep, reaches
from simloop.models.timing import TimedWay, curve_through, standing, time_within
from simloop.studio.scenarios.iiwa_goal import OBSTACLES

from tests.models.engines import convex

SPACING, ACCELERATION = 0.01, 5.0
A, B = np.array(POSTURE_A), np.array(POSTURE_B)


def make_space(obstacles: tuple[Obstacle, ...] = OBSTACLES, least: float = SPACING) -> FreeSpace:
    arm = Arm(scene_mjcf(ROBOT, obstacles))
    return FreeSpace(arm, ToolPose(arm, ROBOT.tools[0]), *arm.ranges, least)


def limits_of(arm: Arm) -> JointLimits:
    return JointLimits(*arm.ranges, np.array(ROBOT.max_speed), np.full(arm.n, ACCELERATION))


def sampled(way: TimedWay, count: int) -> tuple[Vector, float]:
    """Postures at even times, and the time between."""
    times = np.linspace(0.0, way.end, count)
    return np.array([way.posture(time) for time in times]), float(times[1])


@pytest.fixture(scope="module")
def space() -> FreeSpace:
    return make_space()


@pytest.fixture(scope="module")
def way(space: FreeSpace) -> TimedWay:
    return GoalPlanner(space, limits_of(space.arm), seed=2).plan(A, B)


def test_a_way_goes_from_rest_at_the_start_to_rest_at_the_goal(way: TimedWay) -> None:
    np.testing.assert_allclose(way.posture(0.0), A, atol=1e-12)
    np.testing.assert_allclose(way.posture(way.end), B, atol=1e-12)
    np.testing.assert_array_equal(way.posture(way.end + 1.0), way.posture(way.end))
    tiny = 1e-5
    for time in (tiny, way.end - tiny):
        assert np.abs(way.velocity(time)).max() <= ACCELERATION * tiny


def test_speeds_and_accelerations_by_differences_are_within_limits_and_nearly_used(way: TimedWay) -> None:
    q, h = sampled(way, 4001)
    speed = np.abs(np.diff(q, axis=0) / h) / np.array(ROBOT.max_speed)
    acceleration = np.abs(np.diff(q, 2, axis=0)) / h**2 / ACCELERATION
    assert speed.max() <= 1.0
    assert acceleration.max() <= 1.0
    # Time-optimal: at each instant some joint is at a limit; the plan takes nine tenths of each.
    used = np.maximum(speed[1:].max(axis=1), acceleration.max(axis=1))
    assert np.median(used) > 0.85


def test_the_velocity_is_the_derivative_of_the_posture(way: TimedWay) -> None:
    tiny = 1e-6
    for time in np.linspace(0.05, way.end - 0.05, 50):
        slope = (way.posture(time + tiny) - way.posture(time - tiny)) / (2 * tiny)
        np.testing.assert_allclose(way.velocity(time), slope, atol=2 * ACCELERATION * tiny)


def coal_shape(hull: Hull) -> tuple[coal.ShapeBase, float]:
    """A body as coal has it, and by how much it is to be swept."""
    if len(hull.vertices) == 1:
        return coal.Sphere(hull.radius), 0.0
    if len(hull.vertices) == 2:
        return coal.Capsule(hull.radius, 2.0 * float(np.abs(hull.vertices).max())), 0.0
    return convex(hull.vertices), hull.radius


def test_coal_finds_the_spacing_kept_all_along(space: FreeSpace, way: TimedWay) -> None:
    """Every pair that is watched, among them each obstacle."""
    arm = space.arm
    names = {name: geom for geom in solid_geoms(arm.model) for name in [solid(arm.model, geom)[0]]}
    pairs = [(names[a], names[b]) for a, b in Clearance(arm).names]
    assert {obstacle.name for obstacle in OBSTACLES} <= {name for pair in Clearance(arm).names for name in pair}
    shapes = {geom: coal_shape(solid(arm.model, geom)[1]) for geom in names.values()}
    nearest = np.inf
    for q in sampled(way, 300)[0]:
        arm.kinematics(q)
        poses = {
            geom: coal.Transform3s(arm.data.geom_xmat[geom].reshape(3, 3).copy(), arm.data.geom_xpos[geom].copy())
            for geom in shapes
        }
        for a, b in pairs:
            (one, swept_one), (other, swept_other) = shapes[a], shapes[b]
            request, result = coal.DistanceRequest(), coal.DistanceResult()
            apart = float(coal.distance(one, poses[a], other, poses[b], request, result)) - swept_one - swept_other
            nearest = min(nearest, apart)
    assert SPACING <= nearest < 2 * SPACING, "and it passes near by"


def test_straight_from_start_to_goal_is_through_pillar_ball_and_wedge() -> None:
    for obstacle in OBSTACLES:
        alone = make_space((obstacle,))
        nearest = min(alone.distance(A + part * (B - A)) for part in np.linspace(0.0, 1.0, 101))
        assert (nearest < -0.05) == (obstacle.name != "high_ball")


def test_the_same_seed_gives_the_same_bytes_and_another_seed_another_way(space: FreeSpace, way: TimedWay) -> None:
    limits = limits_of(space.arm)
    again = GoalPlanner(make_space(), limits, seed=2).plan(A, B)
    assert sampled(again, 50)[0].tobytes() == sampled(way, 50)[0].tobytes()
    assert again.end == way.end
    assert GoalPlanner(space, limits, seed=3).plan(A, B).end != way.end


def test_the_orientation_is_held_on_the_way() -> None:
    space = make_space((Ball("ball", (0.75, -0.15, -0.45), 0.1),))
    space.arm.kinematics(B)
    held = space.tool.quaternion().copy()
    way = GoalPlanner(space, limits_of(space.arm), held).plan(A, B)
    off = []
    for q in sampled(way, 300)[0]:
        space.arm.kinematics(q)
        off.append(float(np.linalg.norm(space.turned_off(held))))
    assert max(off) <= max(HELD, off[0]) + 1e-6


def test_an_orientation_that_start_and_goal_do_not_share_cannot_be_held(space: FreeSpace) -> None:
    with pytest.raises(ValueError, match=r"cannot be held: at the start it is turned by 90"):
        GoalPlanner(space, limits_of(space.arm), np.array([1.0, 0.0, 0.0, 1.0]) / np.sqrt(2.0)).plan(A, B)


def test_a_start_that_is_too_near_is_refused() -> None:
    space = make_space(least=0.05)
    with pytest.raises(ValueError, match=r"at the start bodies are 0.0336 m apart; a way needs 0.0505 m"):
        GoalPlanner(space, limits_of(space.arm)).plan(A, B)


def test_what_a_curve_jumps_over_between_its_knots_is_found() -> None:
    """A pin that is clear of the arm at both knots, and hit between them."""
    space = make_space((Box("pin", (0.68, -0.17, -0.45), (0.005, 0.005, 0.1)),))
    curve = curve_through(A + np.array([0.0, 0.4 - 0.25, 0.4 + 0.25, 1.0])[:, None] * (B - A))
    assert min(space.distance(q) for q in curve(curve.x)) > SPACING
    assert Sweep(space).too_near(curve, SPACING) == {1}
    assert Sweep(make_space(())).too_near(curve, SPACING) == set()


@pytest.mark.parametrize("robot", [ROBOT, mobile.ROBOT], ids=lambda robot: robot.name)
def test_no_point_of_a_body_moves_more_than_its_joint_reaches(robot: Robot) -> None:
    """Against the Jacobians of all corners, at random positions."""
    arm, random = Arm(robot.mjcf), np.random.default_rng(1)
    low, high = (np.clip(end, -np.pi, np.pi) for end in arm.ranges)
    most = reaches(arm, np.maximum(np.abs(low), np.abs(high)))
    worst = np.zeros(arm.n)
    for _ in range(100):
        arm.kinematics(random.uniform(low, high))
        for geom in range(arm.model.ngeom):
            body = int(arm.model.geom_bodyid[geom])
            if arm.model.body_weldid[body] and arm.model.geom_contype[geom]:
                corners = solid(arm.model, geom)[1].vertices @ arm.data.geom_xmat[geom].reshape(3, 3).T
                for corner in (corners + arm.data.geom_xpos[geom])[:8]:
                    worst = np.maximum(worst, np.linalg.norm(arm.point_jacobian(body, corner), axis=0))
    assert (worst <= most + 1e-9).all()
    assert (worst > 0.0).all()


def test_a_plan_pushed_off_the_way_waits_and_comes_back_within_limits(space: FreeSpace, way: TimedWay) -> None:
    h, limits = 1 / 200, limits_of(space.arm)
    along = AlongWay(space.arm, way, limits, Spacing(Clearance(space.arm), SPACING, 0.06, 5.0))
    plan, progress = joints_at_rest(A), 0.0
    for _ in range(100):
        progress = along.advance(plan, progress, h)
    np.testing.assert_allclose(plan.q, way.posture(0.5), atol=1e-9)
    plan.q[:] = way.posture(progress) + 0.09 * np.sign(way.posture(0.0) - way.posture(progress))
    plan.v[:] = 0.0
    waiting, before = along.advance(plan, progress, h) - progress, plan.v.copy()
    assert waiting < 0.2 * h
    for _ in range(2000):
        progress = along.advance(plan, progress, h)
        assert np.abs(plan.v - before).max() <= ACCELERATION * h * (1 + 1e-9)
        assert space.distance(plan.q) >= SPACING
        before = plan.v.copy()
    np.testing.assert_allclose(plan.q, B, atol=1e-6)


def test_a_way_that_goes_nowhere_stands() -> None:
    still = standing(A)
    assert still.end == 0.0
    np.testing.assert_array_equal(still.posture(1.0), A)
    np.testing.assert_array_equal(still.velocity(1.0), np.zeros(7))


def test_without_toppra_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "toppra", None)
    with pytest.raises(ValueError, match=r"toppra.*simloop\[planning\]"):
        time_within(curve_through(np.array([A, B])), limits_of(Arm(ROBOT.mjcf)))
