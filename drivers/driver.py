"""What a robot driver is: a robot in place of the simulated plant, one exchange a cycle."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Protocol

from simloop.models.arm import Vector


class Takes(Enum):
    """What a robot is commanded with."""

    TORQUE = "torque"
    POSITION = "position"


class Condition(IntEnum):
    """How a robot is, as far as its driver knows."""

    IDLE = 0  # not activated, or switched off in good order
    RUNNING = 1
    HOLD = 2  # no measurement came: the last command stands
    QUICK_STOP = 3  # stopped by the driver
    FAULT = 4  # stopped by the robot itself


@dataclass(frozen=True)
class Features:
    """What can be known before anything is connected."""

    name: str
    joints: int
    takes: Takes


@dataclass(frozen=True)
class Command:
    """What a cycle asks for: joint forces, N·m or N, and the position wanted at its end, rad or m; n each. A driver
    sends the one that its robot takes."""

    tau: Vector
    q_d: Vector


@dataclass(frozen=True)
class Report:
    """What a cycle gave: measured position and velocity, rad or m (n each), what was really sent, and for how many
    cycles up to now no measurement has come. While it is not 0, position is where the robot should be by now."""

    q: Vector
    v: Vector
    sent: Vector
    missed: int = 0


class RobotStoppedError(ValueError):
    """A robot that was stopped, or did so itself: its condition and why, in one sentence."""

    def __init__(self, condition: Condition, reason: str) -> None:
        super().__init__(reason)
        self.condition = condition


class Driver(Protocol):
    """Legal order: `configure`, `activate`, any number of `exchange`, then `deactivate`; `stop` at any time, more than
    once too. After `deactivate` or `stop` the driver is done, and never goes on by itself.

    What goes wrong with the robot raises RobotStoppedError, what is wrong with the settings ValueError.
    """

    features: Features

    def configure(self, cycle: float) -> None:
        """Connect and set the robot up for cycles of `cycle` s. Nothing moves and no brake opens."""

    def activate(self) -> Report:
        """Get ready for the first command, which opens the brakes; zero force until then."""

    def exchange(self, command: Command) -> Report:
        """Send the command and wait for the measurement at the end of the cycle."""

    def deactivate(self) -> None:
        """Take the force away in good order, brakes on, and disconnect."""

    def stop(self) -> None:
        """Stop at once, brakes on, and disconnect."""
