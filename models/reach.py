"""Which points the tools of an arm can reach, with all its joints or with some that have failed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from simloop.models.arm import Arm, Tools, Vector
from simloop.models.clearance import Clearance
from simloop.models.faults import Fault, cannot_drive
from simloop.models.hanging import Hanging

# A tool within this of its goal has reached it, m.
REACHED = 1e-3
# Steps of each search, and the length below which a tool's way is taken in one, m.
STEPS, STRIDE = 60, 0.1
# Steps without coming nearer after which a search is given up.
PATIENCE = 8
# Places on the way at which loose joints are looked at.
PLACES = 33
# Keeps a step small where the arm is stretched out, m.
DAMPING = 0.02


class Reach:
    """Looks for joint positions, inside their ranges and touching nothing, that put the tools at a goal.

    The search starts at the given position and at `starts` random ones, the same each time. A goal that is found is
    reachable; one that is not has been looked for from all of these.
    """

    def __init__(self, arm: Arm, tools: Tools, *, starts: int = 12, seed: int = 0) -> None:
        self._arm, self._tools = arm, tools
        self._clearance = Clearance(arm)
        ranges = arm.model.jnt_range.copy()
        ranges[~arm.model.jnt_limited.astype(bool)] = (-np.pi, np.pi)
        self._low, self._high = ranges.T
        random = np.random.default_rng(seed)
        self._starts = self._low + (self._high - self._low) * random.random((starts, arm.n))

    def find(self, goal: Vector, q: Vector, fault: Vector) -> Vector | None:
        """A joint position that has the tools at `goal`, frozen joints staying as they are in q and loose ones hanging;
        None when there is none from any of the starts."""
        able = ~cannot_drive(fault)
        for start in (q, *self._starts):
            found = self._search(goal, np.where(able, start, q), able, fault)
            if found is not None and self._comes_to_hang(goal, q, found, np.flatnonzero(fault == Fault.LOOSE)):
                return found
        return None

    def _comes_to_hang(self, goal: Vector, q: Vector, found: Vector, loose: NDArray[np.intp]) -> bool:
        """Whether the loose joints, hanging or at an end of their range all the way from q to `found`, end as they are
        there: a link can come to hang a turn away. They are then written into `found`."""
        if not len(loose):
            return True
        hanging, here = Hanging(self._arm, loose), q
        for part in np.linspace(0.0, 1.0, PLACES):
            there = q + part * (found - q)
            there[loose] = here[loose]
            here = np.clip(hanging.settle(there), self._low, self._high)
        self._arm.kinematics(here)
        found[:] = here
        return bool(np.abs(goal - self._tools.position()).max() <= REACHED)

    def _search(self, goal: Vector, q: Vector, able: NDArray[np.bool_], fault: Vector) -> Vector | None:
        nearest, since = np.inf, 0
        loose = np.flatnonzero(fault == Fault.LOOSE)
        for _ in range(STEPS):
            if len(loose):
                q = Hanging(self._arm, loose).settle(q)
            self._arm.kinematics(q)
            way = goal - self._tools.position()
            if np.abs(way).max() <= 0.5 * REACHED:
                self._clearance.update(q)
                return q if self._clearance.distance > 0.0 else None
            length = float(np.linalg.norm(way))
            since = 0 if length < 0.99 * nearest else since + 1
            nearest = min(nearest, length)
            if since == PATIENCE:
                return None
            J = driven_jacobian(self._arm, self._tools, q, fault)[:, able]
            damped = J @ J.T + DAMPING**2 * min(1.0, length) * np.eye(len(way))
            change = J.T @ np.linalg.solve(damped, way * min(1.0, STRIDE / length))
            q = q.copy()
            q[able] = np.clip(q[able] + change, self._low[able], self._high[able])
        return None


def driven_jacobian(arm: Arm, tools: Tools, q: Vector, fault: Vector) -> Vector:
    """Tool velocities per velocity of the joints that can be driven, the loose ones hanging; 0 for the others."""
    loose = np.flatnonzero(fault == Fault.LOOSE)
    follow = Hanging(arm, loose).follow(q) if len(loose) else np.zeros((0, arm.n))
    arm.kinematics(q)
    J = tools.jacobian()
    driven: Vector = (J + J[:, loose] @ follow) * ~cannot_drive(fault)
    return driven
