"""CiA 402 drives on a bus, emulated, with a simulated arm behind them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from simloop.drivers import canopen_frames as frames
from simloop.drivers.axes import Axes
from simloop.drivers.canopen_bus import import_extra
from simloop.drivers.emulated_arm import EmulatedArm
from simloop.drivers.emulated_drive import OVER_CURRENT, EmulatedDrive
from simloop.drivers.injection import Injection, Trouble, Troubles

# How long the bus is listened to before the drives' watchdogs are looked after, s.
LISTEN = 0.01
ALL_NODES = 0


class EmulatedDrives:
    """The arm moves with SYNC only, one cycle each, so what happens does not depend on how fast it happens; only the
    drives' own watchdogs go by the wall clock. `tell` gets a sentence for each change of a drive's state."""

    def __init__(
        self,
        bus: Any,
        axes: Axes,
        arm: EmulatedArm,
        injections: Sequence[Injection] = (),
        *,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.drives = [EmulatedDrive(axis) for axis in axes.all]
        self.arm = arm
        self.cycles = 0
        """Cycles since the first in which a drive was enabled."""
        self._bus, self._axes, self._troubles = bus, axes, Troubles(injections, arm.n)
        self._tell = tell
        self._by_node = {axis.node: i for i, axis in enumerate(axes.all)}
        self._told = [drive.state for drive in self.drives]
        self._withheld: list[tuple[int, bytes]] = []
        self._counts = axes.counts(arm.q)
        self._cut = False
        self._message = import_extra("can").Message

    def run(self, keep_going: Callable[[], bool]) -> None:
        looked = 0.0
        while keep_going():
            message = self._bus.recv(LISTEN)
            if message is not None and not self._cut:
                self.hear(message.arbitration_id, bytes(message.data))
            if message is None or message.arbitration_id == frames.SYNC or time.monotonic() - looked > LISTEN:
                looked = time.monotonic()
                self.look_after(looked)

    def hear(self, identifier: int, data: bytes) -> None:
        """A frame from the bus."""
        if identifier == frames.SYNC and not data:
            self._sync()
        elif identifier == frames.NMT and len(data) == 2:
            for drive in self.drives:
                if data[1] in (ALL_NODES, drive.axis.node):
                    drive.manage(data[0])
        else:
            base, node = identifier & ~0x7F, identifier & 0x7F
            if node in self._by_node:
                drive = self.drives[self._by_node[node]]
                if base == frames.RPDO1:
                    drive.take(data, time.monotonic())
                elif base == frames.SDO_REQUEST:
                    self._send(frames.SDO_ANSWER + node, drive.serve(data))

    def look_after(self, now: float) -> None:
        """The watchdogs at wall time `now`, s, and what is to be told."""
        for i, drive in enumerate(self.drives):
            drive.watch(now)
            self._cry(drive)
            if drive.state is not self._told[i]:
                self._told[i] = drive.state
                self._tell(f"cycle {self.cycles}: joint {i + 1} {drive.state.words}, torque {drive.torque} per mille")
        if all(drive.braked for drive in self.drives):
            self.arm.brake()

    def _sync(self) -> None:
        self.cycles += self.cycles > 0 or any(not drive.braked for drive in self.drives)
        for joint in self._troubles.begins(Trouble.FAULT, self.cycles):
            self.drives[joint].fail(OVER_CURRENT)
            self._cry(self.drives[joint])
        self._cut |= bool(self._troubles.acts(Trouble.CABLE, self.cycles).any())
        period = max(drive.period for drive in self.drives)
        if period:
            braked = np.array([drive.braked for drive in self.drives])
            tau = self._axes.torque(np.array([float(drive.torque) for drive in self.drives]))
            self.arm.step(tau, self._troubles.push(self.cycles), braked, period)
        stuck = self._troubles.acts(Trouble.STUCK, self.cycles)
        self._counts = np.where(stuck, self._counts, self._axes.counts(self.arm.q))
        self._answer()
        for drive in self.drives:
            drive.sync()

    def _answer(self) -> None:
        for identifier, data in self._withheld:
            self._send(identifier, data)
        self._withheld.clear()
        lost, late = (self._troubles.acts(trouble, self.cycles) for trouble in (Trouble.LOST, Trouble.LATE))
        for i, drive in enumerate(self.drives):
            if not drive.answers or lost[i]:
                continue
            frame = frames.TPDO1 + drive.axis.node, drive.answer(int(self._counts[i]))
            if late[i]:
                self._withheld.append(frame)
            else:
                self._send(*frame)

    def _cry(self, drive: EmulatedDrive) -> None:
        """Send the drive's emergency messages."""
        for data in drive.emergencies:
            self._send(frames.EMERGENCY + drive.axis.node, data)
        drive.emergencies.clear()

    def _send(self, identifier: int, data: bytes) -> None:
        if not self._cut:
            self._bus.send(self._message(arbitration_id=identifier, data=data, is_extended_id=False))
