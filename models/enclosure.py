"""Convex bodies of few corners around meshes and round shapes: they contain what they stand for, closely."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, QhullError
from simloop.models.gjk import Hull, PairQuery

Array = npt.NDArray[np.float64]

# The corners that a body may have.
MOST_CORNERS = 64
# The part of its size by which a body may be flat; below, it has no inside.
FLATNESS = 1e-6
# How near to the smallest sufficient move outward the search comes, as a part of it.
MOVE_TOLERANCE = 1e-3
# A corner moves at most this many times as far as its faces: a needle's tip would go far for little.
SHARPEST = 3.0
# Corners of a mesh that are looked at one by one.
MOST_EXTREMES = 1000
# The golden angle, rad: points of a spiral at this angle are spread evenly.
GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))


def enclose(points: npt.ArrayLike, corners: int = MOST_CORNERS) -> tuple[Array, float]:
    """Corners (at most `corners`, 3) of a convex body that contains the points, and how far it reaches beyond their
    hull at most, m: 0 when the hull has few enough corners itself.

    Of the hull's corners, the one farthest outside the body so far is added until there are enough, then they move
    outward until nothing is left outside. Deterministic.
    """
    cloud = np.unique(np.asarray(points, dtype=float), axis=0)
    hull = _solid_hull(cloud)
    outline: Array = cloud[np.sort(hull.vertices)]
    if len(outline) <= corners:
        return outline, 0.0
    extremes = _extremes(outline)
    chosen = _spread(extremes, corners)
    candidates = [_push_out(outline, chosen, directions) for directions in _ways_out(outline, chosen)]
    exact = PairQuery(Hull([[0.0, 0.0, 0.0]]), Hull(extremes))
    return min(((body, _excess(body, exact)) for body in candidates), key=lambda found: found[1])


def _solid_hull(cloud: Array) -> ConvexHull:
    if not np.isfinite(cloud).all():
        raise ValueError("it has corners that are not finite")
    spread = np.linalg.svd(cloud - cloud.mean(axis=0), compute_uv=False) if len(cloud) >= 4 else np.zeros(3)
    if spread[2] <= FLATNESS * max(spread[0], np.finfo(float).tiny):
        raise ValueError("it is flat; a body with an inside is needed")
    try:
        return ConvexHull(cloud)
    except QhullError:
        raise ValueError("it has no convex hull with an inside") from None


def _extremes(outline: Array) -> Array:
    """Of very many corners, those farthest in one of MOST_EXTREMES directions: they stand for all in judging how far a
    body reaches beyond, which they can only overrate."""
    if len(outline) <= MOST_EXTREMES:
        return outline
    farthest = (outline @ _even_directions(MOST_EXTREMES).T).argmax(axis=0)
    return np.asarray(outline[np.unique(farthest)])


def _spread(outline: Array, count: int) -> Array:
    """`count` of the outline's corners: the ends of each axis first, then each time the one farthest outside."""
    axes = np.linalg.svd(outline - outline.mean(axis=0), full_matrices=False)[2]
    ends = outline @ axes.T
    chosen = list(dict.fromkeys([*ends.argmax(axis=0).tolist(), *ends.argmin(axis=0).tolist()]))
    while len(chosen) < 4:
        chosen.append(int(_outside(outline[chosen], outline).argmax()))
    while len(chosen) < count:
        outside = _outside(outline[chosen], outline)
        outside[chosen] = -np.inf
        chosen.append(int(outside.argmax()))
    return outline[chosen]


def _outside(corners: Array, points: Array) -> Array:
    """How far each point is outside the farthest-off face of the corners' hull; for too few corners, from them."""
    try:
        faces = ConvexHull(corners).equations
    except QhullError:
        apart: Array = np.linalg.norm(points[:, None] - corners[None], axis=2).min(axis=1)
        return apart
    return np.asarray((points @ faces[:, :3].T + faces[:, 3]).max(axis=1))


def _ways_out(outline: Array, chosen: Array) -> tuple[Array, Array]:
    """Directions for each corner: away from the middle, or such that its faces move outward equally."""
    hull = ConvexHull(chosen)
    normals = hull.equations[:, :3]
    middle = (outline.min(axis=0) + outline.max(axis=0)) / 2
    square = np.zeros_like(chosen)
    for i in range(len(chosen)):
        mine = np.unique(np.round(normals[(hull.simplices == i).any(axis=1)], 9), axis=0)
        if len(mine):
            move = np.linalg.lstsq(mine, np.ones(len(mine)), rcond=0.1)[0]
            square[i] = move * min(1.0, SHARPEST / np.linalg.norm(move))
    return chosen - middle, square


def _push_out(outline: Array, chosen: Array, directions: Array) -> Array:
    """The corners moved along their directions just far enough to contain the outline."""
    size = float(np.ptp(outline, axis=0).max())
    rounding = 1e-12 * size

    def contains(move: float) -> bool:
        return bool(_outside(chosen + move * directions, outline).max() <= rounding)

    reach = size / max(float(np.linalg.norm(directions, axis=1).max()), np.finfo(float).tiny)
    high = 1e-3 * reach
    while not contains(high):
        high *= 2.0
        if high > 1e3 * reach:
            raise ValueError("no body of so few corners contains it")
    low = 0.0
    while high - low > MOVE_TOLERANCE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if contains(middle) else (middle, high)
    return np.asarray(chosen + high * directions)


def _excess(body: Array, exact: PairQuery) -> float:
    """The farthest that the body reaches beyond the exact hull; a convex function, so greatest at a corner."""
    worst = 0.0
    for corner in body:
        exact.translation_a[:] = corner
        worst = max(worst, exact.update())
    return worst


def enclose_cylinder(radius: float, half_length: float) -> Array:
    """A prism around a cylinder along z. It reaches 0.5 % of the radius beyond it at its edges."""
    sides = MOST_CORNERS // 2
    angle = 2 * np.pi * np.arange(sides) / sides
    ring = radius / np.cos(np.pi / sides) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ends = [np.column_stack([ring, np.full(sides, z)]) for z in (-half_length, half_length)]
    return np.concatenate(ends)


def enclose_ellipsoid(semi_axes: npt.ArrayLike) -> Array:
    """Corners of a polyhedron around an ellipsoid. In every direction it reaches at most 6.2 % farther."""
    return np.asarray(np.asarray(semi_axes, dtype=float) * _BALL)


def _even_directions(count: int) -> Array:
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle = GOLDEN_ANGLE * np.arange(count)
    ring = np.sqrt(1.0 - z * z)
    return np.stack([ring * np.cos(angle), ring * np.sin(angle), z], axis=1)


def _around_ball(count: int) -> Array:
    """The corners of a polyhedron around the unit ball."""
    directions = _even_directions(count)
    nearest_face = -ConvexHull(directions).equations[:, 3].max()
    return np.asarray(directions / nearest_face)


_BALL = _around_ball(MOST_CORNERS)
