"""A hand on the gripper: how it lets go, how it leads, and paths through via poses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator
from simloop.models.arm import Arm
from simloop.models.operator import CATCH_UP, LEASH, RAMP, Grip, Lead, follow_lead, squeeze
from simloop.models.path import PosePath, ViaPoses, read_via_poses
from simloop.models.pose import ToolPose, quaternion_of_zyz, rotation_between, turn_by
from simloop.models.robots.mobile import ROBOT

TWIST = np.array([0.2, -0.1, 0.0, 0.0, 0.3, 0.1])


@pytest.mark.parametrize("h", [1 / 200, 1 / 2000])
def test_let_go_the_motion_fades_evenly_within_the_ramp(h: float) -> None:
    grip = Grip(np.zeros(6), 1.0)
    squeeze(grip, TWIST, True, h)
    steps = round(RAMP / h)
    for k in range(steps):
        now = squeeze(grip, np.full(6, 9.0), False, h)
        np.testing.assert_allclose(now, TWIST * (1.0 - (k + 1) / steps), atol=1e-12)
    np.testing.assert_array_equal(squeeze(grip, TWIST, False, h), 0.0)


def test_the_lead_goes_where_the_twist_integrates_to_and_no_farther_than_the_leash() -> None:
    """A tool that cannot follow is never more than LEASH behind, so it is called back at CATCH_UP · LEASH at most."""
    arm = Arm(ROBOT.mjcf)
    tool = ToolPose(arm, ROBOT.tools[0])
    arm.kinematics(np.array(ROBOT.home))
    begin, turned = tool.position().copy(), tool.quaternion().copy()
    lead = Lead(begin.copy(), turned.copy())
    h = 1e-3
    asked = follow_lead(lead, tool, TWIST, h)
    np.testing.assert_array_equal(asked, TWIST)
    np.testing.assert_allclose(lead.position, begin + h * TWIST[:3], atol=1e-15)
    np.testing.assert_allclose(rotation_between(turned, lead.quaternion), h * TWIST[3:], atol=1e-12)
    for _ in range(1000):
        asked = follow_lead(lead, tool, TWIST, h)
    assert np.linalg.norm(lead.position - begin) <= LEASH + h * np.linalg.norm(TWIST)
    assert np.linalg.norm(asked[:3] - TWIST[:3]) <= CATCH_UP * LEASH * (1 + 1e-9)
    np.testing.assert_array_equal(follow_lead(lead, tool, np.zeros(6), h, share=0.0), 0.0)
    np.testing.assert_allclose(lead.position, begin, atol=1e-15)


def via() -> ViaPoses:
    times = np.array([0.0, 1.0, 2.5, 4.0])
    positions = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.3], [0.2, 0.1, 0.3], [0.2, 0.4, 0.1]])
    angles = np.array([[0.0, 0.0, 0.0], [0.5, 0.2, -0.1], [0.5, 0.6, -0.4], [0.0, 0.0, 0.0]])
    return ViaPoses(times, positions, np.array([quaternion_of_zyz(each) for each in angles]))


def test_a_path_goes_through_its_poses_without_overshoot_and_rests_outside() -> None:
    poses = via()
    path = PosePath(poses)
    p, turned = np.zeros(3), np.zeros(4)
    for time, position, quaternion in zip(poses.times, poses.positions, poses.quaternions, strict=True):
        path.at(float(time), p, turned)
        np.testing.assert_allclose(p, position, atol=1e-12)
        np.testing.assert_allclose(rotation_between(turned, quaternion), 0.0, atol=1e-7)
    reference = PchipInterpolator(poses.times, poses.positions)
    for time in np.linspace(0.0, 4.0, 41):
        path.at(float(time), p, turned)
        np.testing.assert_allclose(p, reference(time), atol=1e-12)
        assert np.all(p >= poses.positions.min(axis=0) - 1e-12)
        assert np.all(p <= poses.positions.max(axis=0) + 1e-12)
    for time, place in ((-1.0, 0), (9.0, -1)):
        path.at(time, p, turned)
        np.testing.assert_allclose(p, poses.positions[place], atol=1e-12)


def test_turning_by_the_rotation_between_two_orientations_leads_from_one_to_the_other() -> None:
    first, second = quaternion_of_zyz(np.array([0.3, 1.2, -0.4])), quaternion_of_zyz(np.array([-2.0, 0.4, 0.9]))
    np.testing.assert_allclose(np.abs(turn_by(first, rotation_between(first, second)) @ second), 1.0, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time,x,y,z,z1,y2,z3\n0,0,0,0,0,0,0\n", "at least 2 rows"),
        ("time,x,y,z\n0,0,0,0\n1,0,0,0\n", "columns time,x,y,z,z1,y2,z3"),
        ("time,x,y,z,z1,y2,z3\n1,0,0,0,0,0,0\n1,0,0,0,0,0,0\n", "times that rise; row 2 has not"),
        ("time,x,y,z,z1,y2,z3\n0,0,0,nan,0,0,0\n1,0,0,0,0,0,0\n", "finite numbers .* row 1 has not"),
        ("time,x,y,z,z1,y2,z3\n0,0,0,up,0,0,0\n1,0,0,0,0,0,0\n", "not a number"),
    ],
)
def test_a_table_that_is_no_path_is_refused_by_name(text: str, words: str, tmp_path: object) -> None:
    file = f"{tmp_path}/path.csv"
    with open(file, "w", encoding="utf-8") as out:
        out.write(text)
    with pytest.raises(ValueError, match=f"path.csv.*{words}"):
        read_via_poses(file)
