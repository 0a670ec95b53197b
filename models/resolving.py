"""What a resolution computes in C, told to numpy: the face of `cffi_build/resolution.h`, which says what each does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from simloop.models._resolution import ffi, lib
from simloop.models.arm import Arm, Vector
from simloop.models.limits import JointLimits


def _doubles(array: Vector, *shape: int) -> Any:
    """The array as C sees it; a copy where it does not lie as C has it."""
    array = np.ascontiguousarray(array, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"an array of shape {array.shape} stands where one of {shape} belongs")
    return ffi.from_buffer("double[]", array)


class JointBounds:
    """The velocities that the limits of n joints allow."""

    def __init__(self, limits: JointLimits) -> None:
        self._n = len(limits.low)
        each = (limits.low, limits.high, limits.speed, limits.acceleration)
        self._pinned = [_doubles(limit.copy(), self._n) for limit in each]
        self._limits = ffi.new("resolution_limits *", self._pinned)

    def at(self, q: Vector, v: Vector, h: float) -> tuple[Vector, Vector]:
        """The least and greatest velocity for the next h s at q after velocity v, such that every limit can be kept
        ever after: within the acceleration, within the speed, and able to brake before the end of the range."""
        n = self._n
        both = np.empty((2, n))
        least, most = both
        lib.resolution_bounds(n, _doubles(q, n), _doubles(v, n), self._limits, h, _doubles(least, n), _doubles(most, n))
        return least, most


def within(v: Vector, least: Vector, most: Vector, rows: Vector, rates: Vector, rounding: float) -> bool:
    """Whether least ≤ v ≤ most and rows v ≥ rates, each but for `rounding`."""
    n, count = len(v), len(rows)
    vectors = (_doubles(vector, n) for vector in (v, least, most))
    return bool(lib.resolution_within(n, *vectors, count, _doubles(rows, count, n), _doubles(rates, count), rounding))


class Partings:
    """How fast pairs of points on an arm's bodies part, per joint velocity.

    `bodies` (m, 2) are those of each pair, `witnesses` (m, 3, 3) the points and the normal, kept by the caller.
    """

    def __init__(self, arm: Arm, bodies: NDArray[np.int32], witnesses: Vector) -> None:
        model, n = arm.model, arm.n
        self._n = n
        moves = np.zeros((model.nbody, n), dtype=np.uint8)
        for body in range(1, model.nbody):
            moves[body] = moves[model.body_parentid[body]]
            moves[body, model.jnt_bodyid == body] = 1
        slides = (model.jnt_type == int(mujoco.mjtJoint.mjJNT_SLIDE)).astype(np.uint8)
        self._pinned = [
            _doubles(arm.data.xaxis, n, 3),
            _doubles(arm.data.xanchor, n, 3),
            ffi.from_buffer("uint8_t[]", slides),
            ffi.from_buffer("uint8_t[]", moves),
        ]
        self._joints = ffi.new("resolution_joints *", [n, *self._pinned])
        self._bodies = ffi.from_buffer("int32_t[]", np.ascontiguousarray(bodies, dtype=np.int32))
        self._witnesses = _doubles(witnesses, len(bodies), 3, 3)

    def rows(self, pairs: NDArray[np.int32]) -> Vector:
        """Of the pairs with these numbers, (k, n), after `arm.kinematics`."""
        rows = np.empty((len(pairs), self._n))
        numbers = ffi.from_buffer("int32_t[]", pairs)
        lib.resolution_partings(
            self._joints, len(pairs), numbers, self._bodies, self._witnesses, _doubles(rows, *rows.shape)
        )
        return rows


class TaskStack:
    """The joint velocity that does tasks by priority: `sizes` rows each, the first before all others.

    Each task is done as well as those above it leave room for, and changes nothing about them. Where the smallest
    singular value of a task's rows is below `nearly_singular`, it is damped, smoothly up to the part `damping` of its
    mean mobility.
    """

    def __init__(self, n: int, sizes: Sequence[int], *, nearly_singular: float, damping: float) -> None:
        self._n, self._k = n, sum(sizes)
        self._sizes = ffi.new("int32_t[]", list(sizes))
        self._tasks = ffi.new("resolution_tasks *", [n, len(sizes), self._sizes, nearly_singular, damping])
        self._scratch = ffi.new("double[]", lib.resolution_scratch(n, self._k))

    def velocity(self, W: Vector, J: Vector, rates: Vector, liked: Vector) -> Vector:
        """Of those that give J v = rates, (k, n) and (k), the nearest to `liked` (n) in the metric W (n, n)."""
        n, k = self._n, self._k
        v = np.empty(n)
        inputs = _doubles(W, n, n), _doubles(J, k, n), _doubles(rates, k), _doubles(liked, n)
        if lib.resolution_velocity(self._tasks, *inputs, self._scratch, _doubles(v, n)) != lib.RESOLUTION_OK:
            raise ValueError("the weights of joint motion must be a positive definite matrix")
        return v
