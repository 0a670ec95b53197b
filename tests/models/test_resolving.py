"""The resolution's C against the same formulas in numpy, and the laws of a stack of tasks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from simloop.models.arm import Arm
from simloop.models.braking import braking_speed
from simloop.models.clearance import Clearance
from simloop.models.limits import JointLimits
from simloop.models.resolving import Allowed, TaskStack
from simloop.models.robots.mobile import ROBOT

Matrix = NDArray[np.float64]

seeds = st.integers(0, 2**31)
H = 1 / 200
NEARLY_SINGULAR, DAMPING = 0.02, 1e-3


def random_limits(rng: np.random.Generator, n: int) -> JointLimits:
    low = np.where(rng.random(n) < 0.2, -np.inf, -rng.uniform(0.1, 3.0, n))
    high = np.where(rng.random(n) < 0.2, np.inf, rng.uniform(0.1, 3.0, n))
    return JointLimits(low, high, rng.uniform(0.1, 3.0, n), rng.uniform(0.5, 20.0, n))


@settings(deadline=None)
@given(seed=seeds)
def test_bounds_are_those_of_each_joint_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 20))
    limits = random_limits(rng, n)
    q, v = rng.uniform(-3.0, 3.0, n), rng.uniform(-3.0, 3.0, n)
    allowed = Allowed(limits, 0)
    allowed.bound(q, v, H)
    for i in range(n):
        low, high, speed, a = (float(x[i]) for x in (limits.low, limits.high, limits.speed, limits.acceleration))
        down = braking_speed(max(q[i] - low, 0.0), a, H) if np.isfinite(low) else np.inf
        up = braking_speed(max(high - q[i], 0.0), a, H) if np.isfinite(high) else np.inf
        least, most = max(-speed, -down, v[i] - a * H), min(speed, up, v[i] + a * H)
        if least > most:
            least = most = v[i] - a * H if v[i] > 0.0 else v[i] + a * H
        np.testing.assert_allclose([allowed.least[i], allowed.most[i]], [least, most], rtol=1e-12, atol=1e-12)


@settings(deadline=None)
@given(seed=seeds)
def test_what_is_allowed_is_what_its_numbers_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = 9, int(rng.integers(0, 5))
    limits = JointLimits(np.full(n, -np.inf), np.full(n, np.inf), np.full(n, 2.0), np.full(n, np.inf))
    rows, rates, v = rng.normal(size=(k, n)), rng.normal(size=k) - 3.0, 1.2 * rng.normal(size=n)
    allowed = Allowed(limits, k)
    allowed.bound(np.zeros(n), np.zeros(n), H)
    allowed.add(rows, rates)
    assert allowed.holds(v, 1e-12) == bool(np.all(np.abs(v) <= 2.0) and np.all(rows @ v >= rates))


def test_pairs_part_as_mujocos_jacobians_say() -> None:
    arm = Arm(ROBOT.mjcf)
    clearance = Clearance(arm)
    low, high = arm.model.jnt_range.T
    tested = 0
    for q in np.random.default_rng(1).uniform(low, high, (20, arm.n)):
        pairs, _ = clearance.near(q, 0.3)
        rows = clearance.rows(pairs)
        for row, pair in zip(rows, pairs.tolist(), strict=True):
            a, b = clearance._pair_bodies[pair]
            point_a, point_b, normal = clearance._scene.witnesses[pair]  # type: ignore[union-attr]
            np.testing.assert_allclose(row, arm.parting(a, point_a, b, point_b, normal), atol=1e-12)
            tested += 1
    assert tested > 100


def metric(rng: np.random.Generator, n: int) -> Matrix:
    root = rng.normal(size=(n, n))
    return np.asarray(root @ root.T + 0.5 * np.eye(n))


def ask(sizes: list[int], W: Matrix, J: Matrix, rates: Matrix, liked: Matrix) -> Matrix:
    stack = TaskStack(len(W), sizes, nearly_singular=NEARLY_SINGULAR, damping=DAMPING)
    stack.W[:], stack.J[:], stack.rates[:], stack.liked[:] = W, J, rates, liked
    return stack.velocity().copy()


@settings(deadline=None)
@given(seed=seeds, least=st.floats(0.0, 0.04))
def test_one_task_is_the_damped_weighted_pseudoinverse(seed: int, least: float) -> None:
    """J⁺ rate + (1 − J⁺ J) liked, with a least singular value on either side of where damping begins."""
    rng = np.random.default_rng(seed)
    n, m = 9, 6
    U, V = np.linalg.qr(rng.normal(size=(m, m)))[0], np.linalg.qr(rng.normal(size=(n, n)))[0]
    sizes = np.array([1.5, 1.2, 1.0, 0.7, 0.4, least])
    J = (U * sizes) @ V[:m]
    W, rates, liked = metric(rng, n), rng.normal(size=m), rng.normal(size=n)
    spread = np.linalg.solve(W, J.T)
    mobility = J @ spread
    share = DAMPING * max(0.0, 1.0 - (least / NEARLY_SINGULAR) ** 2) ** 2
    damped = mobility + share * np.trace(mobility) / m * np.eye(m)
    # Where damping is about to begin the formula is as ill conditioned as it gets: 1 / 0.02².
    expected = liked + spread @ np.linalg.solve(damped, rates - J @ liked)
    scale = np.abs(expected).max() + 1.0
    np.testing.assert_allclose(ask([m], W, J, rates, liked) / scale, expected / scale, atol=1e-10)


@settings(deadline=None)
@given(seed=seeds)
def test_a_lower_task_never_changes_a_higher_one(seed: int) -> None:
    """Whether it has room or not, whether the higher one is singular or not."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 15))
    sizes = rng.integers(1, 5, size=3).tolist()
    J = rng.normal(size=(sum(sizes), n))
    for i in range(1, len(J)):
        if rng.random() < 0.3:
            J[i] = J[rng.integers(i)] * rng.normal()
    W, rates, liked = metric(rng, n), rng.normal(size=len(J)), np.zeros(n)
    above = np.zeros(0)
    for level in range(1, 4):
        k = sum(sizes[:level])
        v = ask(sizes[:level], W, J[:k], rates[:k], liked)
        np.testing.assert_allclose(J[: len(above)] @ v, above, atol=1e-8)
        above = J[:k] @ v


def test_a_lower_task_is_done_where_the_higher_leaves_room_and_its_best_where_not() -> None:
    rng = np.random.default_rng(7)
    W, J, rates = metric(rng, 9), rng.normal(size=(6, 9)), rng.normal(size=6)
    np.testing.assert_allclose(J @ ask([3, 3], W, J, rates, np.zeros(9)), rates, atol=1e-9)
    # The last row of the lower task is that of the higher, wanted otherwise: the higher has its way.
    J[5], rates[5] = J[0], rates[0] + 1.0
    done = J @ ask([3, 3], W, J, rates, np.zeros(9))
    np.testing.assert_allclose(done[:3], rates[:3], atol=1e-9)
    np.testing.assert_allclose(done[5], rates[0], atol=1e-9)
    # Damped, as it is singular, it is done but for a part of 1e-3 of the way.
    np.testing.assert_allclose(done[3:5], rates[3:5], atol=2e-2)


@settings(deadline=None)
@given(seed=seeds)
def test_the_programme_is_the_tasks_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, sizes = 9, [3, 2]
    stack = TaskStack(n, sizes, nearly_singular=NEARLY_SINGULAR, damping=DAMPING)
    W, J = metric(rng, n), rng.normal(size=(5, n))
    stack.W[:], stack.J[:], stack.rates[:], stack.liked[:] = W, J, rng.normal(size=5), rng.normal(size=n)
    R = 1e-2 * W / (np.trace(W) / n)
    for level, rows in enumerate((slice(0, 3), slice(3, 5))):
        H, f = stack.programme(level, 1e-2)
        np.testing.assert_allclose(H, J[rows].T @ J[rows] + R, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(f, -J[rows].T @ stack.rates[rows] - R @ stack.liked, rtol=1e-12, atol=1e-12)


def test_weights_that_are_no_metric_are_refused() -> None:
    with pytest.raises(ValueError, match="positive definite"):
        ask([1], -np.eye(3), np.ones((1, 3)), np.ones(1), np.zeros(3))
