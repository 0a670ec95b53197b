"""Sphere from z = 0 to z = 1 m with an on-line planner (S1, 6.1.1)."""

from fractions import Fraction

from simloop.studio.scenario import Graph, Scenario
from simloop.studio.scenarios._sphere import FLOOR, GOAL, ROBOT, step_figures

SCENARIO = Scenario(
    name="sphere-step",
    title="Sphere from z = 0 to z = 1 m, planned on-line (S1, 6.1.1)",
    robot=ROBOT,
    obstacles=(FLOOR,),
    duration=Fraction(8),
    parameters=lambda h: dict(GOAL),
    graphs=tuple(Graph),
    judge=step_figures,
)
