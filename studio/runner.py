"""Run a scenario: build its units, run the loop, and judge it."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import FrameType

from simloop.fmus.export import build, instantiate
from simloop.master import (
    Account,
    Claimed,
    Component,
    FmuComponent,
    Locate,
    ObjectComponent,
    Pace,
    Result,
    SimloopError,
    Step,
    StepError,
    System,
    UnitError,
    run,
    simulation_in_the_loop,
)
from simloop.master.schedule import Operation
from simloop.studio.real_robot import check_robot, connect_robot
from simloop.studio.request import BY_HAND, COMPLETE, FAILED, INTERRUPTED, Cut, Finished, Request
from simloop.studio.results import TABLE, check_folder, publish, write_results
from simloop.studio.scenario import Outcome, Parameters, Scenario, Settings
from simloop.studio.view.live import Live, OtherScenario

# An error in the instant of one bounce grows in the next ones: a thousandth of the nanosecond that is promised, s.
TOUCH_TOLERANCE = 1e-12

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

ComponentMaker = Callable[[str, str], Component]
Progress = Callable[[int, int], None]
Stopped = Callable[[], int | None]


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
    stopped: Stopped | None = None,
) -> Finished:
    """Run on FMU files and write the results to `out`, all at the end: bad input, or a run that is ended before its
    first step, leaves no trace there. With `live` a person watches, steers, and begins again; the last repetition is
    what is written. Signals are listened for here unless the caller does and says so by `stopped`."""
    check_folder(out)
    listening = stop_on_signal() if stopped is None else nullcontext(stopped)
    with listening as stopped, tempfile.TemporaryDirectory() as temporary:
        staging = Path(temporary)
        make = units_as_files(request.scenario, staging / "units")
        finished = _run_all(request, make, staging, progress, stopped, live)
        if not finished.is_nothing:
            write_results(request, finished, staging, csv, command)
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
    watch = Watch(progress, int(request.length / request.h), stopped)
    pace = _pace(request, stopped)
    if live is None:
        result, parameters, error = _run_once(request, settings, make, watch, pace)
    else:
        result, parameters, error = _run_live(request, settings, make, watch, live, pace)
        # What it is compared with is as long as it was, and is written to as it was.
        ran = (len(result) - 1) * request.h
        cut = Cut(ran, BY_HAND) if 0 < ran < request.seconds else None
        request = replace(request, cut=cut, replayed=tuple(live.writes))
    whole = error is None and result.complete
    others: dict[str, tuple[Result, Parameters]] = {}
    for variant in scenario.variants(parameters, h) if whole else ():
        try:
            changes = variant.changes
            other, changed, error = _run_once(request, {**settings, **changes}, make, watch, held=changes)
        except UnitError as refused:
            error = refused
            whole = False
            break
        whole = error is None and other.complete
        if not whole:
            break
        others[variant.label] = (other, changed)
    written = tuple(write.name for write in request.all_writes())
    outcome = Outcome(result, parameters, h, float(request.length), others, scenario.control, request.plant, written)
    figures = scenario.judge(outcome) if whole else {}
    ended = COMPLETE if request.cut is None else request.cut.ended
    status = ended if whole else FAILED if error else INTERRUPTED
    lateness = None if pace is None else pace.lateness()
    return Finished(outcome, figures, status, error, stopped(), lateness, None if live is None else tuple(live.writes))


def _run_live(
    request: Request, settings: Settings, make: ComponentMaker, watch: Watch, live: Live, pace: Pace | None
) -> tuple[Result, Parameters, SimloopError | None]:
    """Runs until a person is content with one; it is whole where the person ended it. Parameters that are refused are
    told, and the run begins again with those before."""
    good = dict(settings)
    while True:
        try:
            result, parameters, error = _run_once(request, settings, make, watch, pace, live)
        except SimloopError as refused:
            if settings == good:
                raise
            live.tell(str(refused))
            settings.clear()
            settings.update(good)
            continue
        good = dict(settings)
        if live.again is None and live.other is None:
            live.hold(result, "" if error is None else str(error), watch.keep_going)
        if live.other is not None and watch.keep_going(0):
            raise OtherScenario(live.other)
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
    held: Iterable[str] = (),
) -> tuple[Result, Parameters, SimloopError | None]:
    """One run, with its parameters by full name; a unit that fails on the way, or a deadline that is missed in a strict
    run, gives the record up to there. What is `held` is not written on the way."""
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
                duration=request.length,
                writes=request.all_writes(held),
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
            os.write(2, b"simloop: stopping; what was run so far is kept\n")
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
