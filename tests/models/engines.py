"""Other collision engines, asked about a posed pair."""

import coal
import fcl
import numpy as np
from scipy.spatial import ConvexHull
from simloop.models import gjk


def coal_distance(query: gjk.PairQuery) -> float:
    shapes, poses = [], []
    for hull, R, t in (
        (query.a, query.rotation_a, query.translation_a),
        (query.b, query.rotation_b, query.translation_b),
    ):
        points, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        for vertex in hull.vertices:
            points.append(vertex)
        for i, j, k in ConvexHull(hull.vertices).simplices:
            faces.append(coal.Triangle(int(i), int(j), int(k)))
        shapes.append(coal.Convex(points, faces))
        poses.append(coal.Transform3s(R.copy(), t.copy()))
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    return float(coal.distance(shapes[0], poses[0], shapes[1], poses[1], request, result))


def fcl_distance(query: gjk.PairQuery) -> float:
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
