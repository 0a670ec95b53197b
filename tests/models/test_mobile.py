"""The mobile manipulator of S4: three degrees of platform, six of arm, an eye on the gripper."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from simloop.models.arm import Arm, Tools
from simloop.models.clearance import Clearance
from simloop.models.robot import Box, scene_mjcf
from simloop.models.robots.mobile import PLATFORM, ROBOT
from simloop.models.sight import Sight

from tests.models.sweeps import assert_apart

Matrix = NDArray[np.float64]

HOME = np.array(ROBOT.home)
STRETCHED = np.array([0.0, 0.0, 0.0, 0.0, np.radians(90.0), 0.0, 0.0, 0.0, 0.0])


@pytest.fixture
def arm() -> Arm:
    return Arm(ROBOT.mjcf)


def tool_jacobian(arm: Arm, q: Matrix) -> Matrix:
    """Velocity and angular velocity of the gripper per joint velocity, (6, 9)."""
    arm.kinematics(q)
    J = np.zeros((6, arm.n))
    mujoco.mj_jacSite(arm.model, arm.data, J[:3], J[3:], arm.model.site("tool").id)
    return J


def test_nine_degrees_of_which_three_are_the_platforms(arm: Arm) -> None:
    assert arm.n == 9
    assert tuple(arm.joint_names[:3]) == PLATFORM
    assert arm.units == ["m", "m", *["rad"] * 7]


def test_the_platform_carries_the_gripper_along(arm: Arm) -> None:
    """Moved by (x, y) and turned by the heading about its own middle, as a rigid body is."""
    for q in np.random.default_rng(4).uniform(-1.0, 1.0, (10, 9)):
        arm.kinematics(np.concatenate([np.zeros(3), q[3:]]))
        there = Tools(arm, ROBOT.tools).position().copy()
        arm.kinematics(q)
        c, s = np.cos(q[2]), np.sin(q[2])
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        np.testing.assert_allclose(Tools(arm, ROBOT.tools).position(), R @ there + [q[0], q[1], 0.0], atol=1e-12)


def test_it_weighs_82_6_kg_and_the_arm_14_7_kg_of_them(arm: Arm) -> None:
    """Inertia weighting then moves the arm rather than the platform (S4, 1)."""
    links = ("turret", "upper_arm", "elbow", "forearm", "wrist", "gripper")
    assert sum(arm.model.body(link).mass[0] for link in links) == pytest.approx(14.72, abs=1e-9)
    assert float(arm.model.body_mass.sum()) == pytest.approx(82.62, abs=1e-9)


def test_with_the_arm_stretched_out_to_any_side_it_does_not_tip(arm: Arm) -> None:
    """With 3 kg in the gripper the centre of mass stays between the wheels."""
    mass, load = float(arm.model.body_mass.sum()), 3.0
    wheels = np.array([arm.model.geom(f"wheel_{i}").pos[:2] for i in range(1, 5)])
    for yaw in np.linspace(*arm.model.jnt_range[3], 33):
        q = STRETCHED.copy()
        q[3] = yaw
        arm.kinematics(q)
        centre = (mass * arm.data.subtree_com[0] + load * Tools(arm, ROBOT.tools).position()) / (mass + load)
        assert (np.abs(centre[:2]) < 0.9 * np.abs(wheels).min(axis=0)).all()


def test_the_wheels_stand_on_the_ground(arm: Arm) -> None:
    arm.kinematics(HOME)
    for i in range(1, 5):
        geom = arm.model.geom(f"wheel_{i}")
        mesh = arm.model.mesh(geom.dataid[0])
        vertices = arm.model.mesh_vert[mesh.vertadr[0] : mesh.vertadr[0] + mesh.vertnum[0]]
        corners = vertices @ arm.data.geom(geom.id).xmat.reshape(3, 3).T + arm.data.geom(geom.id).xpos
        assert corners[:, 2].min() == pytest.approx(0.0, abs=1e-6)


def test_every_joint_has_limits_and_home_is_well_within(arm: Arm) -> None:
    assert arm.model.jnt_limited.all()
    assert np.isfinite(arm.torque_limits).all()
    low, high = arm.model.jnt_range.T
    np.testing.assert_allclose(low, -high)
    assert (np.abs(HOME) < high - 0.5).all()
    assert len(ROBOT.max_speed) == arm.n
    assert min(ROBOT.max_speed) > 0.0


def test_the_motors_hold_3_kg_with_the_arm_stretched_out(arm: Arm) -> None:
    force = np.zeros(9)
    arm.inverse(STRETCHED, np.zeros(9), np.zeros(9), 1e-3, force)
    J = Tools(arm, ROBOT.tools).jacobian()
    assert (np.abs(force + 3.0 * 9.81 * J[2]) < 0.6 * arm.torque_limits).all()


def test_at_home_the_gripper_is_before_the_platform_and_free_to_move(arm: Arm) -> None:
    """The arm alone, held by a platform that stands still, moves it any way; nothing touches."""
    J = tool_jacobian(arm, HOME)
    assert np.linalg.svd(J[:, 3:], compute_uv=False)[-1] > 0.15
    x, y, z = Tools(arm, ROBOT.tools).position()
    assert x > 0.6
    assert y == pytest.approx(0.0, abs=1e-12)
    assert 0.3 < z < 0.8
    clearance = Clearance(arm)
    clearance.update(HOME)
    assert clearance.distance > 0.02


def test_the_camera_looks_at_the_gripper(arm: Arm) -> None:
    arm.kinematics(HOME)
    gripper = Tools(arm, ROBOT.tools).position()
    assert Sight(arm, ROBOT.camera).blocked_by(gripper) == ()
    camera = arm.data.site(ROBOT.camera)
    ray = gripper - camera.xpos
    off = np.arccos(ray @ camera.xmat.reshape(3, 3)[:, 0] / np.linalg.norm(ray))
    assert np.degrees(off) < 2.0


def test_links_two_apart_never_meet(arm: Arm) -> None:
    """Whatever the two joints between them do."""
    clearance = Clearance(arm)
    chain = ("turret", "upper_arm", "elbow", "forearm", "wrist", "gripper")
    place = {arm.model.body(name).id: i for i, name in enumerate(chain)}
    bodies = [[place.get(int(arm.model.geom(geom).bodyid[0])) for geom in pair] for pair in clearance.names]
    near = {k for k, (a, b) in enumerate(bodies) if a is not None and b is not None and abs(a - b) == 2}
    assert len(near) == 7
    assert_apart(arm, clearance, near, range(3, 8))


def test_the_platform_may_touch_the_ground_but_no_obstacle() -> None:
    step = Box("step", (1.0, 0.0, 0.05), (0.1, 0.5, 0.05))
    names = Clearance(Arm(scene_mjcf(ROBOT, (step,)))).names
    platform = ("hull", "wheel_1", "mast", "camera_head")
    assert all((geom, "step") in names for geom in (*platform, "palm"))
    assert not any((geom, "ground") in names for geom in platform[:3])
    assert ("palm", "ground") in names
