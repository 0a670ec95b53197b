"""Computed torque as a control unit (S1, 3.5)."""

from __future__ import annotations

from typing import Any

import numpy as np
from simloop.fmus.follower import TUNING, Follower, Following
from simloop.fmus.slave import Vector
from simloop.models.controllers import ComputedTorque as Law


class ComputedTorque(Follower):
    """`tau_replay` is the model's force for the motion that was measured, as in the simulation in the loop."""

    description = "Computed torque: the model's force for the motion wanted, and feedback of position and velocity"

    def __init__(self, instance_name: str, resources: str, **_: Any) -> None:
        super().__init__(instance_name, resources, TUNING, Following)
        self._reached = np.zeros(self.arm.n)

    def prepare(self) -> None:
        super().prepare()
        self._law = Law(self.arm, **self.gains(TUNING))

    def find_force(self, h: float) -> Vector:
        s = self.state
        self._law.force(s.q, s.v, s.q_r, s.v_r, self.v_d, h, self.tau, self._reached, self.fault)
        return self._reached

    def find_replay_force(self, v_next: Vector, h: float) -> None:
        self._law.force_of(self.state.q, self.state.v, v_next, h, self.tau_replay)
