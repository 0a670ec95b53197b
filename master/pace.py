"""Pace a run by the wall clock: each instant of the simulation has a deadline of its own."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from simloop.master.errors import SimloopError

# What a pace can be: from a hundred times slower than real time to a hundred times faster.
SLOWEST, FASTEST = 0.01, 100.0
# A sleep is asked to end this long before its deadline, s, as an operating system ends it late; the rest is watched.
MARGIN = 2e-4
# The longest single sleep, s: so soon a run that is told to stop does.
NAP = 0.1
# Edges of the histogram of lateness, s; the last bin has no end.
EDGES = (0.0, 1e-6, 1e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 1e-1, 1.0)


class WallClock(Protocol):
    """A clock that never goes back, s, and a sleep that may take longer than asked."""

    def now(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The computer's own."""

    def now(self) -> float:
        return time.perf_counter()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


@dataclass(frozen=True)
class Lateness:
    """How late a paced run was, s of wall time, over all its deadlines.

    `missed` counts the steps that were not done by their deadline. `median` and `worst` are of how long after each
    deadline the run went on, which has the operating system's part in it too; so has `counts`, by the bins of EDGES.
    """

    deadlines: int
    missed: int
    median: float
    worst: float
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Miss:
    """A deadline that a step missed: that of simulation time `time`, s, by `late` s of wall time."""

    time: float
    late: float


class Pace:
    """Holds a run back to `rate` seconds of simulation in each second of wall time.

    Deadlines are counted from the first wait, never from each other, so that lateness does not add up: after a step
    that took too long the next ones follow at once until the run is on time again. With `strict` the first deadline
    that is missed ends the run. `keep_waiting` is asked before each nap. An object paces one run.
    """

    def __init__(
        self,
        rate: float = 1.0,
        *,
        strict: bool = False,
        clock: WallClock | None = None,
        keep_waiting: Callable[[], bool] = lambda: True,
    ) -> None:
        if not SLOWEST <= rate <= FASTEST:
            raise SimloopError(
                f"the pace is {rate:g}; it must be between {SLOWEST:g} and {FASTEST:g}, 1 being real time"
            )
        self.rate, self.strict = rate, strict
        self._clock: WallClock = clock or SystemClock()
        self._keep_waiting = keep_waiting
        self._begin: float | None = None
        self._late = array("d")
        self._missed = 0
        self.ended_by: Miss | None = None
        """What ended a strict run."""

    def wait(self, time: float) -> bool:
        """Wait for the wall time of simulation time `time`, s; False when the run must end there."""
        now = self._clock.now()
        if self._begin is None:
            self._begin = now - time / self.rate
            return True
        deadline = self._begin + time / self.rate
        missed = now > deadline
        while now < deadline:
            if not self._keep_waiting():
                return True
            if deadline - now > MARGIN:
                self._clock.sleep(min(deadline - now - MARGIN, NAP))
            now = self._clock.now()
        self._late.append(now - deadline)
        self._missed += missed
        if missed and self.strict:
            self.ended_by = Miss(time, now - deadline)
        return self.ended_by is None

    def lateness(self) -> Lateness:
        late = np.array(self._late)
        if not len(late):
            return Lateness(0, 0, 0.0, 0.0, (0,) * len(EDGES))
        counts = np.histogram(late, (*EDGES, np.inf))[0]
        return Lateness(len(late), self._missed, float(np.median(late)), float(late.max()), tuple(map(int, counts)))
