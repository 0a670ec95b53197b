"""What the joints of an arm may do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from simloop.models.arm import Arm, Vector

# Of what a motor can give, what may go into speeding up its own joint: gravity, the other joints and a robot that is
# heavier than its model need the rest.
_MOTOR_PART = 0.6


@dataclass(frozen=True)
class JointLimits:
    """Position, speed and acceleration of each joint (n each), rad or m; infinite where there is none."""

    low: Vector
    high: Vector
    speed: Vector
    acceleration: Vector


def limits_of(arm: Arm, home: Vector, speed: Vector, acceleration: float) -> JointLimits:
    """An arm's own ranges, with these speeds; `acceleration`, or less where a motor cannot give it to its joint at
    `home`: a plan that asks for more is not followed, and swings about when the robot comes back to it."""
    arm.kinematics(home)
    strongest = _MOTOR_PART * arm.torque_limits / np.diag(arm.inertia())
    return JointLimits(*arm.ranges, speed, np.minimum(acceleration, strongest))
