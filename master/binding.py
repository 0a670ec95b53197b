"""An algorithm bound to a system: every call prepared, so that the loop only makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from simloop.master.account import Account
from simloop.master.clock import Clock
from simloop.master.component import Action, Component, Value, Vector, find_variable, is_real
from simloop.master.errors import StepDiscardedError
from simloop.master.extrapolation import Extrapolation, Signal
from simloop.master.iteration import bind_iterate
from simloop.master.locate import bind_locate
from simloop.master.schedule import (
    Iterate,
    Locate,
    Operation,
    Restore,
    Save,
    Schedule,
    Set,
    Step,
    Transfer,
    check_schedule,
    split,
    written_inputs,
)
from simloop.master.snapshot import Snapshot
from simloop.master.system import Connection, System
from simloop.master.values import is_number


class Stepper(Protocol):
    """Moves the system on. Steppers wrap each other; the innermost is a flat schedule."""

    def advance(self, time: float, limit: float) -> float:
        """Make one step from `time`, of `limit` s or less; how far it came, `limit` itself when all the way.

        StepDiscardedError and LoopError leave the system anywhere: who wants to go on must restore it.
        """


class Algorithm(Protocol):
    """How a system is stepped, beyond a flat schedule: built around another algorithm, `inner`."""

    @property
    def inner(self) -> Algorithm | Schedule: ...
    def bind(self, binding: Binding) -> Stepper: ...


def innermost(algorithm: Algorithm | Schedule) -> Schedule:
    while not isinstance(algorithm, tuple):
        algorithm = algorithm.inner
    return algorithm


class Executor(Protocol):
    """How a flat schedule is carried out."""

    def bind(self, schedule: Schedule, binding: Binding) -> Stepper: ...


class Interpreted:
    """Call by call."""

    def bind(self, schedule: Schedule, binding: Binding) -> Stepper:
        return Flat(binding.actions(schedule), binding.clock)


INTERPRETED = Interpreted()


class Binding:
    """What the parts of a bound algorithm share.

    `memories` are all the algorithm remembers between steps, arrays of doubles. `last` is what feeds and steps the
    components that cannot be rolled back, once a step stands.
    """

    def __init__(self, system: System, account: Account, executor: Executor = INTERPRETED) -> None:
        self.system = system
        self.account = account
        self._executor = executor
        self.clock = Clock()
        self.memories: list[Vector] = []
        self.last: list[Action] = []
        self._restarts: list[Callable[[float], None]] = []
        for name in system.components:
            account.of(name)

    def bind(self, algorithm: Algorithm | Schedule) -> Stepper:
        """The outermost algorithm."""
        schedule = innermost(algorithm)
        check_schedule(self.system, schedule)
        self.system.check(written_inputs(schedule))
        return self._executor.bind(algorithm, self) if isinstance(algorithm, tuple) else algorithm.bind(self)

    def bind_inner(self, algorithm: Algorithm | Schedule) -> Stepper:
        """An algorithm whose steps may be undone: what cannot be is split off, to be stepped last."""
        if not isinstance(algorithm, tuple):
            return algorithm.bind(self)
        body, last = split(self.system, algorithm)
        stepper = self._executor.bind(body, self)
        self.last += self.actions(last)
        return stepper

    def snapshot(self) -> Snapshot:
        """Of all that can be rolled back, with what the steppers bound so far remember."""
        chosen = [component for component in self.system.components.values() if component.can_rollback]
        return Snapshot(chosen, self.memories, self.account)

    def remember(self, memory: Vector, restart: Callable[[float], None]) -> None:
        """Keep `memory` with the state of the run; `restart(time)` makes it forget a past that does not lead on."""
        self.memories.append(memory)
        self._restarts.append(restart)

    def restart(self, time: float) -> None:
        """What comes next does not follow smoothly from the past."""
        for restart in self._restarts:
            restart(time)

    def signal(self, connection: Connection, extrapolation: Extrapolation, ahead: bool) -> tuple[Signal, Action]:
        """A signal and the call that reads its newest values."""
        signal = Signal(connection, self.system.components[connection.target], extrapolation)
        read = self.read(connection, signal.values)

        def restart(time: float) -> None:
            signal.forget()
            if ahead:
                read()
                signal.push(time)

        self.remember(signal.memory, restart)
        return signal, read

    def read(self, connection: Connection, target: Vector) -> Action:
        """A call that puts what the connection carries into `target`."""
        return self.account.around(connection.source, bind_read(self.system, connection, target))

    def reader(self, name: str, variables: tuple[str, ...], target: Vector) -> Action:
        return self.account.around(name, self.system.components[name].reader(variables, target))

    def actions(self, schedule: Schedule) -> list[Action]:
        """The schedule as calls without arguments, everything they need prepared."""
        slots: dict[str, tuple[Any, int]] = {op.component: (None, 0) for op in schedule if isinstance(op, Save)}
        bound: list[Action] = []
        for operation in schedule:
            bound += self._bind(operation, slots)
        return bound

    def _bind(self, operation: Operation, slots: dict[str, tuple[Any, int]]) -> list[Action]:
        components, account = self.system.components, self.account
        match operation:
            case Transfer(connection, extrapolation, ahead):
                return self._transfer(connection, extrapolation, ahead)
            case Set(name, variable, value):
                return [account.around(name, _bind_set(components[name], variable, value))]
            case Step(name, part, parts):
                return [account.around(name, self.step(name, part, parts))]
            case Save(name):
                return [account.around(name, self._save(name, slots))]
            case Restore(name):
                return [account.around(name, self._restore(name, slots))]
            case Locate(name, indicator, tolerance):
                component = components[name]
                find_variable(component, indicator)
                locate = bind_locate(component, indicator, tolerance, self.clock, account)
                return [account.around(name, locate)]
            case Iterate():
                return [bind_iterate(operation, self)]

    def _transfer(self, connection: Connection, extrapolation: Extrapolation, ahead: bool) -> list[Action]:
        target = self.system.components[connection.target]
        if extrapolation.degree == 0 or not carries_reals(target, connection):
            return [self.account.around(*part) for part in bind_transfer(self.system, connection)]
        signal, read = self.signal(connection, extrapolation, ahead)
        clock = self.clock

        def write() -> None:
            signal.push(clock.time + clock.h if ahead else clock.time)
            signal.write(clock.time, clock.h)

        return [read, self.account.around(connection.target, write)]

    def step(self, name: str, part: int = 0, parts: int = 1) -> Action:
        step, clock, counts = self.system.components[name].step, self.clock, self.account.of(name)

        def step_now() -> None:
            h = clock.h
            counts.steps += 1
            done = step(clock.time, h)
            if done < h:
                raise StepDiscardedError(name, clock.time, h, done)

        def step_part() -> None:
            h = clock.h / parts
            time = clock.time + part * h
            counts.steps += 1
            done = step(time, h)
            if done < h:
                raise StepDiscardedError(name, time, h, done)

        return step_now if parts == 1 else step_part

    def _save(self, name: str, slots: dict[str, tuple[Any, int]]) -> Action:
        save, counts = self.system.components[name].save, self.account.of(name)

        def save_now() -> None:
            slots[name] = save(slots[name][0]), counts.standing
            counts.saves += 1

        return save_now

    def _restore(self, name: str, slots: dict[str, tuple[Any, int]]) -> Action:
        restore, counts = self.system.components[name].restore, self.account.of(name)

        def restore_now() -> None:
            state, standing = slots[name]
            restore(state)
            counts.roll_back(standing)

        return restore_now


def bind_read(system: System, connection: Connection, target: Vector) -> Action:
    read = system.components[connection.source].reader(connection.outputs, target)
    if connection.transform is None:
        return read
    change = connection.transform.bind(target)

    def read_and_change() -> None:
        read()
        change()

    return read_and_change


def bind_transfer(system: System, connection: Connection) -> list[tuple[str, Action]]:
    """What carries a connection: each call with the component that has the work."""
    source = system.components[connection.source]
    if not is_number(source.variables[connection.outputs[0]]):
        return [(connection.target, _bind_copy(source, system.components[connection.target], connection))]
    buffer = np.zeros(len(connection.outputs))
    write = system.components[connection.target].writer(connection.inputs, buffer)
    return [(connection.source, bind_read(system, connection, buffer)), (connection.target, write)]


def _bind_copy(source: Component, target: Component, connection: Connection) -> Action:
    """Text and bytes do not fit an array of doubles."""
    pairs = tuple(zip(connection.outputs, connection.inputs, strict=True))

    def copy() -> None:
        for output, taken in pairs:
            target.set(taken, source.get(output))

    return copy


class Flat:
    """A schedule, call by call."""

    def __init__(self, actions: list[Action], clock: Clock) -> None:
        self._actions = tuple(actions)
        self._clock = clock

    def advance(self, time: float, limit: float) -> float:
        self._clock.time = time
        self._clock.h = limit
        for action in self._actions:
            action()
        return limit


def advance_fully(stepper: Stepper, time: float, h: float) -> None:
    """All of h s, in as many steps as the stepper needs."""
    done = 0.0
    # To come all the way is to come as far as asked; a sum could miss that by a rounding.
    while (came := stepper.advance(time + done, rest := h - done)) < rest:
        done += came


def carries_reals(target: Component, connection: Connection) -> bool:
    return all(is_real(target.variables[name]) for name in connection.inputs)


def _bind_set(component: Component, variable: str, value: Value) -> Action:
    find_variable(component, variable)
    return component.writer([variable], np.array([float(value)]))
