"""Contact by events: when it happens, what the impulse does, and what holds afterwards."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from simloop.fmus.export import instantiate
from simloop.master import Locate, ObjectComponent, System, TimedWrite, run
from simloop.models.arm import Arm
from simloop.models.clearance import Clearance, count_pairs
from simloop.models.contact import RECOVERY_SPEED
from simloop.models.plant import RobotPlant, robot_at_rest
from simloop.models.robot import Box, Robot, scene_mjcf
from simloop.models.robots.sphere import ROBOT as SPHERE

FLOOR = Box("floor", centre=(0.0, 0.0, -0.6), half_size=(1.0, 1.0, 0.1))  # its top at z = -0.5 m
# A bounce carries the error of the last one on, about four times as large, for it is half as fast.
LOCATED, TOLERANCE = 1e-12, 1e-9


def fall(robot: Robot, obstacle: Box, seconds: str, step: str, restitution: float) -> dict[str, np.ndarray]:
    """A robot with no force on it, in contact mode `events`, run by the master."""
    system = System()
    system.add(ObjectComponent("plant", instantiate("plant", robot, (obstacle,))))
    system.set("plant.contact", "events")
    system.set("plant.restitution", restitution)
    system.set("plant.tau", 0.0)
    system.set("plant.f_ext", 0.0)
    result = run(system, (Locate("plant", "gap", LOCATED),), step=step, duration=seconds)
    return result.columns


@pytest.mark.parametrize("step", ["1/200", "1/2000"])
def test_a_bouncing_sphere_touches_when_the_closed_form_says(step: str) -> None:
    """Dropped by d it touches at √(2 d / g), and with restitution e each flight is e times as long as the last."""
    e, d, g = 0.5, 0.4, 9.82
    columns = fall(SPHERE, FLOOR, "1", step, e)
    first = math.sqrt(2 * d / g)
    expected = [first]
    for k in range(1, 6):
        expected.append(expected[-1] + 2 * first * e**k)
    times = np.unique(columns["plant.impact_time"])
    touched = [t for t in times if t > 0.0][: len(expected)]
    assert len(touched) > 4
    np.testing.assert_allclose(touched, expected[: len(touched)], rtol=0.0, atol=TOLERANCE)


def test_without_restitution_the_sphere_stays_where_it_fell() -> None:
    columns = fall(SPHERE, FLOOR, "1", "1/200", 0.0)
    after = columns["time"] > 0.3
    np.testing.assert_allclose(columns["plant.q_true[1]"][after], -0.4, atol=1e-8)
    assert columns["plant.impacts"][-1] == 1
    assert columns["plant.second_intersections"][-1] == 0


LINK = Robot(
    "link",
    """<mujoco><option gravity="0 0 -9.81"/><worldbody><body name="link">
    <joint name="hinge" axis="0 1 0"/><geom name="rod" type="box" size="0.25 0.01 0.01" pos="0.25 0 0" mass="1"/>
    <site name="tip" pos="0.5 0 0"/></body></worldbody></mujoco>""",
    ("tip",),
    (0.0,),
)


def test_a_swinging_link_hits_a_plane_when_its_pendulum_equation_says() -> None:
    """The lower corner at (0.5, −0.01) reaches the plane at z = −0.3."""
    plane = Box("plane", centre=(0.0, 0.0, -0.4), half_size=(1.0, 1.0, 0.1))
    columns = fall(LINK, plane, "0.5", "1/2000", 0.0)
    touched = columns["plant.impact_time"].max()
    inertia = 1.0 * ((0.5**2 + 0.02**2) / 12 + 0.25**2)

    def corner(t: float, y: np.ndarray) -> float:
        return float(-0.5 * math.sin(y[0]) - 0.01 * math.cos(y[0]) + 0.3)

    corner.terminal = True  # type: ignore[attr-defined]
    swing = solve_ivp(
        lambda t, y: [y[1], 9.81 * 0.25 * math.cos(y[0]) / inertia],
        (0.0, 1.0),
        [0.0, 0.0],
        events=corner,
        rtol=1e-12,
        atol=1e-13,
        method="DOP853",
    )
    assert touched == pytest.approx(swing.t_events[0][0], abs=TOLERANCE)
    np.testing.assert_allclose(columns["plant.v[1]"][-1], 0.0, atol=1e-6)


TWO_LINKS = """<mujoco><option gravity="0 0 0"/><worldbody>
<body name="first"><joint name="a" axis="0 1 0"/><geom type="box" size="0.2 0.02 0.02" pos="0.2 0 0" mass="1"/>
<body name="second" pos="0.4 0 0"><joint name="b" axis="0 1 0"/>
<geom name="finger" type="box" size="0.15 0.02 0.02" pos="0.15 0 0" mass="0.5"/><site name="tip" pos="0.3 0 0"/></body>
</body></worldbody></mujoco>"""


def test_only_the_motion_along_the_normal_is_taken() -> None:
    """S2, 3.4: the first joint turns away from the plane and the second, faster, into it. Stopping both in the
    direction they had, as the report did, limits the first one wrongly. Here the change is M⁻¹ Jᵀ times one impulse,
    the tip no longer closes, and the first joint may go on as it went."""
    floor = Box("floor", centre=(0.5, 0.0, -0.1205), half_size=(1.0, 1.0, 0.1))
    robot = Robot("two", TWO_LINKS, ("tip",), (0.0, 0.0))
    mjcf = scene_mjcf(robot, (floor,))
    plant, arm = RobotPlant(mjcf, contact="events"), Arm(mjcf)
    # The lower corner of the fingertip is 0.1 nm inside the floor.
    bent = brentq(lambda b: 0.3 * math.sin(b) + 0.02 * math.cos(b) - 0.0205 - 1e-10, 0.0, 0.1, xtol=1e-15)
    q, before = np.array([0.0, bent]), np.array([-0.5, 3.0])
    state = robot_at_rest(q, count_pairs(arm))
    state.moves.v[:2] = before
    plant.look(state, 0.0)
    assert plant.gap == pytest.approx(-1e-10, abs=1e-13)
    row, nothing = _gradient(mjcf, q), np.zeros(2)
    assert row @ before < 0.0, "the tip closes"
    assert row[0] * before[0] > 0.0, "the first joint, by itself, would open"
    plant.step(state, nothing, nothing, nothing, nothing, 0.0, 1e-9)
    after = state.moves.v[:2]
    arm.kinematics(q)
    impulse = arm.inertia() @ (after - before)
    np.testing.assert_allclose(row @ after, 0.0, atol=1e-6)
    np.testing.assert_allclose(impulse / impulse[1], row / row[1], rtol=1e-5)
    # Held, the pair limits neither joint by itself: both turn on, one up and one down, along the floor.
    assert after[0] < 0.0 < after[1]


def test_a_held_pair_that_entered_all_the_same_is_told_once_a_step_with_the_deepest_and_its_time() -> None:
    """Nothing in a run makes one; here the sphere is put there by hand."""
    mjcf = scene_mjcf(SPHERE, (FLOOR,))
    plant, state = RobotPlant(mjcf, contact="events"), robot_at_rest(np.array([-0.4]), count_pairs(Arm(mjcf)))
    state.contacts.held[:] = 1.0
    for depth, time in ((1e-9, 0.1), (2e-4, 0.2), (1e-3, 0.3), (5e-4, 0.4)):
        state.moves.q[0] = -0.4 - depth
        plant.look(state, time)
    told = state.contacts
    assert told.second_intersections == 3, "a depth of 1e-9 m is where a pair is held"
    assert told.second_depth == pytest.approx(1e-3, rel=1e-9)
    assert told.second_time == 0.3


def test_a_held_pair_is_released_when_it_would_pull() -> None:
    """A sphere that lies on the floor and is lifted goes up as if there had been no floor."""
    system = System([ObjectComponent("plant", instantiate("plant", SPHERE, (FLOOR,)))])
    for name, value in {"contact": "events", "tau": 0.0, "f_ext": 0.0}.items():
        system.set(f"plant.{name}", value)
    lift = [TimedWrite(Fraction(1, 2), "plant.tau[1]", 9.82 + 3.0)]
    columns = run(system, (Locate("plant", "gap", LOCATED),), step="1/200", duration=1, writes=lift).columns
    time, q = columns["time"], columns["plant.q_true[1]"]
    after = time >= 0.5
    # 3 m/s² for 1 kg; the step in which it is still held is of first order.
    np.testing.assert_allclose(q[after] + 0.4, 1.5 * (time[after] - 0.5) ** 2, atol=0.01)
    assert columns["plant.held"][time == 0.5] == 1
    assert columns["plant.held"][-1] == 0


def test_a_host_that_cannot_go_back_sees_no_more_than_one_steps_way_of_penetration() -> None:
    """Stepped without location, the sphere is v h deep at most, and is held from there on, not thrown out."""
    h = 1 / 200
    unit = instantiate("plant", SPHERE, (FLOOR,))
    unit.set_text("contact", "events")
    unit.exit_initialization_mode()
    heights, speeds = [], []
    for k in range(200):
        unit.do_step(k * h, h)
        heights.append(float(unit.view("q_true")[0]))
        speeds.append(float(unit.view("v")[0]))
    fastest = math.sqrt(2 * 9.82 * 0.4)
    assert -0.4 - fastest * h <= min(heights) < -0.4
    assert max(speeds) <= RECOVERY_SPEED * (1 + 1e-9)
    assert heights[-1] == pytest.approx(-0.4, abs=0.01)


ROCKING = """<mujoco><option gravity="0 0 -9.81"/><worldbody><body>
<joint name="lift" type="slide" axis="0 0 1"/><joint name="tilt" axis="0 1 0"/>
<geom name="board" type="box" size="0.2 0.1 0.01" mass="1"/><site name="tip"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("tilt", [0.001, 0.02])
def test_a_board_that_rocks_on_its_edges_does_not_sink(tilt: float) -> None:
    """One edge strikes as the other rises, faster and faster: the pair does not come out between two bounces."""
    columns = fall(Robot("board", ROCKING, ("tip",), (-0.48, tilt)), FLOOR, "0.5", "1/200", 0.9)
    height, turn = columns["plant.q_true[1]"], columns["plant.q_true[2]"]
    lowest = height - 0.2 * np.abs(np.sin(turn)) - 0.01 * np.cos(turn)
    assert columns["plant.impacts"][-1] > 10
    assert lowest.min() > -0.5 - 1e-8


def _gradient(mjcf: str, q: np.ndarray) -> np.ndarray:
    """Of the distance between finger and floor, by finite differences."""
    clearance, d = Clearance(Arm(mjcf)), 1e-7
    rows = []
    for i in range(len(q)):
        there = []
        for sign in (1.0, -1.0):
            moved = q.copy()
            moved[i] += sign * d
            clearance.update(moved)
            there.append(clearance.distance)
        rows.append((there[0] - there[1]) / (2 * d))
    return np.array(rows)
