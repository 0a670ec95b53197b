"""The planner that follows an operator's hand as a unit, for an arm with joints to spare (S4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pythonfmu.enums import Fmi2Status
from simloop.fmus.redundant import RedundantPlanner
from simloop.fmus.redundant import State as PlannerState
from simloop.fmus.slave import Kind, Port, Role
from simloop.models.operator import Grip, Lead, follow_lead, read_recording, squeeze


@dataclass
class State(PlannerState):
    grip: Grip
    lead: Lead


class Operator(RedundantPlanner):
    """`twist` counts while `enable` is held; let go, the motion fades within 0.1 s. A twist that is NaN or infinite is
    taken as let go, and as held again when it is good again. With `table` the operator is a recording, and the inputs
    are not listened to."""

    description = "Operator planner: moves a tool as a hand wants it, with a dead-man's switch"

    def __init__(self, instance_name: str, resources: str, **_: Any) -> None:
        units = ["m/s"] * 3 + ["rad/s"] * 3
        file = "CSV file: time,vx,vy,vz,wx,wy,wz,enable; empty is the live inputs"
        own = [
            Port(
                "twist",
                Role.INPUT,
                "Velocity and angular velocity of the tool wanted, world frame",
                6,
                unit=units,
                finite=False,
            ),
            Port("enable", Role.INPUT, "Dead-man's switch: the twist counts", kind=Kind.BOOLEAN, start=False),
            Port(
                "ignored", Role.OUTPUT, "The twist is NaN or infinite: taken as let go", kind=Kind.BOOLEAN, start=False
            ),
            Port("table", Role.PARAMETER, file, kind=Kind.STRING, start=""),
        ]
        parts = {"grip": Grip(np.zeros(6), 0.0), "lead": Lead(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))}
        super().__init__(instance_name, resources, own, State, **parts)
        self.twist, self.enable, self.ignored = map(self.view, ("twist", "enable", "ignored"))

    def prepare(self) -> None:
        super().prepare()
        file = self.text("table")
        self._recording = read_recording(file) if file else None

    def start(self) -> None:
        super().start()
        self.arm.kinematics(self.state.plan.q)
        lead = self.state.lead
        lead.position[:], lead.quaternion[:] = self.tool.position(), self.tool.quaternion()

    def step(self, time: float, h: float) -> None:
        twist, held = self.twist, bool(self.enable[0])
        if self._recording is not None:
            twist, held = self._recording.at(time)
        good = bool(np.isfinite(twist).all())
        if not good and not self.ignored[0]:
            message = f"{self.instance_name}: twist is NaN or infinite at {time:.9g} s; taken as let go"
            self.log(message, Fmi2Status.warning)
        self.ignored[0] = not good
        held = held and good
        now = squeeze(self.state.grip, twist, held, h)
        self.arm.kinematics(self.state.plan.q)
        wanted = follow_lead(self.state.lead, self.tool, now, h, self.state.grip.share)
        self.follow(lambda t, q: wanted, time, h)
