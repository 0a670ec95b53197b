"""A schedule is data: the flat list of operations that make one macro step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from simloop.master.clock import Clock
from simloop.master.component import Action, Component, Value, bind_step, find_variable
from simloop.master.errors import CannotRollBackError, NameNotFoundError, WiringError
from simloop.master.events import bind_locate
from simloop.master.system import Connection, System
from simloop.master.values import is_number


@dataclass(frozen=True)
class Transfer:
    """Copy the outputs of a connection to its inputs."""

    connection: Connection


@dataclass(frozen=True)
class Set:
    """Set an input to a fixed value."""

    component: str
    variable: str
    value: Value


@dataclass(frozen=True)
class Step:
    """Step a component over the macro step."""

    component: str


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


Operation = Transfer | Set | Step | Save | Restore | Locate
Schedule = tuple[Operation, ...]


def check_schedule(system: System, schedule: Schedule) -> None:
    """Refuse, before anything moves, a schedule that names a component that is not there, forgets a connection, or
    rolls back what cannot be rolled back."""
    carried = {operation.connection for operation in schedule if isinstance(operation, Transfer)}
    forgotten = [c for c in system.connections() if c not in carried]
    if forgotten:
        names = ", ".join(f"{c.source}.{c.outputs[0]} to {c.target}.{c.inputs[0]}" for c in forgotten)
        raise WiringError(f"this schedule does not carry the connection from {names}")
    saved = set()
    for operation in schedule:
        if not isinstance(operation, Transfer) and operation.component not in system.components:
            raise NameNotFoundError("component", operation.component, system.components)
        if isinstance(operation, Save | Restore | Locate):
            component = system.components[operation.component]
            if not component.can_rollback:
                raise CannotRollBackError(operation.component, component.cannot_because)
        if isinstance(operation, Save):
            saved.add(operation.component)
        if isinstance(operation, Restore) and operation.component not in saved:
            raise CannotRollBackError(operation.component, "the schedule has not saved it before")


def written_inputs(schedule: Schedule) -> list[tuple[str, str]]:
    """The inputs that the schedule itself sets."""
    return [(op.component, op.variable) for op in schedule if isinstance(op, Set)]


def bind(system: System, schedule: Schedule, clock: Clock) -> list[Action]:
    """The schedule as calls without arguments, everything they need prepared."""
    check_schedule(system, schedule)
    system.check(written_inputs(schedule))
    slots: dict[str, object] = {op.component: None for op in schedule if isinstance(op, Save)}
    bound = []
    for operation in schedule:
        match operation:
            case Transfer(connection):
                bound += bind_transfer(system, connection)
            case Set(component, variable, value):
                bound.append(_bind_set(system, component, variable, value))
            case Step(component):
                bound.append(_bind_step(system, component, clock))
            case Save(component):
                bound.append(_bind_save(system, component, slots))
            case Restore(component):
                bound.append(_bind_restore(system, component, slots))
            case Locate(component, indicator, tolerance):
                find_variable(system.components[component], indicator)
                bound.append(bind_locate(system.components[component], indicator, tolerance, clock))
    return bound


def bind_transfer(system: System, connection: Connection) -> list[Action]:
    source, target = system.components[connection.source], system.components[connection.target]
    if not is_number(source.variables[connection.outputs[0]]):
        return [_bind_copy(source, target, connection)]
    buffer = np.zeros(len(connection.outputs))
    actions = [source.reader(connection.outputs, buffer), target.writer(connection.inputs, buffer)]
    if connection.transform is not None:
        actions.insert(1, connection.transform.bind(buffer))
    return actions


def _bind_copy(source: Component, target: Component, connection: Connection) -> Action:
    """Text and bytes do not fit an array of doubles."""
    pairs = tuple(zip(connection.outputs, connection.inputs, strict=True))

    def copy() -> None:
        for output, taken in pairs:
            target.set(taken, source.get(output))

    return copy


def _bind_set(system: System, name: str, variable: str, value: Value) -> Action:
    component = system.components[name]
    find_variable(component, variable)
    return component.writer([variable], np.array([float(value)]))


def _bind_step(system: System, name: str, clock: Clock) -> Action:
    step = bind_step(system.components[name])

    def step_now() -> None:
        step(clock.time, clock.h)

    return step_now


def _bind_save(system: System, name: str, slots: dict[str, object]) -> Action:
    save = system.components[name].save

    def save_now() -> None:
        slots[name] = save(slots[name])

    return save_now


def _bind_restore(system: System, name: str, slots: dict[str, object]) -> Action:
    restore = system.components[name].restore

    def restore_now() -> None:
        restore(slots[name])

    return restore_now
