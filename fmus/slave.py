"""The base class of every unit: vector ports on one array, all state in one dataclass, an honest description.

Call order, as FMI 2.0 has it: construct, set parameters and inputs, `exit_initialization_mode` (which calls the
unit's `prepare` and `start`), then any number of set, `do_step` (which calls the unit's `step`, and `prepare` before it
where a tunable parameter has changed), get; state may be saved and restored between any two of these. A restored state
brings its parameters with it.
"""

from __future__ import annotations

import importlib
import json
import math
import re
import urllib.parse
import urllib.request
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pythonfmu import Fmi2Slave
from pythonfmu.default_experiment import DefaultExperiment
from simloop.fmus.resources import UNIT, this_version
from simloop.fmus.state import UnitState, copy_into, duplicate, from_bytes, to_bytes

Vector = NDArray[np.float64]

# The unit of a joint's velocity, force and regularisation, by the unit of its position.
VELOCITY = {"m": "m/s", "rad": "rad/s"}
FORCE = {"m": "N", "rad": "N.m"}
SIGMA = {"m": "1/kg", "rad": "1/(kg.m2)"}


class Kind(Enum):
    """FMI type of a variable; the value is its code in the shell's access table (fmi2_shell.c)."""

    REAL = 1
    INTEGER = 2
    BOOLEAN = 3
    STRING = 4


# What the shell's access table adds for a number that need not be finite.
ANY_NUMBER = 0x40


class Role(Enum):
    """Causality of a variable; the value is the shell's rule on when it may be set."""

    OUTPUT = 0x00
    PARAMETER = 0x10
    INPUT = 0x20


@dataclass(frozen=True)
class Port:
    """A variable of a unit, or with `size` a vector of them named `name[1]` … `name[size]`.

    `unit` is one for all elements or a sequence, one each; `start`, `least`, `most` and `nominal` likewise, the last
    three None where nothing is promised. `starts_from` names the inputs and parameters that an output's first value
    depends on. After that outputs change in steps only. An input that is not `finite` may be set to NaN or infinity,
    which the unit then answers for. A number that is a `tunable` parameter may be set between steps too.
    """

    name: str
    role: Role
    description: str
    size: int | None = None
    kind: Kind = Kind.REAL
    unit: str | Sequence[str] = "1"
    start: Any = 0.0
    starts_from: tuple[str, ...] = ()
    least: Any = None
    most: Any = None
    nominal: Any = None
    finite: bool = True
    tunable: bool = False

    @property
    def access(self) -> int:
        """Its byte in the shell's access table."""
        settable = Role.INPUT if self.tunable else self.role
        return self.kind.value | settable.value | (0 if self.finite else ANY_NUMBER)

    @property
    def variability(self) -> str:
        """When its value may change, spelled as FMI 2.0 does."""
        if self.role is Role.PARAMETER:
            return "tunable" if self.tunable else "fixed"
        return "continuous" if self.kind is Kind.REAL else "discrete"

    def elements(self) -> list[str]:
        return [self.name] if self.size is None else [f"{self.name}[{i + 1}]" for i in range(self.size)]

    @property
    def count(self) -> int:
        return 1 if self.size is None else self.size

    def each(self, value: Any) -> list[Any]:
        """`value` once an element."""
        count = self.count
        many = not isinstance(value, str) and isinstance(value, Sequence | np.ndarray)
        values = list(value) if many else [value] * count
        if len(values) != count:
            raise ValueError(f"{self.name} has {count} elements, but {len(values)} values were given")
        return values


@dataclass(frozen=True)
class Variable:
    """A scalar variable as a host sees it; causality, type and variability are spelled as FMI 2.0 does.

    No output depends on an input directly: outputs change in steps only.
    """

    name: str
    causality: str
    type: str
    unit: str
    reference: int
    variability: str
    dependencies: tuple[str, ...] = ()


class Slave(Fmi2Slave):
    """A unit. Subclasses give their ports and state to `__init__` and supply `prepare`, `start` and `step`."""

    author = None
    license = "Apache-2.0"
    keeps_state = True
    """Whether its state can be saved, restored and serialised."""

    def __init__(self, instance_name: str, resources: str, ports: Sequence[Port], state: type[UnitState], **parts: Any):
        """`parts` are the first values of the fields of `state` beyond those of UnitState."""
        super().__init__(instance_name=instance_name, resources=resources)
        numbers = [port for port in ports if port.kind is not Kind.STRING]
        # What may be NaN stands first and parameters last, of these the tunable ones, so that each is a slice.
        numbers.sort(key=lambda port: (port.finite, port.role is Role.PARAMETER, port.tunable))
        texts = [port for port in ports if port.kind is Kind.STRING]
        self.descriptions = tuple(numbers + texts)
        self._text_parameters = [i for i, port in enumerate(texts) if port.role is Role.PARAMETER]
        self._slices: dict[str, slice] = {}
        self._variables: list[tuple[str, Port, str, Any]] = []
        for port in self.descriptions:
            first = len(self._variables)
            units, starts = port.each(port.unit), port.each(port.start)
            self._variables += [
                (name, port, unit, start) for name, unit, start in zip(port.elements(), units, starts, strict=True)
            ]
            self._slices[port.name] = slice(first, len(self._variables))
        count = sum(len(port.elements()) for port in numbers)
        starts = [start for _, _, _, start in self._variables]
        self.state: Any = state(ports=np.array(starts[:count], dtype=float), texts=list(starts[count:]), **parts)
        self.ports: Vector = self.state.ports
        self.access = bytes(port.access for _, port, _, _ in self._variables[:count])
        self._first_finite = sum(len(port.elements()) for port in numbers if not port.finite)
        self._finite: Vector = self.ports[self._first_finite :]
        signals = sum(port.role is not Role.PARAMETER for _, port, _, _ in self._variables[:count])
        self._parameters = slice(signals, count)
        self._prepared: tuple[bytes, list[str]] | None = None
        # The tunable parameters as they are and as `prepare` last saw them; comparing the two allocates nothing.
        tunable = self.ports[count - sum(port.tunable for _, port, _, _ in self._variables) :]
        self._tunable, self._tuned = tunable.data, tunable.copy().data
        self.start_time = 0.0
        self.default_experiment = DefaultExperiment(start_time=0.0, stop_time=1.0, step_size=0.005)
        self._blank = duplicate(self.state)

    @abstractmethod
    def prepare(self) -> None:
        """Build the model from the parameters, touching neither state nor ports; also between two steps."""

    @abstractmethod
    def start(self) -> None:
        """Set state and outputs to their first values."""

    @abstractmethod
    def step(self, time: float, h: float) -> None:
        """Advance state and outputs from `time` by h s."""

    def view(self, name: str) -> Vector:
        """The port `name` as a live slice of the port array."""
        return self.ports[self._slices[name]]

    def text(self, name: str) -> str:
        return str(self.state.texts[self._slices[name].start - len(self.ports)])

    def not_negative(self, name: str) -> float:
        """The value of a scalar parameter that must be 0 or more."""
        return self.number(name, allowed=lambda value: value >= 0.0, rule="it must not be negative")

    def positive(self, name: str) -> float:
        """The value of a scalar parameter that must be more than 0."""
        return self.number(name, allowed=lambda value: value > 0.0, rule="it must be greater than 0")

    def number(self, name: str, allowed: Callable[[float], bool], rule: str) -> float:
        """The value of a scalar parameter that must be allowed; `rule` says in words what is."""
        value = float(self.view(name)[0])
        if not allowed(value):
            raise ValueError(f"{self.instance_name}.{name} is {value:g}; {rule}")
        return value

    def none_negative(self, name: str) -> Vector:
        """The values of a vector parameter that must be 0 or more each, as a live slice."""
        values = self.view(name)
        if np.any(values < 0.0):
            first = int(np.argmax(values < 0.0))
            raise ValueError(f"{self.instance_name}.{name}[{first + 1}] is {values[first]:g}; it must not be negative")
        return values

    def one_of(self, name: str, choices: Iterable[str]) -> str:
        """The value of a text parameter that must be one of `choices`."""
        value = self.text(name)
        if value not in choices:
            raise ValueError(f"{self.instance_name}.{name} is {value!r}; it can be {' or '.join(choices)}")
        return value

    def set_text(self, name: str, value: str) -> None:
        self.state.texts[self._slices[name].start - len(self.ports)] = value

    def variables(self) -> list[Variable]:
        """Every scalar variable, by value reference."""
        return [
            Variable(name, port.role.name.lower(), port.kind.name.capitalize(), unit, reference, port.variability)
            for reference, (name, port, unit, _) in enumerate(self._variables)
        ]

    def name_of(self, reference: int) -> str:
        return self._variables[reference][0] if 0 <= reference < len(self._variables) else "unknown variable"

    def set_start_time(self, time: float) -> None:
        self.start_time = time

    def exit_initialization_mode(self) -> None:
        self._prepare_anew()
        self.start()
        self._check_finite("at the start")

    def do_step(self, current_time: float, step_size: float) -> bool:
        if self._prepared is None:
            raise ValueError(f"{self.instance_name}: a step was asked for before the unit was initialised")
        if not step_size > 0.0:
            raise ValueError(f"{self.instance_name}: the step size is {step_size}; it must be greater than 0")
        if self._tunable != self._tuned:
            self._retune()
        # What overflows is found below, by name; numpy's own warnings would go to the host's terminal.
        with np.errstate(all="ignore"):
            self.step(current_time, step_size)
        # The sum is one pass over the array; which element is wrong is only asked when one is.
        if not math.isfinite(np.add.reduce(self._finite)):
            self._check_finite(f"in the step from {current_time:.9g} s")
        return True

    def reset(self) -> None:
        copy_into(self._blank, self.state)
        self._prepared = None

    def _check_finite(self, when: str) -> None:
        wrong = [self.name_of(self._first_finite + int(i)) for i in np.flatnonzero(~np.isfinite(self._finite))]
        if wrong:
            raise ValueError(f"{self.instance_name}: {', '.join(wrong)} became NaN or infinite {when}")

    def get_real(self, vrs: Sequence[int]) -> list[float]:
        values: list[float] = self.ports[np.asarray(vrs, dtype=int)].tolist()
        return values

    def set_real(self, vrs: Sequence[int], values: Sequence[float]) -> None:
        if len(vrs) != len(values):
            raise ValueError(f"{self.instance_name}: {len(vrs)} variables were given {len(values)} values")
        array = np.asarray(values, dtype=float)
        bad = [vr for vr in np.asarray(vrs)[~np.isfinite(array)].tolist() if vr >= self._first_finite]
        if bad:
            wrong = self.name_of(bad[0])
            raise ValueError(f"{self.instance_name}.{wrong} was set to NaN or infinity; a finite number is needed")
        self.ports[np.asarray(vrs, dtype=int)] = array

    def get_integer(self, vrs: Sequence[int]) -> list[int]:
        return [int(value) for value in self.get_real(vrs)]

    def get_boolean(self, vrs: Sequence[int]) -> list[bool]:
        return [bool(value) for value in self.get_real(vrs)]

    set_integer = set_real
    set_boolean = set_real

    def get_string(self, vrs: Sequence[int]) -> list[str]:
        return [self.state.texts[self._text_index(vr)] for vr in vrs]

    def set_string(self, vrs: Sequence[int], values: Sequence[str], started: bool = False) -> None:
        for vr, value in zip(vrs, values, strict=True):
            index = self._text_index(vr)
            if self._variables[vr][1].role is Role.OUTPUT or started:
                raise ValueError(f"{self.instance_name}.{self.name_of(vr)} cannot be set now")
            self.state.texts[index] = value

    def _text_index(self, reference: int) -> int:
        index = reference - len(self.ports)
        if not 0 <= index < len(self.state.texts):
            raise ValueError(f"{self.instance_name}.{self.name_of(reference)} is not a variable of type String")
        return index

    def save(self, into: UnitState | None = None) -> UnitState:
        """A copy of the state, written into `into` when an earlier copy is given."""
        if into is None:
            saved: UnitState = duplicate(self.state)
            return saved
        copy_into(self.state, into)
        return into

    def restore(self, state: UnitState) -> None:
        """Be in `state`, with its parameters; a state whose parameters are refused changes nothing."""
        before = None if self._prepared == self._given_by(state) else duplicate(self.state)
        copy_into(state, self.state)
        if before is not None:
            try:
                self._prepare_anew()
            except ValueError:
                copy_into(before, self.state)
                self._prepare_anew()
                raise

    def _get_fmu_state(self, into: UnitState | None = None) -> UnitState:
        return self.save(into)

    def _set_fmu_state(self, state: UnitState) -> None:
        self.restore(state)

    def _given_by(self, state: UnitState) -> tuple[bytes, list[str]]:
        """What the model is built from."""
        return state.ports[self._parameters].tobytes(), [state.texts[i] for i in self._text_parameters]

    def _prepare_anew(self) -> None:
        self._prepared = None
        self.prepare()
        self._prepared = self._given_by(self.state)
        self._tuned[:] = self._tunable

    def _retune(self) -> None:
        """Take in the tunable parameters; those that are refused go back to what they were."""
        try:
            self._prepare_anew()
        except ValueError:
            self._tunable[:] = self._tuned
            self._prepare_anew()
            raise

    def _fmu_state_to_bytes(self, state: UnitState) -> bytes:
        return to_bytes(state)

    def _fmu_state_from_bytes(self, data: bytes) -> UnitState:
        state: UnitState = from_bytes(data, self._blank, self._first_finite)
        return state


def misfit(resources: str) -> str:
    """Why this installation cannot run the unit of that resources folder; empty when it can."""
    needed = json.loads((_folder(resources) / UNIT).read_text(encoding="utf-8"))["version"]
    here = this_version()
    return "" if here == needed else f"has simloop {here}, but the unit was exported by simloop {needed}"


def load(resources: str, instance_name: str, guid: str) -> Slave:
    """The unit whose resources folder (a file URI or a path) is given; what the FMI library calls."""
    folder = _folder(resources)
    unit = json.loads((folder / UNIT).read_text(encoding="utf-8"))
    if guid != unit["guid"]:
        raise ValueError(f"{instance_name}: the host asked for GUID {guid}, but this unit is {unit['guid']}")
    kind = getattr(importlib.import_module(unit["module"]), unit["class"])
    slave: Slave = kind(instance_name=instance_name, resources=str(folder))
    return slave


def _folder(resources: str) -> Path:
    uri = re.match(r"file:", resources)
    return Path(urllib.request.url2pathname(urllib.parse.urlparse(resources).path) if uri else resources)
