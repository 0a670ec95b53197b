"""The iiwa from posture A to posture B, told to go straight through a pillar: it finds its own way around (S5)."""

from __future__ import annotations

from simloop.models.robots.iiwa import POSTURE_A, POSTURE_B
from simloop.studio.scenarios._iiwa import KNOTS, Via, past_the_pillar, pose_of


def vias() -> list[Via]:
    """No more than where it begins and ends."""
    a, b = pose_of(POSTURE_A), pose_of(POSTURE_B)
    return list(zip((*KNOTS[:2], *KNOTS[-2:]), (a, a, b, b), strict=True))


SCENARIO = past_the_pillar(
    "iiwa-avoid", "The iiwa goes from posture A to posture B around a pillar that stands in its path (S5)", vias
)
