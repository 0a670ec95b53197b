"""An instance of an FMI 3.0 co-simulation unit, with events and clocks where it has an event mode.

Event mode is entered when a discrete input or a clock is set, when a step asks for it and when a clock of the host is
due; it is left, once the unit needs no more updates, before anything is read, stepped or saved.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import fmpy
import numpy as np
from numpy.typing import NDArray
from simloop.master.component import Action
from simloop.master.errors import UnitError
from simloop.master.fmi import DISCARD, FmiInstance, SavedState, address, hear

# Updates at one instant; more is a unit that does not come to rest.
MOST_UPDATES = 1000
# Ticks of the host's clocks in one step.
MOST_TICKS = 1_000_000
# Part of its interval by which a tick may miss a given time and still be at it.
SAME_INSTANT = 1e-9

_LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)


@_LOG  # type: ignore[untyped-decorator]
def _LOGGER(environment: int | None, status: int, category: bytes, message: bytes) -> None:
    hear(environment, status, message)


class Fmi3Instance(FmiInstance):
    PREFIX: ClassVar[str] = "fmi3"
    PLATFORM: ClassVar[str] = fmpy.platform_tuple
    ACCESS: ClassVar[dict[str, tuple[str, Any]]] = {
        "Float32": ("Float32", np.float32),
        "Float64": ("Float64", np.float64),
        "Int8": ("Int8", np.int8),
        "UInt8": ("UInt8", np.uint8),
        "Int16": ("Int16", np.int16),
        "UInt16": ("UInt16", np.uint16),
        "Int32": ("Int32", np.int32),
        "UInt32": ("UInt32", np.uint32),
        "Int64": ("Int64", np.int64),
        "UInt64": ("UInt64", np.uint64),
        "Enumeration": ("Int64", np.int64),
        "Boolean": ("Boolean", np.bool_),
        "Clock": ("Clock", np.bool_),
        "String": ("String", None),
        "Binary": ("Binary", None),
    }

    def _required(self) -> Iterable[str]:
        events = ("EnterEventMode", "UpdateDiscreteStates", "EnterStepMode")
        always = ("InstantiateCoSimulation", "EnterInitializationMode", "ExitInitializationMode")
        return (*always, *(events if self.description.abilities.hasEventMode else ()))

    def _instantiate(self) -> int | None:
        yes, no, nothing = ctypes.c_bool(True), ctypes.c_bool(False), ctypes.c_void_p()
        self._has_events = bool(self.description.abilities.hasEventMode)
        self.plain = not self._has_events and not self.description.periods
        self._in_event_mode = False
        self.ticked: frozenset[int] = frozenset()
        self._clocks = [
            v.reference for v in self.description.variables.values() if v.type == "Clock" and v.causality == "output"
        ]
        in_events = ("discrete", "tunable") if self._has_events else ()
        self._discrete = {v.reference for v in self.description.variables.values() if v.variability in in_events}
        self._c_time, self._c_h, self._until = ctypes.c_double(), ctypes.c_double(), ctypes.c_double()
        self._event, self._end, self._early = ctypes.c_bool(), ctypes.c_bool(), ctypes.c_bool()
        self.answer: tuple[Any, ...] = (self._event, self._end, self._early, self._until)
        self._no = no
        resources = self.folder / "resources"
        instantiate = self.functions["fmi3InstantiateCoSimulation"]
        instantiate.restype = ctypes.c_void_p
        instance: int | None = instantiate(
            self.name.encode(),
            str(self.description.model.guid).encode(),
            f"{resources}/".encode() if resources.is_dir() else None,
            no,
            yes,
            ctypes.c_bool(self._has_events),
            yes,
            nothing,
            ctypes.c_size_t(0),
            ctypes.c_void_p(self.environment),
            _LOGGER,
            nothing,
        )
        return instance

    def _arguments(self, kind: str, buffer: NDArray[Any]) -> tuple[Any, ...]:
        return (address(buffer),) if kind == "Clock" else (address(buffer), ctypes.c_size_t(len(buffer)))

    def enter_initialization(self, time: float) -> None:
        self.time = time
        zero = ctypes.c_double(0.0)
        self.call("fmi3EnterInitializationMode", self._no, zero, ctypes.c_double(time), self._no, zero)

    def exit_initialization(self) -> None:
        self.call("fmi3ExitInitializationMode")
        self.started = True
        if self._has_events:
            self._in_event_mode = True
            self._tick_what_is_due()
            self._settle()

    def mover(self, kind: str, references: Sequence[int], buffer: NDArray[Any], *, writing: bool) -> Action:
        if kind == "Clock":
            return self._clock_mover(references, buffer, writing)
        move = super().mover(kind, references, buffer, writing=writing)
        if not self._has_events:
            return move
        in_event = writing and not self._discrete.isdisjoint(references)

        def move_in_mode() -> None:
            if self._in_event_mode != in_event and self.started:
                if in_event:
                    self._enter_event_mode()
                elif not writing:
                    self._settle()
            move()

        return move_in_mode

    def _clock_mover(self, references: Sequence[int], buffer: NDArray[Any], writing: bool) -> Action:
        """A clock is active in event mode only, so what is read is whether it ticked in the last step."""

        def tick() -> None:
            self._tick([reference for reference, ticks in zip(references, buffer, strict=True) if ticks])

        def read() -> None:
            if self._in_event_mode:
                self._settle()
            buffer[:] = [reference in self.ticked for reference in references]

        return tick if writing else read

    def _tick(self, clocks: Sequence[int]) -> None:
        if not clocks:
            return
        if not self._has_events or not self.started:
            raise UnitError(self.name, "a tick", "a clock needs an event mode, and a unit that has started", self.time)
        if not self._in_event_mode:
            self._enter_event_mode()
        active = (ctypes.c_bool * len(clocks))(*[True] * len(clocks))
        self.call("fmi3SetClock", (ctypes.c_uint * len(clocks))(*clocks), ctypes.c_size_t(len(clocks)), active)

    def _enter_event_mode(self) -> None:
        self.call("fmi3EnterEventMode")
        self._in_event_mode = True

    def _settle(self) -> None:
        """Update the discrete states until no more is needed, and go to step mode."""
        more, end = ctypes.c_bool(), ctypes.c_bool()
        ignored: list[Any] = [*(ctypes.c_bool() for _ in range(3)), ctypes.c_double()]
        results = [ctypes.byref(each) for each in (more, end, *ignored)]
        for _ in range(MOST_UPDATES):
            self._hear_clocks()
            self.call("fmi3UpdateDiscreteStates", *results)
            if end.value:
                raise UnitError(self.name, "an event", self.said("it asks to end the simulation"), self.time)
            if not more.value:
                break
        else:
            raise UnitError(self.name, "an event", f"it did not settle in {MOST_UPDATES} updates", self.time)
        self.call("fmi3EnterStepMode")
        self._in_event_mode = False

    def _hear_clocks(self) -> None:
        if not self._clocks:
            return
        references, active = (ctypes.c_uint * len(self._clocks))(*self._clocks), (ctypes.c_bool * len(self._clocks))()
        self.call("fmi3GetClock", references, ctypes.c_size_t(len(self._clocks)), active)
        self.ticked |= {reference for reference, ticks in zip(self._clocks, active, strict=True) if ticks}

    def step(self, time: float, h: float) -> float:
        if self.dead:
            self.refuse("fmi3DoStep")
        if self._in_event_mode:
            self._settle()
        self.ticked = frozenset()
        if not self.description.periods:
            return self._step_once(time, h)
        done = 0.0
        for _ in range(MOST_TICKS):
            part = min(self._time_to_tick(time + done), h - done)
            # A tick at the end of the step, up to rounding, is at the end: the parts must add up to h exactly.
            last = h - done - part <= SAME_INSTANT * part
            part = h - done if last else part
            came = self._step_once(time + done, part)
            if came < part:
                return done + came
            self._tick_what_is_due()
            if self._in_event_mode:
                self._settle()
            if last:
                return h
            done += part
        raise UnitError(self.name, "a step", f"its clocks would tick more than {MOST_TICKS} times in it", time)

    def _time_to_tick(self, time: float) -> float:
        """Seconds from `time` to the next tick after it of a clock that the host ticks."""
        waits = []
        for interval, shift in self.description.periods.values():
            count = max(0.0, math.floor((time - shift) / interval + SAME_INSTANT) + 1.0)
            waits.append(shift + count * interval - time)
        return min(waits)

    def _tick_what_is_due(self) -> None:
        """Clocks that tick at this instant. Which do follows from the time alone, so nothing needs to be saved."""
        due = []
        for reference, (interval, shift) in self.description.periods.items():
            ticks = (self.time - shift) / interval
            if ticks > -SAME_INSTANT and abs(ticks - round(ticks)) <= SAME_INSTANT:
                due.append(reference)
        self._tick(due)

    def _step_once(self, time: float, h: float) -> float:
        self.time = self._c_time.value = self._until.value = time
        self._c_h.value = h
        self._event.value = self._end.value = self._early.value = False
        status = self.functions["fmi3DoStep"](
            self.handle,
            self._c_time,
            self._c_h,
            self._no,
            ctypes.byref(self._event),
            ctypes.byref(self._end),
            ctypes.byref(self._early),
            ctypes.byref(self._until),
        )
        return self.judge_step(status, h)

    def judge_step(self, status: int, h: float) -> float:
        time, done = self.time, h
        if status and status != DISCARD:
            self.check("fmi3DoStep", status)
        if self._end.value:
            raise UnitError(self.name, "fmi3DoStep", self.said("it asks to end the simulation"), time)
        if status == DISCARD or self._early.value:
            self.messages.clear()
            came = self._until.value - time
            done = came if 0.0 <= came < h else 0.0 if status == DISCARD else h
        self.time = time + done
        if self._event.value and self._has_events and status != DISCARD:
            self._enter_event_mode()
            self._settle()
        return done

    def save(self, into: SavedState | None = None) -> SavedState:
        if self._in_event_mode:
            self._settle()
        state = super().save(into)
        state.ticked = self.ticked
        return state

    def restore(self, state: SavedState) -> None:
        super().restore(state)
        self.ticked = state.ticked
        self._in_event_mode = False

    def get_texts(self, kind: str, reference: int, size: int) -> list[Any]:
        if self._in_event_mode:
            self._settle()
        references, one, count = (ctypes.c_uint * 1)(reference), ctypes.c_size_t(1), ctypes.c_size_t(size)
        if kind == "String":
            texts = (ctypes.c_char_p * size)()
            self.call("fmi3GetString", references, one, texts, count)
            return [(text or b"").decode("utf-8", "replace") for text in texts]
        sizes, places = (ctypes.c_size_t * size)(), (ctypes.c_void_p * size)()
        self.call("fmi3GetBinary", references, one, sizes, places, count)
        return [ctypes.string_at(place, n) if place else b"" for place, n in zip(places, sizes, strict=True)]

    def set_texts(self, kind: str, reference: int, values: Sequence[Any]) -> None:
        if self.started and reference in self._discrete and not self._in_event_mode:
            self._enter_event_mode()
        references, one, count = (ctypes.c_uint * 1)(reference), ctypes.c_size_t(1), ctypes.c_size_t(len(values))
        if kind == "String":
            texts = (ctypes.c_char_p * len(values))(*(value.encode() for value in values))
            self.call("fmi3SetString", references, one, texts, count)
        else:
            sizes = (ctypes.c_size_t * len(values))(*map(len, values))
            places = (ctypes.c_char_p * len(values))(*values)
            self.call("fmi3SetBinary", references, one, sizes, places, count)
