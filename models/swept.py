"""Where on a smooth way of the joints bodies come too near to each other: proven between its knots, not only looked at.

A body that is d m away and can move by at most b m until the next look, where it is e m away, comes no nearer than
(d + e − b)/2 in between. Where that is not enough, the way is halved and looked at again.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from scipy.interpolate import CubicSpline
from simloop.models.arm import Arm, Vector
from simloop.models.clearance import solid, solid_geoms
from simloop.models.free_space import FreeSpace

# Bodies that move less than this, m, and are still not proven to keep their distance, do not.
FINEST = 5e-5


class Look(NamedTuple):
    """How far bodies are apart, m, at some place along a curve."""

    at: float
    distance: float


def reaches(arm: Arm, away: Vector) -> Vector:
    """The most that any point moves per motion of each joint, in m per rad or m, while no joint is farther than `away`
    (n) from where the arm is assembled."""
    model = arm.model
    extent = np.zeros(model.nbody)
    for geom in solid_geoms(model):
        _, hull = solid(model, geom)
        far = float(np.linalg.norm(hull.vertices, axis=1).max()) + hull.radius
        body = model.geom_bodyid[geom]
        extent[body] = max(extent[body], float(np.linalg.norm(model.geom_pos[geom])) + far)
    most = np.ones(model.njnt)
    # Children come after their parents, and a body's later joints carry less of it than its earlier ones.
    for body in range(model.nbody - 1, 0, -1):
        far, first = extent[body], model.body_jntadr[body]
        for joint in range(first + model.body_jntnum[body] - 1, first - 1, -1):
            if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE:
                far += away[joint]
            else:
                aside = float(np.linalg.norm(model.jnt_pos[joint]))
                most[joint] = far + aside
                far += 2.0 * aside
        parent = model.body_parentid[body]
        extent[parent] = max(extent[parent], float(np.linalg.norm(model.body_pos[body])) + far)
    return most


class Sweep:
    """Looks along ways in a space."""

    def __init__(self, space: FreeSpace) -> None:
        self._space = space

    def too_near(self, curve: CubicSpline, least: float) -> set[int]:
        """The pieces of a curve (from knot k to knot k + 1) on which bodies are not proven to stay `least` m apart."""
        widths = np.diff(curve.x)
        c = np.abs(curve.c)
        # No joint is faster on a piece than the sum of the sizes of its derivative's terms.
        rates = c[2] + 2.0 * c[1] * widths[:, None] + 3.0 * c[0] * widths[:, None] ** 2
        knots, arm = curve(curve.x), self._space.arm
        away = np.abs(knots - arm.model.qpos0).max(axis=0) + (rates * widths[:, None]).max(axis=0)
        moves = rates @ reaches(arm, away)
        looks = [Look(float(s), self._space.distance(q)) for s, q in zip(curve.x, knots, strict=True)]
        pieces = zip(looks, looks[1:], moves.tolist(), strict=False)
        return {k for k, (a, b, rate) in enumerate(pieces) if not self._apart(curve, a, b, rate, least)}

    def _apart(self, curve: CubicSpline, a: Look, b: Look, rate: float, least: float) -> bool:
        """Whether bodies that move by at most `rate` m along the curve stay apart between two looks."""
        moved = rate * (b.at - a.at)
        if a.distance + b.distance - moved >= 2.0 * least:
            return True
        if min(a.distance, b.distance) < least or moved < FINEST:
            return False
        middle = 0.5 * (a.at + b.at)
        look = Look(middle, self._space.distance(curve(middle)))
        return self._apart(curve, a, look, rate, least) and self._apart(curve, look, b, rate, least)
