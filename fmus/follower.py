"""What conventional control units share: they follow a set point, and let the plan go its own way."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from simloop.fmus.controller import Controller, holding_force
from simloop.fmus.resources import read_home, read_model
from simloop.fmus.slave import Port, Role, Vector
from simloop.fmus.state import UnitState
from simloop.models.arm import Arm
from simloop.models.controllers import DAMPING_RATIO, NATURAL_FREQUENCY
from simloop.models.faults import cannot_drive

TUNING = (
    Port(
        "natural_frequency",
        Role.PARAMETER,
        "How fast an error is taken back",
        unit="rad/s",
        start=NATURAL_FREQUENCY,
        least=0,
        tunable=True,
    ),
    Port(
        "damping_ratio",
        Role.PARAMETER,
        "1 is without overshoot, less is with",
        start=DAMPING_RATIO,
        least=0,
        tunable=True,
    ),
)


@dataclass
class Following(UnitState):
    """Where the robot was last measured and how fast it was, where the set point was and how fast."""

    q: Vector
    v: Vector
    q_r: Vector
    v_r: Vector


class Follower(Controller):
    """Its outputs `q` and `v` are the set point: the feedback takes the error back, so the plan must not begin anew
    from where the robot is, as the simulation in the loop has it, or there would never be an error to take back.

    Subclasses supply the force, what it does to the robot that they know, and the force of a replay.
    """

    def __init__(
        self, instance_name: str, resources: str, gains: Sequence[Port], state: type[Following], **parts: Any
    ) -> None:
        arm, home = Arm(read_model(resources)), read_home(resources)
        parts |= {"q": np.array(home), "v": np.zeros(arm.n), "q_r": np.array(home), "v_r": np.zeros(arm.n)}
        super().__init__(instance_name, resources, arm, home, gains, state, **parts)

    def gains(self, ports: Sequence[Port]) -> dict[str, float]:
        """The values of scalar parameters that must be more than 0, by name."""
        return {port.name: self.positive(port.name) for port in ports}

    def start(self) -> None:
        self.q_out[:], self.v_out[:] = self.state.q_r, self.state.v_r
        self.q_predicted[:] = self.state.q
        # Until the first step the force is the one that holds the arm still.
        self.tau[:] = holding_force(self.arm, self.state.q)
        self.tau_replay[:] = self.tau

    def step(self, time: float, h: float) -> None:
        state = self.state
        np.subtract(self.q_d, state.q_r, out=self.v_d)
        self.v_d /= h
        v_next = self.find_force(h)
        np.multiply(v_next, h, out=self.q_predicted)
        self.q_predicted += state.q
        if self.replay[0]:
            v_next = (self.q_measured - state.q) / h
            self.find_replay_force(v_next, h)
            self._judge_contact()
            state.q[:] = self.q_measured
        else:
            state.q[:] = self.q_predicted
        state.v[:] = v_next
        state.q_r[:], state.v_r[:] = self.q_d, self.v_d
        if self.fault.any():
            # A joint without a motor has no set point but the place where it is.
            failed = cannot_drive(self.fault)
            state.q_r[failed], state.v_r[failed] = state.q[failed], state.v[failed]
        self.q_out[:], self.v_out[:] = state.q_r, state.v_r

    @abstractmethod
    def find_force(self, h: float) -> Vector:
        """Write the force for the step to come into `tau`; the joint velocity that it is expected to give."""

    @abstractmethod
    def find_replay_force(self, v_next: Vector, h: float) -> None:
        """Write the force that the measured motion, from the state's `v` to `v_next`, took into `tau_replay`."""
