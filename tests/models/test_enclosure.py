"""Bodies of few corners contain what they stand for, and reach beyond it by no more than they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from simloop.models.enclosure import MOST_CORNERS, enclose, enclose_cylinder, enclose_ellipsoid
from simloop.models.gjk import Hull, distance


def ball(count: int, seed: int = 0) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def outside(body: np.ndarray, points: np.ndarray) -> float:
    """How far the points are outside the body's faces."""
    faces = ConvexHull(body).equations
    return float((points @ faces[:, :3].T + faces[:, 3]).max())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.tuples(*[st.floats(0.01, 10.0)] * 3), st.integers(5, 400))
def test_an_enclosure_contains_its_points_and_reaches_no_farther_than_it_says(
    seed: int, axes: tuple[float, float, float], count: int
) -> None:
    points = ball(count, seed) * axes
    body, excess = enclose(points)
    assert len(body) <= MOST_CORNERS
    assert outside(body, points) <= 1e-9 * max(axes)
    cloud = Hull(points)
    assert max(distance([corner], cloud).distance for corner in body) <= excess + 1e-9 * max(axes)
    assert excess <= 0.2 * max(axes)


def test_few_corners_stay_as_they_are() -> None:
    corners = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 3.0)])
    inside = 0.5 + 0.4 * ball(500)
    body, excess = enclose(np.concatenate([inside, corners, corners]))
    assert excess == 0.0
    np.testing.assert_array_equal(np.unique(body, axis=0), corners)


def test_very_many_corners_are_judged_by_some_and_contained_with_all() -> None:
    points = ball(4000)
    body, excess = enclose(points)
    assert outside(body, points) <= 1e-9
    assert np.linalg.norm(body, axis=1).max() - 1.0 <= excess < 0.1


def test_the_same_points_give_the_same_body_in_any_order() -> None:
    points = ball(300)
    np.testing.assert_array_equal(enclose(points)[0], enclose(points[::-1])[0])


@pytest.mark.parametrize(
    ("points", "said"), [(np.zeros((5, 3)), "flat"), (ball(50) * [1, 1, 0], "flat"), (ball(50) * np.nan, "not finite")]
)
def test_what_has_no_inside_is_refused(points: np.ndarray, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        enclose(points)


def test_round_shapes_lie_inside_their_enclosures_and_close_to_them() -> None:
    directions = ball(2000)
    ring = directions[:, :2] / np.linalg.norm(directions[:, :2], axis=1, keepdims=True)
    rim = np.column_stack([0.2 * ring, np.where(directions[:, 2] > 0, 0.3, -0.3)])
    prism = enclose_cylinder(0.2, 0.3)
    assert outside(prism, rim) <= 1e-12
    assert np.linalg.norm(prism[:, :2], axis=1).max() <= 1.005 * 0.2
    axes = np.array([0.3, 0.2, 0.1])
    assert outside(enclose_ellipsoid(axes), directions * axes) <= 1e-12
    assert np.linalg.norm(enclose_ellipsoid(axes) / axes, axis=1).max() <= 1.062
    assert len(prism) <= MOST_CORNERS
    assert len(enclose_ellipsoid(axes)) <= MOST_CORNERS
