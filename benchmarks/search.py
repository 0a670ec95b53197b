"""Ways around obstacles: our search against OMPL's RRTConnect, on the same queries in the same space.

The iiwa goes from posture A to posture B past the pillar of S5, once with its tool's orientation held and once without.
OMPL asks the same Python function whether a position is free; with the orientation held it works on its projected space
(`ProjectedStateSpace`), with the same Jacobian. Both ways are shortened by our own shortcuts. Prints for each seed
whether a way was found, the seconds, and the lengths before and after the shortcuts, rad; then the medians.
Needs `pip install ompl`.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import time
from dataclasses import dataclass

import numpy as np
from ompl import base, geometric, util
from simloop.models.arm import Arm, Vector
from simloop.models.free_space import TURNED_RIGHT, FreeSpace
from simloop.models.pose import ToolPose
from simloop.models.robot import scene_mjcf
from simloop.models.robots.iiwa import POSTURE_A, POSTURE_B, ROBOT
from simloop.models.search import STRIDE, Search, length
from simloop.studio.scenarios._iiwa import PILLAR

SEEDS, LEAST = range(5), 0.012
# OMPL gives up after so many seconds; it looks this far apart along a branch, as a part of the space's extent.
MOST_SECONDS, RESOLUTION = 60.0, 0.005


class Held(base.Constraint):
    """The orientation of the tool, as OMPL wants it: zero where it is held."""

    def __init__(self, space: FreeSpace, quaternion: Vector) -> None:
        super().__init__(space.arm.n, 3, TURNED_RIGHT)
        self._space, self._quaternion = space, quaternion

    def function(self, q: Vector, out: Vector) -> None:
        self._space.arm.kinematics(q)
        out[:] = -self._space.turned_off(self._quaternion)

    def jacobian(self, q: Vector, out: Vector) -> None:
        self._space.arm.kinematics(q)
        out[:] = self._space.tool.jacobian()[3:]


@dataclass(frozen=True)
class OmplSearch:
    """Ways within a space, as `Search`. OMPL has one generator for the process, which is seeded before each search."""

    space: FreeSpace
    quaternion: Vector | None
    seed: int

    def way(self, start: Vector, end: Vector) -> Vector | None:
        util.RNG.setSeed(self.seed + 1)
        states = base.RealVectorStateSpace(len(start))
        states.setBounds(self._bounds())
        if self.quaternion is None:
            information = base.SpaceInformation(states)
        else:
            states = base.ProjectedStateSpace(states, Held(self.space, self.quaternion))
            information = base.ConstrainedSpaceInformation(states)
        information.setStateValidityChecker(lambda state: self.space.admits(self._read(state)))
        information.setStateValidityCheckingResolution(RESOLUTION)
        information.setup()
        problem = base.ProblemDefinition(information)
        problem.setStartAndGoalStates(self._state(states, start), self._state(states, end))
        planner = geometric.RRTConnect(information)
        planner.setRange(STRIDE if self.quaternion is not None else 0.0)
        planner.setProblemDefinition(problem)
        planner.setup()
        planner.solve(base.timedPlannerTerminationCondition(MOST_SECONDS))
        if not problem.hasExactSolution():
            return None
        path = problem.getSolutionPath()
        path.interpolate()
        return np.array([self._read(state) for state in path.getStates()])

    def _bounds(self) -> base.RealVectorBounds:
        bounds = base.RealVectorBounds(self.space.arm.n)
        for i, (low, high) in enumerate(zip(self.space.low, self.space.high, strict=True)):
            bounds.setLow(i, float(low))
            bounds.setHigh(i, float(high))
        return bounds

    def _state(self, states: base.StateSpace, q: Vector) -> base.State:
        state = states.allocState()
        turned = self.space.turn(q, self.quaternion)
        assert turned is not None
        if self.quaternion is None:
            for i, value in enumerate(turned):
                state[i] = float(value)
        else:
            state.copy(turned.tolist())
        return state

    def _read(self, state: base.State) -> Vector:
        return np.array([state[i] for i in range(self.space.arm.n)])


def main() -> None:
    util.setLogLevel(util.LogLevel.LOG_NONE)
    arm = Arm(scene_mjcf(ROBOT, (PILLAR,)))
    space = FreeSpace(arm, ToolPose(arm, ROBOT.tools[0]), *arm.ranges, LEAST)
    start, end = np.array(POSTURE_A), np.array(POSTURE_B)
    arm.kinematics(end)
    turned = space.tool.quaternion().copy()
    for title, quaternion in (("any orientation", None), ("orientation held", turned)):
        print(title)
        for name, kind in (("ours", Search), ("OMPL", OmplSearch)):
            rows = [
                measure(kind(space, quaternion, seed), Search(space, quaternion, seed), start, end) for seed in SEEDS
            ]
            found = [row for row in rows if row is not None]
            print(f"  {name}: found {len(found)} of {len(rows)}", end="")
            if found:
                seconds, long, short, off = np.median(found, axis=0)
                print(
                    f"; median {seconds:.2f} s, {long:.1f} rad, shortened {short:.1f} rad, turned off {off:.2f}°",
                    end="",
                )
            print("; seconds: " + ", ".join("none" if row is None else f"{row[0]:.2f}" for row in rows))


def measure(search: Search | OmplSearch, cuts: Search, start: Vector, end: Vector) -> tuple[float, ...] | None:
    """Seconds, length, shortened length, and how far the tool is turned off at most, degrees."""
    begin = time.perf_counter()
    way = search.way(start, end)
    seconds = time.perf_counter() - begin
    if way is None:
        return None
    return seconds, length(way), length(cuts.shorten(way)), farthest_turned(cuts, way)


def farthest_turned(search: Search, way: Vector) -> float:
    if search.quaternion is None:
        return 0.0
    off = []
    for q in way[1:-1]:
        search.space.arm.kinematics(q)
        off.append(np.linalg.norm(search.space.turned_off(search.quaternion)))
    return float(np.degrees(max(off)))


if __name__ == "__main__":
    main()
