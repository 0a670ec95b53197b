"""Run a scenario: build its units, run the loop, judge it, and write the folder of results."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

from simloop.fmus.export import DRIVERS, UNITS, build, instantiate
from simloop.master import (
    Account,
    Claimed,
    Component,
    FmuComponent,
    Lateness,
    Locate,
    ObjectComponent,
    Pace,
    Result,
    SimloopError,
    Step,
    StepError,
    System,
    TimedWrite,
    UnitError,
    run,
    simulation_in_the_loop,
)
from simloop.master.component import Value
from simloop.master.pace import EDGES
from simloop.master.schedule import Operation
from simloop.master.seconds import exact_seconds
from simloop.studio.real_robot import check_robot, connect_robot, robot_settings
from simloop.studio.report import write_report
from simloop.studio.scenario import Figure, Outcome, Parameters, Scenario, Settings
from simloop.studio.session import SESSION, Session, write_session
from simloop.studio.view.live import Live

_REPORTED_PACKAGES = ("simloop", "fmpy", "mujoco", "numpy", "pyarrow", "pythonfmu", "scipy")
TABLE = "table.csv"
# An error in the instant of one bounce grows in the next ones: a thousandth of the nanosecond that is promised, s.
TOUCH_TOLERANCE = 1e-12
_WRITTEN = ("run.json", "signals.parquet", "signals.csv", "report.html", TABLE, SESSION)

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

ComponentMaker = Callable[[str, str], Component]
Progress = Callable[[int, int], None]
Stopped = Callable[[], int | None]


@dataclass(frozen=True)
class Request:
    """What the user asked for. Settings are `component.variable` to value and come after the scenario's own."""

    scenario: Scenario
    step: str = "1/200"
    duration: str | None = None
    seed: int | None = None
    settings: Mapping[str, Value | Sequence[Value]] | None = None
    writes: Sequence[TimedWrite] = ()
    pace: float | None = None
    """Simulation time for each second of wall time, of the run itself and not of its variants; None is as fast as it
    goes."""
    strict: bool = False
    """Whether a missed deadline ends a paced run."""
    plant: str = "plant"
    """Which unit is the plant: `plant`, or a real robot, one of simloop.fmus.export.DRIVERS."""
    timed: bool = False
    """Whether the account says where the time goes."""
    replayed: Sequence[TimedWrite] = ()
    """What a person wrote in the session that is replayed."""

    @property
    def h(self) -> Fraction:
        return exact_seconds("step", self.step)

    @property
    def seconds(self) -> Fraction:
        return exact_seconds("duration", self.duration) if self.duration is not None else self.scenario.duration

    def all_writes(self) -> tuple[TimedWrite, ...]:
        """What a replayed person, the scenario and then the user writes on the way; of the scenario's, what a shorter
        run does not reach is left out."""
        own = (write for write in self.scenario.writes(float(self.h)) if write.time < self.seconds)
        return (*self.replayed, *own, *self.writes)

    def parameters(self) -> Settings:
        seed = {} if self.seed is None else {"plant.seed": self.seed}
        settings = {**self.scenario.parameters(float(self.h)), **(self.settings or {}), **seed}
        return settings if self.plant == "plant" else robot_settings(self.scenario.robot, float(self.h), settings)


@dataclass(frozen=True)
class Finished:
    """A run as it was: complete, interrupted or failed; the last two are partial."""

    outcome: Outcome
    figures: dict[str, Figure]
    status: str
    error: SimloopError | None = None
    stopped_by: int | None = None
    """The number of the signal that ended it."""
    lateness: Lateness | None = None
    """Of a paced run."""
    session: tuple[TimedWrite, ...] | None = None
    """What a person wrote while it ran, when one could."""


def run_in_memory(request: Request, *, progress: Progress = lambda done, total: None) -> Finished:
    """Run with the units as plain Python objects, no FMI between, writing nothing."""
    scenario = request.scenario

    def make(name: str, kind: str) -> Component:
        return ObjectComponent(name, instantiate(kind, scenario.robot, scenario.obstacles, name))

    with tempfile.TemporaryDirectory() as folder:
        return _run_all(request, make, Path(folder), progress, lambda: None)


def run_to_folder(
    request: Request,
    out: Path,
    *,
    csv: bool,
    command: str,
    progress: Progress = lambda done, total: None,
    live: Live | None = None,
) -> Finished:
    """Run on FMU files and write the results to `out`, all at the end: bad input leaves no trace there. With `live` a
    person watches, steers, and begins again; the last repetition is what is written."""
    check_folder(out)
    with stop_on_signal() as stopped, tempfile.TemporaryDirectory() as temporary:
        staging = Path(temporary)
        make = units_as_files(request.scenario, staging / "units")
        finished = _run_all(request, make, staging, progress, stopped, live)
        _write_results(request, finished, staging, csv, command)
        publish(staging, out)
    return finished


def units_as_files(scenario: Scenario, folder: Path) -> ComponentMaker:
    """Makes a scenario's components from FMU files, which are built in `folder` when they are first needed."""

    def make(name: str, kind: str) -> Component:
        path = folder / f"{kind}.fmu"
        if not path.exists():
            build(kind, scenario.robot, path, scenario.obstacles)
        # Built here a moment ago, from units whose state is tested: a check would cost more than it tells.
        return FmuComponent(name, path, trust=Claimed())

    return make


def check_folder(out: Path, record: str = "run.json", holds: Sequence[str] = ("scenario", "status", "units")) -> None:
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


def _run_all(
    request: Request,
    make: ComponentMaker,
    folder: Path,
    progress: Progress,
    stopped: Stopped,
    live: Live | None = None,
) -> Finished:
    """The run and the variants that its scenario compares it with; the first that fails or is stopped is the last."""
    h, scenario = float(request.h), request.scenario
    settings = request.parameters()
    if request.plant != "plant":
        check_robot(scenario, settings, h)
    _keep_table(request, settings, folder)
    watch = Watch(progress, int(request.seconds / request.h), stopped)
    pace = _pace(request, stopped)
    if live is None:
        result, parameters, error = _run_once(request, settings, make, watch, pace)
    else:
        result, parameters, error = _run_live(request, settings, make, watch, live)
        # What it is compared with is as long as it was, and is written to as it was.
        if len(result) > 1:
            request = replace(request, duration=str((len(result) - 1) * request.h), replayed=tuple(live.writes))
    whole = error is None and result.complete
    others: dict[str, tuple[Result, Parameters]] = {}
    for variant in scenario.variants(parameters, h) if whole else ():
        try:
            other, changed, error = _run_once(request, {**settings, **variant.changes}, make, watch)
        except UnitError as refused:
            error = refused
            whole = False
            break
        whole = error is None and other.complete
        if not whole:
            break
        others[variant.label] = (other, changed)
    outcome = Outcome(result, parameters, h, float(request.seconds), others, scenario.control, request.plant)
    figures = scenario.judge(outcome) if whole else {}
    status = "complete" if whole else "failed" if error else "interrupted"
    lateness = None if pace is None else pace.lateness()
    return Finished(outcome, figures, status, error, stopped(), lateness, None if live is None else tuple(live.writes))


def _run_live(
    request: Request, settings: Settings, make: ComponentMaker, watch: Watch, live: Live
) -> tuple[Result, Parameters, SimloopError | None]:
    """Runs until a person is content with one; it is whole where the person ended it. Parameters that are refused are
    told, and the run begins again with those before."""
    good = dict(settings)
    while True:
        try:
            result, parameters, error = _run_once(request, settings, make, watch, live=live)
        except SimloopError as refused:
            if settings == good:
                raise
            live.tell(str(refused))
            settings.clear()
            settings.update(good)
            continue
        good = dict(settings)
        if live.again is None:
            live.hold(result, "" if error is None else str(error), watch.keep_going)
        if live.again is None:
            ended = live.finished and len(result) > 1
            return Result(result.columns, complete=result.complete or ended, account=result.account), parameters, error
        settings.update(live.again)


def _pace(request: Request, stopped: Stopped) -> Pace | None:
    if request.pace is None:
        return None
    return Pace(request.pace, strict=request.strict, keep_waiting=lambda: stopped() is None)


def _keep_table(request: Request, settings: Settings, folder: Path) -> None:
    """Put the off-line planner's table, the scenario's or the user's, beside the results and play it from there."""
    scenario = request.scenario
    if scenario.table is None:
        return
    if "planner.table" not in settings:
        text = scenario.table(float(request.h), int(request.seconds / request.h))
        (folder / TABLE).write_text(text, encoding="utf-8", newline="\n")
    elif Path(str(settings["planner.table"])).is_file():
        shutil.copyfile(str(settings["planner.table"]), folder / TABLE)
    else:
        raise SimloopError(f"planner.table is {settings['planner.table']!r}, which is not a file")
    settings["planner.table"] = str(folder / TABLE)


def _run_once(
    request: Request,
    settings: Settings,
    make: ComponentMaker,
    watch: Watch,
    pace: Pace | None = None,
    live: Live | None = None,
) -> tuple[Result, Parameters, SimloopError | None]:
    """One run, with its parameters by full name; a unit that fails on the way, or a deadline that is missed in a strict
    run, gives the record up to there."""
    system = System()
    try:
        assemble(system, request.scenario, settings, make, request.plant)
        parameters = {f"{component}.{variable}": value for (component, variable), value in system.values.items()}
        schedule = simulation_in_the_loop(system, plant_step=plant_step_for(parameters))
        account = Account(timed=request.timed)
        keep_going: Callable[[int], bool] = watch.keep_going
        if live is not None:
            keep_going = live.watch(system, request.h, parameters, keep_going, account)
        try:
            result = run(
                system,
                schedule,
                step=request.h,
                duration=request.seconds,
                writes=request.all_writes(),
                keep_going=keep_going,
                pace=pace,
                account=account,
            )
        except StepError as error:
            if error.result is None:
                raise
            return error.result, parameters, error
        return result, parameters, None if pace is None else _missed(pace)
    finally:
        system.close()


def _missed(pace: Pace) -> SimloopError | None:
    """What ended a strict run."""
    miss = pace.ended_by
    if miss is None:
        return None
    late = f"the step to {miss.time:.9g} s was done {1e3 * miss.late:.3g} ms late at pace {pace.rate:g}"
    return SimloopError(f"a deadline was missed: {late}, and a strict run stops there")


def assemble(
    system: System, scenario: Scenario, settings: Settings, make: ComponentMaker, plant: str = "plant"
) -> None:
    """Put a scenario's units into `system`, wire them and set them."""
    units = {"planner": scenario.planner, "control": scenario.control, "plant": plant, "collision": "collision"}
    for name, kind in {**units, **scenario.components}.items():
        system.add(make(name, kind))
    scenario.connect(system)
    if plant != "plant":
        connect_robot(system)
    system.set("plant.f_ext", 0.0)
    for name, value in settings.items():
        system.set(name, value)


def plant_step_for(parameters: Parameters) -> Operation:
    """In contact mode `events` the master locates each touch by rolling the plant back."""
    events = parameters.get("plant.contact") == "events"
    return Locate("plant", "gap", TOUCH_TOLERANCE) if events else Step("plant")


class Watch:
    """Tells the progress of a run, and whether to go on."""

    _EVERY = 64  # macro steps between two looks at the terminal

    def __init__(self, progress: Progress, total: int, stopped: Stopped) -> None:
        self._progress, self._total, self._stopped = progress, total, stopped

    def keep_going(self, done: int) -> bool:
        if done % self._EVERY == 0:
            self._progress(done, self._total)
        return self._stopped() is None


@contextmanager
def stop_on_signal() -> Iterator[Stopped]:
    """Let Ctrl-C and a polite kill end the run between two macro steps, and not the writing of its results."""
    heard: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        if not heard:
            os.write(2, b"simloop: stopping; what is recorded so far is being written\n")
        heard.append(number)

    try:
        before = {number: signal.signal(number, hear) for number in _SIGNALS}
    except ValueError:  # not in the main thread, where Python lets no one listen for signals
        before = {}
    try:
        yield lambda: heard[0] if heard else None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write_results(request: Request, finished: Finished, folder: Path, csv: bool, command: str) -> None:
    record = describe_run(request, finished, folder, command)
    (folder / "run.json").write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    about = {key: record[key] for key in ("scenario", "status", "seed", "parameters", "versions", "units")}
    if finished.session is not None:
        steps = len(finished.outcome.result) - 1
        parameters = {name: value for name, value in record["parameters"].items() if name != "planner.table"}
        write_session(folder / SESSION, Session(request.scenario.name, request.h, steps, parameters, finished.session))
    metadata = {"simloop": json.dumps(about, ensure_ascii=False)}
    finished.outcome.result.write_parquet(folder / "signals.parquet", metadata)
    if csv:
        finished.outcome.result.write_csv(folder / "signals.csv")
    report = folder / "report.html"
    write_report(report, request.scenario, finished.outcome, finished.figures, record, finished.lateness)


def describe_run(request: Request, finished: Finished, folder: Path, command: str) -> dict[str, Any]:
    """What run.json says."""
    parameters = {name: _portable(value, folder) for name, value in finished.outcome.parameters.items()}
    writes = (*request.all_writes(), *(finished.session or ()))
    return {
        "scenario": request.scenario.name,
        "control": request.scenario.control,
        "plant": request.plant,
        "status": "complete" if finished.status == "complete" else "partial",
        "ended": finished.status,
        "error": None if finished.error is None else str(finished.error),
        "step": str(request.h),
        "duration": finished.outcome.seconds,
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
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


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


def publish(staging: Path, out: Path) -> None:
    """Replace, file by file, what an earlier run wrote, and nothing else; run.json goes last."""
    out.mkdir(parents=True, exist_ok=True)
    files = [file.relative_to(staging) for file in sorted(staging.rglob("*")) if file.is_file()]
    ours = [Path(name) for name in _WRITTEN] + [Path("units") / f"{kind}.fmu" for kind in (*UNITS, *DRIVERS)]
    for stale in set(ours) - set(files):
        (out / stale).unlink(missing_ok=True)
    for file in sorted(files, key=lambda file: file.name == "run.json"):
        half = out / file.with_name(file.name + ".part")
        half.parent.mkdir(exist_ok=True)
        shutil.copyfile(staging / file, half)
        half.replace(out / file)
