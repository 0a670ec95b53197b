"""ABB robots by Externally Guided Motion: position out, position in, over UDP, as fast as the controller asks."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass

import numpy as np
from simloop.drivers.driver import Command, Condition, Features, Report, RobotStoppedError, Takes
from simloop.drivers.egm_link import FIRST_PORT, LOOPBACK, Address, ArmAxes, Link, arms_of
from simloop.drivers.egm_message import Guidance, Motors, RobotMessage, SensorMessage, decode_robot, encode_sensor
from simloop.models.arm import Vector

# What EGM's cycle is a multiple of, s.
EGM_CYCLE = 0.004
# How long the controller has to begin, s.
CONNECT_TIMEOUT = 10.0


@dataclass
class _Peer:
    """One arm's controller: its link, where it sends from, its last sequence number."""

    axes: ArmAxes
    link: Link
    address: Address | None = None
    sequence: int = -1


class EgmDriver:
    """The controller keeps the time: it sends a message each cycle, and gets the position wanted next.

    One arm of six or seven joints, or two of seven, the second on the next port. Messages of other hosts, broken
    ones and ones with an old sequence number are left out and counted in `refused`; a gap in the numbers is missed
    cycles. EGM has no message that stops: when nothing comes any more the controller stops by its own timeout.
    """

    def __init__(
        self,
        joints: int,
        *,
        interface: str = LOOPBACK,
        port: int = FIRST_PORT,
        peer: str = LOOPBACK,
        reply_timeout: float = 0.05,
        quiet_cycles: int = 5,
    ) -> None:
        self.features = Features("ABB robot by EGM", joints, Takes.POSITION)
        self.refused = 0
        self._arms = arms_of(joints)
        self._interface, self._port, self._peer_address = interface, port, peer
        self._reply_timeout, self._quiet_cycles = reply_timeout, quiet_cycles
        self._peers: list[_Peer] = []
        self._sequence = 0
        self._missed = 0
        self._q, self._v = np.zeros(joints), np.zeros(joints)

    def configure(self, cycle: float) -> None:
        if abs(cycle / EGM_CYCLE - max(1, round(cycle / EGM_CYCLE))) > 1e-9:
            raise ValueError(f"the cycle is {cycle} s; EGM runs in multiples of {EGM_CYCLE} s, so --step 1/250")
        self._cycle = cycle
        for i, axes in enumerate(self._arms):
            port = self._port + i if self._port else 0
            self._peers.append(_Peer(axes, Link(self._interface, port, self._peer_address)))

    @property
    def ports(self) -> list[int]:
        """Where it listens."""
        return [peer.link.port for peer in self._peers]

    def activate(self) -> Report:
        """Wait for the controller, and for some cycles tell it to stay where it is."""
        for peer in self._peers:
            if not self._receive(peer, CONNECT_TIMEOUT):
                raise ValueError(f"no EGM message comes from {self._peer_address} to port {peer.link.port}")
        for _ in range(self._quiet_cycles):
            self._turn(self._q.copy())
        return Report(self._q.copy(), np.zeros(len(self._q)), self._q.copy())

    def exchange(self, command: Command) -> Report:
        before = self._q.copy()
        missed = self._turn(command.q_d)
        if missed is None:
            # Unheard of, the controller takes the arm to its last target and stays.
            self._missed += 1
            return Report(command.q_d.copy(), self._v.copy(), command.q_d.copy(), self._missed)
        # A gap in the numbers is cycles that went by while this one was waited for.
        self._v = (self._q - before) / (self._cycle * (1 + max(self._missed, missed)))
        self._missed = missed
        return Report(self._q.copy(), self._v.copy(), command.q_d.copy(), self._missed)

    def deactivate(self) -> None:
        """Tell the controller to stay where it is, and go."""
        self.stop()

    def stop(self) -> None:
        if self._peers and all(peer.address for peer in self._peers):
            with contextlib.suppress(OSError):
                self._send(self._q)
        for peer in self._peers:
            peer.link.close()
        self._peers.clear()

    def _turn(self, q_d: Vector) -> int | None:
        """Send and receive; how many of the controller's messages were missed, or None when it is not heard of."""
        self._send(q_d)
        gaps = []
        for peer in self._peers:
            newer = self._receive(peer, self._reply_timeout)
            if not newer:
                return None
            gaps.append(newer - 1)
        return max(gaps)

    def _send(self, q_d: Vector) -> None:
        self._sequence += 1
        for peer in self._peers:
            assert peer.address is not None
            joints, external = peer.axes.degrees(q_d)
            stamp = round(1e3 * self._cycle * self._sequence)
            peer.link.send(encode_sensor(SensorMessage(self._sequence, stamp, joints, external)), peer.address)

    def _receive(self, peer: _Peer, timeout: float) -> int:
        """Take in the newest message; by how much its number is newer, 0 when none is."""
        end = time.monotonic() + timeout
        newer, left = 0, timeout
        while left > 0.0 or newer:
            # When one has come, what else has come already is taken too.
            got = peer.link.receive(0.0 if newer else left)
            if got is None and newer:
                break
            if got is not None:
                newer += self._take(peer, *got)
            left = end - time.monotonic()
        return newer

    def _take(self, peer: _Peer, data: bytes, sender: Address) -> int:
        try:
            message = decode_robot(data)
        except ValueError:
            self.refused += 1
            return 0
        if peer.address not in (None, sender) or message.sequence <= peer.sequence:
            self.refused += 1
            return 0
        self._check(message)
        if not peer.axes.take(message.joints, message.external, self._q):
            raise RobotStoppedError(
                Condition.QUICK_STOP, f"the controller tells of {len(message.joints)} joints by EGM"
            )
        newer = message.sequence - peer.sequence if peer.sequence >= 0 else 1
        peer.address, peer.sequence = sender, message.sequence
        return newer

    def _check(self, message: RobotMessage) -> None:
        if message.motors is not Motors.ON or message.guidance is not Guidance.RUNNING:
            motors, guidance = message.motors.name.lower(), message.guidance.name.lower()
            raise RobotStoppedError(Condition.FAULT, f"the controller ended EGM: motors {motors}, guidance {guidance}")
