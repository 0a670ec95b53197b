"""The collision detector as a unit: how near the robot is to touching, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simloop.fmus.resources import read_home, read_model
from simloop.fmus.slave import VELOCITY, Kind, Port, Role, Slave, Vector
from simloop.fmus.state import UnitState
from simloop.models.arm import Arm
from simloop.models.clearance import NEVER, NOTHING_NEAR, Clearance


@dataclass
class State(UnitState):
    memory: Vector
    """What each pair remembers of its last query."""


class Collision(Slave):
    description = "Collision detector: signed distance of the nearest pair of bodies, witness points and normal"

    def __init__(self, instance_name: str, resources: str, **_: Any) -> None:
        arm = Arm(read_model(resources))
        self._clearance = Clearance(arm)
        first, pairs = ("q",), len(self._clearance.names)
        ports = [
            Port("q", Role.INPUT, "Joint position", arm.n, unit=arm.units, start=read_home(resources)),
            Port("v", Role.INPUT, "Joint velocity", arm.n, unit=[VELOCITY[u] for u in arm.units]),
            Port(
                "distance",
                Role.OUTPUT,
                "Distance of the nearest pair, negative inside",
                unit="m",
                starts_from=first,
                most=NOTHING_NEAR,
                nominal=0.1,
            ),
            Port(
                "contact",
                Role.OUTPUT,
                "The pair touches or overlaps",
                kind=Kind.BOOLEAN,
                start=False,
                starts_from=first,
            ),
            Port(
                "point_a", Role.OUTPUT, "Nearest point on the first body, world frame", 3, unit="m", starts_from=first
            ),
            Port(
                "point_b", Role.OUTPUT, "Nearest point on the second body, world frame", 3, unit="m", starts_from=first
            ),
            Port(
                "normal",
                Role.OUTPUT,
                "Unit vector from the first body to the second",
                3,
                starts_from=first,
                least=-1,
                most=1,
            ),
            Port(
                "time_to_contact",
                Role.OUTPUT,
                "At this velocity; 1e6 is never",
                unit="s",
                starts_from=("q", "v"),
                least=0,
                most=NEVER,
            ),
            Port(
                "pair",
                Role.OUTPUT,
                "Number of the pair; 0 is none",
                kind=Kind.INTEGER,
                start=0,
                starts_from=first,
                least=0,
                most=pairs,
            ),
            Port("body_a", Role.OUTPUT, "Name of the first body", kind=Kind.STRING, start="", starts_from=first),
            Port("body_b", Role.OUTPUT, "Name of the second body", kind=Kind.STRING, start="", starts_from=first),
        ]
        super().__init__(instance_name, resources, ports, State, memory=self._clearance.memory)
        self.q, self.distance, self.contact, self.pair = map(self.view, ("q", "distance", "contact", "pair"))
        self.v, self.time_to_contact = self.view("v"), self.view("time_to_contact")
        self.point_a, self.point_b, self.normal = map(self.view, ("point_a", "point_b", "normal"))

    def prepare(self) -> None:
        pass

    def start(self) -> None:
        self._find()

    def step(self, time: float, h: float) -> None:
        self._find()

    def _find(self) -> None:
        found = self._clearance
        found.update(self.q)
        self.distance[0] = found.distance
        self.contact[0] = found.distance <= 0.0
        self.time_to_contact[0] = found.time_to_contact(self.v)
        if found.names:
            self.point_a[:], self.point_b[:], self.normal[:] = found.point_a, found.point_b, found.normal
            if self.pair[0] != found.nearest + 1:
                self.pair[0] = found.nearest + 1
                for name, body in zip(("body_a", "body_b"), found.names[found.nearest], strict=True):
                    self.set_text(name, body)
