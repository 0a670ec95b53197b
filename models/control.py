"""The control simulation: which force takes the robot to a given joint position (S1, algorithm 2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from simloop.models.arm import Arm, Vector
from simloop.models.faults import Fault, cannot_drive, check_faults

# A loose joint's force, N or N·m, that counts as none, and the rounds in which it is found, with shorter steps in each.
NO_FORCE, ROUNDS, HALVINGS = 1e-9, 20, 20


class ControlSimulation:
    """One step of the constraint-based stepper, each motor a velocity constraint on its joint.

    `sigma` is the diagonal of the regularisation Σ in kg⁻¹ (slide) or kg⁻¹ m⁻² (hinge), one a joint: how much
    velocity a motor gives up for each unit of impulse. 0 is a rigid motor.

    With G = 1 for motors and M the inertia that a step sees, (3.3) is (M⁻¹ + Σ) λ = v_d − v_free. The force that a
    rigid motor needs, τ₀ from the inverse dynamics, has M⁻¹ h τ₀ = v_d − v_free, so (1 + M Σ) λ = h τ₀ and the
    velocity reached is v_d − Σ λ.

    `fault` (n) says which joints have failed (`Fault`). A frozen one stays where it is; a loose one goes where the
    others take it, for its motor gives no force. The motors of an arm with such joints count as rigid.
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

    def force_to(
        self, q: Vector, v: Vector, v_d: Vector, h: float, tau: Vector, reached: Vector, fault: Vector | None = None
    ) -> None:
        """Write the joint forces for v_d into `tau` and the velocity they give into `reached`."""
        if fault is not None and np.count_nonzero(fault):
            check_faults(fault)
            if cannot_drive(fault).any():
                self._force_of_the_rest(q, v, v_d, h, tau, reached, fault)
                return
        self._arm.inverse(q, v, v_d, h, tau)
        reached[:] = v_d
        if not self._rigid:
            M = self._arm.inertia(h)
            tau[:] = np.linalg.solve(np.eye(self._arm.n) + M * self._sigma, tau)
            reached -= self._sigma * tau * h

    def _force_of_the_rest(
        self, q: Vector, v: Vector, v_d: Vector, h: float, tau: Vector, reached: Vector, fault: Vector
    ) -> None:
        """A frozen joint with velocity 0 and no force of its own makes the others feel the merged links' inertia."""
        frozen, loose = fault == Fault.FROZEN, np.flatnonzero(fault == Fault.LOOSE)
        reached[:] = v_d
        reached[frozen] = 0.0
        reached[loose] = v[loose]
        self._arm.inverse(q, v, reached, h, tau)
        if len(loose):
            self._let_go(q, v, loose, h, tau, reached)
        tau[frozen] = 0.0
        tau[loose] = 0.0

    def _let_go(self, q: Vector, v: Vector, loose: NDArray[np.intp], h: float, tau: Vector, reached: Vector) -> None:
        """Find the velocity of the loose joints at which the inverse dynamics asks no force of them.

        The force grows with the velocity, but in pieces: where static friction gives way it bends. Newton's step knows
        the slope of its own piece only, and is shortened until it asks for less force than before.
        """
        for _ in range(ROUNDS):
            force = tau[loose]
            if np.abs(force).max() <= NO_FORCE:
                return
            slope = self._arm.inertia(h) + self._arm.stiffening()
            change = -h * np.linalg.solve(slope[np.ix_(loose, loose)], force)
            before = reached[loose]
            for _ in range(HALVINGS):
                reached[loose] = before + change
                self._arm.inverse(q, v, reached, h, tau)
                if np.linalg.norm(tau[loose]) < np.linalg.norm(force):
                    break
                change *= 0.5
