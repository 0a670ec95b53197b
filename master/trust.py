"""Whether a unit's word on its own state is believed: at once, or after a check in a child process.

Of the public units that claim to save and restore their state, many do not do so exactly, and some crash. A check is
made once for a file: its verdict is kept by the file's hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

import fmpy
from simloop.master.description import Description

# Part of the verdict's file name: raised when the check changes, so that old verdicts are not read.
CHECK_VERSION = 1
_WAIT = 60.0
# What every unit goes through, whatever it says of its state.
BASIC_STAGES = ("loading", "its start", "a step", "its end")


class Judgement(Enum):
    EXACT = "exact"
    WITHIN_TOLERANCE = "within tolerance"
    DISHONEST = "dishonest"
    CRASHED = "crashed"
    NOT_OFFERED = "not offered"
    NOT_CHECKED = "not checked"
    CLAIMED = "claimed"


_BELIEVED = (Judgement.EXACT, Judgement.WITHIN_TOLERANCE, Judgement.CLAIMED)


@dataclass(frozen=True)
class Finding:
    """What was found of one ability, and the reason where there is one."""

    judgement: Judgement
    reason: str = ""

    @property
    def believed(self) -> bool:
        return self.judgement in _BELIEVED

    def words(self) -> str:
        if self.judgement is Judgement.NOT_OFFERED:
            return "the unit does not offer to save and restore its state"
        because = f": {self.reason}" if self.reason else ""
        return f"its state check says {self.judgement.value}{because}"


@dataclass(frozen=True)
class Verdict:
    """`state` is on saving and restoring in one instance, `written` on a state as bytes in a new one."""

    state: Finding
    written: Finding
    fails_without_state: bool = False
    """Whether it crashed before any function for its state was called: it cannot be used at all."""

    def to_json(self) -> str:
        return json.dumps(asdict(self), default=lambda value: value.value)

    @staticmethod
    def from_json(text: str) -> Verdict:
        """Raises ValueError, KeyError or TypeError where the text is not a verdict."""
        data = json.loads(text)
        state, written = (
            Finding(Judgement(data[k]["judgement"]), str(data[k]["reason"])) for k in ("state", "written")
        )
        return Verdict(state, written, bool(data["fails_without_state"]))


class Trust(Protocol):
    def judge(self, path: Path, description: Description) -> Verdict: ...


@dataclass(frozen=True)
class Claimed:
    """Believe what the unit says of itself."""

    def judge(self, path: Path, description: Description) -> Verdict:
        no, yes = Finding(Judgement.NOT_OFFERED), Finding(Judgement.CLAIMED)
        unit = description.abilities
        return Verdict(yes if unit.canGetAndSetFMUstate else no, yes if unit.canSerializeFMUstate else no)


@dataclass(frozen=True)
class Verified:
    """Believe what a check in a child process found, which may take `timeout` s.

    The verdict is kept in `cache`, the user's cache folder unless given, and looked up there first.
    """

    timeout: float = _WAIT
    cache: Path | None = None

    def judge(self, path: Path, description: Description) -> Verdict:
        kept = self._file(path)
        try:
            return Verdict.from_json(kept.read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError):
            return self.check(path)

    def check(self, path: Path) -> Verdict:
        """Make the check, whatever was found before."""
        verdict = run_check(path, self.timeout)
        if verdict.state.judgement is not Judgement.NOT_CHECKED:
            _write(self._file(path), verdict.to_json())
        return verdict

    def _file(self, path: Path) -> Path:
        folder = self.cache or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simloop" / "units"
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return folder / f"{digest}-{fmpy.platform_tuple}-{CHECK_VERSION}.json"


VERIFIED = Verified()


def _write(file: Path, text: str) -> None:
    """Whole or not at all. A folder that cannot be written to costs a check the next time, no more."""
    temporary = None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".verdict-")
        with open(handle, "w", encoding="utf-8") as opened:
            opened.write(text)
        os.replace(temporary, file)
    except OSError:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


_CHILD = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from simloop.master.honesty import check_unit
check_unit(sys.argv[2], sys.argv[3])
"""


def run_check(path: Path, timeout: float) -> Verdict:
    """Check the unit in a child process that may crash or hang."""
    with tempfile.TemporaryDirectory(prefix="simloop-check-") as folder:
        report = Path(folder) / "report"
        report.touch()
        arguments = [sys.executable, "-c", _CHILD, json.dumps(sys.path), str(path.absolute()), str(report)]
        # What the child unpacks is inside the folder, so that it goes with it however the child ends.
        environment = {**os.environ, "TMPDIR": folder, "TEMP": folder, "TMP": folder}
        silent = subprocess.DEVNULL
        try:
            child = subprocess.run(
                arguments, env=environment, cwd=folder, stdin=silent, stdout=silent, stderr=silent, timeout=timeout
            )
        except subprocess.TimeoutExpired:
            return _read_report(report, f"it was not done after {timeout:g} s")
        except (OSError, TypeError) as error:
            # An interpreter inside another program may not know its own executable.
            unknown = Finding(Judgement.NOT_CHECKED, f"no Python could be started: {error}")
            return Verdict(unknown, unknown)
        return _read_report(report, "" if child.returncode == 0 else f"it ended with {_ending(child.returncode)}")


def _read_report(report: Path, fault: str) -> Verdict:
    """The report has a line for each stage that was begun, and a verdict for what is known so far."""
    stage, verdict = "", None
    for line in report.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record: dict[str, Any] = json.loads(line)
            stage = record.get("stage", stage)
            verdict = verdict if "stage" in record else Verdict.from_json(line)
        except (ValueError, KeyError, TypeError, AttributeError):
            break  # a crash cut it off
    if not fault and verdict is not None:
        return verdict
    judgement = Judgement.CRASHED if stage else Judgement.NOT_CHECKED
    finding = Finding(judgement, f"in {stage or 'starting Python'} {fault or 'it ended too early'}")
    if verdict is None or stage in BASIC_STAGES:
        return Verdict(finding, finding, fails_without_state=stage in BASIC_STAGES)
    # The state was judged already; what crashed is the writing of it.
    return replace(verdict, written=finding)


def _ending(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"
