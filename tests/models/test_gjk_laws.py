"""Laws of the signed distance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simloop.models import gjk

from tests.models.bodies import ellipsoid, prism, random_body, random_rotation
from tests.models.posed import set_up, world

laws = settings(max_examples=200, derandomize=True, deadline=None, database=None)
seeds = st.integers(0, 2**32 - 1)


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


@laws
@given(seed=seeds, factor=st.floats(1e-3, 1e3))
def test_any_factor_scales_the_answer_to_rounding(seed: int, factor: float) -> None:
    rng = np.random.default_rng(seed)
    q = set_up(rng, rng.uniform(-0.1, 0.1), ellipsoid(rng, 8), ellipsoid(rng, 20))
    scaled = gjk.distance(
        factor * q.a.vertices,
        factor * q.b.vertices,
        (q.rotation_a, factor * q.translation_a),
        (q.rotation_b, factor * q.translation_b),
    )
    assert scaled.distance == pytest.approx(factor * q.update(), abs=1e-12 * factor)


@laws
@given(seed=seeds)
def test_a_way_round_by_a_third_body_is_no_shorter(seed: int) -> None:
    """d(a, c) <= d(a, b) + diameter of b + d(b, c), and for points the triangle inequality itself."""
    rng = np.random.default_rng(seed)
    bodies = [random_body(rng) + rng.uniform(-0.5, 0.5, 3) for _ in range(3)]
    if rng.random() < 0.3:
        bodies = [body[:1] for body in bodies]
    ab, bc, ac = (max(0.0, gjk.distance(bodies[i], bodies[j]).distance) for i, j in ((0, 1), (1, 2), (0, 2)))
    across = np.linalg.norm(bodies[1][:, None] - bodies[1][None], axis=2).max()
    assert ac <= ab + across + bc + 1e-13


@laws
@given(seed=seeds)
def test_the_distance_grows_no_faster_than_the_bodies_move_and_is_convex_on_the_way(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = set_up(rng, rng.uniform(-0.1, 0.1), random_body(rng), random_body(rng))
    start, way = q.translation_b.copy(), 0.2 * rng.normal(size=3)
    along = []
    for part in (0.0, 0.5, 1.0):
        q.translation_b[:] = start + part * way
        along.append(q.update())
    assert abs(along[2] - along[0]) <= np.linalg.norm(way) + 1e-12
    assert along[1] <= 0.5 * (along[0] + along[2]) + 1e-12


@laws
@given(seed=seeds)
def test_no_direction_parts_the_bodies_farther_than_the_normal(seed: int) -> None:
    """The signed distance, depth included, is the greatest gap between support planes."""
    rng = np.random.default_rng(seed)
    q = set_up(rng, rng.uniform(-0.2, 0.1), random_body(rng), random_body(rng))
    found = q.update()
    A, B = world(q)
    tilts = q.normal + rng.normal(size=(200, 3)) * 10.0 ** rng.uniform(-6, 1, (200, 1))
    n = (tilts / np.linalg.norm(tilts, axis=1)[:, None]).T
    assert ((B @ n).min(axis=0) - (A @ n).max(axis=0)).max() <= found + 1e-12


@laws
@given(seed=seeds)
def test_the_part_of_a_body_inside_another_is_no_nearer_than_the_whole(seed: int) -> None:
    """Inclusion on both sides, by points drawn inside the hulls."""
    rng = np.random.default_rng(seed)
    q = set_up(rng, rng.uniform(-0.1, 0.1), ellipsoid(rng, 20), prism(6))
    inner = [rng.dirichlet(np.ones(len(body)), 6) @ body for body in world(q)]
    assert gjk.distance(*inner).distance >= q.update() - 1e-13
