"""The control simulation: which force takes the robot to a given joint position (S1, algorithm 2)."""

from __future__ import annotations

import numpy as np
from simloop.models.arm import Arm, Vector


class ControlSimulation:
    """One step of the constraint-based stepper, each motor a velocity constraint on its joint.

    `sigma` is the diagonal of the regularisation Σ in kg⁻¹ (slide) or kg⁻¹ m⁻² (hinge), one a joint: how much
    velocity a motor gives up for each unit of impulse. 0 is a rigid motor.

    With G = 1 for motors and M the inertia that a step sees, (3.3) is (M⁻¹ + Σ) λ = v_d − v_free. The force that a
    rigid motor needs, τ₀ from the inverse dynamics, has M⁻¹ h τ₀ = v_d − v_free, so (1 + M Σ) λ = h τ₀ and the
    velocity reached is v_d − Σ λ.
    """

    def __init__(self, arm: Arm, sigma: Vector) -> None:
        if np.any(sigma < 0.0):
            raise ValueError(f"sigma is {sigma}; it must not be negative")
        self._arm = arm
        self._sigma = sigma.copy()
        self._rigid = not np.any(sigma)

    def velocity_to(self, q: Vector, q_d: Vector, h: float, out: Vector) -> None:
        """The velocity that takes q to q_d in h s (S1, 5.1)."""
        np.subtract(q_d, q, out=out)
        out /= h

    def force_to(self, q: Vector, v: Vector, v_d: Vector, h: float, tau: Vector, reached: Vector) -> None:
        """Write the joint forces for v_d into `tau` and the velocity they give into `reached`."""
        self._arm.inverse(q, v, v_d, h, tau)
        reached[:] = v_d
        if not self._rigid:
            M = self._arm.inertia(h)
            tau[:] = np.linalg.solve(np.eye(self._arm.n) + M * self._sigma, tau)
            reached -= self._sigma * tau * h
