"""An arm's tree, links and pairs as plain arrays: what a collision detector in C needs to know of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray
from simloop.models.arm import Arm, Vector
from simloop.models.clearance import Clearance
from simloop.models.gjk import Pose

Whole = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class CollisionData:
    """The fields of the C struct Robot (`cffi_build/native_robot.h`) that describe the arm, in its order.

    Lengths in m, angles in rad, quaternions w first; a pose is its rotation by rows and its translation.
    """

    body_pos: Vector
    body_quat: Vector
    joint_axis: Vector
    joint_pos: Vector
    joint_zero: Vector
    standing: Vector
    member_pose: Vector
    member_radius: Vector
    vertices: Vector
    body_parent: Whole
    body_joint: Whole
    body_joints: Whole
    joint_slides: Whole
    member_frame: Whole
    member_vertex: Whole
    member_climb: Whole
    climb: Whole
    pair: Whole
    pair_body: Whole
    names: list[tuple[str, str]]
    """Of the two links of each pair."""


def collision_data(arm: Arm) -> CollisionData:
    """What a Clearance of the arm tests, with the same numbers for pairs."""
    model, clearance = arm.model, Clearance(arm)
    scene = clearance.scene
    members = scene.members if scene is not None else ()
    identity = (np.eye(3), np.zeros(3))
    tables = [np.concatenate(m.hull.neighbours) if m.hull.neighbours else np.zeros(0) for m in members]
    return CollisionData(
        body_pos=model.body_pos,
        body_quat=model.body_quat,
        joint_axis=model.jnt_axis,
        joint_pos=model.jnt_pos,
        joint_zero=model.qpos0,
        standing=_poses([] if scene is None else zip(scene.rotations, scene.translations, strict=True))[model.nbody :],
        member_pose=_poses(member.pose or identity for member in members),
        member_radius=np.array([member.hull.radius for member in members]),
        vertices=np.concatenate([np.zeros((0, 3)), *(member.hull.kept for member in members)]),
        body_parent=_whole(model.body_parentid),
        body_joint=_whole(model.body_jntadr),
        body_joints=_whole(model.body_jntnum),
        joint_slides=_whole(model.jnt_type == mujoco.mjtJoint.mjJNT_SLIDE),
        member_frame=_whole([member.frame for member in members]),
        member_vertex=_places(len(member.hull.kept) for member in members),
        member_climb=_places(len(table) for table in tables),
        climb=_whole(np.concatenate([np.zeros(0), *tables])),
        pair=_whole(np.zeros((0, 2)) if scene is None else scene.pairs),
        pair_body=_whole(np.reshape(clearance.pair_bodies, (-1, 2))),
        names=clearance.names,
    )


def _poses(poses: Iterable[Pose]) -> Vector:
    rows = [np.concatenate([np.ravel(rotation), translation]) for rotation, translation in poses]
    return np.reshape(rows, (-1, 12))


def _places(lengths: Iterable[int]) -> Whole:
    """Where each of several lists begins when they stand one after another, and where the last ends."""
    return _whole(np.cumsum([0, *lengths]))


def _whole(values: ArrayLike) -> Whole:
    return np.asarray(values, dtype=np.int32)
