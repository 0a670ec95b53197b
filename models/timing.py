"""When to be where on a way: a smooth curve of the joints, gone as fast as their speeds and accelerations allow.

The pace along the curve is TOPP-RA's (Pham and Pham, 2018). It keeps the limits at the points of a grid; what it leaves
between them is looked at, and the whole is slowed down by that much.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline
from simloop.models.arm import Vector
from simloop.models.limits import JointLimits

# Of each limit this part is planned with, so that what follows can make up for what it is behind.
PART = 0.9
# Points of the grid between two knots of the curve, and looks between two points of the grid.
GRID, LOOKS = 10, 5


def curve_through(way: Vector) -> CubicSpline:
    """A curve with continuous curvature through positions (k, n), over their distance along the way."""
    done = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=1))])
    return CubicSpline(done, way, bc_type="natural")


class TimedWay:
    """Joint positions and velocities over time, at rest before 0 s and from `end` s on.

    Between `times` (k), s, the way `gone` (k) along the curve grows with a constant acceleration, from the pace at one
    time to the pace at the next (k), 1/s.
    """

    def __init__(self, curve: CubicSpline, times: Vector, gone: Vector, paces: Vector) -> None:
        self._curve, self._slope = curve, curve.derivative()
        self._times, self._gone, self._paces = times, gone, paces
        self.end = float(times[-1])

    def posture(self, time: float) -> Vector:
        return np.asarray(self._curve(self._at(time)[0]))

    def velocity(self, time: float) -> Vector:
        gone, pace = self._at(time)
        return np.asarray(pace * self._slope(gone))

    def _at(self, time: float) -> tuple[float, float]:
        """How far along the curve, and how fast."""
        if time <= 0.0:
            return float(self._gone[0]), 0.0
        if time >= self.end:
            return float(self._gone[-1]), 0.0
        k = int(np.searchsorted(self._times, time, side="right")) - 1
        since, width = time - self._times[k], self._times[k + 1] - self._times[k]
        rate = (self._paces[k + 1] - self._paces[k]) / width
        gone = min(self._gone[k] + since * (self._paces[k] + 0.5 * rate * since), self._gone[k + 1])
        return float(gone), float(self._paces[k] + rate * since)


def standing(q: Vector) -> TimedWay:
    """The way that stays at q."""
    return TimedWay(CubicSpline([0.0, 1.0], [q, q]), np.zeros(1), np.zeros(1), np.zeros(1))


def time_within(curve: CubicSpline, limits: JointLimits) -> TimedWay:
    """The curve from rest to rest, every joint within PART of its speed and acceleration."""
    speed, acceleration = PART * limits.speed, PART * limits.acceleration
    gone = np.unique(np.concatenate([np.linspace(a, b, GRID + 1) for a, b in zip(curve.x, curve.x[1:], strict=False)]))
    paces = _fastest(curve, gone, speed, acceleration)
    mean = 0.5 * (paces[1:] + paces[:-1])
    if not (np.isfinite(mean).all() and (mean > 0.0).all()):
        raise ValueError("no pace keeps the joints within their speeds and accelerations; greater limits would")
    times = np.concatenate([[0.0], np.cumsum(np.diff(gone) / mean)])
    slower = _excess(curve, gone, paces, speed, acceleration)
    return TimedWay(curve, slower * times, gone, paces / slower)


def _fastest(curve: CubicSpline, gone: Vector, speed: Vector, acceleration: Vector) -> Vector:
    try:
        from toppra import SplineInterpolator
        from toppra.algorithm import TOPPRA
        from toppra.constraint import JointAccelerationConstraint, JointVelocityConstraint
    except ImportError as error:
        raise ValueError("planning to a goal needs the package toppra: pip install 'simloop[planning]'") from error
    kept = [
        JointVelocityConstraint(np.column_stack([-speed, speed])),
        JointAccelerationConstraint(np.column_stack([-acceleration, acceleration])),
    ]
    path = SplineInterpolator(curve.x, curve(curve.x), bc_type="natural")
    _, paces, _ = TOPPRA(kept, path, gridpoints=gone, solver_wrapper="seidel").compute_parameterization(0.0, 0.0)
    return np.full(len(gone), np.nan) if paces is None else np.asarray(paces)


def _excess(curve: CubicSpline, gone: Vector, paces: Vector, speed: Vector, acceleration: Vector) -> float:
    """How many times slower, 1 at least, the joints must go to keep their limits between the points of the grid too."""
    slope, bend = curve.derivative(), curve.derivative(2)
    widths = np.diff(gone)
    rates = np.diff(paces**2) / (2.0 * widths)
    slower = 1.0
    for part in np.linspace(0.0, 1.0, LOOKS + 1):
        at = gone[:-1] + part * widths
        pace_squared = np.maximum(paces[:-1] ** 2 + 2.0 * rates * part * widths, 0.0)[:, None]
        fast = np.abs(slope(at)) * np.sqrt(pace_squared) / speed
        hard = np.abs(slope(at) * rates[:, None] + bend(at) * pace_squared) / acceleration
        slower = max(slower, float(fast.max()), float(np.sqrt(hard.max())))
    return slower
