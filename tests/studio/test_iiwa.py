"""The iiwa goes from posture A to posture B past the pillar of S5, with what is promised of it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from simloop.models.arm import Arm
from simloop.models.clearance import solid, solid_geoms
from simloop.models.gjk import Hull, distance
from simloop.models.robots.iiwa import POSTURE_A, POSTURE_B, ROBOT
from simloop.studio import scenarios
from simloop.studio.request import Request
from simloop.studio.runner import run_in_memory
from simloop.studio.scenarios._iiwa import DURATION, KNOTS, PRISM, SPACING, STEP, VIA_POINTS, pose_of

from tests.models.engines import CoalPair

Vector = NDArray[np.float64]


def nearest(path: Vector) -> float:
    """How near to the prism a point on the path comes, m; negative inside."""
    return min(distance(Hull([point]), PRISM).distance for point in path)


def nearest_by_coal(q: Vector) -> float:
    """How near the arm comes to the prism, m, by another library and at ten times the time resolution.

    A link that is more than 2 cm from the box around the prism is not asked.
    """
    rows = np.arange(0.0, len(q) - 1, 0.1)
    fine = np.column_stack([np.interp(rows, np.arange(len(q)), joint) for joint in q.T])
    arm = Arm(ROBOT.mjcf)
    prism, standing = Hull(PRISM), (np.eye(3), np.zeros(3))
    low, high = prism.vertices.min(axis=0), prism.vertices.max(axis=0)
    links = [(geom, solid(arm.model, geom)[1]) for geom in solid_geoms(arm.model)]
    pairs = [(geom, float(np.linalg.norm(hull.vertices, axis=1).max()), CoalPair(hull, prism)) for geom, hull in links]
    least, asked = np.inf, 0
    for posture in fine:
        arm.kinematics(posture)
        for geom, reach, pair in pairs:
            place = arm.data.geom_xpos[geom]
            if np.linalg.norm(np.maximum(low - place, 0.0) + np.maximum(place - high, 0.0)) - reach < 2 * SPACING:
                asked += 1
                least = min(least, pair.distance((arm.data.geom_xmat[geom].reshape(3, 3), place), standing))
    assert asked > 1000
    return least


def test_the_postures_stand_clear_of_the_prism() -> None:
    arm = Arm(ROBOT.mjcf)
    for q in (POSTURE_A, POSTURE_B):
        arm.kinematics(np.array(q))
        for geom in solid_geoms(arm.model):
            name, hull = solid(arm.model, geom)
            pose = arm.data.geom_xmat[geom].reshape(3, 3), arm.data.geom_xpos[geom]
            assert distance(hull, PRISM, pose).distance > 0.03, name


def test_straight_from_a_to_b_is_through_the_prism() -> None:
    a, b = np.array(pose_of(POSTURE_A)[:3]), np.array(pose_of(POSTURE_B)[:3])
    assert nearest(a + np.linspace(0.0, 1.0, 101)[:, None] * (b - a)) < -0.02


def test_through_the_via_points_the_tool_stays_clear_of_the_prism() -> None:
    a, b = pose_of(POSTURE_A)[:3], pose_of(POSTURE_B)[:3]
    positions = [a, a, *(via[:3] for via in VIA_POINTS), b, b]
    times = np.linspace(0.0, DURATION, round(DURATION / STEP) // 10 + 1)
    assert nearest(PchipInterpolator(KNOTS, positions)(times)) > 0.1


@pytest.mark.parametrize("name", ["iiwa-posture", "iiwa-avoid"])
def test_it_arrives_in_posture_b_within_every_limit(name: str) -> None:
    """0.1° a joint, 1 mm and 0.1° of the pose, 0.5° of turn and 1 cm of clearance on the way, S5's joint speeds."""
    finished = run_in_memory(Request(scenarios.load(name)))
    assert finished.status == "complete"
    assert {key for key, figure in finished.figures.items() if figure.ok is False} == set()
    q, v = finished.outcome.result.vector("plant.q_true"), finished.outcome.result.vector("plant.v")
    np.testing.assert_allclose(np.degrees(q[-1]), np.degrees(POSTURE_B), rtol=0.0, atol=0.1)
    limit = np.array([170, 120, 170, 120, 170, 120, 175])
    assert (np.abs(np.degrees(q)) <= limit).all()
    assert (np.abs(np.degrees(v)) <= [98, 98, 100, 130, 140, 180, 180]).all()
    assert nearest_by_coal(q) >= SPACING


def test_without_planning_ahead_it_stands_before_the_pillar() -> None:
    """What is known of the next step alone keeps the distance and stops: the way around is the planning's."""
    settings = {"planner.plan_ahead": False, "planner.manipulability_gain": 0.0}
    finished = run_in_memory(Request(scenarios.load("iiwa-avoid"), settings=settings))
    assert finished.outcome.result["collision.distance"].min() > 0.9 * SPACING
    position = finished.figures["position"]
    assert position.ok is False
    assert position.value is not None
    assert position.value > 0.1
