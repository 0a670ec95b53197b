"""Sphere from z = 0 to z = 1 m with an off-line planner: a table recorded before the run (S1, 6.1.2)."""

from fractions import Fraction

import numpy as np
from simloop.models.arm import Arm, Tools
from simloop.models.planner import OnlinePlanner, record_table
from simloop.studio.scenario import Graph, Scenario
from simloop.studio.scenarios._sphere import ACCELERATION, FLOOR, GOAL, ROBOT, step_figures


def plan_table(h: float, steps: int) -> str:
    """The same step, done beforehand by a stand-alone model of the robot."""
    arm = Arm(ROBOT.mjcf)
    tools = Tools(arm, ROBOT.tools)
    goal = np.array([0.0, 0.0, float(GOAL["planner.goal[3]"])])
    planner = OnlinePlanner(arm, tools, goal, acceleration=ACCELERATION, max_speed=1.0, band=0.0, trim=0.0)
    table = record_table(planner, np.array(ROBOT.home), h, steps)
    rows = [f"{k * h!r},{float(q)!r}" for k, q in enumerate(table[:, 0])]
    return "\n".join(["time,q[1]", *rows]) + "\n"


SCENARIO = Scenario(
    name="sphere-offline",
    title="Sphere from z = 0 to z = 1 m, from a table planned beforehand (S1, 6.1.2)",
    robot=ROBOT,
    obstacles=(FLOOR,),
    duration=Fraction(8),
    planner="playback",
    table=plan_table,
    graphs=tuple(Graph),
    judge=step_figures,
)
