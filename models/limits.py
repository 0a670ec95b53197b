"""What the joints of an arm may do."""

from __future__ import annotations

from dataclasses import dataclass

from simloop.models.arm import Vector


@dataclass(frozen=True)
class JointLimits:
    """Position, speed and acceleration of each joint (n each), rad or m; infinite where there is none."""

    low: Vector
    high: Vector
    speed: Vector
    acceleration: Vector
