"""What the PackBot's scenarios share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from simloop.master import Result
from simloop.models.arm import Arm
from simloop.models.clearance import Clearance
from simloop.models.robots.packbot import ROBOT

__all__ = ["JOINTS", "REST_SPEED", "ROBOT", "rest_time", "touching"]

JOINTS = Arm(ROBOT.mjcf).joint_names
REST_SPEED = 1e-3  # rad/s
# Two bodies nearer than this touch, whatever the contact model, m.
TOUCH = 1e-3


def rest_time(result: Result) -> float | None:
    """When the last joint came to rest for good."""
    speed = np.abs(result.vector("plant.v")).max(axis=1)
    moving = np.flatnonzero(speed >= REST_SPEED)
    if len(moving) and moving[-1] == len(speed) - 1:
        return None
    return float(result["time"][moving[-1] + 1]) if len(moving) else 0.0


def touching(q: NDArray[np.float64]) -> list[tuple[str, str]]:
    """The pairs of bodies that touch at q."""
    clearance = Clearance(Arm(ROBOT.mjcf))
    pairs, _ = clearance.near(q, TOUCH)
    return [clearance.names[pair] for pair in pairs]
