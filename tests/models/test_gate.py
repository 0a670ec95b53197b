"""The gates: S3's figures by its points and by polyhedra, and the way a move is walked."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simloop.models.arm import Arm, Vector
from simloop.models.clearance import Clearance
from simloop.models.gate import ClearanceGate, Gate, direct_motors, grant_step, load_gate, walk
from simloop.models.lab_gate import GATE, INTERVALS, MOTORS, UNITS, enclosed_angle, points
from simloop.models.robot import Box, scene_mjcf
from simloop.models.robots.lab import ROBOT
from simloop.models.robots.sphere import ROBOT as SPHERE

ARM = Arm(ROBOT.mjcf)
POLYHEDRA = ClearanceGate(ARM, motors=MOTORS)
STEP = MOTORS.each(math.radians(1.0), 1e-3)

# S3, section 3.2, recomputed in whole degrees: from where, with which motor, to which command, and the last legal
# position. Step 9 prints 57: there the enclosed angle is 67.000°, and S3 asks for 1.1694 rad, 67.002°.
BORDERS = [
    ((0, 0, 0, 0, 0, 0), 3, 150, 112, "segment 2"),
    ((0, 119, 141, 90, 0, 0), 4, 0, 74, "floor"),
    ((0, 119, 141, 90, 0, 0), 4, 180, 90, "floor"),
    ((0, 90, 141, 90, 0, 0), 3, 180, 170, "socket"),
    ((0, 90, 170, 90, 0, 0), 4, 0, 58, "segment 2"),
    ((0, 90, 170, 90, 0, 0), 4, 180, 117, "floor"),
]


def go(gate: Gate, start: tuple[float, ...], motor: int, to: float) -> tuple[float, str]:
    wanted = np.array(start, dtype=float)
    wanted[motor - 1] = to
    m, verdict = walk(gate, np.array(start) * UNITS, wanted * UNITS, STEP)
    m /= UNITS
    others = np.arange(6) != motor - 1
    np.testing.assert_allclose(m[others], np.array(start)[others], atol=1e-9)
    return float(m[motor - 1]), verdict.rule


@pytest.mark.parametrize(("start", "motor", "to", "last", "rule"), BORDERS)
def test_a_move_ends_where_s3_says(start: tuple[float, ...], motor: int, to: float, last: float, rule: str) -> None:
    reached, broken = go(GATE, start, motor, to)
    assert (round(reached, 9), broken) == (last, rule)


@pytest.mark.parametrize(("start", "motor", "to", "last", "rule"), BORDERS)
def test_the_polyhedra_of_the_same_arm_agree_within_2_degrees(
    start: tuple[float, ...], motor: int, to: float, last: float, rule: str
) -> None:
    reached, broken = go(POLYHEDRA, start, motor, to)
    assert reached == pytest.approx(last, abs=2.0)
    assert rule.split()[0] in broken


# Step 4 prints motor 5 at 90° where it means motor 2.
SEQUENCE = [(0, 0, 90, 0, 0, 0), (0, 0, 90, 90, 0, 0), (0, 90, 90, 90, 0, 0), (0, 119, 141, 90, 0, 0)]
SEQUENCE += [(0, 90, 141, 90, 0, 0), (0, 90, 170, 90, 0, 0)]


@pytest.mark.parametrize("gate", [GATE, POLYHEDRA], ids=["analytic", "polyhedra"])
def test_the_sequence_can_be_walked(gate: Gate) -> None:
    m = np.zeros(6)
    for target in SEQUENCE:
        m, verdict = walk(gate, m, np.array(target) * UNITS, STEP)
        assert verdict.allowed
        np.testing.assert_array_equal(m, np.array(target) * UNITS)


def test_the_polyhedra_stand_where_the_points_are() -> None:
    """Socket and segments are the MJCF's, so are P_1, P_2 and the tool, which is P_3; motor 1 only turns the plane."""
    rng = np.random.default_rng(3)
    low, high = np.array(INTERVALS, dtype=float).T
    for m in rng.uniform(low, high, size=(50, 6)):
        ARM.kinematics(MOTORS.joints(m * UNITS))
        P = 1e-3 * np.array(points(*np.radians(m[1:4])))
        plane = np.array([math.cos(math.radians(m[0])), math.sin(math.radians(m[0]))])
        data = ARM.data
        found = [data.body("segment1").xpos, data.body("segment2").xpos, data.body("wrist").xpos]
        for place, (x, z) in zip([*found, data.site("tool").xpos], P[:4], strict=True):
            np.testing.assert_allclose(place, [*(x * plane), z], atol=1e-12)


def printed_distance(P: Vector, i: int) -> float:
    """S3's own way to d_1i, through the line's axis intercepts."""
    (x_0, y_0), (x_1, y_1) = P[0], P[1]
    a = (x_1 * y_0 - x_0 * y_1) / (y_0 - y_1)
    b = (x_1 * y_0 - x_0 * y_1) / (x_1 - x_0)
    slope = math.atan(b / a)
    phi, p = math.pi / 2 - slope, a * math.sin(slope)
    return abs(float(P[i, 0] * math.cos(phi) + P[i, 1] * math.sin(phi) - p))


def allowed_as_printed(m: Vector) -> bool:
    """S3, section 2, formula by formula, where its divisions can be done."""
    a_1, a_2, a_3 = np.radians(m[1:4])
    P = np.array(points(a_1, a_2, a_3))
    above = all((360 if -110 <= x <= 110 else 0) < y for x, y in P[1:])
    folded = min(abs(math.pi - (a_2 - a_3)), abs(math.pi - (a_3 - a_2))) >= 1.1694
    (x_0, y_0), (x_1, y_1) = P[0], P[1]
    near = [
        i
        for i in range(2, 11)
        if (x_0 - 35 < P[i, 0] < x_1 + 35 or x_1 - 35 < P[i, 0] < x_0 + 35)
        and (y_0 < P[i, 1] < y_1 or y_1 < P[i, 1] < y_0)
    ]
    return above and folded and all(printed_distance(P, i) >= 35 for i in near)


@settings(max_examples=300, deadline=None)
@given(st.integers(-21, 120), st.integers(-180, 180), st.integers(-360, 360))
def test_the_gate_says_what_the_printed_formulas_say(m2: int, m3: int, m4: int) -> None:
    """Everywhere but at the formulas' own gaps: an upright or level segment 1, and angles more than 2π apart."""
    m = np.array([0, m2, m3, m4, 0, 0], dtype=float)
    if m2 in (0, 90) or abs(m3 - m4) > 360:
        return
    assert GATE.check_motors(m).allowed == allowed_as_printed(m)


def test_a_gripper_folded_back_by_a_turn_and_a_half_is_refused() -> None:
    """At (20, 155, −360) 25° are enclosed; the printed formula, made for angles within 2π, would say 335°."""
    assert enclosed_angle(math.radians(155), math.radians(-360)) == pytest.approx(math.radians(25))
    m = np.array([0, 20, 155, -360, 0, 0])
    assert allowed_as_printed(m)
    assert GATE.check_motors(m).rule == "segment 2"
    assert POLYHEDRA.check(MOTORS.joints(m * UNITS)).rule == "segment2_left against head"


def test_a_refusal_names_the_point() -> None:
    tail, corner = (GATE.check_motors(np.array([0, 119, 141, m4, 0, 0])) for m4 in (73, 91))
    assert ("P7" in tail.reason, "P5" in corner.reason) == (True, True)
    # The tail's end is 220 sin 130° − 145 sin 110° = 32.3 mm before an upright segment 1.
    near = GATE.check_motors(np.array([0, 0, 130, 110, 0, 0]))
    assert near.rule == "segment 1"
    assert "P4 is 32.3 mm" in near.reason


@pytest.mark.parametrize("gate", [GATE, POLYHEDRA], ids=["analytic", "polyhedra"])
@pytest.mark.parametrize("motor", range(1, 7))
def test_the_ends_of_table_1_are_in_and_a_step_further_is_out(gate: Gate, motor: int) -> None:
    # Level gripper, all links clear of each other; then every motor but 2 and 3 can go to its ends from there.
    clear = np.array([0, 0, 60, 60, 0, 0], dtype=float)
    for end, outward in zip(INTERVALS[motor - 1], (-1, 1), strict=True):
        m = clear.copy()
        m[motor - 1] = end
        inside = gate.check(MOTORS.joints(m * UNITS))
        m[motor - 1] += outward
        outside = gate.check(MOTORS.joints(m * UNITS))
        assert outside.rule == f"motor {motor}"
        assert inside.rule != f"motor {motor}"


@settings(max_examples=10, deadline=None)
@given(st.integers(-21, 120), st.integers(-180, 180), st.integers(-360, 360))
def test_a_jump_goes_one_motor_and_one_step_at_a_time_and_never_through_the_illegal(m2: int, m3: int, m4: int) -> None:
    wanted = np.array([10, m2, m3, m4, 20, 5]) * UNITS
    m, turn = np.zeros(6), 0
    end, _ = walk(GATE, m, wanted, STEP)
    for _ in range(1000):
        grant = grant_step(GATE, m, wanted, STEP, turn)
        if grant.motor < 0:
            break
        before = m.copy()
        m[grant.motor] = grant.target
        turn = (grant.motor + 1) % 6
        assert np.count_nonzero(m - before) == 1
        assert (np.abs(m - before) <= STEP + 1e-9).all()
        assert GATE.check(MOTORS.joints(m)).allowed
    np.testing.assert_array_equal(m, end)
    assert not grant.verdict.allowed or np.array_equal(m, wanted)


def test_any_arm_has_a_gate_by_its_polyhedra_and_joint_ranges() -> None:
    """The sphere of radius 0.1 m stops a margin below a plane at 0.6 m, gone in steps of 1 mm from 0."""
    arm = Arm(scene_mjcf(SPHERE, (Box("plane", (0.0, 0.0, 0.65), (0.5, 0.5, 0.05)),)))
    gate = ClearanceGate(arm, margin=0.0205)
    m, verdict = walk(gate, np.zeros(1), np.array([2.0]), np.array([1e-3]))
    assert m[0] == pytest.approx(0.479, abs=1e-9)
    assert verdict.rule == "sphere against plane"
    limited = Arm(SPHERE.mjcf.replace('type="slide"', 'type="slide" range="-0.2 0.3"'))
    assert direct_motors(limited).check(np.array([0.301])).rule == "motor 1"
    assert not ClearanceGate(limited).check(np.array([-0.201])).allowed
    with pytest.raises(ValueError, match="margin"):
        ClearanceGate(arm, margin=-1.0)


def test_a_verdict_does_not_depend_on_what_was_asked_before() -> None:
    rng = np.random.default_rng(1)
    low, high = np.array(INTERVALS, dtype=float).T
    asked = [MOTORS.joints(m * UNITS) for m in rng.uniform(low, high, size=(100, 6))]
    forth = [POLYHEDRA.check(q) for q in asked]
    back = [POLYHEDRA.check(q) for q in reversed(asked)]
    assert forth == back[::-1]
    fresh = Clearance(ARM)
    fresh.update(asked[-1])
    assert (fresh.distance > 0.0) == forth[-1].allowed or "motor" in forth[-1].rule


def test_a_gate_is_found_by_its_module() -> None:
    assert load_gate(ROBOT.gate) is GATE
    for wrong in ("nothing", "arm", "os.path", ""):
        with pytest.raises(ValueError, match="no gate"):
            load_gate(wrong)
