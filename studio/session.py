"""What a person did in a live run, as a file: played again it gives the same run to the last bit, with no browser."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from simloop.master import SimloopError, TimedWrite
from simloop.master.component import Value
from simloop.master.seconds import exact_seconds
from simloop.models.robot import Robot
from simloop.studio.request import BY_HAND, FAILED, INTERRUPTED, Cut

SESSION = "operator.json"
# What must stand in it, and as what.
_KINDS: Mapping[str, tuple[type, str]] = {
    **dict.fromkeys(("scenario", "robot", "fingerprint", "control", "step", "duration", "ended"), (str, "a text")),
    "steps": (int, "a whole number"),
    "parameters": (dict, "a table"),
    **dict.fromkeys(("writes", "asked"), (list, "a list")),
}


@dataclass(frozen=True)
class Session:
    """A scenario's name, its robot's, a fingerprint of that, the control unit, the macro step, s, how many were made,
    the time that was asked for, s, how it ended (as Finished has it), the parameters by full name, what a person wrote,
    and what had been asked for beforehand (`--at`)."""

    scenario: str
    robot: str
    fingerprint: str
    control: str
    h: Fraction
    steps: int
    duration: Fraction
    ended: str
    parameters: Mapping[str, Value]
    writes: tuple[TimedWrite, ...]
    asked: tuple[TimedWrite, ...] = ()

    @property
    def seconds(self) -> Fraction:
        """How long its replay is: the step that failed is made again."""
        return min(self.steps * self.h + (self.h if self.ended == FAILED else 0), self.duration)

    @property
    def cut(self) -> Cut | None:
        """Where it ended before its time; a failure comes again by itself."""
        ended = BY_HAND if self.ended == BY_HAND else INTERRUPTED
        return Cut(self.seconds, ended) if self.seconds < self.duration else None


def fingerprint_of(robot: Robot) -> str:
    return hashlib.sha256(repr(robot).encode()).hexdigest()


def write_session(path: Path, session: Session) -> None:
    """A person's times are whole macro steps; all are exact."""
    about = {
        "scenario": session.scenario,
        "robot": session.robot,
        "fingerprint": session.fingerprint,
        "control": session.control,
        "step": str(session.h),
        "steps": session.steps,
        "duration": str(session.duration),
        "ended": session.ended,
        "parameters": dict(session.parameters),
        "writes": [[int(write.time / session.h), write.name, write.value] for write in session.writes],
        "asked": [[str(write.time), write.name, write.value] for write in session.asked],
    }
    path.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def read_session(path: Path) -> Session:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else str(error.strerror).lower()
        raise SimloopError(f"the session {str(path)!r} cannot be read: {reason}") from None
    except (ValueError, RecursionError):
        raise _not_a_session(path, "it is not JSON") from None
    if not isinstance(about, dict):
        raise _not_a_session(path, "it is not a table")
    for key, (kind, words) in _KINDS.items():
        if key not in about:
            raise _not_a_session(path, f"it has no {key!r}")
        if not isinstance(about[key], kind) or isinstance(about[key], bool):
            raise _not_a_session(path, f"its {key!r} is not {words}")
    for name, value in about["parameters"].items():
        if not isinstance(value, bool | int | float | str):
            raise _not_a_session(path, f"its parameter {name!r} is neither a number nor a text")
    try:
        h, duration = (exact_seconds(key, about[key]) for key in ("step", "duration"))
    except SimloopError as error:
        raise _not_a_session(path, str(error)) from None
    texts = (about["scenario"], about["robot"], about["fingerprint"], about["control"])
    writes = tuple(_read_write(path, write, int, h) for write in about["writes"])
    asked = tuple(_read_write(path, write, str, Fraction(1)) for write in about["asked"])
    return Session(*texts, h, about["steps"], duration, about["ended"], about["parameters"], writes, asked)


def _read_write(path: Path, write: object, kind: type, unit: Fraction) -> TimedWrite:
    """A write's time, as so many `unit` s, its name and its value."""
    match write:
        case [(int() | str()) as time, str(name), (int() | float() | str()) as value] if isinstance(time, kind):
            try:
                return TimedWrite(Fraction(time) * unit, name, value)
            except (ValueError, ZeroDivisionError):
                pass
    raise _not_a_session(path, f"{json.dumps(write)} in it is not a time, a name and a value")


def _not_a_session(path: Path, reason: str) -> SimloopError:
    return SimloopError(f"{str(path)!r} is not a recorded session such as a live run writes as {SESSION}: {reason}")
