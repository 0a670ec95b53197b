"""What is asked: bodies and poses, the same for every library."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation
from simloop.models import gjk

Array = npt.NDArray[np.float64]

SEED = 3
SIZES = (8, 20, 50, 200, 1000)
BODIES = 24  # a case asks about each and its successor
SAMPLES = 1200
SEMI_AXES = (0.05, 0.15)  # m
SEPARATION = (0.03, 0.50)  # m
NEAR = 1e-4  # m
SHALLOW = -1e-3  # m
DEEP = 0.02  # m, largest distance of the centres
STEP, SPEED, TURN = 1e-3, 1.0, 1.0  # s, m/s, rad/s
# A flight that comes nearer than this is drawn again: the coherent family is about distances.
CLEARANCE = 1e-3  # m


@dataclass
class Case:
    """Sample i poses pair i % len(pairs)."""

    family: str
    size: int
    bodies: list[gjk.Hull]
    poses: list[tuple[Array, Array, Array, Array]] = field(default_factory=list)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(pairwise([*range(len(self.bodies)), 0]))

    def bodies_of(self, sample: int) -> tuple[gjk.Hull, gjk.Hull]:
        a, b = self.pairs[sample % len(self.pairs)]
        return self.bodies[a], self.bodies[b]


def make_bodies(rng: np.random.Generator, size: int) -> list[gjk.Hull]:
    bodies = []
    for _ in range(BODIES):
        points = unit_vectors(rng, size) * rng.uniform(*SEMI_AXES, 3)
        body = gjk.Hull(points)
        assert len(body.corners) == size, "a point on an ellipsoid must be a corner of the hull"
        bodies.append(body)
    return bodies


def unit_vectors(rng: np.random.Generator, count: int) -> Array:
    vectors = rng.normal(size=(count, 3))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def random_query(rng: np.random.Generator, a: gjk.Hull, b: gjk.Hull, offset: Array) -> gjk.PairQuery:
    query = gjk.PairQuery(a, b)
    query.rotation_a[:], query.rotation_b[:] = Rotation.random(2, rng).as_matrix()
    query.translation_a[:] = rng.uniform(-1.0, 1.0, 3)
    query.translation_b[:] = query.translation_a + offset
    return query


def query_at(rng: np.random.Generator, a: gjk.Hull, b: gjk.Hull, distance: float) -> gjk.PairQuery:
    """Poses at this signed distance, or overlapping by at most as much."""
    query = random_query(rng, a, b, unit_vectors(rng, 1)[0])
    query.update()
    query.translation_b += (distance - query.distance) * query.normal
    return query


def poses_of(query: gjk.PairQuery) -> tuple[Array, Array, Array, Array]:
    arrays = (query.rotation_a, query.translation_a, query.rotation_b, query.translation_b)
    return tuple(array.copy() for array in arrays)  # type: ignore[return-value]


def single_query(rng: np.random.Generator, family: str, a: gjk.Hull, b: gjk.Hull) -> gjk.PairQuery:
    if family == "separated":
        return query_at(rng, a, b, rng.uniform(*SEPARATION))
    if family == "near":
        return query_at(rng, a, b, NEAR)
    if family == "shallow":
        return query_at(rng, a, b, SHALLOW)
    return random_query(rng, a, b, DEEP * rng.random() ** (1 / 3) * unit_vectors(rng, 1)[0])


def flight(rng: np.random.Generator, a: gjk.Hull, b: gjk.Hull, steps: int) -> list[tuple[Array, Array, Array, Array]]:
    """Poses of b passing a in a straight line, turning about a fixed axis."""
    query = query_at(rng, a, b, rng.uniform(*SEPARATION))
    direction, axis = unit_vectors(rng, 2)
    turn = Rotation.from_rotvec(TURN * STEP * axis)
    poses = []
    for _ in range(steps):
        if query.update() < CLEARANCE:
            return flight(rng, a, b, steps)
        poses.append(poses_of(query))
        query.translation_b += SPEED * STEP * direction
        query.rotation_b[:] = (turn * Rotation.from_matrix(query.rotation_b)).as_matrix()
    return poses


def make_cases(rng: np.random.Generator, size: int) -> Iterator[Case]:
    bodies = make_bodies(rng, size)
    for family in ("separated", "near", "shallow", "deep"):
        case = Case(family, size, bodies)
        for i in range(SAMPLES):
            case.poses.append(poses_of(single_query(rng, family, *case.bodies_of(i))))
        yield case
        if family == "separated":
            yield Case("boolean", size, bodies, case.poses)
    coherent = Case("coherent", size, bodies)
    flights = [flight(rng, *coherent.bodies_of(i), SAMPLES // BODIES) for i in range(BODIES)]
    coherent.poses = [poses for moment in zip(*flights, strict=True) for poses in moment]
    yield coherent


def triangles_of(body: gjk.Hull) -> npt.NDArray[np.int32]:
    """Triangles of the hull, counter-clockwise seen from outside."""
    hull = ConvexHull(body.vertices, qhull_options="Qt")
    a, b, c = (body.vertices[hull.simplices[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    triangles = hull.simplices.astype(np.int32)
    triangles[inward] = triangles[inward][:, [0, 2, 1]]
    return triangles


def write_cases(path: Path, cases: list[Case]) -> None:
    """As cases.h reads them."""
    with path.open("wb") as file:
        file.write(struct.pack("<ii", gjk.CLIMB_FROM, len(cases)))
        for case in cases:
            name = case.family.encode()
            file.write(struct.pack("<i", len(name)) + name + struct.pack("<ii", case.size, len(case.bodies)))
            for body in case.bodies:
                triangles = triangles_of(body)
                file.write(struct.pack("<i", len(body.vertices)) + body.vertices.tobytes())
                file.write(struct.pack("<i", len(triangles)) + triangles.tobytes())
            file.write(struct.pack("<i", len(case.pairs)) + np.array(case.pairs, dtype=np.int32).tobytes())
            file.write(struct.pack("<i", len(case.poses)))
            for poses in case.poses:
                file.write(np.concatenate([part.ravel() for part in poses]).tobytes())
