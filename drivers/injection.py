"""Faults that an emulator injects at given cycles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from simloop.models.arm import Vector


class Trouble(Enum):
    LOST = "lost"  # a joint's answer is not sent
    LATE = "late"  # it is sent one cycle late
    STUCK = "stuck"  # the joint's encoder keeps telling the same
    FAULT = "fault"  # the joint's drive, or the controller, goes into fault
    CABLE = "cable"  # nothing goes in or out any more
    SEQUENCE = "sequence"  # a message has an old sequence number (EGM)
    PUSH = "push"  # a hand pushes the joint with `size`, N·m or N


@dataclass(frozen=True)
class Injection:
    """From cycle `cycle` on, counted from 1 at the first one with force, for `count` cycles; joints from 1."""

    trouble: Trouble
    cycle: int
    joint: int = 1
    count: int = 1
    size: float = 0.0

    def acts(self, cycle: int) -> bool:
        endless = self.trouble in (Trouble.STUCK, Trouble.CABLE)
        return self.cycle <= cycle and (endless or cycle < self.cycle + self.count)


class Troubles:
    """What is injected into a robot of n joints, by cycle."""

    def __init__(self, injections: Sequence[Injection], n: int) -> None:
        self._injections, self._n = injections, n

    def acts(self, trouble: Trouble, cycle: int) -> NDArray[np.bool_]:
        """Which joints (n) it acts on."""
        joints = np.zeros(self._n, dtype=bool)
        for each in self._injections:
            joints[each.joint - 1] |= each.trouble is trouble and each.acts(cycle)
        return joints

    def begins(self, trouble: Trouble, cycle: int) -> list[int]:
        """The joints, from 0, for which it begins."""
        return [each.joint - 1 for each in self._injections if each.trouble is trouble and each.cycle == cycle]

    def push(self, cycle: int) -> Vector:
        """The force of hands on the joints (n), N·m or N."""
        force = np.zeros(self._n)
        for each in self._injections:
            if each.trouble is Trouble.PUSH and each.acts(cycle):
                force[each.joint - 1] += each.size
        return force


_FORM = re.compile(r"([a-z]+)@(\d+)(?::(\d+))?(?:x(\d+))?(?:=(-?\d+(?:\.\d+)?))?")


def parse_injection(text: str, joints: int) -> Injection:
    """`KIND@CYCLE[:JOINT][xCOUNT][=SIZE]`, such as lost@100:2x3 or push@250:4x50=20."""
    found = _FORM.fullmatch(text)
    kinds = {trouble.value for trouble in Trouble}
    if not found or found[1] not in kinds:
        raise ValueError(f"{text!r} is not KIND@CYCLE[:JOINT][xCOUNT][=SIZE]; kinds are {', '.join(sorted(kinds))}")
    kind, cycle, joint, count, size = found.groups()
    number = int(joint or 1)
    if not 1 <= number <= joints:
        raise ValueError(f"{text!r} is about joint {number}; there are {joints}")
    return Injection(Trouble(kind), int(cycle), number, int(count or 1), float(size or 0.0))
