"""Emulated drives in a process of their own, on CAN over UDP multicast."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.drivers.bench import free_port

can = pytest.importorskip("can")

GROUP = "239.74.163.2"
# How long anything may take on a machine with much to do, s.
LONG = 60.0
SIMLOOP = [sys.executable, "-c", "from simloop.studio.cli import main; main()"]


def multicast_works() -> bool:
    port = free_port()
    try:
        with (
            can.Bus(interface="udp_multicast", channel=GROUP, port=port) as one,
            can.Bus(interface="udp_multicast", channel=GROUP, port=port) as other,
        ):
            one.send(can.Message(arbitration_id=1, data=b"x", is_extended_id=False))
            return other.recv(1.0) is not None
    except (can.CanError, OSError):
        return False


class Emulator:
    """`simloop emulate canopen`, and what it has said so far."""

    def __init__(self, log: Path, *options: str) -> None:
        self.port = free_port()
        self._log = log
        command = [*SIMLOOP, "emulate", "canopen", "--robot", "iiwa", "--port", str(self.port), *options]
        with log.open("w") as file:
            self.process = subprocess.Popen(command, stdout=file)

    def said(self) -> str:
        return self._log.read_text()

    def wait_for(self, words: str, times: int) -> None:
        """Until it has said so that many times."""
        end = time.monotonic() + LONG
        while self.said().count(words) < times:
            assert time.monotonic() < end, self.said()
            time.sleep(0.02)

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(LONG)

    def run_arguments(self, out: Path, *options: str) -> list[str]:
        """Of simloop, for a run on these drives."""
        bus = {"interface": "udp_multicast", "channel": GROUP, "port": self.port}
        settings = [part for name, value in bus.items() for part in ("--set", f"driver.{name}={value}")]
        arguments = ["run", "step", "--robot", "iiwa", "--step", "1/250", "--plant", "canopen"]
        return [*arguments, *settings, "--out", str(out), *options]


@contextmanager
def emulator(folder: Path, *options: str) -> Iterator[Emulator]:
    each = Emulator(folder / "emulator.log", *options)
    try:
        each.wait_for("7 drives on", 1)
        yield each
    finally:
        each.end()
