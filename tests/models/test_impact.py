"""The bracket of the time of impact, against closed forms and against looking closely."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from simloop.models import gjk

from tests.models.bodies import AXES, Array, at, box, ellipsoid, random_rotation

POINT = [[0.0, 0.0, 0.0]]
STILL = gjk.Motion()


def pose_at(motion: gjk.Motion, t: float) -> tuple[Array, Array]:
    R, translation = motion.pose or (AXES, np.zeros(3))
    turn = Rotation.from_rotvec(np.array(motion.spin) * t).as_matrix()
    return turn @ np.asarray(R), np.asarray(translation) + t * np.array(motion.velocity)


def distance_at(a: gjk.Hull, b: gjk.Hull, motions: tuple[gjk.Motion, gjk.Motion], t: float) -> float:
    return gjk.distance(a, b, *(pose_at(motion, t) for motion in motions)).distance


def check_brackets(found: gjk.Impact, expected: float, width: float = 1e-9) -> None:
    """To the rounding of a time."""
    assert found.touches
    assert not found.grazes
    assert found.lower - 1e-14 <= expected <= found.upper + 1e-14
    assert found.upper - found.lower <= width


def test_spheres_that_meet_head_on_meet_when_their_radii_do() -> None:
    a, b = gjk.Hull(POINT, 0.2), gjk.Hull(POINT, 0.3)
    motions = gjk.Motion(velocity=(1.0, 0.0, 0.0)), gjk.Motion(at(3.0, 0.0, 0.0), (-1.5, 0.0, 0.0))
    check_brackets(gjk.time_of_impact(a, b, *motions, 10.0), 1.0)


@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-9, 1e-12])
def test_a_sphere_falling_on_a_box_touches_after_height_over_speed(width: float) -> None:
    ball, table = gjk.Hull(POINT, 0.1), gjk.Hull(box(1.0, 1.0, 0.05))
    falling = gjk.Motion(at(0.3, -0.2, 1.0), (0.4, 0.0, -1.7))
    found = gjk.time_of_impact(ball, table, falling, STILL, 2.0, time_tolerance=width)
    check_brackets(found, (1.0 - 0.1 - 0.05) / 1.7, width)


@pytest.mark.parametrize("y", [0.0, 0.3, 0.49, 0.4999, 0.499999])
def test_spheres_that_pass_by_touch_where_the_quadratic_says(y: float) -> None:
    """|(x, y) + v t| = r, with y below r: the first root."""
    ball = gjk.Hull(POINT, 0.25)
    found = gjk.time_of_impact(ball, ball, STILL, gjk.Motion(at(2.0, y, 0.0), (-1.0, 0.0, 0.0)), 5.0)
    check_brackets(found, 2.0 - np.sqrt(0.25 - y * y))


@pytest.mark.parametrize(("gap", "grazes"), [(1e-2, False), (1e-6, False), (2e-9, False), (5e-10, True), (1e-11, True)])
def test_spheres_that_miss_by_less_than_the_tolerance_graze(gap: float, grazes: bool) -> None:
    """They never touch; nearest they are at 2 s, where the tolerance of 1e-9 m is met for some tens of µs."""
    ball = gjk.Hull(POINT, 0.25)
    found = gjk.time_of_impact(ball, ball, STILL, gjk.Motion(at(2.0, 0.5 + gap, 0.0), (-1.0, 0.0, 0.0)), 5.0)
    assert (found.touches, found.grazes) == (False, grazes)
    assert found.lower == found.upper == (pytest.approx(2.0, abs=1e-4) if grazes else 5.0)


def test_a_box_that_slides_along_another_grazes_and_does_not_touch() -> None:
    cube = gjk.Hull(box(0.5, 0.5, 0.5))
    found = gjk.time_of_impact(cube, cube, STILL, gjk.Motion(at(-3.0, 0.0, 1.0 + 1e-10), (1.0, 0.0, 0.0)), 6.0)
    assert (found.touches, found.grazes) == (False, True)
    assert found.upper == pytest.approx(2.0, abs=1e-8)


@pytest.mark.parametrize("rate", [1.0, 0.01, 20.0])
@pytest.mark.parametrize("depth", [0.5, 0.1, 0.9, 0.999])
def test_a_rod_that_swings_into_a_plane_touches_at_the_angle_of_its_tip(depth: float, rate: float) -> None:
    """A rod of 1 m from the origin turns downwards from level above a plane: sin(rate t) = depth."""
    rod, plane = gjk.Hull([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), gjk.Hull(box(5.0, 5.0, 0.1))
    motions = gjk.Motion(spin=(0.0, rate, 0.0)), gjk.Motion(at(0.0, 0.0, -depth - 0.1))
    found = gjk.time_of_impact(rod, plane, *motions, 2.0 / rate)
    check_brackets(found, np.arcsin(depth) / rate)


@pytest.mark.parametrize("radius", [0.0, 0.05])
def test_a_rod_that_swings_over_a_low_plane_never_touches(radius: float) -> None:
    rod, plane = gjk.Hull([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], radius), gjk.Hull(box(5.0, 5.0, 0.1))
    motions = gjk.Motion(spin=(0.0, 3.0, 0.0)), gjk.Motion(at(0.0, 0.0, -1.0 - radius - 1e-4 - 0.1))
    found = gjk.time_of_impact(rod, plane, *motions, 10.0)
    assert (found.touches, found.grazes, found.lower, found.upper) == (False, False, 10.0, 10.0)


@pytest.mark.parametrize("shift", [1.5, 0.0])
def test_bodies_that_overlap_already_touch_at_once(shift: float) -> None:
    found = gjk.time_of_impact(box(1, 1, 1), box(1, 1, 1), STILL, gjk.Motion(at(shift, 0.0, 0.0)), 1.0)
    assert (found.touches, found.lower, found.upper) == (True, 0.0, 0.0)


def test_bodies_that_start_within_the_tolerance_and_part_graze_at_once() -> None:
    start = gjk.Motion(at(2.0 + 1e-10, 0.0, 0.0), (1.0, 0.0, 0.0))
    found = gjk.time_of_impact(box(1, 1, 1), box(1, 1, 1), STILL, start, 1.0)
    assert (found.touches, found.grazes, found.lower, found.upper) == (False, True, 0.0, 0.0)


def test_the_bracket_holds_the_first_touch_and_is_as_narrow_as_asked() -> None:
    """Tumbling hulls: apart at many times before the bracket, overlapping at its end."""
    rng = np.random.default_rng(9)
    touched = 0
    for _ in range(60):
        a, b = (gjk.Hull(ellipsoid(rng, 15), rng.choice([0.0, 0.02])) for _ in range(2))
        start = (random_rotation(rng), np.array([0.6, 0.0, 0.0]) + rng.uniform(-0.1, 0.1, 3))
        motions = (
            gjk.Motion((random_rotation(rng), np.zeros(3)), spin=tuple(rng.uniform(-3, 3, 3))),
            gjk.Motion(start, tuple(rng.uniform(-0.2, 0.2, 3) - np.array([0.5, 0, 0])), tuple(rng.uniform(-3, 3, 3))),
        )
        found = gjk.time_of_impact(a, b, *motions, horizon=2.0)
        touched += found.touches
        for t in np.linspace(0.0, found.lower, 100):
            assert distance_at(a, b, motions, t) > -1e-15
        assert (distance_at(a, b, motions, found.upper) <= 1e-15) == found.touches
        assert found.upper - found.lower <= 1e-9
        assert found.advances < 150
    assert 10 < touched < 60


def test_swapping_the_bodies_keeps_the_bracket() -> None:
    rng = np.random.default_rng(10)
    for _ in range(20):
        a, b = gjk.Hull(ellipsoid(rng, 15)), gjk.Hull(ellipsoid(rng, 15))
        motion_a = gjk.Motion((random_rotation(rng), np.zeros(3)), spin=tuple(rng.uniform(-3, 3, 3)))
        motion_b = gjk.Motion(at(0.6, 0.0, 0.0), (-0.5, 0.0, 0.0), tuple(rng.uniform(-3, 3, 3)))
        there = gjk.time_of_impact(a, b, motion_a, motion_b, 2.0)
        back = gjk.time_of_impact(b, a, motion_b, motion_a, 2.0)
        assert back.touches == there.touches
        assert max(back.lower, there.lower) <= min(back.upper, there.upper) + 1e-14


def test_a_bracket_narrower_than_rounding_is_refused_with_the_one_found() -> None:
    ball, table = gjk.Hull(POINT, 0.1), gjk.Hull(box(1.0, 1.0, 0.05))
    falling = gjk.Motion(at(0.3, -0.2, 1.0), (0.4, 0.0, -1.7))
    with pytest.raises(gjk.ConvergenceError, match="time of impact") as caught:
        gjk.time_of_impact(ball, table, falling, STILL, 2.0, time_tolerance=1e-20)
    assert caught.value.lower - 1e-15 <= 0.5 <= caught.value.upper + 1e-15
    assert caught.value.upper - caught.value.lower < 1e-14


@pytest.mark.parametrize(
    ("horizon", "tolerance", "width"),
    [
        *((np.nan, 1e-9, 1e-9), (-1.0, 1e-9, 1e-9), (np.inf, 1e-9, 1e-9)),
        *((1.0, 0.0, 1e-9), (1.0, np.nan, 1e-9), (1.0, 1e-9, 0.0), (1.0, 1e-9, np.inf)),
    ],
)
def test_times_that_are_none_are_refused(horizon: float, tolerance: float, width: float) -> None:
    with pytest.raises(ValueError, match="horizon"):
        gjk.time_of_impact(box(1, 1, 1), box(1, 1, 1), STILL, STILL, horizon, tolerance, width)
