"""Laws of the signed distance, its closed forms, and independent engines that must agree."""

from collections.abc import Iterator

import coal
import fcl
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation
from simloop.models import gjk

from tests.models.bodies import CUBE, box, ellipsoid, random_rotation

Array = npt.NDArray[np.float64]

GAP = 1e-12  # certificate of gjk.h, relative to the extent of the Minkowski difference
AXES = np.eye(3)

laws = settings(max_examples=200, derandomize=True, deadline=None, database=None)
unit = st.floats(-1.0, 1.0)
seeds = st.integers(0, 2**32 - 1)


def at(*translation: float) -> tuple[Array, tuple[float, ...]]:
    return AXES, translation


def prism(n: int) -> Array:
    angle = np.arange(n) * 2.0 * np.pi / n
    ring = 0.1 * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.vstack([np.column_stack([ring, np.full(n, z)]) for z in (-0.1, 0.1)])


def polygon(rng: np.random.Generator) -> Array:
    angle = rng.uniform(0.0, 2.0 * np.pi, rng.integers(3, 9))
    return 0.15 * np.column_stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)])


def random_body(rng: np.random.Generator) -> Array:
    kind = rng.integers(9)
    if kind < 3:
        return ellipsoid(rng, int(rng.choice([4, 8, 20])))
    return (
        lambda: box(*rng.uniform(0.02, 0.3, 3)),
        lambda: box(*rng.uniform(0.0002, 0.003, 3)),
        lambda: prism(6),
        lambda: 0.2 * rng.normal(size=(rng.integers(1, 3), 3)),
        lambda: polygon(rng),
        lambda: 0.1 * np.outer(rng.normal(size=4), rng.normal(size=3)),
    )[kind - 3]()


def random_turn(rng: np.random.Generator) -> Array:
    """A random, an exact quarter, or a nearly null turn."""
    kind = rng.integers(3)
    if kind == 0:
        return random_rotation(rng)
    if kind == 1:
        return np.round(Rotation.from_euler("xyz", rng.integers(0, 4, 3) * np.pi / 2).as_matrix())
    return Rotation.from_rotvec(rng.normal(size=3) * 10.0 ** rng.uniform(-16, -3)).as_matrix()


def set_up(rng: np.random.Generator, gap: float, A: Array, B: Array) -> gjk.PairQuery:
    """Posed pair whose support planes along some direction are `gap` apart."""
    query = gjk.PairQuery(A, B)
    query.rotation_a[:] = random_turn(rng)
    query.rotation_b[:] = query.rotation_a @ random_turn(rng)
    query.translation_a[:] = rng.normal(size=3)
    d = query.rotation_a @ (AXES[rng.integers(3)] if rng.random() < 0.5 else rng.normal(size=3))
    d /= np.linalg.norm(d)
    A_world, B_turned = A @ query.rotation_a.T, B @ query.rotation_b.T
    aside = A_world.mean(axis=0) - B_turned.mean(axis=0)
    aside -= d * (aside @ d)
    along = (A_world @ d).max() - (B_turned @ d).min() + gap
    query.translation_b[:] = query.translation_a + along * d + rng.integers(2) * aside
    return query


def world(query: gjk.PairQuery) -> tuple[Array, Array]:
    return (
        query.a.vertices @ query.rotation_a.T + query.translation_a,
        query.b.vertices @ query.rotation_b.T + query.translation_b,
    )


def check_certificate(query: gjk.PairQuery) -> None:
    """Witnesses in the bodies, on a common normal, between support planes as far apart."""
    A, B = world(query)
    found = query.proximity()
    n, weights = found.normal, found.barycentric
    coordinates = (query.a.vertices, query.b.vertices, query.translation_a, query.translation_b)
    size = max(np.abs(part).max() for part in coordinates)
    tolerance = 2.0 * GAP * size
    step_a, step_b = query.a.radius * n, query.b.radius * n
    planes = (B @ n).min() - (A @ n).max() - query.a.radius - query.b.radius
    assert abs(n @ n - 1.0) < 1e-15
    assert abs(found.distance - planes) < tolerance
    assert np.abs(found.point_b - found.point_a - found.distance * n).max() < tolerance
    assert (weights > 0.0).all()
    assert abs(weights.sum() - 1.0) < 1e-15
    assert np.abs(weights @ A[found.indices[:, 0]] + step_a - found.point_a).max() < 1e-14 * size
    assert np.abs(weights @ B[found.indices[:, 1]] - step_b - found.point_b).max() < 1e-14 * size
    lower, upper = query.bracket
    assert lower - tolerance <= found.distance <= upper + tolerance
    if abs(found.distance) > tolerance:
        assert query.intersects() == (found.distance < 0.0)


def gaps(rng: np.random.Generator) -> Iterator[float]:
    """Touching, near, shallow, separated and deep, for ever."""
    while True:
        yield 0.0
        yield 10.0 ** rng.uniform(-13, -3)
        yield -(10.0 ** rng.uniform(-13, -3))
        yield rng.uniform(0.0, 0.5)
        yield -rng.uniform(0.0, 0.3)


def qhull_depth(query: gjk.PairQuery) -> float:
    """Penetration depth from the explicit hull of the Minkowski difference."""
    A, B = world(query)
    return float(-ConvexHull((B[:, None] - A[None]).reshape(-1, 3)).equations[:, 3].max())


def qp_distance(query: gjk.PairQuery) -> float:
    """Distance by least distance programming: min |x|, (b - a).x >= 1 has |x| = 1 / distance."""
    A, B = world(query)
    M = (B[:, None] - A[None]).reshape(-1, 3)
    scale = np.abs(M).max()
    E = np.vstack([M.T / scale, np.ones(len(M))])
    f = np.array([0.0, 0.0, 0.0, 1.0])
    residual = E @ nnls(E, f)[0] - f
    if np.linalg.norm(residual) < 1e-11:
        return 0.0
    return float(scale * -residual[3] / np.linalg.norm(residual[:3]))


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


def test_every_answer_carries_its_certificate() -> None:
    rng = np.random.default_rng(1)
    for _, gap in zip(range(20_000), gaps(rng), strict=False):
        query = set_up(rng, gap, random_body(rng), random_body(rng))
        query.update()
        check_certificate(query)


def test_sizes_of_any_scale_and_ratio_carry_their_certificate() -> None:
    rng = np.random.default_rng(9)
    for _, gap in zip(range(2_000), gaps(rng), strict=False):
        scale, ratio = 10.0 ** rng.uniform(-6, 6), 10.0 ** rng.uniform(-6, 0)
        A, B = scale * random_body(rng), ratio * scale * ellipsoid(rng, 200)
        query = set_up(rng, scale * gap, *((A, B) if rng.random() < 0.5 else (B, A)))
        query.translation_b[:] -= query.translation_a
        query.translation_a[:] = 0.0
        query.update()
        check_certificate(query)


def test_swept_bodies_carry_their_certificate() -> None:
    rng = np.random.default_rng(2)
    for _, gap in zip(range(2_000), gaps(rng), strict=False):
        a = gjk.Hull(random_body(rng), rng.uniform(0.0, 0.1))
        b = gjk.Hull(random_body(rng), rng.uniform(0.0, 0.1))
        posed = set_up(rng, gap, a.vertices, b.vertices)
        query = gjk.PairQuery(a, b)
        query.rotation_a[:], query.translation_a[:] = posed.rotation_a, posed.translation_a
        query.rotation_b[:], query.translation_b[:] = posed.rotation_b, posed.translation_b
        assert query.update() == pytest.approx(posed.update() - a.radius - b.radius, abs=1e-15)
        check_certificate(query)


def test_depth_is_that_of_the_explicit_minkowski_difference() -> None:
    rng = np.random.default_rng(3)
    for _ in range(3_000):
        A, B = ellipsoid(rng, 8), (prism(6), box(*rng.uniform(0.02, 0.3, 3)))[rng.integers(2)]
        query = set_up(rng, -rng.uniform(0.0, 0.2), A, B)
        if query.update() < 0.0:
            assert -query.distance == pytest.approx(qhull_depth(query), abs=1e-13)


def test_distance_is_that_of_the_quadratic_program() -> None:
    rng = np.random.default_rng(4)
    for _ in range(1_500):
        A, B = ellipsoid(rng, int(rng.choice([4, 8, 20]))), random_body(rng)
        query = set_up(rng, rng.uniform(-0.1, 0.3), A, B)
        assert max(query.update(), 0.0) == pytest.approx(qp_distance(query), abs=1e-9)


def test_depth_is_the_shortest_way_out() -> None:
    rng = np.random.default_rng(5)
    for _ in range(1_000):
        query = set_up(rng, -rng.uniform(0.001, 0.2), ellipsoid(rng, 20), prism(8))
        depth, n = -query.update(), query.normal.copy()
        if depth <= 1e-6:
            continue
        start = query.translation_b.copy()
        query.translation_b[:] = start + depth * n
        assert abs(query.update()) < 1e-9
        query.translation_b[:] = start + 0.99 * depth * n
        assert query.update() == pytest.approx(-0.01 * depth, abs=1e-12)
        assert query.intersects()
        other = rng.normal(size=3)
        query.translation_b[:] = start + 0.99 * depth * other / np.linalg.norm(other)
        assert query.intersects()


@laws
@given(seed=seeds)
def test_swapping_the_bodies_swaps_the_answer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = set_up(rng, rng.uniform(-0.1, 0.1), ellipsoid(rng, 8), ellipsoid(rng, 20))
    pose_a, pose_b = (q.rotation_a, q.translation_a), (q.rotation_b, q.translation_b)
    there = gjk.distance(q.a, q.b, pose_a, pose_b)
    back = gjk.distance(q.b, q.a, pose_b, pose_a)
    assert back.distance == pytest.approx(there.distance, abs=1e-13)
    assert back.normal == pytest.approx(-there.normal, abs=1e-9)
    assert back.point_a == pytest.approx(there.point_b, abs=1e-9)


@laws
@given(seed=seeds)
def test_a_rigid_motion_of_both_moves_the_answer_with_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = set_up(rng, rng.uniform(-0.1, 0.1), ellipsoid(rng, 8), ellipsoid(rng, 20))
    R, t = random_rotation(rng), rng.normal(size=3)
    here = gjk.distance(q.a, q.b, (q.rotation_a, q.translation_a), (q.rotation_b, q.translation_b))
    there = gjk.distance(
        q.a,
        q.b,
        (R @ q.rotation_a, R @ q.translation_a + t),
        (R @ q.rotation_b, R @ q.translation_b + t),
    )
    assert there.distance == pytest.approx(here.distance, abs=1e-13)
    assert there.normal == pytest.approx(R @ here.normal, abs=1e-9)
    assert there.point_a == pytest.approx(R @ here.point_a + t, abs=1e-9)


@laws
@given(seed=seeds, exponent=st.integers(-20, 20))
def test_a_power_of_two_scales_the_answer_exactly(seed: int, exponent: int) -> None:
    rng = np.random.default_rng(seed)
    q = set_up(rng, rng.uniform(-0.1, 0.1), random_body(rng), random_body(rng))
    k = 2.0**exponent
    scaled = gjk.PairQuery(k * q.a.vertices, k * q.b.vertices)
    scaled.rotation_a[:], scaled.translation_a[:] = q.rotation_a, k * q.translation_a
    scaled.rotation_b[:], scaled.translation_b[:] = q.rotation_b, k * q.translation_b
    assert scaled.update() == k * q.update()
    assert (scaled.normal == q.normal).all()
    assert (scaled.point_a == k * q.point_a).all()


@laws
@given(seed=seeds)
def test_a_larger_body_is_never_farther(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = set_up(rng, rng.uniform(-0.1, 0.1), ellipsoid(rng, 20), ellipsoid(rng, 20))
    part = gjk.distance(
        q.a.vertices[:9],
        q.b,
        (q.rotation_a, q.translation_a),
        (q.rotation_b, q.translation_b),
    )
    assert part.distance >= q.update() - 1e-13


def coal_distance(query: gjk.PairQuery) -> float:
    shapes, poses = [], []
    for hull, R, t in (
        (query.a, query.rotation_a, query.translation_a),
        (query.b, query.rotation_b, query.translation_b),
    ):
        points, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        for vertex in hull.vertices:
            points.append(vertex)
        for i, j, k in ConvexHull(hull.vertices).simplices:
            faces.append(coal.Triangle(int(i), int(j), int(k)))
        shapes.append(coal.Convex(points, faces))
        poses.append(coal.Transform3s(R.copy(), t.copy()))
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    return float(coal.distance(shapes[0], poses[0], shapes[1], poses[1], request, result))


def fcl_distance(query: gjk.PairQuery) -> float:
    bodies = []
    for hull, R, t in (
        (query.a, query.rotation_a, query.translation_a),
        (query.b, query.rotation_b, query.translation_b),
    ):
        faces = ConvexHull(hull.vertices).simplices
        flat = np.column_stack([np.full(len(faces), 3), faces]).ravel()
        shape = fcl.Convex(hull.vertices, len(faces), flat)
        bodies.append(fcl.CollisionObject(shape, fcl.Transform(R, t)))
    return float(fcl.distance(*bodies, fcl.DistanceRequest(), fcl.DistanceResult()))


def test_coal_agrees_apart_and_overlapping() -> None:
    rng = np.random.default_rng(6)
    for _ in range(500):
        query = set_up(rng, rng.uniform(-0.1, 0.3), ellipsoid(rng, 20), ellipsoid(rng, 8))
        assert query.update() == pytest.approx(coal_distance(query), abs=1e-8)


def test_fcl_finds_no_shorter_distance_and_agrees_to_its_own_accuracy() -> None:
    rng = np.random.default_rng(7)
    for _ in range(500):
        query = set_up(rng, rng.uniform(0.001, 0.3), ellipsoid(rng, 20), ellipsoid(rng, 8))
        assert -1e-12 <= fcl_distance(query) - query.update() <= 1e-4


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


@pytest.mark.parametrize("n", [299, 400, 1000])
def test_climbing_along_edges_finds_what_looking_at_every_corner_finds(n: int) -> None:
    """Through the certificate: the support planes of all vertices are as far apart as the distance found."""
    rng = np.random.default_rng(n)
    A, B = ellipsoid(rng, n), ellipsoid(rng, n)
    for gap in (0.3, 0.01, 1e-4, 1e-7, 0.0, -1e-3):
        for _ in range(20):
            query = set_up(rng, gap, A, B)
            query.update()
            check_certificate(query)


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
