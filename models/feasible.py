"""The nearest that an arm can come to where its tools are wanted, its joints inside their ranges and its bodies apart.

The search begins at a given position and then at random ones, the same each time. A target that is called out of reach
has been looked for from all of these.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.optimize import least_squares
from simloop.models.arm import Arm, Tools, Vector
from simloop.models.path import ViaPoses
from simloop.models.pose import ToolPose, matrix_of_quaternion, rotation_between, zyz_of_quaternion
from simloop.models.redundancy import Spacing

# A target within this of the tools is reached, m and rad: what a run promises. Bodies may be so much nearer, m.
REACHED = 1e-3
STARTS = 32
# A search ends after so many looks at the arm, most needing some twenty, or where one makes so little of a difference;
# and so the last one, from the nearest that was found.
LOOKS, GAIN = 60, 1e-6
LAST_LOOKS, LAST_GAIN = 300, 1e-12
# How much more bodies that come too near count than a tool that is off, both in m.
KEEPING_APART = 100.0
# How far from the ends of its range a joint begins, as a part of it: on an end the search would not move it.
INSIDE = 1e-3
NOTHING_APART = "no pose was found that keeps the bodies apart"


class Target(Protocol):
    """Where tools are wanted, after `arm.kinematics`: how far they are off, m, an angle counting as its arc at a radius
    of 1 m; and how these numbers change with the joints."""

    def off(self) -> Vector: ...
    def slopes(self) -> Vector: ...


class Points:
    """Points in the world for the tools of an arm (3 k), m."""

    def __init__(self, tools: Tools, goal: Vector) -> None:
        self._tools, self._goal = tools, goal

    def off(self) -> Vector:
        return self._tools.position() - self._goal

    def slopes(self) -> Vector:
        return self._tools.jacobian()


class Pose:
    """A position, m, and an orientation, a unit quaternion, for one tool.

    Orientations differ by the nine numbers of their matrices over √2, which is their angle where that is small, and
    smooth where it is not.
    """

    def __init__(self, tool: ToolPose, position: Vector, quaternion: Vector) -> None:
        self._tool, self._position, self._R = tool, position, matrix_of_quaternion(quaternion)

    def off(self) -> Vector:
        turn = (self._tool.matrix() - self._R) / np.sqrt(2.0)
        return np.concatenate([self._tool.position() - self._position, turn.ravel()])

    def slopes(self) -> Vector:
        J = self._tool.jacobian()
        # A joint that turns the tool by ω changes each column of its matrix by ω × column.
        turns = np.cross(J[3:].T[:, :, None], self._tool.matrix()[None], axis=1) / np.sqrt(2.0)
        return np.vstack([J[:3], turns.reshape(-1, 9).T])


class Posture:
    """A position of all joints (n), m or rad."""

    def __init__(self, arm: Arm, goal: Vector) -> None:
        self._q, self._goal = arm.data.qpos, goal

    def off(self) -> Vector:
        return np.asarray(self._q - self._goal)

    def slopes(self) -> Vector:
        return np.eye(len(self._goal))


def nearest(arm: Arm, target: Target, q: Vector, spacing: Spacing | None = None) -> tuple[Vector, float]:
    """A joint position that has the tools at the target, or the nearest to it that was found; and how far off, m."""
    low, high = arm.ranges
    inside = np.minimum(INSIDE * (high - low), INSIDE)
    span_low, span_high = np.where(np.isinf(low), -np.pi, low), np.where(np.isinf(high), np.pi, high)
    starts = span_low + (span_high - span_low) * np.random.default_rng(0).random((STARTS, arm.n))
    best, least = q, np.inf
    for start in (q, *starts):
        found = _search(arm, target, np.clip(start, low + inside, high - inside), spacing, LOOKS, GAIN)
        off = _distance(arm, target, found, spacing)
        if off < least:
            best, least = found, off
        if least <= REACHED:
            return best, least
    found = _search(arm, target, best, spacing, LAST_LOOKS, LAST_GAIN)
    off = _distance(arm, target, found, spacing)
    return (found, off) if off < least else (best, least)


def _search(arm: Arm, target: Target, q: Vector, spacing: Spacing | None, looks: int, gain: float) -> Vector:
    """Downhill from q, which is inside the ranges."""

    def off(q: Vector) -> Vector:
        arm.kinematics(q)
        return np.append(target.off(), KEEPING_APART * _too_near(q, spacing))

    def slopes(q: Vector) -> Vector:
        arm.kinematics(q)
        rows = target.slopes()
        parting = np.zeros(arm.n)
        if spacing is not None and _too_near(q, spacing) > 0.0:
            parting = -KEEPING_APART * spacing.clearance.gradient()
        return np.vstack([rows, parting])

    found = least_squares(off, q, slopes, arm.ranges, x_scale="jac", ftol=gain, xtol=gain, gtol=gain, max_nfev=looks)
    return np.asarray(found.x)


def _too_near(q: Vector, spacing: Spacing | None) -> float:
    """By how much bodies come nearer than they may, m."""
    if spacing is None:
        return 0.0
    spacing.clearance.update(q)
    return max(0.0, spacing.least - spacing.clearance.distance)


def _distance(arm: Arm, target: Target, q: Vector, spacing: Spacing | None) -> float:
    """How far the tools are off, m; infinite where bodies come too near."""
    near = _too_near(q, spacing)
    arm.kinematics(q)
    return float(np.linalg.norm(target.off())) if near <= REACHED else np.inf


def check_via_poses(arm: Arm, tool: ToolPose, via: ViaPoses, q: Vector, spacing: Spacing | None) -> None:
    """ValueError when the tool cannot be at one of the poses: which, and the nearest that it can, seen from q."""
    for k, (time, p, turned) in enumerate(zip(via.times, via.positions, via.quaternions, strict=True), 1):
        q, off = nearest(arm, Pose(tool, p, turned), q, spacing)
        if off > REACHED:
            wanted = f"via point {k} at {time:g} s, {_pose_in_words(p, turned)}, is out of reach"
            arm.kinematics(q)
            raise ValueError(f"{wanted}; {_instead(tool, p, turned) if np.isfinite(off) else NOTHING_APART}")


def posture_for_pose(
    arm: Arm, tool: ToolPose, position: Vector, quaternion: Vector, q: Vector, spacing: Spacing
) -> Vector:
    """A posture that has the tool at a pose, looked for from q; ValueError when there is none: the nearest pose."""
    target = Pose(tool, position, quaternion)
    found, off = nearest(arm, target, q, spacing)
    if off > REACHED:
        arm.kinematics(found)
        instead = _instead(tool, position, quaternion) if np.isfinite(off) else NOTHING_APART
        raise ValueError(f"goal pose {_pose_in_words(position, quaternion)} is out of reach; {instead}")
    return _search(arm, target, found, spacing, LAST_LOOKS, LAST_GAIN)


def check_posture(arm: Arm, posture: Vector, spacing: Spacing) -> None:
    """ValueError when joints are out of their ranges at a goal posture, or bodies too near: what is wrong, and the
    nearest posture that is feasible."""
    low, high = arm.ranges
    out = np.flatnonzero((posture < low) | (posture > high))
    clearance = spacing.clearance
    clearance.update(posture)
    if len(out):
        i = int(out[0])
        wrong = f"joint {arm.joint_names[i]} can be from {low[i]:.4g} to {high[i]:.4g} {arm.units[i]}"
    elif clearance.distance < spacing.least:
        one, other = clearance.names[clearance.nearest]
        apart = f"{clearance.distance:.3g} m from {other}, and {spacing.least:.3g} m are needed"
        wrong = f"{one} would be {apart}"
    else:
        return
    found, off = nearest(arm, Posture(arm, posture), posture, spacing)
    instead = f"the nearest feasible posture is {_numbers(found)}" if np.isfinite(off) else NOTHING_APART
    raise ValueError(f"goal posture {_numbers(posture)} is not feasible: {wrong}; {instead}")


def check_goal(arm: Arm, tools: Tools, goal: Vector, q: Vector) -> None:
    """ValueError when the tools cannot be at their goals (3 k) all at once: the nearest that they can, seen from q."""
    q, off = nearest(arm, Points(tools, goal), q)
    if off <= REACHED:
        return
    arm.kinematics(q)
    here = tools.position()
    wanted, found = (" and ".join(map(_point_in_words, points.reshape(-1, 3))) for points in (goal, here))
    away = float(np.linalg.norm((here - goal).reshape(-1, 3), axis=1).max())
    raise ValueError(f"goal {wanted} is out of reach; the nearest feasible is {found}, {away:.3g} m off")


def _instead(tool: ToolPose, position: Vector, quaternion: Vector) -> str:
    """Where the tool is, after `arm.kinematics`, and how far from a pose."""
    here, there = tool.position(), tool.quaternion()
    away = np.linalg.norm(here - position)
    angle = np.degrees(np.linalg.norm(rotation_between(there, quaternion)))
    return f"the nearest feasible pose is {_pose_in_words(here, there)}, {away:.3g} m and {angle:.3g}° off"


def _numbers(posture: Vector) -> str:
    return f"({', '.join(f'{value:.4g}' for value in posture)})"


def _pose_in_words(position: Vector, quaternion: Vector) -> str:
    z1, y2, z3 = zyz_of_quaternion(quaternion)
    return f"{_point_in_words(position)} turned by zyz ({z1:.3f}, {y2:.3f}, {z3:.3f}) rad"


def _point_in_words(point: Vector) -> str:
    x, y, z = point
    return f"({x:.4g}, {y:.4g}, {z:.4g}) m"
