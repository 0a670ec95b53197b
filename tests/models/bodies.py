"""Bodies and turns that the collision library's tests share."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

Array = npt.NDArray[np.float64]

AXES: Array = np.eye(3)
CUBE: Array = np.array(list(product((-0.5, 0.5), repeat=3)))


def box(*half: float) -> Array:
    return CUBE * 2.0 * np.array(half)


def random_rotation(rng: np.random.Generator) -> Array:
    q = rng.normal(size=4)
    return Rotation.from_quat(q / np.linalg.norm(q)).as_matrix()


def ellipsoid(rng: np.random.Generator, n: int) -> Array:
    v = rng.normal(size=(n, 3))
    return v / np.linalg.norm(v, axis=1)[:, None] * rng.uniform(0.05, 0.15, 3)


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
