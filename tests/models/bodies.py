"""Bodies and turns that the collision library's tests share."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

Array = npt.NDArray[np.float64]

CUBE: Array = np.array(list(product((-0.5, 0.5), repeat=3)))


def box(*half: float) -> Array:
    return CUBE * 2.0 * np.array(half)


def random_rotation(rng: np.random.Generator) -> Array:
    q = rng.normal(size=4)
    return Rotation.from_quat(q / np.linalg.norm(q)).as_matrix()


def ellipsoid(rng: np.random.Generator, n: int) -> Array:
    v = rng.normal(size=(n, 3))
    return v / np.linalg.norm(v, axis=1)[:, None] * rng.uniform(0.05, 0.15, 3)
