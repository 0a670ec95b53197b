"""Retry: a step that a unit does not take, or a loop that is not solved over it, is tried again, smaller."""

from __future__ import annotations

from dataclasses import dataclass

from simloop.master.binding import Algorithm, Binding, Stepper
from simloop.master.errors import LoopError, StepDiscardedError, StepTooSmallError
from simloop.master.events import refuse_events
from simloop.master.schedule import Schedule
from simloop.master.snapshot import Snapshot

# A step that can be tried again shorter.
REFUSALS = (StepDiscardedError, LoopError)


# A unit that came farther than this part of a step may mean all of it and miss it by a rounding: it is asked for half.
ALMOST = 1.0 - 1e-9


def shorter(time: float, h: float, refusal: StepDiscardedError | LoopError) -> float:
    """How long the next try from `time` should be, s, after one of h s: as far as the unit came, or half."""
    if isinstance(refusal, StepDiscardedError) and refusal.time is not None:
        came = refusal.time + refusal.done - time
        if 0.0 < came < ALMOST * h:
            return came
    return 0.5 * h


@dataclass(frozen=True)
class Retry:
    """Steps down to `smallest` s are tried. Everything is saved before each step and must be able to be restored; what
    cannot be is stepped last, once the others have come through."""

    inner: Algorithm | Schedule
    smallest: float = 1e-9

    def __post_init__(self) -> None:
        refuse_events(self.inner)
        if not self.smallest > 0.0:
            raise ValueError(f"the smallest step is {self.smallest} s; it must be greater than 0")

    def bind(self, binding: Binding) -> Stepper:
        inner = binding.bind_inner(self.inner)
        return _Retrying(self.smallest, inner, binding)


class _Retrying:
    def __init__(self, smallest: float, inner: Stepper, binding: Binding) -> None:
        self._smallest, self._inner = smallest, inner
        self._account = binding.account
        self._start: Snapshot = binding.snapshot()

    def advance(self, time: float, limit: float) -> float:
        self._start.save()
        h = limit
        while True:
            try:
                return self._inner.advance(time, h)
            except REFUSALS as refusal:
                self._account.reject(time, h, str(refusal))
                self._start.restore()
                h = shorter(time, h, refusal)
                if h < self._smallest:
                    raise StepTooSmallError(time, h, str(refusal)) from refusal
