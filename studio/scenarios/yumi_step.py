"""YuMi: both grippers 0.3 m outwards along y, planned on-line (S1, 6.1.1)."""

from fractions import Fraction

from simloop.studio.scenario import Graph, Scenario
from simloop.studio.scenarios._yumi import ROBOT, goal_parameters, step_figures

SCENARIO = Scenario(
    name="yumi-step",
    title="YuMi, both grippers 0.3 m outwards, planned on-line (S1, 6.1.1)",
    robot=ROBOT,
    duration=Fraction(5),
    parameters=goal_parameters,
    # S1, table 2.
    graphs=(Graph.FORCE_DIFFERENCE, Graph.PATH_COMPARISON, Graph.PATH_DIFFERENCE, Graph.VELOCITY_DIFFERENCE),
    judge=step_figures,
)
