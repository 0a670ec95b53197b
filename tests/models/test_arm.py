"""The arm's dynamics obey mechanics, and the control simulation inverts them."""

from __future__ import annotations

import numpy as np
import pytest
from simloop.models.arm import Arm, Tools, Vector
from simloop.models.control import ControlSimulation
from simloop.models.robots.sphere import ROBOT

THREE_LINKS = """
<mujoco><compiler angle="radian"/><option gravity="0 0 -9.82"/><worldbody>
<body name="a"><joint name="turn" axis="0 0 1" damping="0.3" armature="0.02"/>
  <geom type="capsule" fromto="0 0 0 0 0 0.4" size="0.05" mass="3"/>
  <body name="b" pos="0 0 0.4"><joint name="lift" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.04" mass="2"/>
    <body name="c" pos="0.3 0 0"><joint name="reach" type="slide" axis="1 0 0" damping="2"/>
      <geom type="box" size="0.1 0.02 0.02" pos="0.1 0 0" mass="1"/><site name="tip" pos="0.2 0 0"/>
</body></body></body></worldbody></mujoco>
"""


@pytest.fixture
def pose() -> tuple[Vector, Vector]:
    return np.array([0.3, -0.7, 0.05]), np.array([0.5, -1.1, 0.2])


def test_the_tool_jacobian_equals_finite_differences(pose: tuple[Vector, Vector]) -> None:
    arm = Arm(THREE_LINKS)
    tools = Tools(arm, ("tip",))
    q, step = pose[0], 1e-6
    arm.kinematics(q)
    J = tools.jacobian().copy()
    for i in range(3):
        ends = []
        for sign in (1, -1):
            arm.kinematics(q + sign * step * np.eye(3)[i])
            ends.append(tools.position().copy())
        np.testing.assert_allclose(J[:, i], (ends[0] - ends[1]) / (2 * step), atol=1e-9)


@pytest.mark.parametrize("h", [1 / 200, 1 / 2000])
def test_the_force_of_the_control_simulation_takes_the_plant_to_the_velocity(
    h: float, pose: tuple[Vector, Vector]
) -> None:
    arm, plant = Arm(THREE_LINKS), Arm(THREE_LINKS)
    q, v = pose
    q_d = q + h * np.array([0.4, -1.0, 0.3])
    v_d, tau, reached = np.zeros(3), np.zeros(3), np.zeros(3)
    control = ControlSimulation(arm, np.zeros(3))
    control.velocity_to(q, q_d, h, v_d)
    control.force_to(q, v, v_d, h, tau, reached)
    plant.step(plant.state_at(q, v), tau, h)
    np.testing.assert_allclose(plant.data.qvel, v_d, atol=1e-12)
    np.testing.assert_allclose(plant.data.qpos, q_d, atol=1e-14)
    np.testing.assert_array_equal(reached, v_d)


def test_regularised_motors_solve_the_papers_equation(pose: tuple[Vector, Vector]) -> None:
    """(S1, 3.3) with G = 1: (M⁻¹ + Σ) λ = v_d − v_free, where the plant itself tells v_free and what λ does."""
    h = 1 / 200
    q, v = pose
    sigma = np.array([0.01, 0.2, 1.5])
    v_d = np.array([0.6, -1.0, 0.1])
    tau, reached = np.zeros(3), np.zeros(3)
    ControlSimulation(Arm(THREE_LINKS), sigma).force_to(q, v, v_d, h, tau, reached)
    plant = Arm(THREE_LINKS)
    plant.step(plant.state_at(q, v), np.zeros(3), h)
    v_free = plant.data.qvel.copy()
    plant.step(plant.state_at(q, v), tau, h)
    np.testing.assert_allclose(plant.data.qvel, reached, atol=1e-12)
    pushed = plant.data.qvel - v_free
    np.testing.assert_allclose(pushed + sigma * h * tau, v_d - v_free, atol=1e-12)


def test_a_falling_sphere_follows_the_closed_form_of_the_stepper() -> None:
    """v = −g k h and q = −g h² k (k + 1)/2 after k semi-implicit steps."""
    arm, h, k = Arm(ROBOT.mjcf), 1 / 2000, 1000
    state = arm.state_at(np.zeros(1))
    for _ in range(k):
        arm.step(state, np.zeros(1), h)
    assert arm.data.qvel[0] == pytest.approx(-9.82 * k * h, rel=1e-12)
    assert arm.data.qpos[0] == pytest.approx(-9.82 * h**2 * k * (k + 1) / 2, rel=1e-12)


def test_mass_error_scales_the_inertia_matrix(pose: tuple[Vector, Vector]) -> None:
    plain = THREE_LINKS.replace('armature="0.02"', "")
    one, other = Arm(plain), Arm(plain, mass_error=0.1)
    for arm in (one, other):
        arm.kinematics(pose[0])
    np.testing.assert_allclose(other.inertia(), 1.1 * one.inertia(), rtol=1e-12, atol=1e-15)


def test_units_follow_the_joints() -> None:
    assert Arm(THREE_LINKS).units == ["rad", "rad", "m"]


def test_a_joint_of_more_than_one_degree_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="wobble"):
        Arm(THREE_LINKS.replace('name="turn" axis="0 0 1"', 'name="wobble" type="ball"'))


def test_a_mass_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="mass_error"):
        Arm(ROBOT.mjcf, mass_error=-1.0)
