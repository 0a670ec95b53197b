"""YuMi: both grippers 0.3 m outwards along y, from a table recorded before the run (S1, 6.1.2)."""

from fractions import Fraction

from simloop.studio.scenario import Graph, Scenario
from simloop.studio.scenarios._offline import plan_table
from simloop.studio.scenarios._yumi import ACCELERATION, ROBOT, goal, step_figures

SCENARIO = Scenario(
    name="yumi-offline",
    title="YuMi, both grippers 0.3 m outwards, from a table planned beforehand (S1, 6.1.2)",
    robot=ROBOT,
    duration=Fraction(5),
    planner="playback",
    table=lambda h, steps: plan_table(ROBOT, goal(), ACCELERATION, h, steps),
    # S1, table 2.
    graphs=(Graph.FORCE_DIFFERENCE, Graph.PATH_COMPARISON, Graph.PATH_DIFFERENCE, Graph.VELOCITY_DIFFERENCE),
    judge=step_figures,
)
