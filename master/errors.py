"""What can go wrong in a co-simulation, with its data attached."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simloop.master.result import Result


class SimloopError(Exception):
    """The root of simloop's errors. Its text is one sentence for a person."""


class NameNotFoundError(SimloopError):
    """A name that does not exist; the text offers the nearest that do."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        choices = sorted(known)
        near = difflib.get_close_matches(name, choices, n=3, cutoff=0.4) or choices[:8]
        hint = f"did you mean {' or '.join(near)}?" if near else "there is none"
        super().__init__(f"there is no {kind} {name!r}; {hint}")
        self.name = name
        self.near = near


class WiringError(SimloopError):
    """Two ends that cannot be joined, an input driven twice, or one not driven at all."""


class CannotRollBackError(SimloopError):
    """A schedule that would undo a step of a component that cannot be restored."""

    def __init__(self, component: str, reason: str) -> None:
        super().__init__(f"this schedule rolls back {component!r}, which cannot be rolled back: {reason}")
        self.component = component


# The FMI functions that fail most, in words; those of both versions are named alike after "fmi2" or "fmi3".
_CALLS = {
    "Instantiate": "loading",
    "EnterInitializationMode": "its start",
    "ExitInitializationMode": "its start",
    "DoStep": "a step",
}


class UnitError(SimloopError):
    """A unit that failed: which, when, in what call, and what it said.

    `result` is what was committed before, when a run had begun.
    """

    result: Result | None = None

    def __init__(self, component: str, call: str, message: str, time: float | None = None) -> None:
        when = "" if time is None else f" at {time:.9g} s"
        words = _CALLS.get(call.removeprefix("fmi2").removeprefix("fmi3"), call)
        super().__init__(f"{component} failed in {words}{when}: {message}")
        self.component = component
        self.call = call
        self.time = time
