"""Lab arm told to collide, and kept from it: the nine commands of S3, section 3.2, through its gate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from simloop.master import System
from simloop.models.arm import Arm, Vector
from simloop.models.gate import ClearanceGate, Gate, walk
from simloop.models.lab_gate import GATE, MOTORS, UNITS
from simloop.models.robots.lab import ROBOT
from simloop.studio.scenario import Curve, Figure, Outcome, Parameters, Plot, Scenario, Table, connect_loop

SPEED = 40.0  # °/s, of the one motor that moves
REST = 0.4  # s, at the end of each command
STEP = MOTORS.each(math.radians(1.0), 1e-3)
# Of the gate; what the recomputed figures hold for.
GIVEN = {"step": math.radians(1.0), "speed": math.radians(SPEED), "margin": 0.0}


@dataclass(frozen=True)
class Command:
    """A command of S3: its number there, where it sends motors 2, 3, 4, how long that way is, and what it asks for.

    A command that should be stopped names the motor, the last whole degree that is legal and what that shows; the
    figure is that degree, or with `beyond` the first illegal one.
    """

    number: str
    target: tuple[float, float, float]
    way: float
    motor: int = 0
    last: float = math.nan
    key: str = ""
    label: str = ""
    beyond: bool = False


# "Increase until a collision is detected" is a command that lies well beyond it. Step 4 prints motor 5 where it means
# motor 2; step 9 prints motors 2 and 3 of step 5 where it means those of step 8, and 57 where 58 is the last legal.
COMMANDS = (
    Command("1", (0, 150, 0), 112, 3, 112, "motor3_first_refused", "Motor 3 first refused, motors 2, 4 at 0, 0", True),
    Command("2", (0, 90, 0), 22),
    Command("3", (0, 90, 90), 90),
    Command("4", (90, 90, 90), 90),
    Command("5", (119, 141, 90), 80),
    Command("6 down", (119, 141, 0), 16, 4, 74, "motor4_low_at_119_141", "Motor 4 at least, motors 2, 3 at 119, 141"),
    Command("6 up", (119, 141, 180), 16, 4, 90, "motor4_high_at_119_141", "Motor 4 at most, motors 2, 3 at 119, 141"),
    Command("7", (90, 141, 90), 29),
    Command("8", (90, 180, 90), 29, 3, 170, "motor3_high_at_90_90", "Motor 3 at most, motors 2, 4 at 90, 90"),
    Command("9 down", (90, 170, 0), 32, 4, 58, "motor4_low_at_90_170", "Motor 4 at least, motors 2, 3 at 90, 170"),
    Command("9 up", (90, 170, 180), 59, 4, 117, "motor4_high_at_90_170", "Motor 4 at most, motors 2, 3 at 90, 170"),
)


def motors(command: Command) -> Vector:
    """All six motors, rad and m."""
    m: Vector = np.array([0.0, *command.target, 0.0, 0.0]) * UNITS
    return m


def times(h: float) -> list[float]:
    """When each command is given, and when the last ends; whole steps."""
    ends = np.cumsum([0.0] + [command.way / SPEED + REST for command in COMMANDS])
    return [math.ceil(round(end / h, 6)) * h for end in ends]


def plan_table(h: float, steps: int) -> str:
    """Jumps: each command stands from its time on."""
    rows, before = [(0.0, np.array(ROBOT.home))], np.array(ROBOT.home)
    for command, time in zip(COMMANDS, times(h), strict=False):
        q = MOTORS.joints(motors(command))
        rows += [(time, before)] * (time > 0.0) + [(time + h, q)]
        before = q
    head = ",".join(["time", *(f"q[{i + 1}]" for i in range(len(ROBOT.home)))])
    lines = [",".join(repr(float(x)) for x in (time, *q)) for time, q in rows]
    return "\n".join([head, *lines]) + "\n"


def connect(system: System) -> None:
    """The loop, with the gate between planner and control."""
    connect_loop(system, commands="gate.q_allowed")
    system.connect("planner.q_d", "gate.q_d")
    system.connect("plant.q", "gate.q")


def motor_positions(outcome: Outcome, port: str) -> Vector:
    """What a joint port says the motors did, a row a step; degrees and mm."""
    q = np.stack([outcome.result[f"{port}[{i + 1}]"] for i in range(len(ROBOT.home))], axis=1)
    m: Vector = np.linalg.solve(MOTORS.joints_per_motor, q.T).T / UNITS
    return m


def stops(outcome: Outcome) -> list[tuple[Command, Vector]]:
    """For each command that the run had time for, where the gate's output stood at its end; degrees and mm."""
    m, time = motor_positions(outcome, "gate.q_allowed"), outcome.result["time"]
    ends = times(outcome.h)[1:]
    return [
        (command, m[int(np.searchsorted(time, end - 0.5 * outcome.h))])
        for command, end in zip(COMMANDS, ends, strict=True)
        if end <= time[-1] + 0.5 * outcome.h
    ]


def gate_of(outcome: Outcome) -> Gate:
    return by_polyhedra() if outcome.parameters.get("gate.gate") == "polyhedra" else GATE


def by_polyhedra() -> Gate:
    return ClearanceGate(Arm(ROBOT.mjcf), motors=MOTORS)


def walk_all(gate: Gate) -> Vector:
    """Where each command ends when the arm follows at once, a row a command; degrees and mm."""
    places = [np.zeros(6)]
    for command in COMMANDS:
        places.append(walk(gate, places[-1], motors(command), STEP)[0])
    m: Vector = np.array(places[1:]) / UNITS
    return m


def judge(outcome: Outcome) -> dict[str, Figure]:
    gate = gate_of(outcome)
    figures = {command.key: _border(outcome, command, m, gate) for command, m in stops(outcome) if command.motor}
    apart = float(np.abs(walk_all(GATE) - walk_all(by_polyhedra())).max())
    figures["polyhedra_off"] = Figure(
        "Largest difference between the stops by points and by polyhedra", apart, "°", limit=2.0, source="S3's hint"
    )
    told, gone = (motor_positions(outcome, port) for port in ("gate.q_allowed", "plant.q_true"))
    figures["illegal_commands"] = Figure(
        "Illegal positions commanded", _illegal(gate, told), "1", limit=0.0, source="no step of the run"
    )
    # A plant that is not its model is beside its command by less than a step; then S3's whole degrees count.
    exact = not outcome.disturbed() and not outcome.number("plant.mass_error")
    label = "Illegal positions reached by the plant" + ("" if exact else ", to the whole degree and mm")
    figures["illegal_plant_positions"] = Figure(
        label, _illegal(gate, gone if exact else np.round(gone)), "1", limit=0.0, source="no step of the run"
    )
    off = float(np.max(np.abs(gone - told) * UNITS / STEP))
    figures["tracking_error_steps"] = Figure(
        "Largest distance of the plant from its command, in steps of 1° or 1 mm", off, "1", limit=1.0, source="one step"
    )
    return figures


def _border(outcome: Outcome, command: Command, m: Vector, gate: Gate) -> Figure:
    figure = Figure(command.label, round(float(m[command.motor - 1]), 6) + command.beyond, "°")
    if any(outcome.number(f"gate.{name}", value) != value for name, value in GIVEN.items()):
        return figure
    expected = command.last + command.beyond
    if gate is GATE:
        return replace(figure, expected=expected, source="S3, 3.2, recomputed in whole degrees")
    return replace(figure, expected=expected, tolerance=2.0 / expected, source="S3, 3.2, within 2°")


def _illegal(gate: Gate, m: Vector) -> float:
    """How many steps of the run are at a position that the gate refuses."""
    places, counts = np.unique(m, axis=0, return_counts=True)
    return float(
        sum(n for p, n in zip(places, counts, strict=True) if not gate.check(MOTORS.joints(p * UNITS)).allowed)
    )


def tables(outcome: Outcome) -> tuple[Table, ...]:
    gate = gate_of(outcome)
    rows = []
    for command, m in stops(outcome):
        reached = np.allclose(m, motors(command) / UNITS, atol=1e-6)
        why = "" if reached else walk(gate, m * UNITS, motors(command), STEP)[1].reason
        said = "lets it through" if reached else "stops it"
        rows.append((command.number, _degrees(command.target), _degrees(tuple(m[1:4])), said, why))
    columns = ("step of S3", "motors 2, 3, 4 commanded", "reached", "the gate", "because one step further")
    return (Table("Commands", columns, tuple(rows)),)


def _degrees(angles: tuple[float, ...]) -> str:
    return ", ".join(f"{angle:.4g}°" for angle in angles)


def plots(outcome: Outcome) -> tuple[Plot, ...]:
    wanted, gone = (motor_positions(outcome, port) for port in ("planner.q_d", "plant.q_true"))
    return tuple(
        Plot(
            f"Motor {motor}: commanded and reached",
            "angle against the vertical / °",
            (Curve("commanded", wanted[:, motor - 1], below=True), Curve("reached", gone[:, motor - 1])),
        )
        for motor in (2, 3, 4)
    )


def parameters(h: float) -> Parameters:
    return {"gate.gate": "analytic", **{f"gate.{name}": value for name, value in GIVEN.items()}}


SCENARIO = Scenario(
    name="lab-gate",
    title="Lab arm commanded to collide, and stopped at the last legal degree by its gate (S3, 3.2)",
    robot=ROBOT,
    duration=Fraction(20),
    planner="playback",
    table=plan_table,
    components={"gate": "gate"},
    connect=connect,
    parameters=parameters,
    graphs=(),
    judge=judge,
    tables=tables,
    plots=plots,
)
