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
from simloop.models.resolving import Allowed, TaskStack
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
# Rows that bound the forward speed of a platform on wheels.
HARD_ROWS = 2
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
        self._arm, self._weight, self._objectives = arm, weight, tuple(objectives)
        self._spacing, self._rolling, self._hard = spacing, rolling, 0 if rolling is None else HARD_ROWS
        self._tasks = (first, *lower)
        # That a platform does not go sideways is above all tasks.
        held = [] if rolling is None else [1]
        sizes = [*held, *(len(task.jacobian()) for task in self._tasks)]
        stack = self._stack = TaskStack(arm.n, sizes, nearly_singular=NEARLY_SINGULAR, damping=DAMPING)
        self._sideways, self._first = stack.J[: len(held)], len(held)
        self._blocks = [stack.J[level] for level in stack.levels[self._first :]]
        self._wanted = stack.rates[len(held) :]
        pairs = 0 if spacing is None else len(spacing.clearance.names)
        room = HARD_ROWS + pairs + len(stack.rates)
        self._allowed = Allowed(limits, room)
        self._sense = np.zeros(arm.n + room, dtype=np.int32)

    def velocity(self, q: Vector, v: Vector, rates: Vector, h: float) -> Vector:
        """The joint velocity for the next h s at q, after velocity v, for the rates of all tasks, one after the other:
        for a tool its twist in the world frame."""
        self._arm.kinematics(q)
        stack, allowed = self._stack, self._allowed
        self._like(q)
        for block, task in zip(self._blocks, self._tasks, strict=True):
            block[:] = task.jacobian()
        self._wanted[:] = rates
        stack.W[:] = self._weight.matrix(self._arm)
        allowed.bound(q, v, h)
        if self._rolling is not None:
            self._roll(self._rolling, q, v, h)
        self._keep_apart()
        plain = stack.velocity()
        return plain.copy() if allowed.holds(plain, ROUNDING) else self._limited()

    def _like(self, q: Vector) -> None:
        """The velocity that the objectives would have."""
        if self._objectives:
            liked = self._stack.liked
            liked[:] = 0.0
            for gain, objective in self._objectives:
                liked += gain * objective.gradient(q)

    def _keep_apart(self) -> None:
        """For each near pair, how its distance grows per joint velocity, and the least rate that is allowed."""
        spacing = self._spacing
        if spacing is None:
            return
        pairs, distances = spacing.clearance.near_here(spacing.influence)
        if len(pairs):
            self._allowed.add(spacing.clearance.rows(pairs), spacing.rate * (spacing.least - distances))

    def _roll(self, rolling: Rolling, q: Vector, v: Vector, h: float) -> None:
        """The platform's x and y are bounded by its forward speed, ahead and back, in place of their own bounds."""
        allowed = self._allowed
        rolling.place(q)
        self._sideways[:] = rolling.sideways
        least, most = rolling.bounds(q, v, h)
        allowed.least[:2], allowed.most[:2] = -NO_BOUND, NO_BOUND
        allowed.add(np.concatenate([rolling.forward, -rolling.forward]), np.array([least, -most]))

    def _limited(self) -> Vector:
        """The velocity that is allowed and does the first task best, of these the one that does the next best, and of
        those nearly as good the least."""
        stack, allowed = self._stack, self._allowed
        done, v = self._formula_goes()
        if v is None:
            v = self._best(self._first, self._sideways, np.zeros(len(self._sideways)))
            done = self._first + 1
        if v is None:
            raise ValueError("no joint velocity keeps the limits")
        for level in range(done, len(stack.levels)):
            fixed = _directions(stack.J[: stack.levels[level].start])
            better = self._best(level, fixed, fixed @ v)
            if better is None:
                break
            v = better
        np.maximum(v, allowed.least, out=v)
        np.minimum(v, allowed.most, out=v)
        if self._rolling is not None:
            # To the last digit, where the programme leaves its tolerance.
            forward, (least, most) = self._rolling.forward[0], allowed.rates[:2]
            v[:2] = min(max(float(forward @ v), least), -most) * forward[:2]
        return v

    def _formula_goes(self) -> tuple[int, Vector | None]:
        """How many levels of the stack the plain formula does within what is allowed, and its velocity for these."""
        for levels in range(len(self._stack.levels) - 1, self._first, -1):
            plain = self._stack.velocity(levels)
            if self._allowed.holds(plain, ROUNDING):
                return levels, plain.copy()
        return 0, None

    def _best(self, level: int, fixed: Vector, at: Vector) -> Vector | None:
        """The allowed velocity with fixed v = at that does one task best; None where there is none. Joint limits
        hold always; where nothing then keeps the distance of bodies, it gives way as little as it can."""
        allowed, sense, hard = self._allowed, self._sense, self._hard
        n, count, rows = len(allowed.least), allowed.count, allowed.count + len(fixed)
        allowed.upper[n : n + count] = NO_BOUND
        sense[: n + hard] = 0
        sense[n + hard : n + count] = SOFT
        if rows > count:
            allowed.rows[count:rows] = fixed
            allowed.lower[n + count : n + rows] = allowed.upper[n + count : n + rows] = at
            sense[n + count : n + rows] = EQUAL
        H, f = self._stack.programme(level, REGULARISATION)
        end = n + rows
        v, _, flag, _ = daqp.solve(
            H, f, allowed.rows[:rows], allowed.upper[:end], allowed.lower[:end], sense[:end], primal_tol=1e-9
        )
        return v if flag > 0 else None


def _directions(rows: Vector) -> Vector:
    """An orthonormal basis of what rows can tell of a velocity."""
    _, sizes, basis = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(basis[sizes > NO_MOTION * sizes[0]])


class ByInertia:
    """What is light moves first (S4)."""

    def matrix(self, arm: Arm) -> Vector:
        return arm.inertia()


class Evenly:
    """All joints alike."""

    def matrix(self, arm: Arm) -> Vector:
        return np.eye(arm.n)
