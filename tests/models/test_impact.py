"""The time of impact, against closed forms and against looking closely."""

from __future__ import annotations

import numpy as np
import pytest
from simloop.models import gjk

from tests.models.bodies import box, ellipsoid, random_rotation

POINT = [[0.0, 0.0, 0.0]]


def test_spheres_that_meet_head_on_meet_when_their_radii_do() -> None:
    a, b = gjk.Hull(POINT, 0.2), gjk.Hull(POINT, 0.3)
    found = gjk.time_of_impact(
        a, b, gjk.Motion(velocity=(1.0, 0.0, 0.0)), gjk.Motion((np.eye(3), [3.0, 0.0, 0.0]), (-1.5, 0.0, 0.0)), 10.0
    )
    assert found.touches
    assert 1.0 - 1e-9 <= found.lower <= 1.0
    assert found.upper == pytest.approx(1.0, abs=1e-9)


def test_spheres_that_pass_by_touch_where_the_quadratic_says() -> None:
    """|(x, y) + v t| = r, with y below r: the first root."""
    for y in (0.0, 0.3, 0.49, 0.4999):
        found = gjk.time_of_impact(
            gjk.Hull(POINT, 0.25),
            gjk.Hull(POINT, 0.25),
            gjk.Motion(),
            gjk.Motion((np.eye(3), [2.0, y, 0.0]), (-1.0, 0, 0)),
            5.0,
        )
        assert found.upper == pytest.approx(2.0 - np.sqrt(0.25 - y * y), abs=1e-6)
    missed = gjk.time_of_impact(
        gjk.Hull(POINT, 0.25),
        gjk.Hull(POINT, 0.25),
        gjk.Motion(),
        gjk.Motion((np.eye(3), [2.0, 0.51, 0.0]), (-1.0, 0, 0)),
        5.0,
    )
    assert not missed.touches
    assert missed.lower == missed.upper == 5.0


def test_a_link_that_swings_into_a_plane_touches_at_the_angle_of_its_tip() -> None:
    """A rod of 1 m from the origin, 1 rad/s downwards from level, above a plane 0.5 m below: sin θ = 0.5."""
    rod = gjk.Hull([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    plane = gjk.Hull(box(5.0, 5.0, 0.1))
    found = gjk.time_of_impact(
        rod, plane, gjk.Motion(spin=(0.0, 1.0, 0.0)), gjk.Motion((np.eye(3), [0.0, 0.0, -0.6])), 2.0, tolerance=1e-10
    )
    assert found.upper == pytest.approx(np.arcsin(0.5), abs=1e-8)
    assert found.lower <= np.arcsin(0.5)


def test_bodies_that_touch_already_touch_at_once() -> None:
    found = gjk.time_of_impact(box(1, 1, 1), box(1, 1, 1), gjk.Motion(), gjk.Motion((np.eye(3), [1.5, 0.0, 0.0])), 1.0)
    assert (found.touches, found.upper) == (True, 0.0)


def test_no_touch_is_stepped_over() -> None:
    """Tumbling hulls: at many times up to the lower bound they are apart, at the upper bound within the tolerance."""
    rng = np.random.default_rng(9)
    touched = 0
    for _ in range(40):
        a, b = gjk.Hull(ellipsoid(rng, 15)), gjk.Hull(ellipsoid(rng, 15))
        start = (random_rotation(rng), np.array([0.6, 0.0, 0.0]) + rng.uniform(-0.1, 0.1, 3))
        motions = (
            gjk.Motion((random_rotation(rng), np.zeros(3)), spin=tuple(rng.uniform(-3, 3, 3))),
            gjk.Motion(start, tuple(rng.uniform(-0.2, 0.2, 3) - np.array([0.5, 0, 0])), tuple(rng.uniform(-3, 3, 3))),
        )
        found = gjk.time_of_impact(a, b, *motions, horizon=2.0, tolerance=1e-7)
        touched += found.touches
        for t in np.linspace(0.0, found.lower, 200):
            assert gjk.distance(a, b, *(pose_at(m, t) for m in motions)).distance > 0.0
        end = gjk.distance(a, b, *(pose_at(m, found.upper) for m in motions)).distance
        assert (end <= 1e-7 + 1e-12) == found.touches
    assert 10 < touched < 40


def pose_at(motion: gjk.Motion, t: float) -> tuple[np.ndarray, np.ndarray]:
    from scipy.spatial.transform import Rotation

    assert motion.pose is not None
    turn = Rotation.from_rotvec(np.array(motion.spin) * t).as_matrix()
    return turn @ np.asarray(motion.pose[0]), np.asarray(motion.pose[1]) + t * np.array(motion.velocity)


@pytest.mark.parametrize(
    ("horizon", "tolerance"), [(np.nan, 1e-9), (-1.0, 1e-9), (np.inf, 1e-9), (1.0, 0.0), (1.0, np.nan)]
)
def test_times_that_are_none_are_refused(horizon: float, tolerance: float) -> None:
    with pytest.raises(ValueError, match="horizon"):
        gjk.time_of_impact(box(1, 1, 1), box(1, 1, 1), gjk.Motion(), gjk.Motion(), horizon, tolerance)
