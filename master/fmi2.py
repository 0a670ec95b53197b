"""An instance of an FMI 2.0 co-simulation unit."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import fmpy
import numpy as np
from fmpy.fmi2 import (
    fmi2CallbackAllocateMemoryTYPE,
    fmi2CallbackFreeMemoryTYPE,
    fmi2CallbackFunctions,
    fmi2CallbackLoggerTYPE,
)
from fmpy.logging import addLoggerProxy
from numpy.typing import NDArray
from simloop.master.component import Action
from simloop.master.errors import UnitError
from simloop.master.fmi import DISCARD, FmiInstance, address, hear

_CO_SIMULATION = 1
_LAST_SUCCESSFUL_TIME, _TERMINATED = 2, 3
# Derivatives of inputs beyond this order are not sent.
HIGHEST_DERIVATIVE = 2
_SET_DERIVATIVES = "fmi2SetRealInputDerivatives"


# fmpy's proxy, which formats a unit's variadic messages, keeps one listener for the whole process.
@fmi2CallbackLoggerTYPE  # type: ignore[untyped-decorator]
def _LOGGER(environment: int | None, name: bytes, status: int, category: bytes, message: bytes) -> None:
    hear(environment, status, message)


class Fmi2Instance(FmiInstance):
    PREFIX: ClassVar[str] = "fmi2"
    PLATFORM: ClassVar[str] = fmpy.platform
    ACCESS: ClassVar[dict[str, tuple[str, Any]]] = {
        "Real": ("Real", np.float64),
        "Integer": ("Integer", np.int32),
        "Enumeration": ("Integer", np.int32),
        "Boolean": ("Boolean", np.int32),
        "String": ("String", None),
    }

    def _required(self) -> Iterable[str]:
        derivatives = ("SetRealInputDerivatives",) if self.description.abilities.canInterpolateInputs else ()
        return (
            "Instantiate",
            "SetupExperiment",
            "EnterInitializationMode",
            "ExitInitializationMode",
            *derivatives,
        )

    def _instantiate(self) -> int | None:
        self.plain = True
        self.input_derivatives = HIGHEST_DERIVATIVE if self.description.abilities.canInterpolateInputs else 0
        self._callbacks = fmi2CallbackFunctions()
        self._callbacks.logger = _LOGGER
        self._callbacks.componentEnvironment = self.environment
        self._callbacks.allocateMemory = fmi2CallbackAllocateMemoryTYPE(fmpy.calloc)
        self._callbacks.freeMemory = fmi2CallbackFreeMemoryTYPE(fmpy.free)
        addLoggerProxy(ctypes.byref(self._callbacks))
        self._c_time, self._c_h, self._no = ctypes.c_double(), ctypes.c_double(), ctypes.c_int(0)
        instantiate = self.functions["fmi2Instantiate"]
        instantiate.restype = ctypes.c_void_p
        instance: int | None = instantiate(
            self.name.encode(),
            ctypes.c_int(_CO_SIMULATION),
            str(self.description.model.guid).encode(),
            (self.folder / "resources").as_uri().encode(),
            ctypes.byref(self._callbacks),
            self._no,
            ctypes.c_int(1),
        )
        return instance

    def _arguments(self, kind: str, buffer: NDArray[Any]) -> tuple[Any, ...]:
        return (address(buffer),)

    def enter_initialization(self, time: float) -> None:
        self.time = time
        zero = ctypes.c_double(0.0)
        self.call("fmi2SetupExperiment", self._no, zero, ctypes.c_double(time), self._no, zero)
        self.call("fmi2EnterInitializationMode")

    def exit_initialization(self) -> None:
        self.call("fmi2ExitInitializationMode")
        self.started = True

    def derivative_writer(self, references: Sequence[int], order: int, source: NDArray[np.float64]) -> Action:
        count = len(references)
        addresses, orders = (ctypes.c_uint * count)(*references), (ctypes.c_int * count)(*([order] * count))
        arguments = (addresses, ctypes.c_size_t(count), orders, address(source))

        def write() -> None:
            self.call(_SET_DERIVATIVES, *arguments)

        # The arguments have the buffer's address only; this keeps it where it is.
        write.buffer = source  # type: ignore[attr-defined]
        return write

    def step(self, time: float, h: float) -> float:
        if self.dead:
            self.refuse("fmi2DoStep")
        self.time = self._c_time.value = time
        self._c_h.value = h
        # The last argument promises never to restore an earlier state; no such promise is made.
        status = self.functions["fmi2DoStep"](self.handle, self._c_time, self._c_h, self._no)
        if status:
            return self.judge_step(status, h)
        self.time = time + h
        return h

    def judge_step(self, status: int, h: float) -> float:
        if status == DISCARD:
            return self._came_until(h)
        self.check("fmi2DoStep", status)
        self.time += h
        return h

    def _came_until(self, h: float) -> float:
        """How far a discarded step came, s."""
        begin, until, ended = self.time, ctypes.c_double(self.time), ctypes.c_int(0)
        said = self.said("it asks to end the simulation")
        ask_end, ask_time = self.optional("fmi2GetBooleanStatus"), self.optional("fmi2GetRealStatus")
        if ask_end is not None and ask_end(self.handle, _TERMINATED, ctypes.byref(ended)) == 0 and ended.value:
            self.failed = True
            raise UnitError(self.name, "fmi2DoStep", said, begin)
        if ask_time is None or ask_time(self.handle, _LAST_SUCCESSFUL_TIME, ctypes.byref(until)) != 0:
            return 0.0
        done = until.value - begin
        if not 0.0 <= done < h:
            return 0.0
        self.time = until.value
        return done

    def get_texts(self, kind: str, reference: int, size: int) -> list[Any]:
        texts = (ctypes.c_char_p * size)()
        self.call("fmi2GetString", (ctypes.c_uint * 1)(reference), ctypes.c_size_t(1), texts)
        return [(text or b"").decode("utf-8", "replace") for text in texts]

    def set_texts(self, kind: str, reference: int, values: Sequence[Any]) -> None:
        texts = (ctypes.c_char_p * 1)(values[0].encode())
        self.call("fmi2SetString", (ctypes.c_uint * 1)(reference), ctypes.c_size_t(1), texts)
