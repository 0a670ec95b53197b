"""The command `simloop`. Heavy imports wait until a command needs them: --help must answer at once."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from simloop.studio.emulate import emulate

if TYPE_CHECKING:
    from fractions import Fraction

    from simloop.master import TimedWrite
    from simloop.master.component import Value
    from simloop.studio.runner import Finished, Progress, Request
    from simloop.studio.scenario import Scenario
    from simloop.studio.view.live import Live
    from simloop.studio.view.viewer import Address

BAD_INPUT, FAILED, SIGNALLED = 2, 1, 128


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="simloop")
def main() -> None:
    """Co-simulation on FMI for robot arms: the controller is a simulation, rolled back every step."""


main.add_command(emulate)


@main.command("list")
def list_command() -> None:
    """List the scenarios and the robots."""
    from simloop.models import robots
    from simloop.studio import scenarios

    width = max(len(name) for name in scenarios.names())
    click.echo("Scenarios (simloop run NAME):")
    for name in scenarios.names():
        click.echo(f"  {name:<{width}}  {scenarios.load(name).title}")
    click.echo("Robots (simloop run step --robot NAME, or the path of your own URDF or MJCF file):")
    for name in robots.names():
        click.echo(f"  {name}")


_robot_option = click.option("--robot", metavar="NAME|FILE", help="A robot of simloop's, or your URDF or MJCF file.")
_tool_option = click.option(
    "--tool", "tools", multiple=True, metavar="NAME", help="Link or site of the --robot file to move; may be repeated."
)


_host_option = click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address of this machine to serve the page at; 0.0.0.0 is all of them.",
)
_port_option = click.option("--port", default=8642, show_default=True, help="Its port; 0 takes any that is free.")


@main.command("run")
@click.argument("scenario", metavar="SCENARIO|FILE.ssp")
@_robot_option
@_tool_option
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
    help="Set a free input at a time, such as 1.5:plant.f_ext=20.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the results; runs/SCENARIO unless given.")
@click.option("--csv", is_flag=True, help="Also write signals.csv.")
@click.option("--pace", type=float, help="Run by the wall clock: 1 is real time, 0.5 half as fast.")
@click.option("--strict", is_flag=True, help="Stop a paced run at the first deadline that it misses.")
@click.option("--algorithm", metavar="NAME", help="For a FILE.ssp: jacobi, gauss-seidel or iterative.")
@click.option("-v", "--verbose", is_flag=True, help="Say what each unit cost: steps, rollbacks, seconds.")
@click.option("--view", is_flag=True, help="Watch and steer it in a browser while it runs.")
@click.option("--open", "shows", is_flag=True, help="On a desktop, open the page or else the report in a browser.")
@_host_option
@_port_option
@click.option(
    "--replay",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Do again what a person did in a live run: the operator.json of its folder.",
)
def run_command(
    scenario: str,
    robot: str | None,
    tools: tuple[str, ...],
    control: str | None,
    plant: str | None,
    shadow: bool,
    step: str | None,
    duration: str | None,
    seed: int | None,
    settings: tuple[str, ...],
    writes: tuple[str, ...],
    out: Path | None,
    csv: bool,
    pace: float | None,
    strict: bool,
    algorithm: str | None,
    verbose: bool,
    view: bool,
    shows: bool,
    host: str,
    port: int,
    replay: Path | None,
) -> None:
    """Run SCENARIO on FMU files and write run.json, signals.parquet and report.html.

    Run a system structure package, FILE.ssp, and write run.json and signals.parquet.
    """
    if _is_package(scenario):
        of_scenarios: dict[str, object] = {
            "--robot": robot,
            "--tool": tools,
            "--control": control,
            "--plant": plant,
            "--seed": seed,
        }
        of_scenarios |= {"--pace": pace, "--strict": strict, "--shadow": shadow, "--view": view, "--replay": replay}
        of_scenarios |= {"--open": shows, "-v": verbose}
        _run_package(scenario, of_scenarios, step, duration, settings, writes, out, csv, algorithm)
        return
    with _clear_errors():
        from simloop.master import SimloopError
        from simloop.studio.runner import Request, run_to_folder

        chosen = _load(scenario, robot, tools)
        if algorithm is not None:
            raise SimloopError("--algorithm goes with a FILE.ssp; a scenario has its own, the simulation in the loop")
        if strict and pace is None:
            raise SimloopError("--strict goes with a --pace, such as --pace 1")
        if control is not None:
            chosen = _controlled_by(chosen, control)
        chosen_settings = dict(map(_setting, settings))
        if plant is not None:
            _check_plant(plant)
        elif shadow:
            raise SimloopError("--shadow goes with a --plant, such as --plant canopen")
        if shadow:
            chosen_settings = {"plant.shadow": True, **chosen_settings}
        request = Request(
            chosen,
            step=step or "1/200",
            duration=duration,
            seed=seed,
            settings=chosen_settings,
            writes=tuple(map(_timed_write, writes)),
            pace=pace,
            strict=strict,
            timed=verbose,
            plant=plant or "plant",
        )
        if replay is not None:
            request = _replayed(request, replay, view)
        folder = out or Path("runs") / scenario
        command = shlex.join(["simloop", *sys.argv[1:]])
        with ExitStack() as stack:
            progress = stack.enter_context(_progress_bar(scenario)) if not view else lambda done, total: None
            live = None
            if view:
                request, live, address = _open_view(request, stack, host, port)
                _tell_address(address)
                _open_on_desktop(address.url, shows)
            finished = run_to_folder(request, folder, csv=csv, command=command, progress=progress, live=live)
        _tell(request, finished, folder)
        for line in finished.outcome.result.account.lines() if verbose else ():
            click.echo(line)
        if not view:
            _open_on_desktop((folder / "report.html").absolute().as_uri(), shows)
    if finished.stopped_by is not None:
        sys.exit(SIGNALLED + finished.stopped_by)
    if finished.error is not None:
        sys.exit(FAILED)


def _is_package(name: str) -> bool:
    """Whether a name is that of a package, "car.ssp" or "car.ssp#Hybrid.ssd", and not of a scenario."""
    return name.partition("#")[0].lower().endswith(".ssp")


def _run_package(
    file: str,
    of_scenarios: Mapping[str, object],
    step: str | None,
    duration: str | None,
    settings: tuple[str, ...],
    writes: tuple[str, ...],
    out: Path | None,
    csv: bool,
    algorithm: str | None,
) -> None:
    with _clear_errors():
        from simloop.master import SimloopError
        from simloop.studio.packages import PackageRequest, run_package

        for name, value in of_scenarios.items():
            # By identity: a seed of 0 is given, too.
            if value is not None and value is not False and value != ():
                raise SimloopError(f"{name} goes with a scenario, not with a package; --set changes what is in one")
        set_, at = dict(map(_setting, settings)), tuple(map(_timed_write, writes))
        request = PackageRequest(file, step, duration, set_, at, algorithm)
        folder = out or Path("runs") / Path(file.partition("#")[0]).stem
        command = shlex.join(["simloop", *sys.argv[1:]])
        with _progress_bar(Path(file).name) as progress:
            finished = run_package(request, folder, csv=csv, command=command, progress=progress)
        for note in finished.loaded.notes:
            click.echo(f"{file}: {note}")
        state = "complete," if finished.status == "complete" else f"partial, {finished.status} after"
        click.echo(f"{finished.loaded.name}: {state} {len(finished.result) - 1} steps of {finished.h} s")
        if finished.error is not None:
            click.echo(f"simloop: {finished.error}", err=True)
        click.echo(f"signals: {folder / 'signals.parquet'}")
    if finished.stopped_by is not None:
        sys.exit(SIGNALLED + finished.stopped_by)
    if finished.error is not None:
        sys.exit(FAILED)


@main.command("export-ssp")
@click.argument("scenario")
@_robot_option
@_tool_option
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="SCENARIO.ssp unless given.")
@click.option("--step", default="1/200", show_default=True, help="Macro step in s that the package will ask for.")
@click.option("--duration", help="Length of the default experiment in s; the scenario's own unless given.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a parameter, as run does.")
@click.option("--at", "writes", multiple=True, metavar="TIME:NAME=VALUE", help="Set a free input at a time, likewise.")
def export_ssp_command(
    scenario: str,
    robot: str | None,
    tools: tuple[str, ...],
    out: Path | None,
    step: str,
    duration: str | None,
    settings: tuple[str, ...],
    writes: tuple[str, ...],
) -> None:
    """Write SCENARIO as a system structure package (SSP 1.0) that other tools open."""
    with _clear_errors():
        from simloop.studio.packages import export_package
        from simloop.studio.runner import Request

        request = Request(
            _load(scenario, robot, tools),
            step=step,
            duration=duration,
            settings=dict(map(_setting, settings)),
            writes=tuple(map(_timed_write, writes)),
        )
        click.echo(str(export_package(request, out or Path(f"{scenario}.ssp"))))


@main.command("graph")
@click.argument("system", metavar="SCENARIO|FILE.ssp")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="An .svg file; SYSTEM.svg unless given."
)
def graph_command(system: str, out: Path | None) -> None:
    """Draw the components and connections of a scenario or a package as SVG, algebraic loops in colour."""
    with _clear_errors():
        from simloop.studio.packages import draw_package, draw_scenario

        picture = draw_package(system) if _is_package(system) else draw_scenario(system)
        path = out or Path(f"{Path(system.partition('#')[0]).stem}.svg")
        path.write_text(picture, encoding="utf-8")
        click.echo(str(path))


@main.command("view")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@_host_option
@_port_option
def view_command(folder: Path, host: str, port: int) -> None:
    """Play a recorded run, the results in FOLDER, in a browser."""
    with _clear_errors():
        from simloop.studio.view import need_view

        need_view()
        from simloop.studio.view.recorded import serve_recorded
        from simloop.studio.view.viewer import Address

        serve_recorded(folder, Address(host, port), _tell_address)


@main.command("report")
@click.argument("first", type=click.Path(path_type=Path, file_okay=False))
@click.argument("second", type=click.Path(path_type=Path, file_okay=False))
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), default=Path("compare.html"))
def report_command(first: Path, second: Path, out: Path) -> None:
    """Compare the runs in two folders in one page, and say where they part first."""
    with _clear_errors():
        from simloop.studio.archive import read_archive
        from simloop.studio.side_by_side import write_side_by_side

        click.echo(write_side_by_side(out, read_archive(first), read_archive(second)))
        click.echo(f"report: {out}")


@main.command("plot")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--figure", "name", metavar="NAME", help="One graph of S1's table 2, such as force-comparison.")
@click.option("--matrix", is_flag=True, help="All six of them.")
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help=".pdf, .svg or .png")
def plot_command(folder: Path, name: str | None, matrix: bool, out: Path) -> None:
    """Draw a figure for a paper from the run in FOLDER."""
    with _clear_errors():
        from simloop.master import SimloopError
        from simloop.studio import figures
        from simloop.studio.archive import read_archive

        if matrix == (name is not None):
            raise SimloopError("name either one --figure, such as force-comparison, or --matrix")
        if name is not None:
            figures.write_figure(out, read_archive(folder), figures.graph_of(name))
        else:
            figures.write_matrix(out, read_archive(folder))
        click.echo(f"figure: {out}")


@main.command("export-gltf")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="A .glb file.")
def export_gltf_command(folder: Path, out: Path) -> None:
    """Write the motion of the run in FOLDER as glTF, for Blender and slides."""
    with _clear_errors():
        from simloop.studio.archive import read_archive
        from simloop.studio.gltf import write_gltf

        write_gltf(out, read_archive(folder))
        click.echo(f"motion: {out}")


@main.command("compare-controllers")
@click.option("--robot", "robots", multiple=True, metavar="NAME", help="sphere or yumi; both unless given; repeatable.")
@click.option("--step", "steps", multiple=True, metavar="STEP", help="In s; 1/200 and 1/2000 unless given; repeatable.")
@click.option("--mass-error", "mass_errors", type=float, multiple=True, help="0 and 0.1 unless given; repeatable.")
@click.option("--noise", "noises", type=float, multiple=True, help="m or rad; 0 and 1e-5 unless given; repeatable.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/compare"), show_default=True)
def compare_command(
    robots: tuple[str, ...],
    steps: tuple[str, ...],
    mass_errors: tuple[float, ...],
    noises: tuple[float, ...],
    out: Path,
) -> None:
    """Compare simulation in the loop, computed torque and joint PID; write compare.csv, compare.json, compare.md."""
    with _clear_errors():
        from simloop.studio import compare

        benches = [compare.bench_of(robot) for robot in dict.fromkeys(robots or compare.bench_names())]
        compare.check_results_folder(out)
        axes = (steps or compare.STEPS, mass_errors or compare.MASS_ERRORS, noises or compare.NOISES)
        tables = []
        for bench in benches:
            rows: list[compare.Row] = []
            for row in compare.compare(bench, *axes):
                click.echo(compare.line(row) if rows else compare.head(bench) + compare.line(row))
                rows.append(row)
            click.echo()
            tables.append((bench, rows))
        compare.write_comparison(out, tables, shlex.join(["simloop", *sys.argv[1:]]))
        click.echo(f"table: {out / 'compare.md'}")


@main.command("export")
@click.argument("unit", required=False)
@click.option("--all", "every", is_flag=True, help="Every unit, into the folder OUT.")
@_robot_option
@_tool_option
@click.option("--scenario", help="Take robot and scene from a scenario instead of --robot.")
@click.option("--bundle", is_flag=True, help="Put simloop's code inside: the other machine needs no simloop.")
@click.option("--native", is_flag=True, help="In plain C, with sources: needs no Python at all; collision only.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="The .fmu file; the folder with --all.")
def export_command(
    unit: str | None,
    every: bool,
    robot: str | None,
    tools: tuple[str, ...],
    scenario: str | None,
    bundle: bool,
    native: bool,
    out: Path | None,
) -> None:
    """Write UNIT, such as plant, as an .fmu file that runs in other tools, also in those that are not Python."""
    with _clear_errors():
        from simloop.master import SimloopError
        from simloop.studio import scenarios
        from simloop.studio.robots import load_robot
        from simloop.studio.unit_files import export

        if (scenario is None) == (robot is None):
            raise SimloopError("name either a --robot or a --scenario, such as --robot yumi")
        if tools and robot is None:
            raise SimloopError("--tool goes with a --robot file")
        if (unit is None) != every:
            raise SimloopError("name one unit, such as plant, or --all")
        if scenario is not None:
            chosen = scenarios.load(scenario)
            subject, obstacles = chosen.robot, chosen.obstacles
        elif robot is not None:
            subject, obstacles = load_robot(robot, tools).robot, ()
        for path in export(unit, subject, obstacles, out, bundle=bundle, native=native):
            click.echo(str(path))


@main.command("info")
@click.argument("unit", required=False, type=click.Path(path_type=Path))
@_robot_option
@_tool_option
def info_command(unit: Path | None, robot: str | None, tools: tuple[str, ...]) -> None:
    """Show what a UNIT (an .fmu file) offers: its ports, units and abilities; or what a --robot is."""
    with _clear_errors():
        from simloop.master import SimloopError
        from simloop.master.describe import describe_unit
        from simloop.studio.robots import describe_robot, load_robot

        if (unit is None) == (robot is None):
            raise SimloopError("name either an .fmu file or a --robot, such as units/plant.fmu or --robot arm.urdf")
        if unit is not None:
            click.echo(describe_unit(unit))
        elif robot is not None:
            click.echo(describe_robot(load_robot(robot, tools)))


@main.command("validate")
@click.argument("unit", type=click.Path(path_type=Path))
def validate_command(unit: Path) -> None:
    """Check a UNIT (an .fmu file): FMI's rules, and whether its state is restored as it says."""
    with _clear_errors():
        from simloop.master.describe import problems_of

        problems, verdict = problems_of(unit)
    for problem in problems:
        click.echo(f"simloop: {str(unit)!r}: {problem}", err=True)
    if problems:
        sys.exit(BAD_INPUT)
    assert verdict is not None
    click.echo(f"{unit}: valid; state: {verdict.state.judgement.value}; written: {verdict.written.judgement.value}")


def _load(name: str, robot: str | None, tools: tuple[str, ...]) -> Scenario:
    """The scenario, or the same with another robot; what was decided in reading that is told on the terminal."""
    from simloop.master import SimloopError
    from simloop.studio import scenarios
    from simloop.studio.robots import load_robot

    scenario = scenarios.load(name)
    if robot is None:
        if tools:
            raise SimloopError("--tool goes with a --robot file")
        return scenario
    if scenario.fit is None:
        raise SimloopError(f"{scenario.name} is about its own robot and takes no --robot; simloop run step does")
    loaded = load_robot(robot, tools)
    for note in loaded.notes:
        click.echo(f"{loaded.robot.name}: {note}")
    return scenario.fit(loaded.robot)


def _replayed(request: Request, path: Path, view: bool) -> Request:
    """The request with what a person did in a live run, and as long as that was."""
    from dataclasses import replace

    from simloop.master import SimloopError
    from simloop.studio.session import read_session

    session = read_session(path)
    if view:
        raise SimloopError("--replay does again what was done; it does not go with --view")
    if session.scenario != request.scenario.name:
        raise SimloopError(f"{str(path)!r} is a session of {session.scenario}, not of {request.scenario.name}")
    steered = request.scenario.steered
    return replace(
        request,
        scenario=steered() if steered is not None else request.scenario,
        step=str(session.h),
        duration=str(session.steps * session.h),
        settings={**session.parameters, **(request.settings or {})},
        replayed=session.writes,
    )


def _open_view(request: Request, stack: ExitStack, host: str, port: int) -> tuple[Request, Live, Address]:
    """The request with a person at the controls, what connects the two, and the page's address."""
    from dataclasses import replace

    from simloop.master import SimloopError
    from simloop.studio.view import need_view

    need_view()
    from simloop.studio.report import goals_of
    from simloop.studio.view.live import Live
    from simloop.studio.view.viewer import Address, Viewer, playbill_of

    if request.strict:
        raise SimloopError("--strict does not go with --view, where a person pauses and steps")
    if request.scenario.steered is not None:
        request = replace(request, scenario=request.scenario.steered())
    chosen = request.scenario
    address = Address(host, port)
    goals = goals_of(request.parameters(), len(chosen.robot.tools))
    bill = playbill_of(chosen.name, chosen.title, chosen.robot, chosen.obstacles, goals)
    viewer = stack.enter_context(Viewer(address, bill))
    return replace(request, pace=None), Live(viewer.open, speed=request.pace or 1.0), address


def _tell_address(address: Address) -> None:
    click.echo(f"view: {address.url}")
    if address.warning:
        click.echo(f"warning: {address.warning}", err=True)


def _open_on_desktop(url: str, wanted: bool) -> None:
    """In the user's browser, where there is a screen to show it on."""
    import os
    import webbrowser

    screen = sys.platform in ("darwin", "win32") or any(os.environ.get(n) for n in ("DISPLAY", "WAYLAND_DISPLAY"))
    if wanted and screen:
        webbrowser.open(url)


def _controlled_by(scenario: Scenario, control: str) -> Scenario:
    from dataclasses import replace

    from simloop.fmus.export import CONTROLLERS
    from simloop.master import SimloopError

    if control not in CONTROLLERS:
        raise SimloopError(f"--control is {control!r}; it can be {', '.join(CONTROLLERS[:-1])} or {CONTROLLERS[-1]}")
    return replace(scenario, control=control)


def _check_plant(plant: str) -> None:
    from simloop.fmus.export import DRIVERS
    from simloop.master import SimloopError

    if plant not in DRIVERS:
        raise SimloopError(f"--plant is {plant!r}; it can be {' or '.join(DRIVERS)}")


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Bad input is one sentence on the terminal and exit code 2."""
    from simloop.master import SimloopError

    try:
        yield
    except BrokenPipeError:
        raise
    except (SimloopError, OSError) as error:
        click.echo(f"simloop: {error}", err=True)
        sys.exit(BAD_INPUT)


def _setting(text: str) -> tuple[str, Value | Sequence[Value]]:
    from simloop.master import SimloopError

    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise SimloopError(f"--set {text!r} is not NAME=VALUE, such as plant.mass_error=0.1")
    parts = [part.strip() for part in value.split(",")]
    return name.strip(), parts[0] if len(parts) == 1 else parts


def _timed_write(text: str) -> TimedWrite:
    from simloop.master import SimloopError, TimedWrite

    time, colon, setting = text.partition(":")
    if not colon:
        raise SimloopError(f"--at {text!r} is not TIME:NAME=VALUE, such as 1.5:plant.f_ext=20")
    name, value = _setting(setting)
    if not isinstance(value, str):
        raise SimloopError(f"--at {text!r} sets more than one value; name one element, such as plant.f_ext[1]")
    return TimedWrite(_moment(time), name, value)


def _moment(text: str) -> Fraction:
    from fractions import Fraction

    from simloop.master import SimloopError

    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise SimloopError(f"the time of --at is {text!r}; it must be a time in s such as 1.5") from None


@contextmanager
def _progress_bar(label: str) -> Iterator[Progress]:
    """A bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _tell(request: Request, finished: Finished, folder: Path) -> None:
    from simloop.studio.report import expectation, format_figure, format_lateness

    steps = len(finished.outcome.result) - 1
    state = "complete," if finished.status == "complete" else f"partial, {finished.status} after"
    click.echo(f"{request.scenario.name}: {state} {steps} steps of {request.h} s")
    for figure in finished.figures.values():
        mark = {True: "ok  ", False: "FAIL", None: "    "}[figure.ok]
        line = f"  {mark} {figure.label}: {format_figure(figure)}"
        click.echo(f"{line}   expected {expectation(figure)}" if figure.ok is not None else line)
    if finished.lateness is not None:
        click.echo(f"  pace {request.pace:g}: {format_lateness(finished.lateness)}")
    if finished.error is not None:
        click.echo(f"simloop: {finished.error}", err=True)
    click.echo(f"report: {folder / 'report.html'}")
