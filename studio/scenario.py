"""What a scenario is: a robot in a scene, parameters, a schedule's worth of wiring, and the figures it promises."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

from simloop.master import Result, System
from simloop.master.component import Value
from simloop.models.robot import Box, Robot

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
    """A number that a run gives, and what it should be: `expected` within the part `tolerance`, or at most `limit`.

    `source` says where the expectation comes from. Without one the figure only informs.
    """

    label: str
    value: float | None
    unit: str
    expected: float | None = None
    tolerance: float = 0.0
    limit: float | None = None
    source: str = ""

    @property
    def ok(self) -> bool | None:
        if self.expected is None and self.limit is None:
            return None
        if self.value is None or not math.isfinite(self.value):
            return False
        if self.limit is not None:
            return abs(self.value) <= self.limit
        assert self.expected is not None
        return abs(self.value - self.expected) <= self.tolerance * abs(self.expected)


@dataclass(frozen=True)
class Variant:
    """A run of the scenario with some parameters changed, to compare with."""

    label: str
    changes: Parameters


@dataclass(frozen=True)
class Outcome:
    """A finished run as a scenario judges it, and its variants by label.

    `parameters` are all that was set, by full name (`planner.goal[3]`); `seconds` is the duration asked for.
    """

    result: Result
    parameters: Mapping[str, Value]
    h: float
    seconds: float
    variants: Mapping[str, tuple[Result, Mapping[str, Value]]] = field(default_factory=dict)

    def number(self, name: str, otherwise: float = 0.0) -> float:
        """A parameter's value, or the unit's own start value when it was not set."""
        return float(self.parameters.get(name, otherwise))

    def disturbed(self) -> bool:
        """Whether something other than a mass error comes between the plan and the plant."""
        soft = any(self.number(name) for name in ("plant.noise", "control.sigma[1]"))
        return (
            soft or self.parameters.get("plant.contact", "none") != "none" or bool(self.result["plant.f_ext[1]"].any())
        )


@dataclass(frozen=True)
class Marker:
    """An instant worth a line in every graph of the report."""

    time: float
    label: str


@dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    robot: Robot
    duration: Fraction
    graphs: tuple[Graph, ...]
    judge: Callable[[Outcome], dict[str, Figure]]
    parameters: Callable[[float], Parameters] = lambda h: {}
    obstacles: tuple[Box, ...] = ()
    planner: str = "planner"
    """Which unit plans: a key of simloop.fmus.export.UNITS."""
    table: Callable[[float, int], str] | None = None
    """The joint table that an off-line planner plays, as CSV, for a step size and a number of steps."""
    variants: Callable[[Mapping[str, Value], float], tuple[Variant, ...]] = lambda parameters, h: ()
    markers: Callable[[Outcome], tuple[Marker, ...]] = lambda outcome: ()
    fit: Callable[[Robot], Scenario] | None = None
    """The same scenario for another robot; None when it is about its own robot only."""


def connect_loop(system: System) -> None:
    """The wiring of the simulation in the loop (S1, section 5.3)."""
    system.connect("planner.q_d", "control.q_d")
    system.connect("control.tau", "plant.tau")
    system.connect("plant.q", "control.q_measured")
    system.connect("control.q", "planner.q")
    system.connect("control.v", "planner.v")
    system.connect("plant.q_true", "collision.q")
    system.connect("plant.v", "collision.v")
