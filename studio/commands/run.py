"""`simloop run`: a scenario or a package, quietly or with a person who watches and steers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from simloop.studio.commands.options import (
    host_option,
    is_given,
    is_package,
    load_scenario,
    port_option,
    read_settings,
    read_writes,
    robot_option,
    tool_option,
)
from simloop.studio.commands.terminal import (
    FAILED,
    SIGNALLED,
    clear_errors,
    command_line,
    open_on_desktop,
    progress_bar,
    tell_address,
)

if TYPE_CHECKING:
    from simloop.studio.packages import PackageRun
    from simloop.studio.request import Finished, Request


class Words(NamedTuple):
    """The command line of `simloop run`."""

    scenario: str
    robot: str | None
    tools: tuple[str, ...]
    control: str | None
    plant: str | None
    shadow: bool
    step: str | None
    duration: str | None
    seed: int | None
    settings: tuple[str, ...]
    writes: tuple[str, ...]
    out: Path | None
    csv: bool
    pace: float | None
    strict: bool
    algorithm: str | None
    verbose: bool
    view: bool
    shows: bool
    host: str
    port: int
    replay: Path | None


@click.command("run")
@click.argument("scenario", metavar="SCENARIO|FILE.ssp")
@robot_option
@tool_option
@click.option("--control", metavar="NAME", help="Controller: control (the scenario's), computed_torque or pid.")
@click.option("--plant", metavar="NAME", help="A real robot in place of the simulated plant: canopen or egm.")
@click.option("--shadow", is_flag=True, help="Run the simulated plant beside the real one, and compare.")
@click.option("--step", help="Macro step in s, such as 1/2000 or 0.005; 1/200 or the package's own unless given.")
@click.option("--duration", help="Length of the run in s; the scenario's or the package's own unless given.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Seed of the measurement noise; 0 unless given.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a parameter, such as plant.mass_error=0.1 or planner.goal=0,0,1.",
)
@click.option(
    "--at",
    "writes",
    multiple=True,
    metavar="TIME:NAME=VALUE",
    help="Set a free input or a tunable parameter at a time, such as 1.5:plant.f_ext=20.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the results; runs/SCENARIO, or of a replay runs/SCENARIO-replay, unless given.",
)
@click.option("--csv", is_flag=True, help="Also write signals.csv.")
@click.option("--pace", type=float, help="Run by the wall clock: 1 is real time, 0.5 half as fast.")
@click.option("--strict", is_flag=True, help="Stop a paced run at the first deadline that it misses.")
@click.option("--algorithm", metavar="NAME", help="For a FILE.ssp: jacobi, gauss-seidel or iterative.")
@click.option("-v", "--verbose", is_flag=True, help="Say what each unit cost: steps, rollbacks, seconds.")
@click.option("--view", is_flag=True, help="Watch and steer it in a browser while it runs.")
@click.option("--open", "shows", is_flag=True, help="On a desktop, open the page or else the report in a browser.")
@host_option
@port_option
@click.option(
    "--replay",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Do again what a person did in a live run: the operator.json of its folder.",
)
def run_command(**words: Any) -> None:
    """Run SCENARIO on FMU files and write run.json, signals.parquet and report.html.

    Run a system structure package, FILE.ssp, and write run.json and signals.parquet.
    """
    asked = Words(**words)
    with clear_errors():
        _check_page(asked)
        finished = _run_package(asked) if is_package(asked.scenario) else _run_scenario(asked)
    if finished.stopped_by is not None:
        sys.exit(SIGNALLED + finished.stopped_by)
    if finished.error is not None:
        sys.exit(FAILED)


def _check_page(asked: Words) -> None:
    """Whether there is a page where something is said of one."""
    from simloop.master import SimloopError

    for name in ("host", "port"):
        if is_given(name) and not asked.view:
            raise SimloopError(f"--{name} is about the page that --view serves; give it with --view")


def _run_scenario(asked: Words) -> Finished:
    request = _requested(asked)
    if asked.view:
        request, finished = _run_watched(asked, request)
    else:
        finished = _run_quietly(asked, request)
    folder = _folder(asked, request)
    if finished.is_nothing:
        _tell_nothing(request.scenario.name, folder)
        return finished
    _tell(request, finished, folder)
    for line in finished.outcome.result.account.lines() if asked.verbose else ():
        click.echo(line)
    if asked.shows and not asked.view:
        open_on_desktop((folder / "report.html").absolute().as_uri())
    return finished


def _requested(asked: Words) -> Request:
    from dataclasses import replace

    from simloop.studio.request import Request

    chosen = load_scenario(asked.scenario, asked.robot, asked.tools)
    _check_words(asked)
    shadow = {"plant.shadow": True} if asked.shadow else {}
    request = Request(
        chosen if asked.control is None else replace(chosen, control=asked.control),
        step=asked.step or "1/200",
        duration=asked.duration,
        seed=asked.seed,
        settings={**shadow, **read_settings(asked.settings)},
        writes=read_writes(asked.writes),
        pace=asked.pace,
        strict=asked.strict,
        timed=asked.verbose,
        plant=asked.plant or "plant",
    )
    return request if asked.replay is None else _replayed(request, asked, asked.replay)


def _check_words(asked: Words) -> None:
    """Whether they go together, for a scenario."""
    from simloop.fmus.export import CONTROLLERS, DRIVERS
    from simloop.master import SimloopError

    if asked.algorithm is not None:
        raise SimloopError("--algorithm goes with a FILE.ssp; a scenario has its own, the simulation in the loop")
    if asked.strict and asked.pace is None:
        raise SimloopError("--strict goes with a --pace, such as --pace 1")
    if asked.control is not None and asked.control not in CONTROLLERS:
        names = f"{', '.join(CONTROLLERS[:-1])} or {CONTROLLERS[-1]}"
        raise SimloopError(f"--control is {asked.control!r}; it can be {names}")
    if asked.plant is not None and asked.plant not in DRIVERS:
        raise SimloopError(f"--plant is {asked.plant!r}; it can be {' or '.join(DRIVERS)}")
    if asked.shadow and asked.plant is None:
        raise SimloopError("--shadow goes with a --plant, such as --plant canopen")
    if asked.seed is not None and "plant.seed" in read_settings(asked.settings):
        raise SimloopError("--seed and --set plant.seed are the same; give one of them")


def _replayed(request: Request, asked: Words, path: Path) -> Request:
    """The request with what a person did in a live run, as long as that was; what else is asked for changes it."""
    from dataclasses import replace

    from simloop.master import SimloopError
    from simloop.studio.results import TABLE
    from simloop.studio.session import fingerprint_of, read_session

    session, scenario = read_session(path), request.scenario
    if asked.view:
        raise SimloopError("--replay does again what was done; it does not go with --view")
    for name, given, own in (
        ("step", asked.step, f"{session.h} s"),
        ("duration", asked.duration, f"{session.seconds} s"),
        ("seed", asked.seed, str(session.parameters.get("plant.seed", 0))),
    ):
        if given is not None:
            raise SimloopError(f"--{name} does not go with --replay: the session has its own, {own}")
    folder = _folder(asked, request)
    if folder.resolve() == path.resolve().parent:
        # Results replace those of an earlier run, and the session, which no one can do again, is among them.
        raise SimloopError(
            f"{str(folder)!r} is the folder of the session itself; name another one with --out for its replay"
        )
    if session.scenario != scenario.name:
        raise SimloopError(f"{str(path)!r} is a session of {session.scenario}, not of {scenario.name}")
    if session.robot != scenario.robot.name:
        raise SimloopError(
            f"{str(path)!r} is a session with {session.robot}, not with {scenario.robot.name}; give its --robot"
        )
    if session.fingerprint != fingerprint_of(scenario.robot):
        click.echo(f"{session.robot} is not as it was in the session: what comes of it may differ", err=True)
    if scenario.steered is not None:
        scenario = scenario.steered()
    # Beside a session stands the table that its off-line planner played.
    table = {"planner.table": str(path.parent / TABLE)} if (path.parent / TABLE).is_file() else {}
    return replace(
        request,
        scenario=replace(scenario, control=asked.control or session.control),
        step=str(session.h),
        duration=str(session.duration),
        settings={**session.parameters, **table, **(request.settings or {})},
        writes=(*session.asked, *request.writes),
        replayed=session.writes,
        cut=session.cut,
    )


def _folder(asked: Words, request: Request) -> Path:
    name = request.scenario.name
    return asked.out or Path("runs") / (name if asked.replay is None else f"{name}-replay")


def _run_quietly(asked: Words, request: Request) -> Finished:
    from simloop.studio.runner import run_to_folder

    folder = _folder(asked, request)
    with progress_bar(asked.scenario) as progress:
        return run_to_folder(request, folder, csv=asked.csv, command=command_line(), progress=progress)


def _run_watched(asked: Words, request: Request) -> tuple[Request, Finished]:
    """With a person at the controls, in a browser, who may go on to other scenarios; the last one's request."""
    from simloop.master import SimloopError
    from simloop.studio.view import need_view

    need_view()
    from simloop.studio.view.viewer import Address
    from simloop.studio.watched import run_watched

    if asked.strict:
        raise SimloopError("--strict does not go with --view, where a person pauses and steps")
    with Address(asked.host, asked.port) as address:
        tell_address(address)
        if asked.shows:
            open_on_desktop(address.url)
        return run_watched(
            request,
            address,
            folder_for=lambda each: _folder(asked, each),
            csv=asked.csv,
            command=command_line(),
            lost=lambda: click.echo("the page is gone, its process has ended; the run goes on without it", err=True),
        )


def _tell(request: Request, finished: Finished, folder: Path) -> None:
    from simloop.studio.report import expectation, format_figure, format_lateness

    steps = len(finished.outcome.result) - 1
    click.echo(f"{request.scenario.name}: {_state(finished)} {steps} steps of {request.h} s{_part(request, finished)}")
    for figure in finished.figures.values():
        mark = {True: "ok  ", False: "FAIL", None: "    "}[figure.ok]
        line = f"  {mark} {figure.label}: {format_figure(figure)}"
        click.echo(f"{line}   expected {expectation(figure)}" if figure.ok is not None else line)
    if finished.lateness is not None:
        click.echo(f"  pace {request.pace:g}: {format_lateness(finished.lateness)}")
    if finished.error is not None:
        click.echo(f"simloop: {finished.error}", err=True)
    click.echo(f"report: {folder / 'report.html'}")


def _tell_nothing(name: str, folder: Path) -> None:
    click.echo(f"{name}: nothing was run; {folder} is as it was")


def _state(finished: Finished | PackageRun) -> str:
    from simloop.studio.request import BY_HAND, COMPLETE

    if finished.status == COMPLETE:
        return "complete,"
    return f"{BY_HAND} after" if finished.status == BY_HAND else f"partial, {finished.status} after"


def _part(request: Request, finished: Finished) -> str:
    """How much of its time a run took that a person has ended."""
    from simloop.studio.request import BY_HAND

    if finished.status != BY_HAND:
        return ""
    cap = "" if request.scenario.open_ended else f" of {float(request.seconds):g}"
    return f" ({finished.outcome.seconds:g}{cap} s)"


def _run_package(asked: Words) -> PackageRun:
    from simloop.studio.packages import PackageRequest, run_package

    _refuse_of_scenarios(asked)
    settings, writes = read_settings(asked.settings), read_writes(asked.writes)
    request = PackageRequest(asked.scenario, asked.step, asked.duration, settings, writes, asked.algorithm)
    folder = asked.out or Path("runs") / Path(asked.scenario.partition("#")[0]).stem
    with progress_bar(Path(asked.scenario).name) as progress:
        finished = run_package(request, folder, csv=asked.csv, command=command_line(), progress=progress)
    if finished.is_nothing:
        _tell_nothing(finished.loaded.name, folder)
        return finished
    for note in finished.loaded.notes:
        click.echo(f"{asked.scenario}: {note}")
    click.echo(f"{finished.loaded.name}: {_state(finished)} {len(finished.result) - 1} steps of {finished.h} s")
    if finished.error is not None:
        click.echo(f"simloop: {finished.error}", err=True)
    click.echo(f"signals: {folder / 'signals.parquet'}")
    return finished


def _refuse_of_scenarios(asked: Words) -> None:
    """What only a scenario takes."""
    from simloop.master import SimloopError

    given = {
        "--robot": asked.robot is not None,
        "--tool": asked.tools,
        "--control": asked.control is not None,
        "--plant": asked.plant is not None,
        "--seed": asked.seed is not None,
        "--pace": asked.pace is not None,
        "--strict": asked.strict,
        "--shadow": asked.shadow,
        "--view": asked.view,
        "--replay": asked.replay is not None,
        "--open": asked.shows,
        "-v": asked.verbose,
    }
    for name, typed in given.items():
        if typed:
            raise SimloopError(f"{name} goes with a scenario, not with a package; --set changes what is in one")
