"""The robot itself: faults, torque limits, elastic gears, and that it repeats itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from simloop.models.arm import Arm, Vector
from simloop.models.assemble import Gear
from simloop.models.faults import Fault, check_fault
from simloop.models.plant import RobotPlant, RobotState, robot_at_rest

H = 1 / 2000
N = 3
HOME = np.array([0.3, -0.7, 0.4])
SPINNING = np.array([0.8, -1.1, 0.6])
THREE = """<mujoco><option gravity="0 0 -9.81"/><worldbody>
<body name="one" euler="0 10 0"><joint name="a" axis="0 0 1" pos="0.01 0 0" armature="0.02" actuatorfrcrange="-5 5"/>
<geom type="box" size="0.03 0.04 0.2" pos="0 0 0.2" mass="2"/>
<body name="two" pos="0 0.05 0.4" euler="20 0 0"><joint name="b" axis="0 1 0.2" pos="0 0.02 0.01" armature="0.01"/>
<geom type="box" size="0.03 0.02 0.15" pos="0.02 0 0.15" mass="1.2"/>
<body name="three" pos="0 0 0.3"><joint name="c" axis="1 0 0" armature="0.01"/>
<geom type="box" size="0.02 0.03 0.1" pos="0 0.03 0.1" mass="0.7"/></body></body></body>
</worldbody><!-- more --></mujoco>"""
NOTHING = np.zeros(N)
# A constraint at 10⁴ rad/s, critically damped, that gives way by next to nothing; it wants steps much shorter than H.
STIFF = 'solref="-1e8 -2e4" solimp="0.9999 0.9999 0.001"'
SUBSTEPS = 25


def run(plant: RobotPlant, state: RobotState, steps: int, *, tau: Vector = NOTHING, fault: Vector = NOTHING) -> Vector:
    """Joint positions after each step."""
    q = np.empty((steps, N))
    for k in range(steps):
        plant.step(state, tau, NOTHING, fault, NOTHING, k * H, H)
        q[k] = state.moves.q[:N]
    return q


def fault(joint: int, kind: Fault) -> Vector:
    faults = np.zeros(N)
    faults[joint] = kind
    return faults


def swinging() -> RobotState:
    state = robot_at_rest(HOME, 0)
    state.moves.v[:N] = SPINNING
    return state


@pytest.mark.parametrize("joint", range(N))
def test_a_frozen_arm_moves_as_the_whole_one_held_by_a_stiff_constraint(joint: int) -> None:
    """MuJoCo's own equality constraint holds the joint with the stiffness below, from the same velocities on."""
    plant = RobotPlant(THREE, integrator="rk4")
    state = swinging()
    frozen = fault(joint, Fault.FROZEN)
    plant.step(state, NOTHING, NOTHING, frozen, NOTHING, 0.0, 1e-9)
    start = state.moves.v[:N].copy()
    merged = run(plant, state, 500, fault=frozen)
    name = "abc"[joint]
    hold = f'<equality><joint joint1="{name}" polycoef="{HOME[joint]} 0 0 0 0" {STIFF}/></equality>'
    whole = Arm(THREE.replace("<!-- more -->", hold))
    whole.model.opt.integrator = 1
    held = whole.state_at(HOME, start)
    path = np.empty((500, N))
    for k in range(500):
        for _ in range(SUBSTEPS):
            whole.step(held, NOTHING, H / SUBSTEPS)
        path[k] = held.q
    np.testing.assert_allclose(merged, path, rtol=0.0, atol=1e-6)
    assert np.ptp(merged[:, joint]) == 0.0


@pytest.mark.parametrize("joint", range(N))
def test_a_joint_that_freezes_in_motion_leaves_the_momenta_of_the_others(joint: int) -> None:
    state, plant = swinging(), RobotPlant(THREE)
    arm = Arm(THREE)
    arm.kinematics(HOME)
    M = arm.inertia().copy()
    before = state.moves.v[:N].copy()
    plant.step(state, NOTHING, NOTHING, fault(joint, Fault.FROZEN), NOTHING, 0.0, 1e-12)
    after = state.moves.v[:N]
    others = np.arange(N) != joint
    np.testing.assert_allclose((M @ after)[others], (M @ before)[others], rtol=1e-9)
    assert after[joint] == 0.0
    assert after @ M @ after < before @ M @ before, "locking takes energy"


def test_a_joint_that_thaws_moves_again_from_where_it_was() -> None:
    plant, state = RobotPlant(THREE), swinging()
    run(plant, state, 50, fault=fault(1, Fault.FROZEN))
    assert state.moves.q[1] == HOME[1]
    run(plant, state, 50)
    assert state.moves.q[1] != HOME[1]


@pytest.mark.parametrize("tau", [0.0, 4.0, -1e6])
def test_a_loose_joint_gets_no_torque_whatever_is_commanded(tau: float) -> None:
    plant, state = RobotPlant(THREE), swinging()
    applied = plant.step(state, np.full(N, tau), NOTHING, fault(2, Fault.LOOSE), NOTHING, 0.0, H)
    assert applied[2] == 0.0
    free, alone = RobotPlant(THREE), swinging()
    commanded = np.array([tau, tau, 0.0])
    free.step(alone, commanded, NOTHING, NOTHING, NOTHING, 0.0, H)
    np.testing.assert_array_equal(state.moves.v, alone.moves.v)


def test_motors_give_no_more_than_their_limit_and_weak_ones_less() -> None:
    plant, state = RobotPlant(THREE), swinging()
    tau = np.array([7.0, 7.0, -7.0])
    np.testing.assert_array_equal(plant.step(state, tau, NOTHING, NOTHING, NOTHING, 0.0, H), [5.0, 7.0, -7.0])
    weak = np.full(N, float(Fault.WEAK))
    sizes = np.array([6.0, 2.0, 0.5])
    np.testing.assert_array_equal(plant.step(state, tau, NOTHING, weak, sizes, 0.0, H), [5.0, 2.0, -0.5])


def test_a_stiff_gear_is_a_rigid_one() -> None:
    """The arm with gears of 1e6 N·m/rad stays within a microradian per N·m of the arm without."""
    rigid, elastic = swinging(), swinging()
    elastic.moves.v[N:] = SPINNING
    gears = {i: Gear(stiffness=1e6, damping=50.0) for i in range(N)}
    one, other = RobotPlant(THREE, integrator="rk4"), RobotPlant(THREE, integrator="rk4", gears=gears)
    tau = np.array([0.5, -0.3, 0.2])
    for _ in range(4000):
        one.step(rigid, tau, NOTHING, NOTHING, NOTHING, 0.0, 5e-5)
        other.step(elastic, tau, NOTHING, NOTHING, NOTHING, 0.0, 5e-5)
    np.testing.assert_allclose(rigid.moves.q[:N], elastic.moves.q[:N], atol=2e-5)


def test_an_elastic_gear_rings_at_the_frequency_of_two_masses_on_a_spring() -> None:
    """ω² = k (1/J₁ + 1/J₂) for rotor and link about one free axis."""
    k, rotor, link = 50.0, 0.02, 0.5 * 0.4**2
    mjcf = f"""<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="a" axis="0 0 1" armature="{rotor}"/>
    <inertial pos="0 0 0" mass="0.5" diaginertia="{link} {link} {link}"/></body></worldbody></mujoco>"""
    plant = RobotPlant(mjcf, integrator="rk4", gears={0: Gear(k, 0.0)})
    state = robot_at_rest(np.zeros(1), 0)
    wind = 0.1
    state.moves.q[1] = wind
    zero = np.zeros(1)
    omega = math.sqrt(k * (1 / rotor + 1 / link))
    for step in range(400):
        plant.step(state, zero, zero, zero, zero, 0.0, 1e-4)
        expected = wind * math.cos(omega * (step + 1) * 1e-4)
        assert state.moves.q[1] - state.moves.q[0] == pytest.approx(expected, abs=1e-6 * wind)


def test_the_order_in_which_gears_are_given_does_not_matter() -> None:
    gears = {0: Gear(100.0, 1.0), 2: Gear(300.0, 1.0)}
    ends = []
    for given in (gears, dict(reversed(gears.items()))):
        state = swinging()
        run(RobotPlant(THREE, gears=given), state, 50, tau=np.array([1.0, 0.0, 0.2]))
        ends.append(state.moves.q)
    np.testing.assert_array_equal(*ends)


def test_a_gear_without_a_rotor_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'b' has no rotor inertia"):
        RobotPlant(THREE.replace('armature="0.01"', ""), gears={1: Gear(100.0, 1.0)})


def test_an_unknown_fault_is_refused() -> None:
    with pytest.raises(ValueError, match="fault is 9; it can be 0 none, 1 loose, 2 frozen"):
        check_fault(9)
