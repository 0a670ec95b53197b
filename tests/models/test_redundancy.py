"""Joints to spare: the formula solves its task, the null space leaves it alone, and limits hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from simloop.models.arm import Arm, Vector
from simloop.models.clearance import Clearance
from simloop.models.limits import JointLimits
from simloop.models.objectives import Centre, Manipulability, Objective, Room
from simloop.models.pose import ToolPoint, ToolPose, ToolTurn, quaternion_of_zyz, rotation_between, zyz_of_quaternion
from simloop.models.redundancy import ByInertia, Evenly, Resolution, Spacing, Weighting

# Seven hinges in a chain, axes in turn upright and level, over a table.
LINK = """<body pos="0 0 {z}"><joint axis="{axis}" range="-120 120"/>
<geom type="capsule" fromto="0 0 0 0 0 {z}" size="0.03" mass="{mass}"/>{rest}</body>"""


def chain() -> str:
    rest = '<site name="tool" pos="0 0 0.1"/>'
    for j in reversed(range(7)):
        axis = "0 0 1" if j % 2 == 0 else "0 1 0"
        rest = LINK.format(z=0.15, axis=axis, mass=3.0 - 0.4 * j, rest=rest)
    table = '<geom name="table" type="box" size="1 1 0.05" pos="0 0 -0.05"/>'
    return f'<mujoco><option gravity="0 0 -9.81"/><worldbody>{table}{rest}</worldbody></mujoco>'


CHAIN = chain()
BENT = np.array([0.3, 0.7, -0.4, 1.1, 0.5, -0.9, 0.2])
WIDE = JointLimits(np.full(7, -np.inf), np.full(7, np.inf), np.full(7, np.inf), np.full(7, np.inf))
TWIST = np.array([0.1, -0.05, 0.08, 0.2, 0.1, -0.3])
H = 1 / 200


def make(limits: JointLimits = WIDE, **choices: object) -> tuple[Arm, ToolPose, Resolution]:
    arm = Arm(CHAIN)
    tool = ToolPose(arm, "tool")
    choices.setdefault("weight", ByInertia())
    return arm, tool, Resolution(arm, tool, limits, **choices)  # type: ignore[arg-type]


@pytest.mark.parametrize("weight", [ByInertia(), Evenly()])
def test_of_all_velocities_that_do_the_task_it_is_the_least_in_its_metric(weight: Weighting) -> None:
    """Least vᵀ W v subject to J v = twist: the optimality conditions, solved at once."""
    arm, tool, resolution = make(weight=weight)
    v = resolution.velocity(BENT, np.zeros(7), TWIST, H)
    arm.kinematics(BENT)
    J = tool.jacobian().copy()
    W = arm.inertia().copy() if isinstance(weight, ByInertia) else np.eye(7)
    kkt = np.block([[W, J.T], [J, np.zeros((6, 6))]])
    expected = np.linalg.solve(kkt, np.concatenate([np.zeros(7), TWIST]))[:7]
    np.testing.assert_allclose(v, expected, rtol=1e-9, atol=1e-12)


def test_an_objective_moves_the_joints_and_not_the_tool() -> None:
    arm = Arm(CHAIN)
    low, high = arm.model.jnt_range.T
    _, _, plain = make()
    _, tool, pulled = make(objectives=[(5.0, Centre(low, high))])
    still = pulled.velocity(BENT, np.zeros(7), np.zeros(6), H)
    assert np.abs(still).max() > 1e-3
    np.testing.assert_allclose(tool.jacobian() @ still, 0.0, atol=1e-12)
    assert Centre(low, high).gradient(BENT) @ still > 0.0, "the objective rises"
    np.testing.assert_array_equal(plain.velocity(BENT, np.zeros(7), np.zeros(6), H), 0.0)


def objectives(arm: Arm) -> list[Objective]:
    low, high = arm.model.jnt_range.T
    return [
        Centre(low, high),
        Centre(low, high, BENT + 0.3),
        Manipulability(arm, ToolPose(arm, "tool")),
        Room(Clearance(arm), 2.0),
    ]


@pytest.mark.parametrize("which", range(4))
def test_gradients_are_finite_differences_of_values(which: int) -> None:
    arm = Arm(CHAIN)
    objective = objectives(arm)[which]
    slopes = np.zeros(7)
    for i, unit in enumerate(np.eye(7)):
        slopes[i] = (objective.value(BENT + 1e-5 * unit) - objective.value(BENT - 1e-5 * unit)) / 2e-5
    arm.kinematics(BENT)
    np.testing.assert_allclose(objective.gradient(BENT), slopes, atol=1e-6)


def limits_of(arm: Arm, speed: float, acceleration: float) -> JointLimits:
    low, high = arm.model.jnt_range.T
    return JointLimits(low.copy(), high.copy(), np.full(7, speed), np.full(7, acceleration))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31), rough=st.booleans())
def test_no_limit_of_a_joint_is_ever_broken(seed: int, rough: bool) -> None:
    """However the tool is commanded: position, speed and acceleration, in every step."""
    limits = limits_of(Arm(CHAIN), 1.5, 8.0)
    _, _, resolution = make(limits)
    random = np.random.default_rng(seed)
    q, v, twist = BENT.copy(), np.zeros(7), np.zeros(6)
    for k in range(300):
        if rough or k % 100 == 0:
            twist = random.normal(size=6) * 3.0
        new = resolution.velocity(q, v, twist, H)
        assert np.abs(new - v).max() <= limits.acceleration[0] * H * (1 + 1e-9)
        assert np.abs(new).max() <= limits.speed[0] * (1 + 1e-9)
        q, v = q + H * new, new
        assert np.all(q >= limits.low - 1e-9)
        assert np.all(q <= limits.high + 1e-9)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_turning_second_never_makes_the_tool_move_worse(seed: int) -> None:
    """With limits that hold it up now and then, the tool moves as near to its wish as if none were had of its turn.

    It may be nearer: a turn can happen to keep a joint within the limit that it would have run into.
    """
    arm = Arm(CHAIN)
    tool, limits = ToolPose(arm, "tool"), limits_of(arm, 0.5, 8.0)
    alone = Resolution(arm, ToolPoint(tool), limits, weight=ByInertia())
    both = Resolution(arm, ToolPoint(tool), limits, weight=ByInertia(), lower=[ToolTurn(tool)])
    random = np.random.default_rng(seed)
    q, v = BENT.copy(), np.zeros(7)
    for k in range(200):
        if k % 50 == 0:
            twist = random.normal(size=6) * 0.5
        new = both.velocity(q, v, twist, H)
        one = alone.velocity(q, v, twist[:3], H)
        J = tool.jacobian()[:3]
        assert np.linalg.norm(J @ new - twist[:3]) <= np.linalg.norm(J @ one - twist[:3]) + 1e-7
        assert np.all(np.abs(new - v) <= limits.acceleration * H * (1 + 1e-9))
        q, v = q + H * new, new


@pytest.mark.parametrize("second", [False, True])
def test_only_a_tool_that_may_turn_is_led_as_far_as_the_arm_is_long(second: bool) -> None:
    """From the second joint, at 0.3 m, to the tool the chain is 0.85 m long; stretched, the tool points outwards."""
    arm = Arm(CHAIN)
    tool, shoulder = ToolPose(arm, "tool"), np.array([0.0, 0.0, 0.3])
    first, lower = (ToolPoint(tool), [ToolTurn(tool)]) if second else (tool, [])
    resolution = Resolution(arm, first, limits_of(arm, 2.0, 20.0), weight=ByInertia(), lower=lower)
    q, v = BENT.copy(), np.zeros(7)
    arm.kinematics(q)
    out, turned = tool.position() - shoulder, tool.quaternion().copy()
    out /= np.linalg.norm(out)
    off = []
    for _ in range(600):
        turn = rotation_between(tool.quaternion(), turned)
        off.append(float(np.linalg.norm(turn)))
        v = resolution.velocity(q, v, np.concatenate([0.1 * out, 5.0 * turn]), H)
        q = q + H * v
        arm.kinematics(q)
    reached = float(np.linalg.norm(tool.position() - shoulder))
    assert max(off[:100]) < 0.01, "where there is room, the orientation is held either way"
    if second:
        assert reached == pytest.approx(0.85, abs=1e-3)
        assert off[-1] > 0.1
    else:
        assert reached < 0.84
        assert off[-1] < 0.01


def test_a_stretched_arm_slows_down_and_does_not_blow_up() -> None:
    """Pulled outwards past its reach, joint speeds stay bounded and their changes small; pulled back, it comes."""
    _, tool, resolution = make(limits_of(Arm(CHAIN), 3.0, 30.0))
    arm = resolution._arm
    q, v = BENT.copy(), np.zeros(7)
    out = np.array([0.0, 0.0, 0.3, 0.0, 0.0, 0.0])
    heights = []
    for k in range(1600):
        v = resolution.velocity(q, v, out if k < 800 else -out, H)
        q = q + H * v
        arm.kinematics(q)
        heights.append(float(tool.position()[2]))
        assert np.isfinite(q).all()
    assert heights[799] > heights[0]
    assert heights[799] <= 7 * 0.15 + 0.1
    assert heights[-1] < heights[799] - 0.3


def test_bodies_keep_their_distance_whatever_is_commanded() -> None:
    """Driven straight at the table for two seconds: never nearer than 2 cm, and held there."""
    arm = Arm(CHAIN)
    tool, clearance = ToolPose(arm, "tool"), Clearance(arm)
    spacing = Spacing(clearance, least=0.02, influence=0.1, rate=5.0)
    resolution = Resolution(arm, tool, limits_of(arm, 2.0, 20.0), weight=ByInertia(), spacing=spacing)
    q, v, nearest = np.array([0.0, 1.0, 0.0, 1.0, 0.0, 0.5, 0.0]), np.zeros(7), []
    for _ in range(400):
        v = resolution.velocity(q, v, np.array([0.0, 0.0, -0.5, 0.0, 0.0, 0.0]), H)
        q = q + H * v
        clearance.update(q)
        nearest.append(clearance.distance)
    assert min(nearest) > 0.02 - 1e-4
    assert nearest[-1] < 0.03


@settings(deadline=None)
@given(st.tuples(*[st.floats(-3.0, 3.0)] * 6))
def test_orientations_agree_with_another_library(angles: tuple[float, ...]) -> None:
    first, second = (Rotation.from_euler("ZYZ", part) for part in (angles[:3], angles[3:]))
    ours = [quaternion_of_zyz(np.array(part)) for part in (angles[:3], angles[3:])]
    for quaternion, rotation in zip(ours, (first, second), strict=True):
        np.testing.assert_allclose(np.roll(quaternion, -1) * np.sign(quaternion[0]), _positive(rotation), atol=1e-12)
        again = quaternion_of_zyz(zyz_of_quaternion(quaternion))
        np.testing.assert_allclose(np.abs(again @ quaternion), 1.0, atol=1e-12)
    turn = second * first.inv()
    np.testing.assert_allclose(Rotation.from_rotvec(rotation_between(*ours)).as_matrix(), turn.as_matrix(), atol=1e-9)


def _positive(rotation: Rotation) -> Vector:
    quaternion = rotation.as_quat()
    return np.asarray(quaternion * (1.0 if quaternion[3] >= 0.0 else -1.0))
