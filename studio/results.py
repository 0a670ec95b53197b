"""The folder of results: which may be written to, what stands in it, and what run.json says."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from simloop.fmus.export import DRIVERS, UNITS
from simloop.master import Lateness, Result, SimloopError
from simloop.master.component import Value
from simloop.master.pace import EDGES
from simloop.studio.report import write_report
from simloop.studio.request import BY_HAND, COMPLETE, FAILED, Finished, Request
from simloop.studio.scenario import Figure
from simloop.studio.session import SESSION, Session, fingerprint_of, write_session

RECORD, TABLE = "run.json", "table.csv"
_SIGNALS, _SIGNALS_AS_TEXT, _REPORT = "signals.parquet", "signals.csv", "report.html"
_WRITTEN = (RECORD, _SIGNALS, _SIGNALS_AS_TEXT, _REPORT, TABLE, SESSION)
_REPORTED_PACKAGES = ("simloop", "fmpy", "mujoco", "numpy", "pyarrow", "pythonfmu", "scipy")


def check_folder(out: Path, record: str = RECORD, holds: Sequence[str] = ("scenario", "status", "units")) -> None:
    """Results go into a new folder, an empty one, or one that holds earlier results: their record, a JSON file that
    holds these."""
    above = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not above.is_dir():
        raise SimloopError(f"results cannot go to {str(out)!r}: {str(above)!r} is a file")
    if not os.access(above, os.W_OK | os.X_OK):
        raise SimloopError(f"results cannot go to {str(out)!r}: {str(above)!r} cannot be written to")
    if above == out and any(out.iterdir()) and not _is_record(out / record, holds):
        raise SimloopError(f"{str(out)!r} holds files that are not results of a run; name another folder with --out")


def _is_record(path: Path, holds: Sequence[str]) -> bool:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(record, dict) and set(holds) <= set(record)


def publish(staging: Path, out: Path) -> None:
    """Replace, file by file, what an earlier run wrote, and nothing else; run.json goes last."""
    out.mkdir(parents=True, exist_ok=True)
    files = [file.relative_to(staging) for file in sorted(staging.rglob("*")) if file.is_file()]
    ours = [Path(name) for name in _WRITTEN] + [Path("units") / f"{kind}.fmu" for kind in (*UNITS, *DRIVERS)]
    for stale in set(ours) - set(files):
        (out / stale).unlink(missing_ok=True)
    for file in sorted(files, key=lambda file: file.name == RECORD):
        half = out / file.with_name(file.name + ".part")
        half.parent.mkdir(exist_ok=True)
        shutil.copyfile(staging / file, half)
        half.replace(out / file)


def write_json(path: Path, record: dict[str, Any]) -> None:
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_record(folder: Path, record: dict[str, Any], kept: Sequence[str], result: Result, csv: bool) -> None:
    """The record and the signals; what `kept` names of the record stands with the signals, too."""
    write_json(folder / RECORD, record)
    about = {key: record[key] for key in kept}
    result.write_parquet(folder / _SIGNALS, {"simloop": json.dumps(about, ensure_ascii=False)})
    if csv:
        result.write_csv(folder / _SIGNALS_AS_TEXT)


def write_results(request: Request, finished: Finished, folder: Path, csv: bool, command: str) -> None:
    """All that a scenario's run leaves, into the folder where its units are."""
    record = _describe_run(request, finished, folder, command)
    kept = ("scenario", "status", "seed", "parameters", "versions", "units")
    write_record(folder, record, kept, finished.outcome.result, csv)
    if finished.session is not None:
        write_session(folder / SESSION, _session_of(request, finished, record["parameters"]))
    write_report(folder / _REPORT, request.scenario, finished.outcome, finished.figures, record, finished.lateness)


def _session_of(request: Request, finished: Finished, parameters: Mapping[str, Value]) -> Session:
    scenario, steps = request.scenario, len(finished.outcome.result) - 1
    session = Session(
        scenario.name,
        scenario.robot.name,
        fingerprint_of(scenario.robot),
        scenario.control,
        request.h,
        steps,
        request.seconds,
        finished.status,
        {name: value for name, value in parameters.items() if name != "planner.table"},
        finished.session or (),
        tuple(request.writes),
    )
    # What no step came after has changed nothing, and would lie beyond the end of the replay.
    writes, asked = (
        tuple(write for write in all_of_them if write.time < session.seconds)
        for all_of_them in (session.writes, session.asked)
    )
    return replace(session, writes=writes, asked=asked)


def _describe_run(request: Request, finished: Finished, folder: Path, command: str) -> dict[str, Any]:
    """What run.json says."""
    parameters = {name: _portable(value, folder) for name, value in finished.outcome.parameters.items()}
    writes = (*request.all_writes(), *(finished.session or ()))
    if finished.status != COMPLETE:
        # The step that failed was begun.
        begun = len(finished.outcome.result) - 1 + (finished.status == FAILED)
        writes = tuple(write for write in writes if write.time < begun * request.h)
    whole = finished.status == COMPLETE or (finished.status == BY_HAND and request.scenario.open_ended)
    return {
        "scenario": request.scenario.name,
        "robot": request.scenario.robot.name,
        "control": request.scenario.control,
        "plant": request.plant,
        "status": "complete" if whole else "partial",
        "ended": finished.status,
        "error": None if finished.error is None else str(finished.error),
        "step": str(request.h),
        "duration": float(finished.outcome.result["time"][-1]),
        "asked": float(request.seconds),
        "rows": len(finished.outcome.result),
        "pace": _describe_pace(request, finished.lateness),
        "seed": finished.outcome.parameters.get("plant.seed", 0),
        "parameters": parameters,
        "writes": [{"time": float(w.time), "name": w.name, "value": w.value} for w in writes],
        "summary": {key: _describe_figure(figure) for key, figure in finished.figures.items()},
        "account": finished.outcome.result.account.describe(),
        "units": _hashes(sorted((folder / "units").glob("*.fmu"))),
        "inputs": _hashes(folder.glob(TABLE)),
        "versions": versions(),
        "command": command,
    }


def _describe_pace(request: Request, lateness: Lateness | None) -> dict[str, Any] | None:
    if lateness is None:
        return None
    about: dict[str, Any] = {"rate": request.pace, "strict": request.strict, "deadlines": lateness.deadlines}
    about |= {"missed": lateness.missed, "median_late": lateness.median, "worst_late": lateness.worst}
    return about | {"histogram": {"from": list(EDGES), "deadlines": list(lateness.counts)}}


def _hashes(files: Iterable[Path]) -> dict[str, str]:
    return {file.name: hash_of(file) for file in files}


def hash_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _portable(value: Value, folder: Path) -> Value:
    """A path into the results' own folder, without where that folder happens to be."""
    return Path(value).name if isinstance(value, str) and Path(value).parent == folder else value


def _describe_figure(figure: Figure) -> dict[str, Any]:
    about: dict[str, Any] = {"value": figure.value, "unit": figure.unit, "label": figure.label}
    if figure.ok is not None:
        about |= {
            "expected": figure.expected,
            "tolerance": figure.tolerance,
            "limit": figure.limit,
            "least": figure.least,
        }
        about |= {"source": figure.source, "ok": figure.ok}
    return about


def versions() -> dict[str, str]:
    """Of Python and of the packages that results depend on."""
    python = ".".join(map(str, sys.version_info[:3]))
    return {"python": python} | {package: importlib.metadata.version(package) for package in _REPORTED_PACKAGES}
