"""A person's hand on the gripper: a twist that stops smoothly when the hand lets go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from simloop.models.arm import Vector
from simloop.models.pose import ToolPose, turn_by
from simloop.models.table import read_table

# From full motion to none, and back, s.
RAMP = 0.1
# How fast the tool makes up for what it is behind, 1/s, and how far behind, m and rad, it is waited for no longer.
CATCH_UP, LEASH = 5.0, 0.005
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


@dataclass
class Lead:
    """Where the hand has led the tool: position (3) and orientation (4)."""

    position: Vector
    quaternion: Vector


def follow_lead(lead: Lead, tool: ToolPose, twist: Vector, h: float, share: float = 1.0) -> Vector:
    """The twist that keeps the tool, where the arm was placed, with its lead; `lead` is advanced by h s of `twist`.

    A tool that cannot follow, at the edge of where it reaches, takes its lead along: nothing piles up to be made up for
    when it can go on. What it is behind counts by `share`, the grip's: let go, the tool stays where it is.
    """
    behind = np.zeros(6)
    tool.way_to(lead.position, lead.quaternion, behind)
    for part in (behind[:3], behind[3:]):
        size = float(np.linalg.norm(part))
        part *= share * min(1.0, LEASH / size) if size else 0.0
    lead.position[:] = tool.position() + behind[:3] + h * twist[:3]
    lead.quaternion[:] = turn_by(turn_by(tool.quaternion(), behind[3:]), h * twist[3:])
    return np.asarray(twist + CATCH_UP * behind)


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
