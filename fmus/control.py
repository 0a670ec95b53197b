"""The control simulation as a unit: which force takes the robot's model to where it is told (S1, algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from simloop.fmus.resources import read_home, read_model
from simloop.fmus.slave import FORCE, SIGMA, VELOCITY, Kind, Port, Role, Slave, Vector
from simloop.fmus.state import UnitState
from simloop.models.arm import Arm
from simloop.models.control import ControlSimulation
from simloop.models.faults import WORDS, cannot_drive


@dataclass
class State(UnitState):
    q: Vector
    v: Vector


class Control(Slave):
    """A step goes to `q_d`; with `replay` set it goes to `q_measured` instead, and tells both forces.

    The master steps it to q_d, sends `tau` to the robot, rolls it back, and replays it to where the robot went. The
    replay also judges contact: the robot is not where it should be, or another force took it there (S1, 7.1).
    """

    description = "Control simulation: the joint forces that take the robot's model to a given position in one step"

    def __init__(self, instance_name: str, resources: str, **_: Any) -> None:
        self.arm = Arm(read_model(resources))
        n, units = self.arm.n, self.arm.units
        velocity, force = [VELOCITY[u] for u in units], [FORCE[u] for u in units]
        home = read_home(resources)
        threshold = "a contact is reported when any joint differs by more in a replay; 0 is off"
        ports = [
            Port("q_d", Role.INPUT, "Joint position wanted at the end of the step", n, unit=units, start=home),
            Port(
                "q_measured",
                Role.INPUT,
                "Joint position measured at the end of the step",
                n,
                unit=units,
                start=home,
            ),
            Port("replay", Role.INPUT, "Step to q_measured instead of q_d", kind=Kind.BOOLEAN, start=False),
            Port(
                "fault", Role.INPUT, f"Fault that each joint is known to have: {WORDS}", n, kind=Kind.INTEGER, start=0
            ),
            Port("tau", Role.OUTPUT, "Joint force needed to reach q_d", n, unit=force, starts_from=("sigma",)),
            Port(
                "tau_replay",
                Role.OUTPUT,
                "Joint force needed to reach q_measured",
                n,
                unit=force,
                starts_from=("sigma",),
            ),
            Port("v_d", Role.OUTPUT, "Joint velocity needed to reach q_d", n, unit=velocity),
            Port("q", Role.OUTPUT, "Joint position of the control simulation", n, unit=units),
            Port("v", Role.OUTPUT, "Joint velocity of the control simulation", n, unit=velocity),
            Port(
                "contact_by_position",
                Role.OUTPUT,
                "Contact by position difference",
                kind=Kind.BOOLEAN,
                start=False,
            ),
            Port("contact_by_force", Role.OUTPUT, "Contact by force difference", kind=Kind.BOOLEAN, start=False),
            Port(
                "sigma",
                Role.PARAMETER,
                "Regularisation of the motor constraints",
                n,
                unit=[SIGMA[u] for u in units],
            ),
            Port("position_threshold", Role.PARAMETER, f"Position (m or rad): {threshold}"),
            Port("force_threshold", Role.PARAMETER, f"Force (N or N.m): {threshold}"),
        ]
        super().__init__(instance_name, resources, ports, State, q=np.array(home), v=np.zeros(n))
        self.q_d, self.q_measured, self.replay = map(self.view, ("q_d", "q_measured", "replay"))
        self.fault = self.view("fault")
        self.tau, self.tau_replay, self.v_d = map(self.view, ("tau", "tau_replay", "v_d"))
        self.q_out, self.v_out = self.view("q"), self.view("v")
        self.by_position, self.by_force = self.view("contact_by_position"), self.view("contact_by_force")
        self._target_velocity, self._reached, self._rest = np.zeros(n), np.zeros(n), np.zeros(n)

    def prepare(self) -> None:
        self._simulation = ControlSimulation(self.arm, self.view("sigma"))
        self._position_threshold = self._threshold("position_threshold")
        self._force_threshold = self._threshold("force_threshold")

    def start(self) -> None:
        state = self.state
        self.q_out[:], self.v_out[:] = state.q, state.v
        # Until the first step the force is the one that holds the arm still.
        self._simulation.force_to(state.q, state.v, self._rest, 1.0, self.tau, self._reached)
        self.tau_replay[:] = self.tau

    def step(self, time: float, h: float) -> None:
        state, simulation = self.state, self._simulation
        simulation.velocity_to(state.q, self.q_d, h, self.v_d)
        simulation.force_to(state.q, state.v, self.v_d, h, self.tau, self._reached, self.fault)
        if self.replay[0]:
            simulation.velocity_to(state.q, self.q_measured, h, self._target_velocity)
            simulation.force_to(state.q, state.v, self._target_velocity, h, self.tau_replay, self._reached)
            self._judge_contact()
        state.v[:] = self._reached
        state.q += h * self._reached
        self.q_out[:], self.v_out[:] = state.q, state.v

    def _judge_contact(self) -> None:
        if self._position_threshold > 0.0:
            self.by_position[0] = self._largest(self.q_measured - self.q_d) > self._position_threshold
        if self._force_threshold > 0.0:
            self.by_force[0] = self._largest(self.tau - self.tau_replay) > self._force_threshold

    def _largest(self, difference: Vector) -> float:
        """Of the joints that are driven: one that has failed goes its own way, or is held by more than its motor."""
        if self.fault.any():
            difference[cannot_drive(self.fault)] = 0.0
        return float(np.abs(difference).max())

    def _threshold(self, name: str) -> float:
        value = float(self.view(name)[0])
        if value < 0.0:
            raise ValueError(f"{self.instance_name}.{name} is {value}; it must not be negative")
        return value
