"""A gated command never leaves the legal, passes what is smooth, and turns a jump into steps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simloop.models.arm import Vector
from simloop.models.gate import ALLOWED, Motors, Verdict
from simloop.models.gated_motion import GatedMotion, hold_at
from simloop.models.lab_gate import GATE, INTERVALS, MOTORS, UNITS

H = 1 / 200
STEP = MOTORS.each(math.radians(1.0), 1e-3)
SPEED = MOTORS.each(math.radians(40.0), 0.05)


class Strip:
    """A gate of two slides whose sum may be anything but what `wall` encloses."""

    def __init__(self, wall: tuple[float, float]) -> None:
        self.motors = Motors(np.eye(2), np.full(2, -10.0), np.full(2, 10.0), (True, True))
        self._wall = wall

    def check(self, q: Vector) -> Verdict:
        return Verdict("wall", "in the wall") if self._wall[0] < q.sum() < self._wall[1] else ALLOWED


def test_a_jump_takes_the_time_of_its_steps_and_moves_one_motor_at_a_time() -> None:
    gate = Strip((5.0, 6.0))
    motion = GatedMotion(gate, np.full(2, 0.5), np.full(2, 1.0))
    progress = hold_at(np.zeros(2), gate.motors)
    places = [progress.m.copy()]
    for _ in range(40):
        verdict = motion.advance(progress, np.array([1.0, 2.0]), progress.m.copy(), 0.125)
        places.append(progress.m.copy())
    moved = np.diff(places, axis=0)
    assert (np.count_nonzero(moved, axis=1) <= 1).all()
    assert np.flatnonzero(moved.any(axis=1)).max() == 3.0 / 0.125 - 1
    assert places[-1].tolist() == [1.0, 2.0]
    assert verdict == ALLOWED
    # In turn, half a unit each, until the first motor is there.
    assert [p.tolist() for p in places[:17:4]] == [[0, 0], [0.5, 0], [0.5, 0.5], [1.0, 0.5], [1.0, 1.0]]


def test_a_refused_command_holds_at_the_last_legal_step_and_comes_back() -> None:
    gate = Strip((0.9, 6.0))
    motion = GatedMotion(gate, np.full(2, 0.25), np.full(2, 1.0))
    progress = hold_at(np.zeros(2), gate.motors)
    for _ in range(10):
        verdict = motion.advance(progress, np.array([3.0, 0.0]), progress.m.copy(), 0.25)
    assert progress.m.tolist() == [0.75, 0.0]
    assert verdict is not None
    assert verdict.rule == "wall"
    for _ in range(10):
        verdict = motion.advance(progress, np.array([0.5, 0.25]), progress.m.copy(), 0.25)
    assert progress.m.tolist() == [0.5, 0.25]
    assert verdict == ALLOWED


def test_a_wall_thinner_than_a_step_is_not_stood_in() -> None:
    """Both ends of the step are legal; the places on the way where a call ends are judged as well."""
    gate = Strip((0.3, 0.4))
    motion = GatedMotion(gate, np.full(2, 1.0), np.full(2, 1.0))
    progress = hold_at(np.zeros(2), gate.motors)
    for _ in range(20):
        verdict = motion.advance(progress, np.array([1.0, 0.0]), progress.m.copy(), 0.0625)
        assert gate.check(progress.m).allowed
    assert progress.m.tolist() == [0.25, 0.0]
    assert verdict is not None
    assert not verdict.allowed


def test_a_smooth_command_passes_as_it_is() -> None:
    """A curve in all motors, each slower than a sixth of the gate's speed."""
    motion = GatedMotion(GATE, STEP, SPEED)
    progress = hold_at(np.zeros(6), MOTORS)
    q = np.zeros(6)
    for k in range(400):
        m = np.array([20, 15, 30, 25, -40, 10]) * UNITS * (1 - math.cos(k * H)) / 4
        wanted = MOTORS.joints(m)
        assert motion.advance(progress, wanted, q, H) == ALLOWED
        q = MOTORS.joints(progress.m)
        np.testing.assert_allclose(q, wanted, atol=1e-15)


def test_a_command_waits_for_a_robot_that_is_more_than_a_step_away() -> None:
    motion = GatedMotion(GATE, STEP, SPEED)
    progress = hold_at(np.zeros(6), MOTORS)
    away = MOTORS.joints(np.array([0, 0, 1.5, 0, 0, 0]) * UNITS)
    wanted = MOTORS.joints(np.array([0, 0, 30, 0, 0, 0]) * UNITS)
    verdict = motion.advance(progress, wanted, away, H)
    assert verdict is not None
    assert verdict.rule == "lag"
    assert "1.5° away from its command at motor 3" in verdict.reason
    assert not progress.m.any()
    assert motion.advance(progress, wanted, 0.5 * away, H) == ALLOWED
    assert progress.m[2] == pytest.approx(math.radians(40) * H)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(*(st.integers(low - 20, high + 20) for low, high in INTERVALS)), min_size=1, max_size=3))
def test_nothing_illegal_comes_out_whatever_is_wanted(commands: list[tuple[int, ...]]) -> None:
    motion = GatedMotion(GATE, STEP, SPEED)
    progress = hold_at(np.zeros(6), MOTORS)
    for command in commands:
        wanted = MOTORS.joints(np.array(command) * UNITS)
        for _ in range(80):
            before = progress.m.copy()
            motion.advance(progress, wanted, MOTORS.joints(before), 0.02)
            assert GATE.check(MOTORS.joints(progress.m)).allowed
            assert np.sum(np.abs(progress.m - before) / SPEED) <= 0.02 + 1e-12
