"""The planner of a path through via poses as a unit, for an arm with joints to spare (S5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from simloop.fmus.redundant import RedundantPlanner, State
from simloop.fmus.slave import Kind, Port, Role
from simloop.models.feasible import check_via_poses
from simloop.models.free_space import FreeSpace
from simloop.models.guide import Along, GuidedPath, GuidePlanner
from simloop.models.path import PosePath, ViaPoses, read_via_poses
from simloop.models.redundancy import Resolution
from simloop.models.redundant_planner import Path, PathFollower


@dataclass
class PathState(State):
    progress: float
    """How far along a path that was planned ahead, s."""


class PathPlanner(RedundantPlanner):
    """A via pose out of reach is refused at the start, with the nearest that is not."""

    description = "Path planner: takes a tool through via poses, with joints to spare for limits, posture and obstacles"

    def __init__(self, instance_name: str, resources: str, **_: Any) -> None:
        own = [
            Port(
                "table",
                Role.PARAMETER,
                "CSV file of via poses: time,x,y,z,z1,y2,z3; empty holds the start",
                kind=Kind.STRING,
                start="",
            ),
            Port("path_gain", Role.PARAMETER, "How fast the tool comes back to its path, 1/s", start=10.0, least=0),
            Port("path_reach", Role.PARAMETER, "The farthest off that this counts, m and rad", start=0.05, least=0),
            Port(
                "plan_ahead",
                Role.PARAMETER,
                "Before the start, find how to keep `spacing` all the way, and leave the path where that needs it",
                kind=Kind.BOOLEAN,
                start=False,
            ),
            Port("seed", Role.PARAMETER, "Of the random search for a way around", kind=Kind.INTEGER, start=0, least=0),
        ]
        super().__init__(instance_name, resources, own, PathState, progress=0.0)

    def prepare(self) -> None:
        super().prepare()
        file = self.text("table")
        via = read_via_poses(file) if file else self._here()
        if file:
            check_via_poses(self.arm, self.tool, via, self.state.plan.q, self.spacing)
        gain, reach, seed = self.positive("path_gain"), self.positive("path_reach"), self.not_negative("seed")
        path: Path = PosePath(via)
        self._along: Along | None = None
        if self.view("plan_ahead")[0]:
            path, self._along = self._plan_ahead(PosePath(via), int(seed))
            self._guided = self.make([(1.0, self._along)])
        self._follower = PathFollower(self.arm, self.tool, path, gain=gain, reach=reach)

    def _plan_ahead(self, path: PosePath, seed: int) -> tuple[Path, Along]:
        """The path as far as obstacles allow it, and the joints' own way along it, to `posture` if that counts."""
        if self.spacing is None:
            raise ValueError(f"{self.instance_name}.plan_ahead needs an `influence` greater than 0")
        space = FreeSpace(self.arm, self.tool, self.limits.low, self.limits.high, self.spacing.least)
        liked = [(gain, objective) for gain, objective in self.objectives if gain]
        planner = GuidePlanner(space, self.limits.speed, liked, seed=seed)
        end = self.view("posture").copy() if self.view("posture_gain")[0] > 0.0 else None
        guide = planner.plan(path, self.state.plan.q.copy(), end)
        return GuidedPath(space, guide, path), Along(guide)

    def resolution(self, time: float) -> Resolution:
        return super().resolution(time) if self._along is None else self._guided

    def _here(self) -> ViaPoses:
        self.arm.kinematics(self.state.plan.q)
        position, quaternion = self.tool.position().copy(), self.tool.quaternion().copy()
        return ViaPoses(np.array([0.0, 1.0]), np.array([position, position]), np.array([quaternion, quaternion]))

    def step(self, time: float, h: float) -> None:
        progress, pace, state = time, 1.0, self.state
        if self._along is not None:
            self._along.set_off(state.progress, state.plan.q)
            progress, pace = state.progress, self._along.pace
            state.progress += pace * h
        self.follow(lambda t, q: self._follower.twist(progress + pace * (t - time), q, h, pace), time, h)
