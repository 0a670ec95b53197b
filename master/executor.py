"""The compiled executor: macro steps of a flat schedule over FMUs, made and recorded in C, to the same bits.

What it cannot make, text in a connection or a component that is no FMU, is left to the interpreted one.
"""

from __future__ import annotations

import time as wall
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from simloop.master._executor import ffi, lib
from simloop.master.account import Account, Counts
from simloop.master.binding import INTERPRETED, Binding, Stepper
from simloop.master.calls import Call, Calls, can_make, can_move
from simloop.master.component import Vector
from simloop.master.errors import StepError
from simloop.master.recorder import Recorder
from simloop.master.schedule import Operation, Restore, Save, Schedule, Step
from simloop.master.system import System

# A call of the compiled loop should come back within this many seconds, so that Ctrl-C is heard.
PATIENCE = 0.05
# No more macro steps in one call.
MOST_STEPS = 1024
# Whole numbers below this are doubles too.
EXACT = 2**53


class Compiled:
    """In C where that can be. A timed account looks at the clock around every call, so it is for the interpreter."""

    def bind(self, schedule: Schedule, binding: Binding) -> Stepper:
        if binding.account.timed or not all(can_make(binding.system, operation) for operation in schedule):
            return INTERPRETED.bind(schedule, binding)
        return CompiledFlat(schedule, binding)


COMPILED = Compiled()


class CompiledFlat:
    """A schedule, in one call."""

    def __init__(self, schedule: Schedule, binding: Binding) -> None:
        self._schedule, self._system, self._account = schedule, binding.system, binding.account
        self._clock = binding.clock
        self._loop = CompiledLoop(self._schedule, self._system, self._account)
        self._time = np.zeros(1)
        self._loop.c.times = ffi.cast("double *", self._time.ctypes.data)

    def advance(self, time: float, limit: float) -> float:
        self._clock.time = self._time[0] = time
        self._clock.h = limit
        self._loop.run(1, limit)
        return limit

    def recording(self, recorder: Recorder, h: Fraction) -> Recording | None:
        """Macro steps of h s with their rows, where the recorder's reads can be compiled too."""
        if not all(can_move(self._system.components[name], variables) for name, variables, _ in recorder.reads):
            return None
        return Recording(CompiledLoop(self._schedule, self._system, self._account, recorder), recorder, h)


class CompiledLoop:
    """A schedule and what records its steps, as the C structure `c`."""

    def __init__(self, schedule: Schedule, system: System, account: Account, recorder: Recorder | None = None) -> None:
        calls = Calls(system)
        for operation in schedule:
            calls.add(operation)
        schedule_count = len(calls.made)
        if recorder is not None:
            for name, variables, place in recorder.reads:
                calls.get(name, variables, place)
        self._schedule, self._account = schedule, account
        self._calls: Sequence[Call] = tuple(calls.made)
        self._units = tuple(calls.units.values())
        self._counts = [(account.of(name), counts) for name, counts in tally(schedule).items()]
        self._array = ffi.new("executor_call[]", [call.fields for call in self._calls])
        counts = {"schedule_count": schedule_count, "count": len(self._calls)}
        self.c = ffi.new("executor *", {"calls": self._array, **counts})

    def run(self, steps: int, h: float) -> None:
        """Make so many macro steps. `c.done` are those that were, when one cannot be."""
        c = self.c
        c.done = c.next = 0
        c.h = h
        try:
            while (reason := self._go(steps)) != lib.EXECUTOR_DONE:
                self._calls[c.next].judge(reason, c.unit_status, h)
                c.next += 1
        except StepError:
            for name, counts in tally(self._begun()).items():
                self._account.of(name).add(counts, 1)
            raise
        finally:
            for total, each in self._counts:
                total.add(each, c.done)

    def _go(self, steps: int) -> int:
        for instance, time in self._units:
            if instance.dead:
                instance.refuse(f"{instance.PREFIX}DoStep")
            time[0] = instance.time
        reason: int = lib.executor_run(self.c, steps)
        for instance, time in self._units:
            instance.time = time[0]
        return reason

    def _begun(self) -> Schedule:
        """What of the macro step that failed counts: a step when it is begun, all else when it is done."""
        failed = self._calls[self.c.next].operation
        begun = self._schedule[failed : failed + 1]
        return self._schedule[:failed] + tuple(operation for operation in begun if isinstance(operation, Step))


class Recording:
    """Macro steps of h s with a row each. `made` are those of the last run, the one whose row failed included."""

    def __init__(self, loop: CompiledLoop, recorder: Recorder, h: Fraction) -> None:
        self._loop, self._recorder, self._h, self._length = loop, recorder, h, float(h)
        self._times = np.zeros(MOST_STEPS + 1)
        self._at_once = 1
        self.made = 0
        loop.c.times = ffi.cast("double *", self._times.ctypes.data)
        loop.c.row = ffi.cast("double *", recorder.row.ctypes.data)
        loop.c.row_length = len(recorder.row)

    def run(self, done: int, most: int) -> None:
        """Make some macro steps, `most` or fewer, after `done` of them."""
        c, rows = self._loop.c, self._recorder.space()
        steps = min(most, len(rows), self._at_once)
        self._times[: steps + 1] = self._instants(done, steps)
        c.rows = ffi.cast("double *", rows.ctypes.data)
        begin = wall.perf_counter()
        try:
            self._loop.run(steps, self._length)
        finally:
            self._recorder.filled(c.done)
            self.made = c.done + (c.next >= c.schedule_count)
        spent = wall.perf_counter() - begin
        if spent > PATIENCE:
            self._at_once = max(1, self._at_once // 2)
        elif steps == self._at_once and 4.0 * spent < PATIENCE:
            self._at_once = min(MOST_STEPS, 2 * self._at_once)

    def _instants(self, done: int, steps: int) -> Vector:
        """When the next macro steps begin, and the last ends: each the double nearest to the exact time."""
        numerator, denominator = self._h.numerator, self._h.denominator
        if max((done + steps) * numerator, denominator) < EXACT:
            exact: Vector = np.arange(done, done + steps + 1, dtype=np.float64) * numerator / denominator
            return exact
        return np.array([step * numerator / denominator for step in range(done, done + steps + 1)])


def tally(operations: Sequence[Operation]) -> dict[str, Counts]:
    """What operations add to the account, by component."""
    found: dict[str, Counts] = {}
    standing: dict[str, int] = {}
    for operation in operations:
        match operation:
            case Step(name):
                found.setdefault(name, Counts()).steps += 1
            case Save(name):
                counts = found.setdefault(name, Counts())
                counts.saves += 1
                standing[name] = counts.standing
            case Restore(name):
                found.setdefault(name, Counts()).roll_back(standing[name])
    return found
