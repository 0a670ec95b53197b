"""A scene answers what testing every pair would, with fewer tests."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from simloop.models import gjk

from tests.models.bodies import box, ellipsoid, random_rotation


def random_scene(rng: np.random.Generator, frames: int, each: int) -> gjk.Scene:
    """Frames with some bodies each, all of one frame against all of every other."""
    members = []
    for frame in range(frames):
        for _ in range(each):
            pose = random_rotation(rng), rng.uniform(-0.2, 0.2, 3)
            members.append(gjk.Member(gjk.Hull(ellipsoid(rng, 12), rng.uniform(0.0, 0.02)), frame, pose))
    pairs = [(i, j) for i, j in combinations(range(len(members)), 2) if members[i].frame != members[j].frame]
    return gjk.Scene(members, pairs, frames)


def place_frames(rng: np.random.Generator, scene: gjk.Scene, spread: float) -> None:
    for k in range(len(scene.translations)):
        scene.rotations[k] = random_rotation(rng)
        scene.translations[k] = rng.uniform(-spread, spread, 3)


def distance_of(scene: gjk.Scene, pair: int) -> gjk.Proximity:
    """One pair by itself, without the scene."""
    poses = []
    for m in scene.pairs[pair]:
        member = scene.members[m]
        assert member.pose is not None
        R, t = scene.rotations[member.frame], scene.translations[member.frame]
        poses.append((R @ np.asarray(member.pose[0]), R @ np.asarray(member.pose[1]) + t))
    a, b = (scene.members[m].hull for m in scene.pairs[pair])
    return gjk.distance(a, b, poses[0], poses[1])


@pytest.mark.parametrize("spread", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("margin", [0.0, 0.1, 1.0])
def test_the_nearest_pair_and_those_within_the_margin_are_those_of_testing_all(spread: float, margin: float) -> None:
    rng = np.random.default_rng(int(10 * spread + 100 * margin))
    for _ in range(12):
        scene = random_scene(rng, frames=6, each=3)
        for _ in range(3):
            place_frames(rng, scene, spread)
            scene.update(margin)
            all_of_them = np.array([distance_of(scene, k).distance for k in range(len(scene.pairs))])
            assert scene.distance == pytest.approx(all_of_them.min(), abs=1e-12)
            assert all_of_them[scene.nearest] == pytest.approx(all_of_them.min(), abs=1e-12)
            assert scene.within.tolist() == np.flatnonzero(all_of_them <= margin).tolist()
            np.testing.assert_allclose(scene.distances[scene.within], all_of_them[scene.within], atol=1e-12)
            np.testing.assert_allclose(scene.point_b - scene.point_a, scene.distance * scene.normal, atol=1e-12)
            assert scene.tested + scene.pruned == len(scene.pairs)


def test_boxes_spare_the_pairs_of_frames_that_are_far_apart() -> None:
    """Ten frames in a row, one metre apart, four small bodies each: only neighbours can be nearest."""
    rng = np.random.default_rng(3)
    scene = random_scene(rng, frames=10, each=4)
    scene.translations[:, 0] = np.arange(10.0)
    scene.translations[9, 0] = 8.6
    scene.update()
    assert set(scene.pairs[scene.nearest]) <= set(range(32, 40))
    assert scene.tested <= 16
    assert scene.pruned >= len(scene.pairs) - 16


def test_a_scene_with_no_pairs_has_nothing_near() -> None:
    scene = gjk.Scene([gjk.Member(gjk.Hull(box(1, 1, 1)), 0)], [], 1)
    scene.update(1.0)
    assert (scene.nearest, scene.distance, scene.within.tolist()) == (-1, float("inf"), [])


def test_a_scene_that_cannot_be_is_refused() -> None:
    member = gjk.Member(gjk.Hull(box(1, 1, 1)), 0)
    with pytest.raises(ValueError, match="members from 0 to 1"):
        gjk.Scene([member, member], [(0, 2)], 1)
    with pytest.raises(ValueError, match="frames for all"):
        gjk.Scene([member, gjk.Member(member.hull, 1)], [(0, 1)], 1)
    with pytest.raises(ValueError, match="pose"):
        gjk.Scene([gjk.Member(member.hull, 0, (2 * np.eye(3), np.zeros(3))), member], [(0, 1)], 1)
    with pytest.raises(ValueError, match="memory"):
        gjk.Scene([member, member], [(0, 1)], 1, memory=np.zeros((2, 3)))
    scene = gjk.Scene([member, gjk.Member(member.hull, 1)], [(0, 1)], 2)
    scene.translations[1, 2] = np.nan
    with pytest.raises(ValueError, match="pose"):
        scene.update()
