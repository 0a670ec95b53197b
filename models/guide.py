"""A guide for an arm whose tool should take a path through a place with obstacles: joint positions over time.

It is planned before anything moves. Where the path is free, the guide's tool is on it; elsewhere it leaves it no more
than it must. What then follows the guide has its limits and its distance to keep as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from simloop.models.arm import Vector
from simloop.models.band import Band, Wanted, refine
from simloop.models.free_space import FreeSpace
from simloop.models.objectives import Objective
from simloop.models.path import PosePath
from simloop.models.pose import rotation_between
from simloop.models.search import Search, length

# Time between the knots of the band, from coarse to fine, s, and the sweeps over each.
INTERVALS, SWEEPS = (0.5, 0.25, 0.125), (60, 40, 40)
# A band that begins as a way around has knots so near each other, rad or m, and as many sweeps.
DENSE, DENSE_SWEEPS = 0.04, 100
# The guide takes this part of each joint's speed, so that what follows it can make up for what it is behind.
PART_OF_SPEED = 0.5
# A first band goes along the path and at this rate, 1/s, to its end posture; so much of the way at most at once, rad.
PULL_RATE, MOST_AT_ONCE, CORRECTIONS = 1.0, 0.3, 8
# A guide on which bodies come too near between two knots is mended so often, and a little more than it needs, m.
MOST_MENDS, MENDED = 3, 5e-4
# A band that goes so deep through something, m, hangs on both sides of it and is given up.
TORN = -0.03
# Between two knots the guide is looked at so many times.
LOOKS = 10
# An orientation is held when it changes by less than this on the way, rad.
HELD = 0.02
# Joints that are off their guide come back at this rate, 1/s. The guide slows down for joints that are behind, and
# waits for one that is so far behind, rad or m.
GAIN, LEASH = 10.0, 0.1


class Guide:
    """Joint positions over time, smooth, at rest before and after."""

    def __init__(self, times: Vector, postures: Vector) -> None:
        self._end = float(times[-1])
        self._spline = CubicSpline(times, postures, bc_type="clamped")
        self._velocity = self._spline.derivative()

    def posture(self, time: float) -> Vector:
        return np.asarray(self._spline(min(max(time, 0.0), self._end)))

    def velocity(self, time: float) -> Vector:
        return np.asarray(self._velocity(time) if 0.0 <= time < self._end else np.zeros(self._spline.c.shape[2]))


class GuidedPath:
    """Where the guide has the tool, turned as the path wants it."""

    def __init__(self, space: FreeSpace, guide: Guide, path: PosePath) -> None:
        self._space, self._guide, self._path = space, guide, path

    def at(self, time: float, position: Vector, quaternion: Vector) -> None:
        """Write the pose at a time; the arm is placed at the guide's posture."""
        self._path.at(time, position, quaternion)
        self._space.arm.kinematics(self._guide.posture(time))
        position[:] = self._space.tool.position()


class Along:
    """The velocity that takes the joints along a guide, as an objective for the null space; `time` is where on the
    guide they should be, and `pace` how fast that goes on."""

    def __init__(self, guide: Guide) -> None:
        self._guide = guide
        self.time, self.pace = 0.0, 1.0

    def set_off(self, time: float, q: Vector) -> None:
        """Be at `time`, at full pace when the joints at q are there, more slowly when they are behind."""
        self.time = time
        behind = float(np.abs(self._guide.posture(time) - q).max())
        self.pace = max(0.0, 1.0 - behind / LEASH)

    def value(self, q: Vector) -> float:
        return -0.5 * GAIN * float(np.sum((self._guide.posture(self.time) - q) ** 2))

    def gradient(self, q: Vector) -> Vector:
        velocity = self.pace * self._guide.velocity(self.time)
        return np.asarray(velocity + GAIN * (self._guide.posture(self.time) - q))


@dataclass(frozen=True)
class _Draft:
    """A band to begin with, the time between knots and the sweeps of each level, and the most that neighbours may be
    apart, rad or m: as far as the joints come in that time unless given. Whoever follows a guide that is too fast for
    its joints is waited for."""

    times: Vector
    postures: Vector
    levels: tuple[tuple[float, int], ...]
    gap: float | None = None


class GuidePlanner:
    """Plans guides in a free space, for joints of a given speed; objectives pull as in the null space."""

    def __init__(
        self, space: FreeSpace, speed: Vector, objectives: Sequence[tuple[float, Objective]] = (), seed: int = 0
    ) -> None:
        self._space, self._seed = space, seed
        self._speed, self._objectives = PART_OF_SPEED * speed, objectives

    def plan(self, path: PosePath, start: Vector, end: Vector | None) -> Guide:
        """The guide from a posture along the path, to a posture if there is one."""
        nearest = -np.inf
        for draft in self._drafts(path, start, end):
            guide, least = self._tighten(path, draft, end_stays=end is not None)
            if least >= self._space.least:
                return guide
            nearest = max(nearest, least)
        raise ValueError(
            f"no way was found on which bodies stay {self._space.least:g} m apart; the best comes as near as "
            f"{nearest:.3g} m"
        )

    def _drafts(self, path: PosePath, start: Vector, end: Vector | None) -> Iterator[_Draft]:
        """Bands to begin with: along the path, through whatever is in the way; then a way around."""
        wanted = _sample(path, INTERVALS[0])
        along = self._along(wanted, start, end)
        yield _Draft(wanted.times, along, tuple(zip(INTERVALS, SWEEPS, strict=True)))
        turns = [float(np.abs(rotation_between(wanted.quaternions[0], each)).max()) for each in wanted.quaternions]
        # Narrow places are found more easily when they are wider; the band then keeps the distance.
        wider = self._space.apart(0.5 * self._space.least)
        search = Search(wider, wanted.quaternions[-1] if max(turns) < HELD else None, self._seed)
        way = search.way(start, along[-1])
        if way is not None:
            way = search.shorten(way)
            # So dense that the band cannot be pulled through something between two knots.
            interval = min(INTERVALS[-1], DENSE * path.end / length(way))
            wanted = _sample(path, interval)
            yield _Draft(wanted.times, _spread(way, wanted), ((interval, DENSE_SWEEPS),), gap=2 * DENSE)

    def _along(self, wanted: Wanted, start: Vector, end: Vector | None) -> Vector:
        space, q, off = self._space, start.copy(), np.zeros(6)
        band = np.empty((len(wanted.times), len(q)))
        pull = PULL_RATE * (wanted.times[1] - wanted.times[0]) / CORRECTIONS
        for k, (position, quaternion) in enumerate(zip(wanted.positions, wanted.quaternions, strict=True)):
            for _ in range(CORRECTIONS):
                space.arm.kinematics(q)
                space.tool.way_to(position, quaternion, off)
                J = space.tool.jacobian()
                liked = pull * (end - q) if end is not None else np.zeros(len(q))
                move = liked + J.T @ np.linalg.solve(J @ J.T + 1e-5 * np.eye(6), off - J @ liked)
                move *= min(1.0, MOST_AT_ONCE / max(float(np.abs(move).max()), 1e-12))
                q = np.clip(q + move, space.low, space.high)
            band[k] = q
        band[0] = start
        if end is not None:
            band[-1] = end
        return band

    def _tighten(self, path: PosePath, draft: _Draft, *, end_stays: bool) -> tuple[Guide, float]:
        """The guide that a band becomes, and the nearest that bodies come on it."""
        times, postures = draft.times, draft.postures
        for interval, sweeps in draft.levels:
            wanted = _sample(path, interval)
            postures = refine(postures, times, wanted.times)
            times = wanted.times
            gap = interval * self._speed if draft.gap is None else np.full(len(self._speed), draft.gap)
            self._band(self._space.least, gap).tighten(postures, wanted, sweeps, end_stays=end_stays)
            guide = Guide(times, postures)
            nearest = self._nearest(guide, times)
            if nearest < TORN:
                return guide, nearest
        aim = self._space.least
        for _ in range(MOST_MENDS):
            if nearest >= self._space.least:
                break
            # Between knots bodies come a little nearer than at them.
            aim += self._space.least - nearest + MENDED
            self._band(aim, gap).tighten(postures, wanted, SWEEPS[-1], end_stays=end_stays)
            guide = Guide(times, postures)
            nearest = self._nearest(guide, times)
        return guide, nearest

    def _band(self, least: float, gap: Vector) -> Band:
        return Band(self._space.apart(least), gap, self._objectives)

    def _nearest(self, guide: Guide, times: Vector) -> float:
        looks = np.linspace(times[0], times[-1], LOOKS * (len(times) - 1) + 1)
        return min(self._space.distance(guide.posture(float(time))) for time in looks)


def _sample(path: PosePath, interval: float) -> Wanted:
    times = np.linspace(0.0, path.end, max(4, round(path.end / interval)) + 1)
    positions, quaternions = np.zeros((len(times), 3)), np.zeros((len(times), 4))
    for k, time in enumerate(times):
        path.at(float(time), positions[k], quaternions[k])
    return Wanted(times, positions, quaternions)


def _spread(way: Vector, wanted: Wanted) -> Vector:
    """A way as a band: as far along as the tool should be on its path."""
    done = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=1))])
    gone = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(wanted.positions, axis=0), axis=1))])
    share = gone / gone[-1] if gone[-1] > 0.0 else np.linspace(0.0, 1.0, len(gone))
    return refine(way, done, share * done[-1])
