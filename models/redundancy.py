"""Which joint velocities do tasks by priority, for an arm that has joints to spare (S4, S5).

The plain formula is the weighted pseudoinverse of each task in the null space of those above it, with the objectives'
gradients in what null space is left. Where it would break a limit of a joint or come too near to something, a small
quadratic programme for each task finds the velocity that does not and does the task best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import daqp
import numpy as np
from simloop.models.arm import Arm, Vector
from simloop.models.clearance import Clearance
from simloop.models.limits import JointLimits
from simloop.models.objectives import Objective
from simloop.models.resolving import JointBounds, TaskStack, within
from simloop.models.rolling import Rolling

# Where the smallest singular value of a task's Jacobian is below this (m and rad a rad), the task is damped, smoothly
# from nothing up to this part of its mean mobility.
NEARLY_SINGULAR, DAMPING = 0.02, 1e-3
# How little the programme minds joint motion (mean square) against task error.
REGULARISATION = 1e-2
# Violations below this, rad/s or m/s, are rounding.
ROUNDING = 1e-12
# Of a task, a direction with a singular value below this part of the greatest moves nothing.
NO_MOTION = 1e-9
# daqp's words: no bound; a row that holds with equality; a row that gives way as little as it can where it must.
NO_BOUND, EQUAL, SOFT = 1e30, 5, 8


class Task(Protocol):
    """Something that is to move at a wanted rate: how it moves per joint velocity, (m, n), after `arm.kinematics`."""

    def jacobian(self) -> Vector: ...


class Weighting(Protocol):
    """How much each joint's motion costs, after `arm.kinematics`: a matrix W, (n, n)."""

    def matrix(self, arm: Arm) -> Vector: ...


@dataclass(frozen=True)
class Spacing:
    """How near bodies may come: never nearer than `least` m; from `influence` m on they close ever more slowly, by at
    most `rate` (1/s) of what is left."""

    clearance: Clearance
    least: float
    influence: float
    rate: float


@dataclass(frozen=True)
class Allowed:
    """Joint velocities with least ≤ v ≤ most (n each) and rows v ≥ rates; all but the first `hard` rows give way where
    nothing else is left."""

    least: Vector
    most: Vector
    rows: Vector
    rates: Vector
    hard: int = 0


class Resolution:
    """The velocity of the joints for rates of the tasks, such as the twist of a tool.

    `lower` are tasks that are done as far as the first one leaves room, each before those that follow it. `objectives`
    have a gain each. `limits` and `spacing` are hard, and so is that a platform with `rolling` does not go sideways.
    """

    def __init__(
        self,
        arm: Arm,
        first: Task,
        limits: JointLimits,
        *,
        weight: Weighting,
        lower: Sequence[Task] = (),
        objectives: Sequence[tuple[float, Objective]] = (),
        spacing: Spacing | None = None,
        rolling: Rolling | None = None,
    ) -> None:
        n = arm.n
        self._arm, self._weight, self._objectives = arm, weight, tuple(objectives)
        self._spacing, self._rolling = spacing, rolling
        self._bounds, self._speed = JointBounds(limits), limits.speed
        self._tasks = (first, *lower)
        sizes = [len(task.jacobian()) for task in self._tasks]
        held = 0 if rolling is None else 1
        levels = [held] * held + sizes
        self._stack = TaskStack(n, levels, nearly_singular=NEARLY_SINGULAR, damping=DAMPING)
        self._J, self._rates = np.zeros((sum(levels), n)), np.zeros(sum(levels))
        ends = np.cumsum([0, *levels])
        self._levels = [slice(a, b) for a, b in zip(ends[held:-1], ends[held + 1 :], strict=True)]
        self._sideways = self._J[:held]
        self._blocks = [self._J[level] for level in self._levels]
        self._wanted = self._rates[held:]
        self._none, self._unmoved = np.zeros((0, n)), np.zeros(n)

    def velocity(self, q: Vector, v: Vector, rates: Vector, h: float) -> Vector:
        """The joint velocity for the next h s at q, after velocity v, for the rates of all tasks, one after the other:
        for a tool its twist in the world frame."""
        self._arm.kinematics(q)
        liked = self._liked(q)
        for block, task in zip(self._blocks, self._tasks, strict=True):
            block[:] = task.jacobian()
        self._wanted[:] = rates
        allowed = self._closing(self._bounds.at(q, v, h))
        if self._rolling is not None:
            allowed = self._roll(self._rolling, allowed, q, v, h)
        W = self._weight.matrix(self._arm)
        plain = self._stack.velocity(W, self._J, self._rates, liked)
        if within(plain, allowed.least, allowed.most, allowed.rows, allowed.rates, ROUNDING):
            return plain
        return self._limited(W, liked, allowed)

    def _liked(self, q: Vector) -> Vector:
        """The velocity that the objectives would have."""
        if not self._objectives:
            return self._unmoved
        return np.asarray(sum(gain * objective.gradient(q) for gain, objective in self._objectives))

    def _closing(self, bounds: tuple[Vector, Vector]) -> Allowed:
        """For each near pair, how its distance grows per joint velocity, and the least rate that is allowed."""
        spacing = self._spacing
        if spacing is None:
            return Allowed(*bounds, self._none, self._unmoved[:0])
        pairs, distances = spacing.clearance.near_here(spacing.influence)
        return Allowed(*bounds, spacing.clearance.rows(pairs), spacing.rate * (spacing.least - distances))

    def _roll(self, rolling: Rolling, allowed: Allowed, q: Vector, v: Vector, h: float) -> Allowed:
        """The platform's x and y are bounded by its forward speed, ahead and back, in place of their own bounds."""
        rolling.place(q)
        self._sideways[:] = rolling.sideways
        least, most = rolling.bounds(q, v, h)
        allowed.least[:2], allowed.most[:2] = -self._speed[:2], self._speed[:2]
        rows = np.concatenate([rolling.forward, -rolling.forward, allowed.rows])
        return Allowed(allowed.least, allowed.most, rows, np.concatenate([[least, -most], allowed.rates]), hard=2)

    def _limited(self, W: Vector, liked: Vector, allowed: Allowed) -> Vector:
        """The velocity that is allowed and does the first task best, of these the one that does the next best, and of
        those nearly as good the least."""
        R = W * (REGULARISATION * len(W) / W.trace())
        pull = R @ liked
        v, fixed = self._unmoved, self._sideways
        for level, J in zip(self._levels, self._blocks, strict=True):
            best = _nearest(J.T @ J + R, J.T @ self._rates[level] + pull, fixed, fixed @ v, allowed)
            if best is None and level is self._levels[0]:
                raise ValueError("no joint velocity keeps the limits")
            if best is None or level is self._levels[-1]:
                v = v if best is None else best
                break
            v, fixed = best, _directions(np.concatenate([fixed, J]))
        v = np.clip(v, allowed.least, allowed.most)
        if self._rolling is not None:
            # To the last digit, where the programme leaves its tolerance.
            forward = min(max(float(allowed.rows[0] @ v), allowed.rates[0]), -allowed.rates[1])
            v[:2] = forward * allowed.rows[0, :2]
        return np.asarray(v)


def _nearest(H: Vector, pull: Vector, fixed: Vector, at: Vector, allowed: Allowed) -> Vector | None:
    """The velocity of least ½ vᵀ H v − pullᵀ v that is allowed and has fixed v = at; None where there is none."""
    count, hard, soft = len(pull) + len(fixed), allowed.hard, len(allowed.rates) - allowed.hard
    upper = np.concatenate([allowed.most, at, np.full(hard + soft, NO_BOUND)])
    lower = np.concatenate([allowed.least, at, allowed.rates])
    sense = np.zeros(len(upper), dtype=np.int32)
    sense[len(pull) : count] = EQUAL
    # Joint limits hold always; where nothing then keeps the distance, it gives way as little as it can.
    sense[count + hard :] = SOFT
    rows = np.concatenate([fixed, allowed.rows]) if len(fixed) else allowed.rows
    v, _, flag, _ = daqp.solve(H, -pull, rows, upper, lower, sense, primal_tol=1e-9)
    return v if flag > 0 else None


def _directions(rows: Vector) -> Vector:
    """An orthonormal basis of what rows can tell of a velocity."""
    _, sizes, basis = np.linalg.svd(rows, full_matrices=False)
    return np.ascontiguousarray(basis[sizes > NO_MOTION * sizes[0]])


class ByInertia:
    """What is light moves first (S4)."""

    def matrix(self, arm: Arm) -> Vector:
        return arm.inertia()


class Evenly:
    """All joints alike."""

    def matrix(self, arm: Arm) -> Vector:
        return np.eye(arm.n)
