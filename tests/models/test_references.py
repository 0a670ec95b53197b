"""Independent engines that must agree with the collision library, or be known wrong."""

import numpy as np
import pytest

from tests.models.bodies import ellipsoid
from tests.models.engines import coal_distance, fcl_distance
from tests.models.posed import set_up


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
