"""Which CAN bus: python-can's name of the interface, and its channel."""

from __future__ import annotations

import importlib
import logging
from dataclasses import dataclass
from typing import Any

# What the packages have to say goes to whoever listens, not to the terminal: what matters the driver tells.
for _name in ("can", "canopen"):
    logging.getLogger(_name).addHandler(logging.NullHandler())

# Between processes with no CAN hardware and no rights: frames in UDP datagrams.
MULTICAST = "udp_multicast"


def import_extra(name: str) -> Any:
    """A package that only CANopen needs."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ValueError("drives on CANopen need more packages: pip install 'simloop[canopen]'") from None


@dataclass(frozen=True)
class BusAddress:
    """`virtual` reaches this process only, `udp_multicast` others on this network (its channel is a multicast address
    and it has a `port`), `socketcan` a CAN bus; python-can knows more."""

    interface: str = "virtual"
    channel: str = "simloop"
    port: int = 43113

    def open(self) -> Any:
        """The python-can bus."""
        can = import_extra("can")
        extra = {"port": self.port} if self.interface == MULTICAST else {}
        try:
            return can.Bus(interface=self.interface, channel=self.channel, **extra)
        except (can.CanError, OSError, ValueError) as error:
            raise ValueError(f"the bus {self} cannot be opened: {error}") from None

    def __str__(self) -> str:
        return f"{self.interface} {self.channel!r}"
