"""What happened in a run and when: what was written, what failed, what touched, which steps were rejected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from simloop.master import Result
from simloop.models.arm import Arm
from simloop.models.clearance import Clearance
from simloop.models.faults import Fault
from simloop.studio.scenario import Marker

# More events of one kind than this are told as a number: a rattling contact would hide all else.
MOST_OF_A_KIND = 40
# Bodies this near touch, and those that touched part when they are this far, m. Bodies that rest on each other stay
# within micrometres, now in and now out; a border that is crossed once each way does not tell of that.
TOUCH, PART = 1e-5, 1e-4
_WORDS = {
    Fault.NONE: "is well again",
    Fault.LOOSE: "is loose",
    Fault.FROZEN: "is frozen",
    Fault.WEAK: "is weak",
    Fault.STUCK: "has a sensor that is stuck",
    Fault.NOISY: "has a sensor that is noisy",
    Fault.LOST: "has lost a measurement",
}


@dataclass(frozen=True)
class Event:
    """An instant, s, its kind (mark, write, fault, contact, event or rejected) and its cause in words."""

    time: float
    kind: str
    text: str


def events_of(result: Result, writes: Iterable[Mapping[str, Any]], markers: Iterable[Marker], arm: Arm) -> list[Event]:
    """In order of time; `writes` are those of run.json, `arm` is the robot in its scene."""
    groups = (
        [Event(marker.time, "mark", marker.label) for marker in markers],
        [
            Event(write["time"], "write", _describe_write(write["name"], write["value"], arm.joint_names))
            for write in writes
            if not write["name"].startswith("plant.fault")
        ],
        list(_faults(result, arm.joint_names)),
        sorted((*_contacts(result, arm), *_impacts(result)), key=lambda event: event.time),
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


def _describe_write(name: str, value: Any, joints: Sequence[str]) -> str:
    said = f"{name} set to {value}"
    place = re.fullmatch(r"\w+\.fault(?:\[(\d+)\])?", name)
    # A number that means no fault has ended the run; the report tells of that.
    if place is None or value not in set(Fault):
        return said
    joint = "every joint" if place[1] is None else joints[int(place[1]) - 1]
    return f"{said}: {joint} {_WORDS[Fault(value)]}"


def _faults(result: Result, joints: Sequence[str]) -> Iterator[Event]:
    """An input is recorded at the end of the step that it was set in."""
    for i, joint in enumerate(joints):
        values = np.asarray(result.columns.get(f"plant.fault[{i + 1}]", ()), dtype=int)
        for k in np.flatnonzero(np.diff(values)):
            yield Event(float(result["time"][k]), "fault", f"{joint} {_WORDS[Fault(int(values[k + 1]))]}")


def _contacts(result: Result, arm: Arm) -> Iterator[Event]:
    """Of every pair of bodies, by the recorded positions: the detector tells of one pair at a time, the nearest."""
    if "collision.distance" not in result.columns:
        return
    clearance, q, touching = Clearance(arm), result.vector("plant.q_true"), set[int]()
    near = np.asarray(result["collision.distance"]) <= PART
    # Where nothing is near now nor a row ago, no pair begins or ceases to touch.
    for k in np.flatnonzero(near | np.append(False, near[:-1])):
        found = dict(zip(*clearance.near(q[k], PART), strict=True)) if near[k] else {}
        now = {int(pair) for pair, distance in found.items() if distance <= TOUCH or pair in touching}
        for words, pairs in (("part", touching - now), ("touch" if k else "touch from the start", now - touching)):
            for pair in sorted(pairs):
                a, b = clearance.names[pair]
                yield Event(float(result["time"][k]), "contact", f"{a} and {b} {words}")
        touching = now


def _impacts(result: Result) -> Iterator[Event]:
    if "plant.impacts" in result.columns:
        impacts = np.asarray(result["plant.impacts"], dtype=int)
        for k in np.flatnonzero(np.diff(impacts) > 0):
            yield Event(float(result["plant.impact_time"][k + 1]), "contact", f"impact {impacts[k + 1]}")
