"""Closed forms of the signed distance, what a query remembers, and what is refused."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simloop.models import gjk

from tests.models.bodies import AXES, CUBE, at, box, ellipsoid, prism, random_rotation
from tests.models.posed import check_certificate, qhull_depth

laws = settings(max_examples=200, derandomize=True, deadline=None, database=None)
unit = st.floats(-1.0, 1.0)


@laws
@given(r=st.floats(0.0, 2.0), s=st.floats(0.0, 2.0), x=unit, y=unit, z=unit)
def test_spheres_are_centres_minus_radii(r: float, s: float, x: float, y: float, z: float) -> None:
    centre = np.array([x, y, z])
    found = gjk.distance(gjk.Hull([[0, 0, 0]], r), gjk.Hull([centre], s))
    assert found.distance == pytest.approx(np.linalg.norm(centre) - r - s, abs=1e-15)


@pytest.mark.parametrize(
    ("centre", "expected"),
    [
        ((0.9, 0.1, -0.2), 0.4),
        ((0.9, 0.8, 0.3), 0.5),
        ((0.9, 0.8, 1.7), 1.3),
        ((0.3, 0.1, 0.0), -0.2),
    ],
    ids=["face", "edge", "corner", "inside"],
)
def test_sphere_to_cube(centre: tuple[float, ...], expected: float) -> None:
    found = gjk.distance(CUBE, gjk.Hull([centre], 0.1))
    assert found.distance == pytest.approx(expected - 0.1, abs=1e-15)


@pytest.mark.parametrize("ratio", [1.0, 1e-2, 1e-4])
@pytest.mark.parametrize("gap", [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9])
def test_parallel_faces_are_never_false_contacts(gap: float, ratio: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        half_a, half_b = rng.uniform(0.1, 0.5, 3), ratio * rng.uniform(0.1, 0.5, 3)
        axis = rng.integers(3)
        offset = (half_a + half_b) * rng.uniform(-0.99, 0.99, 3)
        offset[axis] = half_a[axis] + half_b[axis] + gap
        query = gjk.PairQuery(box(*half_a), box(*half_b))
        R = random_rotation(rng)
        query.rotation_a[:] = query.rotation_b[:] = R
        query.translation_b[:] = R @ offset
        assert query.update() == pytest.approx(gap, abs=1e-14)
        assert np.abs(query.normal - R[:, axis]).max() < 1e-6
        assert not query.intersects()
        check_certificate(query)


@laws
@given(angle=st.floats(0.01, 3.13), height=st.floats(0.0, 1.0), r=st.floats(0.0, 0.3))
def test_crossed_capsules_are_axes_minus_radii(angle: float, height: float, r: float) -> None:
    axis = np.array([np.cos(angle), np.sin(angle), 0.0])
    a = gjk.Hull([[-1, 0, 0], [1, 0, 0]], r)
    b = gjk.Hull([-axis, axis], 2.0 * r)
    found = gjk.distance(a, b, pose_b=at(0, 0, height))
    assert found.distance == pytest.approx(height - 3.0 * r, abs=3e-15)


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        ([[0, 0, 0], [1, 0, 0]], [[0, 1, 0], [1, 1, 0]], 1.0),
        ([[0, 0, 0], [1, 0, 0]], [[2, 0, 0], [3, 0, 0]], 1.0),
        ([[0, 0, 0], [1, 0, 0]], [[0.5, 0, 0], [3, 0, 0]], 0.0),
        ([[0, 0, 0], [1, 0, 0]], [[2, 1, -1], [2, 1, 1]], 2.0**0.5),
        ([[0, 0, 0], [1, 0, 0]], [[0.5, -1, 0], [0.5, 1, 0]], 0.0),
        ([[1, 2, 3]], [[1, 2, 3]], 0.0),
        ([[1, 2, 3]], [[4, 6, 3]], 5.0),
        ([[0, 0, 0], [2, 0, 0], [0, 2, 0]], [[3, 0, 0], [3, 2, 0], [5, 1, 0]], 1.0),
        ([[0, 0, 0], [2, 0, 0], [0, 2, 0]], [[1, 1, 0], [3, 2, 0], [5, 1, 0]], 0.0),
        ([[0, 0, 0], [2, 0, 0], [0, 2, 0]], [[0.5, 0.5, 0], [3, 2, 0], [5, 1, 0]], 0.0),
        ([[0, 0, 0], [2, 0, 0], [0, 2, 0]], [[0.5, 0.5, -1], [0.5, 0.5, 2]], -0.5 * 0.5**0.5),
    ],
    ids=[
        *("parallel", "in line", "overlapping in line", "skew", "crossing", "same point", "points"),
        *("coplanar", "coplanar touching", "coplanar overlapping", "pierced triangle"),
    ],
)
def test_flat_bodies(p: list[list[float]], q: list[list[float]], expected: float) -> None:
    query = gjk.PairQuery(p, q)
    if expected < 0.0:
        expected = -qhull_depth(query)
    assert query.update() == pytest.approx(expected, abs=1e-15)
    assert query.intersects() == (expected <= 0.0)
    check_certificate(query)


@pytest.mark.parametrize("shift", [(1, 0, 0), (1, 0.25, 0), (1, 1, 0), (1, 1, 1), (0, -1, 0.1)])
def test_stacked_identical_cubes_touch(shift: tuple[float, ...]) -> None:
    found = gjk.distance(CUBE, CUBE, pose_b=at(*shift))
    assert abs(found.distance) < 1e-15
    assert np.isfinite(found.normal).all()
    assert gjk.intersects(CUBE, CUBE, pose_b=at(*shift))


@pytest.mark.parametrize("half", [0.5, 0.1, 1e-3])
def test_cube_inside_a_concentric_cube_leaves_through_a_face(half: float) -> None:
    found = gjk.distance(CUBE, box(half, half, half))
    assert found.distance == pytest.approx(-0.5 - half, abs=1e-15)
    assert np.abs(found.normal).max() == 1.0


def test_a_repeated_query_equals_a_fresh_one_whatever_it_remembers() -> None:
    """The feature kept from the last query, or garbage in its place, changes the time and not the answer."""
    rng = np.random.default_rng(8)
    A, B = ellipsoid(rng, 50), prism(12)
    query = gjk.PairQuery(A, B)
    garbage = [0.0, np.nan, np.inf, 1e300, 1e-300, -1.0]
    for k, x in enumerate(np.linspace(-0.4, 0.4, 161)):
        query.translation_b[:] = x, 0.03, 0.01
        fresh = gjk.distance(A, B, pose_b=(AXES, query.translation_b))
        if k % 2:
            query.memory[:] = rng.choice([*garbage, 1.0, 2.0, 3.0, 7.0, 49.0], gjk.MEMORY)
        assert query.update() == query.distance == pytest.approx(fresh.distance, abs=1e-15)
        np.testing.assert_allclose(query.point_a, fresh.point_a, atol=1e-14)
        np.testing.assert_allclose(query.point_b, fresh.point_b, atol=1e-14)


def test_points_that_are_no_corners_change_nothing_and_answers_number_the_vertices_as_given() -> None:
    rng = np.random.default_rng(12)
    corners = box(0.1, 0.2, 0.3)
    inside = rng.uniform(-1.0, 1.0, (40, 3)) * np.array([0.1, 0.2, 0.3]) * 0.99
    mixed = np.concatenate([inside[:20], corners, inside[20:], corners[:3]])
    hull = gjk.Hull(mixed)
    assert sorted(map(tuple, mixed[hull.corners])) == sorted(map(tuple, corners))
    other = at(0.5, 0.4, 0.2)
    plain, full = (
        gjk.distance(corners, box(0.1, 0.1, 0.1), None, other),
        gjk.distance(hull, box(0.1, 0.1, 0.1), None, other),
    )
    assert full.distance == pytest.approx(plain.distance, abs=1e-15)
    np.testing.assert_allclose(full.barycentric @ mixed[full.indices[:, 0]], full.point_a, atol=1e-15)


@pytest.mark.parametrize("slop", [1e-16, 1e-13, 1e-10, 1e-7])
def test_a_rotation_that_is_one_only_nearly_gives_the_distance_of_the_points_it_makes(slop: float) -> None:
    rng = np.random.default_rng(5)
    A, B = ellipsoid(rng, 20), ellipsoid(rng, 20)
    for _ in range(50):
        turns = [random_rotation(rng) * (1.0 + slop) for _ in range(2)]
        moved = [A @ turns[0].T, B @ turns[1].T + np.array([0.4, 0.1, 0.0])]
        asked = gjk.distance(A, B, (turns[0], np.zeros(3)), (turns[1], np.array([0.4, 0.1, 0.0])))
        assert asked.distance == pytest.approx(gjk.distance(*moved).distance, abs=2e-15)


@pytest.mark.parametrize(
    ("vertices", "radius", "fault"),
    [
        ([], 0.0, "shape"),
        (np.empty((0, 3)), 0.0, "at least one vertex"),
        ([[0, 0]], 0.0, "shape"),
        ([0, 0, 0], 0.0, "shape"),
        ([[0, 0, np.nan]], 0.0, "vertices must be finite"),
        ([[0, np.inf, 0]], 0.0, "vertices must be finite"),
        ([[1e70, 0, 0]], 0.0, "vertices must be finite"),
        ([[0, 0, 0]], -1e-9, "radius"),
        ([[0, 0, 0]], np.nan, "radius"),
        ([[0, 0, 0]], np.inf, "radius"),
    ],
)
def test_a_bad_body_is_refused_by_name(vertices: npt.ArrayLike, radius: float, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        gjk.Hull(vertices, radius)


@pytest.mark.parametrize(
    ("pose", "fault"),
    [
        ((AXES, [0, 0, np.nan]), "finite"),
        ((np.full((3, 3), np.inf), [0, 0, 0]), "finite"),
        ((2.0 * AXES, [0, 0, 0]), "orthonormal"),
        ((np.diag([1.0, 1.0, -1.0]), [0, 0, 0]), "right-handed"),
        ((AXES[:2], [0, 0, 0]), "rotation"),
        ((AXES, [0, 0]), "translation"),
    ],
)
def test_a_bad_pose_is_refused_by_name(pose: gjk.Pose, fault: str) -> None:
    for ask in (gjk.distance, gjk.intersects):
        with pytest.raises(ValueError, match=fault):
            ask(CUBE, CUBE, pose_b=pose)


def test_a_bad_pose_leaves_no_stale_distance() -> None:
    query = gjk.PairQuery(CUBE, CUBE)
    query.update()
    query.translation_b[0] = np.nan
    with pytest.raises(ValueError, match="finite"):
        query.update()
    assert np.isnan(query.distance)


def test_without_convergence_the_bracket_holds_the_depth() -> None:
    """Concentric, near-spherical bodies have more nearest faces than the polytope has room for."""
    i = np.arange(3000) + 0.5
    polar, azimuth = np.arccos(1.0 - 2.0 * i / len(i)), np.pi * (1.0 + 5.0**0.5) * i
    ball = np.column_stack([np.cos(azimuth) * np.sin(polar), np.sin(azimuth) * np.sin(polar), np.cos(polar)])
    with pytest.raises(gjk.ConvergenceError) as caught:
        gjk.distance(ball, gjk.Hull(-ball, 0.5))
    assert -2.5 <= caught.value.lower < caught.value.upper
    assert caught.value.upper <= caught.value.lower + 0.02
