"""Scenarios and packages, looked at and written but not run: `simloop list`, `graph` and `export-ssp`."""

from __future__ import annotations

from pathlib import Path

import click
from simloop.studio.commands.options import (
    check_output,
    check_suffix,
    is_package,
    load_scenario,
    read_settings,
    read_writes,
    robot_option,
    tool_option,
)
from simloop.studio.commands.terminal import clear_errors


@click.command("list")
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


@click.command("graph")
@click.argument("system", metavar="SCENARIO|FILE.ssp")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="An .svg file; SYSTEM.svg unless given."
)
def graph_command(system: str, out: Path | None) -> None:
    """Draw the components and connections of a scenario or a package as SVG, algebraic loops in colour."""
    with clear_errors():
        from simloop.studio.packages import draw_package, draw_scenario

        path = out or Path(f"{Path(system.partition('#')[0]).stem}.svg")
        check_suffix(path, ".svg")
        check_output(path)
        picture = draw_package(system) if is_package(system) else draw_scenario(system)
        path.write_text(picture, encoding="utf-8")
        click.echo(str(path))


@click.command("export-ssp")
@click.argument("scenario")
@robot_option
@tool_option
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="SCENARIO.ssp unless given.")
@click.option("--step", default="1/200", show_default=True, help="Macro step in s that the package will ask for.")
@click.option("--duration", help="Length of the default experiment in s; the scenario's own unless given.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a parameter, as run does.")
@click.option("--at", "writes", multiple=True, metavar="TIME:NAME=VALUE", help="Set something at a time, as run does.")
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
    with clear_errors():
        from simloop.studio.packages import export_package
        from simloop.studio.request import Request

        path = out or Path(f"{scenario}.ssp")
        check_suffix(path, ".ssp")
        request = Request(
            load_scenario(scenario, robot, tools),
            step=step,
            duration=duration,
            settings=read_settings(settings),
            writes=read_writes(writes),
        )
        click.echo(str(export_package(request, path)))
