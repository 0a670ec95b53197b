"""A hand that pulls at a link: a spring from the grabbed point to where the hand is, as joint forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from simloop.models.arm import Arm, Vector

# Of the spring, N/m, and of its damper, N·s/m; no hand pulls harder than the last, N.
STIFFNESS, DAMPING, STRONGEST = 400.0, 20.0, 80.0


@dataclass(frozen=True)
class Pull:
    """A body's number, the grabbed point in its frame, where the hand is in the world, m, and when that was told, s."""

    body: int
    local: tuple[float, ...]
    to: tuple[float, ...]
    renewed: float = 0.0


class Hand:
    def __init__(self, arm: Arm) -> None:
        self._arm = arm
        self.n, self.bodies = arm.n, int(arm.model.nbody)

    def joint_forces(self, pull: Pull, q: Vector, v: Vector) -> Vector:
        """Jᵀ F of the spring's force F on the grabbed point at q and velocity v, N or N·m."""
        arm = self._arm
        arm.kinematics(q)
        point = arm.data.xpos[pull.body] + arm.data.xmat[pull.body].reshape(3, 3) @ np.array(pull.local)
        J = arm.point_jacobian(pull.body, point)
        force = STIFFNESS * (np.array(pull.to) - point) - DAMPING * (J @ v)
        size = float(np.linalg.norm(force))
        if size > STRONGEST:
            force *= STRONGEST / size
        joint_forces: Vector = J.T @ force
        return joint_forces
