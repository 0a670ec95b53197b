"""System structure packages (.ssp): run one and write its results, or write a scenario as one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from simloop.master import (
    FmuComponent,
    Locate,
    NameNotFoundError,
    Newton,
    Result,
    Schedule,
    SimloopError,
    StepError,
    System,
    TimedWrite,
    gauss_seidel,
    iterative,
    jacobi,
    run,
)
from simloop.master.component import Value
from simloop.master.drawing import draw
from simloop.master.run import check_writes
from simloop.master.schedule import written_inputs
from simloop.master.seconds import exact_seconds
from simloop.master.ssp import LoadedSystem, ScheduleNote, load_ssp, write_ssp
from simloop.studio import scenarios
from simloop.studio.request import COMPLETE, FAILED, INTERRUPTED, Request
from simloop.studio.results import check_folder, hash_of, publish, versions, write_record
from simloop.studio.runner import Progress, Stopped, Watch, assemble, plant_step_for, stop_on_signal, units_as_files

USUAL_STEP = "1/200"
# What goes round a loop agrees with itself to this, relative to max(1, |value|).
LOOP_TOLERANCE = 1e-10
ALGORITHMS: dict[str, Callable[[System], Schedule]] = {
    "jacobi": jacobi,
    "gauss-seidel": gauss_seidel,
    "iterative": lambda system: iterative(system, Newton(LOOP_TOLERANCE)),
}
Given = TypeVar("Given", Value, Value | Sequence[Value])


@dataclass(frozen=True)
class PackageRequest:
    """What the user asked for. A name in `settings` and `writes` is `component.variable` or an input of the system.

    `file` is a path, or a path and the name of another description in it: "car.ssp#Hybrid.ssd".
    """

    file: str
    step: str | None = None
    duration: str | None = None
    settings: Mapping[str, Value | Sequence[Value]] | None = None
    writes: Sequence[TimedWrite] = ()
    algorithm: str | None = None
    """One of ALGORITHMS; the package's own unless given."""


@dataclass(frozen=True)
class PackageRun:
    """A run as it was; its `status` is how it ended: COMPLETE, INTERRUPTED or FAILED."""

    loaded: LoadedSystem
    result: Result
    h: Fraction
    seconds: Fraction
    status: str
    error: SimloopError | None
    stopped_by: int | None

    @property
    def is_nothing(self) -> bool:
        """Whether it was ended before its first step, so that there is nothing to keep."""
        return self.status == INTERRUPTED and len(self.result) < 2


def open_package(file: str) -> LoadedSystem:
    path, _, description = file.partition("#")
    return load_ssp(path, description) if description else load_ssp(path)


def run_package(
    request: PackageRequest, out: Path, *, csv: bool, command: str, progress: Progress = lambda done, total: None
) -> PackageRun:
    """Run a package and write the results to `out`, all at the end: bad input, or a run that is ended before its first
    step, leaves no trace there."""
    check_folder(out, holds=("system", "status", "units"))
    loaded = open_package(request.file)
    try:
        with stop_on_signal() as stopped, tempfile.TemporaryDirectory() as temporary:
            staging = Path(temporary)
            finished = _run(request, loaded, progress, stopped)
            if not finished.is_nothing:
                record = _describe(request, finished, command)
                kept = ("system", "status", "parameters", "versions", "units")
                write_record(staging, record, kept, finished.result, csv)
                publish(staging, out)
        return finished
    finally:
        loaded.system.close()


def _run(request: PackageRequest, loaded: LoadedSystem, progress: Progress, stopped: Stopped) -> PackageRun:
    system, note = loaded.system, loaded.schedule
    h = exact_seconds("step", request.step or (note.step if note else USUAL_STEP))
    duration = request.duration if request.duration is not None else loaded.stop
    if duration is None:
        raise SimloopError(f"{request.file!r} does not say how long to run; give a --duration, such as 10")
    seconds = exact_seconds("duration", duration)
    for name, value in (request.settings or {}).items():
        for target, change in _targets(loaded, name, value):
            system.set(target, change)
    watch = Watch(progress, int(seconds / h), stopped)
    schedule = _schedule(request.algorithm, system, note)
    error = None
    try:
        writes = _all_writes(request, loaded, seconds)
        result = run(system, schedule, step=h, duration=seconds, writes=writes, keep_going=watch.keep_going)
    except StepError as failure:
        if failure.result is None:
            raise
        result, error = failure.result, failure
    status = COMPLETE if result.complete else FAILED if error else INTERRUPTED
    return PackageRun(loaded, result, h, seconds, status, error, stopped())


def _schedule(algorithm: str | None, system: System, note: ScheduleNote | None) -> Schedule:
    """What was asked for, or the package's own, or Jacobi's."""
    if algorithm is None:
        return note.schedule(system) if note else jacobi(system)
    if algorithm not in ALGORITHMS:
        raise NameNotFoundError("algorithm", algorithm, ALGORITHMS)
    return ALGORITHMS[algorithm](system)


def _targets(loaded: LoadedSystem, name: str, value: Given) -> list[tuple[str, Given | float]]:
    """The variables that a name means, and the value that reaches each."""
    if name not in loaded.inputs:
        return [(name, value)]
    found: list[tuple[str, Given | float]] = []
    for target, transform in loaded.inputs[name]:
        if transform is None:
            found.append((target, value))
            continue
        try:
            found.append((target, transform.of(float(value))))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise SimloopError(f"{name} cannot be {value!r}; it takes a number") from None
    return found


def _all_writes(request: PackageRequest, loaded: LoadedSystem, seconds: Fraction) -> list[TimedWrite]:
    own = () if loaded.schedule is None else loaded.schedule.writes
    return [
        replace(write, name=target, value=value)
        for write in (*(write for write in own if write.time < seconds), *request.writes)
        for target, value in _targets(loaded, write.name, write.value)
    ]


def _describe(request: PackageRequest, finished: PackageRun, command: str) -> dict[str, Any]:
    loaded = finished.loaded
    components = loaded.system.components.values()
    return {
        "system": loaded.name,
        "file": request.file,
        "sha256": hash_of(Path(request.file.partition("#")[0])),
        "schedule": request.algorithm or ("simulation_in_the_loop" if loaded.schedule else "jacobi"),
        "status": "complete" if finished.status == COMPLETE else "partial",
        "ended": finished.status,
        "error": None if finished.error is None else str(finished.error),
        "step": str(finished.h),
        "duration": float(finished.result["time"][-1]),
        "asked": float(finished.seconds),
        "rows": len(finished.result),
        "parameters": {f"{name}.{variable}": value for (name, variable), value in loaded.system.values.items()},
        "writes": [
            {"time": float(w.time), "name": w.name, "value": w.value}
            for w in _all_writes(request, loaded, finished.seconds)
        ],
        "units": {each.name: hash_of(each.path) for each in components if isinstance(each, FmuComponent)},
        "notes": list(loaded.notes),
        "versions": versions(),
        "command": command,
    }


@contextmanager
def scenario_system(request: Request) -> Iterator[System]:
    """A scenario's units as FMU files, wired and set, for as long as they are looked at."""
    with tempfile.TemporaryDirectory() as folder:
        system = System()
        try:
            assemble(system, request.scenario, request.parameters(), units_as_files(request.scenario, Path(folder)))
            yield system
        finally:
            system.close()


def export_package(request: Request, path: Path) -> Path:
    """Write a scenario's units, wiring, values and schedule as a package."""
    scenario = request.scenario
    if scenario.table is not None:
        raise SimloopError(f"{scenario.name} plays a file of joint positions, which cannot go into a package")
    with scenario_system(request) as system:
        parameters = {f"{component}.{variable}": value for (component, variable), value in system.values.items()}
        plant_step = plant_step_for(parameters)
        located = (plant_step.indicator, plant_step.tolerance) if isinstance(plant_step, Locate) else None
        note = ScheduleNote({}, request.h, located, request.all_writes())
        # A schedule or a name that cannot be is told now, not to whoever opens the package.
        check_writes(system, note.writes, written_inputs(note.schedule(system)), request.seconds)
        return write_ssp(system, path, f"simloop {scenario.name}", stop=float(request.seconds), note=note)


def draw_scenario(name: str) -> str:
    """A scenario as the text of an SVG file."""
    with scenario_system(Request(scenarios.load(name))) as system:
        return draw(system, name)


def draw_package(file: str) -> str:
    """A package, by its path, as the text of an SVG file."""
    loaded = open_package(file)
    try:
        return draw(loaded.system, loaded.name)
    finally:
        loaded.system.close()
