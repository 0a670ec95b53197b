"""A platform on wheels that cannot move sideways: what that leaves of a joint velocity, within the joints' limits.

The platform is an arm's first three joints: slides along the world's x and y, then the heading about z, 0 being along
x. It moves with forward speed s along e = (cos heading, sin heading), and turns.

Half of the acceleration of the slides is for s, the other half for what the turning takes, s · heading's speed. So s is
at most half the acceleration over the greatest turning speed, and whatever the heading does, s can always be taken back
at its own rate: the velocity along x and y then changes by no more than their acceleration.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
from simloop.models.arm import Arm, Vector
from simloop.models.limits import JointLimits

# The part of the slides' acceleration that the forward speed may use.
FORWARD_SHARE = 0.5
# How finely the forward speed before the end of the range is found, halvings.
HALVINGS = 30


def has_planar_platform(arm: Arm) -> bool:
    """Whether an arm stands on slides along x and y and a heading about z, in that order."""
    model, slide, hinge = arm.model, int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE)
    if arm.n < 3 or model.jnt_type[:3].tolist() != [slide, slide, hinge]:
        return False
    arm.kinematics(model.qpos0)
    return model.dof_parentid[:3].tolist() == [-1, 0, 1] and np.allclose(arm.data.xaxis[:3], np.eye(3), atol=1e-12)


class Rolling:
    """The forward speeds that its joints' limits allow to such a platform."""

    def __init__(self, arm: Arm, limits: JointLimits) -> None:
        if not has_planar_platform(arm):
            names = ", ".join(arm.joint_names[:3])
            raise ValueError(
                "a platform that cannot move sideways must be slides along x and y and a heading about z, "
                f"as the first three joints; these are {names}"
            )
        acceleration, self._turning = float(limits.acceleration[:2].min()), float(limits.speed[2])
        if not (math.isfinite(acceleration) and math.isfinite(self._turning)):
            raise ValueError("a platform that cannot move sideways needs limits of its acceleration and turning speed")
        self._low, self._high = limits.low[:2].copy(), limits.high[:2].copy()
        self._a = FORWARD_SHARE * acceleration
        curve = (1.0 - FORWARD_SHARE) * acceleration / self._turning if self._turning else math.inf
        self._top = min(float(limits.speed[:2].min()), curve)
        self._ahead = float(arm.model.qpos0[2])
        self.sideways, self.forward = np.zeros((1, arm.n)), np.zeros((1, arm.n))
        """Rows (1, n) that give the sideways and the forward speed of the platform, after `place`."""

    def place(self, q: Vector) -> None:
        """Turn the rows to the heading at q."""
        c, s = math.cos(q[2] - self._ahead), math.sin(q[2] - self._ahead)
        self.forward[0, :2] = c, s
        self.sideways[0, :2] = -s, c

    def bounds(self, q: Vector, v: Vector, h: float) -> tuple[float, float]:
        """The least and greatest forward speed for the next h s after velocity v, as `Allowed.bound` has them for a
        joint; after `place`."""
        now = float(self.forward[0] @ v)
        step = self._a * h
        most = min(self._top, now + step, self._stopping(q, h, 0.0, now + step))
        least = max(-self._top, now - step, -self._stopping(q, h, math.pi, step - now))
        if least > most:
            least = most = now - step if now > 0.0 else now + step
        return least, most

    def _stopping(self, q: Vector, h: float, turned: float, limit: float) -> float:
        """The greatest speed up to `limit`, ahead (`turned` 0) or back (π), from which the platform stops within its
        range, however it turns meanwhile."""
        limit = max(0.0, min(limit, self._top))
        walls = self._walls(q, turned)
        if self._way(limit, h) <= min(distance for distance, _ in walls):
            return limit
        if self._fits(limit, h, walls):
            return limit
        low, high = 0.0, limit
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._fits(middle, h, walls) else (low, middle)
        return low

    def _walls(self, q: Vector, turned: float) -> list[tuple[float, float]]:
        """The distance of each end of the range, and the angle between the way there and the platform's."""
        low, high, way = self._low, self._high, q[2] - self._ahead + turned
        distances = (high[0] - q[0], high[1] - q[1], q[0] - low[0], q[1] - low[1])
        angles = (math.remainder(way - 0.5 * math.pi * i, 2.0 * math.pi) for i in range(4))
        return [(max(0.0, float(d)), abs(angle)) for d, angle in zip(distances, angles, strict=True)]

    def _way(self, speed: float, h: float) -> float:
        """How far the platform goes until it stands: as in `braking_speed`."""
        u = speed / (self._a * h)
        n = math.floor(u)
        return ((n + 1) * u - 0.5 * n * (n + 1)) * self._a * h * h

    def _fits(self, speed: float, h: float, walls: list[tuple[float, float]]) -> bool:
        # While it brakes it turns by no more than `cone`. After a step of braking the way that is left lies in a
        # narrower cone within this one: what fits once can be made to fit ever after.
        cone, way = self._turning * speed / self._a, self._way(speed, h)
        return all(way * max(0.0, math.cos(max(0.0, angle - cone))) <= distance for distance, angle in walls)
