"""A user's own robot, from a URDF or MJCF file: whole, in one piece, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from simloop.models.arm import Arm, Tools, Vector
from simloop.models.robot import Robot
from simloop.models.robot_file.home import choose_home, overlaps
from simloop.models.robot_file.link_tree import LinkTree
from simloop.models.robot_file.mjcf import Mjcf, body_name, explain, find_couplings, joint_name, make_tree
from simloop.models.robot_file.safe_xml import Element, XmlError, parse_xml
from simloop.models.robot_file.urdf import Urdf
from simloop.models.robot_file.writer import MjcfWriter


class RobotFileError(ValueError):
    """A robot file that cannot be used. `problems` are all that is wrong or missing, each a clause."""

    def __init__(self, path: Path, problems: Sequence[str]) -> None:
        super().__init__(f"robot file {str(path)!r}: {'; '.join(problems)}")
        self.path = path
        self.problems = tuple(problems)


@dataclass(frozen=True)
class RobotFile:
    """A robot as read, and what was decided on the way, each a clause."""

    robot: Robot
    notes: tuple[str, ...]


def read_robot(path: Path, tools: Sequence[str] = ()) -> Robot:
    """The robot of a URDF or MJCF file; `tools` names its links or sites to move, where the file leaves it open."""
    return read_robot_file(path, tools).robot


def read_robot_file(path: Path, tools: Sequence[str] = ()) -> RobotFile:
    root = _parse(path)
    if root.tag == "robot":
        return _from_urdf(path, root, tools)
    if root.tag == "mujoco":
        return _from_mjcf(path, root, tools)
    raise RobotFileError(path, [f"its root element is <{root.tag}>; a URDF has <robot>, an MJCF <mujoco>"])


def _parse(path: Path) -> Element:
    if not path.is_file():
        raise RobotFileError(path, ["there is no such file"])
    try:
        root = parse_xml(path.read_bytes())
    except XmlError as error:
        raise RobotFileError(path, [f"it {error}"]) from None
    except OSError as error:
        raise RobotFileError(path, [f"it cannot be read ({error.strerror})"]) from None
    if any(element.tag.startswith("xacro:") for element in root.iter()):
        raise RobotFileError(path, ["it is a xacro; expand it to a URDF first (xacro FILE > arm.urdf)"])
    return root


def _from_urdf(path: Path, root: Element, wanted: Sequence[str]) -> RobotFile:
    urdf = Urdf(root, path)
    chosen, notes = _choose(urdf.tree, wanted, urdf.lacks) if urdf.is_tree else ((), [])
    held = urdf.tree.held(chosen) if chosen else set(urdf.tree.moving)
    ties = [said for follower, leader, said in urdf.mimics if not {follower, leader} <= held]
    problems = [*urdf.problems, *(f"{said} on the way to a tool; simloop has no coupled joints" for said in ties)]
    if urdf.lacks:
        problems.append(f"it lacks {', '.join(urdf.lacks)}")
    if problems:
        raise RobotFileError(path, problems)
    model = _compile(path, urdf)
    return _finish(path, urdf.name, model, chosen, held, urdf.max_speed, [*notes, *urdf.notes()])


def _from_mjcf(path: Path, root: Element, wanted: Sequence[str]) -> RobotFile:
    mjcf = Mjcf(root, path)
    if mjcf.problems:
        raise RobotFileError(path, mjcf.problems)
    model = _compile(path, mjcf)
    lacks: list[str] = []
    tree = make_tree(model)
    chosen, notes = _choose(tree, wanted, lacks)
    if lacks:
        raise RobotFileError(path, [f"it lacks {', '.join(lacks)}"])
    held = tree.held(chosen)
    ties = find_couplings(model, held)
    if ties:
        raise RobotFileError(path, [f"joints are coupled by {', '.join(ties)}; simloop has no coupled joints"])
    return _finish(path, mjcf.name, model, chosen, held, {}, notes)


def _choose(tree: LinkTree, wanted: Sequence[str], lacks: list[str]) -> tuple[tuple[str, ...], list[str]]:
    chosen, lack, note = tree.choose_tools(wanted)
    if lack:
        lacks.append(lack)
    return chosen, [note] if note else []


def _compile(path: Path, source: Urdf | Mjcf) -> mujoco.MjModel:
    try:
        return source.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise RobotFileError(path, [explain(error)]) from None


def _finish(
    path: Path,
    name: str,
    model: mujoco.MjModel,
    tools: tuple[str, ...],
    held: set[str],
    speeds: dict[str, float],
    notes: list[str],
) -> RobotFile:
    q = _given_home(model)
    kept = [j for j in range(model.njnt) if body_name(model, int(model.jnt_bodyid[j])) not in held]
    stuck = [joint_name(model, j) for j in range(model.njnt) if j not in kept]
    if stuck:
        notes.append(f"held at home, as they move no tool: {', '.join(stuck)}")
    try:
        writer = MjcfWriter(name, model, tools, held, _within_limits(model, q))
    except ValueError as error:
        raise RobotFileError(path, [str(error)]) from None
    try:
        arm = Arm(writer.text(), contact=True)
    except ValueError as error:
        raise RobotFileError(path, [explain(error)]) from None
    home = choose_home(arm, Tools(arm, tools)) if not model.nkey else _within_limits(model, q)[kept]
    for a, b in overlaps(arm, home):
        names = [arm.model.body(body).name for body in (a, b)]
        writer.exclude(*(_find(model, body) for body in names))
        notes.append(f"links {names[0]!r} and {names[1]!r} overlap at home, so their contact is left out")
    max_speed = tuple(speeds.get(joint_name(model, j), 0.0) for j in kept)
    robot = Robot(
        name=name,
        mjcf=writer.text(),
        tools=tools,
        home=tuple(home.tolist()),
        max_speed=max_speed if all(max_speed) else (),
    )
    return RobotFile(robot, (*notes, *writer.notes()))


def _find(model: mujoco.MjModel, name: str) -> int:
    return next((body for body in range(1, model.nbody) if body_name(model, body) == name), 0)


def _given_home(model: mujoco.MjModel) -> Vector:
    """The key frame called home, or the first, or the reference position."""
    if not model.nkey:
        return np.array(model.qpos0)
    names = [model.key(i).name for i in range(model.nkey)]
    return np.array(model.key_qpos[names.index("home") if "home" in names else 0])


def _within_limits(model: mujoco.MjModel, q: Vector) -> Vector:
    limited = model.jnt_limited == 1
    return np.where(limited, np.clip(q, model.jnt_range[:, 0], model.jnt_range[:, 1]), q)
