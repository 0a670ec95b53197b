"""What happened in a run and when: what was written, what failed, what touched, which steps were rejected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from simloop.master import Result
from simloop.models.faults import Fault
from simloop.studio.scenario import Marker

# More events of one kind than this are told as a number: a rattling contact would hide all else.
MOST_OF_A_KIND = 40


@dataclass(frozen=True)
class Event:
    """An instant, s, its kind (mark, write, fault, contact, event or rejected) and its cause in words."""

    time: float
    kind: str
    text: str


def events_of(result: Result, writes: Iterable[Mapping[str, Any]], markers: Iterable[Marker]) -> list[Event]:
    """In order of time; `writes` are those of run.json."""
    groups = (
        [Event(marker.time, "mark", marker.label) for marker in markers],
        [
            Event(write["time"], "write", f"{write['name']} set to {write['value']}")
            for write in writes
            if not write["name"].startswith("plant.fault")
        ],
        list(_faults(result)),
        list(_contacts(result)),
        [Event(each.time, "event", each.cause) for each in result.account.events if not _is_touch(each.cause)],
        [
            Event(each.time, "rejected", f"a step of {each.h:.3g} s was rejected: {each.cause}")
            for each in result.account.rejected
        ],
    )
    return sorted((event for group in groups for event in _fewer(group)), key=lambda event: event.time)


def _is_touch(cause: str) -> bool:
    """Touches that the master locates are impacts of the plant, which has told of them already."""
    return cause.startswith("plant.gap ")


def _fewer(events: list[Event]) -> list[Event]:
    if len(events) <= MOST_OF_A_KIND:
        return events
    rest = events[MOST_OF_A_KIND - 1 :]
    last = Event(rest[0].time, rest[0].kind, f"{rest[0].text}, and {len(rest) - 1} more of this kind until the end")
    return [*events[: MOST_OF_A_KIND - 1], last]


def _faults(result: Result) -> Iterator[Event]:
    """An input is recorded at the end of the step that it was set in."""
    names = sorted(name for name in result.columns if name.startswith("plant.fault["))
    for name in names:
        values = np.asarray(result[name], dtype=int)
        joint = name.removeprefix("plant.fault")
        for k in np.flatnonzero(np.diff(values)):
            fault = Fault(int(values[k + 1])).name.lower()
            words = f"joint {joint} is well again" if fault == "none" else f"joint {joint} is {fault}"
            yield Event(float(result["time"][k]), "fault", words)


def _contacts(result: Result) -> Iterator[Event]:
    if "collision.contact" in result.columns:
        touching = np.asarray(result["collision.contact"], dtype=int)
        for k in np.flatnonzero(np.diff(touching)):
            pair = _pair(result, int(k) + 1 if touching[k + 1] else int(k))
            words = "bodies touch" if touching[k + 1] else "bodies part"
            yield Event(float(result["time"][k + 1]), "contact", words + pair)
    if "plant.impacts" in result.columns:
        impacts = np.asarray(result["plant.impacts"], dtype=int)
        for k in np.flatnonzero(np.diff(impacts) > 0):
            yield Event(float(result["plant.impact_time"][k + 1]), "contact", f"impact {impacts[k + 1]}")


def _pair(result: Result, row: int) -> str:
    return f" (pair {int(result['collision.pair'][row])})" if "collision.pair" in result.columns else ""
