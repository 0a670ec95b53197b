"""Independent engines that must agree with the collision library, or are known wrong and by how much."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from simloop.models import gjk

from tests.models.bodies import Array, box, ellipsoid, prism, random_rotation
from tests.models.engines import CoalPair, MujocoPair, coal_distance, fcl_distance
from tests.models.posed import qhull_depth, qp_distance, set_up
from tests.models.test_impact import pose_at
from tests.models.test_scene import place_frames, random_scene

# What each engine's own stopping rule leaves on parallel faces, m; the program's unknown is one over the distance, so
# that near contact it has half its digits. Elsewhere all agree to rounding, which is what half of the pairs must do.
COAL, MUJOCO, QP = 1e-6, 1e-8, 1e-5
ROUNDING = 1e-12

SHAPES: dict[str, Callable[[np.random.Generator], tuple[Array, Array]]] = {
    "hulls": lambda rng: (ellipsoid(rng, 20), ellipsoid(rng, 20)),
    "boxes": lambda rng: (box(*rng.uniform(0.05, 0.15, 3)), box(*rng.uniform(0.05, 0.15, 3))),
    "prism and box": lambda rng: (prism(6), box(*rng.uniform(0.05, 0.15, 3))),
    "thin boxes": lambda rng: (box(0.1, 0.1, 10.0 ** rng.uniform(-4, -2)), box(10.0 ** rng.uniform(-4, -2), 0.1, 0.1)),
}
GAPS: dict[str, Callable[[np.random.Generator], float]] = {
    "random": lambda rng: rng.uniform(0.01, 0.3),
    "near": lambda rng: 10.0 ** rng.uniform(-9, -4),
    "touching": lambda rng: 0.0,
    "shallow": lambda rng: -(10.0 ** rng.uniform(-6, -3)),
    "deep": lambda rng: -rng.uniform(0.02, 0.15),
}


@cache
def mujoco_pairs(shape: str) -> list[MujocoPair]:
    rng = np.random.default_rng(len(shape))
    return [MujocoPair(*map(gjk.Hull, SHAPES[shape](rng))) for _ in range(6)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("gap", GAPS)
def test_mujoco_coal_and_the_explicit_difference_agree(shape: str, gap: str) -> None:
    """fcl's distance is only a bound: on separated boxes it stops as much as 9 cm too far out, but never too near."""
    rng = np.random.default_rng(11)
    off: dict[str, list[float]] = {"mujoco": [], "coal": [], "fcl": [], "scipy": []}
    for pair in mujoco_pairs(shape):
        for _ in range(10):
            query = set_up(rng, GAPS[gap](rng), *(hull.vertices for hull in pair.hulls))
            found = query.update()
            off["mujoco"].append(pair.distance(query) - found)
            off["coal"].append(coal_distance(query) - found)
            off["fcl"].append(max(fcl_distance(query), 0.0) - max(found, 0.0))
            off["scipy"].append((qp_distance(query) if found > 0.0 else -qhull_depth(query)) - found)
    for engine, tolerance in (("mujoco", MUJOCO), ("coal", COAL), ("scipy", QP)):
        assert np.abs(off[engine]).max() < tolerance, engine
        assert np.median(np.abs(off[engine])) < ROUNDING, engine
    assert min(off["fcl"]) > -1e-12
    assert np.median(np.abs(off["fcl"])) < ROUNDING


@pytest.mark.parametrize("gap", GAPS)
def test_mujoco_agrees_on_spheres_and_capsules(gap: str) -> None:
    rng = np.random.default_rng(12)
    for points in ([[0.0, 0.0, 0.0]], [[0.0, 0.0, -0.1], [0.0, 0.0, 0.1]]):
        pair = MujocoPair(gjk.Hull(points, 0.04), gjk.Hull(ellipsoid(rng, 20)))
        query = gjk.PairQuery(*pair.hulls)
        for _ in range(30):
            posed = set_up(rng, 0.04 + GAPS[gap](rng), *(hull.vertices for hull in pair.hulls))
            for name in ("rotation_a", "rotation_b", "translation_a", "translation_b"):
                getattr(query, name)[:] = getattr(posed, name)
            assert query.update() == pytest.approx(pair.distance(query), abs=MUJOCO)


@pytest.mark.parametrize("points", [1, 2, 3, 4])
def test_the_quadratic_program_agrees_on_points_segments_and_polygons(points: int) -> None:
    """coal, fcl and MuJoCo take no flat hulls."""
    rng = np.random.default_rng(points)
    off = []
    for _ in range(150):
        flat = 0.2 * rng.normal(size=(points, 3))
        flat[-1] = flat[0] + flat[1] - flat[2] if points == 4 else flat[-1]
        query = set_up(rng, rng.choice([0.2, 1e-4, 1e-7, 0.0]), flat, ellipsoid(rng, 12))
        off.append(qp_distance(query) - query.update())
    assert np.abs(off).max() < QP
    assert np.median(np.abs(off)) < ROUNDING


@pytest.mark.parametrize("shape", ["hulls", "boxes"])
def test_engines_agree_along_a_coherent_motion(shape: str) -> None:
    """2 ms steps at 2 m/s into, through and out of contact, our query remembering the last one; theirs each afresh."""
    rng = np.random.default_rng(13)
    seen = []
    for pair in mujoco_pairs(shape)[:3]:
        query = gjk.PairQuery(*pair.hulls)
        theirs = CoalPair(*pair.hulls)
        spin, way = rng.normal(size=3), rng.normal(size=3) * [0.0, 0.1, 0.1]
        for t in np.arange(-0.25, 0.25, 0.002):
            query.translation_b[:] = way + np.array([2.0 * t, 0.0, 0.0])
            query.rotation_b[:] = Rotation.from_rotvec(3.0 * t * spin).as_matrix()
            found = query.update()
            seen.append(found)
            assert found == pytest.approx(pair.distance(query), abs=MUJOCO)
            poses = (query.rotation_a, query.translation_a), (query.rotation_b, query.translation_b)
            assert found == pytest.approx(theirs.distance(*poses), abs=COAL)
    assert min(seen) < -0.01
    assert max(seen) > 0.1


def test_a_scene_tells_what_coal_tells_of_all_its_pairs() -> None:
    rng = np.random.default_rng(14)
    margin, overlapping = 0.1, 0
    for spread in (0.3, 0.6, 1.0):
        scene = random_scene(rng, frames=5, each=3)
        pairs = [CoalPair(*(scene.members[m].hull for m in pair)) for pair in scene.pairs]
        for _ in range(4):
            place_frames(rng, scene, spread)
            scene.update(margin)
            placed = [
                (R @ np.asarray(m.pose[0]), R @ np.asarray(m.pose[1]) + scene.translations[m.frame])
                for m in scene.members
                if m.pose is not None
                for R in [scene.rotations[m.frame]]
            ]
            told = np.array([p.distance(placed[i], placed[j]) for p, (i, j) in zip(pairs, scene.pairs, strict=True)])
            assert scene.distance == pytest.approx(told.min(), abs=COAL)
            assert told[scene.nearest] == pytest.approx(told.min(), abs=COAL)
            assert set(np.flatnonzero(told < margin - COAL)) <= set(scene.within.tolist())
            assert set(scene.within.tolist()) <= set(np.flatnonzero(told < margin + COAL))
            np.testing.assert_allclose(scene.distances[scene.within], told[scene.within], atol=COAL)
            overlapping += int(told.min() < 0.0)
    assert 0 < overlapping < 12


def test_the_first_touch_is_where_coal_sees_it() -> None:
    """Tumbling hulls, looked at 400 times: apart before the bracket, touching at its end or never."""
    rng = np.random.default_rng(15)
    touched = 0
    for _ in range(12):
        a, b = gjk.Hull(ellipsoid(rng, 15)), gjk.Hull(ellipsoid(rng, 15))
        motions = (
            gjk.Motion((random_rotation(rng), np.zeros(3)), spin=tuple(rng.uniform(-3, 3, 3))),
            gjk.Motion(
                (random_rotation(rng), np.array([0.6, 0.0, 0.0]) + rng.uniform(-0.1, 0.1, 3)),
                tuple(rng.uniform(-0.2, 0.2, 3) - np.array([0.5, 0, 0])),
                tuple(rng.uniform(-3, 3, 3)),
            ),
        )
        found = gjk.time_of_impact(a, b, *motions, horizon=2.0)
        theirs = CoalPair(a, b)
        times = np.linspace(0.0, 2.0, 400)
        told = np.array([theirs.distance(*(pose_at(m, t) for m in motions)) for t in times])
        assert (told[times < found.lower] > -COAL).all()
        assert found.touches or told.min() > 0.0
        touched += found.touches
        if found.touches:
            assert theirs.distance(*(pose_at(m, found.upper) for m in motions)) == pytest.approx(0.0, abs=COAL)
    assert 3 < touched < 12
