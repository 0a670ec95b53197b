"""From one posture to another among obstacles, over time: planned as a whole before anything moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from simloop.models.arm import Vector
from simloop.models.free_space import INSIDE, FreeSpace, Wish
from simloop.models.limits import JointLimits
from simloop.models.search import Search
from simloop.models.swept import Sweep
from simloop.models.timing import TimedWay, curve_through, standing, time_within

# A way is looked for on which bodies are this much farther apart than they must, m, and handed out when it is proven
# that they are the second of these: what follows it is never quite on it.
SOUGHT, PROVEN = 2e-3, 5e-4
# An orientation is held when the tool is turned off it by no more than this, rad, or than it is at the start.
HELD = 0.005
# A start or goal turned off by more than this, rad, cannot be held.
HELD_AT_ENDS = 0.02
# Rounds of pulling each position between its neighbours, and of mending what is too near between positions.
EASINGS, MOST_MENDS = 30, 8
# Moves that take a position out of what it is too near to, and the farthest of each, rad or m.
MOST_MOVES, MOVE = 10, 0.05
# Between two knots the tool's orientation and the joints' ranges are looked at so many times.
LOOKS = 4
# Searches with other random numbers before no way is said to be found.
TRIES = 3
# Postures that differ by less than this, rad or m, are the same.
SAME = 1e-9


@dataclass(frozen=True)
class GoalPlanner:
    """Plans in a free space, within limits, with the tool turned as `quaternion` says if there is one. The same seed
    gives the same way."""

    space: FreeSpace
    limits: JointLimits
    quaternion: Vector | None = None
    seed: int = 0

    def plan(self, start: Vector, goal: Vector) -> TimedWay:
        """The way from a posture to another, on which bodies are never nearer than the space allows; ValueError when
        none was found."""
        if np.abs(goal - start).max() < SAME:
            return standing(start)
        apart = self.space.distance(start)
        if apart < self.space.least + PROVEN:
            raise ValueError(
                f"at the start bodies are {apart:.3g} m apart; a way needs {self.space.least + PROVEN:g} m"
            )
        self._check_turned(start, "start")
        self._check_turned(goal, "goal")
        wider = self.space.apart(self.space.least + SOUGHT)
        for attempt in range(TRIES):
            search = Search(wider, self.quaternion, self.seed + attempt)
            way = search.way(start, goal)
            if way is None:
                break
            curve = self._smooth(wider, search.shorten(way))
            if curve is not None:
                return time_within(curve, self.limits)
        raise ValueError(
            f"no way to the goal was found on which bodies stay {self.space.least:g} m apart"
            + ("" if self.quaternion is None else " and the tool keeps its orientation")
        )

    def _check_turned(self, q: Vector, which: str) -> None:
        if self.quaternion is None:
            return
        self.space.arm.kinematics(q)
        off = float(np.linalg.norm(self.space.turned_off(self.quaternion)))
        if off > HELD_AT_ENDS:
            raise ValueError(
                f"the orientation of the tool cannot be held: at the {which} it is turned by {np.degrees(off):.3g}°"
            )

    def _smooth(self, wider: FreeSpace, way: Vector) -> CubicSpline | None:
        """A smooth curve along the way, with more positions where it would come too near or turn the tool; None when
        that does not help."""
        sweep = Sweep(self.space)
        for _ in range(MOST_MENDS):
            way = self._ease(wider, way)
            curve = curve_through(way)
            bad = sweep.too_near(curve, self.space.least + PROVEN) | self._turned_or_outside(curve)
            if not bad:
                return curve
            middles = curve(0.5 * (curve.x[1:] + curve.x[:-1]))
            rows = [way[0]]
            for k, end in enumerate(way[1:]):
                if k in bad:
                    rows.append(self._settle(wider, middles[k]))
                rows.append(end)
            way = np.array(rows)
        return None

    def _ease(self, wider: FreeSpace, way: Vector) -> Vector:
        """The way with each position between its neighbours, where that is free."""
        way = way.copy()
        for _ in range(EASINGS):
            for k in range(1, len(way) - 1):
                between = wider.turn(0.5 * (way[k - 1] + way[k + 1]), self.quaternion)
                if between is not None and wider.admits(between):
                    way[k] = between
        return way

    def _settle(self, wider: FreeSpace, q: Vector) -> Vector:
        """A position near q at which bodies are apart and the tool is turned right, as far as some moves can."""
        stay, reach = Wish(np.eye(len(q)), np.zeros(len(q))), np.full(len(q), MOVE)
        for _ in range(MOST_MOVES):
            q = q + wider.move(q, stay, -reach, reach, self.quaternion)
            if wider.admits(q):
                break
        turned = wider.turn(q, self.quaternion)
        return q if turned is None else turned

    def _turned_or_outside(self, curve: CubicSpline) -> set[int]:
        """The pieces of the curve on which the tool is turned off too far or a joint leaves its range."""
        space, bad = self.space, set()
        low, high = space.low - INSIDE, space.high + INSIDE
        allowed = HELD if self.quaternion is None else max(HELD, self._off(curve(0.0)), self._off(curve(curve.x[-1])))
        for k, (a, b) in enumerate(zip(curve.x, curve.x[1:], strict=False)):
            for q in curve(np.linspace(a, b, LOOKS + 1)):
                inside = (q >= low - SAME).all() and (q <= high + SAME).all()
                if not inside or self._off(q) > allowed + SAME:
                    bad.add(k)
        return bad

    def _off(self, q: Vector) -> float:
        """How far the tool is turned off, rad."""
        if self.quaternion is None:
            return 0.0
        self.space.arm.kinematics(q)
        return float(np.linalg.norm(self.space.turned_off(self.quaternion)))
