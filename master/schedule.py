"""A schedule is data: the flat list of operations that make one macro step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from simloop.master.component import Action, Value, find_variable
from simloop.master.errors import CannotRollBackError, NameNotFoundError, WiringError
from simloop.master.system import Connection, System


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


Operation = Transfer | Set | Step | Save | Restore
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
        if isinstance(operation, Save | Restore) and not system.components[operation.component].can_rollback:
            raise CannotRollBackError(operation.component, "the unit does not offer to save and restore its state")
        if isinstance(operation, Save):
            saved.add(operation.component)
        if isinstance(operation, Restore) and operation.component not in saved:
            raise CannotRollBackError(operation.component, "the schedule has not saved it before")


def written_inputs(schedule: Schedule) -> list[tuple[str, str]]:
    """The inputs that the schedule itself sets."""
    return [(op.component, op.variable) for op in schedule if isinstance(op, Set)]


class Clock:
    """The time at the start of the current macro step and its length, s."""

    def __init__(self) -> None:
        self.time = 0.0
        self.h = 0.0


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
    return bound


def bind_transfer(system: System, connection: Connection) -> list[Action]:
    buffer = np.zeros(len(connection.outputs))
    read = system.components[connection.source].reader(connection.outputs, buffer)
    write = system.components[connection.target].writer(connection.inputs, buffer)
    return [read, write]


def _bind_set(system: System, name: str, variable: str, value: Value) -> Action:
    component = system.components[name]
    find_variable(component, variable)
    return component.writer([variable], np.array([float(value)]))


def _bind_step(system: System, name: str, clock: Clock) -> Action:
    step: Callable[[float, float], None] = system.components[name].step

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
