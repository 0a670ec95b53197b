"""Joints without force: where they hang, and how they follow the others when these move slowly."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray
from simloop.models.arm import Arm, Vector

# Joint change for differences of gravity's torque, rad or m.
DIFFERENCE = 1e-6
# Newton's steps to where a joint hangs, the longest of them (rad or m), and the torque that counts as none (N or N·m).
STEPS, LONGEST, NO_TORQUE = 30, 0.3, 1e-9
# Gravity is not counted weaker than this against a joint's motion, N·m/rad or N/m: a joint that is level does not leap.
WEAKEST = 1e-3


class Hanging:
    """The loose joints (their numbers) of an arm under gravity, friction left out."""

    def __init__(self, arm: Arm, loose: NDArray[np.intp]) -> None:
        self._arm, self._loose = arm, loose
        self._torque = np.zeros(arm.n)

    def _gravity(self, q: Vector) -> Vector:
        """The torque that would hold the loose joints at q."""
        data = self._arm.data
        data.qvel[:] = 0.0
        self._arm.kinematics(q)
        mujoco.mj_rne(self._arm.model, data, 0, self._torque)
        return self._torque[self._loose].copy()

    def _slope(self, q: Vector, joint: int) -> Vector:
        before, after = q.copy(), q.copy()
        before[joint] -= DIFFERENCE
        after[joint] += DIFFERENCE
        slope: Vector = (self._gravity(after) - self._gravity(before)) / (2 * DIFFERENCE)
        return slope

    def follow(self, q: Vector) -> Vector:
        """How the loose joints follow each of the others, (loose, n), when they hang at q: gravity's torque on them
        stays what it is. Zero where they do not hang but stand."""
        stiffness = np.column_stack([self._slope(q, joint) for joint in self._loose])
        rates = np.zeros((len(self._loose), self._arm.n))
        if np.linalg.eigvalsh(0.5 * (stiffness + stiffness.T))[0] <= 0.0:
            return rates
        others = np.setdiff1d(np.arange(self._arm.n), self._loose)
        rates[:, others] = -np.linalg.solve(stiffness, np.column_stack([self._slope(q, joint) for joint in others]))
        return rates

    def settle(self, q: Vector) -> Vector:
        """q with the loose joints where they come to hang."""
        q = q.copy()
        for _ in range(STEPS):
            torque = self._gravity(q)
            if np.abs(torque).max() <= NO_TORQUE:
                break
            stiffness = np.column_stack([self._slope(q, joint) for joint in self._loose])
            values, axes = np.linalg.eigh(0.5 * (stiffness + stiffness.T))
            # Downhill also where the joint stands on its head.
            step = -axes @ ((axes.T @ torque) / np.maximum(np.abs(values), WEAKEST))
            q[self._loose] += np.clip(step, -LONGEST, LONGEST)
        return q
