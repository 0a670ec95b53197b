"""Units as .fmu files: `simloop export`, `info` and `validate`."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from simloop.studio.commands.options import robot_option, tool_option
from simloop.studio.commands.terminal import BAD_INPUT, clear_errors


@click.command("export")
@click.argument("unit", required=False)
@click.option("--all", "every", is_flag=True, help="Every unit, into the folder OUT.")
@robot_option
@tool_option
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
    with clear_errors():
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


@click.command("info")
@click.argument("unit", required=False, type=click.Path(path_type=Path))
@robot_option
@tool_option
def info_command(unit: Path | None, robot: str | None, tools: tuple[str, ...]) -> None:
    """Show what a UNIT (an .fmu file) offers: its ports, units and abilities; or what a --robot is."""
    with clear_errors():
        from simloop.master import SimloopError
        from simloop.master.describe import describe_unit
        from simloop.studio.robots import describe_robot, load_robot

        if (unit is None) == (robot is None):
            raise SimloopError("name either an .fmu file or a --robot, such as units/plant.fmu or --robot arm.urdf")
        if tools and robot is None:
            raise SimloopError("--tool goes with a --robot file")
        if unit is not None:
            click.echo(describe_unit(unit))
        elif robot is not None:
            click.echo(describe_robot(load_robot(robot, tools)))


@click.command("validate")
@click.argument("unit", type=click.Path(path_type=Path))
def validate_command(unit: Path) -> None:
    """Check a UNIT (an .fmu file): FMI's rules, and whether its state is restored as it says."""
    with clear_errors():
        from simloop.master.describe import problems_of

        problems, verdict = problems_of(unit)
    for problem in problems:
        click.echo(f"simloop: {str(unit)!r}: {problem}", err=True)
    if problems:
        sys.exit(BAD_INPUT)
    assert verdict is not None
    click.echo(f"{unit}: valid; state: {verdict.state.judgement.value}; written: {verdict.written.judgement.value}")
