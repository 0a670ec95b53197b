"""Posed pairs for the collision library's tests, the proof that an answer must carry, and the explicit Minkowski
difference to compare it with."""

from collections.abc import Iterator

import numpy as np
from scipy.spatial import ConvexHull
from simloop.models import gjk

from tests.models.bodies import AXES, Array, random_turn
from tests.models.cone import residual_of_cone

GAP = 1e-12  # certificate of gjk.h, relative to the extent of the Minkowski difference


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
    residual = residual_of_cone(E, f)
    if np.linalg.norm(residual) < 1e-11:
        return 0.0
    return float(scale * -residual[3] / np.linalg.norm(residual[:3]))
