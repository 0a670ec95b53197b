"""Position and orientation of a tool, the difference between two of them, and how joints move it."""

from __future__ import annotations

import mujoco
import numpy as np
from simloop.models.arm import Arm, Vector


class ToolPose:
    """One tool of an arm as position (m) and orientation (a unit quaternion, w first), in the world frame."""

    def __init__(self, arm: Arm, site: str) -> None:
        self._arm = arm
        self._site = int(arm.model.site(site).id)
        self._xpos: Vector = arm.data.site_xpos[self._site]
        self._xmat: Vector = arm.data.site_xmat[self._site]
        self._quaternion = np.zeros(4)
        self._J = np.zeros((6, arm.n))
        self._linear, self._angular = self._J[:3], self._J[3:]

    def position(self) -> Vector:
        """After `arm.kinematics`; shared between calls."""
        return self._xpos

    def quaternion(self) -> Vector:
        """After `arm.kinematics`; shared between calls."""
        mujoco.mju_mat2Quat(self._quaternion, self._xmat)
        return self._quaternion

    def matrix(self) -> Vector:
        """The orientation as a matrix, (3, 3), after `arm.kinematics`; shared between calls."""
        return self._xmat.reshape(3, 3)

    def jacobian(self) -> Vector:
        """Twist per joint velocity, (6, n), after `arm.kinematics`: the velocity of the tool point and the angular
        velocity, both in the world frame; shared between calls."""
        mujoco.mj_jacSite(self._arm.model, self._arm.data, self._linear, self._angular, self._site)
        return self._J

    def way_to(self, position: Vector, quaternion: Vector, out: Vector) -> None:
        """Write the twist that takes the tool to a pose in 1 s: difference of positions, and rotation vector."""
        np.subtract(position, self._xpos, out=out[:3])
        out[3:] = rotation_between(self.quaternion(), quaternion)


class ToolPoint:
    """Only the position of a tool, as a task."""

    def __init__(self, tool: ToolPose) -> None:
        self._tool = tool

    def jacobian(self) -> Vector:
        """Velocity per joint velocity, (3, n)."""
        return self._tool.jacobian()[:3]


class ToolTurn:
    """Only the orientation of a tool, as a task."""

    def __init__(self, tool: ToolPose) -> None:
        self._tool = tool

    def jacobian(self) -> Vector:
        """Angular velocity per joint velocity, (3, n)."""
        return self._tool.jacobian()[3:]


def rotation_between(begin: Vector, end: Vector) -> Vector:
    """The rotation vector, rad, in the world frame, that takes one orientation to another."""
    inverse, turn, vector = np.zeros(4), np.zeros(4), np.zeros(3)
    mujoco.mju_negQuat(inverse, begin)
    mujoco.mju_mulQuat(turn, end, inverse)
    mujoco.mju_quat2Vel(vector, turn, 1.0)
    return vector


def turn_by(quaternion: Vector, vector: Vector) -> Vector:
    """An orientation turned by a rotation vector, rad, in the world frame."""
    turn, turned, size = np.zeros(4), np.zeros(4), float(np.linalg.norm(vector))
    mujoco.mju_axisAngle2Quat(turn, vector / size if size else np.array([1.0, 0.0, 0.0]), size)
    mujoco.mju_mulQuat(turned, turn, quaternion)
    return turned


def matrix_of_quaternion(quaternion: Vector) -> Vector:
    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, quaternion)
    return flat.reshape(3, 3)


def quaternion_of_zyz(angles: Vector) -> Vector:
    """The orientation with Euler angles z, y, z (rad), as S5 writes them."""
    turned, axes = np.array([1.0, 0.0, 0.0, 0.0]), ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    for axis, angle in zip(axes, angles, strict=True):
        one, product = np.zeros(4), np.zeros(4)
        mujoco.mju_axisAngle2Quat(one, np.array(axis), float(angle))
        mujoco.mju_mulQuat(product, turned, one)
        turned = product
    return turned


def zyz_of_quaternion(quaternion: Vector) -> Vector:
    """Euler angles z, y, z (rad), the middle one from 0 to π; where it is 0 the last is 0 too."""
    R = matrix_of_quaternion(quaternion)
    level = float(np.hypot(R[0, 2], R[1, 2]))
    middle = float(np.arctan2(level, R[2, 2]))
    if level < 1e-12:
        return np.array([np.arctan2(np.copysign(R[1, 0], R[1, 0] * R[2, 2]), R[1, 1]), middle, 0.0])
    return np.array([np.arctan2(R[1, 2], R[0, 2]), middle, np.arctan2(R[2, 1], -R[2, 0])])
