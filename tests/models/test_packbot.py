"""The PackBot EOD arm, and its collapse without torque (S2, section 4)."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from math import radians

import mujoco
import numpy as np
import pytest
from simloop.models.arm import Arm, Tools, Vector
from simloop.models.clearance import Clearance
from simloop.models.robots.packbot import DRIVES, ROBOT

STEP = 1 / 2000  # s
LOOSE = np.zeros(7)  # N·m
CHASSIS = ("hull", "plate", "track_left", "track_right", "flipper_left", "flipper_right")
# What the arm comes to rest on, and with what.
PROPS = {("plate", "link1_elbow"), ("turret", "link2_elbow2"), ("shoulder_casing", "link3_tube")}


def test_the_arm_weighs_what_the_published_weights_differ_by() -> None:
    """68 lb with the arm, 42 lb without."""
    model = Arm(ROBOT.mjcf).model
    arm = sum(model.body_mass[body] for body in range(model.nbody) if model.body_weldid[body])
    assert arm == pytest.approx((68 - 42) * 0.45359237, abs=0.05)


def test_stretched_up_it_reaches_187_cm_above_the_plate() -> None:
    arm = Arm(ROBOT.mjcf)
    arm.kinematics(LOOSE)
    plate = arm.data.geom("plate").xpos[2] + arm.model.geom("plate").size[2]
    assert arm.data.site("fingertip").xpos[2] - plate == pytest.approx(1.87, abs=1e-9)


def test_the_third_link_is_longer_than_the_second() -> None:
    """Without that it would not stay propped (S2, section 4)."""
    arm = Arm(ROBOT.mjcf)
    arm.kinematics(LOOSE)
    heights = [*(arm.data.body(name).xpos[2] for name in ("link2", "link3")), arm.data.site("fingertip").xpos[2]]
    second, third = np.diff(heights)
    assert third > second


def test_every_inertia_is_that_of_some_body() -> None:
    """Principal moments are positive, and none exceeds the sum of the others."""
    model = Arm(ROBOT.mjcf).model
    moments = model.body_inertia[model.body_weldid != 0]
    assert (moments > 0.0).all()
    assert (2.0 * moments.max(axis=1) <= moments.sum(axis=1)).all()


@pytest.mark.parametrize(("tube", "radius"), [("tube1", 0.03), ("tube2", 0.03), ("tube3", 0.028)])
def test_tubes_are_hollow(tube: str, radius: float) -> None:
    """A thin wall of 1 kg has r² about its axis, a rod half of that; the rest is the octagon and its ends."""
    root = ET.fromstring(ROBOT.mjcf)
    world = root.find("worldbody")
    assert world is not None
    world.clear()
    ET.SubElement(ET.SubElement(world, "body"), "geom", type="mesh", mesh=tube, mass="1")
    contact = root.find("contact")
    assert contact is not None
    root.remove(contact)
    model = mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    assert model.body_inertia[1].min() == pytest.approx(radius**2, rel=0.1)


def test_a_rotor_counts_with_the_square_of_its_gear_ratio() -> None:
    model = Arm(ROBOT.mjcf).model
    assert [model.joint(i).name for i in range(model.njnt)] == list(DRIVES)
    np.testing.assert_allclose(model.dof_armature, [drive.armature for drive in DRIVES.values()], rtol=1e-12)


@pytest.mark.parametrize(
    ("load", "pose"),
    [(4.5, (90.0, 0.0, 0.0)), (13.6, (20.0, 80.0, 80.0))],
    ids=["4.5 kg stretched out", "13.6 kg before the chassis"],
)
def test_the_torque_limits_hold_what_the_arm_is_to_lift(load: float, pose: tuple[float, float, float]) -> None:
    """kg in the gripper, degrees of shoulder and elbows; 13.6 kg (30 lb) is published."""
    arm = Arm(ROBOT.mjcf)
    q = LOOSE.copy()
    q[1:4] = np.radians(pose)
    weight = np.zeros(arm.n)
    arm.inverse(q, LOOSE, LOOSE, STEP, weight)
    J = Tools(arm, ROBOT.tools).jacobian()
    torque = weight + load * 9.81 * J[2]
    assert (np.abs(torque) < arm.model.jnt_actfrcrange[:, 1]).all()


def test_the_drive_position_touches_nothing() -> None:
    clearance = Clearance(Arm(ROBOT.mjcf))
    clearance.update(np.array(ROBOT.home))
    assert clearance.distance > 0.01


def test_without_contact_it_falls_through_the_chassis() -> None:
    arm, clearance = Arm(ROBOT.mjcf), Clearance(Arm(ROBOT.mjcf))
    state = arm.state_at(np.array(ROBOT.home))
    deepest = 0.0
    for step in range(round(1.0 / STEP)):
        arm.step(state, LOOSE, STEP)
        if step % 20 == 0:
            clearance.update(arm.data.qpos)
            if clearance.names[clearance.nearest][1] in CHASSIS:
                deepest = min(deepest, clearance.distance)
    assert deepest < -0.05


def collapse(arm: Arm, seconds: float, h: float = STEP) -> tuple[Vector, float, float]:
    """Let it fall from the drive position. Joint positions at the end, when the last joint came to rest (s), and the
    deepest that two geoms were in each other (m)."""
    state = arm.state_at(np.array(ROBOT.home))
    moved, deepest = 0.0, 0.0
    for _ in range(round(seconds / h)):
        arm.step(state, LOOSE, h)
        if np.abs(arm.data.qvel).max() >= 1e-3:
            moved = arm.data.time
        if arm.data.ncon:
            deepest = max(deepest, -float(arm.data.contact.dist.min()))
    return arm.data.qpos.copy(), moved, deepest


def touching(arm: Arm) -> set[tuple[str, str]]:
    return {(arm.model.geom(a).name, arm.model.geom(b).name) for a, b in arm.data.contact.geom}


@pytest.fixture(scope="module")
def rest() -> Vector:
    """Where it comes to rest."""
    return collapse(Arm(ROBOT.mjcf, contact=True), 3.0)[0]


def test_with_contact_the_third_link_is_propped_upright_on_the_shoulder_casing() -> None:
    arm = Arm(ROBOT.mjcf, contact=True)
    q, moved, deepest = collapse(arm, 10.0)
    assert moved < 2.0
    assert touching(arm) == PROPS
    tilt = np.degrees(q[1:4].sum())
    assert 10.0 < tilt < 30.0
    assert deepest < 3e-3


@pytest.mark.parametrize(
    ("damping", "friction", "h"),
    [(0.8, 1.0, STEP), (1.2, 1.0, STEP), (1.0, 0.8, STEP), (1.0, 1.2, STEP), (1.0, 0.0, STEP), (1.0, 1.0, 1 / 200)],
)
def test_the_rest_pose_is_a_matter_of_geometry(rest: Vector, damping: float, friction: float, h: float) -> None:
    """Neither friction nor damping nor the step decides it."""
    arm = Arm(ROBOT.mjcf, contact=True)
    arm.model.dof_damping *= damping
    arm.model.dof_frictionloss *= friction
    q, moved, _ = collapse(arm, 3.0, h)
    assert moved < 2.5
    np.testing.assert_allclose(q, rest, atol=radians(0.5))


def test_no_joint_limit_has_a_part_in_it(rest: Vector) -> None:
    arm = Arm(ROBOT.mjcf)
    limited = arm.model.jnt_limited.astype(bool)
    low, high = arm.model.jnt_range[limited].T
    assert ((rest[limited] - low > radians(5.0)) & (high - rest[limited] > radians(5.0))).all()
