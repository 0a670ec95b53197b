"""Events across components: found to a tolerance by rolling all of them back, answered by an action, gone on from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from simloop.master.account import Incident
from simloop.master.binding import Algorithm, Binding, Stepper, advance_fully
from simloop.master.component import Value, Vector
from simloop.master.errors import SimloopError, WiringError, ZenoError
from simloop.master.schedule import Schedule, check_rollback
from simloop.master.system import System

# An event that leaves less than this part of a step is at its end.
SLIVER = 1e-12
# Trials that bring any step to any tolerance a double can tell, every other one being a halving.
MOST_TRIALS = 200
# So many events in a row, each so many tolerances or less after the one before, are piling up.
ZENO_COUNT, ZENO_SPAN = 20, 1000.0


class Values:
    """What an action may read and write: `values["ball.v"]`, `values["ball.kick"] = 1.0`. Only a tunable parameter or
    an input that no connection drives can be written."""

    def __init__(self, system: System) -> None:
        self._system = system

    def __getitem__(self, name: str) -> Value:
        component, (variable, *others) = self._system.resolve(name)
        if others:
            raise WiringError(f"{name} has {len(others) + 1} elements; name one, such as {component.name}.{variable}")
        return component.get(variable)

    def __setitem__(self, name: str, value: Value) -> None:
        component, names = self._system.resolve_writable(name)
        for each in names:
            component.set(each, value)


@dataclass(frozen=True)
class Event:
    """Happens when `of`, given the outputs `reads`, falls below zero or, where it gives a bool, becomes true.

    It is found within `tolerance` s and lies on the far side. A condition that comes and goes within one step is not
    seen. `then` is called with the system stopped there; the run goes on from what it left.
    """

    name: str
    reads: tuple[str, ...]
    of: Callable[..., float | bool]
    then: Callable[[Values], None] = lambda values: None
    tolerance: float = 1e-9

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < math.inf:
            raise ValueError(
                f"the tolerance of {self.name} is {self.tolerance} s; it must be greater than 0 and finite"
            )


@dataclass(frozen=True)
class Located:
    """Steps of `inner` that end where an event happens. It goes around all other algorithms; where a unit may refuse a
    step, Retry or Adaptive goes inside."""

    inner: Algorithm | Schedule
    events: Sequence[Event]

    def bind(self, binding: Binding) -> Stepper:
        inner = binding.bind_inner(self.inner)
        return _Locating(tuple(self.events), inner, binding)


def refuse_events(inner: Algorithm | Schedule) -> None:
    """An action cannot be inside what may be undone."""
    if isinstance(inner, Located):
        raise ValueError("events go around the other algorithms, not inside them, such as Located(Adaptive(…), …)")


class _Locating:
    """`_memory`, a row an event: its condition's value now, whether it has just happened, when it did last, how often
    it has come in quick succession."""

    def __init__(self, events: tuple[Event, ...], inner: Stepper, binding: Binding) -> None:
        self._events, self._inner, self._binding = events, inner, binding
        self._conditions = [_Condition(event, binding) for event in events]
        self._start = binding.snapshot()
        self._memory = np.zeros((len(events), 4))
        self._memory[:, 2] = -math.inf
        binding.remember(self._memory, self._look_anew)
        self._values = Values(binding.system)

    def advance(self, time: float, limit: float) -> float:
        self._start.save()
        came = self._inner.advance(time, limit)
        before, ends = self._memory[:, 0].copy(), self._look()
        came, ends = self._clear(time, came, before, ends)
        happening = (before >= 0.0) & (ends < 0.0)
        if happening.any():
            came, ends = self._bracket(time, came, before, ends, happening)
            happening &= ends < 0.0
        self._memory[:, 0] = ends
        self._memory[:, 1] = 0.0
        if happening.any():
            self._happen(time + came, happening)
        return came

    def _look(self) -> Vector:
        return np.array([condition.value() for condition in self._conditions])

    def _look_anew(self, time: float) -> None:
        self._memory[:, 0] = self._look()

    def _again(self, time: float, h: float) -> Vector:
        self._start.restore()
        advance_fully(self._inner, time, h)
        return self._look()

    def _clear(self, time: float, came: float, before: Vector, ends: Vector) -> tuple[float, Vector]:
        """After an event whose condition still holds, step only as far as it takes to see it end, lest it comes again
        within the step unseen."""
        stuck = (self._memory[:, 1] > 0.0) & (before < 0.0) & (ends < 0.0)
        if not stuck.any():
            return came, ends
        h, tolerance = came, min(event.tolerance for event in self._events)
        while h > tolerance:
            h *= 0.5
            seen = self._again(time, h)
            if (seen[stuck] >= 0.0).any():
                return h, seen
        return came, self._again(time, came)

    def _bracket(
        self, time: float, came: float, left: Vector, right: Vector, happening: NDArray[np.bool_]
    ) -> tuple[float, Vector]:
        """Step again to just after the first event; how far that is, and the conditions there."""
        chosen = [event for event, happens in zip(self._events, happening, strict=True) if happens]
        names = ", ".join(event.name for event in chosen)
        self._binding.account.reject(time, came, f"{names} happens within it")
        tolerance = max(min(event.tolerance for event in chosen), 2.0 * math.ulp(time + came))
        before, after, at, watched = 0.0, came, came, happening.copy()
        for trial in range(MOST_TRIALS):
            if after - before <= tolerance:
                break
            at = _guess(before, after, left[watched], right[watched], 0.5 * tolerance if trial % 2 == 0 else None)
            values = self._again(time, at)
            if (values[watched] < 0.0).any():
                after, right = at, values
                watched &= values < 0.0
            else:
                before, left = at, values
        if came - after <= SLIVER * came:
            after = came
        return after, right if at == after else self._again(time, after)

    def _happen(self, time: float, happening: NDArray[np.bool_]) -> None:
        for i in np.flatnonzero(happening):
            event, row = self._events[i], self._memory[i]
            quick = time - row[2] <= ZENO_SPAN * event.tolerance
            row[1:] = 1.0, time, row[3] + 1.0 if quick else 0.0
            self._binding.account.events.append(Incident(time, 0.0, event.name))
            if row[3] >= ZENO_COUNT:
                raise ZenoError(event.name, time, ZENO_COUNT, ZENO_SPAN * event.tolerance)
            event.then(self._values)
        self._binding.restart(time)


class _Condition:
    """An event's condition as a number: below zero when it holds."""

    def __init__(self, event: Event, binding: Binding) -> None:
        self._of, self._name = event.of, event.name
        self._numbers: list[Vector] = []
        self._reads = []
        for name in event.reads:
            component, variables = binding.system.resolve(name)
            check_rollback(binding.system, component.name)
            number = np.zeros(len(variables))
            self._reads.append(binding.reader(component.name, tuple(variables), number))
            self._numbers.append(number)

    def value(self) -> float:
        for read in self._reads:
            read()
        arguments = [number[0] if len(number) == 1 else number for number in self._numbers]
        value = self._of(*arguments)
        if isinstance(value, bool | np.bool_):
            return -1.0 if value else 1.0
        if math.isnan(value):
            raise SimloopError(f"the condition of the event {self._name} is not a number")
        return float(value)


def _guess(before: float, after: float, left: Vector, right: Vector, aside: float | None) -> float:
    """The middle or, with `aside`, just beside where the first condition crosses zero on a straight line: on its far
    side from the nearer end, so that a good guess closes the bracket."""
    if aside is None:
        return 0.5 * (before + after)
    crossing = before + (after - before) * float(np.min(left / (left - right)))
    crossing += aside if crossing - before < after - crossing else -aside
    return min(max(crossing, before + aside), after - aside)
