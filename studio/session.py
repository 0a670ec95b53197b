"""What a person did in a live run, as a file: played again it gives the same run to the last bit, with no browser."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from simloop.master import SimloopError, TimedWrite
from simloop.master.component import Value
from simloop.master.seconds import exact_seconds
from simloop.models.robot import Robot
from simloop.studio.request import BY_HAND, FAILED, INTERRUPTED, Cut

SESSION = "operator.json"


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
        about: Any = json.loads(path.read_text(encoding="utf-8"))
        h = exact_seconds("step", about["step"])
        return Session(
            str(about["scenario"]),
            str(about["robot"]),
            str(about["fingerprint"]),
            str(about["control"]),
            h,
            int(about["steps"]),
            exact_seconds("duration", about["duration"]),
            str(about["ended"]),
            dict(about["parameters"]),
            tuple(TimedWrite(int(step) * h, str(name), float(value)) for step, name, value in about["writes"]),
            tuple(TimedWrite(Fraction(time), str(name), value) for time, name, value in about["asked"]),
        )
    except (ValueError, TypeError, KeyError, ZeroDivisionError) as error:
        raise SimloopError(
            f"{str(path)!r} is not a recorded session such as a live run writes as {SESSION}: {error!r}"
        ) from None
