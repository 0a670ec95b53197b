"""Every answer of the collision library carries a proof, which holds against the explicit Minkowski difference."""

import numpy as np
import pytest
from simloop.models import gjk

from tests.models.bodies import box, ellipsoid, prism, random_body
from tests.models.posed import check_certificate, gaps, qhull_depth, qp_distance, set_up


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


def test_depth_is_that_of_the_explicit_minkowski_difference() -> None:
    rng = np.random.default_rng(3)
    overlapping = 0
    for _ in range(3_000):
        A, B = ellipsoid(rng, 8), (prism(6), box(*rng.uniform(0.02, 0.3, 3)))[rng.integers(2)]
        query = set_up(rng, -rng.uniform(0.0, 0.2), A, B)
        if query.update() < 0.0:
            overlapping += 1
            assert -query.distance == pytest.approx(qhull_depth(query), abs=1e-13)
    assert overlapping > 1_000


def test_distance_is_that_of_the_quadratic_program() -> None:
    rng = np.random.default_rng(4)
    for _ in range(1_500):
        A, B = ellipsoid(rng, int(rng.choice([4, 8, 20]))), random_body(rng)
        query = set_up(rng, rng.uniform(-0.1, 0.3), A, B)
        assert max(query.update(), 0.0) == pytest.approx(qp_distance(query), abs=1e-9)
