"""The simulated plant beside the real one, under the same commands: where they differ, and which force explains it."""

from __future__ import annotations

import numpy as np
from simloop.models.arm import Arm, Vector
from simloop.models.plant import RobotPlant, robot_at_rest


class Shadow:
    """Steps the simulated plant from where the real one was measured, with the command that the real one got.

    `residual` is measured minus simulated position, rad or m. `force` is the joint force, N·m or N, that acted on the
    real one beside the command, if the model is right: a hand's, or of a robot that is heavier the weight that the
    model lacks, negative where the motor lifts it. Begun anew from each measurement, neither adds up.
    """

    def __init__(self, mjcf: str) -> None:
        self._plant = RobotPlant(mjcf)
        self._arm = Arm(mjcf)
        n = self._arm.n
        self._state = robot_at_rest(np.zeros(n), 0)
        self._none = np.zeros(n)
        self.residual, self.force = np.zeros(n), np.zeros(n)

    def compare(self, q: Vector, v: Vector, tau: Vector, q_next: Vector, v_next: Vector, h: float) -> None:
        """A cycle of h s from q, v to q_next, v_next under the motor forces tau."""
        n, moves, none = self._arm.n, self._state.moves, self._none
        moves.q[:n], moves.v[:n] = q, v
        moves.warm[:] = 0.0
        self._plant.step(self._state, tau, none, none, none, 0.0, h)
        np.subtract(q_next, moves.q[:n], out=self.residual)
        self._arm.inverse(q, v, v_next, h, self.force)
        self.force -= tau
