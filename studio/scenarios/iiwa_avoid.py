"""The iiwa from posture A to posture B, told to go straight through a pillar: it finds its own way around (S5)."""

from __future__ import annotations

from fractions import Fraction

from simloop.models.robots.iiwa import POSTURE_A, POSTURE_B, ROBOT
from simloop.studio import redundant
from simloop.studio.scenario import Figure, Graph, Outcome, Scenario
from simloop.studio.scenarios._iiwa import DURATION, KNOTS, PILLAR, Via, judge_way, parameters, pose_of, table


def vias() -> list[Via]:
    """No more than where it begins and ends."""
    a, b = pose_of(POSTURE_A), pose_of(POSTURE_B)
    return list(zip((*KNOTS[:2], *KNOTS[-2:]), (a, a, b, b), strict=True))


def judge(outcome: Outcome) -> dict[str, Figure]:
    return judge_way(outcome, vias())


SCENARIO = Scenario(
    name="iiwa-avoid",
    title="The iiwa goes from posture A to posture B around a pillar that stands in its path (S5)",
    robot=ROBOT,
    obstacles=(PILLAR,),
    duration=Fraction(DURATION),
    parameters=parameters,
    planner="path",
    table=lambda h, steps: table(vias()),
    graphs=(Graph.PATH_COMPARISON, Graph.FORCE_COMPARISON),
    judge=judge,
    plots=redundant.plots(ROBOT, (PILLAR,)),
)
