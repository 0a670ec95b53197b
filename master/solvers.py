"""Find x = g(x): how the values that go round a loop are made to agree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from simloop.master.component import Vector

Evaluate = Callable[[Vector], Vector]
# A residual that has grown by this much since the least is not on its way to zero.
DIVERGED = 1e8


@dataclass(frozen=True)
class Solution:
    """How a solver ended: after how many evaluations of g, with what largest residual |g(x) - x|, and what it says when
    it has not converged."""

    iterations: int
    residual: float
    failure: str | None = None


class Solver(Protocol):
    """Finds x = g(x) within `tolerance`, relative to max(1, |x|), in at most `limit` evaluations of g.

    The last evaluation must be the one at the x that was found: it is what the components are left with.
    """

    @property
    def tolerance(self) -> float: ...
    @property
    def limit(self) -> int: ...
    def solve(self, g: Evaluate, x: Vector) -> Solution: ...


@dataclass(frozen=True)
class FixedPoint:
    """x becomes g(x) and, with `depth` > 0, Anderson's mixture of the last `depth` + 1 of them."""

    tolerance: float
    limit: int = 50
    depth: int = 5

    def __post_init__(self) -> None:
        _check(self.tolerance, self.limit)
        if self.depth < 0:
            raise ValueError(f"the depth is {self.depth}; it must be 0 or more")

    def solve(self, g: Evaluate, x: Vector) -> Solution:
        images: list[Vector] = []
        residuals: list[Vector] = []
        least = math.inf
        for iteration in range(1, self.limit + 1):
            image = g(x).copy()
            residual = image - x
            size = _largest(residual)
            least = min(least, size)
            if _converged(residual, x, self.tolerance):
                return Solution(iteration, size)
            if not math.isfinite(size) or size > DIVERGED * least:
                return Solution(iteration, size, "diverges")
            images.append(image)
            residuals.append(residual)
            del images[: -self.depth - 1], residuals[: -self.depth - 1]
            x[:] = _mix(images, residuals)
        return Solution(self.limit, size, "does not converge")


def _mix(images: list[Vector], residuals: list[Vector]) -> Vector:
    """Anderson: the affine combination of the images whose combined residual is least."""
    if len(images) == 1:
        return images[0]
    steps = np.column_stack([residuals[-1] - residual for residual in residuals[:-1]])
    moves = np.column_stack([images[-1] - image for image in images[:-1]])
    weights = np.linalg.lstsq(steps, residuals[-1], rcond=None)[0]
    mixed: Vector = images[-1] - moves @ weights
    return mixed


@dataclass(frozen=True)
class Newton:
    """Newton's method, the Jacobian of g by differences of `perturbation`, relative to max(1, |x|)."""

    tolerance: float
    limit: int = 100
    perturbation: float = 1e-6

    def __post_init__(self) -> None:
        _check(self.tolerance, self.limit)

    def solve(self, g: Evaluate, x: Vector) -> Solution:
        J = np.empty((len(x), len(x)))
        used, size = 0, math.inf
        while used < self.limit:
            base = g(x).copy()
            used += 1
            residual = base - x
            size = _largest(residual)
            if _converged(residual, x, self.tolerance):
                return Solution(used, size)
            if not math.isfinite(size):
                return Solution(used, size, "diverges")
            for i in range(len(x)):
                kept = x[i]
                x[i] += self.perturbation * max(1.0, abs(kept))
                J[:, i] = (g(x) - base) / (x[i] - kept)
                x[i] = kept
            used += len(x)
            try:
                x += np.linalg.solve(np.eye(len(x)) - J, residual)
            except np.linalg.LinAlgError:
                return Solution(used, size, "has no single solution")
        return Solution(used, size, "does not converge")


def _largest(residual: Vector) -> float:
    return float(np.max(np.abs(residual)))


def _converged(residual: Vector, x: Vector, tolerance: float) -> bool:
    return bool(np.all(np.abs(residual) <= tolerance * np.maximum(1.0, np.abs(x))))


def _check(tolerance: float, limit: int) -> None:
    if not 0.0 < tolerance < math.inf:
        raise ValueError(f"the tolerance is {tolerance}; it must be greater than 0 and finite")
    if limit < 1:
        raise ValueError(f"the limit is {limit} iterations; it must be 1 or more")
