"""Run a system over time: macro steps of a schedule on an integer clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from simloop.master.clock import Clock
from simloop.master.component import Value
from simloop.master.errors import SimloopError, UnitError, WiringError
from simloop.master.pace import Pace
from simloop.master.recorder import Recorder
from simloop.master.result import Result
from simloop.master.schedule import Schedule, bind, bind_transfer, written_inputs
from simloop.master.system import System
from simloop.master.values import check_value

# What a step or a duration can be, s.
SHORTEST, LONGEST = Fraction(1, 10**9), Fraction(10**9)


@dataclass(frozen=True)
class TimedWrite:
    """Set an undriven number to a value in the first macro step that starts at or after `time` s.

    Of two writes at one time the later in the list wins.
    """

    time: Fraction
    name: str
    value: Value


def run(
    system: System,
    schedule: Schedule,
    *,
    step: Fraction | str | float,
    duration: Fraction | str | float,
    writes: Sequence[TimedWrite] = (),
    keep_going: Callable[[int], bool] = lambda done: True,
    pace: Pace | None = None,
) -> Result:
    """Initialise the system and run macro steps of `step` s until `duration` s.

    Time is counted in whole steps, so "1/2000" s never drifts. `keep_going` is asked before each macro step with the
    number of steps done; when it says no, the result is what was committed, marked incomplete. A unit that fails
    raises UnitError with that same result as its `result`. `pace` holds the run to the wall clock; when a strict one
    ends it, the result is what was committed, marked incomplete. A system runs once.
    """
    h, end = exact_seconds("step", step), exact_seconds("duration", duration)
    steps = int(end / h)
    if end != steps * h:
        raise SimloopError(f"the duration {end} s is not a whole number of steps of {h} s")
    clock = Clock()
    clock.h = float(h)
    actions = bind(system, schedule, clock)
    due = sorted(writes, key=lambda write: write.time)
    check_writes(system, due, schedule, end)
    recorder = Recorder(system, skip=written_inputs(schedule))
    _start(system)
    recorder.commit(0.0)
    done = written = 0
    on_time = pace is None or pace.wait(0.0)
    try:
        while on_time and done < steps and keep_going(done):
            clock.time = done * h.numerator / h.denominator
            while written < len(due) and due[written].time <= done * h:
                _write(system, due[written])
                written += 1
            for action in actions:
                action()
            done += 1
            recorder.commit(done * h.numerator / h.denominator)
            on_time = pace is None or pace.wait(done * h.numerator / h.denominator)
    except UnitError as error:
        error.result = recorder.result(complete=False)
        raise
    return recorder.result(complete=on_time and done == steps)


def exact_seconds(name: str, value: Fraction | str | float) -> Fraction:
    """A positive time as an exact fraction: "1/2000", "0.005", 7 or 2.5; a float is taken as it is printed."""
    try:
        seconds = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise SimloopError(f"the {name} is {value!r}; it must be a time in s such as 1/2000 or 0.005") from None
    if not SHORTEST <= seconds <= LONGEST:
        raise SimloopError(f"the {name} is {value}; it must be between {float(SHORTEST)} and {float(LONGEST)} s")
    return seconds


def check_writes(system: System, writes: Sequence[TimedWrite], schedule: Schedule, end: Fraction) -> None:
    """Each must be of a free input and of a value that it takes, and lie within the run."""
    free = set(system.undriven_inputs()) - set(written_inputs(schedule))
    for write in writes:
        component, names = system.resolve(write.name)
        if any((component.name, name) not in free for name in names):
            raise WiringError(f"{write.name} cannot be written at {float(write.time)} s: it is not a free input")
        if not 0 <= write.time < end:
            raise SimloopError(f"{write.name} cannot be written at {float(write.time)} s: the run is from 0 to {end} s")
        for name in names:
            check_value(component.name, component.variables[name], write.value)


def _write(system: System, write: TimedWrite) -> None:
    component, names = system.resolve(write.name)
    for name in names:
        component.set(name, write.value)


def _start(system: System) -> None:
    """Initialise every component, then let every input start with what drives it."""
    system.initialize()
    for connection in system.connections():
        for action in bind_transfer(system, connection):
            action()
