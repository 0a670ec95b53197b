"""A person's hand on the gripper: a twist that stops smoothly when the hand lets go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from simloop.models.arm import Vector
from simloop.models.table import read_table

# From full motion to none, and back, s.
RAMP = 0.1
COLUMNS = ("time", "vx", "vy", "vz", "wx", "wy", "wz", "enable")


@dataclass
class Grip:
    """The last twist that was wanted while the dead-man's switch was held, and how much of it counts, 0 to 1."""

    twist: Vector
    share: float


def squeeze(grip: Grip, twist: Vector, held: bool, h: float) -> Vector:
    """The twist that counts in the next h s; `grip` is advanced. Let go, the last motion fades within RAMP s."""
    if held:
        grip.twist[:] = twist
    grip.share = float(np.clip(grip.share + (h if held else -h) / RAMP, 0.0, 1.0))
    return grip.share * grip.twist


@dataclass(frozen=True)
class Recording:
    """What an operator did: from each time on (k), s, a twist (k, 6), m/s and rad/s, and whether the switch was
    held."""

    times: Vector
    twists: Vector
    held: Vector

    def at(self, time: float) -> tuple[Vector, bool]:
        place = int(np.searchsorted(self.times, time + 1e-9)) - 1
        return (self.twists[place], bool(self.held[place])) if place >= 0 else (np.zeros(6), False)


def read_recording(path: str) -> Recording:
    """A recording from a CSV file."""
    values = read_table(path, COLUMNS)
    return Recording(values[:, 0], values[:, 1:7], values[:, 7])
