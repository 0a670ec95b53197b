"""Where an arm may be: joints within their ranges, bodies apart, its tool turned as told; and small moves in there."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import daqp
import numpy as np
from simloop.models.arm import Arm, Vector
from simloop.models.clearance import Clearance
from simloop.models.pose import ToolPose, rotation_between

# Turned this little off, rad, counts as turned right.
TURNED_RIGHT = 1e-4
# Bodies nearer than this much more than their distance are seen coming, m.
AHEAD = 0.05
# Moves aim for this much more distance than is needed, m: they are right to first order only.
SPARE = 0.002
# Joints stay this far from the ends of their ranges, m or rad.
INSIDE = 0.005
_MOST_CORRECTIONS = 15
_GIVES_WAY = 8  # how daqp calls a constraint that may be broken as little as possible
_NO_TURN = np.zeros(3)


@dataclass(frozen=True)
class Wish:
    """A move that is wanted: the one that makes ½ δᵀ H δ − pullᵀ δ least, (n, n) and (n)."""

    H: Vector
    pull: Vector


class FreeSpace:
    """Joint positions at which bodies are at least `least` m apart; `low` and `high` are the ends of the joints'
    ranges, infinite where there is none."""

    def __init__(self, arm: Arm, tool: ToolPose, low: Vector, high: Vector, least: float) -> None:
        self.arm, self.tool, self.least = arm, tool, least
        self.low, self.high = low + INSIDE, high - INSIDE
        self._clearance = Clearance(arm)
        self._none = np.zeros((0, arm.n))

    def apart(self, least: float) -> FreeSpace:
        """The space where bodies need be `least` m apart, instead."""
        other = copy(self)
        other.least = least
        return other

    def within(self, low: Vector, high: Vector) -> FreeSpace:
        """The part of this space where joints are between these, too."""
        part = copy(self)
        part.low, part.high = np.maximum(self.low, low), np.minimum(self.high, high)
        return part

    def distance(self, q: Vector) -> float:
        """The nearest that two bodies are at q, m; the arm is placed there."""
        self._clearance.update(q)
        return self._clearance.distance

    def turned_off(self, quaternion: Vector) -> Vector:
        """The rotation vector, rad, from where the tool is turned to an orientation, where the arm was placed."""
        return rotation_between(self.tool.quaternion(), quaternion)

    def admits(self, q: Vector) -> bool:
        """Whether the arm may be at q, however its tool is turned."""
        return bool((q >= self.low).all() and (q <= self.high).all()) and self.distance(q) >= self.least

    def turn(self, q: Vector, quaternion: Vector | None) -> Vector | None:
        """The nearest position to q, nearly, at which the tool is turned as told and joints are within their ranges;
        None when there is none near."""
        q = q.copy()
        for _ in range(_MOST_CORRECTIONS):
            self.arm.kinematics(q)
            off = _NO_TURN if quaternion is None else self.turned_off(quaternion)
            if np.abs(off).max() < TURNED_RIGHT:
                return q if (q >= self.low).all() and (q <= self.high).all() else None
            J = self.tool.jacobian()[3:]
            q += J.T @ np.linalg.solve(J @ J.T + 1e-9 * np.eye(3), off)
        return None

    def move(self, q: Vector, wish: Wish, low: Vector, high: Vector, quaternion: Vector | None) -> Vector:
        """The move from q nearest to the wish, each joint's from `low` to `high`, that keeps bodies apart and turns the
        tool as told, both to first order; where nothing does that, it is broken as little as can be."""
        pairs, distances = self._clearance.near(q, self.least + AHEAD)
        rows = self._clearance.rows(pairs) if len(pairs) else self._none
        n, k = len(q), len(distances)
        low = np.maximum(low, self.low - q)
        high = np.maximum(low, np.minimum(high, self.high - q))
        # A deep overlap is left in small moves: its normal holds only near by.
        lower, upper = np.minimum(self.least + SPARE - distances, AHEAD), np.full(k, 1e30)
        if quaternion is not None:
            off = self.turned_off(quaternion)
            rows = np.vstack([rows, self.tool.jacobian()[3:]])
            lower, upper = np.concatenate([lower, off]), np.concatenate([upper, off])
        sense = np.zeros(n + len(rows), dtype=np.int32)
        sense[n:] = _GIVES_WAY
        bounds = np.concatenate([high, upper]), np.concatenate([low, lower])
        move, _, flag, _ = daqp.solve(wish.H, -wish.pull, rows, *bounds, sense, primal_tol=1e-9)
        return np.clip(move, low, high) if flag > 0 else np.zeros(n)
