"""The robot itself: an arm with its motors, gears, contacts and faults (S1, algorithm 3; S2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray
from simloop.models.arm import Arm, ArmState, Vector
from simloop.models.assemble import Gear
from simloop.models.clearance import Clearance
from simloop.models.contact import PROXIMITY, Contacts, EventContact, no_contacts
from simloop.models.faults import Fault, check_faults

CONTACT_MODES = ("none", "compliant", "events")
# Robots with joints frozen in one way or another that are kept for when they are asked for again.
_SHAPES_KEPT = 8
INTEGRATORS = {"euler": mujoco.mjtIntegrator.mjINT_EULER, "rk4": mujoco.mjtIntegrator.mjINT_RK4}


@dataclass
class RobotState:
    """The n joints and then the n rotors, of which those of rigid gears stay behind; which joints are frozen; and the
    contacts."""

    moves: ArmState
    frozen: Vector
    contacts: Contacts


def robot_at_rest(q: Vector, pairs: int) -> RobotState:
    """The robot at rest at q, with `pairs` pairs of bodies that could touch."""
    both = np.concatenate([q, q])
    return RobotState(ArmState(both, np.zeros(len(both)), np.zeros(len(both))), np.zeros(len(q)), no_contacts(pairs))


@dataclass(frozen=True)
class _Shape:
    """The robot with some joints frozen: the arm that is left, and which of joints and rotors it moves."""

    arm: Arm
    moving: NDArray[np.intp] | slice
    state: ArmState
    events: EventContact | None


class RobotPlant:
    """The robot under joint forces. `gears` (joint number to gear) are elastic, the others rigid.

    No memory of its own: a step takes the state it works on.
    """

    def __init__(
        self,
        mjcf: str,
        *,
        mass_error: float = 0.0,
        contact: str = "none",
        restitution: float = 0.0,
        integrator: str = "euler",
        gears: Mapping[int, Gear] | None = None,
    ) -> None:
        for name, value, allowed in (("contact", contact, CONTACT_MODES), ("integrator", integrator, INTEGRATORS)):
            if value not in allowed:
                raise ValueError(f"{name} is {value!r}; it can be {' or '.join(allowed)}")
        if not 0.0 <= restitution <= 1.0:
            raise ValueError(f"restitution is {restitution}; it must be from 0 to 1")
        self._mjcf = mjcf
        self._mass_error = mass_error
        self._contact = contact
        self._restitution = restitution
        self._integrator = INTEGRATORS[integrator]
        # Rotors stand in the order of their joints, whatever the order of the gears.
        self._gears = dict(sorted((gears or {}).items()))
        self._shapes: dict[bytes, _Shape] = {}
        self._whole = Arm(mjcf, mass_error=mass_error)
        n = self.n = self._whole.n
        self._torque_limits = self._whole.torque_limits
        self._least_torques = -self._torque_limits
        self.driven = np.array([n + i if i in self._gears else i for i in range(n)])
        """Where in `moves` each motor's side stands: the rotor of an elastic gear, else the joint."""
        self._free = self._shape = self._make_shape({})
        self._applied, self._force = np.zeros(n), np.zeros(2 * n)
        self.gap = PROXIMITY
        """In contact mode `events`, the distance of the nearest pair that does not hold, if less than PROXIMITY."""

    def look(self, state: RobotState, time: float) -> None:
        """See what touches before the first step."""
        self._shape = self._free
        if self._shape.events is not None:
            self._shape.events.look(state.contacts, state.moves.q[self._shape.moving], time)
            self.gap = self._shape.events.gap

    def step(
        self, state: RobotState, tau: Vector, f_ext: Vector, fault: Vector, size: Vector, time: float, h: float
    ) -> Vector:
        """Advance by h s from `time`; returns the motor forces that acted, shared between calls."""
        if np.count_nonzero(fault) or np.count_nonzero(state.frozen):
            check_faults(fault)
            applied = self._faulty_forces(tau, fault, size)
            self._lock(state, fault)
        else:
            applied = np.minimum(tau, self._torque_limits, out=self._applied)
            np.maximum(applied, self._least_torques, out=applied)
            self._shape = self._free
        shape, moves, part = self._shape, state.moves, self._shape.state
        moving, force = shape.moving, self._force
        force[: self.n] = f_ext
        if self._gears:
            force[self.n :] = 0.0
            force[self.driven] += applied
        else:
            force[: self.n] += applied
        part.q[:], part.v[:], part.warm[:] = moves.q[moving], moves.v[moving], moves.warm[moving]
        if shape.events is None:
            shape.arm.step(part, force[moving], h)
        else:
            shape.events.step(state.contacts, part, force[moving], h, time)
            self.gap = shape.events.gap
        moves.q[moving], moves.v[moving], moves.warm[moving] = part.q, part.v, part.warm
        return applied

    def _faulty_forces(self, tau: Vector, fault: Vector, size: Vector) -> Vector:
        limits = np.where(fault == Fault.WEAK, np.minimum(self._torque_limits, size), self._torque_limits)
        limits[(fault == Fault.LOOSE) | (fault == Fault.FROZEN)] = 0.0
        return np.clip(tau, -limits, limits, out=self._applied)

    def _lock(self, state: RobotState, fault: Vector) -> None:
        """Freeze and thaw joints as `fault` says, and take the shape of the robot that is left."""
        frozen = fault == Fault.FROZEN
        if frozen.all():
            raise ValueError("every joint is frozen; at least one must be able to move")
        if not np.array_equal(frozen, state.frozen):
            freezing = np.flatnonzero(frozen & (state.frozen == 0.0))
            if len(freezing):
                self._stop(self._shape_of(state), state.moves, freezing)
            state.frozen[:] = frozen
            state.moves.warm[:] = 0.0
        self._shape = self._shape_of(state) if frozen.any() else self._free

    def _stop(self, shape: _Shape, moves: ArmState, joints: NDArray[np.intp]) -> None:
        """Stop joints by impulses of their own: the momenta of the other degrees of freedom stay what they were."""
        moving = np.arange(2 * self.n)[shape.moving]
        shape.arm.kinematics(moves.q[moving])
        M = shape.arm.inertia()
        others = ~np.isin(moving % self.n, joints)
        momenta = M[others] @ moves.v[moving]
        moves.v[moving[others]] = np.linalg.solve(M[np.ix_(others, others)], momenta)
        moves.v[joints] = moves.v[self.n + joints] = 0.0

    def _shape_of(self, state: RobotState) -> _Shape:
        stuck = np.flatnonzero(state.frozen)
        places = state.moves.q[stuck]
        key = stuck.tobytes() + places.tobytes()
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) == _SHAPES_KEPT:
                self._shapes.clear()
            shape = self._shapes[key] = self._make_shape(dict(zip(stuck.tolist(), places.tolist(), strict=True)))
        return shape

    def _make_shape(self, frozen: Mapping[int, float]) -> _Shape:
        arm = Arm(
            self._mjcf,
            mass_error=self._mass_error,
            contact=self._contact == "compliant",
            frozen=frozen,
            gears=self._gears,
        )
        arm.model.opt.integrator = self._integrator
        events = None
        if self._contact == "events":
            events = EventContact(arm, Clearance(arm, pairs_of=self._whole), self._restitution)
        joints = [i for i in range(self.n) if i not in frozen]
        rotors = [self.n + i for i in joints if i in self._gears]
        moving = slice(0, self.n) if len(joints) == self.n and not rotors else np.array(joints + rotors)
        return _Shape(arm, moving, arm.state_at(np.zeros(arm.n)), events)
