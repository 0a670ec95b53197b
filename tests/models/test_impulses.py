"""Impulses of contact by events: Newton's restitution, momentum through the inertia matrix, and energy."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simloop.fmus.export import instantiate
from simloop.master import Locate, ObjectComponent, System, run
from simloop.models.arm import Arm, Vector
from simloop.models.clearance import Clearance, count_pairs
from simloop.models.contact import SLOWEST_BOUNCE, EventContact, no_contacts
from simloop.models.faults import Fault
from simloop.models.plant import RobotPlant, robot_at_rest

from tests.fmus.test_plant import FALLING
from tests.fmus.test_plant import ROBOT as FALLING_ROBOT
from tests.models.cone import residual_of_cone

SEEDS = st.integers(0, 2**32 - 1)
# An impulse is wanted alone: a step so short that nothing else happens in it, s.
INSTANT = 1e-12


def random_arm(random: np.random.Generator, links: int) -> str:
    """Boxes of random size and mass about random axes, and a ball at the end of the last."""
    inner = '<geom name="ball" type="sphere" size="0.05" pos="0.3 0 0" mass="0.2"/>'
    for i in reversed(range(links)):
        axis, place = random.standard_normal(3), random.uniform(0.1, 0.4, 3)
        size, mass = random.uniform(0.02, 0.2, 3), random.uniform(0.2, 3.0)
        inner = (
            f'<body name="link{i}" pos="{_text(place)}"><joint name="joint{i}" axis="{_text(axis)}" armature="0.01"/>'
            f'<geom type="box" size="{_text(size)}" pos="{_text(0.5 * place)}" mass="{mass}" contype="0" '
            f'conaffinity="0"/>{inner}</body>'
        )
    return f'<mujoco><option gravity="0 0 0"/><worldbody><!-- wall -->{inner}</worldbody></mujoco>'


def _text(vector: Vector) -> str:
    return " ".join(repr(float(x)) for x in vector)


@dataclass
class Touch:
    """An arm whose ball touches a wall at q, 0.1 nm deep; `row` is the distance's gradient."""

    mjcf: str
    q: Vector
    row: Vector
    M: Vector


def touch(random: np.random.Generator, links: int) -> Touch:
    bare, q = random_arm(random, links), random.uniform(-1.5, 1.5, links)
    arm = Arm(bare)
    arm.kinematics(q)
    normal = random.standard_normal(3)
    normal /= np.linalg.norm(normal)
    ball = arm.data.geom("ball").xpos
    # The wall is a ball too, so that its place says where its normal points.
    wall = f'<geom name="wall" type="sphere" size="0.5" pos="{_text(ball + normal * (0.55 - 1e-10))}"/>'
    mjcf = bare.replace("<!-- wall -->", wall)
    arm = Arm(mjcf)
    clearance = Clearance(arm)
    clearance.update(q)
    assert clearance.distance == pytest.approx(-1e-10, abs=1e-13)
    return Touch(mjcf, q, clearance.gradient().copy(), arm.inertia().copy())


def strike(t: Touch, v: Vector, restitution: float, fault: Vector | None = None) -> Vector:
    """Velocities after the impulse."""
    n = len(t.q)
    plant, nothing = RobotPlant(t.mjcf, contact="events", restitution=restitution), np.zeros(n)
    state = robot_at_rest(t.q, count_pairs(Arm(t.mjcf)))
    state.moves.v[:n] = v
    plant.look(state, 0.0)
    plant.step(state, nothing, nothing, nothing if fault is None else fault, nothing, 0.0, INSTANT)
    assert state.contacts.impacts == 1
    return state.moves.v[:n].copy()


def closing(random: np.random.Generator, t: Touch) -> Vector:
    """Joint velocities that close the pair at more than a metre a second."""
    v = random.uniform(-3.0, 3.0, len(t.q))
    speed = t.row @ v
    return v - t.row * (max(speed, 0.0) + speed + 1.5) / (t.row @ t.row) if speed > -1.0 else v


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(2, 3), st.floats(0.0, 1.0))
def test_one_contact_parts_with_restitution_times_the_speed_it_closed_with(seed: int, links: int, e: float) -> None:
    random = np.random.default_rng(seed)
    t = touch(random, links)
    v = closing(random, t)
    before = t.row @ v
    after = strike(t, v, e)
    bounce = -e * before if -e * before >= SLOWEST_BOUNCE else 0.0
    assert t.row @ after == pytest.approx(bounce, rel=1e-6, abs=-1e-6 * before)
    impulse = t.M @ (after - v)
    size = impulse @ t.row / (t.row @ t.row)
    assert size > 0.0, "a contact pushes"
    np.testing.assert_allclose(impulse, size * t.row, atol=1e-6 * np.abs(impulse).max())
    lost = 0.5 * v @ t.M @ v - 0.5 * after @ t.M @ after
    # λ (1 − e) of half the closing speed; nothing when e is 1.
    assert lost == pytest.approx(0.5 * size * (-before - bounce), rel=1e-6, abs=1e-6 * (v @ t.M @ v))


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(0, 2))
def test_a_frozen_joint_gets_no_impulse_and_the_others_that_of_the_merged_arm(seed: int, joint: int) -> None:
    random = np.random.default_rng(seed)
    t = touch(random, 3)
    others = np.arange(3) != joint
    if np.abs(t.row[others]).max() < 1e-2:
        return
    v = np.where(others, closing(random, t), 0.0)
    v[others] -= t.row[others] * (max(t.row @ v, 0.0) + t.row @ v + 1.5) / (t.row[others] @ t.row[others])
    fault = np.where(others, 0.0, float(Fault.FROZEN))
    after = strike(t, v, 0.5, fault)
    assert after[joint] == 0.0
    merged, row = t.M[np.ix_(others, others)], t.row[others]
    spread = np.linalg.solve(merged, row)
    np.testing.assert_allclose(
        after[others],
        v[others] - spread * 1.5 * (row @ v[others]) / (row @ spread),
        rtol=1e-6,
        atol=1e-6 * np.abs(v).max(),
    )


class Rows:
    """Pairs that touch with given gradients, in place of a Clearance."""

    def __init__(self, rows: Vector) -> None:
        self.rows = rows

    def near(self, q: Vector, margin: float) -> tuple[Vector, Vector]:
        pairs = np.arange(len(self.rows))
        return pairs, np.full(len(pairs), 2e-6)

    def meet(self, pair: int) -> tuple[float, Vector]:
        return 0.0, self.rows[pair]


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.integers(2, 3), st.integers(1, 5), st.sampled_from([0.0, 0.3, 0.9, 1.0]))
def test_many_contacts_at_once_close_no_more_and_give_no_energy(seed: int, links: int, pairs: int, e: float) -> None:
    """Some pairs touch, some are held, some of them part already."""
    random = np.random.default_rng(seed)
    arm = Arm(random_arm(random, links))
    rows = random.standard_normal((pairs, links))
    # A velocity that parts all pairs must exist, or they clamp the arm.
    out = random.standard_normal(links)
    rows *= np.sign(rows @ out)[:, None]
    v = random.uniform(-3.0, 3.0, links)
    contacts = no_contacts(pairs)
    contacts.held[:] = random.random(pairs) < 0.3
    contacts.touching[:] = (random.random(pairs) < 0.8) * (1.0 - contacts.held)
    contacts.touching[0], contacts.held[0] = 1.0, 0.0
    acting = np.flatnonzero(contacts.touching + contacts.held)
    q = random.uniform(-1.0, 1.0, links)
    state = arm.state_at(q, v)
    contact = EventContact(arm, Rows(rows), e)  # type: ignore[arg-type]
    contact._strike(contacts, state, 0.0)
    arm.kinematics(q)
    M = arm.inertia()
    assert (rows[acting] @ state.v).min() >= -1e-6, "no pair closes"
    before, after = 0.5 * v @ M @ v, 0.5 * state.v @ M @ state.v
    assert after <= before * (1.0 + 1e-6) + 1e-9
    # The change is one of impulses that push: M Δv is a combination of the rows with no negative part.
    impulse = M @ (state.v - v)
    residual = np.linalg.norm(residual_of_cone(rows[acting].T, impulse))
    assert residual <= 1e-6 * max(1.0, float(np.linalg.norm(impulse)))


def energy_of_a_fall(mjcf: str, e: float, step: str) -> Vector:
    """J, at each step of an arm that falls on the floor: bounces, slides, and for a while lies there."""
    system = System([ObjectComponent("plant", instantiate("plant", replace(FALLING_ROBOT, mjcf=mjcf)))])
    for name, value in {"tau": 0.0, "f_ext": 0.0, "contact": "events", "restitution": e}.items():
        system.set(f"plant.{name}", value)
    result = run(system, (Locate("plant", "gap", 1e-12),), step=step, duration="1")
    assert result["plant.impacts"][-1] > 2
    arm = Arm(mjcf)
    moves = zip(result.vector("plant.q_true"), result.vector("plant.v"), strict=True)
    return np.array([arm.energy(arm.state_at(q, v)) for q, v in moves])


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_an_arm_that_falls_on_the_floor_never_gains_energy(e: float) -> None:
    """Its damping is a fiftieth of a N·m·s; the tolerance is the weight lifted by 1e-9 m."""
    assert np.diff(energy_of_a_fall(FALLING, e, "1/200")).max() < 2e-8


FRICTIONLESS = FALLING.replace('damping="0.02"', "")


def test_with_restitution_1_and_no_damping_the_energy_stays() -> None:
    energy = energy_of_a_fall(FRICTIONLESS, 1.0, "1/200")
    np.testing.assert_allclose(energy, energy[0], atol=1e-5)


def test_what_a_held_contact_gains_without_any_damping_falls_with_the_step() -> None:
    """A step with a held pair is of first order."""
    coarse, fine = (np.diff(energy_of_a_fall(FRICTIONLESS, 0.0, step)) for step in ("1/200", "1/2000"))
    assert fine[fine > 0.0].sum() < 0.2 * coarse[coarse > 0.0].sum()
