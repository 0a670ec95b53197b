"""One arm's UDP link of EGM: sockets, peers that are checked, and joints in ABB's order and in degrees."""

from __future__ import annotations

import ipaddress
import math
import socket
from dataclasses import dataclass

import numpy as np
from simloop.drivers.egm_message import LONGEST
from simloop.models.arm import Vector

# The port that ABB's examples use; each further arm has the next one.
FIRST_PORT = 6510
LOOPBACK = "127.0.0.1"
# ABB's axes 1 to 6 as joints along an arm of seven; axis 7, third along the arm, is an external joint to EGM.
SEVEN, SEVENTH = (0, 1, 3, 4, 5, 6), 2

Address = tuple[str, int]


@dataclass(frozen=True)
class ArmAxes:
    """The joints first … first + count - 1 of the robot, six or seven, as EGM tells them."""

    first: int
    count: int

    def degrees(self, q: Vector) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Joints and external joints of the robot's position q, rad."""
        own = np.degrees(q[self.first : self.first + self.count]).tolist()
        if self.count < 7:
            return tuple(own), ()
        return tuple(own[i] for i in SEVEN), (own[SEVENTH],)

    def take(self, joints: tuple[float, ...], external: tuple[float, ...], q: Vector) -> bool:
        """Write what EGM told into q, rad; False when the numbers of joints are not this arm's."""
        # A controller with no more axes than the arm may send external joints that mean nothing.
        if len(joints) != min(self.count, 6) or (self.count == 7 and not external):
            return False
        own = q[self.first : self.first + self.count]
        if self.count < 7:
            own[:] = np.radians(joints)
        else:
            own[list(SEVEN)], own[SEVENTH] = np.radians(joints), math.radians(external[0])
        return True


def arms_of(n: int) -> tuple[ArmAxes, ...]:
    """A robot of n joints as one arm of six or seven, or as two of seven."""
    if n in (6, 7):
        return (ArmAxes(0, n),)
    if n == 14:
        return ArmAxes(0, 7), ArmAxes(7, 7)
    raise ValueError(f"EGM guides an arm of 6 or 7 joints or two arms of 7; this robot has {n}")


class Link:
    """A UDP socket on the interface named, and no other, that hears one host only."""

    def __init__(self, interface: str, port: int, peer: str) -> None:
        for name, address in (("interface", interface), ("peer", peer)):
            try:
                ipaddress.IPv4Address(address)
            except ValueError:
                raise ValueError(f"the {name} of EGM is {address!r}; it must be an IPv4 address") from None
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((interface, port))
        except OSError as error:
            self._socket.close()
            raise ValueError(f"EGM cannot listen on {interface} port {port}: {error.strerror}") from None
        self.port: int = self._socket.getsockname()[1]
        self._peer = peer
        self.strangers = 0
        """Datagrams from other hosts, which are not looked at."""

    def receive(self, timeout: float) -> tuple[bytes, Address] | None:
        """The next datagram of the peer; None when none came in time. A timeout of 0 does not wait."""
        self._socket.settimeout(timeout)
        try:
            data, sender = self._socket.recvfrom(LONGEST)
        except (TimeoutError, BlockingIOError, ConnectionRefusedError):
            return None
        if sender[0] != self._peer:
            self.strangers += 1
            return None
        return data, sender

    def send(self, data: bytes, to: Address) -> None:
        self._socket.sendto(data, to)

    def close(self) -> None:
        self._socket.close()
