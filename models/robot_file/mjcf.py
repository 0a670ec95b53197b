"""A user's MJCF: faults told from the text, then MuJoCo's own parser; and what its model says of links and joints."""

from __future__ import annotations

import re
from pathlib import Path

import mujoco
import numpy as np
from simloop.models.robot_file.link_tree import LinkTree
from simloop.models.robot_file.safe_xml import Element, XmlError, parse_xml

JOINT_TYPES = ("hinge", "slide")
_NOT_FINITE = {"nan", "inf", "infinity"}
_WORDS = ("name", "class", "childclass", "file", "model")


class Mjcf:
    """An MJCF file's content. Construct, look at `problems`; when there are none, `compile`."""

    def __init__(self, root: Element, path: Path) -> None:
        self.name = root.get("model") or path.stem
        self.problems: list[str] = []
        self._path = path
        self._check(root, {path.absolute()})

    def compile(self) -> mujoco.MjModel:
        return mujoco.MjSpec.from_file(str(self._path)).compile()

    def _check(self, root: Element, seen: set[Path]) -> None:
        """Look through the file and those it includes; MuJoCo takes their paths as relative to the first."""
        for element in root.iter():
            title = f"{element.tag} {element.get('name', '')!r}"
            for key, text in element.attrib.items():
                if key not in _WORDS and _NOT_FINITE & {word.lstrip("+-").lower() for word in text.split()}:
                    self.problems.append(f"{title}: {key} is {text!r}; it must be finite")
            kind = "free" if element.tag == "freejoint" else element.get("type", "hinge")
            if element.tag in ("joint", "freejoint") and "joint1" not in element.attrib and kind not in JOINT_TYPES:
                self.problems.append(f"joint {element.get('name', '')!r} is of type {kind!r}; it can be hinge or slide")
            if element.get("mass", "").startswith("-"):
                self.problems.append(f"{title} has a mass of {element.get('mass')} kg; a mass is positive")
            if element.tag == "include":
                self._include(element.get("file", ""), seen)

    def _include(self, file: str, seen: set[Path]) -> None:
        path = (self._path.parent / file).absolute()
        if path in seen:
            self.problems.append(f"{file!r} is included twice; MuJoCo takes a file once")
        elif not path.is_file():
            self.problems.append(f"the included file {file!r} is missing")
        else:
            seen.add(path)
            try:
                self._check(parse_xml(path.read_bytes()), seen)
            except XmlError as error:
                self.problems.append(f"the included file {file!r} {error}")


def explain(error: Exception) -> str:
    """MuJoCo's complaint as one clause."""
    text = re.sub(r"\s+", " ", str(error)).strip()
    missing = re.search(r"opening file '([^']*)'", text)
    if missing:
        return f"the file {missing[1]!r} is missing"
    text = re.sub(r"^(XML )?Error: ", "", text)
    return f"MuJoCo says: {text}"


def make_tree(model: mujoco.MjModel) -> LinkTree:
    names = [body_name(model, i) for i in range(model.nbody)]
    parents = {names[i]: names[model.body_parentid[i]] if model.body_parentid[i] else "" for i in range(1, model.nbody)}
    moving = frozenset(names[i] for i in range(1, model.nbody) if model.body_jntnum[i])
    sites = {model.site(i).name: names[model.site_bodyid[i]] for i in range(model.nsite)}
    return LinkTree(parents, moving, {site: link for site, link in sites.items() if site and link in parents})


def body_name(model: mujoco.MjModel, body: int) -> str:
    return str(model.body(body).name or f"body{body}")


def joint_name(model: mujoco.MjModel, joint: int) -> str:
    return str(model.joint(joint).name or f"joint{joint}")


def find_couplings(model: mujoco.MjModel, held: set[str]) -> list[str]:
    """What ties joints that are not held to each other; a tie between held ones holds anyway."""
    free = {j for j in range(model.njnt) if body_name(model, int(model.jnt_bodyid[j])) not in held}

    def mover(body: int) -> int:
        """The nearest link at or above this one that a joint which is not held moves."""
        while body and not (model.body_jntnum[body] and int(model.body_jntadr[body]) in free):
            body = int(model.body_parentid[body])
        return body

    found = []
    for i in range(model.neq):
        kind, ends = model.eq_type[i], (int(model.eq_obj1id[i]), int(model.eq_obj2id[i]))
        if kind == mujoco.mjtEq.mjEQ_JOINT:
            tied = bool(free & set(ends))
        elif kind in (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD):
            of_sites = model.eq_objtype[i] == mujoco.mjtObj.mjOBJ_SITE
            tied = len({mover(int(model.site_bodyid[end]) if of_sites else end) for end in ends}) > 1
        else:
            tied = True
        if tied:
            found.append(f"equality {model.eq(i).name or i!r}")
    for i in range(model.ntendon):
        wraps = range(model.tendon_adr[i], model.tendon_adr[i] + model.tendon_num[i])
        of_joints = all(model.wrap_type[w] == mujoco.mjtWrap.mjWRAP_JOINT for w in wraps)
        acts = model.tendon_limited[i] or model.tendon_stiffness[i] or model.tendon_damping[i]
        acts = acts or model.tendon_frictionloss[i] or model.tendon_armature[i]
        if acts and not (of_joints and not free & {int(model.wrap_objid[w]) for w in wraps}):
            found.append(f"tendon {model.tendon(i).name or i!r}")
    return found


def effort_limits(model: mujoco.MjModel) -> dict[int, tuple[float, float]]:
    """Force range of each joint that has one: its own, or that of the motors that drive it."""
    limits: dict[int, tuple[float, float]] = {}
    for i in range(model.nu):
        if model.actuator_trntype[i] != mujoco.mjtTrn.mjTRN_JOINT:
            continue
        joint, gear = int(model.actuator_trnid[i, 0]), float(model.actuator_gear[i, 0])
        is_motor = model.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_NONE
        ends = None
        if model.actuator_forcelimited[i]:
            ends = gear * model.actuator_forcerange[i]
        elif model.actuator_ctrllimited[i] and is_motor:
            ends = gear * model.actuator_gainprm[i, 0] * model.actuator_ctrlrange[i]
        if ends is not None and np.ptp(ends) > 0.0:
            before = limits.get(joint, (0.0, 0.0))
            limits[joint] = (before[0] + float(min(ends)), before[1] + float(max(ends)))
    for j in range(model.njnt):
        if model.jnt_actfrclimited[j]:
            limits[j] = (float(model.jnt_actfrcrange[j, 0]), float(model.jnt_actfrcrange[j, 1]))
    return limits
