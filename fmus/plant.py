"""The robot as a unit: force in, measured position out (S1, algorithm 3; S2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from simloop.fmus.resources import read_home, read_model
from simloop.fmus.slave import FORCE, VELOCITY, Kind, Port, Role, Slave, Vector
from simloop.fmus.state import UnitState
from simloop.models.arm import Arm
from simloop.models.assemble import Gear
from simloop.models.clearance import count_pairs
from simloop.models.faults import WORDS, Fault
from simloop.models.plant import CONTACT_MODES, INTEGRATORS, RobotPlant, RobotState, robot_at_rest

ENCODERS = ("joint", "motor")


@dataclass
class State(UnitState):
    robot: RobotState
    noise: np.random.Generator
    fault: Vector
    """The faults of the step before."""


class Plant(Slave):
    description = "Robot: joint force in, measured joint position out, with model error, noise, contacts and faults"

    def __init__(self, instance_name: str, resources: str, **_: Any) -> None:
        self._mjcf = read_model(resources)
        self._home = np.array(read_home(resources))
        arm = Arm(self._mjcf)
        n, units = arm.n, arm.units
        velocity, force = [VELOCITY[u] for u in units], [FORCE[u] for u in units]
        integer, text = Kind.INTEGER, Kind.STRING
        limit = arm.torque_limits
        ports = [
            Port("tau", Role.INPUT, "Joint force of the motors", n, unit=force),
            Port("f_ext", Role.INPUT, "External joint force, such as a hand's", n, unit=force),
            Port(
                "fault", Role.INPUT, f"Fault of each joint: {WORDS}", n, kind=integer, start=0, least=0, most=max(Fault)
            ),
            Port("q", Role.OUTPUT, "Measured joint position", n, unit=units, starts_from=("noise", "seed")),
            Port("q_true", Role.OUTPUT, "True joint position", n, unit=units),
            Port("v", Role.OUTPUT, "True joint velocity", n, unit=velocity),
            Port("q_motor", Role.OUTPUT, "Position of the motor, on the joint's side of its gear", n, unit=units),
            Port(
                "tau_applied",
                Role.OUTPUT,
                "Joint force that the motors gave, within their limits",
                n,
                unit=force,
                least=-limit,
                most=limit,
                nominal=limit,
            ),
            Port("gap", Role.OUTPUT, "Contact by events: distance of the nearest pair that is not held", unit="m"),
            Port("held", Role.OUTPUT, "Contact by events: pairs that are held", kind=integer, start=0, least=0),
            Port("impacts", Role.OUTPUT, "Contact by events: impacts so far", kind=integer, start=0, least=0),
            Port("impact_time", Role.OUTPUT, "Time of the last impact", unit="s"),
            Port("second_intersections", Role.OUTPUT, "Steps in which a held pair entered", kind=integer, start=0),
            Port("second_depth", Role.OUTPUT, "The deepest of these", unit="m"),
            Port("second_time", Role.OUTPUT, "Time of the deepest", unit="s"),
            Port(
                "mass_error",
                Role.PARAMETER,
                "Every mass and inertia is 1 + mass_error times the model's; it must be greater than -1",
                least=-1,
                tunable=True,
            ),
            Port(
                "noise", Role.PARAMETER, "Standard deviation of the measured position, m or rad", least=0, tunable=True
            ),
            Port("seed", Role.PARAMETER, "Seed of the measurement noise", kind=integer, start=0, least=0),
            Port(
                "fault_size",
                Role.PARAMETER,
                "What a fault of that joint comes to: N, N.m, m or rad",
                n,
                least=0,
                tunable=True,
            ),
            Port(
                "restitution",
                Role.PARAMETER,
                "Contact by events: speed after an impact, as a part of that before",
                least=0,
                most=1,
                tunable=True,
            ),
            Port("gear_stiffness", Role.PARAMETER, "Of an elastic gear, N.m/rad or N/m; 0 is rigid", n, least=0),
            Port("gear_damping", Role.PARAMETER, "Of an elastic gear, N.m.s/rad or N.s/m", n, least=0),
            Port("contact", Role.PARAMETER, f"Contact: {' or '.join(CONTACT_MODES)}", kind=text, start="none"),
            Port("integrator", Role.PARAMETER, f"Steps: {' or '.join(INTEGRATORS)}", kind=text, start="euler"),
            Port("encoder", Role.PARAMETER, f"Measured side: {' or '.join(ENCODERS)}", kind=text, start="joint"),
        ]
        parts = {
            "robot": robot_at_rest(self._home, count_pairs(arm)),
            "noise": np.random.Generator(np.random.PCG64(0)),
            "fault": np.zeros(n),
        }
        super().__init__(instance_name, resources, ports, State, **parts)
        self.tau, self.f_ext, self.fault = map(self.view, ("tau", "f_ext", "fault"))
        self.q, self.q_true, self.v, self.q_motor = map(self.view, ("q", "q_true", "v", "q_motor"))
        self.tau_applied, self.gap = self.view("tau_applied"), self.view("gap")
        self._told = slice(self._slices["held"].start, self._slices["second_time"].stop)
        self._size = self.view("fault_size")
        self._n = n
        self._built_of: dict[str, Any] | None = None
        self._error, self._spread, self._healthy = np.zeros(n), np.zeros(n), np.zeros(n)

    def prepare(self) -> None:
        self._sigma = self.not_negative("noise")
        self.not_negative("seed")
        self.none_negative("fault_size")
        stiffness, damping = self.none_negative("gear_stiffness"), self.none_negative("gear_damping")
        built_of: dict[str, Any] = {
            "mass_error": self.number("mass_error", lambda value: value > -1.0, "it must be greater than -1"),
            "contact": self.text("contact"),
            "restitution": self.number("restitution", lambda value: 0.0 <= value <= 1.0, "it must be from 0 to 1"),
            "integrator": self.text("integrator"),
            "gears": {i: Gear(float(stiffness[i]), float(damping[i])) for i in np.flatnonzero(stiffness).tolist()},
        }
        # Building takes some ms, which a change of noise on the way should not cost.
        if built_of != self._built_of:
            self._plant, self._built_of = RobotPlant(self._mjcf, **built_of), built_of
        self._elastic = bool(stiffness.any())
        self._events = self.text("contact") == "events"
        self._at_motor = self.one_of("encoder", ENCODERS) == "motor"

    def start(self) -> None:
        self.state.noise.bit_generator.state = np.random.PCG64(int(self.view("seed")[0])).state
        self._plant.look(self.state.robot, self.start_time)
        self._tell(self._healthy)

    def step(self, time: float, h: float) -> None:
        self.tau_applied[:] = self._plant.step(self.state.robot, self.tau, self.f_ext, self.fault, self._size, time, h)
        self._tell(self.fault)

    def _tell(self, fault: Vector) -> None:
        moves = self.state.robot.moves
        self.q_true[:] = moves.q[: self._n]
        self.v[:] = moves.v[: self._n]
        self.q_motor[:] = moves.q[self._plant.driven] if self._elastic else self.q_true
        self.gap[0] = self._plant.gap
        self._measure(fault)
        if self._events:
            c = self.state.robot.contacts
            self.ports[self._told] = (
                c.held.sum(),
                c.impacts,
                c.impact_time,
                c.second_intersections,
                c.second_depth,
                c.second_time,
            )

    def _measure(self, fault: Vector) -> None:
        source, before = self.q_motor if self._at_motor else self.q_true, self.state.fault
        if not (self._sigma > 0.0 or np.count_nonzero(fault)):
            self.q[:] = source
            before[:] = 0.0
            return
        silent = (fault == Fault.STUCK) | ((fault == Fault.LOST) & (before != Fault.LOST))
        self._spread[:] = self._sigma
        np.copyto(self._spread, self._size, where=fault == Fault.NOISY)
        self.state.noise.standard_normal(out=self._error)
        self._error *= self._spread
        self._error += source
        np.copyto(self.q, self._error, where=~silent)
        # A step that ends in a touch is only a part of one: what is lost in it is lost in the next part too.
        if self.gap[0] >= 0.0:
            before[:] = fault
