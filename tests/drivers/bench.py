"""What the drivers' tests share: emulated robots in a thread, and runs against them."""

from __future__ import annotations

import functools
import itertools
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from simloop.drivers.axes import default_axes
from simloop.drivers.canopen_bus import BusAddress
from simloop.drivers.canopen_drives import CanopenDriver
from simloop.drivers.emulate_canopen import EmulatedDrives
from simloop.drivers.emulate_egm import EmulatedController
from simloop.drivers.emulated_arm import EmulatedArm
from simloop.drivers.injection import parse_injection
from simloop.models.arm import Arm
from simloop.models.robots.iiwa import ROBOT
from simloop.studio.request import Finished, Request
from simloop.studio.runner import run_to_folder
from simloop.studio.scenarios.step import make

H = 0.004
HOME = np.array(ROBOT.home)
MODEL = Arm(ROBOT.mjcf)
AXES = default_axes(MODEL)
# Under load an answer can take long; only what is lost on purpose may be missed.
PATIENT = 1.0
_channels = itertools.count()
_scenario = functools.cache(lambda: make(ROBOT))


@contextmanager
def in_a_thread(run: Callable[[Callable[[], bool]], None]) -> Iterator[None]:
    going = threading.Event()
    going.set()
    thread = threading.Thread(target=run, args=(going.is_set,))
    thread.start()
    try:
        yield
    finally:
        going.clear()
        thread.join()


@contextmanager
def emulated_drives(injections: Sequence[str] = (), mass_error: float = 0.0) -> Iterator[tuple[EmulatedDrives, str]]:
    """The iiwa's drives on a bus of their own, and its channel."""
    channel = f"test {os.getpid()} {next(_channels)}"
    bus = BusAddress(channel=channel).open()
    troubles = [parse_injection(text, MODEL.n) for text in injections]
    drives = EmulatedDrives(bus, AXES, EmulatedArm(ROBOT.mjcf, HOME, mass_error), troubles)
    try:
        with in_a_thread(drives.run):
            yield drives, channel
    finally:
        bus.shutdown()


def driver_on(channel: str, **settings: Any) -> CanopenDriver:
    usual = {"reply_timeout": PATIENT, "watchdog": 30.0}
    return CanopenDriver(AXES, BusAddress(channel=channel), **{**usual, **settings})


@contextmanager
def emulated_controller(
    to: Sequence[tuple[str, int]], injections: Sequence[str] = (), **settings: Any
) -> Iterator[EmulatedController]:
    """An EGM controller of the iiwa, which is patient."""
    troubles = [parse_injection(text, MODEL.n) for text in injections]
    arm = EmulatedArm(ROBOT.mjcf, HOME)
    usual = {"patience": PATIENT}
    speed = np.array(ROBOT.max_speed)
    controller = EmulatedController(Arm(ROBOT.mjcf), arm, speed, to, troubles, **{**usual, **settings})
    with in_a_thread(controller.run):
        yield controller


def run_against(plant: str, out: Path, duration: str, **settings: Any) -> Finished:
    """The scenario `step` of the iiwa with a robot in the plant's place."""
    chosen = {
        f"plant.{name}": value for name, value in {"reply_timeout": PATIENT, **settings}.items() if "__" not in name
    }
    others = {name.replace("__", "."): value for name, value in settings.items() if "__" in name}
    request = Request(_scenario(), step="1/250", duration=duration, settings={**chosen, **others}, plant=plant)
    return run_to_folder(request, out, csv=False, command="")


def free_port() -> int:
    """One that nobody listens on now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def seconds(cycles: int) -> str:
    return str(Fraction(cycles, 250))
