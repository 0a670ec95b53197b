"""The on-line motion planner as a unit: where the robot should be next (S1, algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from simloop.fmus.resources import read_home, read_model, read_tools
from simloop.fmus.slave import VELOCITY, Kind, Port, Role, Slave
from simloop.fmus.state import UnitState
from simloop.models.arm import Arm, Tools
from simloop.models.faults import WORDS, Fault
from simloop.models.feasible import check_goal
from simloop.models.planner import OnlinePlanner, Plan, rest_at


@dataclass
class State(UnitState):
    plan: Plan


class Planner(Slave):
    """A goal out of reach is refused at the start, with the nearest that is not; guided by hand it has none."""

    description = "On-line planner: moves each tool straight to its goal, re-seeded from the control simulation"

    def __init__(self, instance_name: str, resources: str, **_: Any) -> None:
        self.arm = Arm(read_model(resources))
        self.tools = Tools(self.arm, read_tools(resources))
        n, units = self.arm.n, self.arm.units
        home = np.array(read_home(resources))
        self.arm.kinematics(home)
        here = self.tools.position().copy()
        ports = [
            Port("q", Role.INPUT, "Joint position to plan from", n, unit=units, start=home),
            Port("v", Role.INPUT, "Joint velocity to plan from", n, unit=[VELOCITY[u] for u in units]),
            Port(
                "fault",
                Role.INPUT,
                f"Fault that each joint is known to have: {WORDS}",
                n,
                kind=Kind.INTEGER,
                start=0,
                least=0,
                most=max(Fault),
            ),
            Port("q_d", Role.OUTPUT, "Joint position wanted at the end of the step", n, unit=units),
            Port(
                "goal",
                Role.PARAMETER,
                "Goal of each tool in the world",
                self.tools.size,
                unit="m",
                start=here,
            ),
            Port(
                "acceleration",
                Role.PARAMETER,
                "Acceleration and deceleration of a tool",
                unit="m/s2",
                start=0.1,
                least=0,
            ),
            Port("max_speed", Role.PARAMETER, "Speed cap of a tool; 0 is hand guiding", unit="m/s", start=1.0, least=0),
            Port("band", Role.PARAMETER, "Re-seed only when a tool is farther off; 0 is every step", unit="m", least=0),
            Port(
                "trim", Role.PARAMETER, "Largest lag made up for, as an acceleration", unit="m/s2", start=9.82, least=0
            ),
        ]
        super().__init__(instance_name, resources, ports, State, plan=rest_at(home, self.tools))
        self.q, self.v, self.fault, self.q_d = map(self.view, ("q", "v", "fault", "q_d"))

    def prepare(self) -> None:
        names = ("acceleration", "max_speed", "band", "trim")
        limits = {name: float(self.view(name)[0]) for name in names}
        self._planner = OnlinePlanner(self.arm, self.tools, self.view("goal"), **limits)
        if limits["max_speed"] > 0.0:
            check_goal(self.arm, self.tools, self.view("goal"), self.state.plan.q)

    def start(self) -> None:
        self.q_d[:] = self.state.plan.q

    def step(self, time: float, h: float) -> None:
        self._planner.step(self.state.plan, self.q, self.v, h, self.fault)
        self.q_d[:] = self.state.plan.q
