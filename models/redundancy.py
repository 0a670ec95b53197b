"""Which joint velocities move a tool as wanted, for an arm that has joints to spare (S4, S5).

The plain formula is the weighted pseudoinverse of the task with the objectives' gradients in its null space. Where it
would break a limit of a joint or come too near to something, a small quadratic programme finds the velocity that does
not and does the task best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import daqp
import numpy as np
from simloop.models.arm import Arm, Vector
from simloop.models.braking import braking_speeds
from simloop.models.clearance import Clearance
from simloop.models.pose import ToolPose

# Where the smallest singular value of the tool's Jacobian is below this (m and rad a rad), the task is damped, smoothly
# from nothing up to this part of its mean mobility.
NEARLY_SINGULAR, DAMPING = 0.02, 1e-3
# How little the programme minds joint motion (mean square) against task error.
REGULARISATION = 1e-2
# Violations below this, rad/s or m/s, are rounding.
ROUNDING = 1e-12


class Objective(Protocol):
    """Something to be large: a value and its gradient, per joint, at the position that the arm was placed at."""

    def value(self, q: Vector) -> float: ...
    def gradient(self, q: Vector) -> Vector: ...


class Weighting(Protocol):
    """How much each joint's motion costs, after `arm.kinematics`: a matrix W, and rows · W⁻¹."""

    def spread(self, arm: Arm, rows: Vector) -> Vector: ...
    def matrix(self, arm: Arm) -> Vector: ...


@dataclass(frozen=True)
class JointLimits:
    """Position, speed and acceleration of each joint (n each), rad or m; infinite where there is none."""

    low: Vector
    high: Vector
    speed: Vector
    acceleration: Vector

    def bounds(self, q: Vector, v: Vector, h: float) -> tuple[Vector, Vector]:
        """The least and greatest velocity for the next h s after velocity v, such that every limit can be kept ever
        after: within the acceleration, within the speed, and able to brake before the end of the range."""
        a = self.acceleration
        down, up = np.maximum(q - self.low, 0.0), np.maximum(self.high - q, 0.0)
        least = np.maximum(-self.speed, -braking_speeds(down, a, h))
        most = np.minimum(self.speed, braking_speeds(up, a, h))
        # What moves too fast already brakes as hard as it may.
        least, most = np.maximum(least, v - a * h), np.minimum(most, v + a * h)
        crossed = least > most
        least[crossed] = most[crossed] = np.where(v > 0.0, v - a * h, v + a * h)[crossed]
        return least, most


@dataclass(frozen=True)
class Spacing:
    """How near bodies may come: never nearer than `least` m; from `influence` m on they close ever more slowly, by at
    most `rate` (1/s) of what is left."""

    clearance: Clearance
    least: float
    influence: float
    rate: float


class Resolution:
    """The velocity of the joints for a twist of the tool.

    `objectives` have a gain each. `limits` and `spacing` are hard.
    """

    def __init__(
        self,
        arm: Arm,
        tool: ToolPose,
        limits: JointLimits,
        *,
        weight: Weighting,
        objectives: Sequence[tuple[float, Objective]] = (),
        spacing: Spacing | None = None,
    ) -> None:
        self._arm, self._tool, self._limits = arm, tool, limits
        self._weight, self._objectives, self._spacing = weight, tuple(objectives), spacing
        self._none = np.zeros((0, arm.n))
        self._eye = np.eye(6)

    def velocity(self, q: Vector, v: Vector, twist: Vector, h: float) -> Vector:
        """The joint velocity for the next h s at q, after velocity v, for a twist of the tool in the world frame."""
        self._arm.kinematics(q)
        J = self._tool.jacobian()
        liked = self._liked(q)
        wanted = self._plain(J, twist, liked)
        least, most = self._limits.bounds(q, v, h)
        rows, rates = self._closing(q)
        if (
            np.all(wanted >= least - ROUNDING)
            and np.all(wanted <= most + ROUNDING)
            and (not len(rows) or np.all(rows @ wanted >= rates - ROUNDING))
        ):
            return wanted
        return self._within(J, twist, liked, least, most, rows, rates)

    def _liked(self, q: Vector) -> Vector | None:
        """The velocity that the objectives would have; None without any."""
        if not self._objectives:
            return None
        return np.asarray(sum(gain * objective.gradient(q) for gain, objective in self._objectives))

    def _plain(self, J: Vector, twist: Vector, liked: Vector | None) -> Vector:
        """J⁺ twist + (1 − J⁺ J) v₀ with the weighted pseudoinverse, damped where the task is nearly singular."""
        spread = self._weight.spread(self._arm, J)
        mobility = spread @ J.T
        least = max(0.0, float(np.linalg.eigvalsh(J @ J.T)[0]))
        if least < NEARLY_SINGULAR**2:
            share = DAMPING * (1.0 - least / NEARLY_SINGULAR**2) ** 2
            mobility = mobility + share * np.trace(mobility) / 6.0 * self._eye
        if liked is None:
            return np.asarray(spread.T @ np.linalg.solve(mobility, twist))
        return np.asarray(liked + spread.T @ np.linalg.solve(mobility, twist - J @ liked))

    def _closing(self, q: Vector) -> tuple[Vector, Vector]:
        """For each near pair, how its distance grows per joint velocity, and the least rate that is allowed."""
        spacing = self._spacing
        if spacing is None:
            return self._none, np.zeros(0)
        pairs, distances = spacing.clearance.near(q, spacing.influence)
        if not len(pairs):
            return self._none, np.zeros(0)
        return spacing.clearance.rows(pairs), spacing.rate * (spacing.least - distances)

    def _within(
        self,
        J: Vector,
        twist: Vector,
        liked: Vector | None,
        least: Vector,
        most: Vector,
        rows: Vector,
        rates: Vector,
    ) -> Vector:
        """The velocity within the limits that does the task best, and of those nearly as good the least."""
        W = self._weight.matrix(self._arm)
        W = W * (REGULARISATION * len(W) / np.trace(W))
        pull = J.T @ twist if liked is None else J.T @ twist + W @ liked
        upper = np.concatenate([most, np.full(len(rates), 1e30)])
        lower = np.concatenate([least, rates])
        sense = np.zeros(len(upper), dtype=np.int32)
        # Joint limits hold always; where nothing then keeps the distance, it gives way as little as it can.
        sense[len(most) :] = 8
        velocity, _, flag, _ = daqp.solve(J.T @ J + W, -pull, rows, upper, lower, sense, primal_tol=1e-9)
        if flag <= 0:
            raise ValueError(f"no joint velocity keeps the limits (daqp says {flag})")
        return np.asarray(np.clip(velocity, least, most))


class ByInertia:
    """What is light moves first (S4)."""

    def spread(self, arm: Arm, rows: Vector) -> Vector:
        out = np.zeros_like(rows)
        arm.solve_inertia(rows, out)
        return out

    def matrix(self, arm: Arm) -> Vector:
        return arm.inertia()


class Evenly:
    """All joints alike."""

    def spread(self, arm: Arm, rows: Vector) -> Vector:
        return rows.copy()

    def matrix(self, arm: Arm) -> Vector:
        return np.eye(arm.n)


class Centre:
    """Joints near the middle of their ranges, or near a posture when one is given (S5: limits avoidance):
    −1/(2 n) Σ ((q − posture) / (high − low))²."""

    def __init__(self, low: Vector, high: Vector, posture: Vector | None = None) -> None:
        self._range = high - low
        self.posture = 0.5 * (low + high) if posture is None else posture.copy()

    def value(self, q: Vector) -> float:
        return -float(np.sum(((q - self.posture) / self._range) ** 2)) / (2 * len(q))

    def gradient(self, q: Vector) -> Vector:
        return -(q - self.posture) / self._range**2 / len(q)


class Manipulability:
    """√det(J Jᵀ): far from singular poses (S5). Its gradient is by differences."""

    STEP = 1e-6  # rad or m

    def __init__(self, arm: Arm, tool: ToolPose) -> None:
        self._arm, self._tool = arm, tool

    def value(self, q: Vector) -> float:
        self._arm.kinematics(q)
        J = self._tool.jacobian()
        return float(np.sqrt(max(0.0, np.linalg.det(J @ J.T))))

    def gradient(self, q: Vector) -> Vector:
        slopes = np.zeros(len(q))
        for i in range(len(q)):
            moved = q.copy()
            moved[i] += self.STEP
            above = self.value(moved)
            moved[i] -= 2 * self.STEP
            slopes[i] = (above - self.value(moved)) / (2 * self.STEP)
        self._arm.kinematics(q)
        self._tool.jacobian()
        return slopes


class Room:
    """The distance of the nearest pair, as far as it is less than `enough` m: −(enough − distance)²/2."""

    def __init__(self, clearance: Clearance, enough: float) -> None:
        self._clearance, self._enough = clearance, enough

    def value(self, q: Vector) -> float:
        self._clearance.update(q)
        return -0.5 * max(0.0, self._enough - self._clearance.distance) ** 2

    def gradient(self, q: Vector) -> Vector:
        self._clearance.update(q)
        short = max(0.0, self._enough - self._clearance.distance)
        return short * self._clearance.gradient() if short else np.zeros(len(q))
