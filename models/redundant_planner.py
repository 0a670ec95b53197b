"""A plan for the joints of an arm with joints to spare: follow a twist or a path, kept within every limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.integrate import RK23
from simloop.models.arm import Arm, Vector
from simloop.models.pose import ToolPose
from simloop.models.redundancy import Resolution

# Error allowed to one step of the Runge-Kutta pair, rad or m.
RK23_TOLERANCE = 1e-8
Rate = Callable[[float, Vector], Vector]


@dataclass
class JointPlan:
    """The planned position and velocity of the joints."""

    q: Vector
    v: Vector


def joints_at_rest(q: Vector) -> JointPlan:
    return JointPlan(np.array(q, dtype=float), np.zeros(len(q)))


class Path(Protocol):
    """The pose that a tool should have over time."""

    def at(self, time: float, position: Vector, quaternion: Vector) -> None: ...


class PathFollower:
    """The twist that brings a tool onto its path: as fast as the path goes, and `gain` (1/s) of the way it is off.

    The way it is off counts up to `reach` m (and as many rad): a tool that was held up comes back at a walk.
    """

    def __init__(self, arm: Arm, tool: ToolPose, path: Path, *, gain: float, reach: float) -> None:
        self._arm, self._tool, self._path = arm, tool, path
        self._gain, self._reach = gain, reach
        self._p, self._quaternion = np.zeros((2, 3)), np.zeros((2, 4))
        self._off, self._twist = np.zeros(6), np.zeros(6)

    def twist(self, time: float, q: Vector, h: float, pace: float = 1.0) -> Vector:
        """At `time` s of the path with the tool where q has it, the path being gone at `pace` times its own; shared
        between calls."""
        for i, t in enumerate((time, time + h)):
            self._path.at(t, self._p[i], self._quaternion[i])
        self._arm.kinematics(q)
        self._tool.way_to(self._p[1], self._quaternion[1], self._twist)
        self._tool.way_to(self._p[0], self._quaternion[0], self._off)
        # To where the path will be less where it is, in h s, and the rest of the way at its own pace.
        self._twist -= self._off
        self._twist *= pace / h
        for part in (self._off[:3], self._off[3:]):
            size = float(np.linalg.norm(part))
            part *= self._gain * min(1.0, self._reach / size) if size else 0.0
        self._twist += self._off
        return self._twist


def advance(
    plan: JointPlan, resolution: Resolution, twist: Rate, time: float, h: float, *, error_controlled: bool
) -> None:
    """Advance `plan` by h s: one step with the velocity at its start, or steps of an explicit 2(3) Runge-Kutta pair
    under error control (S4)."""

    def rate(t: float, q: Vector) -> Vector:
        return resolution.velocity(q, plan.v, twist(t, q), h)

    if error_controlled:
        # The whole step is tried first: looking for one to begin with costs as much as half of it.
        end = time + h
        pair = RK23(rate, time, plan.q.copy(), end, first_step=end - time, rtol=RK23_TOLERANCE, atol=RK23_TOLERANCE)
        while pair.status == "running":
            pair.step()
        if pair.status == "failed":
            raise ValueError(f"the plan cannot be integrated from {time:g} s")
        plan.v[:] = (pair.y - plan.q) / h
        plan.q[:] = pair.y
    else:
        plan.v[:] = rate(time, plan.q)
        plan.q += h * plan.v
