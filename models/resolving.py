"""What a resolution computes in C, told to numpy: the face of `cffi_build/resolution.h`, which says what each does.

All arrays are made once; what a call answers is in place until the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from simloop.models._resolution import ffi, lib
from simloop.models.arm import Arm, Vector
from simloop.models.limits import JointLimits


def _doubles(array: Vector) -> Any:
    """An array of ours as C sees it."""
    return ffi.from_buffer("double[]", array)


class Allowed:
    """Joint velocities with least ≤ v ≤ most (n each) and rows v ≥ rates (`count` of them, up to `room`).

    `lower`, `upper` (n + room) and `rows` (room, n) are as a quadratic programme has them, joints first.
    """

    def __init__(self, limits: JointLimits, room: int) -> None:
        n = self._n = len(limits.low)
        self.rows, self.count = np.zeros((room, n)), 0
        self.lower, self.upper = np.zeros(n + room), np.zeros(n + room)
        self.least, self.most, self.rates = self.lower[:n], self.upper[:n], self.lower[n:]
        self._q, self._v, self._wanted = np.zeros(n), np.zeros(n), np.zeros(n)
        each = (limits.low, limits.high, limits.speed, limits.acceleration)
        self._pinned = [_doubles(np.array(limit, dtype=np.float64)) for limit in each]
        self._limits = ffi.new("resolution_limits *", self._pinned)
        self._inputs = n, _doubles(self._q), _doubles(self._v), self._limits
        self._bounds = _doubles(self.least), _doubles(self.most)
        self._tested = n, _doubles(self._wanted), *self._bounds
        self._tests = _doubles(self.rows), _doubles(self.rates)

    def bound(self, q: Vector, v: Vector, h: float) -> None:
        """`least` and `most` for the next h s at q after velocity v, such that every limit can be kept ever after:
        within the acceleration, within the speed, and able to brake before the end of the range; no rows."""
        self._q[:] = q
        self._v[:] = v
        self.count = 0
        lib.resolution_bounds(*self._inputs, h, *self._bounds)

    def add(self, rows: Vector, rates: Vector) -> None:
        """Further rows, (k, n), and the least that they may give, (k)."""
        end = self.count + len(rates)
        self.rows[self.count : end] = rows
        self.rates[self.count : end] = rates
        self.count = end

    def holds(self, v: Vector, rounding: float) -> bool:
        """Whether v is allowed, but for `rounding` in each number."""
        self._wanted[:] = v
        return bool(lib.resolution_within(*self._tested, self.count, *self._tests, rounding))


class Partings:
    """How fast pairs of points on an arm's bodies part, per joint velocity.

    `bodies` (m, 2) are those of each pair, `witnesses` (m, 3, 3) the points and the normal, kept by the caller.
    """

    def __init__(self, arm: Arm, bodies: NDArray[np.int32], witnesses: Vector) -> None:
        model, n = arm.model, arm.n
        moves = np.zeros((model.nbody, n), dtype=np.uint8)
        for body in range(1, model.nbody):
            moves[body] = moves[model.body_parentid[body]]
            moves[body, model.jnt_bodyid == body] = 1
        slides = (model.jnt_type == int(mujoco.mjtJoint.mjJNT_SLIDE)).astype(np.uint8)
        self._pinned = [
            _doubles(arm.data.xaxis),
            _doubles(arm.data.xanchor),
            ffi.from_buffer("uint8_t[]", slides),
            ffi.from_buffer("uint8_t[]", moves),
        ]
        self._joints = ffi.new("resolution_joints *", [n, *self._pinned])
        self._rows = np.zeros((len(bodies), n))
        bodies = np.array(bodies, dtype=np.int32)
        self._fixed = ffi.from_buffer("int32_t[]", bodies), _doubles(witnesses), _doubles(self._rows)

    def rows(self, pairs: NDArray[np.int32]) -> Vector:
        """Of the pairs with these numbers, (k, n), after `arm.kinematics`."""
        count = len(pairs)
        lib.resolution_partings(self._joints, count, ffi.from_buffer("int32_t[]", pairs), *self._fixed)
        return self._rows[:count]


class TaskStack:
    """The joint velocity that does tasks by priority: `sizes` rows each, the first before all others.

    Each task is done as well as those above it leave room for, and changes nothing about them. Where the smallest
    singular value of a task's rows is below `nearly_singular`, it is damped, smoothly up to the part `damping` of its
    mean mobility.

    Write into `W` (n, n), the metric, `J` (k, n), `rates` (k) and `liked` (n), then ask.
    """

    def __init__(self, n: int, sizes: Sequence[int], *, nearly_singular: float, damping: float) -> None:
        k = sum(sizes)
        self.W, self.J, self.rates, self.liked = np.eye(n), np.zeros((k, n)), np.zeros(k), np.zeros(n)
        self.v, self.H, self.f = np.zeros(n), np.zeros((n, n)), np.zeros(n)
        ends = np.cumsum([0, *sizes]).tolist()
        self.levels = [slice(a, b) for a, b in pairwise(ends)]
        """The rows of each task."""
        self._sizes = ffi.new("int32_t[]", list(sizes))
        self._tasks = ffi.new("resolution_tasks *", [n, len(sizes), self._sizes, nearly_singular, damping])
        scratch = ffi.new("double[]", lib.resolution_scratch(n, k))
        W, J, rates, liked, v, H, f = map(_doubles, (self.W, self.J, self.rates, self.liked, self.v, self.H, self.f))
        self._plain = self._tasks, W, J, rates, liked, scratch, v
        self._programmes = [
            ((n, size, W, J + n * level.start, rates + level.start, liked), (H, f))
            for size, level in zip(sizes, self.levels, strict=True)
        ]

    def velocity(self, levels: int | None = None) -> Vector:
        """Of those that give J v = rates, by priority, the nearest to `liked` in the metric W; of the first `levels`
        tasks only, where that is given."""
        self._tasks.levels = len(self.levels) if levels is None else levels
        if lib.resolution_velocity(*self._plain) != lib.RESOLUTION_OK:
            raise ValueError("the weights of joint motion must be a positive definite matrix")
        return self.v

    def programme(self, level: int, minding: float) -> tuple[Vector, Vector]:
        """H and f of one task alone: ½ vᵀ H v + fᵀ v is ½ |J v − rates|² and `minding` times half the square of
        v − liked in the metric W, made of mean 1."""
        inputs, outputs = self._programmes[level]
        lib.resolution_programme(*inputs, minding, *outputs)
        return self.H, self.f
