"""Other collision engines, asked about a pair of posed bodies."""

import coal
import fcl
import mujoco
import numpy as np
from scipy.spatial import ConvexHull
from simloop.models import gjk

from tests.models.bodies import Array


class CoalPair:
    """coal's signed distance of two hulls of points, swept by their radii; its own tolerance is 1e-6 m."""

    def __init__(self, a: gjk.Hull, b: gjk.Hull) -> None:
        self.shapes = [convex(hull.vertices) for hull in (a, b)]
        self.radii = a.radius + b.radius

    def distance(self, pose_a: gjk.Pose, pose_b: gjk.Pose) -> float:
        poses = [coal.Transform3s(np.array(R), np.array(t)) for R, t in (pose_a, pose_b)]
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        apart = coal.distance(self.shapes[0], poses[0], self.shapes[1], poses[1], request, result)
        return float(apart) - self.radii


def convex(vertices: Array) -> coal.Convex:
    """The hull of points as coal has it."""
    points, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for vertex in vertices:
        points.append(vertex)
    for i, j, k in ConvexHull(vertices).simplices:
        faces.append(coal.Triangle(int(i), int(j), int(k)))
    return coal.Convex(points, faces)


def coal_distance(query: gjk.PairQuery) -> float:
    pose_a, pose_b = (query.rotation_a, query.translation_a), (query.rotation_b, query.translation_b)
    return CoalPair(query.a, query.b).distance(pose_a, pose_b)


def fcl_distance(query: gjk.PairQuery) -> float:
    """fcl's distance, some negative number for bodies that overlap."""
    bodies = []
    for hull, R, t in (
        (query.a, query.rotation_a, query.translation_a),
        (query.b, query.rotation_b, query.translation_b),
    ):
        faces = ConvexHull(hull.vertices).simplices
        flat = np.column_stack([np.full(len(faces), 3), faces]).ravel()
        shape = fcl.Convex(hull.vertices, len(faces), flat)
        bodies.append(fcl.CollisionObject(shape, fcl.Transform(R, t)))
    return float(fcl.distance(*bodies, fcl.DistanceRequest(), fcl.DistanceResult()))


class MujocoPair:
    """`mj_geomDistance` of two bodies.

    MuJoCo keeps the vertices of a mesh in single precision about a frame of its own: `hulls` are the bodies as it has
    them. A body of one point or two, with a radius, is a sphere or a capsule.
    """

    def __init__(self, a: gjk.Hull, b: gjk.Hull) -> None:
        spec = mujoco.MjSpec()
        kinds = [self._add(spec, hull, f"mesh{k}") for k, hull in enumerate((a, b))]
        self.model = spec.compile()
        self.model.opt.ccd_tolerance = 1e-12
        self.model.opt.ccd_iterations = 1000
        self.data = mujoco.MjData(self.model)
        self.hulls = [
            gjk.Hull(self._vertices(k)) if is_mesh else hull
            for k, (hull, is_mesh) in enumerate(zip((a, b), kinds, strict=True))
        ]

    @staticmethod
    def _add(spec: mujoco.MjSpec, hull: gjk.Hull, name: str) -> bool:
        body = spec.worldbody.add_body()
        if len(hull.vertices) > 2:
            spec.add_mesh(name=name).uservert = hull.vertices.astype(np.float32).ravel()
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name)
            return True
        kind = mujoco.mjtGeom.mjGEOM_SPHERE if len(hull.vertices) == 1 else mujoco.mjtGeom.mjGEOM_CAPSULE
        body.add_geom(type=kind, size=[hull.radius, np.abs(hull.vertices).max(), 0.0])
        return False

    def _vertices(self, geom: int) -> Array:
        mesh = self.model.geom_dataid[geom]
        first, count = self.model.mesh_vertadr[mesh], self.model.mesh_vertnum[mesh]
        return np.asarray(self.model.mesh_vert[first : first + count], dtype=np.float64)

    def distance(self, query: gjk.PairQuery) -> float:
        self.data.geom_xpos[:] = query.translation_a, query.translation_b
        self.data.geom_xmat[:] = query.rotation_a.ravel(), query.rotation_b.ravel()
        return float(mujoco.mj_geomDistance(self.model, self.data, 0, 1, 100.0, None))
