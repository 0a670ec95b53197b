"""Run a scenario: build its units, run the loop, judge it, and write the folder of results."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

from simloop.fmus.export import build, instantiate
from simloop.master import (
    Component,
    FmuComponent,
    ObjectComponent,
    Result,
    SimloopError,
    System,
    TimedWrite,
    UnitError,
    run,
    simulation_in_the_loop,
)
from simloop.master.component import Value
from simloop.master.run import exact_seconds
from simloop.studio.report import write_report
from simloop.studio.scenario import Figure, Outcome, Parameters, Scenario, connect_loop

_REPORTED_PACKAGES = ("simloop", "fmpy", "mujoco", "numpy", "pyarrow", "pythonfmu", "scipy")
_WRITTEN = ("run.json", "signals.parquet", "signals.csv", "report.html", "table.csv", "units")
TABLE = "table.csv"

ComponentMaker = Callable[[str, str], Component]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Request:
    """What the user asked for. Settings are `component.variable` to value and come after the scenario's own."""

    scenario: Scenario
    step: str = "1/200"
    duration: str | None = None
    seed: int = 0
    settings: Mapping[str, Value] | None = None
    writes: Sequence[TimedWrite] = ()

    @property
    def h(self) -> Fraction:
        return exact_seconds("step", self.step)

    @property
    def seconds(self) -> Fraction:
        return exact_seconds("duration", self.duration) if self.duration is not None else self.scenario.duration

    def parameters(self) -> Parameters:
        return {"plant.seed": self.seed, **self.scenario.parameters(float(self.h)), **(self.settings or {})}


@dataclass(frozen=True)
class Finished:
    """A run as it was: complete, partial (interrupted) or failed."""

    outcome: Outcome
    figures: dict[str, Figure]
    status: str
    error: SimloopError | None = None


def run_in_memory(request: Request, *, progress: Progress = lambda done, total: None) -> Finished:
    """Run with the units as plain Python objects, no FMI between, writing nothing."""
    scenario = request.scenario

    def make(name: str, kind: str) -> Component:
        return ObjectComponent(name, instantiate(kind, scenario.robot, scenario.obstacles, name))

    with tempfile.TemporaryDirectory() as folder:
        return _run_all(request, make, Path(folder), progress)


def run_to_folder(
    request: Request, out: Path, *, csv: bool, command: str, progress: Progress = lambda done, total: None
) -> Finished:
    """Run on FMU files and write the results to `out`, all at the end: bad input leaves no trace there."""
    check_folder(out)
    with tempfile.TemporaryDirectory() as temporary:
        staging = Path(temporary)

        def make(name: str, kind: str) -> Component:
            path = staging / "units" / f"{kind}.fmu"
            if not path.exists():
                build(kind, request.scenario.robot, path, request.scenario.obstacles)
            return FmuComponent(name, path)

        finished = _run_all(request, make, staging, progress)
        _write_results(request, finished, staging, csv, command)
        _publish(staging, out)
    return finished


def check_folder(out: Path) -> None:
    """Results go into a new folder, an empty one, or one that holds earlier results."""
    if out.exists() and not out.is_dir():
        raise SimloopError(f"{str(out)!r} is a file; results need a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / "run.json").exists():
        raise SimloopError(f"{str(out)!r} holds files that are not results of a run; name another folder with --out")


def _run_all(request: Request, make: ComponentMaker, folder: Path, progress: Progress) -> Finished:
    h, scenario = float(request.h), request.scenario
    parameters = request.parameters()
    if scenario.table is not None and "planner.table" not in parameters:
        steps = int(request.seconds / request.h)
        (folder / TABLE).write_text(scenario.table(h, steps), encoding="utf-8", newline="\n")
        parameters["planner.table"] = str(folder / TABLE)
    with _stop_on_signal() as stopped:
        watch = _Watch(progress, int(request.seconds / request.h), stopped)
        result, error = _run_once(request, parameters, make, watch)
        whole = error is None and result.complete
        others: dict[str, tuple[Result, Parameters]] = {}
        for variant in scenario.variants(parameters, h) if whole else ():
            changed = {**parameters, **variant.changes}
            other, error = _run_once(request, changed, make, watch)
            others[variant.label] = (other, changed)
            whole = whole and error is None and other.complete
    outcome = Outcome(result, parameters, h, others)
    figures = scenario.judge(outcome) if whole else {}
    return Finished(outcome, figures, "complete" if whole else "failed" if error else "partial", error)


def _run_once(
    request: Request, parameters: Parameters, make: ComponentMaker, watch: _Watch
) -> tuple[Result, SimloopError | None]:
    """One run; a unit that fails on the way gives the record up to there and the error."""
    system = System()
    try:
        for name in ("planner", "control", "plant", "collision"):
            system.add(make(name, request.scenario.planner if name == "planner" else name))
        connect_loop(system)
        system.set("plant.f_ext", 0.0)
        for name, value in parameters.items():
            system.set(name, value)
        schedule = simulation_in_the_loop(system)
        times = {"step": request.h, "duration": request.seconds}
        return run(system, schedule, **times, writes=request.writes, keep_going=watch.keep_going), None
    except UnitError as error:
        if error.result is None:
            raise
        return error.result, error
    finally:
        system.close()


class _Watch:
    """Tells the progress of a run, and whether to go on."""

    _EVERY = 64  # macro steps between two looks at the terminal

    def __init__(self, progress: Progress, total: int, stopped: Callable[[], bool]) -> None:
        self._progress, self._total, self._stopped = progress, total, stopped

    def keep_going(self, done: int) -> bool:
        if done % self._EVERY == 0:
            self._progress(done, self._total)
        return not self._stopped()


@contextmanager
def _stop_on_signal() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C and a polite kill end the run between two macro steps instead of inside a unit."""
    heard: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        heard.append(number)

    try:
        before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not in the main thread, where Python lets no one listen for signals
        before = {}
    try:
        yield lambda: bool(heard)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write_results(request: Request, finished: Finished, folder: Path, csv: bool, command: str) -> None:
    record = describe_run(request, finished, folder, command)
    (folder / "run.json").write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    about = {key: record[key] for key in ("scenario", "status", "seed", "parameters", "versions", "units")}
    metadata = {"simloop": json.dumps(about, ensure_ascii=False)}
    finished.outcome.result.write_parquet(folder / "signals.parquet", metadata)
    if csv:
        finished.outcome.result.write_csv(folder / "signals.csv")
    write_report(folder / "report.html", request.scenario, finished.outcome, finished.figures, record)


def describe_run(request: Request, finished: Finished, folder: Path, command: str) -> dict[str, Any]:
    """What run.json says."""
    parameters = {name: _portable(value, folder) for name, value in finished.outcome.parameters.items()}
    return {
        "scenario": request.scenario.name,
        "status": finished.status,
        "error": None if finished.error is None else str(finished.error),
        "step": str(request.h),
        "duration": float(request.seconds),
        "rows": len(finished.outcome.result),
        "seed": request.seed,
        "parameters": parameters,
        "writes": [{"time": float(w.time), "name": w.name, "value": w.value} for w in request.writes],
        "summary": {key: _describe_figure(figure) for key, figure in finished.figures.items()},
        "units": _hashes(sorted((folder / "units").glob("*.fmu"))),
        "inputs": _hashes(folder.glob(TABLE)),
        "versions": {"python": _python_version()} | {p: importlib.metadata.version(p) for p in _REPORTED_PACKAGES},
        "command": command,
    }


def _hashes(files: Iterable[Path]) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def _portable(value: Value, folder: Path) -> Value:
    """A path into the results' own folder, without where that folder happens to be."""
    return Path(value).name if isinstance(value, str) and Path(value).parent == folder else value


def _describe_figure(figure: Figure) -> dict[str, Any]:
    about: dict[str, Any] = {"value": figure.value, "unit": figure.unit, "label": figure.label}
    if figure.ok is not None:
        about |= {"expected": figure.expected, "tolerance": figure.tolerance, "limit": figure.limit}
        about |= {"source": figure.source, "ok": figure.ok}
    return about


def _python_version() -> str:
    return ".".join(map(str, sys.version_info[:3]))


def _publish(staging: Path, out: Path) -> None:
    """Replace what an earlier run wrote; run.json goes last, so that a folder with one is whole."""
    out.mkdir(parents=True, exist_ok=True)
    for name in _WRITTEN:
        old = out / name
        shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
    for name in reversed(_WRITTEN):
        if (staging / name).exists():
            shutil.move(staging / name, out / name)
