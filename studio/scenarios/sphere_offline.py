"""Sphere from z = 0 to z = 1 m with an off-line planner: a table recorded before the run (S1, 6.1.2)."""

from fractions import Fraction

from simloop.studio.scenario import Graph, Scenario
from simloop.studio.scenarios._offline import plan_table
from simloop.studio.scenarios._sphere import ACCELERATION, FLOOR, GOAL, ROBOT, step_figures

SCENARIO = Scenario(
    name="sphere-offline",
    title="Sphere from z = 0 to z = 1 m, from a table planned beforehand (S1, 6.1.2)",
    robot=ROBOT,
    obstacles=(FLOOR,),
    duration=Fraction(8),
    planner="playback",
    table=lambda h, steps: plan_table(ROBOT, (0.0, 0.0, float(GOAL["planner.goal[3]"])), ACCELERATION, h, steps),
    graphs=tuple(Graph),
    judge=step_figures,
)
