"""How near an arm is to its surroundings and to itself, by GJK on the geoms of its MJCF."""

from __future__ import annotations

from itertools import combinations

import mujoco
import numpy as np
from simloop.models.arm import Arm, Vector
from simloop.models.gjk import Hull, PairQuery

# Distance told when there is nothing to be near to, m.
NOTHING_NEAR = 1e6


class Clearance:
    """The nearest pair of geoms of an arm in its scene.

    Tested are an arm's geoms against the fixed ones and against those of other bodies, but not against those of the
    body its joint sits on. Geoms that take no part in contact (contype and conaffinity 0) are only to look at.
    """

    def __init__(self, arm: Arm) -> None:
        self._arm = arm
        model = arm.model
        pairs = _pairs(model)
        hulls = {geom: _hull(model, geom) for geom in sorted({geom for pair in pairs for geom in pair})}
        self.axes = np.zeros((len(pairs), 3))
        """What the pairs remember from one update to the next: the only state."""
        queries = [PairQuery(hulls[i], hulls[j], axis) for (i, j), axis in zip(pairs, self.axes, strict=True)]
        self._tests = [(i, j, query) for (i, j), query in zip(pairs, queries, strict=True)]
        self.names = [(_geom_name(model, i), _geom_name(model, j)) for i, j, _ in self._tests]
        self.nearest = 0
        self.distance = NOTHING_NEAR
        self.point_a, self.point_b, self.normal = np.zeros(3), np.zeros(3), np.zeros(3)

    def update(self, q: Vector) -> None:
        """Find the nearest pair at q: `nearest` (its index in `names`), `distance` (negative inside), the points on
        both geoms and the unit normal from the first to the second, in the world frame, m."""
        self._arm.kinematics(q)
        positions, rotations = self._arm.data.geom_xpos, self._arm.data.geom_xmat.reshape(-1, 3, 3)
        best = None
        for index, (i, j, query) in enumerate(self._tests):
            query.rotation_a[:], query.translation_a[:] = rotations[i], positions[i]
            query.rotation_b[:], query.translation_b[:] = rotations[j], positions[j]
            distance = query.update()
            if best is None or distance < self.distance:
                self.nearest, self.distance, best = index, distance, query
        if best is not None:
            self.point_a[:], self.point_b[:], self.normal[:] = best.point_a, best.point_b, best.normal


def _pairs(model: mujoco.MjModel) -> list[tuple[int, int]]:
    def apart(i: int, j: int) -> bool:
        a, b = model.geom_bodyid[i], model.geom_bodyid[j]
        weld_a, weld_b = model.body_weldid[a], model.body_weldid[b]
        parents = model.body_weldid[model.body_parentid[[weld_a, weld_b]]]
        fixed = weld_a == 0 or weld_b == 0
        return bool(weld_a != weld_b and (fixed or (parents[0] != weld_b and parents[1] != weld_a)))

    # The arm's geom first, so that the normal points from the arm to what it may hit.
    def arm_first(i: int, j: int) -> tuple[int, int]:
        return (i, j) if model.body_weldid[model.geom_bodyid[i]] != 0 else (j, i)

    solid = [geom for geom in range(model.ngeom) if model.geom_contype[geom] or model.geom_conaffinity[geom]]
    return [arm_first(i, j) for i, j in combinations(solid, 2) if apart(i, j)]


def _hull(model: mujoco.MjModel, geom: int) -> Hull:
    kind, size = mujoco.mjtGeom(model.geom_type[geom]), model.geom_size[geom]
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return Hull([[0.0, 0.0, 0.0]], radius=size[0])
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return Hull([[0.0, 0.0, -size[1]], [0.0, 0.0, size[1]]], radius=size[0])
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
        return Hull(signs * size)
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
        return Hull(model.mesh_vert[first : first + count].astype(float))
    name = _geom_name(model, geom)
    raise ValueError(f"geom {name!r} is a {kind.name[7:].lower()}; clearance knows sphere, capsule, box and mesh")


def _geom_name(model: mujoco.MjModel, geom: int) -> str:
    return model.geom(geom).name or f"geom{geom}"
