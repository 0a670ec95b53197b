"""A PID for each joint as a control unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from simloop.fmus.follower import TUNING, Follower, Following
from simloop.fmus.resources import read_home
from simloop.fmus.slave import Port, Role, Vector
from simloop.models.controllers import FILTER_RATIO, JointPid, PidMemory, inertia_of_joints

GAINS = (
    *TUNING,
    Port(
        "filter_ratio",
        Role.PARAMETER,
        "Low pass of the derivative per natural frequency",
        start=FILTER_RATIO,
        least=0,
        tunable=True,
    ),
)


@dataclass
class State(Following):
    memory: PidMemory


class Pid(Follower):
    """The model is used for its tuning alone: the joints' inertia at home, and there the force that holds them, from
    which the integral begins, as when brakes are released. It has no model to find a replay's force with, so
    `tau_replay` is `tau`, and `contact_by_force` stays false whatever the threshold."""

    description = "Joint PID: feedback of each joint's position alone, with integral and filtered derivative"

    def __init__(self, instance_name: str, resources: str, **_: Any) -> None:
        n = len(read_home(resources))
        memory = PidMemory(integral=np.zeros(n), velocity=np.zeros(n))
        super().__init__(instance_name, resources, GAINS, State, memory=memory)
        self._inertia = inertia_of_joints(self.arm, self.state.q)

    def prepare(self) -> None:
        super().prepare()
        self._pid = JointPid(self._inertia, self.arm.torque_limits, **self.gains(GAINS))

    def start(self) -> None:
        super().start()
        self.state.memory.integral[:] = self.tau

    def find_force(self, h: float) -> Vector:
        s = self.state
        self._pid.force(s.memory, s.q_r - s.q, s.v, h, self.tau, self.fault)
        # Without a model, the best guess is that the robot gets to where it is sent.
        guess: Vector = (self.q_d - s.q) / h
        return guess

    def find_replay_force(self, v_next: Vector, h: float) -> None:
        self.tau_replay[:] = self.tau
