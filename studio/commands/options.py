"""Options that several commands take, and what their words mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path

    from simloop.master import TimedWrite
    from simloop.master.component import Value
    from simloop.studio.scenario import Scenario

robot_option = click.option("--robot", metavar="NAME|FILE", help="A robot of simloop's, or your URDF or MJCF file.")
tool_option = click.option(
    "--tool", "tools", multiple=True, metavar="NAME", help="Link or site of the --robot file to move; may be repeated."
)
host_option = click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address of this machine to serve the page at; 0.0.0.0 is all of them.",
)
port_option = click.option("--port", default=8642, show_default=True, help="Its port; 0 takes any that is free.")


def is_given(name: str) -> bool:
    """Whether an option of the command that is called was typed, and is not its default."""
    from click.core import ParameterSource

    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def check_suffix(out: Path, *suffixes: str) -> None:
    """Whether a file is named after what will be in it."""
    from simloop.master import SimloopError

    if out.suffix.lower() not in suffixes:
        raise SimloopError(f"--out is {str(out)!r}; its name must end in {' or '.join(suffixes)}")


def check_output(out: Path) -> None:
    """Asked before there is anything to write: whether a file's folder is there."""
    from simloop.master import SimloopError

    if not out.parent.is_dir():
        raise SimloopError(f"{str(out)!r} cannot be written: there is no folder {str(out.parent)!r}")


def is_package(name: str) -> bool:
    """Whether a name is that of a package, "car.ssp" or "car.ssp#Hybrid.ssd", and not of a scenario."""
    return name.partition("#")[0].lower().endswith(".ssp")


def load_scenario(name: str, robot: str | None, tools: tuple[str, ...]) -> Scenario:
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
        raise SimloopError(f"{scenario.name} is about its own robot and takes no --robot; step and teleop do")
    loaded = load_robot(robot, tools)
    for note in loaded.notes:
        click.echo(f"{loaded.robot.name}: {note}")
    return scenario.fit(loaded.robot)


def read_settings(texts: Iterable[str]) -> dict[str, Value | Sequence[Value]]:
    """What each --set says."""
    return dict(map(_setting, texts))


def read_writes(texts: Iterable[str]) -> tuple[TimedWrite, ...]:
    """What each --at says."""
    return tuple(map(_timed_write, texts))


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
