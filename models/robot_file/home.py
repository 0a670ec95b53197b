"""A place for an arm to start from when nobody says where: in its limits, not stretched out, not touching itself."""

from __future__ import annotations

import numpy as np
from simloop.models.arm import Arm, Tools, Vector

# The tools can move in their least direction at least this well, as a part of their best.
WELL_BENT = 0.1
# Bends tried, and the most that each joint is bent, rad or, for a slide, times 1 m.
BENDS, LARGEST_BEND = 64, 0.8


def choose_home(arm: Arm, tools: Tools) -> Vector:
    """The first of these where the tools can move every way they ever can, with the fewest overlaps: every joint at
    its reference position; in the middle of its range; bent from there, a fixed list of bends."""
    model = arm.model
    lower, upper = np.where(model.jnt_limited == 1, model.jnt_range.T, [[-np.inf], [np.inf]])
    reference = np.clip(model.qpos0, lower, upper)
    middle = np.where(model.jnt_limited == 1, model.jnt_range.mean(axis=1), reference)
    bends = LARGEST_BEND * (2.0 * _spread(BENDS, arm.n) - 1.0)
    candidates = [reference, middle, *np.clip(middle + bends, lower, upper)]
    ease = [_singular_values(arm, tools, q) for q in candidates]
    rank = max(int((values > 1e-6 * values[0]).sum()) for values in ease)
    bent = [float(values[rank - 1] / values[0]) if values[0] else 0.0 for values in ease]
    good = [i for i, value in enumerate(bent) if value >= WELL_BENT] or [int(np.argmax(bent))]
    best = min(good, key=lambda i: (len(overlaps(arm, candidates[i])), i))
    return np.asarray(candidates[best])


def overlaps(arm: Arm, q: Vector) -> list[tuple[int, int]]:
    """Pairs of bodies that are inside each other at q; the arm must have been made with contact."""
    arm.kinematics(q)
    contact = arm.data.contact
    inside = contact.geom[contact.dist < 0.0] if arm.data.ncon else np.zeros((0, 2), dtype=int)
    return sorted({(int(a), int(b)) for a, b in np.sort(arm.model.geom_bodyid[inside], axis=1)})


def _singular_values(arm: Arm, tools: Tools, q: Vector) -> Vector:
    arm.kinematics(q)
    return np.asarray(np.linalg.svd(tools.jacobian(), compute_uv=False))


def _spread(count: int, dimensions: int) -> Vector:
    """Points spread evenly over the unit cube: multiples of the powers of a root of x^(d+1) = x + 1 (Roberts)."""
    root = 2.0
    for _ in range(32):
        root = (1.0 + root) ** (1.0 / (dimensions + 1))
    steps = (1.0 / root) ** np.arange(1, dimensions + 1)
    return np.asarray((0.5 + np.outer(np.arange(1, count + 1), steps)) % 1.0)
