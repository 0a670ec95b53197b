"""What an arm does after joints have failed: the others take it to a posture that still has the tools at the goal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from simloop.models.arm import Arm, Tools, Vector
from simloop.models.braking import braking_speed
from simloop.models.faults import cannot_drive
from simloop.models.reach import Reach

# Points at which the way of the tools is measured.
POINTS = 65


@dataclass
class DetourPlan:
    """Whether there is one, for which `fault`, from which joint position to which, how far the tools have come, m, and
    how fast."""

    under_way: bool
    fault: Vector
    begin: Vector
    end: Vector
    way: float
    speed: float


def no_detour(n: int) -> DetourPlan:
    return DetourPlan(under_way=False, fault=np.zeros(n), begin=np.zeros(n), end=np.zeros(n), way=0.0, speed=0.0)


class Detour:
    """A straight line in joint space, on which the tool with the longest way accelerates, cruises and brakes as it
    would on its own line. Where no posture reaches the goal, the arm holds still."""

    def __init__(self, arm: Arm, tools: Tools, goal: Vector, *, acceleration: float, max_speed: float) -> None:
        self._arm, self._tools, self._goal = arm, tools, goal.copy()
        self._acceleration, self._max_speed = acceleration, max_speed
        self._reach: Reach | None = None
        self._measured: tuple[bytes, Vector] | None = None

    def step(self, plan: DetourPlan, q: Vector, fault: Vector, h: float, q_d: Vector) -> None:
        """Advance `plan` by h s and write the joint position wanted into `q_d`; joints that cannot be driven are
        wanted where they are."""
        if not (plan.under_way and np.array_equal(fault, plan.fault)):
            self._choose(plan, q, fault)
        ways = self._measure(plan)
        left = float(ways[-1]) - plan.way
        if left > 0.0:
            a = self._acceleration
            plan.speed = min(plan.speed + a * h, self._max_speed, braking_speed(left, a, h))
            plan.way += min(left, plan.speed * h)
        part = np.interp(plan.way, ways, np.linspace(0.0, 1.0, POINTS)) if ways[-1] > 0.0 else 1.0
        q_d[:] = plan.begin + part * (plan.end - plan.begin)
        failed = cannot_drive(fault)
        q_d[failed] = q[failed]

    def _choose(self, plan: DetourPlan, q: Vector, fault: Vector) -> None:
        if self._reach is None:
            self._reach = Reach(self._arm, self._tools)
        found = self._reach.find(self._goal, q, fault)
        plan.under_way = True
        plan.fault[:], plan.begin[:] = fault, q
        plan.end[:] = q if found is None else found
        plan.way = plan.speed = 0.0

    def _measure(self, plan: DetourPlan) -> Vector:
        """How far the tools have come at each point of the line, m."""
        key = plan.begin.tobytes() + plan.end.tobytes()
        if self._measured is None or self._measured[0] != key:
            path = np.empty((POINTS, self._tools.size))
            for k, part in enumerate(np.linspace(0.0, 1.0, POINTS)):
                self._arm.kinematics(plan.begin + part * (plan.end - plan.begin))
                path[k] = self._tools.position()
            pieces = np.linalg.norm(np.diff(path, axis=0).reshape(POINTS - 1, -1, 3), axis=2).max(axis=1)
            self._measured = key, np.concatenate([[0.0], np.cumsum(pieces)])
        return self._measured[1]
