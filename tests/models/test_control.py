"""The control simulation of an arm with failed joints: the forces and velocities of the arm that is left."""

from __future__ import annotations

import numpy as np
import pytest
from simloop.models.arm import Arm, Vector
from simloop.models.control import ControlSimulation
from simloop.models.faults import Fault
from simloop.models.hanging import Hanging
from simloop.models.plant import RobotPlant, robot_at_rest
from simloop.models.robots.packbot import ROBOT as PACKBOT

from tests.models.test_plant import HOME, SPINNING, THREE, N, fault

H = 1 / 500
V_D = np.array([0.5, -0.9, 0.8])
UNLIMITED = THREE.replace('actuatorfrcrange="-5 5"', "")
DAMPED = UNLIMITED.replace('armature="0.01"', 'armature="0.01" damping="0.3"')
RUBBING = DAMPED.replace('damping="0.3"', 'damping="0.3" frictionloss="0.2"')


def ask(mjcf: str, faults: Vector, v: Vector = SPINNING, sigma: float = 0.0) -> tuple[Vector, Vector]:
    """Force and velocity reached."""
    tau, reached = np.full(N, np.nan), np.full(N, np.nan)
    ControlSimulation(Arm(mjcf), np.full(N, sigma)).force_to(HOME, v, V_D, H, tau, reached, faults)
    return tau, reached


def plant_step(mjcf: str, tau: Vector, faults: Vector, v: Vector = SPINNING) -> Vector:
    """The velocity of the robot itself after one step."""
    state, nothing = robot_at_rest(HOME, 0), np.zeros(N)
    state.moves.v[:N] = v
    RobotPlant(mjcf).step(state, tau, nothing, faults, nothing, 0.0, H)
    return state.moves.v[:N]


@pytest.mark.parametrize("mjcf", [UNLIMITED, DAMPED, RUBBING])
@pytest.mark.parametrize("joint", range(N))
def test_with_a_frozen_joint_the_others_get_the_forces_of_the_merged_arm(joint: int, mjcf: str) -> None:
    others = np.arange(N) != joint
    v = np.where(others, SPINNING, 0.0)
    tau, reached = ask(mjcf, fault(joint, Fault.FROZEN), v)
    merged = np.zeros(N - 1)
    Arm(mjcf, frozen={joint: HOME[joint]}).inverse(HOME[others], v[others], V_D[others], H, merged)
    np.testing.assert_allclose(tau[others], merged, rtol=0.0, atol=1e-9)
    assert tau[joint] == 0.0
    np.testing.assert_array_equal(reached, np.where(others, V_D, 0.0))


@pytest.mark.parametrize(("mjcf", "tolerance"), [(UNLIMITED, 1e-9), (DAMPED, 1e-9), (RUBBING, 1e-9)])
@pytest.mark.parametrize("joint", range(N))
def test_a_loose_joint_goes_where_the_robots_own_goes(joint: int, mjcf: str, tolerance: float) -> None:
    faults = fault(joint, Fault.LOOSE)
    tau, reached = ask(mjcf, faults)
    assert tau[joint] == 0.0
    others = np.arange(N) != joint
    np.testing.assert_array_equal(reached[others], V_D[others])
    np.testing.assert_allclose(plant_step(mjcf, tau, faults), reached, rtol=0.0, atol=tolerance)


def test_friction_that_holds_a_loose_joint_is_foreseen() -> None:
    """From rest the others' start would throw the loose joint; friction above that keeps it, but for the creep that
    MuJoCo's friction has, in plan and in fact."""
    sticky = UNLIMITED.replace('name="c"', 'name="c" frictionloss="200"')
    faults, rest = fault(2, Fault.LOOSE), np.zeros(N)
    assert abs(ask(UNLIMITED, faults, rest)[1][2]) > 0.4
    tau, reached = ask(sticky, faults, rest)
    assert abs(reached[2]) < 0.05
    np.testing.assert_allclose(plant_step(sticky, tau, faults, rest), reached, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("joint", [0, 3, 4, 5, 6])
@pytest.mark.parametrize("speed", [0.0, 0.002, 0.3])
def test_the_packbots_loose_joints_are_foreseen_at_rest_and_starting(joint: int, speed: float) -> None:
    """Its static friction holds some of them and not others."""
    arm, h = Arm(PACKBOT.mjcf), 1 / 200
    n, rest = arm.n, np.zeros(arm.n)
    faults, tau, reached = np.zeros(n), np.zeros(n), np.zeros(n)
    faults[joint] = Fault.LOOSE
    q = Hanging(arm, np.array([joint])).settle(np.array(PACKBOT.home))
    ControlSimulation(arm, rest).force_to(q, rest, np.full(n, speed), h, tau, reached, faults)
    plant = Arm(PACKBOT.mjcf)
    state = plant.state_at(q)
    plant.step(state, tau, h)
    np.testing.assert_allclose(state.v, reached, rtol=0.0, atol=1e-9)


def test_one_joint_frozen_and_one_loose() -> None:
    faults = fault(0, Fault.FROZEN) + fault(2, Fault.LOOSE)
    v = np.array([0.0, -1.1, 0.6])
    tau, reached = ask(DAMPED, faults, v)
    assert (tau[0], tau[2], reached[0], reached[1]) == (0.0, 0.0, 0.0, V_D[1])
    np.testing.assert_allclose(plant_step(DAMPED, tau, faults, v), reached, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("kind", [Fault.WEAK, Fault.STUCK, Fault.NOISY, Fault.LOST])
@pytest.mark.parametrize("sigma", [0.0, 0.3])
def test_a_fault_that_leaves_the_motor_its_force_changes_nothing(kind: Fault, sigma: float) -> None:
    healthy = ask(DAMPED, np.zeros(N), sigma=sigma)
    np.testing.assert_array_equal(ask(DAMPED, fault(1, kind), sigma=sigma), healthy)
