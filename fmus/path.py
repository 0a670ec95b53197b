"""The planner of a path through via poses as a unit, for an arm with joints to spare (S5)."""

from __future__ import annotations

from typing import Any

import numpy as np
from simloop.fmus.redundant import RedundantPlanner
from simloop.fmus.slave import Kind, Port, Role
from simloop.models.path import PosePath, ViaPoses, read_via_poses
from simloop.models.redundant_planner import PathFollower


class PathPlanner(RedundantPlanner):
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
        ]
        super().__init__(instance_name, resources, own)

    def prepare(self) -> None:
        super().prepare()
        file = self.text("table")
        via = read_via_poses(file) if file else self._here()
        gain, reach = self.positive("path_gain"), self.positive("path_reach")
        self._follower = PathFollower(self.arm, self.tool, PosePath(via), gain=gain, reach=reach)

    def _here(self) -> ViaPoses:
        self.arm.kinematics(self.state.plan.q)
        position, quaternion = self.tool.position().copy(), self.tool.quaternion().copy()
        return ViaPoses(np.array([0.0, 1.0]), np.array([position, position]), np.array([quaternion, quaternion]))

    def step(self, time: float, h: float) -> None:
        self.follow(lambda t, q: self._follower.twist(t, q, h), time, h)
