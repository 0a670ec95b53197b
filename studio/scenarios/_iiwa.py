"""What the iiwa's scenarios share: the way from posture A to posture B and what stands in it (S5)."""

from __future__ import annotations

from simloop.models.robots.iiwa import POSTURE_A, POSTURE_B, ROBOT

__all__ = ["DURATION", "KNOTS", "POSTURE_A", "POSTURE_B", "PRISM", "PULL_TO_B_FROM", "ROBOT", "STEP", "VIA_POINTS"]

STEP = 0.005  # s
DURATION = 25.0  # s

# Tool poses between those of the postures: x, y, z in m, then zyz angles in rad, which all say "not turned".
VIA_POINTS = (
    (0.85, -0.2, 0.45, 0.7632, 0.0, -0.7632),
    (0.9, 0.2, 0.4, -0.7632, 0.0, 0.7632),
    (0.7, 0.5, 0.1, -0.7632, 0.0, 0.7632),
)
# When the tool is at posture A, A still, the three via points, B, and B still, s. The document counts steps of 5 ms.
KNOTS = tuple(DURATION * part / 300 for part in (0, 10, 85, 160, 220, 240, 300))
# From here on the null space pulls to posture B, s: the document's step 3500.
PULL_TO_B_FROM = 3500 * STEP

# A pillar with a rhombus for its section, standing at z = -1 m; corners in m.
PRISM = (
    (0.55, -0.1, -0.1),
    (0.60, 0.0, -0.1),
    (0.55, 0.1, -0.1),
    (0.50, 0.0, -0.1),
    (0.55, -0.1, -1.0),
    (0.60, 0.0, -1.0),
    (0.55, 0.1, -1.0),
    (0.50, 0.0, -1.0),
)
