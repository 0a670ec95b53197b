"""Run a system over time: macro steps of an algorithm on an integer clock."""

from __future__ import annotations

import math
import time as wall
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from simloop.master.account import Account
from simloop.master.binding import Algorithm, Binding, Executor, innermost
from simloop.master.checkpoint import Checkpoint, Kept, signature
from simloop.master.component import Value
from simloop.master.errors import SimloopError, StepError, WiringError
from simloop.master.executor import COMPILED, CompiledFlat
from simloop.master.initialization import initialize
from simloop.master.pace import Pace
from simloop.master.recorder import Recorder
from simloop.master.result import Result
from simloop.master.schedule import Schedule, written_inputs
from simloop.master.seconds import exact_seconds
from simloop.master.system import System
from simloop.master.values import check_value

# A rest of less than this part of a macro step is none.
SLIVER = 1e-12


@dataclass(frozen=True)
class TimedWrite:
    """Set a free input or a tunable parameter to a value in the first macro step that starts at or after `time` s.

    Of two writes at one time the later in the list wins.
    """

    time: Fraction
    name: str
    value: Value


def run(
    system: System,
    algorithm: Algorithm | Schedule,
    *,
    step: Fraction | str | float,
    duration: Fraction | str | float,
    writes: Sequence[TimedWrite] = (),
    keep_going: Callable[[int], bool] | None = None,
    pace: Pace | None = None,
    account: Account | None = None,
    checkpoint: Checkpoint | None = None,
    resume: Path | None = None,
    executor: Executor = COMPILED,
) -> Result:
    """Initialise the system and run macro steps of `step` s until `duration` s.

    Time is counted in whole steps, so "1/2000" s never drifts; an algorithm that steps as it likes meets every one of
    them. `keep_going` is asked before each macro step with the number of steps done; when it says no, the result is
    what was committed, marked incomplete. A step that cannot be made raises StepError with that as its `result`.
    `pace` holds the run to the wall clock; when a strict one ends it, the result is what was committed, marked
    incomplete. A system runs once. `account` is filled on the way. `checkpoint` writes a file on the way, from which a
    run of the same system, algorithm and writes, in another process, goes on: `resume`. `executor` carries out flat
    schedules: in C where that can be, or INTERPRETED; the results are the same to the last bit.
    """
    h, end = exact_seconds("step", step), exact_seconds("duration", duration)
    steps = int(end / h)
    if end != steps * h:
        raise SimloopError(f"the duration {end} s is not a whole number of steps of {h} s")
    loop = _Loop(system, algorithm, h, Account() if account is None else account, executor)
    loop.plan(writes, end)
    mark = -1 if checkpoint is None else checkpoint.check(loop.kept, h, steps)
    loop.start(resume, steps)
    on_time = pace is None or pace.wait(loop.time)
    try:
        while on_time and loop.done < steps and (keep_going is None or keep_going(loop.done)):
            one_by_one = pace is not None or keep_going is not None
            loop.go_on(1 if one_by_one else (mark if loop.done < mark else steps) - loop.done)
            on_time = pace is None or pace.wait(loop.time)
            if loop.done == mark and checkpoint is not None:
                loop.kept.write(checkpoint.path, loop.done)
    except StepError as error:
        error.result = loop.result(complete=False)
        raise
    return loop.result(complete=on_time and loop.done == steps)


class _Loop:
    """A run under way: `done` macro steps are committed."""

    def __init__(
        self, system: System, algorithm: Algorithm | Schedule, h: Fraction, account: Account, executor: Executor
    ) -> None:
        self._system, self._h, self._account = system, h, account
        self._length = float(h)
        self._binding = Binding(system, account, executor)
        stepper = self._binding.bind(algorithm)
        self._advance = stepper.advance
        self._last, self._clock = tuple(self._binding.last), self._binding.clock
        self._skip = written_inputs(innermost(algorithm))
        self._recorder = Recorder(system, skip=self._skip)
        self._recording = stepper.recording(self._recorder, h) if isinstance(stepper, CompiledFlat) else None
        self._writes: list[TimedWrite] = []
        self._written = self.done = 0
        self.kept = Kept(signature(system, algorithm, h), system, self._binding.memories, self._recorder, account)

    def plan(self, writes: Sequence[TimedWrite], end: Fraction) -> None:
        self._writes = sorted(writes, key=lambda write: write.time)
        check_writes(self._system, self._writes, self._skip, end)

    def start(self, resume: Path | None, steps: int) -> None:
        saved = None if resume is None else self.kept.read(resume, steps)
        initialize(self._system)
        self._binding.restart(0.0)
        self._begin = wall.perf_counter()
        if saved is None:
            self._recorder.commit(0.0)
            return
        self.done = self.kept.restore(saved)
        self._begin -= self._account.seconds
        while self._written < len(self._writes) and self._next_write_is_due(self.done - 1):
            self._written += 1

    @property
    def time(self) -> float:
        """Up to where steps are committed, s."""
        return self.done * self._h.numerator / self._h.denominator

    def go_on(self, most: int) -> None:
        """Make one macro step or, where nothing has to be decided between, several, `most` or fewer."""
        while self._written < len(self._writes) and self._next_write_is_due(self.done):
            _write(self._system, self._writes[self._written])
            self._written += 1
        if self._recording is None:
            self._macro_step()
            return
        if self._written < len(self._writes):
            most = min(most, math.ceil(self._writes[self._written].time / self._h) - self.done)
        try:
            self._recording.run(self.done, most)
        finally:
            self.done += self._recording.made
            self._account.commits += self._recording.made

    def _macro_step(self) -> None:
        begin, length = self.time, self._length
        came = self._advance(begin, length)
        if self._last:
            self._finish(begin, came)
        if came < length:
            self._make_the_rest(begin, came)
        self.done += 1
        self._account.commits += 1
        self._recorder.commit(self.time)

    def _make_the_rest(self, begin: float, came: float) -> None:
        """The rest of a macro step, of which the part that is done has not been recorded."""
        length = self._length
        while length - came > SLIVER * length:
            self._account.commits += 1
            self._recorder.commit(begin + came)
            part = self._advance(begin + came, length - came)
            if self._last:
                self._finish(begin + came, part)
            came += part

    def _finish(self, time: float, h: float) -> None:
        """Feed and step what cannot be rolled back, now that the step stands."""
        self._clock.time, self._clock.h = time, h
        for action in self._last:
            action()

    def _next_write_is_due(self, step: int) -> bool:
        return self._writes[self._written].time <= step * self._h

    def result(self, *, complete: bool) -> Result:
        self._account.seconds = wall.perf_counter() - self._begin
        return self._recorder.result(self._account, complete=complete)


def check_writes(
    system: System, writes: Sequence[TimedWrite], scheduled: Sequence[tuple[str, str]], end: Fraction
) -> None:
    """Each must be of a free input or a tunable parameter and of a value that it takes, and lie within the run."""
    for write in writes:
        component, names = system.resolve_writable(write.name)
        if any((component.name, name) in scheduled for name in names):
            raise WiringError(f"{write.name} is written by the schedule, nothing else can write it")
        if not 0 <= write.time < end:
            raise SimloopError(f"{write.name} cannot be written at {float(write.time)} s: the run is from 0 to {end} s")
        for name in names:
            check_value(component.name, component.variables[name], write.value)


def _write(system: System, write: TimedWrite) -> None:
    component, names = system.resolve(write.name)
    for name in names:
        component.set(name, write.value)
