"""The iiwa has the kinematics, range and speed of S5 and the masses that are published."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from simloop.models.arm import Arm, Tools
from simloop.models.clearance import Clearance
from simloop.models.robots.iiwa import POSTURE_A, POSTURE_B, ROBOT

from tests.models.sweeps import assert_apart

Matrix = NDArray[np.float64]

D = (0.34, 0.0, 0.4, 0.0, 0.4, 0.0, 0.126)  # m
ALPHA = (-90, 90, 90, -90, -90, 90, 0)  # degrees
# Ry(90°)·Rz(90°)
BASE = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]]) @ np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
# Position in m and zyz angles in rad of the end frame (S5), recomputed: y of the second is printed with a minus, and
# its last angle as 1.2766.
POSES = (
    (POSTURE_A, (0.5841, -0.4857, -0.2321), (2.0398, 0.0063, -2.0405)),
    (POSTURE_B, (0.5502, 0.3774, -0.2222), (-1.2766, 0.0013, 1.2779)),
)


@pytest.fixture
def arm() -> Arm:
    return Arm(ROBOT.mjcf)


def dh_product(q: Matrix) -> Matrix:
    """The end frame in the world by the table of S5."""
    T = np.eye(4)
    T[:3, :3] = BASE
    for angle, d, alpha in zip(q, D, np.radians(ALPHA), strict=True):
        c, s, ca, sa = np.cos(angle), np.sin(angle), np.cos(alpha), np.sin(alpha)
        T = T @ np.array([[c, -s * ca, s * sa, 0], [s, c * ca, -c * sa, 0], [0, sa, ca, d], [0, 0, 0, 1]])
    return T


def tool(arm: Arm, q: Matrix) -> tuple[Matrix, Matrix]:
    """Rotation and position of the tool's frame in the world."""
    arm.kinematics(q)
    site = arm.data.site("tool")
    return site.xmat.reshape(3, 3).copy(), site.xpos.copy()


def zyz(R: Matrix) -> tuple[float, float, float]:
    """Angles about z, then y, then z, as S5's own function takes them."""
    return (
        float(np.arctan2(R[1, 2], R[0, 2])),
        float(np.arctan2(np.hypot(R[0, 2], R[1, 2]), R[2, 2])),
        float(np.arctan2(R[2, 1], -R[2, 0])),
    )


def postures(count: int) -> Matrix:
    """Joint positions all over the range."""
    limit = np.radians([170, 120, 170, 120, 170, 120, 175])
    return np.random.default_rng(5).uniform(-limit, limit, (count, 7))


@pytest.mark.parametrize(("q", "position", "angles"), POSES, ids=["A", "B"])
def test_the_postures_have_the_pose_of_the_document(
    arm: Arm, q: tuple[float, ...], position: tuple[float, ...], angles: tuple[float, ...]
) -> None:
    R, p = tool(arm, np.array(q))
    np.testing.assert_allclose(p, position, rtol=0.0, atol=1e-4)
    np.testing.assert_allclose(zyz(R), angles, rtol=0.0, atol=1e-4)


def test_the_denavit_hartenberg_table_gives_the_same_frame(arm: Arm) -> None:
    for q in [*postures(50), np.array(POSTURE_A), np.array(POSTURE_B)]:
        R, p = tool(arm, q)
        T = dh_product(q)
        np.testing.assert_allclose(p, T[:3, 3], rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(R, T[:3, :3], rtol=0.0, atol=1e-12)


def test_the_jacobian_is_the_finite_difference_of_the_frame(arm: Arm) -> None:
    """All six rows: rotation from the table's own product."""
    step = 1e-6
    for q in postures(10):
        arm.kinematics(q)
        J = np.zeros((6, 7))
        mujoco.mj_jacSite(arm.model, arm.data, J[:3], J[3:], arm.model.site("tool").id)
        R = dh_product(q)[:3, :3]
        for i, unit in enumerate(np.eye(7)):
            slope = (dh_product(q + step * unit) - dh_product(q - step * unit)) / (2 * step)
            spin = slope[:3, :3] @ R.T
            expected = [*slope[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]]
            np.testing.assert_allclose(J[:, i], expected, rtol=0.0, atol=1e-6)


def test_it_weighs_29_9_kg_with_the_links_as_published(arm: Arm) -> None:
    mass = [arm.model.body(f"link_{i}").mass[0] for i in range(1, 8)]
    np.testing.assert_allclose(mass, [5.76, 6.35, 3.5, 3.5, 3.5, 1.8, 1.2], rtol=1e-12)
    assert float(arm.model.body_mass.sum()) == pytest.approx(29.9, abs=1e-9)


def test_the_centres_of_mass_lie_in_their_links(arm: Arm) -> None:
    """Stretched out, as far from the base as drake's model has them, less the 20 mm that each of the first two tubes
    is shorter here."""
    arm.kinematics(np.zeros(7))
    published = np.array([0.2775, 0.419, 0.6945, 0.847, 1.0405, 1.1806, 1.281])
    shorter = np.array([0.02, 0.02, 0.04, 0.04, 0.04, 0.04, 0.04])
    np.testing.assert_allclose(arm.data.xipos[2:, 0], published - shorter, atol=1e-9)
    sideways = [-0.03, 0.042, 0.03, -0.034, -0.021, 0.0004, 0.0]
    np.testing.assert_allclose(arm.data.xipos[2:, 2], sideways, atol=1e-9)


def test_range_torque_and_speed_are_those_of_the_document_and_of_kuka(arm: Arm) -> None:
    limit = np.array([170, 120, 170, 120, 170, 120, 175])
    np.testing.assert_allclose(np.degrees(arm.model.jnt_range), np.transpose([-limit, limit]), rtol=1e-12)
    np.testing.assert_array_equal(arm.torque_limits, [320, 320, 176, 176, 110, 40, 40])
    np.testing.assert_allclose(np.degrees(ROBOT.max_speed), [98, 98, 100, 130, 140, 180, 180], rtol=1e-12)


def test_stretched_out_level_it_holds_14_kg(arm: Arm) -> None:
    """The load that the robot is named for, at the tool, where the wall mount makes the base joint bear nothing."""
    q, force = np.zeros(7), np.zeros(7)
    arm.inverse(q, np.zeros(7), np.zeros(7), 1e-3, force)
    J = Tools(arm, ROBOT.tools).jacobian()
    assert (np.abs(force + 14.0 * 9.81 * J[2]) < arm.torque_limits).all()


@pytest.mark.parametrize("q", [POSTURE_A, POSTURE_B, (0.0,) * 7], ids=["A", "B", "stretched out"])
def test_the_postures_touch_nothing(arm: Arm, q: tuple[float, ...]) -> None:
    clearance = Clearance(arm)
    clearance.update(np.array(q))
    assert clearance.distance > 0.005


def test_links_two_apart_never_meet(arm: Arm) -> None:
    """Whatever the two joints between them do; base and first link are links 0 and 1."""
    clearance = Clearance(arm)
    order = {"base": 0, "link_5_arm": 5} | {f"link_{i}": i for i in range(1, 8)}
    near = {k for k, (a, b) in enumerate(clearance.names) if abs(order[a] - order[b]) == 2}
    assert len(near) == 8
    assert_apart(arm, clearance, near, range(6))
