"""A path of a tool through via poses at given times: PCHIP between positions, the shortest turn between them."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.interpolate import PchipInterpolator
from simloop.models.arm import Vector
from simloop.models.pose import quaternion_of_zyz, rotation_between
from simloop.models.table import read_table

COLUMNS = ("time", "x", "y", "z", "z1", "y2", "z3")


@dataclass(frozen=True)
class ViaPoses:
    """Times (k), s, rising; positions (k, 3), m; orientations (k, 4), unit quaternions, w first."""

    times: Vector
    positions: Vector
    quaternions: Vector


class PosePath:
    """Piecewise cubic, without overshoot (S5), at rest at both ends and before and after them."""

    def __init__(self, via: ViaPoses) -> None:
        self._via = via
        self._position = PchipInterpolator(via.times, via.positions)
        self._turns = np.array(
            [rotation_between(a, b) for a, b in zip(via.quaternions, via.quaternions[1:], strict=False)]
        )
        parts = np.arange(len(via.times), dtype=float)
        self._progress = PchipInterpolator(via.times, parts)
        self.end = float(via.times[-1])

    def at(self, time: float, position: Vector, quaternion: Vector) -> None:
        """Write the pose at a time."""
        time = min(max(time, float(self._via.times[0])), self.end)
        position[:] = self._position(time)
        progress = float(self._progress(time))
        leg = min(int(progress), len(self._turns) - 1)
        quaternion[:] = self._via.quaternions[leg]
        mujoco.mju_quatIntegrate(quaternion, self._turns[leg], progress - leg)


def read_via_poses(path: str) -> ViaPoses:
    """Via poses from a CSV file: time in s, position in m, orientation as Euler angles z, y, z in rad."""
    values = read_table(path, COLUMNS, rows=2)
    return ViaPoses(values[:, 0], values[:, 1:4], np.array([quaternion_of_zyz(angles) for angles in values[:, 4:]]))
