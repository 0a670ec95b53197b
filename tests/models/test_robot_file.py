"""A user's robot file: read whole and right, or refused with everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from simloop.models.arm import Arm, Tools
from simloop.models.robot_file import RobotFileError, read_robot, read_robot_file
from simloop.models.robot_file.mesh_file import read_points

from tests.models.robot_files import (
    ARM,
    FINGERS,
    INERTIA,
    INERTIAL,
    LIMIT,
    MJCF,
    sphere_mesh,
    write_arm,
    write_collada,
    write_mjcf,
    write_obj,
    write_stl,
    write_text_stl,
)

WITH_FINGERS = ARM.replace("</robot>", FINGERS)


def inertia_at(model: mujoco.MjModel, q: np.ndarray) -> np.ndarray:
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_fwdPosition(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    return M


def force_for(model: mujoco.MjModel, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Inverse dynamics without contact and limits: gravity, springs, damping, friction, inertia."""
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_INVDISCRETE)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
    mujoco.mj_inverse(model, data)
    return np.array(data.qfrc_inverse)


def test_the_robot_is_the_one_that_mujoco_reads(tmp_path: Path) -> None:
    """The inertia matrix and the tool's place, at many positions, against MuJoCo's own reading of the URDF."""
    robot = read_robot(write_arm(tmp_path))
    bare = ARM.replace("package://robot/meshes/", "")
    assets = {"part.stl": (tmp_path / "robot/meshes/part.stl").read_bytes()}
    spec = mujoco.MjSpec.from_string(bare, assets=assets)
    spec.compiler.fusestatic, spec.compiler.inertiafromgeom = False, 0
    theirs, ours = spec.compile(), Arm(robot.mjcf)
    tools, data = Tools(ours, robot.tools), mujoco.MjData(theirs)
    for q in np.random.default_rng(1).uniform(-1.0, 1.0, size=(20, 3)):
        np.testing.assert_allclose(inertia_at(ours.model, q), inertia_at(theirs, q), atol=1e-12)
        forces = [force_for(model, q, q[::-1], 2.0 * q) for model in (ours.model, theirs)]
        np.testing.assert_allclose(*forces, atol=1e-10)
        ours.kinematics(q)
        data.qpos[:] = q
        mujoco.mj_kinematics(theirs, data)
        np.testing.assert_allclose(tools.position(), data.body("flange").xpos, atol=1e-12)


def test_joints_limits_speeds_and_efforts_are_the_files(tmp_path: Path) -> None:
    read = read_robot_file(write_arm(tmp_path))
    model = Arm(read.robot.mjcf).model
    assert [model.joint(i).name for i in range(3)] == ["shoulder", "slide", "wrist"]
    assert model.jnt_type.tolist() == [3, 2, 3]
    assert model.jnt_limited.tolist() == [1, 1, 0]
    assert model.jnt_range[:2].tolist() == [[-1.5, 2.0], [0.0, 0.6]]
    assert model.jnt_actfrcrange.tolist() == [[-40, 40], [-100, 100], [-10, 10]]
    assert model.dof_damping.tolist() == [0.5, 0, 0]
    assert model.dof_frictionloss.tolist() == [0.25, 0, 0]
    assert read.robot.max_speed == (3.0, 0.5, 6.0)
    assert read.robot.tools == ("flange",)
    assert "the tool is the frame of link 'flange', the last of the arm" in read.notes


def test_speeds_are_told_only_when_all_are_known(tmp_path: Path) -> None:
    read = read_robot_file(write_arm(tmp_path, ARM.replace('velocity="6"', 'velocity="0"')))
    assert read.robot.max_speed == ()
    assert "no velocity limit: wrist" in read.notes


def test_the_robot_needs_no_other_file_and_is_the_same_each_time(tmp_path: Path) -> None:
    path = write_arm(tmp_path)
    robot = read_robot(path)
    assert robot == read_robot(path)
    assert "file=" not in robot.mjcf
    assert str(tmp_path) not in robot.mjcf


def test_a_mesh_becomes_a_hull_of_at_most_64_corners_around_it(tmp_path: Path) -> None:
    read = read_robot_file(write_arm(tmp_path))
    arm = Arm(read.robot.mjcf)
    model = arm.model
    assert model.mesh_vertnum.tolist() == [64]
    arm.kinematics(np.zeros(3))
    geom = int(np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_MESH)[0])
    body = model.geom_bodyid[geom]
    corners = model.mesh_vert @ arm.data.geom_xmat[geom].reshape(3, 3).T + arm.data.geom_xpos[geom]
    ball = sphere_mesh()[0] * [0.1, 0.1, 0.2] @ arm.data.xmat[body].reshape(3, 3).T + arm.data.xpos[body]
    from scipy.spatial import ConvexHull

    faces = ConvexHull(corners).equations
    assert (ball @ faces[:, :3].T + faces[:, 3]).max() <= 1e-7
    (said,) = [note for note in read.notes if "hulls" in note]
    assert 0.0 < float(said.split()[5]) < 20.0


@pytest.mark.parametrize("write", [write_stl, write_text_stl, write_obj, write_collada])
def test_every_format_gives_the_same_points(write: Callable[[Path], Path], tmp_path: Path) -> None:
    suffix = {"write_obj": "obj", "write_collada": "dae"}.get(write.__name__, "stl")
    points = read_points(write(tmp_path / f"ball.{suffix}"))
    expected = sphere_mesh()[0]
    apart = np.linalg.norm(points[:, None] - expected[None], axis=2)
    assert apart.min(axis=1).max() < 1e-6
    assert apart.min(axis=0).max() < 1e-6


@pytest.mark.parametrize("name", ["../meshes/part.stl", "package://robot/meshes/part.stl", "package://else/part.stl"])
def test_meshes_are_found_beside_and_above(name: str, tmp_path: Path) -> None:
    path = write_arm(tmp_path, ARM.replace("package://robot/meshes/part.stl", name))
    write_stl(tmp_path / "else/part.stl")
    assert "<mesh " in read_robot(path).mjcf


def test_joints_that_move_no_tool_are_held_and_their_inertia_merged(tmp_path: Path) -> None:
    """Fingers beyond the tool: the arm with them held is the arm with them stiffly at home."""
    path = write_arm(tmp_path, WITH_FINGERS)
    read = read_robot_file(path, ["flange"])
    assert any("grip, follow" in note for note in read.notes)
    held = Arm(read.robot.mjcf)
    assert held.n == 3
    still = WITH_FINGERS.replace('type="prismatic"><parent link="flange"/>', 'type="fixed"><parent link="flange"/>')
    for axis in ("0 1 0", "0 -1 0"):
        origin = " ".join(str(0.01 * float(x)) for x in axis.split())
        still = still.replace(
            f'<axis xyz="{axis}"/>\n    <limit lower="0.01"', f'<origin xyz="{origin}"/>\n    <limit lower="0"'
        )
    fixed = Arm(read_robot(write_arm(tmp_path / "fixed", still), ["flange"]).mjcf)
    for q in np.random.default_rng(2).uniform(-1.0, 1.0, size=(5, 3)):
        np.testing.assert_allclose(inertia_at(held.model, q), inertia_at(fixed.model, q), atol=1e-12)


def test_tools_can_be_named(tmp_path: Path) -> None:
    assert read_robot(write_arm(tmp_path), ["hand", "lower"]).tools == ("hand", "lower")


def test_home_is_inside_the_limits_and_lets_the_tool_move_every_way(tmp_path: Path) -> None:
    robot = read_robot(write_arm(tmp_path))
    arm = Arm(robot.mjcf)
    arm.kinematics(np.array(robot.home))
    values = np.linalg.svd(Tools(arm, robot.tools).jacobian(), compute_uv=False)
    assert values[-1] >= 0.1 * values[0]
    assert -1.5 <= robot.home[0] <= 2.0
    assert 0.0 <= robot.home[1] <= 0.6


def test_mjcf_with_includes_meshes_motors_and_a_home(tmp_path: Path) -> None:
    path = write_mjcf(tmp_path)
    read = read_robot_file(path)
    robot, ours, theirs = read.robot, Arm(read.robot.mjcf), mujoco.MjModel.from_xml_path(str(path))
    assert (robot.name, robot.tools, robot.home) == ("bench", ("tip",), (0.3, 0.4))
    assert ours.model.jnt_actfrcrange[0].tolist() == [-100, 100]
    assert ours.model.ngeom == 3, "what is only to look at stays out"
    for q in np.random.default_rng(3).uniform(-1.0, 1.0, size=(5, 2)):
        np.testing.assert_allclose(inertia_at(ours.model, q), inertia_at(theirs, q), rtol=1e-9, atol=1e-12)
        forces = [force_for(model, q, q[::-1], 2.0 * q) for model in (ours.model, theirs)]
        np.testing.assert_allclose(*forces, rtol=1e-9, atol=1e-12)


def test_links_that_overlap_at_home_do_not_touch(tmp_path: Path) -> None:
    wide = ARM.replace('<box size="0.2 0.2 0.1"/>', '<box size="3 3 3"/>')
    read = read_robot_file(write_arm(tmp_path, wide))
    assert any("'base' and 'lower' overlap at home" in note for note in read.notes)
    arm = Arm(read.robot.mjcf, contact=True)
    arm.kinematics(np.array(read.robot.home))
    assert arm.data.ncon == 0


EFFORT = '<limit effort="10" velocity="6"/>'
BACK = '<joint name="back" type="fixed"><parent link="{}"/><child link="{}"/></joint></robot>'
HINGE_A = '<joint name="a" axis="0 1 0" range="-90 90"/>'
BILLION = '<!DOCTYPE robot [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'

URDF_FAULTS = {
    "empty": ("", "is empty"),
    "no XML": ("arm = 3", "is not XML"),
    "half a file": (ARM[:500], "is not XML"),
    "another XML": ("<svg/>", "<svg>; a URDF has <robot>, an MJCF <mujoco>"),
    "entities": (BILLION + ARM, "declares a document type"),
    "a xacro": (
        ARM.replace("<robot", '<robot xmlns:xacro="x"').replace('<link name="flange"/>', "<xacro:hand/>"),
        "xacro",
    ),
    "no links": ('<robot name="x"/>', "it lacks a link"),
    "NaN mass": (ARM.replace('value="2"', 'value="nan"', 1), "link 'upper': mass value is 'nan'; it must be finite"),
    "NaN place": (
        ARM.replace("0 0 0.3", "0 NaN 0.3"),
        "joint 'shoulder': origin xyz is '0 NaN 0.3'; it must be finite",
    ),
    "infinite limit": (
        ARM.replace('upper="2"', 'upper="inf"'),
        "joint 'shoulder': limit upper is 'inf'; it must be finite",
    ),
    "no number": (ARM.replace('effort="40"', 'effort="much"'), "limit effort is 'much', which is not a number"),
    "two coordinates": (ARM.replace('xyz="0.2 0 0"', 'xyz="0.2 0"', 1), "it must be 3 numbers"),
    "missing mesh": (ARM.replace("part.stl", "gone.stl"), "gone.stl' of link 'lower' is missing"),
    "a mesh that is text": (ARM.replace("part.stl", "../urdf/fake.stl"), "of link 'lower' is not a mesh"),
    "a mesh that is a secret": (
        ARM.replace("package://robot/meshes/part.stl", "../../../../../../etc/passwd"),
        "'lower' is a nameless file; a mesh can be .stl",
    ),
    "a flat mesh": (ARM.replace('scale="0.1 0.1 0.2"', 'scale="1 1 0"'), "of link 'lower' has no hull: it is flat"),
    "a mesh from the net": (ARM.replace("package://robot", "http://robot"), "named by http://"),
    "negative mass": (
        ARM.replace('value="2"', 'value="-2"', 1),
        "link 'upper' has a mass of -2 kg; a mass is positive",
    ),
    "negative inertia": (ARM.replace('ixx="0.02"', 'ixx="-0.02"', 1), "link 'upper' has principal inertias"),
    "impossible inertia": (ARM.replace('iyy="0.025"', 'iyy="0.3"', 1), "none may be more than the sum of the others"),
    "a circle": (ARM.replace("</robot>", BACK.format("flange", "base")), "form a circle; a robot is a tree"),
    "two parents": (
        ARM.replace("</robot>", BACK.format("base", "hand")),
        "link 'hand' has two parents, 'lower' and 'base'",
    ),
    "two bases": (
        ARM.replace("</robot>", '<link name="loose"/></robot>'),
        "2 links have no parent ('base', 'loose'); one base is needed",
    ),
    "a link that is not there": (
        ARM.replace('<child link="hand"/>', '<child link="hnad"/>'),
        "joint 'wrist' joins links that are not there: its child 'hnad'",
    ),
    "two of a name": (ARM.replace('name="flange"', 'name="hand"'), "2 links are named 'hand'"),
    "unknown joint": (
        ARM.replace('type="continuous"', 'type="screw"'),
        "joint 'wrist' is of type 'screw'; it can be revolute",
    ),
    "floating joint": (
        ARM.replace('type="continuous"', 'type="floating"'),
        "joint 'wrist' is of type 'floating'; it can be",
    ),
    "planar joint": (ARM.replace('type="continuous"', 'type="planar"'), "joint 'wrist' is of type 'planar'; it can be"),
    "no axis": (ARM.replace('xyz="0 0 1"', 'xyz="0 0 0"'), "joint 'wrist' has the axis '0 0 0'; it must not be zero"),
    "no limits": (ARM.replace(LIMIT, ""), "it lacks lower and upper limit of joint 'shoulder'"),
    "crossed limits": (ARM.replace('lower="-1.5"', 'lower="5"'), "the limits 5 and 2; lower must be less than upper"),
    "negative effort": (
        ARM.replace('effort="40"', 'effort="-40"'),
        "joint 'shoulder' has effort -40; it must not be negative",
    ),
    "negative friction": (
        ARM.replace('friction="0.25"', 'friction="-1"'),
        "joint 'shoulder' has friction -1; it must not be negative",
    ),
    "no inertia": (ARM.replace(INERTIA, "", 1), "it lacks inertia of link 'upper'"),
    "no mass": (ARM.replace(INERTIAL, "", 1), "it lacks mass and inertia of link 'upper', which a joint moves"),
    "no size": (ARM.replace('radius="0.05" ', ""), "it lacks radius of the cylinder of link 'upper'"),
    "a size of 0": (ARM.replace('radius="0.05"', 'radius="0"'), "cylinder radius is '0'; it must be greater than 0"),
    "no joint": ('<robot name="x"><link name="base"/></robot>', "it lacks a joint that moves a link"),
    "many ends": (WITH_FINGERS, "a tool frame: there are 2 ends, so name one with --tool, such as 'left', 'right'"),
    "mimics nobody": (ARM.replace(EFFORT, '<mimic joint="ghost"/>'), "joint 'wrist' mimics 'ghost', which is no joint"),
    "a mimic that moves the tool": (
        ARM.replace(EFFORT, '<mimic joint="shoulder"/>'),
        "joint 'wrist' mimics 'shoulder' on the way to a tool; simloop has no coupled joints",
    ),
}


@pytest.mark.parametrize("fault", URDF_FAULTS)
def test_a_fault_in_a_urdf_is_named(fault: str, tmp_path: Path) -> None:
    text, said = URDF_FAULTS[fault]
    path = write_arm(tmp_path, text)
    (path.parent / "fake.stl").write_text("not a mesh at all, but long enough to look like one: " + "x" * 100)
    with pytest.raises(RobotFileError) as caught:
        read_robot(path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


MJCF_FAULTS = {
    "NaN": (MJCF.replace('damping="0.1"', 'damping="nan"'), "joint 'b': damping is 'nan'; it must be finite"),
    "negative mass": (MJCF.replace('size="0.05"', 'size="0.05" mass="-1"'), "has a mass of -1 kg; a mass is positive"),
    "unknown joint": (MJCF.replace('name="b"', 'name="b" type="screw"'), "joint 'b' is of type 'screw'"),
    "ball joint": (MJCF.replace('name="b"', 'name="b" type="ball"'), "joint 'b' is of type 'ball'; it can be hinge or"),
    "free joint": (MJCF.replace(HINGE_A, '<freejoint name="a"/>'), "joint 'a' is of type 'free'"),
    "missing include": (MJCF.replace("parts.xml", "gone.xml"), "the included file 'gone.xml' is missing"),
    "a file in itself": (MJCF.replace("parts.xml", "bench.xml"), "'bench.xml' is included twice"),
    "missing mesh": (
        MJCF.replace('<include file="parts.xml"/>', '<asset><mesh name="part" file="gone.stl"/></asset>'),
        "gone.stl' is missing",
    ),
    "entities": (BILLION.replace("robot", "mujoco") + MJCF, "declares a document type"),
    "no joints": ("<mujoco><worldbody><body/></worldbody></mujoco>", "it lacks a joint that moves a link"),
    "a closed loop": (
        MJCF.replace("</mujoco>", '<equality><connect name="loop" body1="two" anchor="0 0 0"/></equality></mujoco>'),
        "joints are coupled by equality 'loop'",
    ),
    "coupled joints": (
        MJCF.replace("</mujoco>", '<equality><joint joint1="a" joint2="b"/></equality></mujoco>'),
        "joints are coupled by equality",
    ),
    "what MuJoCo alone sees": (MJCF.replace('axis="0 1 0" range', 'axle="0 1 0" range'), "MuJoCo says:"),
}


@pytest.mark.parametrize("fault", MJCF_FAULTS)
def test_a_fault_in_an_mjcf_is_named(fault: str, tmp_path: Path) -> None:
    text, said = MJCF_FAULTS[fault]
    with pytest.raises(RobotFileError) as caught:
        read_robot(write_mjcf(tmp_path, text))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_everything_that_is_missing_is_one_error(tmp_path: Path) -> None:
    text = WITH_FINGERS.replace(INERTIAL, "", 1).replace(LIMIT, "").replace("part.stl", "gone.stl")
    with pytest.raises(RobotFileError) as caught:
        read_robot(write_arm(tmp_path, text))
    for said in ("gone.stl", "mass and inertia of link 'upper'", "limit of joint 'shoulder'", "a tool frame"):
        assert said in str(caught.value)


@pytest.mark.parametrize(
    ("tool", "said"), [("nose", "a link or site 'nose' for --tool"), ("base", "moves the tool 'base'")]
)
def test_a_tool_that_is_none_is_refused(tool: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(RobotFileError, match=said):
        read_robot(write_arm(tmp_path), [tool])
