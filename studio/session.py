"""What a person did in a live run, as a file: played again it gives the same run to the last bit, with no browser."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from simloop.master import SimloopError, TimedWrite
from simloop.master.component import Value
from simloop.master.seconds import exact_seconds

SESSION = "operator.json"


@dataclass(frozen=True)
class Session:
    """A scenario's name, the macro step, s, how many were made, the parameters by full name, and what was written."""

    scenario: str
    h: Fraction
    steps: int
    parameters: Mapping[str, Value]
    writes: tuple[TimedWrite, ...]


def write_session(path: Path, session: Session) -> None:
    """Times are whole macro steps, so that they are exact."""
    about = {
        "scenario": session.scenario,
        "step": str(session.h),
        "steps": session.steps,
        "parameters": dict(session.parameters),
        "writes": [[int(write.time / session.h), write.name, write.value] for write in session.writes],
    }
    path.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def read_session(path: Path) -> Session:
    try:
        about: Any = json.loads(path.read_text(encoding="utf-8"))
        h = exact_seconds("step", about["step"])
        writes = tuple(TimedWrite(int(step) * h, str(name), float(value)) for step, name, value in about["writes"])
        return Session(str(about["scenario"]), h, int(about["steps"]), dict(about["parameters"]), writes)
    except (ValueError, TypeError, KeyError) as error:
        raise SimloopError(
            f"{str(path)!r} is not a recorded session such as a live run writes as {SESSION}: {error!r}"
        ) from None
