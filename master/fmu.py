"""An FMU file as a component, through fmpy, with every buffer prepared once."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from fmpy import calloc, free
from fmpy.fmi1 import printLogMessage
from fmpy.fmi2 import (
    FMU2Slave,
    fmi2CallbackAllocateMemoryTYPE,
    fmi2CallbackFreeMemoryTYPE,
    fmi2CallbackFunctions,
    fmi2CallbackLoggerTYPE,
)
from fmpy.logging import addLoggerProxy
from simloop.master.component import NOT_OFFERED, Action, Value, Variable, Vector, check_number, find_variable
from simloop.master.errors import SimloopError, UnitError

# Derivatives of inputs beyond this order are not sent.
HIGHEST_DERIVATIVE = 2
_OK_OR_WARNING = 1
_ERROR = 3
_STATUS = ("ok", "warning", "discard", "error", "fatal", "pending")
# The FMI 2.0 getter, setter and buffer type for each type of number.
_ACCESS: dict[str, tuple[str, str, Any]] = {
    "Real": ("fmi2GetReal", "fmi2SetReal", ctypes.c_double),
    "Integer": ("fmi2GetInteger", "fmi2SetInteger", ctypes.c_int),
    "Boolean": ("fmi2GetBoolean", "fmi2SetBoolean", ctypes.c_int),
}


def read_description(path: Path) -> Any:
    """The model description of a co-simulation FMU of FMI 2.0, as fmpy gives it."""
    try:
        description = fmpy.read_model_description(str(path))
    except FileNotFoundError as error:
        raise SimloopError(f"there is no file {str(path)!r}") from error
    # fmpy has no exception of its own for what a file can get wrong.
    except Exception as error:
        raise SimloopError(f"{str(path)!r} is not an FMU that can be read: {_one_line(error)}") from error
    if description.fmiVersion != "2.0" or description.coSimulation is None:
        raise SimloopError(f"{str(path)!r} is not a co-simulation unit of FMI 2.0")
    return description


def read_dependencies(description: Any) -> dict[str, tuple[str, ...] | None]:
    """By output, the inputs that its file declares it to depend on directly; None where it declares nothing."""
    found: dict[str, tuple[str, ...] | None] = {}
    for unknown in description.outputs:
        known = unknown.dependencies
        inputs = None if known is None else tuple(v.name for v in known if v.causality == "input")
        found[unknown.variable.name] = inputs
    return found


# fmpy's proxy, which formats a unit's variadic log messages, keeps one listener for the whole process. So there is one,
# which finds the component by the environment that its unit was given.
_listening: weakref.WeakValueDictionary[int, FmuComponent] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


def _hear(environment: int | None, name: bytes, status: int, category: bytes, message: bytes) -> None:
    component = _listening.get(environment or 0)
    if component is None:
        printLogMessage(environment, name, status, category, message)
    elif status >= _ERROR:
        component.messages.append(message.decode("utf-8", "replace"))


_LOGGER = fmi2CallbackLoggerTYPE(_hear)


class FmuComponent:
    """A co-simulation FMU of FMI 2.0."""

    def __init__(self, name: str, path: Path | str) -> None:
        self.name = name
        self.path = Path(path)
        description = read_description(self.path)
        self.can_rollback = bool(description.coSimulation.canGetAndSetFMUstate)
        self.cannot_because = "" if self.can_rollback else NOT_OFFERED
        self.can_serialize = self.can_rollback and bool(description.coSimulation.canSerializeFMUstate)
        self.input_derivatives = HIGHEST_DERIVATIVE if description.coSimulation.canInterpolateInputs else 0
        dependencies = read_dependencies(description)
        self.variables: Mapping[str, Variable] = {
            v.name: Variable(v.name, v.causality, v.type, v.unit, v.valueReference, dependencies.get(v.name))
            for v in description.modelVariables
        }
        self.messages: list[str] = []
        self._slots: list[ctypes.c_void_p] = []
        self._stage: list[str] = []
        self._time = 0.0
        self._folder = tempfile.mkdtemp(prefix="simloop-unit-")
        self._finish: weakref.finalize[..., FmuComponent]
        self._finish = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._extract()
        self._instantiate(description)
        self._finish.detach()
        self._finish = weakref.finalize(self, _release, self._fmu, self._slots, self._stage, self._folder)

    def _extract(self) -> None:
        try:
            fmpy.extract(str(self.path), self._folder)
        # zipfile, zlib and fmpy each have exceptions of their own for a broken or hostile archive.
        except Exception as error:
            raise SimloopError(f"{str(self.path)!r} cannot be unpacked: {_one_line(error)}") from error

    def _instantiate(self, description: Any) -> None:
        self._callbacks = fmi2CallbackFunctions()
        self._callbacks.logger = _LOGGER
        number = next(_numbers)
        self._callbacks.componentEnvironment = number
        _listening[number] = self
        self._callbacks.allocateMemory = fmi2CallbackAllocateMemoryTYPE(calloc)
        self._callbacks.freeMemory = fmi2CallbackFreeMemoryTYPE(free)
        addLoggerProxy(ctypes.byref(self._callbacks))
        try:
            self._fmu = FMU2Slave(
                guid=description.guid,
                unzipDirectory=self._folder,
                modelIdentifier=description.coSimulation.modelIdentifier,
                instanceName=self.name,
            )
            self._fmu.instantiate(callbacks=self._callbacks, loggingOn=True)
        except Exception as error:
            raise UnitError(self.name, "fmi2Instantiate", self._said(_one_line(error))) from error
        # fmpy's own wrappers convert each argument on each call; these take prepared ones.
        library = self._fmu.dll
        self._call = {name: library[name] for access in _ACCESS.values() for name in access[:2]}
        self._instance = ctypes.c_void_p(self._fmu.component)
        self._do_step, self._get_state, self._set_state = (
            library[name] for name in ("fmi2DoStep", "fmi2GetFMUstate", "fmi2SetFMUstate")
        )
        self._c_time, self._c_h, self._c_zero = ctypes.c_double(), ctypes.c_double(), ctypes.c_int(0)

    def _said(self, otherwise: str) -> str:
        said = "; ".join(self.messages) or otherwise
        self.messages.clear()
        return said

    def _check(self, function: str, status: int) -> None:
        if status > _OK_OR_WARNING:
            word = _STATUS[status] if 0 <= status < len(_STATUS) else str(status)
            raise UnitError(self.name, function, self._said(f"status {word}"), self._time)

    def initialize(self, time: float) -> None:
        self.enter_initialization(time)
        self.exit_initialization()

    def enter_initialization(self, time: float) -> None:
        library, instance = self._fmu.dll, self._instance
        zero = ctypes.c_double(0.0)
        setup = library["fmi2SetupExperiment"]
        self._check(
            "fmi2SetupExperiment",
            setup(instance, self._c_zero, zero, ctypes.c_double(time), self._c_zero, zero),
        )
        self._check("fmi2EnterInitializationMode", library["fmi2EnterInitializationMode"](instance))

    def exit_initialization(self) -> None:
        function = "fmi2ExitInitializationMode"
        self._check(function, self._fmu.dll[function](self._instance))
        self._stage.append("initialised")

    def set(self, name: str, value: Value) -> None:
        variable = find_variable(self, name)
        if variable.type == "String":
            texts = (ctypes.c_char_p * 1)(str(value).encode())
            reference = (ctypes.c_uint * 1)(variable.reference)
            function = "fmi2SetString"
            self._check(function, self._fmu.dll[function](self._instance, reference, ctypes.c_size_t(1), texts))
        else:
            self.writer([name], np.array([check_number(self.name, variable, value)]))()

    def get(self, name: str) -> Value:
        variable = find_variable(self, name)
        if variable.type == "String":
            text: str = self._fmu.getString([variable.reference])[0].decode()
            return text
        value = np.zeros(1)
        self.reader([name], value)()
        return float(value[0])

    def reader(self, names: Sequence[str], target: Vector) -> Action:
        return self._mover(names, target, writing=False)

    def writer(self, names: Sequence[str], source: Vector) -> Action:
        return self._mover(names, source, writing=True)

    def _mover(self, names: Sequence[str], array: Vector, writing: bool) -> Action:
        """One FMI call for each type among the variables, bound to `array`."""
        types = {find_variable(self, name).type for name in names}
        if not array.flags.c_contiguous or array.dtype != np.float64 or len(array) != len(names):
            raise ValueError(f"{len(names)} variables need a contiguous array of as many doubles")
        moves = []
        for kind in sorted(types):
            places = [i for i, name in enumerate(names) if self.variables[name].type == kind]
            moves.append(self._move_of_type(kind, [names[i] for i in places], array, places, writing))
        if len(moves) == 1:
            return moves[0]

        def move_all() -> None:
            for move in moves:
                move()

        return move_all

    def _move_of_type(self, kind: str, names: list[str], array: Vector, places: list[int], writing: bool) -> Action:
        function_name, c_type = _ACCESS[kind][1 if writing else 0], _ACCESS[kind][2]
        function, instance, check = self._call[function_name], self._instance, self._check
        references = (ctypes.c_uint * len(names))(*(self.variables[name].reference for name in names))
        count = ctypes.c_size_t(len(names))
        if kind == "Real" and places == list(range(len(array))):
            direct = (c_type * len(array)).from_buffer(array)

            def move() -> None:
                status = function(instance, references, count, direct)
                if status:
                    check(function_name, status)

            return move
        buffer = (c_type * len(names))()
        shared = np.frombuffer(buffer, dtype=np.dtype(c_type))
        chosen = slice(None) if len(places) == len(array) else np.array(places)

        def move_through_buffer() -> None:
            if writing:
                shared[:] = array[chosen]
            check(function_name, function(instance, references, count, buffer))
            if not writing:
                array[chosen] = shared

        return move_through_buffer

    def derivative_writer(self, names: Sequence[str], order: int, source: Vector) -> Action:
        function_name, instance, check = "fmi2SetRealInputDerivatives", self._instance, self._check
        function = self._fmu.dll[function_name]
        references = (ctypes.c_uint * len(names))(*(find_variable(self, name).reference for name in names))
        orders = (ctypes.c_int * len(names))(*([order] * len(names)))
        values = (ctypes.c_double * len(names)).from_buffer(source)  # type: ignore[arg-type]
        count = ctypes.c_size_t(len(names))

        def write() -> None:
            status = function(instance, references, count, orders, values)
            if status:
                check(function_name, status)

        return write

    def step(self, time: float, h: float) -> float:
        self._time = time
        self._c_time.value = time
        self._c_h.value = h
        # The last argument promises never to restore an earlier state; no such promise is made.
        status = self._do_step(self._instance, self._c_time, self._c_h, self._c_zero)
        if status:
            self._check("fmi2DoStep", status)
        return h

    def save(self, into: ctypes.c_void_p | None = None) -> ctypes.c_void_p:
        if into is None:
            into = ctypes.c_void_p()
            self._slots.append(into)
        status = self._get_state(self._instance, ctypes.byref(into))
        if status:
            self._check("fmi2GetFMUstate", status)
        return into

    def restore(self, state: ctypes.c_void_p) -> None:
        status = self._set_state(self._instance, state)
        if status:
            self._check("fmi2SetFMUstate", status)

    def serialize(self, state: ctypes.c_void_p) -> bytes:
        library, size = self._fmu.dll, ctypes.c_size_t()
        function = "fmi2SerializedFMUstateSize"
        self._check(function, library[function](self._instance, state, ctypes.byref(size)))
        data = (ctypes.c_char * size.value)()
        function = "fmi2SerializeFMUstate"
        self._check(function, library[function](self._instance, state, data, size))
        return bytes(data)

    def deserialize(self, data: bytes) -> ctypes.c_void_p:
        state = ctypes.c_void_p()
        function = "fmi2DeSerializeFMUstate"
        arguments = (self._instance, data, ctypes.c_size_t(len(data)), ctypes.byref(state))
        self._check(function, self._fmu.dll[function](*arguments))
        self._slots.append(state)
        return state

    def close(self) -> None:
        """Free the instance and its files, as also happens when the component is let go. No call may follow."""
        self._finish()


def _release(fmu: FMU2Slave, slots: list[ctypes.c_void_p], stage: list[str], folder: str) -> None:
    instance = ctypes.c_void_p(fmu.component)
    for slot in slots:
        fmu.dll["fmi2FreeFMUstate"](instance, ctypes.byref(slot))
    if stage:
        fmu.dll["fmi2Terminate"](instance)
    fmu.freeInstance()
    shutil.rmtree(folder, ignore_errors=True)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
