"""Computed torque and joint PID: the errors they leave, the noise they pass on, the steps at which they are stable."""

from __future__ import annotations

import math

import numpy as np
import pytest
from simloop.models.arm import Arm, Vector
from simloop.models.control import ControlSimulation
from simloop.models.controllers import (
    DAMPING_RATIO,
    FILTER_RATIO,
    NATURAL_FREQUENCY,
    ComputedTorque,
    JointPid,
    PidMemory,
    inertia_of_joints,
)
from simloop.models.faults import Fault
from simloop.models.robot import Robot
from simloop.models.robots import lab, packbot, sphere, yumi

G = 9.82  # m/s²
E = 0.1
OMEGA = NATURAL_FREQUENCY


def holding(arm: Arm, q: Vector) -> Vector:
    force = np.zeros(arm.n)
    arm.inverse(q, np.zeros(arm.n), np.zeros(arm.n), 1.0, force)
    return force


class Loop:
    """A robot under one of the laws, with a set point r(t) beside its home and a measurement with noise."""

    def __init__(self, robot: Robot, law: str, h: float, mass_error: float = 0.0, noise: float = 0.0) -> None:
        self.model, self.plant, self.h = Arm(robot.mjcf), Arm(robot.mjcf, mass_error=mass_error), h
        self.home, n = np.array(robot.home), self.model.n
        self.true = self.plant.state_at(self.home)
        self.q, self.v, self.q_r, self.v_r = self.home.copy(), np.zeros(n), self.home.copy(), np.zeros(n)
        self.tau, self.reached, self.fault = np.zeros(n), np.zeros(n), np.zeros(n)
        tuning = {"computed torque": (OMEGA, DAMPING_RATIO), "control simulation": (1 / h, 0.5)}
        self.law = ComputedTorque(self.model, *tuning[law]) if law in tuning else None
        inertia = inertia_of_joints(self.model, self.home)
        self.pid = JointPid(inertia, self.model.torque_limits, OMEGA, DAMPING_RATIO, FILTER_RATIO)
        self.memory = PidMemory(holding(self.model, self.home), np.zeros(n))
        self.noise, self.random, self.time = noise, np.random.default_rng(1), 0.0

    def step(self, r: float = 0.0) -> Vector:
        """The true error at the end of the step, when the set point is r beside home."""
        v_d = (self.home + r - self.q_r) / self.h
        if self.law is not None:
            self.law.force(self.q, self.v, self.q_r, self.v_r, v_d, self.h, self.tau, self.reached, self.fault)
        else:
            self.pid.force(self.memory, self.q_r - self.q, self.v, self.h, self.tau, self.fault)
        self.plant.step(self.true, self.tau, self.h)
        measured = self.true.q + self.noise * self.random.standard_normal(len(self.q))
        self.v, self.q = (measured - self.q) / self.h, measured
        self.q_r, self.v_r = self.home + r, v_d
        return self.q_r - self.true.q


@pytest.mark.parametrize("robot", [sphere.ROBOT, yumi.ROBOT], ids=lambda robot: robot.name)
@pytest.mark.parametrize("h", [1 / 200, 1 / 2000])
def test_computed_torque_stays_behind_by_the_mass_errors_fall_over_the_stiffness(robot: Robot, h: float) -> None:
    loop = Loop(robot, "computed torque", h, mass_error=E)
    for _ in range(round(0.8 / h)):
        error = loop.step()
    weight = holding(loop.model, loop.true.q)
    fall = np.linalg.solve(loop.model.inertia(), weight)
    np.testing.assert_allclose(error, E * fall / OMEGA**2, rtol=1e-4, atol=1e-9)


def test_the_spheres_closed_form() -> None:
    loop = Loop(sphere.ROBOT, "computed torque", 1 / 200, mass_error=E)
    errors = [abs(float(loop.step()[0])) for _ in range(200)]
    assert errors[-1] == pytest.approx(E * G / OMEGA**2, rel=1e-4)


@pytest.mark.parametrize("robot", [sphere.ROBOT, yumi.ROBOT], ids=lambda robot: robot.name)
@pytest.mark.parametrize("h", [1 / 200, 1 / 2000])
def test_with_a_true_model_computed_torque_makes_no_error(robot: Robot, h: float) -> None:
    loop = Loop(robot, "computed torque", h)
    worst = max(np.abs(loop.step(0.05 * (1 - math.cos(4 * k * h)))).max() for k in range(1, round(0.5 / h)))
    assert worst < 1e-12


def test_as_fast_as_its_step_computed_torque_is_the_control_simulation() -> None:
    """With ω = 1/h and ζ = 1/2 the force is the one that takes the model to q_d in one step (S1, 4.1)."""
    h, random = 1 / 200, np.random.default_rng(2)
    arm = Arm(yumi.ROBOT.mjcf)
    law, simulation = ComputedTorque(arm, 1 / h, 0.5), ControlSimulation(arm, np.zeros(arm.n))
    for _ in range(20):
        q, q_r, q_d = (np.array(yumi.ROBOT.home) + 1e-3 * random.standard_normal(arm.n) for _ in range(3))
        v, v_r = (0.1 * random.standard_normal(arm.n) for _ in range(2))
        ours, theirs, reached = np.zeros(arm.n), np.zeros(arm.n), np.zeros(arm.n)
        simulation.force_to(q, v, (q_d - q) / h, h, ours, reached)
        law.force(q, v, q_r, v_r, (q_d - q_r) / h, h, theirs, reached, np.zeros(arm.n))
        np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-9)


def test_a_pid_takes_a_constant_load_back_entirely() -> None:
    """Under a step of acceleration e g a triple pole strays by 2 exp(−2) e g / ω², and comes back."""
    loop = Loop(sphere.ROBOT, "pid", 1 / 2000, mass_error=E)
    errors = [abs(float(loop.step()[0])) for _ in range(3000)]
    # The low pass of the derivative and the plant's own greater mass make it a little more.
    assert max(errors) == pytest.approx(2 * math.exp(-2) * E * G / OMEGA**2, rel=0.15)
    assert errors[-1] < 1e-8


def test_a_pids_lag_behind_an_accelerating_set_point() -> None:
    """The derivative is on the measurement: it brakes what the set point asks for, by K_d a, and K_i takes it up."""
    h, a = 1 / 2000, 0.1
    loop = Loop(sphere.ROBOT, "pid", h)
    for k in range(1, 2000):
        error = loop.step(a * (k * h) ** 2 / 2)
    assert float(error[0]) == pytest.approx((1 + 2 * DAMPING_RATIO) * a / OMEGA**2, rel=0.01)


def spreads(law: str, h: float) -> tuple[float, float]:
    """The standard deviations of force (N/m) and true error per that of the measurement's noise, once settled."""
    noise = 1e-6
    loop, seen = Loop(sphere.ROBOT, law, h, noise=noise), []
    for _ in range(4000):
        error = float(loop.step()[0])
        seen.append((float(loop.tau[0]), error))
    force, error = np.std(seen[1000:], axis=0) / noise
    return float(force), float(error)


def test_a_pid_passes_on_finite_noise_however_small_the_step() -> None:
    """No more than K_p and the low-passed derivative's K_d/T give, at any step."""
    pid = Loop(sphere.ROBOT, "pid", 1 / 200).pid
    bound = float(pid.Kp[0]) + float(pid.Kd[0]) * FILTER_RATIO * OMEGA
    for h in (1 / 200, 1 / 2000, 1 / 8000):
        assert 0.05 * bound < spreads("pid", h)[0] < bound


@pytest.mark.parametrize("h", [1 / 200, 1 / 2000])
def test_the_control_simulation_passes_on_noise_as_the_step_to_the_minus_two(h: float) -> None:
    """An error is −2 n₋ + n₋₋ of the last noises n, and the force its second difference over h²: √5 σ, √46 σ m/h²."""
    force, error = spreads("control simulation", h)
    assert force == pytest.approx(math.sqrt(46) / h**2, rel=0.05)
    assert error == pytest.approx(math.sqrt(5), rel=0.05)


def test_computed_torque_passes_on_noise_as_the_step_to_the_minus_one() -> None:
    """Its velocity is the difference of two measurements: K_v √2 σ / h where that is the greatest part."""
    h = 1 / 8000
    expected = 2 * DAMPING_RATIO * OMEGA * math.sqrt(2) / h
    assert spreads("computed torque", h)[0] == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("law", ["computed torque", "pid"])
@pytest.mark.parametrize("robot", [lab.ROBOT, packbot.ROBOT], ids=lambda robot: robot.name)
def test_the_default_tuning_is_stable_with_every_robot_at_the_coarse_step(robot: Robot, law: str) -> None:
    """A displaced arm comes home: what is left after a second is a part of what it began with."""
    loop = Loop(robot, law, 1 / 200)
    loop.true.q += 0.01
    errors = [float(np.abs(loop.step()).max()) for _ in range(300)]
    assert max(errors) < 0.1
    assert max(errors[-20:]) < 1e-3


def test_a_pid_at_its_limit_does_not_wind_up() -> None:
    """Held against a stop for a second, it turns round as soon as the error does."""
    pid = JointPid(np.ones(1), np.full(1, 5.0), OMEGA, DAMPING_RATIO, FILTER_RATIO)
    memory, tau, rest, whole = PidMemory(np.zeros(1), np.zeros(1)), np.zeros(1), np.zeros(1), np.zeros(1)
    for _ in range(200):
        pid.force(memory, np.full(1, 0.1), rest, 1 / 200, tau, whole)
        assert tau[0] == 5.0
    assert abs(memory.integral[0]) <= 5.0
    pid.force(memory, np.full(1, -0.01), rest, 1 / 200, tau, whole)
    assert tau[0] == -5.0


def test_a_pid_leaves_a_failed_joint_alone() -> None:
    pid = JointPid(np.ones(2), np.full(2, np.inf), OMEGA, DAMPING_RATIO, FILTER_RATIO)
    memory, tau, zero = PidMemory(np.zeros(2), np.zeros(2)), np.zeros(2), np.zeros(2)
    pid.force(memory, np.full(2, 0.1), zero, 1 / 200, tau, np.array([0.0, Fault.LOOSE]))
    assert tau[0] > 0.0
    assert (tau[1], memory.integral[1]) == (0.0, 0.0)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan])
def test_a_tuning_that_cannot_be_is_named(wrong: float) -> None:
    arm = Arm(sphere.ROBOT.mjcf)
    with pytest.raises(ValueError, match="natural_frequency"):
        ComputedTorque(arm, wrong, 1.0)
    with pytest.raises(ValueError, match="filter_ratio"):
        JointPid(np.ones(1), np.ones(1), 1.0, 1.0, wrong)
