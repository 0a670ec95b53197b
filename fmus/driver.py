"""A real robot as a unit in the plant's place: the plant's ports around a driver. It cannot be rolled back."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from simloop.drivers.axes import default_axes, read_axes
from simloop.drivers.canopen_bus import BusAddress
from simloop.drivers.canopen_drives import CanopenDriver
from simloop.drivers.driver import Command, Condition, Driver, Report, Takes
from simloop.drivers.egm import EgmDriver
from simloop.drivers.egm_link import FIRST_PORT, LOOPBACK
from simloop.drivers.safety import SafeDriver, limits_of
from simloop.drivers.shadow import Shadow
from simloop.fmus.resources import read_gate, read_home, read_max_speed, read_model
from simloop.fmus.slave import FORCE, VELOCITY, Kind, Port, Role, Slave, Vector
from simloop.fmus.state import UnitState
from simloop.models.arm import Arm
from simloop.models.faults import WORDS
from simloop.models.gate import ClearanceGate, Gate, load_gate

Watcher = Callable[[], str]
_CONDITIONS = ", ".join(f"{condition.value} {condition.name.lower().replace('_', ' ')}" for condition in Condition)


class RobotUnit(Slave):
    """Initialising it connects and switches the robot on, its first step opens the brakes; when it is terminated, let
    go, or anything fails, the robot is stopped. Steps must be of `cycle` s."""

    keeps_state = False

    def __init__(self, instance_name: str, resources: str, ports: Sequence[Port]) -> None:
        self._max_speed, self._gate_name = read_max_speed(resources), read_gate(resources)
        self._mjcf, self._home = read_model(resources), np.array(read_home(resources))
        self.arm = Arm(self._mjcf)
        n = self.arm.n
        super().__init__(instance_name, resources, [*_signals(self.arm, self._home), *_settings(), *ports], UnitState)
        self._tau, self._q_d, self._f_ext, self._fault = map(self.view, ("tau", "q_d", "f_ext", "fault"))
        self._outputs = {name: self.view(name) for name in ("q", "q_true", "q_motor")}
        self._v, self._applied = self.view("v"), self.view("tau_applied")
        self._residual, self._residual_force = self.view("residual"), self.view("residual_force")
        self._told = slice(self._slices["condition"].start, self._slices["missed"].stop)
        self._report = Report(self._home, np.zeros(n), np.zeros(n))
        self._shadow: Shadow | None = None
        self._release: Callable[[], Any] = lambda: None

    @abstractmethod
    def make_driver(self) -> Driver:
        """The driver, by the unit's parameters."""

    def prepare(self) -> None:
        self._cycle = self.positive("cycle")
        missed, tolerance = int(self.positive("missed_cycles")), self.positive("start_tolerance")
        limits = limits_of(self.arm, self._max_speed, missed, tolerance)
        self._shadow = Shadow(self._mjcf) if self.view("shadow")[0] else None
        # None of them knows the unit: a robot whose unit is let go must be let go too.
        watchers = (
            _dead_man(self.view("enable")),
            _contact(self.view("contact_by_position"), self.view("contact_by_force")),
            _differs(self._shadow, self.not_negative("residual_threshold")),
        )
        self._robot = SafeDriver(self.make_driver(), limits, self._home, gates=self._gates(), watchers=watchers)

    def start(self) -> None:
        # The robot is stopped when the unit is let go and when Python ends, too.
        self._release = weakref.finalize(self, self._robot.deactivate)
        self._robot.configure(self._cycle)
        self._report = self._robot.activate()
        self._tell()

    def step(self, time: float, h: float) -> None:
        if abs(h - self._cycle) > 1e-9 * self._cycle:
            self._robot.stop()
            raise ValueError(f"{self.instance_name}: a step of {h:.9g} s, but the robot's cycle is {self._cycle:.9g} s")
        if np.any(self._f_ext) or np.any(self._fault):
            self._robot.stop()
            raise ValueError(f"{self.instance_name}: a real robot is not pushed or broken by f_ext and fault")
        before = self._report
        self._report = self._robot.exchange(Command(self._tau, self._q_d))
        if self._shadow is not None and not self._report.missed and not before.missed:
            after = self._report
            force = after.sent if self._robot.features.takes is Takes.TORQUE else self._tau
            self._shadow.compare(before.q, before.v, force, after.q, after.v, h)
        self._tell()

    def terminate(self) -> None:
        self._release()

    def reset(self) -> None:
        self._release()
        super().reset()

    def save(self, into: UnitState | None = None) -> UnitState:
        raise ValueError(f"{self.instance_name} is a real robot: its state cannot be saved")

    def restore(self, state: UnitState) -> None:
        raise ValueError(f"{self.instance_name} is a real robot: it cannot be rolled back")

    def _tell(self) -> None:
        report, robot = self._report, self._robot
        for output in self._outputs.values():
            output[:] = report.q
        self._v[:] = report.v
        if robot.features.takes is Takes.TORQUE:
            self._applied[:] = report.sent
        self.ports[self._told] = (robot.condition, robot.clipped, robot.missed)
        if self._shadow is not None:
            self._residual[:], self._residual_force[:] = self._shadow.residual, self._shadow.force

    def _gates(self) -> list[Gate]:
        """The robot's own rules, where it has some, and the clearance of its bodies."""
        if not self.view("gate")[0]:
            return []
        own = load_gate(self._gate_name) if self._gate_name else None
        margin = self.not_negative("margin")
        clearance = ClearanceGate(Arm(self._mjcf), margin, own.motors if own else None)
        return [own, clearance] if own else [clearance]


class CanopenRobot(RobotUnit):
    description = "Robot of CiA 402 drives on CANopen in cyclic synchronous torque mode, one node a joint"

    def __init__(self, instance_name: str, resources: str, **_: Any) -> None:
        text, usual = Kind.STRING, BusAddress()
        ports = [
            Port("watchdog", Role.PARAMETER, "Time without a command after which a drive stops", unit="s", start=0.25),
            Port("sync_after", Role.PARAMETER, "Part of a cycle between command and SYNC; 0 for emulated drives"),
            Port("port", Role.PARAMETER, "UDP port of udp_multicast", kind=Kind.INTEGER, start=usual.port),
            Port("fault_reset", Role.PARAMETER, "Reset drives in fault at the start", kind=Kind.BOOLEAN, start=False),
            Port(
                "interface", Role.PARAMETER, "CAN interface, as python-can names it", kind=text, start=usual.interface
            ),
            Port("channel", Role.PARAMETER, "CAN channel, such as can0", kind=text, start=usual.channel),
            Port("config", Role.PARAMETER, "TOML file with a [[joint]] for each drive", kind=text, start=""),
        ]
        super().__init__(instance_name, resources, ports)

    def make_driver(self) -> Driver:
        config = self.text("config")
        axes = read_axes(Path(config), self.arm.n) if config else default_axes(self.arm)
        address = BusAddress(self.text("interface"), self.text("channel"), int(self.view("port")[0]))
        return CanopenDriver(
            axes,
            address,
            reply_timeout=self.positive("reply_timeout"),
            watchdog=self.positive("watchdog"),
            sync_after=self.not_negative("sync_after"),
            reset_faults=bool(self.view("fault_reset")[0]),
            quiet_cycles=int(self.positive("quiet_cycles")),
        )


class EgmRobot(RobotUnit):
    description = "ABB robot by Externally Guided Motion: position out and in over UDP"

    def __init__(self, instance_name: str, resources: str, **_: Any) -> None:
        text = Kind.STRING
        ports = [
            Port("port", Role.PARAMETER, "UDP port; a second arm has the next", kind=Kind.INTEGER, start=FIRST_PORT),
            Port("interface", Role.PARAMETER, "Own IPv4 address to listen on", kind=text, start=LOOPBACK),
            Port(
                "peer", Role.PARAMETER, "IPv4 address of the controller; others are ignored", kind=text, start=LOOPBACK
            ),
        ]
        super().__init__(instance_name, resources, ports)

    def make_driver(self) -> Driver:
        return EgmDriver(
            self.arm.n,
            interface=self.text("interface"),
            port=int(self.view("port")[0]),
            peer=self.text("peer"),
            reply_timeout=self.positive("reply_timeout"),
            quiet_cycles=int(self.positive("quiet_cycles")),
        )


def _dead_man(enable: Vector) -> Watcher:
    return lambda: "" if enable[0] else "the dead-man's switch was let go"


def _contact(by_position: Vector, by_force: Vector) -> Watcher:
    def watch() -> str:
        if by_force[0]:
            return "contact, by the force difference"
        return "contact, by the position difference" if by_position[0] else ""

    return watch


def _differs(shadow: Shadow | None, threshold: float) -> Watcher:
    def watch() -> str:
        if shadow is None or threshold == 0.0 or np.abs(shadow.force).max() <= threshold:
            return ""
        worst = int(np.argmax(np.abs(shadow.force)))
        return f"contact, by the shadow: {shadow.force[worst]:.3g} N·m or N beside the command on joint {worst + 1}"

    return watch


def _signals(arm: Arm, home: Vector) -> list[Port]:
    n, units, integer = arm.n, arm.units, Kind.INTEGER
    velocity, force = [VELOCITY[u] for u in units], [FORCE[u] for u in units]
    switch = Kind.BOOLEAN
    return [
        Port("tau", Role.INPUT, "Joint force of the motors", n, unit=force),
        Port("q_d", Role.INPUT, "Joint position wanted at the end of the step", n, unit=units, start=home),
        Port("f_ext", Role.INPUT, "As the plant's; must be 0", n, unit=force),
        Port("fault", Role.INPUT, f"As the plant's ({WORDS}); must be 0", n, kind=integer, start=0),
        Port("contact_by_position", Role.INPUT, "Contact was seen by position: stop", kind=switch, start=False),
        Port("contact_by_force", Role.INPUT, "Contact was seen by force: stop", kind=switch, start=False),
        Port("enable", Role.INPUT, "The dead-man's switch is held", kind=switch, start=True),
        Port("q", Role.OUTPUT, "Measured joint position", n, unit=units),
        Port("q_true", Role.OUTPUT, "Measured joint position: the true one is not known", n, unit=units),
        Port("v", Role.OUTPUT, "Joint velocity by differences", n, unit=velocity),
        Port("q_motor", Role.OUTPUT, "Measured joint position", n, unit=units),
        Port("tau_applied", Role.OUTPUT, "Joint force that was really sent; 0 if position is", n, unit=force),
        Port("residual", Role.OUTPUT, "Shadow: measured minus simulated position", n, unit=units),
        Port("residual_force", Role.OUTPUT, "Shadow: force that acted beside the command", n, unit=force),
        Port("condition", Role.OUTPUT, f"Condition: {_CONDITIONS}", kind=integer, start=0),
        Port("clipped", Role.OUTPUT, "Numbers cut off at a limit so far", kind=integer, start=0),
        Port("missed", Role.OUTPUT, "Cycles without a measurement so far", kind=integer, start=0),
    ]


def _settings() -> list[Port]:
    integer, switch = Kind.INTEGER, Kind.BOOLEAN
    return [
        Port("cycle", Role.PARAMETER, "Cycle of the robot, and size of every step", unit="s", start=0.004),
        Port("reply_timeout", Role.PARAMETER, "Wait for a measurement before it is missed", unit="s", start=0.05),
        Port("missed_cycles", Role.PARAMETER, "So many missed in a row stop the robot", kind=integer, start=3),
        Port("quiet_cycles", Role.PARAMETER, "Cycles with zero force before the brakes open", kind=integer, start=5),
        Port("start_tolerance", Role.PARAMETER, "Farthest from home at the start, m or rad", start=0.02),
        Port("gate", Role.PARAMETER, "Refuse illegal positions and contact of bodies", kind=switch, start=True),
        Port("margin", Role.PARAMETER, "Distance that bodies must keep", unit="m"),
        Port("shadow", Role.PARAMETER, "Run the simulated plant beside", kind=switch, start=False),
        Port("residual_threshold", Role.PARAMETER, "Shadow: more force than this (N.m or N) is contact; 0 is off"),
    ]
