"""What can go wrong in a co-simulation, with its data attached."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simloop.master.result import Result


class SimloopError(Exception):
    """The root of simloop's errors. Its text is one sentence for a person."""


# More names than these are too many for a sentence; a few then stand for all.
_MOST_NAMES, _SOME_NAMES = 30, 8


class NameNotFoundError(SimloopError):
    """A name that does not exist; the text offers the `near` ones that do, or where none is near, all."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        choices = sorted(known)
        near = difflib.get_close_matches(name, choices, n=3)
        near = near or [choice for choice in choices if name and name in choice][:3]
        hint = f"did you mean {' or '.join(near)}?" if near else _list(choices)
        super().__init__(f"there is no {kind} {name!r}; {hint}")
        self.name = name
        self.near = near


def _list(names: Sequence[str]) -> str:
    if len(names) < 2:
        return f"there is only {names[0]}" if names else "there is none"
    if len(names) > _MOST_NAMES:
        return f"there are {len(names)}, such as {', '.join(names[:_SOME_NAMES])}"
    return f"there are {', '.join(names[:-1])} and {names[-1]}"


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


class StepError(SimloopError):
    """A step that could not be made. `time` is where it began, s; `result` is what was committed before, when a run
    had begun."""

    result: Result | None = None
    time: float | None = None


class UnitError(StepError):
    """A unit that failed: which, when, in what call, and what it said."""

    def __init__(self, component: str, call: str, message: str, time: float | None = None) -> None:
        when = "" if time is None else f" at {time:.9g} s"
        words = _CALLS.get(call.removeprefix("fmi2").removeprefix("fmi3"), call)
        super().__init__(f"{component} failed in {words}{when}: {message}")
        self.component = component
        self.call = call
        self.time = time


class StepDiscardedError(UnitError):
    """A unit that came only `done` s of a step of `h` s. A smaller step may succeed, where all can be rolled back."""

    def __init__(self, component: str, time: float, h: float, done: float) -> None:
        message = f"it came {done:.9g} s far of {h:.9g} s; Retry around the algorithm tries a smaller step"
        super().__init__(component, "a step", message, time)
        self.h = h
        self.done = done


class LoopError(StepError):
    """A loop of connections whose values were not found: which, and the largest `residual` that is left, after as many
    `iterations`."""

    def __init__(self, connections: Sequence[str], time: float, residual: float, iterations: int, verdict: str) -> None:
        super().__init__(
            f"the loop over {', '.join(connections)} {verdict} at {time:.9g} s: after {iterations} iterations the "
            f"residual is {residual:.3g}"
        )
        self.connections = tuple(connections)
        self.time = time
        self.residual = residual
        self.iterations = iterations


class StepTooSmallError(StepError):
    """A step that was rejected down to the smallest that is allowed; `cause` is why the last one was."""

    def __init__(self, time: float, h: float, cause: str) -> None:
        super().__init__(f"no step from {time:.9g} s is good, down to one of {h:.3g} s: {cause}")
        self.time = time
        self.h = h
        self.cause = cause


class ZenoError(StepError):
    """An event that comes again in ever shorter time, so that time cannot go on."""

    def __init__(self, event: str, time: float, count: int, span: float) -> None:
        super().__init__(
            f"{event} happened {count} times in a row, each within {span:.3g} s of the one before, until {time:.9g} s: "
            "the events pile up there, and the run cannot get past"
        )
        self.event = event
        self.time = time
        self.count = count
        self.span = span
