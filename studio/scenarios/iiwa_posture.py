"""The iiwa from posture A to posture B past a pillar, through the via points of the document (S5)."""

from __future__ import annotations

from simloop.models.robots.iiwa import POSTURE_A, POSTURE_B
from simloop.studio.scenarios._iiwa import KNOTS, VIA_POINTS, Via, past_the_pillar, pose_of


def vias() -> list[Via]:
    a, b = pose_of(POSTURE_A), pose_of(POSTURE_B)
    return list(zip(KNOTS, (a, a, *VIA_POINTS, b, b), strict=True))


SCENARIO = past_the_pillar("iiwa-posture", "The iiwa goes from posture A to posture B, past a pillar (S5)", vias)
