"""The way of S5 goes around its prism, and the straight one does not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from simloop.models.arm import Arm, Tools
from simloop.models.clearance import solid, solid_geoms
from simloop.models.gjk import Hull, distance
from simloop.studio.scenarios._iiwa import DURATION, KNOTS, POSTURE_A, POSTURE_B, PRISM, ROBOT, STEP, VIA_POINTS

Vector = NDArray[np.float64]


def tool_at(q: tuple[float, ...]) -> Vector:
    arm = Arm(ROBOT.mjcf)
    arm.kinematics(np.array(q))
    return Tools(arm, ROBOT.tools).position().copy()


def nearest(path: Vector) -> float:
    """How near to the prism a point on the path comes, m; negative inside."""
    return min(distance(Hull([point]), PRISM).distance for point in path)


def test_the_postures_stand_clear_of_the_prism() -> None:
    arm = Arm(ROBOT.mjcf)
    for q in (POSTURE_A, POSTURE_B):
        arm.kinematics(np.array(q))
        for geom in solid_geoms(arm.model):
            name, hull = solid(arm.model, geom)
            pose = arm.data.geom_xmat[geom].reshape(3, 3), arm.data.geom_xpos[geom]
            assert distance(hull, PRISM, pose).distance > 0.03, name


def test_straight_from_a_to_b_is_through_the_prism() -> None:
    a, b = tool_at(POSTURE_A), tool_at(POSTURE_B)
    assert nearest(a + np.linspace(0.0, 1.0, 101)[:, None] * (b - a)) < -0.02


def test_through_the_via_points_the_tool_stays_clear_of_the_prism() -> None:
    a, b = tool_at(POSTURE_A), tool_at(POSTURE_B)
    positions = [a, a, *(via[:3] for via in VIA_POINTS), b, b]
    times = np.linspace(0.0, DURATION, round(DURATION / STEP) // 10 + 1)
    assert nearest(PchipInterpolator(KNOTS, positions)(times)) > 0.1
