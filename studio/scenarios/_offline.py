"""What off-line scenarios share: a table planned by a stand-alone model of the robot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from simloop.models.arm import Arm, Tools
from simloop.models.planner import OnlinePlanner, record_table
from simloop.models.robot import Robot


def plan_table(robot: Robot, goal: Sequence[float], acceleration: float, h: float, steps: int) -> str:
    """The move of the robot's tools from home to `goal` (m), done beforehand, as the CSV that a playback plays."""
    arm = Arm(robot.mjcf)
    tools = Tools(arm, robot.tools)
    planner = OnlinePlanner(
        arm, tools, np.array(goal, dtype=float), acceleration=acceleration, max_speed=1.0, band=0.0, trim=0.0
    )
    table = record_table(planner, np.array(robot.home), h, steps)
    head = ",".join(["time", *(f"q[{i}]" for i in range(1, arm.n + 1))])
    rows = [",".join(map(repr, [k * h, *q])) for k, q in enumerate(table.tolist())]
    return "\n".join([head, *rows]) + "\n"
