"""A robot's scene: one call for all pairs against a loop of `coal.distance` over the same pairs, both from Python.

Two chains of seven links with two convex bodies each and two obstacles: some 30 bodies, all pairs that may touch. The
arm moves a millisecond's way between two updates. Prints medians over interleaved rounds, and how the scene's time
grows with the pairs that its boxes leave.
"""

from __future__ import annotations

import statistics
import time
from itertools import combinations

import coal
import numpy as np
from simloop.models import gjk

ROUNDS, STEPS = 11, 100


def link(rng: np.random.Generator) -> gjk.Hull:
    points = rng.standard_normal((24, 3))
    return gjk.Hull(points / np.linalg.norm(points, axis=1)[:, None] * np.array([0.04, 0.04, 0.08]))


def make_scene(rng: np.random.Generator, chains: int = 2, links: int = 7) -> gjk.Scene:
    members = [
        gjk.Member(link(rng), chain * links + k, (np.eye(3), np.array([0.0, 0.0, z])))
        for chain in range(chains)
        for k in range(links)
        for z in (0.0, 0.07)
    ]
    members += [gjk.Member(link(rng), chains * links + k) for k in range(2)]

    def may_touch(i: int, j: int) -> bool:
        a, b = members[i].frame, members[j].frame
        same_chain = a // links == b // links and max(a, b) < chains * links
        return a != b and not (same_chain and abs(a - b) == 1)

    pairs = [(i, j) for i, j in combinations(range(len(members)), 2) if may_touch(i, j)]
    return gjk.Scene(members, pairs, chains * links + 2)


def place(scene: gjk.Scene, t: float, links: int = 7) -> None:
    """Both chains bend slowly; the obstacles stand between them."""
    for chain in range(2):
        at, angle = np.array([0.0, 0.5 * chain - 0.25, 0.3]), 0.0
        for k in range(links):
            angle += 0.25 * np.sin(1.0 * t + k + chain)
            R = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
            scene.rotations[chain * links + k], scene.translations[chain * links + k] = R, at
            at = at + R @ np.array([0.0, 0.0, 0.15])
    scene.translations[2 * links :] = [[0.3, 0.0, 0.5], [-0.3, 0.0, 0.8]]


def coal_shapes(scene: gjk.Scene) -> list[coal.ConvexBase]:
    shapes = []
    for member in scene.members:
        points = coal.StdVec_Vec3s()
        for vertex in member.hull.vertices:
            points.append(vertex)
        shapes.append(coal.Convex.convexHull(points, False, None))
    return shapes


def coal_poses(scene: gjk.Scene) -> list[coal.Transform3s]:
    poses = []
    for member in scene.members:
        R, t = scene.rotations[member.frame], scene.translations[member.frame]
        offset = np.zeros(3) if member.pose is None else np.asarray(member.pose[1])
        poses.append(coal.Transform3s(R.copy(), R @ offset + t))
    return poses


def main() -> None:
    scene = make_scene(np.random.default_rng(4))
    shapes = coal_shapes(scene)
    pairs = [tuple(pair) for pair in scene.pairs.tolist()]
    request = coal.DistanceRequest(True)
    result = coal.DistanceResult()
    ours, theirs, worst = [], [], 0.0
    for r in range(ROUNDS):
        spent = 0.0
        for k in range(STEPS):
            place(scene, r + 1e-3 * k)
            begin = time.perf_counter()
            scene.update()
            spent += time.perf_counter() - begin
        ours.append(spent / STEPS)
        poses = coal_poses(scene)
        begin = time.perf_counter()
        distances = []
        for i, j in pairs:
            result.clear()
            distances.append(coal.distance(shapes[i], poses[i], shapes[j], poses[j], request, result))
        theirs.append(time.perf_counter() - begin)
        worst = max(worst, abs(min(distances) - scene.distance))
    a, b = statistics.median(ours), statistics.median(theirs)
    print(f"{len(scene.members)} bodies, {len(pairs)} pairs; {scene.tested} tested, {scene.pruned} pruned")
    print(f"one scene update {1e6 * a:7.1f} us, loop of coal.distance {1e6 * b:7.1f} us: {b / a:.0f} times faster")
    print(f"largest difference of the nearest distance {worst:.1e} m")
    print("margin / m   pairs tested   us   ns a pair tested")
    for margin in (0.0, 0.1, 0.2, 0.4, 0.8, 2.0):
        times = []
        for k in range(300):
            place(scene, 1e-3 * k)
            begin = time.perf_counter()
            scene.update(margin)
            times.append(time.perf_counter() - begin)
        spent = statistics.median(times)
        print(f"{margin:10.1f}   {scene.tested:12d}   {1e6 * spent:6.1f}   {1e9 * spent / max(1, scene.tested):6.0f}")


if __name__ == "__main__":
    main()
