"""Compile an MJCF into a MuJoCo model, with joints frozen or driven through an elastic gear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

# The inertia of a rotor is all that is wanted of it; MuJoCo asks for a mass too, kg.
_ROTOR_MASS = 1e-6


@dataclass(frozen=True)
class Gear:
    """An elastic gear: N·m/rad and N·m·s/rad (N/m and N·s/m for a slide), both on the joint's side."""

    stiffness: float
    damping: float


def compile_arm(mjcf: str, frozen: Mapping[int, float], gears: Mapping[int, Gear]) -> mujoco.MjModel:
    """The model of an arm whose joints `frozen` (number to position) are merged into one link with the one they sit
    on, and whose joints `gears` have a rotor of their own, named `rotor:<joint>` and standing after the joints.

    A frozen joint is a deleted one, so that the compiler merges the links' inertias exactly. A rotor takes over the
    joint's rotor inertia (`armature`) and friction; a spring and a damper lead from it to the joint.
    """
    spec = mujoco.MjSpec.from_string(mjcf)
    whole = spec.compile()
    joints = {joint.id: joint for joint in spec.joints}
    for i, q in frozen.items():
        _freeze(whole, spec, joints[i], i, q)
    for i, gear in gears.items():
        if i not in frozen:
            _add_rotor(whole, spec, joints[i], i, gear)
    return spec.compile() if frozen or gears else whole


def _freeze(whole: mujoco.MjModel, spec: mujoco.MjSpec, joint: mujoco.MjsJoint, i: int, q: float) -> None:
    body_id = int(whole.jnt_bodyid[i])
    body = joint.parent
    if whole.body_jntnum[body_id] != 1:
        raise ValueError(f"joint {joint.name!r} shares its body with another one; a joint that freezes needs its own")
    pos, quat = whole.body_pos[body_id].copy(), whole.body_quat[body_id].copy()
    axis, anchor = whole.jnt_axis[i], whole.jnt_pos[i]
    turned, moved, moved_back = quat.copy(), np.zeros(3), np.zeros(3)
    travel = q - float(whole.qpos0[i])
    if whole.jnt_type[i] == mujoco.mjtJoint.mjJNT_SLIDE:
        mujoco.mju_rotVecQuat(moved, axis * travel, quat)
    else:
        turn = np.zeros(4)
        mujoco.mju_axisAngle2Quat(turn, axis, travel)
        mujoco.mju_mulQuat(turned, quat, turn)
        mujoco.mju_rotVecQuat(moved, anchor, quat)
        mujoco.mju_rotVecQuat(moved_back, anchor, turned)
    body.alt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
    body.pos, body.quat = pos + moved - moved_back, turned
    spec.delete(joint)


def _add_rotor(whole: mujoco.MjModel, spec: mujoco.MjSpec, joint: mujoco.MjsJoint, i: int, gear: Gear) -> None:
    inertia = float(whole.dof_armature[i])
    if not inertia > 0.0:
        raise ValueError(f"joint {joint.name!r} has no rotor inertia (armature); an elastic gear needs one")
    slide = whole.jnt_type[i] == mujoco.mjtJoint.mjJNT_SLIDE
    name = f"rotor:{joint.name}"
    rotor = spec.worldbody.add_body(name=name, gravcomp=1.0)
    rotor.explicitinertial = True
    rotor.mass = inertia if slide else _ROTOR_MASS
    rotor.inertia = [inertia] * 3
    own = rotor.add_joint(name=name, type=joint.type, axis=[0.0, 0.0, 1.0], ref=joint.ref)
    own.frictionloss, own.damping = joint.frictionloss, joint.damping
    joint.armature, joint.frictionloss = 0.0, 0.0
    joint.damping = np.zeros_like(joint.damping)
    spring = spec.add_tendon(name=f"gear:{joint.name}", stiffness=gear.stiffness, damping=gear.damping)
    spring.springlength = [0.0, 0.0]
    spring.wrap_joint(name, 1.0)
    spring.wrap_joint(joint.name, -1.0)
