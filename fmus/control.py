"""The control simulation as a unit: which force takes the robot's model to where it is told (S1, algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from simloop.fmus.controller import Controller
from simloop.fmus.resources import read_home, read_model
from simloop.fmus.slave import SIGMA, Port, Role, Vector
from simloop.fmus.state import UnitState
from simloop.models.arm import Arm
from simloop.models.control import ControlSimulation


@dataclass
class State(UnitState):
    q: Vector
    v: Vector


class Control(Controller):
    """A step goes to `q_d`; with `replay` set it goes to `q_measured` instead, and tells both forces. `q` and `v` are
    then where the robot went, and `q_predicted` is where it would have gone: what a replay takes back."""

    description = "Control simulation: the joint forces that take the robot's model to a given position in one step"

    def __init__(self, instance_name: str, resources: str, **_: Any) -> None:
        arm, home = Arm(read_model(resources)), read_home(resources)
        n, units = arm.n, [SIGMA[u] for u in arm.units]
        what = "Regularisation of the motor constraints"
        gains = [Port("sigma", Role.PARAMETER, what, n, unit=units, least=0, tunable=True)]
        parts = {"q": np.array(home), "v": np.zeros(n)}
        super().__init__(instance_name, resources, arm, home, gains, State, force_starts_from=("sigma",), **parts)
        self._target_velocity, self._reached, self._rest = np.zeros(n), np.zeros(n), np.zeros(n)

    def prepare(self) -> None:
        super().prepare()
        self._simulation = ControlSimulation(self.arm, self.none_negative("sigma"))
        # A replay begins where the step before it began: its first force is known already, to the last bit.
        self._known: tuple[float, bytes] | None = None
        self._known_force, self._known_velocity, self._known_position = (np.zeros(self.arm.n) for _ in range(3))

    def start(self) -> None:
        state = self.state
        self.q_out[:], self.v_out[:] = state.q, state.v
        self.q_predicted[:] = state.q
        # Until the first step the force is the one that holds the arm still.
        self._simulation.force_to(state.q, state.v, self._rest, 1.0, self.tau, self._reached)
        self.tau_replay[:] = self.tau

    def step(self, time: float, h: float) -> None:
        state, simulation = self.state, self._simulation
        given = h, state.q.tobytes() + state.v.tobytes() + self.q_d.tobytes() + self.fault.tobytes()
        if self.replay[0] and given == self._known:
            self.tau[:], self.v_d[:] = self._known_force, self._known_velocity
            self.q_predicted[:] = self._known_position
        else:
            simulation.velocity_to(state.q, self.q_d, h, self.v_d)
            simulation.force_to(state.q, state.v, self.v_d, h, self.tau, self._reached, self.fault)
            np.multiply(self._reached, h, out=self.q_predicted)
            self.q_predicted += state.q
            self._known = given
            self._known_force[:], self._known_velocity[:] = self.tau, self.v_d
            self._known_position[:] = self.q_predicted
        if self.replay[0]:
            simulation.velocity_to(state.q, self.q_measured, h, self._target_velocity)
            simulation.force_to(state.q, state.v, self._target_velocity, h, self.tau_replay, self._reached)
            self._judge_contact()
        state.v[:] = self._reached
        state.q += h * self._reached
        self.q_out[:], self.v_out[:] = state.q, state.v
