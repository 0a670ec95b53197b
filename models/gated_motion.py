"""A command that goes towards what is wanted only where its gate lets it, one motor and one step at a time (S3)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from simloop.models.arm import Vector
from simloop.models.gate import ALLOWED, Gate, Motors, Verdict, grant_step

# The most steps granted in one call, so that no command can keep it busy for long.
MOST_GRANTS = 1000


@dataclass
class Progress:
    """The motors as commanded now and the position last granted, which differ in one motor at most: `motor`."""

    m: Vector
    granted: Vector
    motor: int


def hold_at(q: Vector, motors: Motors) -> Progress:
    """A command that rests at joint position q."""
    m = motors.positions(q)
    return Progress(m=m, granted=m.copy(), motor=len(m) - 1)


class GatedMotion:
    """Moves a command at `speed` (rad/s or m/s, a motor each) in steps of at most `step` (rad or m).

    A step is granted when its end is legal, and it is gone to that end before the next is granted. So a smooth command
    slower than `speed` passes as it is, in steps shorter than `step`; a jump becomes whole steps, motor by motor in
    turn. A motor that is refused waits, and is asked again when the others have gone on. Where a call ends within a
    step that place is judged too, and not gone to when it is illegal. While the robot is more than a step away from
    the command nothing moves: what was judged was a way that begins where the robot is.
    """

    def __init__(self, gate: Gate, step: Vector, speed: Vector) -> None:
        self._gate = gate
        self._step = step
        self._speed = speed

    def advance(self, progress: Progress, wanted: Vector, robot: Vector, h: float) -> Verdict | None:
        """Advance `progress` in place by h s towards joint position `wanted`, with the robot at `robot`.

        Returns the verdict on going on, or None while a step granted before is still under way.
        """
        late = self._lag(progress, robot)
        if not late.allowed:
            return late
        target = self._gate.motors.positions(wanted)
        verdict: Verdict | None = None
        left = h
        for _ in range(MOST_GRANTS):
            left, place = self._go(progress, left)
            if not place.allowed:
                return place
            if left <= 0.0:
                break
            turn = (progress.motor + 1) % len(progress.m)
            grant = grant_step(self._gate, progress.m, target, self._step, turn)
            if verdict is None or verdict.allowed:
                verdict = grant.verdict
            if grant.motor < 0:
                break
            progress.motor = grant.motor
            progress.granted[grant.motor] = grant.target
        return verdict

    def _lag(self, progress: Progress, robot: Vector) -> Verdict:
        motors = self._gate.motors
        lag = np.abs(motors.positions(robot) - progress.m)
        worst = int(np.argmax(lag / self._step))
        if lag[worst] <= self._step[worst]:
            return ALLOWED
        behind = motors.say(worst, float(lag[worst]))
        return Verdict("lag", f"the robot is {behind} away from its command at motor {worst + 1}")

    def _go(self, progress: Progress, time: float) -> tuple[float, Verdict]:
        """Move towards the granted end for up to `time` s; the time that is left there, and whether it may be there."""
        i = progress.motor
        before, end = float(progress.m[i]), float(progress.granted[i])
        way = float(self._speed[i]) * time
        if abs(end - before) <= way:
            progress.m[i] = end
            return time - abs(end - before) / float(self._speed[i]), ALLOWED
        progress.m[i] = before + math.copysign(way, end - before)
        place = self._gate.check(self._gate.motors.joints(progress.m))
        if not place.allowed:
            progress.m[i] = progress.granted[i] = before
        return 0.0, place
