"""Contact by events (S2, 3.4): a touch is an impulse along its normal, then a constraint on one side that holds.

Between touches an arm flies: its motion is integrated as if nothing were near. A step that ends with a pair inside
each other has gone too far; whoever steps the arm goes back and ends it where the pair touches. The next step begins
with an impulse that resets the velocities, and from there on the pair holds: it may part, but not enter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import daqp
import mujoco
import numpy as np
from simloop.models.arm import Arm, ArmState, Vector
from simloop.models.clearance import Clearance

# A held pair is released when its bodies are farther apart than this, m.
PROXIMITY = 1e-5
# A held pair that is deeper than this, m, has intersected a second time. A touch located to a nanosecond is less deep.
SECOND_INTERSECTION = 1e-8
# A bounce slower than this, m/s, is none: the pair holds.
SLOWEST_BOUNCE = 1e-2
# A pair that has not come out since its last bounce, and is deeper than this, m, bounces no more: it holds.
DEEPEST_REBOUND = 0.25 * SECOND_INTERSECTION
# A pair that begins a step inside each other is driven apart in this time, s, but not faster than this, m/s.
RECOVERY_TIME, RECOVERY_SPEED = 5e-3, 1e-2
# Depths that differ by less, m, are the same.
ROUNDING = 1e-12
# A joint gains less speed than this in a step, m/s or rad/s: what it cannot reach with that is left out.
GAIN = 10.0
# Rounds in which a step with held pairs finds where it ends without entering.
ROUNDS = 20


@dataclass
class Contacts:
    """What is remembered of each pair (arrays of one value a pair) and of the worst that happened.

    `touching` pairs get an impulse when the next step begins. `held` pairs may part but not enter. A pair that has
    bounced begins its flight `grace` m deep at most. A second intersection is a held pair that entered all the same.
    """

    touching: Vector
    held: Vector
    grace: Vector
    impacts: int
    impact_time: float
    second_intersections: int
    second_depth: float
    second_time: float


def no_contacts(pairs: int) -> Contacts:
    return Contacts(np.zeros(pairs), np.zeros(pairs), np.zeros(pairs), 0, 0.0, 0, 0.0, 0.0)


class EventContact:
    """The motion of an arm whose bodies are rigid: `restitution` from 0 (they stay together) to 1 (none is lost)."""

    def __init__(self, arm: Arm, clearance: Clearance, restitution: float) -> None:
        arm.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
        self._arm = arm
        self._clearance = clearance
        self._restitution = restitution
        self.gap = PROXIMITY
        """The distance of the nearest pair that does not hold, m, if it is less than PROXIMITY."""

    def step(self, contacts: Contacts, state: ArmState, force: Vector, h: float, time: float) -> None:
        """Advance by h s from `time`. The step went too far, and has to be made again with a shorter h, if `gap` is
        then less than 0 and its caller wants the instant of the touch."""
        if contacts.touching.any():
            self._strike(contacts, state, time)
        if contacts.held.any():
            self._slide(contacts, state, force, h)
        else:
            self._arm.step(state, force, h)
        self.look(contacts, state.q, time + h)

    def look(self, contacts: Contacts, q: Vector, time: float) -> None:
        """Find `gap` at q, release the held pairs that have parted, and see which pairs touch."""
        near, distances = self._clearance.near(q, PROXIMITY)
        released = contacts.held.astype(bool)
        released[near] = False
        contacts.held[released] = 0.0
        contacts.touching[:] = 0.0
        self.gap = PROXIMITY
        for pair, distance in zip(near, distances, strict=True):
            if contacts.held[pair]:
                if distance < -SECOND_INTERSECTION:
                    self._tell_second(contacts, -distance, time)
                continue
            if distance > 0.0:
                contacts.grace[pair] = 0.0
            gap = distance + contacts.grace[pair]
            self.gap = min(self.gap, gap)
            contacts.touching[pair] = gap <= 0.0

    def _tell_second(self, contacts: Contacts, depth: float, time: float) -> None:
        contacts.second_intersections += 1
        if depth > contacts.second_depth:
            contacts.second_depth, contacts.second_time = depth, time

    def _strike(self, contacts: Contacts, state: ArmState, time: float) -> None:
        """Reset the velocities by impulses on the pairs that touch, along their normals."""
        self._arm.kinematics(state.q)
        pairs = np.flatnonzero((contacts.touching + contacts.held) > 0.0).tolist()
        met = [self._clearance.meet(pair) for pair in pairs]
        rows = [row for _, row in met]
        closing = np.array(rows) @ state.v
        bounce = np.where(contacts.touching[pairs] > 0.0, np.maximum(-self._restitution * closing, 0.0), 0.0)
        # A pair that strikes again and again without coming out in between, such as a box that rocks on its corners,
        # goes twice as deep each time.
        sinking = (contacts.grace[pairs] > 0.0) & (np.array([depth for depth, _ in met]) < -DEEPEST_REBOUND)
        bounce[(bounce < SLOWEST_BOUNCE) | sinking] = 0.0
        state.v[:] = _bounce(self._arm.inertia(), state.v, rows, bounce)
        for pair, (depth, row), speed in zip(pairs, met, bounce, strict=True):
            flies = speed > 0.0 and row @ state.v >= SLOWEST_BOUNCE
            contacts.held[pair] = not flies
            contacts.grace[pair] = max(0.0, -2.0 * depth) + ROUNDING if flies else 0.0
        contacts.touching[:] = 0.0
        contacts.impacts += 1
        contacts.impact_time = time

    def _slide(self, contacts: Contacts, state: ArmState, force: Vector, h: float) -> None:
        """A step in which the held pairs do not enter each other, however their points of contact wander."""
        pairs = np.flatnonzero(contacts.held).tolist()
        free, inertia = self._free_velocity(state, force, h)
        rows, bounds = self._joint_rows(state, h)
        friction = self._arm.model.dof_frictionloss * h
        floors = []
        for pair in pairs:
            distance, row = self._clearance.meet(pair)
            rows.append(row)
            bounds.append(_least_rate(distance, h))
            # As deep as it begins is as deep as it may end.
            floors.append(min(-0.5 * SECOND_INTERSECTION, distance))
        for _ in range(ROUNDS):
            v = _least_change(inertia, free, rows, bounds, friction)
            q = state.q + h * v
            self._arm.kinematics(q)
            known = len(rows)
            for pair, floor in zip(pairs, floors, strict=True):
                distance, row = self._clearance.meet(pair)
                if distance < floor - ROUNDING:
                    rows.append(row)
                    bounds.append(float(row @ v) + (floor - distance) / h)
            if len(rows) == known:
                break
        state.q[:], state.v[:] = q, v
        state.warm[:] = 0.0

    def _free_velocity(self, state: ArmState, force: Vector, h: float) -> tuple[Vector, Vector]:
        """The velocity after h s if nothing held, without static friction, and the inertia that a step sees."""
        arm = self._arm
        arm.data.qpos[:], arm.data.qvel[:] = state.q, state.v
        mujoco.mj_fwdPosition(arm.model, arm.data)
        mujoco.mj_fwdVelocity(arm.model, arm.data)
        # Elastic gears are stiff against a step: they act as they will have turned by its end.
        inertia = arm.inertia(h) + h * arm.gear_damping + h * h * arm.gear_stiffness
        drive = force + arm.data.qfrc_passive - arm.data.qfrc_bias - h * (arm.gear_stiffness @ state.v)
        return state.v + h * np.linalg.solve(inertia, drive), inertia

    def _joint_rows(self, state: ArmState, h: float) -> tuple[list[Vector], list[float]]:
        """Joint limits that a step could reach, as constraints on one side."""
        rows: list[Vector] = []
        bounds: list[float] = []
        model = self._arm.model
        for i in np.flatnonzero(model.jnt_limited):
            low, high = model.jnt_range[i]
            for sign, room in ((1.0, state.q[i] - low), (-1.0, high - state.q[i])):
                if room < h * (abs(state.v[i]) + GAIN):
                    row = np.zeros(self._arm.n)
                    row[i] = sign
                    rows.append(row)
                    bounds.append(_least_rate(room, h))
        return rows, bounds


def _least_rate(distance: float, h: float) -> float:
    """How fast a distance must grow in the next h s (when negative: may shrink) so that it ends at 0 or above."""
    return -distance / h if distance > 0.0 else min(-distance / RECOVERY_TIME, RECOVERY_SPEED)


def _bounce(M: Vector, v: Vector, rows: list[Vector], speeds: Vector) -> Vector:
    """The velocity after impulses that part each pair at its speed or faster, and that give no energy.

    Pairs that touch at once can drive each other, and their bounces add up to more energy than there was (Newton's law
    of restitution says nothing of that). Then all of them bounce less: between that and no bounce at all, which always
    loses energy, is the velocity that keeps it.
    """
    no_friction = np.zeros(len(v))
    after = _least_change(M, v, rows, speeds.tolist(), no_friction)
    if not speeds.any() or after @ M @ after <= v @ M @ v:
        return after
    calm = _least_change(M, v, rows, [0.0] * len(rows), no_friction)
    more = after - calm
    # |calm + part · more|² = |v|² in the metric of M, with 0 < part < 1.
    a, b = float(more @ M @ more), float(calm @ M @ more)
    lost = max(0.0, float(v @ M @ v - calm @ M @ calm))
    kept: Vector = calm + (math.sqrt(b * b + a * lost) - b) / a * more
    return kept


def _least_change(M: Vector, v: Vector, rows: list[Vector], bounds: list[float], friction: Vector) -> Vector:
    """The velocity nearest to v in the metric of the inertia M with row · velocity ≥ bound for each row, after static
    friction has taken an impulse of up to `friction` from each joint.

    Solved for the impulses: those of contacts push only, those of friction are bounded both ways.
    """
    # A row of zeros is a pair whose bodies are one link by now.
    acting = [i for i, row in enumerate(rows) if row.any()]
    rubbing = np.flatnonzero(friction)
    A = np.array([rows[i] for i in acting] + list(np.eye(len(v))[rubbing]))
    if not len(A):
        return v
    least = np.array([bounds[i] for i in acting] + [0.0] * len(rubbing))
    ceiling = np.concatenate([np.full(len(acting), 1e30), friction[rubbing]])
    floor = np.concatenate([np.zeros(len(acting)), -friction[rubbing]])
    spread = np.linalg.solve(M, A.T)
    H = A @ spread
    # Pairs that hold at more points than there are freedoms make H singular; any split of the impulse will do.
    H.flat[:: len(H) + 1] *= 1.0 + 1e-10
    impulses, _, flag, _ = daqp.solve(H, A @ v - least, np.zeros((0, len(H))), ceiling, floor, primal_tol=1e-12)
    if flag != 1:
        raise ValueError(f"the impulses of {len(acting)} contacts could not be found (daqp says {flag})")
    changed: Vector = v + spread @ impulses
    return changed
