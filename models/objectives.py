"""What an arm with joints to spare would like, besides its tasks: objects with a value and a gradient (S5)."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from simloop.models.arm import Arm, Vector
from simloop.models.clearance import Clearance
from simloop.models.pose import ToolPose


class Objective(Protocol):
    """Something to be large: a value and its gradient, per joint, at the position that the arm was placed at."""

    def value(self, q: Vector) -> float: ...
    def gradient(self, q: Vector) -> Vector: ...


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
