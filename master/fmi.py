"""An instance in an FMU's library: what FMI 2.0 and FMI 3.0 have in common.

Legal order: construct, move values, `initialize`, then any of move, step, save, restore; `release`. After a status of
fatal nothing more is called in the unit, not even to free it, as FMI demands.
"""

from __future__ import annotations

import ctypes
import itertools
import weakref
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import fmpy
import numpy as np
from numpy.typing import NDArray
from simloop.master.archive import one_line
from simloop.master.component import Action
from simloop.master.description import Description
from simloop.master.errors import SimloopError, UnitError

WARNING, DISCARD, ERROR, FATAL = 1, 2, 3, 4
# What a unit logs beyond this, without failing, is forgotten, the oldest first.
MOST_MESSAGES = 20
_STATUS = ("ok", "warning", "discard", "error", "fatal", "pending")


@dataclass
class SavedState:
    """A unit's state in its own memory, and what the host knows with it."""

    pointer: ctypes.c_void_p = field(default_factory=ctypes.c_void_p)
    time: float = 0.0
    ticked: frozenset[int] = frozenset()


# Loggers are given a number as their environment, by which the instance is found: ctypes cannot hand an object through.
_listening: weakref.WeakValueDictionary[int, FmiInstance] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


def hear(environment: int | None, status: int, message: bytes | None) -> None:
    """Keep what a unit logs, where it is an error."""
    instance = _listening.get(environment or 0)
    if instance is not None and status >= DISCARD:
        instance.messages.append((message or b"").decode("utf-8", "replace"))


class FmiInstance:
    """`functions` are the library's, by name; `handle` is the pointer that each of them takes first.

    `ACCESS` has for each type the ending of its getter and setter and the numpy type of their buffer.
    """

    PREFIX: ClassVar[str]
    PLATFORM: ClassVar[str]
    ACCESS: ClassVar[Mapping[str, tuple[str, Any]]]
    plain: bool
    """Whether its functions can be called straight, with no change of mode between."""

    def __init__(self, name: str, description: Description, folder: Path, path: Path) -> None:
        self.name, self.description, self.folder, self.path = name, description, folder, path
        self.time = 0.0
        self.input_derivatives = 0
        self.dead = False
        self.failed = False
        self.started = False
        self.messages: deque[str] = deque(maxlen=MOST_MESSAGES)
        self._slots: list[SavedState] = []
        self.environment = next(_numbers)
        _listening[self.environment] = self
        self._library = self._load()
        self.functions = self._find_functions()
        instance = self._instantiate()
        if not instance:
            reason = self.said("it refused to be instantiated; perhaps its GUID is not the one that it describes")
            fmpy.freeLibrary(self._library._handle)
            raise UnitError(name, f"{self.PREFIX}Instantiate", f"{str(path)!r}: {reason}")
        self.handle = ctypes.c_void_p(instance)
        self._get_state, self._set_state = self.state_function("Get"), self.state_function("Set")

    @abstractmethod
    def _instantiate(self) -> int | None:
        """The address of a new instance, or nothing."""

    @abstractmethod
    def _required(self) -> Iterable[str]:
        """The functions that it must have, beyond those for its types and its state."""

    @abstractmethod
    def enter_initialization(self, time: float) -> None: ...

    @abstractmethod
    def exit_initialization(self) -> None: ...

    @abstractmethod
    def step(self, time: float, h: float) -> float: ...

    @abstractmethod
    def judge_step(self, status: int, h: float) -> float:
        """How far a step of h s from `time` came, whose answer was more than ok."""

    @abstractmethod
    def _arguments(self, kind: str, buffer: NDArray[Any]) -> tuple[Any, ...]:
        """What a getter or setter of `kind` takes after the references."""

    @abstractmethod
    def get_texts(self, kind: str, reference: int, size: int) -> list[Any]: ...

    @abstractmethod
    def set_texts(self, kind: str, reference: int, values: Sequence[Any]) -> None: ...

    def derivative_writer(self, references: Sequence[int], order: int, source: NDArray[np.float64]) -> Action:
        """A call that sets the derivatives of that order of inputs, for the next step."""
        raise ValueError(f"{self.name} takes no derivatives of its inputs")

    def _load(self) -> ctypes.CDLL:
        identifier = self.description.abilities.modelIdentifier
        binaries = self.folder / "binaries"
        file = binaries / self.PLATFORM / f"{identifier}{fmpy.sharedLibraryExtension}"
        if not file.is_file():
            others = sorted(p.name for p in binaries.iterdir() if p.is_dir()) if binaries.is_dir() else []
            there = f"it has {', '.join(others)}" if others else "it has none"
            raise SimloopError(
                f"{str(self.path)!r} has no binary {self.PLATFORM}/{file.name} for this machine; {there}"
            )
        try:
            return ctypes.CDLL(str(file))
        except OSError as error:
            reason = one_line(error).replace(f"{file}: ", "")
            raise SimloopError(f"{str(self.path)!r}: its binary {file.name} cannot be loaded: {reason}") from error

    def _find_functions(self) -> dict[str, Any]:
        """Every function that may be called. One that is needed and missing is an error now, not in the loop."""
        needed = [f"{self.PREFIX}{each}" for each in ("FreeInstance", "Terminate", "DoStep", *self._required())]
        for kind in sorted({v.type for v in self.description.variables.values()}):
            ending = self.ACCESS[kind][0]
            needed += [f"{self.PREFIX}Get{ending}", f"{self.PREFIX}Set{ending}"]
        state = "FMUstate" if self.PREFIX == "fmi2" else "FMUState"
        if self.description.abilities.canGetAndSetFMUstate:
            needed += [f"{self.PREFIX}{verb}{state}" for verb in ("Get", "Set", "Free")]
        if self.description.abilities.canSerializeFMUstate:
            written = "DeSerialize" if self.PREFIX == "fmi2" else "Deserialize"
            needed += [f"{self.PREFIX}{each}" for each in (f"Serialize{state}", f"{written}{state}")]
            needed.append(f"{self.PREFIX}Serialized{state}Size")
        missing = [each for each in needed if not hasattr(self._library, each)]
        if missing:
            fmpy.freeLibrary(self._library._handle)
            raise SimloopError(f"{str(self.path)!r}: its binary lacks the function {', '.join(missing)}")
        return {each: self._library[each] for each in needed}

    def optional(self, function: str) -> Any:
        """A function of the library that need not be there, or None."""
        return getattr(self._library, function, None)

    def said(self, otherwise: str) -> str:
        """What the unit logged since it was last asked."""
        said = "; ".join(" ".join(message.split()) for message in self.messages) or otherwise
        self.messages.clear()
        return said

    def check(self, function: str, status: int) -> None:
        if 0 <= status <= WARNING:
            return
        self.failed = True
        self.dead = self.dead or status == FATAL
        word = _STATUS[status] if 0 <= status < len(_STATUS) else str(status)
        raise UnitError(self.name, function, self.said(f"status {word}"), self.time)

    def refuse(self, function: str) -> NoReturn:
        raise UnitError(
            self.name, function, "it had a fatal error or was closed before, and is not called again", self.time
        )

    def call(self, function: str, *arguments: Any) -> None:
        if self.dead:
            self.refuse(function)
        status = self.functions[function](self.handle, *arguments)
        if status:
            self.check(function, status)

    def mover(self, kind: str, references: Sequence[int], buffer: NDArray[Any], *, writing: bool) -> Action:
        """A call that moves the variables of `references`, all of one type and arrays whole, to or from `buffer`."""
        name = f"{self.PREFIX}{'Set' if writing else 'Get'}{self.ACCESS[kind][0]}"
        function: Callable[..., int] = self.functions[name]
        addresses = (ctypes.c_uint * len(references))(*references)
        arguments = (self.handle, addresses, ctypes.c_size_t(len(references)), *self._arguments(kind, buffer))

        def move() -> None:
            if self.dead:
                self.refuse(name)
            status = function(*arguments)
            if status:
                self.check(name, status)

        # The arguments have the buffer's address only; this keeps it where it is.
        move.buffer = buffer  # type: ignore[attr-defined]
        return move

    def save(self, into: SavedState | None = None) -> SavedState:
        if into is None:
            into = self.new_slot()
        self.call(self._get_state, ctypes.byref(into.pointer))
        into.time = self.time
        return into

    def new_slot(self) -> SavedState:
        """Room for a state, which the instance frees at its end."""
        slot = SavedState()
        self._slots.append(slot)
        return slot

    def restore(self, state: SavedState) -> None:
        self.call(self._set_state, state.pointer)
        self.time = state.time

    def serialize(self, state: SavedState) -> bytes:
        size = ctypes.c_size_t()
        name = "FMUstate" if self.PREFIX == "fmi2" else "FMUState"
        self.call(f"{self.PREFIX}Serialized{name}Size", state.pointer, ctypes.byref(size))
        data = (ctypes.c_char * size.value)()
        self.call(f"{self.PREFIX}Serialize{name}", state.pointer, data, size)
        return data.raw

    def deserialize(self, data: bytes) -> SavedState:
        state = SavedState()
        name = "DeSerializeFMUstate" if self.PREFIX == "fmi2" else "DeserializeFMUState"
        self.call(f"{self.PREFIX}{name}", data, ctypes.c_size_t(len(data)), ctypes.byref(state.pointer))
        self._slots.append(state)
        return state

    def state_function(self, verb: str) -> str:
        return f"fmi2{verb}FMUstate" if self.PREFIX == "fmi2" else f"fmi3{verb}FMUState"

    def release(self) -> None:
        """Free what the unit holds, and the library. No call may follow."""
        if self.dead:
            return
        free = self.functions.get(self.state_function("Free"))
        for slot in self._slots:
            if free is not None and slot.pointer:
                free(self.handle, ctypes.byref(slot.pointer))
        if self.started and not self.failed:
            self.functions[f"{self.PREFIX}Terminate"](self.handle)
        self.dead = True
        self.functions[f"{self.PREFIX}FreeInstance"](self.handle)
        fmpy.freeLibrary(self._library._handle)


def address(array: NDArray[np.generic]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
