"""The command gate as a unit: between planner and control, it lets through only legal positions (S3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from simloop.fmus.resources import read_gate, read_home, read_model
from simloop.fmus.slave import Kind, Port, Role, Slave
from simloop.fmus.state import UnitState
from simloop.models.arm import Arm
from simloop.models.gate import ClearanceGate, direct_motors, load_gate
from simloop.models.gate import Gate as Judge
from simloop.models.gated_motion import GatedMotion, Progress, hold_at

ANALYTIC, POLYHEDRA = "analytic", "polyhedra"


@dataclass
class State(UnitState):
    progress: Progress


class Gate(Slave):
    """Starts at the robot's home, which must be legal, and goes towards `q_d` no farther than it may."""

    description = "Command gate: goes towards the wanted position one motor and one step at a time, where it is legal"

    def __init__(self, instance_name: str, resources: str, **_: Any) -> None:
        self._arm = Arm(read_model(resources))
        name = read_gate(resources)
        self._analytic = load_gate(name) if name else None
        self._home = np.array(read_home(resources))
        n, units = self._arm.n, self._arm.units
        kinds = f"{ANALYTIC} or {POLYHEDRA}" if self._analytic else POLYHEDRA
        ports = [
            Port("q_d", Role.INPUT, "Joint position wanted", n, unit=units, start=self._home),
            Port("q", Role.INPUT, "Joint position of the robot", n, unit=units, start=self._home),
            Port("q_allowed", Role.OUTPUT, "Joint position commanded, always legal", n, unit=units),
            Port("allowed", Role.OUTPUT, "Nothing keeps the command from q_d", kind=Kind.BOOLEAN, start=True),
            Port("reason", Role.OUTPUT, "What does, empty for nothing", kind=Kind.STRING, start=""),
            Port("step", Role.PARAMETER, "Step of a motor that turns", unit="rad", start=math.radians(1.0), least=0),
            Port("slide_step", Role.PARAMETER, "Step of a motor that slides", unit="m", start=1e-3, least=0),
            Port(
                "speed", Role.PARAMETER, "Speed of a motor that turns", unit="rad/s", start=math.radians(40.0), least=0
            ),
            Port("slide_speed", Role.PARAMETER, "Speed of a motor that slides", unit="m/s", start=0.05, least=0),
            Port("margin", Role.PARAMETER, "Distance that polyhedra must keep", unit="m", least=0),
            Port(
                "gate",
                Role.PARAMETER,
                f"What judges: {kinds}",
                kind=Kind.STRING,
                start=ANALYTIC if self._analytic else POLYHEDRA,
            ),
        ]
        self._motors = self._analytic.motors if self._analytic else direct_motors(self._arm)
        super().__init__(instance_name, resources, ports, State, progress=hold_at(self._home, self._motors))
        self.q_d, self.q, self.q_allowed, self.allowed = map(self.view, ("q_d", "q", "q_allowed", "allowed"))

    def prepare(self) -> None:
        judge = self._judge()
        home = judge.check(self._home)
        if not home.allowed:
            raise ValueError(f"{self.instance_name}: the home position is not legal: {home.reason}")
        sizes = {name: self.positive(name) for name in ("step", "slide_step", "speed", "slide_speed")}
        step = self._motors.each(sizes["step"], sizes["slide_step"])
        speed = self._motors.each(sizes["speed"], sizes["slide_speed"])
        self._motion = GatedMotion(judge, step, speed)

    def _judge(self) -> Judge:
        kind, margin = self.text("gate"), float(self.view("margin")[0])
        if kind == ANALYTIC and self._analytic is not None:
            return self._analytic
        if kind != POLYHEDRA:
            can = f"{ANALYTIC} or {POLYHEDRA}" if self._analytic else f"{POLYHEDRA}, for this robot has no other"
            raise ValueError(f"{self.instance_name}.gate is {kind!r}; it can be {can}")
        return ClearanceGate(self._arm, margin, self._motors)

    def start(self) -> None:
        self.q_allowed[:] = self._home

    def step(self, time: float, h: float) -> None:
        verdict = self._motion.advance(self.state.progress, self.q_d, self.q, h)
        self.q_allowed[:] = self._motors.joints(self.state.progress.m)
        if verdict is not None:
            self.allowed[0] = verdict.allowed
            self.set_text("reason", verdict.reason)
