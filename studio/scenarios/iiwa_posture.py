"""The iiwa from posture A to posture B past a pillar, through the via points of the document (S5)."""

from __future__ import annotations

from fractions import Fraction

from simloop.models.robots.iiwa import POSTURE_A, POSTURE_B, ROBOT
from simloop.studio import redundant
from simloop.studio.scenario import Figure, Graph, Outcome, Scenario
from simloop.studio.scenarios._iiwa import (
    DURATION,
    KNOTS,
    PILLAR,
    VIA_POINTS,
    Via,
    judge_way,
    parameters,
    pose_of,
    table,
)


def vias() -> list[Via]:
    a, b = pose_of(POSTURE_A), pose_of(POSTURE_B)
    return list(zip(KNOTS, (a, a, *VIA_POINTS, b, b), strict=True))


def judge(outcome: Outcome) -> dict[str, Figure]:
    return judge_way(outcome, vias())


SCENARIO = Scenario(
    name="iiwa-posture",
    title="The iiwa goes from posture A to posture B, past a pillar (S5)",
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
