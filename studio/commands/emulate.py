"""The commands `simloop emulate …`: robots that are not there, in a process of their own."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import click
from simloop.studio.commands.options import is_given
from simloop.studio.commands.terminal import clear_errors

_INJECT = "KIND@CYCLE[:JOINT][xCOUNT][=SIZE], such as lost@100:2x3 or push@250:4x50=20; may be repeated."


def _shared(command: Callable[..., None]) -> Callable[..., None]:
    trouble = click.option("--inject", "injections", multiple=True, metavar="TROUBLE", help=_INJECT)
    mass = click.option("--mass-error", type=float, default=0.0, help="Masses are 1 + this times the model's.")
    robot = click.option("--robot", required=True, metavar="NAME|FILE", help="A robot of simloop's, or a file.")
    return robot(mass(trouble(command)))


@click.group("emulate")
def emulate_command() -> None:
    """Emulate a robot's drives or controller, with a simulated arm behind, to try a driver on."""


@emulate_command.command("canopen")
@_shared
@click.option("--interface", default="udp_multicast", show_default=True, help="CAN interface, as python-can names it.")
@click.option("--channel", default="239.74.163.2", show_default=True, help="CAN channel, or a multicast address.")
@click.option("--port", type=click.IntRange(1, 65535), default=43113, show_default=True, help="Of udp_multicast.")
@click.option("--config", type=click.Path(path_type=Path), help="TOML file with a [[joint]] for each drive.")
def canopen_command(
    robot: str,
    mass_error: float,
    injections: tuple[str, ...],
    interface: str,
    channel: str,
    port: int,
    config: Path | None,
) -> None:
    """CiA 402 drives on a CANopen bus. The arm moves with each SYNC."""
    import numpy as np
    from simloop.drivers.axes import default_axes, read_axes
    from simloop.drivers.canopen_bus import MULTICAST, BusAddress
    from simloop.drivers.emulate_canopen import EmulatedDrives
    from simloop.drivers.emulated_arm import EmulatedArm
    from simloop.drivers.injection import parse_injection
    from simloop.models.arm import Arm
    from simloop.studio.robots import load_robot

    with clear_errors(ValueError):
        if interface != MULTICAST and is_given("port"):
            raise ValueError(f"--port goes with --interface {MULTICAST}, not with {interface}")
        chosen = load_robot(robot).robot
        model = Arm(chosen.mjcf)
        axes = default_axes(model) if config is None else read_axes(config, model.n)
        troubles = [parse_injection(text, model.n) for text in injections]
        arm = EmulatedArm(chosen.mjcf, np.array(chosen.home), mass_error)
        address = BusAddress(interface, channel, port)
        bus = address.open()
    try:
        drives = EmulatedDrives(bus, axes, arm, troubles, tell=click.echo)
        click.echo(f"{model.n} drives on {address}, nodes {', '.join(str(axis.node) for axis in axes.all)}")
        drives.run(_until_signalled())
    finally:
        bus.shutdown()


@emulate_command.command("egm")
@_shared
@click.option("--interface", default="127.0.0.1", show_default=True, help="Own IPv4 address to send from.")
@click.option("--to", default="127.0.0.1", show_default=True, help="IPv4 address of the driver.")
@click.option("--port", type=click.IntRange(1, 65534), default=6510, show_default=True, help="Of the driver.")
@click.option("--patience", type=float, default=0.05, show_default=True, help="Wait for an answer, s.")
def egm_command(
    robot: str,
    mass_error: float,
    injections: tuple[str, ...],
    interface: str,
    to: str,
    port: int,
    patience: float,
) -> None:
    """An ABB controller in EGM: one arm of six or seven joints, or two of seven."""
    import numpy as np
    from simloop.drivers.egm_link import arms_of
    from simloop.drivers.emulate_egm import EmulatedController
    from simloop.drivers.emulated_arm import EmulatedArm
    from simloop.drivers.injection import parse_injection
    from simloop.models.arm import Arm
    from simloop.studio.robots import load_robot

    with clear_errors(ValueError):
        if not 0.0 < patience < math.inf:
            raise ValueError(f"--patience is {patience:g}; it must be a time in s such as 0.05")
        chosen = load_robot(robot).robot
        model = Arm(chosen.mjcf)
        arm = EmulatedArm(chosen.mjcf, np.array(chosen.home), mass_error)
        speed = np.array(chosen.max_speed) if chosen.max_speed else np.full(model.n, np.inf)
        ends = [(to, port + i) for i in range(len(arms_of(model.n)))]
        troubles = [parse_injection(text, model.n) for text in injections]
        controller = EmulatedController(
            model, arm, speed, ends, troubles, interface=interface, patience=patience, tell=click.echo
        )
    click.echo(f"EGM of {len(ends)} arm{'s' if len(ends) > 1 else ''} to {to}, port {port} on")
    controller.run(_until_signalled())


def _until_signalled() -> Callable[[], bool]:
    heard: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        heard.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, hear)
    return lambda: not heard
