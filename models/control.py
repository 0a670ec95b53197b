"""The control simulation: which force takes the robot to a given joint position (S1, algorithm 2)."""

from __future__ import annotations

import numpy as np
from simloop.models.arm import Arm, Vector
from simloop.models.faults import Fault

# A loose joint's force, N or N·m, that counts as none, and the rounds in which it is found.
NO_FORCE, ROUNDS = 1e-9, 10


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
        """A frozen joint with velocity 0 and no force of its own makes the others feel the merged links' inertia. For
        the loose joints, find the velocity at which the inverse dynamics asks no force of them; static friction bends
        that relation, so it is found in rounds."""
        frozen, loose = fault == Fault.FROZEN, np.flatnonzero(fault == Fault.LOOSE)
        reached[:] = v_d
        reached[frozen] = 0.0
        reached[loose] = v[loose]
        self._arm.inverse(q, v, reached, h, tau)
        M = self._arm.inertia(h)[np.ix_(loose, loose)].copy()
        for _ in range(ROUNDS):
            if not len(loose) or np.abs(tau[loose]).max() <= NO_FORCE:
                break
            reached[loose] -= h * np.linalg.solve(M, tau[loose])
            self._arm.inverse(q, v, reached, h, tau)
        tau[frozen] = 0.0
        tau[loose] = 0.0
