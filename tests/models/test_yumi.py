"""The YuMi is the robot that ABB publishes: kinematics, mass, working range."""

from __future__ import annotations

import itertools

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from simloop.models.arm import Arm, Tools
from simloop.models.clearance import Clearance
from simloop.models.robots.yumi import ROBOT

Matrix = NDArray[np.float64]

# Modified Denavit-Hartenberg table of one arm as published: α (deg), a, d (mm), θ₀ (deg), for axes 1, 2, 7, 3, 4, 5, 6.
DH = (
    (0, 0, 166, 0),
    (-90, -30, 0, 0),
    (90, 30, 251.5, 0),
    (-90, 40.5, 0, 90),
    (90, -40.5, 265, 0),
    (-90, 27, 0, 0),
    (90, -27, 36, 0),
)
# Flange of one arm in RobotStudio (Elias and Wen, 2025): joints 1, 2, 7, 3, 4, 5, 6 in degrees, position in mm. There
# the arm stands on its own, with axis 2 at 306 mm instead of 166 mm.
ROBOTSTUDIO = (
    ((0,) * 7, (341.5, 0.0, 598.0)),
    ((20,) * 7, (292.46, 234.73, 348.75)),
    ((30,) * 7, (165.49, 290.86, 255.37)),
    ((-40,) * 7, (-219.17, 12.62, 796.12)),
    ((-80,) * 7, (-126.60, 499.23, 441.88)),
    ((104, -31, 1, -18, -55, 117, 69), (32.02, 91.43, 763.94)),
    ((162, 1, -23, -88, 241, 98, -44), (45.84, 32.22, 846.74)),
    ((-20, -139, -144, 77, -263, 128, -104), (-47.12, -136.89, 270.77)),
    ((67, -142, 121, 78, -38, 113, -194), (-100.23, 3.25, 338.01)),
    ((-58, -138, -35, 70, -283, 133, 207), (-123.66, 141.01, 425.04)),
)
MIRROR = np.array([-1, 1, -1, 1, -1, 1, -1])


@pytest.fixture
def arm() -> Arm:
    return Arm(ROBOT.mjcf)


def base_of(arm: Arm, side: str) -> tuple[Matrix, Matrix]:
    """Rotation and position of an arm's base frame: link 1 with its joint at 0."""
    arm.kinematics(np.zeros(14))
    body = arm.model.body(f"{side}_link_1").id
    return arm.data.xmat[body].reshape(3, 3).copy(), arm.data.xpos[body].copy()


def flange(arm: Arm, side: str, degrees: tuple[float, ...]) -> tuple[Matrix, Matrix]:
    """Rotation (z out of the flange, as ABB has it) and position of a flange in the world, both arms at `degrees`."""
    arm.kinematics(np.radians(degrees * 2))
    site = arm.model.site(f"{side}_flange").id
    x_out = arm.data.site_xmat[site].reshape(3, 3)
    return x_out @ np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]]), arm.data.site_xpos[site].copy()


def dh_product(degrees: tuple[float, ...]) -> Matrix:
    T = np.eye(4)
    for (alpha, a, d, theta), q in zip(DH, degrees, strict=True):
        ca, sa = np.cos(np.radians(alpha)), np.sin(np.radians(alpha))
        ct, st = np.cos(np.radians(theta + q)), np.sin(np.radians(theta + q))
        row = [[ct, -st, 0, a], [st * ca, ct * ca, -sa, -sa * d], [st * sa, ct * sa, ca, ca * d], [0, 0, 0, 1]]
        T = T @ np.array(row)
    return T


def test_it_weighs_38_kg_and_an_arm_9_5_kg(arm: Arm) -> None:
    mass = {arm.model.body(i).name: float(arm.model.body_mass[i]) for i in range(arm.model.nbody)}
    assert sum(mass.values()) == pytest.approx(38.0, abs=1e-9)
    for side in ("left", "right"):
        assert sum(m for name, m in mass.items() if name.startswith(side)) == pytest.approx(9.5, abs=1e-9)


@pytest.mark.parametrize(("degrees", "position"), ROBOTSTUDIO)
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_flange_is_where_robotstudio_has_it(
    arm: Arm, side: str, degrees: tuple[float, ...], position: tuple[float, ...]
) -> None:
    R, p = base_of(arm, side)
    _, reached = flange(arm, side, degrees)
    np.testing.assert_allclose(1e3 * R.T @ (reached - p) + [0, 0, 306 - 166], position, atol=0.006)


@pytest.mark.parametrize(("degrees", "position"), ROBOTSTUDIO)
def test_the_published_denavit_hartenberg_table_gives_the_same_frame(
    arm: Arm, degrees: tuple[float, ...], position: tuple[float, ...]
) -> None:
    R, p = base_of(arm, "left")
    R_flange, p_flange = flange(arm, "left", degrees)
    T = dh_product(degrees)
    np.testing.assert_allclose(R.T @ (p_flange - p), 1e-3 * T[:3, 3], atol=1e-9)
    np.testing.assert_allclose(R.T @ R_flange, T[:3, :3], atol=1e-9)


@pytest.mark.parametrize(("side", "sign"), [("left", 1), ("right", -1)])
def test_abbs_home_has_the_published_robot_target(arm: Arm, side: str, sign: int) -> None:
    """Joint target [0, −130, 30, 0, 40, 0] with axis 7 at ±135°, robot target as in ABB's program templates."""
    R, p = flange(arm, side, (0, -130, 135 * sign, 30, 0, 40, 0))
    np.testing.assert_allclose(1e3 * p, [-9.578368507, sign * 182.609892723, 198.627808149], atol=1e-5)
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, R.ravel())
    expected = [0.066010726, sign * 0.842420918, -0.111214912, sign * 0.523068661]
    np.testing.assert_allclose(quaternion * np.sign(quaternion[0]), expected, atol=1e-7)


def test_the_reach_is_559_mm(arm: Arm) -> None:
    """From axis 1 at the height of axis 2 to the wrist's centre, where axis 6 passes axis 5."""
    R, p = base_of(arm, "left")
    shoulder = p + 0.166 * R[:, 2]
    wrist = arm.model.body("left_link_6").id

    def nearness(q: Matrix) -> float:
        arm.kinematics(np.concatenate([[0.0], q, np.zeros(10)]))
        return -float(np.linalg.norm(arm.data.xpos[wrist] - shoulder))

    bounds = arm.model.jnt_range[1:4]
    farthest = min(
        minimize(nearness, start, bounds=bounds, method="L-BFGS-B").fun
        for start in itertools.product((-2.0, 0.0), (0.0, 3.0), (-1.0, 0.5))
    )
    assert -farthest == pytest.approx(0.559, abs=1e-3)


def test_the_working_range_and_the_speeds_are_abbs(arm: Arm) -> None:
    low, high = np.degrees(arm.model.jnt_range[:7]).T
    np.testing.assert_allclose(low, [-168.5, -143.5, -168.5, -123.5, -290, -88, -229])
    np.testing.assert_allclose(high, [168.5, 43.5, 168.5, 80, 290, 138, 229])
    np.testing.assert_array_equal(arm.model.jnt_range[:7], arm.model.jnt_range[7:])
    np.testing.assert_allclose(np.degrees(ROBOT.max_speed), [180, 180, 180, 180, 400, 400, 400] * 2)
    assert [arm.model.joint(i).name for i in range(7)] == [f"left_{axis}" for axis in (1, 2, 7, 3, 4, 5, 6)]


def test_the_right_arm_mirrors_the_left(arm: Arm) -> None:
    tools = Tools(arm, ROBOT.tools)
    rng = np.random.default_rng(4)
    low, high = arm.model.jnt_range[:7].T
    for _ in range(10):
        q = rng.uniform(low, high)
        arm.kinematics(np.concatenate([q, MIRROR * q]))
        left, right = tools.position().reshape(2, 3)
        np.testing.assert_allclose(right, left * [1, -1, 1], atol=1e-12)
        M = arm.inertia()
        np.testing.assert_allclose(M[7:, 7:], np.outer(MIRROR, MIRROR) * M[:7, :7], atol=1e-6)


def test_home_is_free_inside_the_range_and_not_singular(arm: Arm) -> None:
    home = np.array(ROBOT.home)
    clearance = Clearance(arm)
    clearance.update(home)
    assert clearance.distance > 0.01
    low, high = arm.model.jnt_range.T
    assert np.all(home - low > 0.3)
    assert np.all(high - home > 0.3)
    J = Tools(arm, ROBOT.tools).jacobian()
    assert np.linalg.svd(J, compute_uv=False)[-1] > 0.15


def test_abbs_home_is_free_of_contact(arm: Arm) -> None:
    clearance = Clearance(arm)
    clearance.update(np.radians([0, -130, 135, 30, 0, 40, 0, 0, -130, -135, 30, 0, 40, 0]))
    assert clearance.distance > 0.005


def test_neighbours_do_not_touch_whatever_one_joint_does(arm: Arm) -> None:
    """From home each joint goes through its whole working range: no contact between links two apart."""
    clearance = Clearance(arm)
    chain = [f"left_link_{axis}" for axis in (1, 2, 7, 3, 4, 5, 6)]
    near = {tuple(sorted((a, b))) for a, b in itertools.pairwise(chain[::2])}
    near |= {tuple(sorted((a, b))) for a, b in itertools.pairwise(chain[1::2])}
    for joint in range(7):
        for value in np.linspace(*arm.model.jnt_range[joint], 60):
            q = np.array(ROBOT.home)
            q[joint] = value
            clearance.update(q)
            if clearance.distance <= 0.0:
                assert tuple(sorted(clearance.names[clearance.nearest])) not in near
