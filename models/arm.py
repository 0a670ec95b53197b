"""A robot arm as a MuJoCo model: joints, tools, inertia, forward and inverse dynamics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import mujoco
import numpy as np
from numpy.typing import NDArray
from simloop.models.assemble import Gear, compile_arm

Vector = NDArray[np.float64]

# MuJoCo's own answer to a diverged step is a log file in the current folder; the units tell of it through the FMI.
if mujoco.get_mju_user_warning() is None:
    mujoco.set_mju_user_warning(lambda message: None)


NO_FROZEN: Mapping[int, float] = MappingProxyType({})
NO_GEARS: Mapping[int, Gear] = MappingProxyType({})


@dataclass
class ArmState:
    """What a step reads from the one before: position, velocity, and where the constraint solver begins. A step from
    a copy of it is the same to the last bit."""

    q: Vector
    v: Vector
    warm: Vector


class Arm:
    """The dynamics of an arm with n one-degree joints, each a slide (m) or a hinge (rad).

    `mass_error` scales the mass and inertia of every link by 1 + mass_error. `contact` lets bodies touch, with
    MuJoCo's compliant contact. `frozen` and `gears` are as in `compile_arm`: a frozen joint is no joint any more, and
    the rotors of elastic gears stand after the joints. No memory of its own: every call takes the state it works on.
    """

    def __init__(
        self,
        mjcf: str,
        *,
        mass_error: float = 0.0,
        contact: bool = False,
        frozen: Mapping[int, float] = NO_FROZEN,
        gears: Mapping[int, Gear] = NO_GEARS,
    ) -> None:
        if not mass_error > -1.0:
            raise ValueError(f"mass_error is {mass_error}; it must be greater than -1")
        self.model = compile_arm(mjcf, frozen, gears)
        self._check_joints()
        links = [i for i in range(self.model.nbody) if not self.model.body(i).name.startswith("rotor:")]
        self.model.body_mass[links] *= 1.0 + mass_error
        self.model.body_inertia[links] *= 1.0 + mass_error
        self.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_INVDISCRETE
        # A diverged step must stay visible; MuJoCo would otherwise reset the state to zero and go on.
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        if not contact:
            self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        self.data = mujoco.MjData(self.model)
        mujoco.mj_setConst(self.model, self.data)
        self.n = int(self.model.nv)
        # MuJoCo's own arrays, looked up once: they stay where they are.
        data = self.data
        self._qpos, self._qvel, self._qacc = data.qpos, data.qvel, data.qacc
        self._warm, self._applied, self._inverse = data.qacc_warmstart, data.qfrc_applied, data.qfrc_inverse
        self._M = np.zeros((self.n, self.n))
        self.gear_stiffness, self.gear_damping = np.zeros((self.n, self.n)), np.zeros((self.n, self.n))
        self._gear_steps = self._gear_rate()
        self._J_point = np.zeros((3, self.n))

    def _check_joints(self) -> None:
        one_degree = (int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE))
        wrong = [self.model.joint(i).name for i, kind in enumerate(self.model.jnt_type) if kind not in one_degree]
        if wrong or self.model.nv == 0:
            raise ValueError(f"every joint must be a slide or a hinge and there must be one; these are not: {wrong}")

    def _gear_rate(self) -> float:
        """How often a second an elastic gear asks to be stepped, 1/s: its frequency (rad/s) or its damping over inertia
        where that is greater; 0 without elastic gears."""
        if not self.model.ntendon:
            return 0.0
        self.kinematics(self.model.qpos0)
        mobility = np.linalg.inv(self.inertia())
        rate = 0.0
        for i in range(self.model.ntendon):
            rotor, joint = self.model.wrap_objid[2 * i : 2 * i + 2]
            stiffness, damping = float(self.model.tendon_stiffness[i]), float(self.model.tendon_damping[i])
            ease = float(mobility[rotor, rotor] - 2 * mobility[rotor, joint] + mobility[joint, joint])
            rate = max(rate, math.sqrt(stiffness * ease), damping * ease)
            between = np.zeros(self.n)
            between[rotor], between[joint] = 1.0, -1.0
            self.gear_stiffness += stiffness * np.outer(between, between)
            self.gear_damping += damping * np.outer(between, between)
        return rate

    @property
    def units(self) -> list[str]:
        """Position unit of each joint."""
        slide = int(mujoco.mjtJoint.mjJNT_SLIDE)
        return ["m" if kind == slide else "rad" for kind in self.model.jnt_type]

    @property
    def joint_names(self) -> list[str]:
        return [self.model.joint(i).name or f"joint{i + 1}" for i in range(self.model.njnt)]

    @property
    def ranges(self) -> tuple[Vector, Vector]:
        """The lowest and the highest position of each joint, m or rad; infinite where the model sets none."""
        limited = self.model.jnt_limited.astype(bool)
        low, high = self.model.jnt_range.T
        return np.where(limited, low, -np.inf), np.where(limited, high, np.inf)

    @property
    def torque_limits(self) -> Vector:
        """The greatest force of each motor, N or N·m; infinite where the model sets none."""
        limited = self.model.jnt_actfrclimited.astype(bool)
        return np.where(limited, np.abs(self.model.jnt_actfrcrange).min(axis=1), np.inf)

    def state_at(self, q: Vector, v: Vector | float = 0.0) -> ArmState:
        """The state of the arm at position q with velocity v, at rest unless given."""
        return ArmState(q=np.array(q, dtype=float), v=np.zeros(self.n) + v, warm=np.zeros(self.n))

    def step(self, state: ArmState, force: Vector, h: float) -> None:
        """Advance `state` in place by one step of h s under joint forces (N or N·m) (S1, 3.2)."""
        parts = math.ceil(h * self._gear_steps) or 1
        self.model.opt.timestep = h / parts
        self._qpos[:] = state.q
        self._qvel[:] = state.v
        self._warm[:] = state.warm
        self._applied[:] = force
        for _ in range(parts):
            mujoco.mj_step(self.model, self.data)
        state.q[:] = self._qpos
        state.v[:] = self._qvel
        state.warm[:] = self._warm

    def energy(self, state: ArmState) -> float:
        """Kinetic and potential energy, J."""
        data = self.data
        data.qpos[:], data.qvel[:] = state.q, state.v
        mujoco.mj_fwdPosition(self.model, data)
        mujoco.mj_energyPos(self.model, data)
        mujoco.mj_energyVel(self.model, data)
        return float(data.energy.sum())

    def inverse(self, q: Vector, v: Vector, v_next: Vector, h: float, out: Vector) -> None:
        """Joint forces that take velocity v at q to v_next in one step of h s."""
        self.model.opt.timestep = h
        self._qpos[:] = q
        self._qvel[:] = v
        np.subtract(v_next, v, out=self._qacc)
        np.divide(self._qacc, h, out=self._qacc)
        mujoco.mj_inverse(self.model, self.data)
        out[:] = self._inverse

    def stiffening(self) -> Vector:
        """What the constraints that gave way in the last `inverse` (static friction that holds, joint limits) add to
        the inertia matrix: Jᵀ D J, n by n."""
        data = self.data
        giving = data.efc_state == mujoco.mjtConstraintState.mjCNSTRSTATE_QUADRATIC
        J = data.efc_J.reshape(-1, self.n)[giving]
        stiff: Vector = (J.T * data.efc_D[giving]) @ J
        return stiff

    def inertia(self, h: float = 0.0) -> Vector:
        """Joint-space inertia matrix at the position of the last call, shared between calls.

        With h it is M + h D, what a step of h s divides an impulse by: MuJoCo integrates joint damping D implicitly.
        """
        mujoco.mj_fullM(self.model, self.data, self._M)
        if h > 0.0:
            self._M.flat[:: self.n + 1] += h * self.model.dof_damping
        return self._M

    def solve_inertia(self, rows: Vector, out: Vector) -> None:
        """Write rows · M⁻¹ into `out`, M the inertia after `kinematics`."""
        mujoco.mj_solveM(self.model, self.data, out, rows)

    def kinematics(self, q: Vector) -> None:
        """Place the bodies at q; then tools, `inertia`, `solve_inertia` and geom poses are those of q."""
        self._qpos[:] = q
        mujoco.mj_fwdPosition(self.model, self.data)

    def point_jacobian(self, body: int, point: Vector) -> Vector:
        """World velocity of a point fixed to a body per joint velocity, (3, n), after `kinematics`; shared between
        calls."""
        mujoco.mj_jac(self.model, self.data, self._J_point, None, point, body)
        return self._J_point

    def parting(self, body_a: int, point_a: Vector, body_b: int, point_b: Vector, normal: Vector) -> Vector:
        """How fast, per joint velocity, two points fixed to two bodies part along the normal from the first to the
        second, after `kinematics`."""
        rate: Vector = normal @ self.point_jacobian(body_b, point_b)
        rate -= normal @ self.point_jacobian(body_a, point_a)
        return rate


class Tools:
    """The tool points of an arm: k sites, stacked as one vector of 3 k coordinates in the world frame, m."""

    def __init__(self, arm: Arm, names: tuple[str, ...]) -> None:
        self._arm = arm
        self._ids = np.array([arm.model.site(name).id for name in names])
        self.size = 3 * len(names)
        self._p = np.zeros((len(names), 3))
        self._J = np.zeros((self.size, arm.n))
        self._blocks = [(int(site), self._J[3 * i : 3 * i + 3]) for i, site in enumerate(self._ids)]
        self._site_xpos = arm.data.site_xpos

    def position(self) -> Vector:
        """Tool positions after `arm.kinematics`, shared between calls."""
        self._site_xpos.take(self._ids, axis=0, out=self._p)
        return self._p.reshape(-1)

    def jacobian(self) -> Vector:
        """Tool velocities per joint velocity, (3 k, n), after `arm.kinematics`; shared between calls."""
        for site, block in self._blocks:
            mujoco.mj_jacSite(self._arm.model, self._arm.data, block, None, site)
        return self._J
