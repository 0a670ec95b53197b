"""How near an arm is to its surroundings and to itself, by GJK on the geoms of its MJCF."""

from __future__ import annotations

from itertools import combinations

import mujoco
import numpy as np
from numpy.typing import NDArray
from simloop.models.arm import Arm, Vector
from simloop.models.enclosure import enclose_cylinder, enclose_ellipsoid
from simloop.models.gjk import MEMORY, Hull, Member, PairQuery, Scene
from simloop.models.resolving import Partings

# Distance told when there is nothing to be near to, m.
NOTHING_NEAR = 1e6
# Time to contact told when there will be none, s.
NEVER = 1e6
# A plane is endless to MuJoCo; here it is the top of a box of this half width and depth, m.
PLANE_REACH = 100.0
_SIGNS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)


def count_pairs(arm: Arm) -> int:
    """How many pairs of geoms a Clearance tests."""
    return len(_pairs(arm.model))


class Clearance:
    """The nearest pair of geoms of an arm in its scene.

    Tested are an arm's geoms against the fixed ones and against those of other bodies, but not against those of the
    body its joint sits on, nor pairs of bodies that the MJCF excludes from contact. Geoms that take no part in contact
    (contype and conaffinity 0) are only to look at. An arm with joints frozen can be given the pairs of the whole one,
    `pairs_of`.

    Spheres, capsules, boxes and meshes (by their hulls) are exact. A cylinder is a prism around it, an ellipsoid a
    polyhedron around it (`simloop.models.enclosure` says how close), a plane the top of a box of ± PLANE_REACH.
    """

    def __init__(self, arm: Arm, pairs_of: Arm | None = None) -> None:
        self._arm = arm
        model = arm.model
        pairs = _pairs((pairs_of or arm).model)
        geoms = sorted({geom for pair in pairs for geom in pair})
        place = {geom: i for i, geom in enumerate(geoms)}
        # A frame, which gets one box, is a body that moves; what stands in the world is a frame each, being far apart.
        standing = [geom for geom in geoms if not model.body_weldid[model.geom_bodyid[geom]]]
        own = {geom: model.nbody + i for i, geom in enumerate(standing)}
        members = [
            Member(_hull(model, geom), own[geom], None)
            if geom in own
            else Member(_hull(model, geom), int(model.geom_bodyid[geom]), _on_frame(model, geom))
            for geom in geoms
        ]
        frames = model.nbody + len(standing)
        self._scene = Scene(members, [(place[i], place[j]) for i, j in pairs], frames) if pairs else None
        if self._scene is not None:
            arm.kinematics(model.qpos0)
            self._scene.translations[model.nbody :] = arm.data.geom_xpos[standing]
            self._scene.rotations[model.nbody :] = arm.data.geom_xmat[standing].reshape(-1, 3, 3)
            self._positions, self._turns = self._scene.translations[: model.nbody], self._scene.rotations[: model.nbody]
            self._xpos, self._xmat = arm.data.xpos, arm.data.xmat.reshape(-1, 3, 3)
        self.memory = np.zeros((0, MEMORY)) if self._scene is None else self._scene.memory
        """What the pairs remember from one update to the next: the only state."""
        self.names: list[tuple[str, str]] = []
        if self._scene is not None:
            self.names = [(_geom_name(model, geoms[i]), _geom_name(model, geoms[j])) for i, j in self._scene.pairs]
        numbered = np.zeros((0, 2), dtype=int) if self._scene is None else self._scene.pairs
        self._pair_geoms = [(geoms[i], geoms[j]) for i, j in numbered]
        self._pair_bodies = [(int(model.geom_bodyid[i]), int(model.geom_bodyid[j])) for i, j in self._pair_geoms]
        witnesses = np.zeros((0, 3, 3)) if self._scene is None else self._scene.witnesses
        bodies = np.array(self._pair_bodies, dtype=np.int32).reshape(-1, 2)
        self._partings = Partings(arm, bodies, witnesses)
        self._queries: dict[int, PairQuery] = {}
        self.nearest = 0
        self.distance = NOTHING_NEAR
        self.point_a, self.point_b, self.normal = np.zeros(3), np.zeros(3), np.zeros(3)

    @property
    def scene(self) -> Scene | None:
        """What is tested; None when there is nothing to be near to."""
        return self._scene

    @property
    def pair_bodies(self) -> list[tuple[int, int]]:
        """Numbers of the two bodies of each pair."""
        return self._pair_bodies

    def update(self, q: Vector) -> None:
        """Find the nearest pair at q: `nearest` (its index in `names`), `distance` (negative inside), the points on
        both geoms and the unit normal from the first to the second, in the world frame, m."""
        if self._scene is None:
            return
        self._arm.kinematics(q)
        self._place()
        scene = self._scene
        scene.update()
        self.nearest, self.distance = scene.nearest, scene.distance
        self.point_a[:], self.point_b[:], self.normal[:] = scene.point_a, scene.point_b, scene.normal

    def _place(self) -> None:
        self._positions[:] = self._xpos
        self._turns[:] = self._xmat

    def near(self, q: Vector, margin: float) -> tuple[NDArray[np.int32], Vector]:
        """The pairs that are within `margin` m at q, and their distances; independent of what was asked before."""
        self._arm.kinematics(q)
        return self.near_here(margin)

    def near_here(self, margin: float) -> tuple[NDArray[np.int32], Vector]:
        """As `near`, where `arm.kinematics` has placed the arm."""
        if self._scene is None:
            return np.zeros(0, dtype=np.int32), np.zeros(0)
        self._place()
        self.memory.fill(0.0)
        self._scene.update(margin)
        pairs = self._scene.within
        return pairs, self._scene.distances.take(pairs)

    def rows(self, pairs: NDArray[np.int32]) -> Vector:
        """The gradients of the distances of pairs that `near` found, (k, n); shared between calls."""
        return self._partings.rows(pairs)

    def meet(self, pair: int) -> tuple[float, Vector]:
        """The distance of a pair and its gradient: distance per joint, at the position of the last call that placed
        the arm; independent of what was asked before."""
        query = self._queries.get(pair)
        a, b = self._pair_geoms[pair]
        model, data = self._arm.model, self._arm.data
        if query is None:
            query = self._queries[pair] = PairQuery(_hull(model, a), _hull(model, b))
        query.rotation_a[:], query.translation_a[:] = data.geom_xmat[a].reshape(3, 3), data.geom_xpos[a]
        query.rotation_b[:], query.translation_b[:] = data.geom_xmat[b].reshape(3, 3), data.geom_xpos[b]
        query.memory[:] = 0.0
        query.update()
        body_a, body_b = self._pair_bodies[pair]
        return query.distance, self._arm.parting(body_a, query.point_a, body_b, query.point_b, query.normal)

    def time_to_contact(self, v: Vector) -> float:
        """Time, s, until the nearest pair of the last update touches if its witness points go on as joint velocities v
        move them; 0 when it touches already, NEVER when it does not close."""
        if self._scene is None:
            return NEVER
        if self.distance <= 0.0:
            return 0.0
        closing = -float(self.gradient() @ v)
        return min(self.distance / closing, NEVER) if closing > 0.0 else NEVER

    def gradient(self) -> Vector:
        """Change of the distance of the last update per change of each joint, m/rad or m/m; 0 when nothing is near.

        The witness points move with their bodies, and sliding along the faces does not change the distance to first
        order: ∂d/∂q = nᵀ (J_b − J_a), n the normal from a to b. Where the nearest pair or feature changes, it jumps.
        """
        if self._scene is None:
            return np.zeros(self._arm.n)
        a, b = self._pair_bodies[self.nearest]
        return self._arm.parting(a, self.point_a, b, self.point_b, self.normal)


def _on_frame(model: mujoco.MjModel, geom: int) -> tuple[Vector, Vector]:
    """Rotation and translation of a geom on its body."""
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.geom_quat[geom])
    return rotation.reshape(3, 3), model.geom_pos[geom].copy()


def _pairs(model: mujoco.MjModel) -> list[tuple[int, int]]:
    # MuJoCo keeps an excluded pair of bodies as one number, the smaller index in the upper half.
    excluded = {divmod(int(signature), 1 << 16) for signature in model.exclude_signature}

    def apart(i: int, j: int) -> bool:
        a, b = sorted((int(model.geom_bodyid[i]), int(model.geom_bodyid[j])))
        if (a, b) in excluded:
            return False
        weld_a, weld_b = model.body_weldid[a], model.body_weldid[b]
        parents = model.body_weldid[model.body_parentid[[weld_a, weld_b]]]
        fixed = weld_a == 0 or weld_b == 0
        return bool(weld_a != weld_b and (fixed or (parents[0] != weld_b and parents[1] != weld_a)))

    # The arm's geom first, so that the normal points from the arm to what it may hit.
    def arm_first(i: int, j: int) -> tuple[int, int]:
        return (i, j) if model.body_weldid[model.geom_bodyid[i]] != 0 else (j, i)

    return [arm_first(i, j) for i, j in combinations(solid_geoms(model), 2) if apart(i, j)]


def _hull(model: mujoco.MjModel, geom: int) -> Hull:
    kind, size = mujoco.mjtGeom(model.geom_type[geom]), model.geom_size[geom]
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return Hull([[0.0, 0.0, 0.0]], radius=size[0])
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return Hull([[0.0, 0.0, -size[1]], [0.0, 0.0, size[1]]], radius=size[0])
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return Hull(_SIGNS * size)
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return Hull(enclose_cylinder(size[0], size[1]))
    if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        return Hull(enclose_ellipsoid(size))
    if kind == mujoco.mjtGeom.mjGEOM_PLANE:
        return Hull((_SIGNS - [0.0, 0.0, 1.0]) * [PLANE_REACH, PLANE_REACH, PLANE_REACH / 2])
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
        return Hull(model.mesh_vert[first : first + count].astype(float))
    name = _geom_name(model, geom)
    known = "sphere, capsule, box, cylinder, ellipsoid, plane and mesh"
    raise ValueError(f"geom {name!r} is a {kind.name[7:].lower()}; clearance knows {known}")


def _geom_name(model: mujoco.MjModel, geom: int) -> str:
    return model.geom(geom).name or f"geom{geom}"


def solid_geoms(model: mujoco.MjModel) -> list[int]:
    """Numbers of the geoms that take part in contact."""
    return [geom for geom in range(model.ngeom) if model.geom_contype[geom] or model.geom_conaffinity[geom]]


def solid(model: mujoco.MjModel, geom: int) -> tuple[str, Hull]:
    """A geom's name, its number where it has none, and its hull in its own frame."""
    return _geom_name(model, geom), _hull(model, geom)
