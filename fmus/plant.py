"""The robot as a unit: force in, measured position out (S1, algorithm 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from simloop.fmus.resources import read_home, read_model
from simloop.fmus.slave import FORCE, VELOCITY, Kind, Port, Role, Slave, Vector
from simloop.fmus.state import UnitState
from simloop.models.arm import Arm

CONTACT_MODES = ("none", "compliant")


@dataclass
class State(UnitState):
    physics: Vector
    noise: np.random.Generator


class Plant(Slave):
    description = "Robot: joint force in, measured joint position out, with mass error, noise and external force"

    def __init__(self, instance_name: str, resources: str, **_: Any) -> None:
        self._mjcf = read_model(resources)
        self._home = np.array(read_home(resources))
        arm = Arm(self._mjcf)
        n, units = arm.n, arm.units
        velocity, force = [VELOCITY[u] for u in units], [FORCE[u] for u in units]
        ports = [
            Port("tau", Role.INPUT, "Joint force of the motors", n, unit=force),
            Port("f_ext", Role.INPUT, "External joint force, such as a hand's", n, unit=force),
            Port("q", Role.OUTPUT, "Measured joint position", n, unit=units, starts_from=("noise", "seed")),
            Port("q_true", Role.OUTPUT, "True joint position", n, unit=units),
            Port("v", Role.OUTPUT, "True joint velocity", n, unit=velocity),
            Port("mass_error", Role.PARAMETER, "Every mass and inertia is 1 + mass_error times the model's"),
            Port("noise", Role.PARAMETER, "Standard deviation of the measured position, m or rad"),
            Port("seed", Role.PARAMETER, "Seed of the measurement noise", kind=Kind.INTEGER, start=0),
            Port(
                "contact",
                Role.PARAMETER,
                f"Contact: {' or '.join(CONTACT_MODES)}",
                kind=Kind.STRING,
                start="none",
            ),
        ]
        parts = {"physics": arm.state_at(self._home), "noise": np.random.Generator(np.random.PCG64(0))}
        super().__init__(instance_name, resources, ports, State, **parts)
        self.tau, self.f_ext = self.view("tau"), self.view("f_ext")
        self.q, self.q_true, self.v = map(self.view, ("q", "q_true", "v"))
        self._force, self._error = np.zeros(n), np.zeros(n)

    def prepare(self) -> None:
        contact, self._sigma = self.text("contact"), float(self.view("noise")[0])
        if contact not in CONTACT_MODES:
            raise ValueError(f"{self.instance_name}.contact is {contact!r}; it can be {' or '.join(CONTACT_MODES)}")
        if self._sigma < 0.0:
            raise ValueError(f"{self.instance_name}.noise is {self._sigma}; it must not be negative")
        if self.view("seed")[0] < 0:
            raise ValueError(f"{self.instance_name}.seed is {self.view('seed')[0]:.0f}; it must not be negative")
        self._arm = Arm(self._mjcf, mass_error=float(self.view("mass_error")[0]), contact=contact == "compliant")

    def start(self) -> None:
        self.state.noise.bit_generator.state = np.random.PCG64(int(self.view("seed")[0])).state
        self.state.physics[:] = self._arm.state_at(self._home)
        self.q_true[:] = self._home
        self._measure()

    def step(self, time: float, h: float) -> None:
        np.add(self.tau, self.f_ext, out=self._force)
        self._arm.step(self.state.physics, self._force, h)
        self.q_true[:] = self._arm.data.qpos
        self.v[:] = self._arm.data.qvel
        self._measure()

    def _measure(self) -> None:
        self.q[:] = self.q_true
        if self._sigma > 0.0:
            self.state.noise.standard_normal(out=self._error)
            self._error *= self._sigma
            self.q += self._error
