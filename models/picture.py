"""A picture of a robot as SVG, by projecting the faces of its convex links: no graphics library, always the same."""

from __future__ import annotations

import functools
import math

import mujoco
import numpy as np
from scipy.spatial import ConvexHull, QhullError
from simloop.models.arm import Arm, Vector
from simloop.models.clearance import solid, solid_geoms

# Where the viewer stands, seen from the robot, and where the light comes from: azimuth and elevation, rad.
VIEW = (math.radians(35.0), math.radians(18.0))
LIGHT = (math.radians(80.0), math.radians(55.0))
WIDTH, MARGIN = 420, 10
# Points on the unit sphere that stand for a round end.
_ROUND = 48
_GREY, _BLUE = (150, 155, 165), (70, 130, 190)


@functools.lru_cache(maxsize=8)
def draw(mjcf: str, home: tuple[float, ...]) -> str:
    """The robot of an MJCF at joint position `home` as an SVG element, WIDTH pixels wide."""
    arm = Arm(mjcf)
    arm.kinematics(np.array(home))
    towards = _direction(*VIEW)
    faces = [face for geom in solid_geoms(arm.model) for face in _faces(arm, geom) if face[1] @ towards > 0.0]
    if not faces:
        return ""
    faces.sort(key=lambda face: (round(float(face[0].mean(axis=0) @ towards), 9), face[0].round(9).tolist()))
    right = np.cross([0.0, 0.0, 1.0], towards)
    right /= np.linalg.norm(right)
    screen = np.array([right, -np.cross(towards, right)])
    flat = [corners @ screen.T for corners, _, _ in faces]
    low, high = np.concatenate(flat).min(axis=0), np.concatenate(flat).max(axis=0)
    scale = (WIDTH - 2 * MARGIN) / max(float((high - low).max()), 1e-9)
    height = math.ceil(float((high - low)[1]) * scale + 2 * MARGIN)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">']
    for corners, (_, normal, colour) in zip(flat, faces, strict=True):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (corners - low) * scale + MARGIN)
        shade = _shade(colour, normal)
        lines.append(f'<polygon points="{points}" fill="{shade}" stroke="{shade}" stroke-width="0.4"/>')
    return "\n".join([*lines, "</svg>"])


def _faces(arm: Arm, geom: int) -> list[tuple[Vector, Vector, tuple[int, int, int]]]:
    """Triangles of a geom's hull in the world, (3, 3), with outward normal and colour; none of what has no inside."""
    model, data = arm.model, arm.data
    if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE:
        return []
    _, hull = solid(model, geom)
    points = hull.kept
    if hull.radius > 0.0:
        points = (points[:, None] + hull.radius * _sphere()).reshape(-1, 3)
    try:
        skin = ConvexHull(points @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom])
    except QhullError:
        return []
    colour = _BLUE if model.geom_bodyid[geom] % 2 else _GREY
    planes = zip(skin.simplices, skin.equations, strict=True)
    return [(skin.points[corners], plane[:3], colour) for corners, plane in planes]


def _direction(azimuth: float, elevation: float) -> Vector:
    across = math.cos(elevation)
    return np.array([across * math.cos(azimuth), across * math.sin(azimuth), math.sin(elevation)])


def _sphere() -> Vector:
    """Points spread evenly over the unit sphere, on a spiral at the golden angle."""
    z = 1.0 - (2.0 * np.arange(_ROUND) + 1.0) / _ROUND
    turn = np.arange(_ROUND) * np.pi * (3.0 - np.sqrt(5.0))
    return np.stack([np.sqrt(1.0 - z * z) * np.cos(turn), np.sqrt(1.0 - z * z) * np.sin(turn), z], axis=1)


def _shade(colour: tuple[int, int, int], normal: Vector) -> str:
    bright = 0.55 + 0.45 * max(0.0, float(normal @ _direction(*LIGHT)))
    return "#" + "".join(f"{round(part * bright):02x}" for part in colour)
