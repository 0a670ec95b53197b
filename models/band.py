"""A band of joint positions over time, pulled onto the path that a tool should take as far as obstacles let it.

Local planning alone bends a path where it meets something, and gets stuck. A band is the whole way at once: each of its
knots is pulled to the path and towards the middle of its neighbours, and stays in free space, by one small quadratic
programme a knot and sweep. What the path cannot have, the band gives up least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from simloop.models.arm import Vector
from simloop.models.free_space import FreeSpace, Wish
from simloop.models.objectives import Objective

# A knot goes no farther in one sweep, rad or m: at first, and in the last sweep.
FIRST_REACH, LAST_REACH = 0.05, 0.001
# A tool far off its path is pulled as if it were this far off, m.
PULL_REACH = 0.05
# How much a knot likes to be between its neighbours, against 1 for a tool on its path, with knots a second apart; this
# part of it is for the middle between two, the rest for a smooth run through four.
SMOOTHNESS = 0.05
# What each move costs, so that there is one best.
MOVE_COST = 1e-3


@dataclass(frozen=True)
class Wanted:
    """A sampled tool path: times (k), s; positions (k, 3), m; unit quaternions (k, 4)."""

    times: Vector
    positions: Vector
    quaternions: Vector


class Band:
    """Tightens bands in a free space, of which no two neighbours are to be farther apart than `gap` (n), rad or m;
    objectives, with a gain each, pull along."""

    def __init__(self, space: FreeSpace, gap: Vector, objectives: Sequence[tuple[float, Objective]] = ()) -> None:
        self._space, self._gap, self._objectives = space, gap, tuple(objectives)

    def tighten(self, band: Vector, wanted: Wanted, sweeps: int, *, end_stays: bool = True) -> None:
        """Pull the knots (k, n) of a band, in place, to what is wanted; the first stays, and the last if told."""
        last = len(band) - 1 if end_stays else len(band)
        interval = float(wanted.times[1] - wanted.times[0])
        for sweep in range(sweeps):
            reach = LAST_REACH + (FIRST_REACH - LAST_REACH) * (1.0 - sweep / sweeps)
            knots = range(1, last) if sweep % 2 == 0 else range(last - 1, 0, -1)
            for k in knots:
                band[k] += self._move(band, k, wanted, SMOOTHNESS / interval**2, reach)

    def _move(self, band: Vector, k: int, wanted: Wanted, smoothness: float, reach: float) -> Vector:
        space, q = self._space, band[k]
        before, after = band[k - 1], band[min(k + 1, len(band) - 1)]
        n = len(q)
        space.arm.kinematics(q)
        J = space.tool.jacobian()[:3].copy()
        off = wanted.positions[k] - space.tool.position()
        off *= min(1.0, PULL_REACH / max(float(np.linalg.norm(off)), 1e-12))
        H = J.T @ J + (smoothness + MOVE_COST) * np.eye(n)
        pull = J.T @ off + smoothness * (0.5 * (before + after) - q)
        for gain, objective in self._objectives:
            pull += gain * objective.gradient(q)
        nearest = np.minimum(before, after), np.maximum(before, after)
        low, high = nearest[1] - self._gap - q, nearest[0] + self._gap - q
        torn = low > high
        low[torn] = high[torn] = 0.5 * (low + high)[torn]
        low, high = np.clip(low, -reach, reach), np.clip(high, -reach, reach)
        return space.move(q, Wish(H, pull), low, high, wanted.quaternions[k])


def refine(band: Vector, times: Vector, finer: Vector) -> Vector:
    """A band at other times, straight between its knots."""
    return np.column_stack([np.interp(finer, times, joint) for joint in band.T])
