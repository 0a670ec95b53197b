"""What a scenario is: a robot in a scene, parameters, a schedule's worth of wiring, and the figures it promises."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from simloop.master import Result, System, TimedWrite
from simloop.master.component import Value
from simloop.models.robot import Obstacle, Robot

Parameters = dict[str, Value]
Settings = dict[str, Value | Sequence[Value]]


class Graph(Enum):
    """The graphs of S1, table 2."""

    FORCE_COMPARISON = "force-comparison"
    FORCE_DIFFERENCE = "force-difference"
    PATH_COMPARISON = "path-comparison"
    PATH_DIFFERENCE = "path-difference"
    VELOCITY_COMPARISON = "velocity-comparison"
    VELOCITY_DIFFERENCE = "velocity-difference"


@dataclass(frozen=True)
class Figure:
    """A number that a run gives, and what it should be: `expected` within the part `tolerance`, at most `limit`, or at
    `least`.

    `source` says where the expectation comes from. Without one the figure only informs.
    """

    label: str
    value: float | None
    unit: str
    expected: float | None = None
    tolerance: float = 0.0
    limit: float | None = None
    least: float | None = None
    source: str = ""

    @property
    def ok(self) -> bool | None:
        if self.expected is None and self.limit is None and self.least is None:
            return None
        if self.value is None or not math.isfinite(self.value):
            return False
        if self.limit is not None:
            return abs(self.value) <= self.limit
        if self.least is not None:
            return self.value >= self.least
        assert self.expected is not None
        return abs(self.value - self.expected) <= self.tolerance * abs(self.expected)


def port_of(name: str) -> str:
    """The whole vector's name, where it is that of an element."""
    return name.partition("[")[0]


@dataclass(frozen=True)
class Variant:
    """A run of the scenario with some parameters changed, to compare with."""

    label: str
    changes: Parameters


@dataclass(frozen=True)
class Outcome:
    """A finished run as a scenario judges it, and its variants by label.

    `parameters` are all that was set, by full name (`planner.goal[3]`); `seconds` is the duration asked for, or how
    far a session went.
    """

    result: Result
    parameters: Mapping[str, Value]
    h: float
    seconds: float
    variants: Mapping[str, tuple[Result, Mapping[str, Value]]] = field(default_factory=dict)
    control: str = "control"
    """Which unit controlled: a key of simloop.fmus.export.UNITS."""
    plant: str = "plant"
    """Which unit was the plant: a real robot is one of simloop.fmus.export.DRIVERS."""
    written: tuple[str, ...] = ()
    """What was written on the way, by full name; `parameters` do not know of it."""

    def number(self, name: str, otherwise: float = 0.0) -> float:
        """A parameter's value, or the unit's own start value when it was not set."""
        return float(self.parameters.get(name, otherwise))

    def disturbed(self) -> bool:
        """Whether something other than the control simulation and one mass error comes between plan and plant."""
        if self.control != "control" or self.plant != "plant":
            return True
        disturbing = ("plant.noise", "control.sigma", "plant.gear_stiffness")
        soft = any(value and port_of(name) in disturbing for name, value in self.parameters.items())
        tuned = any(port_of(name) in (*disturbing, "plant.mass_error") for name in self.written)
        other = {"plant.contact": "none", "plant.integrator": "euler"}
        unlike = any(self.parameters.get(name, usual) != usual for name, usual in other.items())
        pushed = any(bool(self.result.vector(name).any()) for name in ("plant.f_ext", "plant.fault"))
        return soft or tuned or unlike or pushed


@dataclass(frozen=True)
class Marker:
    """An instant worth a line in every graph of the report."""

    time: float
    label: str


@dataclass(frozen=True)
class Table:
    """What a scenario tells in words: a title, the columns' names, and rows of as many texts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Curve:
    """One of a plot's; `below` draws it wide, so that it shows under another."""

    label: str
    values: NDArray[np.float64]
    below: bool = False


@dataclass(frozen=True)
class Plot:
    """A graph of a scenario's own, over the run's time."""

    title: str
    axis: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Panel:
    """One of several small graphs over the run's time; `limits` are infinite where there is none."""

    title: str
    values: NDArray[np.float64]
    limits: tuple[float, float]
    colour: str


@dataclass(frozen=True)
class Panels:
    """Small graphs side by side, each with its own scale."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Path:
    """A path in space (k, 3), m, postures by label as the places of their joints (j, 3), and obstacles."""

    title: str
    positions: NDArray[np.float64]
    postures: tuple[tuple[str, NDArray[np.float64]], ...]
    obstacles: tuple[Obstacle, ...]


def connect_loop(system: System, commands: str = "planner.q_d") -> None:
    """The wiring of the simulation in the loop (S1, section 5.3); `commands` is what control is told."""
    system.connect(commands, "control.q_d")
    system.connect("control.tau", "plant.tau")
    system.connect("plant.q", "control.q_measured")
    system.connect("control.q", "planner.q")
    system.connect("control.v", "planner.v")
    system.connect("plant.q_true", "collision.q")
    system.connect("plant.v", "collision.v")


@dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    robot: Robot
    duration: Fraction
    graphs: tuple[Graph, ...]
    judge: Callable[[Outcome], dict[str, Figure]]
    parameters: Callable[[float], Parameters] = lambda h: {}
    writes: Callable[[float], tuple[TimedWrite, ...]] = lambda h: ()
    """What happens on the way; the user's own writes come after."""
    obstacles: tuple[Obstacle, ...] = ()
    planner: str = "planner"
    """Which unit plans: a key of simloop.fmus.export.UNITS."""
    control: str = "control"
    """Which unit controls: one of simloop.fmus.export.CONTROLLERS."""
    table: Callable[[float, int], str] | None = None
    """The joint table that an off-line planner plays, as CSV, for a step size and a number of steps."""
    variants: Callable[[Mapping[str, Value], float], tuple[Variant, ...]] = lambda parameters, h: ()
    markers: Callable[[Outcome], tuple[Marker, ...]] = lambda outcome: ()
    components: Mapping[str, str] = field(default_factory=dict)
    """More components than the loop's four: for each name a key of simloop.fmus.export.UNITS."""
    connect: Callable[[System], None] = connect_loop
    tables: Callable[[Outcome], tuple[Table, ...]] = lambda outcome: ()
    plots: Callable[[Outcome], tuple[Plot | Panels | Path, ...]] = lambda outcome: ()
    steered: Callable[[], Scenario] | None = None
    """The same scenario with a person at the controls in place of a recording; None when it has no operator."""
    open_ended: bool = False
    """Whether its duration is only a cap, and it is whole wherever a person ends it."""
    fit: Callable[[Robot], Scenario] | None = None
    """The same scenario for another robot; None when it is about its own robot only."""
