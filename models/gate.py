"""Which positions an arm may be commanded to, and how far a commanded move gets (S3).

A gate judges one position. A move is judged as S3 does it: one motor and one step at a time, each step's end judged
before it is granted; where no motor may go on the move stops.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from simloop.models.arm import Arm, Vector
from simloop.models.clearance import Clearance

# A motor at its end position, gone there in steps, is past it by rounding only: rad or m.
ROUNDING = 1e-9
# A move of more steps than this is not walked to its end.
MOST_STEPS = 100_000


@dataclass(frozen=True)
class Verdict:
    """What a gate says of a position: allowed, or the rule that it breaks and where, for a person."""

    rule: str = ""
    reason: str = ""

    @property
    def allowed(self) -> bool:
        return not self.rule


ALLOWED = Verdict()


@dataclass(frozen=True, eq=False)
class Motors:
    """How motors move joints, q = joints_per_motor · m, and between which end positions; rad or m.

    Motors are counted from 1, as S3 does.
    """

    joints_per_motor: Vector
    low: Vector
    high: Vector
    slides: tuple[bool, ...]

    def joints(self, m: Vector) -> Vector:
        q: Vector = self.joints_per_motor @ m
        return q

    def positions(self, q: Vector) -> Vector:
        """Where the motors are when the joints are at q."""
        m: Vector = self._motors_per_joint @ q
        return m

    @cached_property
    def _motors_per_joint(self) -> Vector:
        return np.asarray(np.linalg.inv(self.joints_per_motor), dtype=np.float64)

    def each(self, angle: float, length: float) -> Vector:
        """`angle` for each motor that turns, `length` for each that slides."""
        return np.where(self.slides, length, angle)

    def say(self, motor: int, value: float) -> str:
        """A motor's position in the units of S3, degrees and mm."""
        return f"{1e3 * value:.4g} mm" if self.slides[motor] else f"{math.degrees(value):.4g}°"

    def check(self, m: Vector) -> Verdict:
        """The static condition of S3: each motor within its end positions."""
        within = (m >= self.low - ROUNDING) & (m <= self.high + ROUNDING)
        if not within.all():
            i = int(np.argmin(within))
            ends = f"{self.say(i, self.low[i])} to {self.say(i, self.high[i])}"
            return Verdict(f"motor {i + 1}", f"motor {i + 1} at {self.say(i, m[i])} is outside {ends}")
        return ALLOWED


def direct_motors(arm: Arm) -> Motors:
    """One motor a joint, with the joint's range."""
    limited = arm.model.jnt_limited.astype(bool)
    low, high = (np.where(limited, arm.model.jnt_range[:, k], end) for k, end in ((0, -np.inf), (1, np.inf)))
    return Motors(np.eye(arm.n), low, high, tuple(unit == "m" for unit in arm.units))


class Gate(Protocol):
    """Judges joint positions. The same position gets the same verdict whatever was asked before."""

    @property
    def motors(self) -> Motors: ...

    def check(self, q: Vector) -> Verdict:
        """Whether the joints may be at q, m or rad in joint order."""


class ClearanceGate:
    """The gate of any arm: motors within their ends, and the arm's polyhedra `margin` m clear of each other and of
    what stands around."""

    def __init__(self, arm: Arm, margin: float = 0.0, motors: Motors | None = None) -> None:
        if margin < 0.0:
            raise ValueError(f"margin is {margin}; it must not be negative")
        self.motors = motors or direct_motors(arm)
        self._clearance = Clearance(arm)
        self._margin = margin

    def check(self, q: Vector) -> Verdict:
        static = self.motors.check(self.motors.positions(q))
        if not static.allowed:
            return static
        found = self._clearance
        # What the pairs remember shows in the last bits, which may decide.
        found.memory[:] = 0.0
        found.update(q)
        if found.distance > self._margin:
            return ALLOWED
        a, b = found.names[found.nearest]
        state = "inside" if found.distance <= 0.0 else "from"
        return Verdict(f"{a} against {b}", f"{a} is {1e3 * abs(found.distance):.3g} mm {state} {b}")


def load_gate(name: str) -> Gate:
    """The `GATE` of the module `name` in `models/`."""
    try:
        module = importlib.import_module(f"simloop.models.{name}") if name.isidentifier() else None
        gate: Gate = module.GATE  # type: ignore[union-attr]
    except (ImportError, AttributeError):
        raise ValueError(f"there is no gate {name!r} in simloop.models") from None
    return gate


@dataclass(frozen=True)
class Grant:
    """The next step of a move: `motor` may go to `target`. Motor -1 is none. `verdict` is on the first motor that
    wanted to step and was refused."""

    motor: int
    target: float
    verdict: Verdict


def grant_step(gate: Gate, m: Vector, wanted: Vector, step: Vector, turn: int) -> Grant:
    """One step of one motor from m towards `wanted`, motors asked in turn from `turn` on."""
    verdict = ALLOWED
    trial = m.copy()
    for i in (*range(turn, len(m)), *range(turn)):
        change = float(wanted[i] - m[i])
        if change == 0.0:
            continue
        trial[i] = wanted[i] if abs(change) <= step[i] + ROUNDING else m[i] + math.copysign(step[i], change)
        answer = gate.check(gate.motors.joints(trial))
        if answer.allowed:
            return Grant(i, float(trial[i]), verdict)
        verdict = answer if verdict.allowed else verdict
        trial[i] = m[i]
    return Grant(-1, 0.0, verdict)


def walk(gate: Gate, start: Vector, wanted: Vector, step: Vector) -> tuple[Vector, Verdict]:
    """Where a move of the motors from `start`, which must be legal, to `wanted` ends, and why there."""
    m = start.copy()
    turn = 0
    for _ in range(MOST_STEPS):
        grant = grant_step(gate, m, wanted, step, turn)
        if grant.motor < 0:
            return m, grant.verdict
        m[grant.motor] = grant.target
        turn = (grant.motor + 1) % len(m)
    return m, Verdict("steps", f"the move takes more than {MOST_STEPS} steps")
