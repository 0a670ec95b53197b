"""A component: something with variables that can be set, stepped and read, and perhaps rolled back."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from simloop.master.errors import NameNotFoundError, UnitError
from simloop.master.measure import Measure
from simloop.master.values import Family, Value, bind_finite, check_number, family

Vector = NDArray[np.float64]
Action = Callable[[], None]

__all__ = [
    "NOT_OFFERED",
    "Action",
    "Component",
    "ObjectComponent",
    "PlainUnit",
    "Value",
    "Variable",
    "Vector",
    "elements",
    "find_variable",
]


@dataclass(frozen=True)
class Variable:
    """A scalar variable; causality, type and variability are spelled as its file does, unit is None where none is
    declared.

    An element of an FMI 3.0 array has the `reference` of the array, which has `size` elements, this one at `index` from
    0, row by row. `items` are the names and values of an enumeration. `low` and `high` are its declared range.
    `measure` is the definition of its unit, where there is one. `dependencies` are the inputs that an output follows at
    once; None where that is unknown, so that it may follow all.
    """

    name: str
    causality: str
    type: str
    unit: str | None
    reference: int
    start: Value | None = None
    variability: str = "continuous"
    index: int = 0
    size: int = 1
    items: tuple[tuple[str, int], ...] = ()
    low: float = -math.inf
    high: float = math.inf
    measure: Measure | None = None
    dependencies: tuple[str, ...] | None = None


def is_real(variable: Variable) -> bool:
    """Whether it is a number that can change smoothly."""
    return family(variable) is Family.REAL


class Component(Protocol):
    """Legal order: `set` parameters and inputs, `initialize`, then any of set, step, get, save, restore; `close`.

    `initialize` is `enter_initialization`, set and get as often as needed, `exit_initialization`. Numbers of every type
    travel as doubles. `reader` and `writer` bind variables to an array once, so that the loop moves values without
    looking anything up or allocating.
    """

    name: str
    variables: Mapping[str, Variable]
    can_rollback: bool
    cannot_because: str
    """Why it cannot be rolled back, where it cannot."""
    can_serialize: bool
    input_derivatives: int
    """Up to which order it takes derivatives of its Real inputs, 0 where it takes none."""

    def initialize(self, time: float) -> None: ...
    def enter_initialization(self, time: float) -> None: ...
    def exit_initialization(self) -> None: ...
    def set(self, name: str, value: Value) -> None: ...
    def get(self, name: str) -> Value: ...
    def reader(self, names: Sequence[str], target: Vector) -> Action:
        """A call that copies the variables into `target`; NaN or infinity among them is a UnitError."""

    def writer(self, names: Sequence[str], source: Vector) -> Action:
        """A call that sets the variables from `source`."""

    def derivative_writer(self, names: Sequence[str], order: int, source: Vector) -> Action:
        """A call that sets the derivatives of that order of Real inputs, for the next step."""

    def step(self, time: float, h: float) -> float:
        """Advance from `time` by h s; how far it came: h, or less where the unit refused to go on. Error: UnitError."""

    def save(self, into: Any = None) -> Any:
        """The complete state; an earlier one given as `into` may be overwritten."""

    def restore(self, state: Any) -> None:
        """Be in `state` exactly: what follows must not depend on what came between."""

    def serialize(self, state: Any) -> bytes:
        """A saved state as bytes that another process can restore."""

    def deserialize(self, data: bytes) -> Any:
        """The state that `serialize` wrote, to be restored."""

    def close(self) -> None: ...


def find_variable(component: Component, name: str) -> Variable:
    variable = component.variables.get(name)
    if variable is None:
        raise NameNotFoundError(
            "variable", f"{component.name}.{name}", [f"{component.name}.{n}" for n in component.variables]
        )
    return variable


def elements(component: Component, name: str) -> list[str]:
    """The scalar variables that `name` means: itself, or all of `name[1]`, `name[2]`, … in order."""
    if name in component.variables:
        return [name]
    pattern = re.compile(re.escape(name) + r"\[(\d+)\]")
    matches = [(int(m.group(1)), n) for n in component.variables if (m := pattern.fullmatch(n))]
    if not matches:
        find_variable(component, name)
    return [n for _, n in sorted(matches)]


NOT_OFFERED = "the unit does not offer to save and restore its state"


class PlainUnit(Protocol):
    """A unit that is a plain Python object: its numbers stand in `ports` by reference. A refused step is False."""

    ports: Vector

    def variables(self) -> Sequence[Any]: ...
    def exit_initialization_mode(self) -> None: ...
    def do_step(self, current_time: float, step_size: float) -> bool: ...
    def set_string(self, vrs: Sequence[int], values: Sequence[str]) -> None: ...
    def get_string(self, vrs: Sequence[int]) -> list[str]: ...
    def save(self, into: Any = None) -> Any: ...
    def restore(self, state: Any) -> None: ...


class ObjectComponent:
    """A plain Python object as a component, with no FMI between."""

    def __init__(self, name: str, unit: PlainUnit, *, can_rollback: bool = True) -> None:
        self.name = name
        self.can_rollback = can_rollback
        self.cannot_because = "" if can_rollback else NOT_OFFERED
        self.can_serialize = can_rollback and hasattr(unit, "_fmu_state_to_bytes")
        self.input_derivatives = 0
        self._unit: Any = unit
        self._time = 0.0
        self.variables: Mapping[str, Variable] = {v.name: _as_variable(v) for v in unit.variables()}

    def initialize(self, time: float) -> None:
        self.enter_initialization(time)
        self.exit_initialization()

    def enter_initialization(self, time: float) -> None:
        self._time = time

    def exit_initialization(self) -> None:
        try:
            self._unit.exit_initialization_mode()
        except (ArithmeticError, ValueError) as error:
            raise UnitError(self.name, "its start", str(error), self._time) from error

    def set(self, name: str, value: Value) -> None:
        variable = find_variable(self, name)
        if family(variable) is Family.TEXT:
            self._unit.set_string([variable.reference], [str(value)])
        else:
            self._unit.ports[variable.reference] = check_number(self.name, variable, value)

    def get(self, name: str) -> Value:
        variable = find_variable(self, name)
        if family(variable) is Family.TEXT:
            return str(self._unit.get_string([variable.reference])[0])
        return float(self._unit.ports[variable.reference])

    def reader(self, names: Sequence[str], target: Vector) -> Action:
        ports, references = self._unit.ports, self._references(names)
        check = bind_finite(self.name, names, target)

        def read() -> None:
            np.take(ports, references, out=target)
            check(self._time)

        return read

    def writer(self, names: Sequence[str], source: Vector) -> Action:
        ports, references = self._unit.ports, self._references(names)

        def write() -> None:
            ports[references] = source

        return write

    def _references(self, names: Sequence[str]) -> NDArray[np.intp]:
        return np.array([find_variable(self, name).reference for name in names], dtype=np.intp)

    def step(self, time: float, h: float) -> float:
        self._time = time
        try:
            done = self._unit.do_step(time, h)
        except (ArithmeticError, ValueError) as error:
            raise UnitError(self.name, "a step", str(error), time) from error
        if not done:
            return 0.0
        self._time = time + h
        return h

    def save(self, into: Any = None) -> Any:
        return self._unit.save(into)

    def restore(self, state: Any) -> None:
        self._unit.restore(state)

    def derivative_writer(self, names: Sequence[str], order: int, source: Vector) -> Action:
        raise ValueError(f"{self.name} takes no derivatives of its inputs")

    def serialize(self, state: Any) -> bytes:
        data: bytes = self._unit._fmu_state_to_bytes(state)
        return data

    def deserialize(self, data: bytes) -> Any:
        try:
            return self._unit._fmu_state_from_bytes(data)
        except ValueError as error:
            raise UnitError(self.name, "reading a saved state", str(error)) from error

    def close(self) -> None:
        pass


def _as_variable(v: Any) -> Variable:
    """A plain unit's own variable as the master's."""
    if isinstance(v, Variable):
        return v
    return Variable(
        v.name, v.causality, v.type, v.unit, v.reference, variability=v.variability, dependencies=v.dependencies
    )
