"""An ABB controller's end of EGM, emulated, with a simulated arm behind it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from simloop.drivers.egm_link import LOOPBACK, Address, Link, arms_of
from simloop.drivers.egm_message import (
    Guidance,
    Kind,
    Motors,
    RobotMessage,
    SensorMessage,
    decode_sensor,
    encode_robot,
)
from simloop.drivers.emulated_arm import EmulatedArm
from simloop.drivers.injection import Injection, Trouble, Troubles
from simloop.models.arm import Arm, Vector

# ABB's EGMSetupUC: no message for so long ends EGM, s.
COMM_TIMEOUT = 1.0


@dataclass
class Refused:
    """What was not listened to, by reason."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str) -> None:
        self.counts[reason] = self.counts.get(reason, 0) + 1


class EmulatedController:
    """Sends where the arm is, waits up to `patience` s for where it should go, and moves it there in one cycle of
    `cycle` s, no faster than `speed`. So a cycle is counted, not timed: without an answer the last one stands, and
    COMM_TIMEOUT of cycles without end it, as a target out of range does, in error and with the brakes on.

    Refused are broken messages, ones that are no correction, of another number of joints, not newer than the last, or
    from a host that is not the one that is sent to.
    """

    def __init__(
        self,
        model: Arm,
        arm: EmulatedArm,
        speed: Vector,
        to: Sequence[Address],
        injections: Sequence[Injection] = (),
        *,
        interface: str = LOOPBACK,
        cycle: float = 0.004,
        patience: float = 0.05,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.arm, self.refused = arm, Refused()
        self.guidance = Guidance.RUNNING
        self.cycles = 0
        self.unanswered = 0
        """Cycles without an answer, over the whole run."""
        self._model, self._speed, self._troubles = model, speed, Troubles(injections, arm.n)
        self._cycle, self._patience, self._tell = cycle, patience, tell
        self._arms = arms_of(arm.n)
        self._links = [Link(interface, 0, host) for host, _ in to]
        self._to = list(to)
        self._last = [-1] * len(self._to)
        self._target = arm.q.copy()
        self._shown = arm.q.copy()
        self._waited = 0
        self._begun = False
        self._tau = np.zeros(arm.n)

    def run(self, keep_going: Callable[[], bool]) -> None:
        while keep_going():
            self.turn()
        for link in self._links:
            link.close()

    def turn(self) -> None:
        """One cycle. Until the first answer comes the cycles are not counted, and the brakes are on."""
        self.cycles += self._begun
        if self._troubles.begins(Trouble.FAULT, self.cycles):
            self._end("the controller failed")
        answered = self._talk()
        if answered:
            self._begun = True
            self._waited = 0
        elif self._begun:
            self.unanswered += 1
            self._waited += 1
            if self._waited * self._cycle > COMM_TIMEOUT:
                self._end("no message came in time")
        self._move()

    def _talk(self) -> bool:
        """Send, and take the answers; whether all arms got one."""
        cable, lost, wrong = (
            self._troubles.acts(trouble, self.cycles).any()
            for trouble in (Trouble.CABLE, Trouble.LOST, Trouble.SEQUENCE)
        )
        if cable or lost:
            return False
        sequence = self.cycles if self._begun else 0
        if wrong:
            sequence = max(0, sequence - 2)
        stamp = round(1e3 * self._cycle * self.cycles)
        motors = Motors.ON if self.guidance is Guidance.RUNNING else Motors.OFF
        for axes, link, to in zip(self._arms, self._links, self._to, strict=True):
            joints, external = axes.degrees(self._shown)
            link.send(encode_robot(RobotMessage(sequence, stamp, joints, external, motors, self.guidance)), to)
        if wrong:
            return False
        answered = sum(self._listen(i) for i in range(len(self._links)))
        return answered == len(self._links)

    def _listen(self, i: int) -> bool:
        """Take all that has come, and wait for one that can be used."""
        link, used = self._links[i], False
        end = time.monotonic() + self._patience
        while (left := end - time.monotonic()) > 0.0:
            got = link.receive(0.0 if used else left)
            if got is None and used:
                break
            if got is not None:
                used |= self._accept_data(i, got[0])
        return used

    def _accept_data(self, i: int, data: bytes) -> bool:
        try:
            return self._accept(i, decode_sensor(data))
        except ValueError:
            self.refused.add("broken")
            return False

    def _accept(self, i: int, message: SensorMessage) -> bool:
        target = self._target.copy()
        if message.kind is not Kind.CORRECTION:
            self.refused.add("no correction")
        elif message.sequence <= self._last[i]:
            self.refused.add("old sequence number")
        elif not self._arms[i].take(message.joints, message.external, target):
            self.refused.add("number of joints")
        else:
            low, high = self._model.ranges
            if np.any(target < low) or np.any(target > high):
                self._end("a joint is out of its range")
                return False
            self._last[i] = message.sequence
            self._target = target
            return True
        return False

    def _end(self, why: str) -> None:
        if self.guidance is Guidance.RUNNING:
            self.guidance = Guidance.ERROR
            self._tell(f"cycle {self.cycles}: EGM ended, {why}; brakes on")

    def _move(self) -> None:
        arm = self.arm
        free = self._begun and self.guidance is Guidance.RUNNING
        v_d = np.clip((self._target - arm.q) / self._cycle, -self._speed, self._speed)
        if free:
            self._model.inverse(arm.q, arm.v, v_d, self._cycle, self._tau)
        arm.step(self._tau, self._troubles.push(self.cycles), np.full(arm.n, not free), self._cycle)
        stuck = self._troubles.acts(Trouble.STUCK, self.cycles)
        self._shown = np.where(stuck, self._shown, arm.q)
