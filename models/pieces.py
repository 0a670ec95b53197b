"""An arm and its scene as convex pieces to look at: triangles on bodies, and where the bodies are."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull
from simloop.models.arm import Arm, Vector

# How finely round things are drawn: circles of latitude, and points on each.
_RINGS, _AROUND = 19, 36
# An endless plane is drawn this far from its middle, and this thick, m.
_PLANE_HALF, _PLANE_DEPTH = 1.5, 0.005
_SIGNS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)

Faces = NDArray[np.int32]


@dataclass(frozen=True)
class Piece:
    """A convex piece fixed to a body: corners (k, 3) in the body's frame, m, and triangles of them (m, 3), by number,
    counter-clockwise from outside. `joint` is the number of the joint that moves it most directly, -1 when none
    does."""

    name: str
    body: int
    joint: int
    corners: Vector
    faces: Faces


def pieces_of(arm: Arm) -> list[Piece]:
    """Every geom of the arm's model, in the order of the model."""
    model = arm.model
    joints = _joint_of_each_body(model)
    found = []
    for i in range(model.ngeom):
        body = int(model.geom_bodyid[i])
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, model.geom_quat[i])
        corners, faces = hull_of(_points(model, i))
        name = model.geom(i).name or model.body(body).name or f"geom{i}"
        found.append(Piece(name, body, joints[body], corners @ turn.reshape(3, 3).T + model.geom_pos[i], faces))
    return found


def body_poses(arm: Arm, q: Vector, out: Vector) -> None:
    """Place the bodies at q and write each one's position, m, and quaternion, w first, into `out` (bodies, 7)."""
    arm.kinematics(q)
    out[:, :3], out[:, 3:] = arm.data.xpos, arm.data.xquat


def hull_of(points: Vector) -> tuple[Vector, Faces]:
    """The corners of a convex hull (k, 3), and its triangles (m, 3), counter-clockwise from outside."""
    hull = ConvexHull(points)
    kept = np.unique(hull.simplices)
    corners, faces = points[kept], np.searchsorted(kept, hull.simplices).astype(np.int32)
    a, b, c = corners[faces].transpose(1, 0, 2)
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    return corners, faces


def ball_points() -> Vector:
    """Points on the unit ball."""
    down, around = np.meshgrid(np.linspace(0.0, np.pi, _RINGS), np.linspace(0.0, 2 * np.pi, _AROUND, endpoint=False))
    unit = [np.sin(down) * np.cos(around), np.sin(down) * np.sin(around), np.cos(down)]
    points: Vector = np.unique(np.round(np.stack(unit, -1).reshape(-1, 3), 12), axis=0)
    return points


def _joint_of_each_body(model: mujoco.MjModel) -> list[int]:
    joints = [-1]
    for body in range(1, model.nbody):
        own = model.body_jntadr[body] + model.body_jntnum[body] - 1
        joints.append(int(own) if model.body_jntnum[body] else joints[model.body_parentid[body]])
    return joints


def _points(model: mujoco.MjModel, geom: int) -> Vector:
    """Points whose hull the geom is, in the geom's frame."""
    size, kinds = model.geom_size[geom], mujoco.mjtGeom
    kind = int(model.geom_type[geom])
    if kind == kinds.mjGEOM_BOX:
        return np.asarray(_SIGNS * size)
    if kind == kinds.mjGEOM_SPHERE:
        return np.asarray(size[0] * ball_points())
    if kind == kinds.mjGEOM_ELLIPSOID:
        return np.asarray(size * ball_points())
    if kind == kinds.mjGEOM_CAPSULE:
        end = np.array([0.0, 0.0, size[1]])
        return np.vstack([size[0] * ball_points() + end, size[0] * ball_points() - end])
    if kind == kinds.mjGEOM_CYLINDER:
        turns = np.linspace(0.0, 2 * np.pi, 2 * _AROUND, endpoint=False)
        return np.array([[size[0] * np.cos(a), size[0] * np.sin(a), z] for a in turns for z in (-size[1], size[1])])
    if kind == kinds.mjGEOM_PLANE:
        half = [s if s > 0.0 else _PLANE_HALF for s in size[:2]]
        return np.asarray(_SIGNS * (*half, _PLANE_DEPTH / 2) - (0.0, 0.0, _PLANE_DEPTH / 2))
    if kind == kinds.mjGEOM_MESH:
        mesh = int(model.geom_dataid[geom])
        first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
        return np.asarray(model.mesh_vert[first : first + count], dtype=float)
    raise ValueError(f"geom {model.geom(geom).name!r} is of a kind that cannot be drawn")
