"""The arm behind emulated drives: simulated, with brakes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from simloop.models.arm import Vector
from simloop.models.faults import Fault
from simloop.models.plant import RobotPlant, robot_at_rest


class EmulatedArm:
    """At rest at `home` with its brakes on. A brake holds its joint from one step to the next."""

    def __init__(self, mjcf: str, home: Vector, mass_error: float = 0.0) -> None:
        self._plant = RobotPlant(mjcf, mass_error=mass_error)
        self._state = robot_at_rest(home, 0)
        self.n = self._plant.n
        self._time = 0.0
        self._fault, self._size = np.zeros(self.n), np.zeros(self.n)

    @property
    def q(self) -> Vector:
        """Joint position, rad or m."""
        return self._state.moves.q[: self.n]

    @property
    def v(self) -> Vector:
        return self._state.moves.v[: self.n]

    def step(self, tau: Vector, push: Vector, braked: NDArray[np.bool_], h: float) -> None:
        """Advance by h s under motor forces and a hand's."""
        self._time += h
        if braked.all():
            self.brake()
            return
        self._fault[:] = np.where(braked, Fault.FROZEN, Fault.NONE)
        self._plant.step(self._state, tau, push, self._fault, self._size, self._time, h)

    def brake(self) -> None:
        """Hold every joint."""
        self._state.moves.v[:] = 0.0
        self._state.moves.warm[:] = 0.0
        self._state.frozen[:] = 0.0
