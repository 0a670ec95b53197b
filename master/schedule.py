"""A schedule is data: the flat list of operations that make one macro step."""

from __future__ import annotations

import math
from dataclasses import dataclass

from simloop.master.component import Value
from simloop.master.errors import CannotRollBackError, NameNotFoundError, WiringError
from simloop.master.extrapolation import HOLD, Extrapolation
from simloop.master.solvers import Solver
from simloop.master.system import Connection, System


@dataclass(frozen=True)
class Transfer:
    """Copy the outputs of a connection to its inputs, or what `extrapolation` makes of them.

    `ahead` says that the source has been stepped already, so that its outputs are those at the end of the step.
    """

    connection: Connection
    extrapolation: Extrapolation = HOLD
    ahead: bool = False


@dataclass(frozen=True)
class Set:
    """Set an input to a fixed value."""

    component: str
    variable: str
    value: Value


@dataclass(frozen=True)
class Step:
    """Step a component over the macro step, or over one of `parts` equal parts of it, counted from 0."""

    component: str
    part: int = 0
    parts: int = 1


@dataclass(frozen=True)
class Save:
    """Keep a component's state for a later Restore in the same macro step."""

    component: str


@dataclass(frozen=True)
class Restore:
    """Take a component back to its last Save."""

    component: str


@dataclass(frozen=True)
class Locate:
    """Step a component over the macro step in parts, each ending where its output `indicator` falls below zero.

    Such an instant is found by rolling back and stepping again, within `tolerance` s; the part ends on the far side
    of it, where the indicator is below zero, and the component deals with it when it is stepped on.
    """

    component: str
    indicator: str
    tolerance: float

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < math.inf:
            raise ValueError(f"the tolerance is {self.tolerance} s; it must be greater than 0 and finite")


@dataclass(frozen=True)
class Iterate:
    """Step components over the macro step again and again, until what goes round `connections`, all of Real numbers,
    agrees with itself at the end of the step."""

    components: tuple[str, ...]
    connections: tuple[Connection, ...]
    solver: Solver
    extrapolation: Extrapolation = HOLD


Operation = Transfer | Set | Step | Save | Restore | Locate | Iterate
Schedule = tuple[Operation, ...]


def stepped(operation: Operation) -> tuple[str, ...]:
    """The components that an operation steps."""
    match operation:
        case Step(component) | Locate(component):
            return (component,)
        case Iterate(components):
            return components
    return ()


def check_schedule(system: System, schedule: Schedule) -> None:
    """Refuse, before anything moves, a schedule that names a component that is not there, forgets a connection, or
    rolls back what cannot be rolled back."""
    carried = {operation.connection for operation in schedule if isinstance(operation, Transfer)}
    carried |= {c for operation in schedule if isinstance(operation, Iterate) for c in operation.connections}
    forgotten = [c for c in system.connections() if c not in carried]
    if forgotten:
        names = ", ".join(f"{c.source}.{c.outputs[0]} to {c.target}.{c.inputs[0]}" for c in forgotten)
        raise WiringError(f"this schedule does not carry the connection from {names}")
    saved = set()
    for operation in schedule:
        for name in _touched(operation):
            if name not in system.components:
                raise NameNotFoundError("component", name, system.components)
            if isinstance(operation, Save | Restore | Locate | Iterate):
                check_rollback(system, name)
            if isinstance(operation, Save):
                saved.add(name)
            if isinstance(operation, Restore) and name not in saved:
                raise CannotRollBackError(name, "the schedule has not saved it before")


def check_rollback(system: System, name: str) -> None:
    component = system.components[name]
    if not component.can_rollback:
        raise CannotRollBackError(name, component.cannot_because)


def _touched(operation: Operation) -> tuple[str, ...]:
    match operation:
        case Transfer():
            return ()
        case Iterate(components):
            return components
        case _:
            return (operation.component,)


def split(system: System, schedule: Schedule) -> tuple[Schedule, Schedule]:
    """What can be undone, and the rest: what feeds and steps the components that cannot be rolled back, once and last.

    A schedule in which something that may be undone follows such a step is refused.
    """
    fixed = {name for name, component in system.components.items() if not component.can_rollback}

    def belongs_last(operation: Operation) -> bool:
        if isinstance(operation, Transfer):
            return operation.connection.target in fixed
        return any(name in fixed for name in _touched(operation))

    first = next((i for i, operation in enumerate(schedule) if belongs_last(operation)), len(schedule))
    body, last = schedule[:first], schedule[first:]
    for operation in last:
        if not belongs_last(operation):
            name = next(name for each in last for name in stepped(each) if name in fixed)
            reason = system.components[name].cannot_because
            raise CannotRollBackError(name, f"{reason}; it must be fed and stepped last, after all that may be undone")
    return body, last


def written_inputs(schedule: Schedule) -> list[tuple[str, str]]:
    """The inputs that the schedule itself sets."""
    return [(op.component, op.variable) for op in schedule if isinstance(op, Set)]
