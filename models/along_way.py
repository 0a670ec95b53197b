"""A plan for the joints that follows a way over time, waits where the arm is behind, and comes back when it is off."""

from __future__ import annotations

import numpy as np
from simloop.models.arm import Arm, Vector
from simloop.models.guide import GAIN, LEASH
from simloop.models.limits import JointLimits
from simloop.models.redundancy import Evenly, Resolution, Spacing
from simloop.models.redundant_planner import JointPlan
from simloop.models.timing import TimedWay

# A plan this near to the way is on it, rad or m.
ON_THE_WAY = 1e-6


class Joints:
    """The velocities of all joints, as a task."""

    def __init__(self, n: int) -> None:
        self._J = np.eye(n)

    def jacobian(self) -> Vector:
        return self._J


class AlongWay:
    """On the way, which is known to be clear, only the joints' limits are watched; off it the spacing of bodies too."""

    def __init__(self, arm: Arm, way: TimedWay, limits: JointLimits, spacing: Spacing) -> None:
        self._way, joints = way, Joints(arm.n)
        self._on = Resolution(arm, joints, limits, weight=Evenly())
        self._off = Resolution(arm, joints, limits, weight=Evenly(), spacing=spacing)

    def advance(self, plan: JointPlan, progress: float, h: float) -> float:
        """Advance the plan by h s from `progress` s on the way; how far on the way it should be then, s."""
        here = self._way.posture(progress)
        behind = float(np.abs(here - plan.q).max())
        pace = max(0.0, 1.0 - behind / LEASH)
        after = min(progress + pace * h, self._way.end)
        # The mean velocity of the step, so that a plan on the way stays on it whatever the step.
        wanted = (self._way.posture(after) - here) / h + GAIN * (here - plan.q)
        resolution = self._on if behind < ON_THE_WAY else self._off
        plan.v[:] = resolution.velocity(plan.q, plan.v, wanted, h)
        plan.q += h * plan.v
        return after
