"""The planner keeps its acceleration and speed, and arrives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simloop.models.arm import Arm, Tools
from simloop.models.braking import braking_speed
from simloop.models.planner import OnlinePlanner, record_table, rest_at
from simloop.models.robots.sphere import ROBOT


def make_planner(
    goal: float, *, a: float = 0.1, cap: float = 1.0, band: float = 0.0, trim: float = 0.0
) -> OnlinePlanner:
    arm = Arm(ROBOT.mjcf)
    goals = np.array([0.0, 0.0, goal])
    return OnlinePlanner(arm, Tools(arm, ROBOT.tools), goals, acceleration=a, max_speed=cap, band=band, trim=trim)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    goal=st.floats(-2.0, 2.0),
    a=st.floats(0.05, 2.0),
    cap=st.floats(0.05, 2.0),
    h=st.sampled_from([1 / 200, 1 / 2000, 1 / 7.3, 0.3, 0.0123]),
)
def test_arrives_within_its_limits_and_never_past_the_goal(goal: float, a: float, cap: float, h: float) -> None:
    longest = abs(goal) / cap + 2 * cap / a + 2 * math.sqrt(abs(goal) / a) + 4 * h
    steps = min(math.ceil(longest / h), 40_000)
    q = record_table(make_planner(goal, a=a, cap=cap), np.zeros(1), h, steps)[:, 0]
    speed = np.diff(q) / h
    change = np.diff(np.concatenate([[0.0], speed])) / h
    if steps < 40_000:
        assert abs(q[-1] - goal) <= 1e-6
        assert speed[-1] == 0.0
    assert np.all(q * np.sign(goal) <= abs(goal))
    assert np.all(np.abs(speed) <= cap * (1 + 1e-9))
    assert np.all(np.abs(change) <= a * (1 + 1e-6) + 1e-12 / h**2)


def test_a_step_takes_the_time_of_constant_acceleration_and_deceleration() -> None:
    h = 1 / 2000
    q = record_table(make_planner(1.0), np.zeros(1), h, 16_000)[:, 0]
    arrival = h * int(np.flatnonzero(q == 1.0)[0])
    assert arrival == pytest.approx(2 * math.sqrt(1.0 / 0.1), abs=3 * h)
    assert np.diff(q).max() / h == pytest.approx(math.sqrt(0.1), rel=1e-3)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(x=st.floats(1e-9, 1e9), a=st.floats(1e-3, 1e3), h=st.floats(1e-5, 1.0))
def test_braking_from_the_greatest_speed_stops_at_the_distance(x: float, a: float, h: float) -> None:
    distance = x * a * h * h
    u = braking_speed(distance, a, h) / (a * h)
    n = math.floor(u)
    covered = (n + 1) * u - n * (n + 1) / 2
    assert covered == pytest.approx(x, rel=1e-9)


def test_a_robot_heavier_than_its_model_still_gets_a_plan_that_arrives() -> None:
    """The law of the loop with mass error e: the velocity reached is v + (v_d − v + g h)/(1 + e) − g h."""
    h, e, g = 1 / 200, 0.1, 9.82
    planner = make_planner(1.0, trim=g)
    q, v = np.zeros(1), np.zeros(1)
    plan = rest_at(q, planner.tools)
    for _ in range(1600):
        planner.step(plan, q, v, h)
        v = v + ((plan.q - q) / h - v + g * h) / (1 + e) - g * h
        q = q + h * v
    assert plan.q[0] == pytest.approx(1.0, abs=1e-6)
    assert q[0] == pytest.approx(1.0 - e * g * h**2, abs=1e-9)


def test_against_a_wall_the_plan_runs_ahead_by_no_more_than_the_trim() -> None:
    h, trim = 1 / 2000, 9.82
    planner = make_planner(1.0, trim=trim)
    q, v = np.array([0.5]), np.zeros(1)
    plan = rest_at(q, planner.tools)
    for _ in range(4000):
        planner.step(plan, q, v, h)
    assert 0.0 < (plan.q[0] - 0.5) / h**2 <= trim + 2 * 0.1 + 1e-9


def test_inside_the_band_the_plan_does_not_follow_the_robot_and_outside_it_does() -> None:
    planner = make_planner(0.5, cap=0.0, band=1e-3)
    plan = rest_at(np.zeros(1), planner.tools)
    planner.step(plan, np.array([9e-4]), np.zeros(1), 0.005)
    assert plan.q[0] == 0.0
    planner.step(plan, np.array([1.1e-3]), np.zeros(1), 0.005)
    assert plan.q[0] == 1.1e-3


@pytest.mark.parametrize(
    ("name", "value"), [("acceleration", 0.0), ("max_speed", -1.0), ("band", -1.0), ("trim", -1.0)]
)
def test_a_limit_that_cannot_be_is_refused_by_name(name: str, value: float) -> None:
    arm = Arm(ROBOT.mjcf)
    limits = {"acceleration": 0.1, "max_speed": 1.0, "band": 0.0, "trim": 0.0, name: value}
    with pytest.raises(ValueError, match=name):
        OnlinePlanner(arm, Tools(arm, ROBOT.tools), np.zeros(3), **limits)
