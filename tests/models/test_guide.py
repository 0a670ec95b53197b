"""Ways around obstacles: found in free space, kept apart from everything, on the path where that is free."""

from __future__ import annotations

import numpy as np
import pytest
from simloop.models.arm import Arm, Vector
from simloop.models.band import Band, Wanted
from simloop.models.free_space import FreeSpace, Wish
from simloop.models.guide import LEASH, Along, Guide, GuidePlanner
from simloop.models.path import PosePath, ViaPoses
from simloop.models.pose import ToolPose
from simloop.models.robot import Ball, Robot, scene_mjcf
from simloop.models.search import Search, length

# Four joints in a plane that it does not leave: two more than a point in it needs.
PLANAR = """<mujoco><worldbody><body name="a"><joint name="a" axis="0 0 1" range="-170 170"/>
  <geom name="a" type="capsule" fromto="0 0 0 0.4 0 0" size="0.02"/>
  <body name="b" pos="0.4 0 0"><joint name="b" axis="0 0 1" range="-150 150"/>
    <geom name="b" type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/>
    <body name="c" pos="0.3 0 0"><joint name="c" axis="0 0 1" range="-150 150"/>
      <geom name="c" type="capsule" fromto="0 0 0 0.2 0 0" size="0.02"/>
      <body name="d" pos="0.2 0 0"><joint name="d" axis="0 0 1" range="-150 150"/>
        <geom name="d" type="capsule" fromto="0 0 0 0.1 0 0" size="0.02"/>
        <site name="tip" pos="0.1 0 0"/></body></body></body></body></worldbody></mujoco>"""
HOME = (0.9, -1.0, -0.6, 0.7)
ROBOT = Robot("planar", PLANAR, ("tip",), HOME)
SPACING = 0.02  # m
SPEED = np.full(4, 2.0)  # rad/s


def space_with(*balls: Ball, least: float = SPACING) -> FreeSpace:
    arm = Arm(scene_mjcf(ROBOT, balls))
    return FreeSpace(arm, ToolPose(arm, "tip"), *arm.ranges, least)


def pose_at(space: FreeSpace, q: Vector) -> tuple[Vector, Vector]:
    space.arm.kinematics(q)
    return space.tool.position().copy(), space.tool.quaternion().copy()


def straight(space: FreeSpace, start: Vector, way: Vector, seconds: float = 4.0) -> PosePath:
    """A path of the tool along `way` (m), its orientation held, with still times at both ends."""
    position, quaternion = pose_at(space, start)
    positions = np.array([position, position, position + way, position + way])
    return PosePath(ViaPoses(np.array([0.0, 0.5, seconds, seconds + 0.5]), positions, np.tile(quaternion, (4, 1))))


def looks(guide: Guide, end: float) -> list[Vector]:
    return [guide.posture(time) for time in np.linspace(0.0, end, 500)]


BESIDE = Ball("beside", (0.9, 0.05, 0.0), 0.05)


def test_a_move_keeps_apart_what_a_wish_would_bring_together() -> None:
    space = space_with(BESIDE)
    start = np.array([-0.3, 0.0, 0.0, 0.0])
    _, quaternion = pose_at(space, start)
    q, reach = start.copy(), np.full(4, 0.02)
    for _ in range(100):
        q += space.move(q, Wish(np.eye(4), np.array([0.02, 0.0, 0.0, 0.0])), -reach, reach, None)
    assert space.distance(q) == pytest.approx(SPACING, abs=0.003)
    assert space.admits(start)
    assert space.turn(q, quaternion) is not None


def test_a_position_is_turned_as_told_by_the_nearest_one_that_is() -> None:
    space = space_with()
    _, quaternion = pose_at(space, np.array(HOME))
    q = np.array(HOME) + np.array([0.3, -0.2, 0.1, 0.2])
    turned = space.turn(q, quaternion)
    assert turned is not None
    # In the plane the tool's angle is the sum of the joints', and the nearest way to change it is all joints alike.
    assert turned.sum() == pytest.approx(sum(HOME), abs=1e-4)
    np.testing.assert_allclose(turned - q, (turned - q).mean(), atol=1e-9)


@pytest.mark.parametrize("held", [True, False])
def test_a_way_leads_from_start_to_end_in_free_space(held: bool) -> None:
    """Past a ball that the straight way goes through, its neighbours near each other, the tool as it is held."""
    space = space_with(Ball("ball", (0.55, 0.0, 0.0), 0.08))
    start = np.array(HOME)
    end = -start
    _, quaternion = pose_at(space, start)
    assert sum(HOME) == pytest.approx(0.0, abs=1e-12)  # so that the end is turned like the start
    search = Search(space, quaternion if held else None)
    way = search.way(start, end)
    assert way is not None
    short = search.shorten(way)
    assert length(short) <= length(way)
    for each in (way, short):
        np.testing.assert_array_equal(each[[0, -1]], [start, end])
        assert np.linalg.norm(np.diff(each, axis=0), axis=1).max() < 0.25
        assert all(space.distance(q) >= SPACING for q in each)
        if held:
            assert np.abs(each.sum(axis=1)).max() < 2e-4


def test_the_same_seed_gives_the_same_way() -> None:
    ways = []
    for _ in range(2):
        space = space_with(Ball("ball", (0.55, 0.0, 0.0), 0.08))
        way = Search(space, None, seed=3).way(np.array(HOME), -np.array(HOME))
        assert way is not None
        ways.append(way.tobytes())
    assert ways[0] == ways[1]


def test_no_way_is_none_not_a_bad_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ball in the arm's foot leaves no position free."""
    monkeypatch.setattr("simloop.models.search.MOST_SAMPLES", 20)
    space = space_with(Ball("ball", (0.2, 0.0, 0.0), 0.3))
    assert Search(space, None).way(np.array(HOME), -np.array(HOME)) is None


def test_a_band_with_nothing_in_its_way_lies_on_the_path() -> None:
    space = space_with()
    start = np.array(HOME)
    position, quaternion = pose_at(space, start)
    times = np.linspace(0.0, 2.0, 9)
    positions = position + np.linspace(0.0, 1.0, 9)[:, None] * [0.05, -0.1, 0.0]
    wanted = Wanted(times, positions, np.tile(quaternion, (9, 1)))
    band = np.tile(start, (9, 1))
    Band(space, 0.25 * SPEED).tighten(band, wanted, 200)
    off = [np.linalg.norm(pose_at(space, q)[0] - p) for q, p in zip(band[1:-1], positions[1:-1], strict=True)]
    # The last knot stays where it was, and those near it are pulled both ways.
    assert max(off[:4]) < 0.01
    np.testing.assert_array_equal(band[[0, -1]], [start, start])


def test_a_guide_is_on_its_path_where_that_is_free() -> None:
    space = space_with()
    start = np.array(HOME)
    path = straight(space, start, np.array([0.1, -0.25, 0.0]))
    guide = GuidePlanner(space, SPEED).plan(path, start, None)
    position, quaternion = np.zeros(3), np.zeros(4)
    for time in np.linspace(0.0, path.end, 40):
        path.at(time, position, quaternion)
        assert np.linalg.norm(pose_at(space, guide.posture(time))[0] - position) < 0.02


def test_a_guide_past_what_stands_in_the_path_keeps_its_distance_between_its_knots_too() -> None:
    """The tool is told to go straight through a ball, and the arm to fold the other way on it."""
    free, space = space_with(), space_with(Ball("ball", (0.75, 0.0, 0.0), 0.05))
    start, end = np.array(HOME), -np.array(HOME)
    path = straight(free, start, pose_at(free, end)[0] - pose_at(free, start)[0])
    without = GuidePlanner(free, SPEED).plan(path, start, end)
    assert min(space.distance(q) for q in looks(without, path.end)) < 0.0
    guide = GuidePlanner(space, SPEED).plan(path, start, end)
    assert min(space.distance(q) for q in looks(guide, path.end)) >= SPACING - 1e-4
    low, high = space.arm.ranges
    assert all(((q > low) & (q < high)).all() for q in looks(guide, path.end))


def test_where_only_the_elbow_is_in_the_way_the_tool_stays_on_its_path() -> None:
    free = space_with()
    start = np.array(HOME)
    path = straight(free, start, np.array([-0.15, 0.0, 0.0]))
    without = GuidePlanner(free, SPEED).plan(path, start, None)
    highest = max(looks(without, path.end), key=lambda q: 0.4 * np.sin(q[0]))
    # A ball over the elbow where it comes highest, within the distance to keep.
    elbow = 0.4 * np.array([np.cos(highest[0]), np.sin(highest[0]), 0.0])
    space = space_with(Ball("ball", (elbow[0], elbow[1] + 0.08, 0.0), 0.05))
    assert min(space.distance(q) for q in looks(without, path.end)) < SPACING
    guide = GuidePlanner(space, SPEED).plan(path, start, None)
    assert min(space.distance(q) for q in looks(guide, path.end)) >= SPACING - 1e-4
    position, quaternion = np.zeros(3), np.zeros(4)
    for time in np.linspace(0.0, path.end, 40):
        path.at(time, position, quaternion)
        assert np.linalg.norm(pose_at(space, guide.posture(time))[0] - position) < 0.03


def test_a_guide_ends_in_the_posture_that_is_given() -> None:
    space = space_with()
    start, end = np.array(HOME), -np.array(HOME)
    way = pose_at(space, end)[0] - pose_at(space, start)[0]
    guide = GuidePlanner(space, SPEED).plan(straight(space, start, way), start, end)
    np.testing.assert_allclose(guide.posture(100.0), end, atol=1e-12)
    assert not guide.velocity(100.0).any()


def test_what_cannot_be_passed_is_refused_with_how_near_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simloop.models.search.MOST_SAMPLES", 20)
    space = space_with(Ball("ball", (0.3, 0.3, 0.0), 0.2))
    with pytest.raises(
        ValueError, match=r"no way was found on which bodies stay 0\.02 m apart; the best comes as near"
    ):
        GuidePlanner(space, SPEED).plan(
            straight(space, np.array(HOME), np.array([0.0, -0.2, 0.0])), np.array(HOME), None
        )


def test_a_guide_waits_for_joints_that_are_behind() -> None:
    times = np.linspace(0.0, 1.0, 11)
    guide = Guide(times, np.outer(times, [1.0, 0.5]))
    along = Along(guide)
    along.set_off(0.5, guide.posture(0.5))
    assert along.pace == 1.0
    np.testing.assert_allclose(along.gradient(guide.posture(0.5)), guide.velocity(0.5))
    along.set_off(0.5, guide.posture(0.5) - [0.5 * LEASH, 0.0])
    assert along.pace == pytest.approx(0.5)
    along.set_off(0.5, guide.posture(0.5) - [2 * LEASH, 0.0])
    assert along.pace == 0.0
