"""Robots as a person names them: one of simloop's, or a file of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from simloop.master import NameNotFoundError, SimloopError
from simloop.models import robots
from simloop.models.arm import Arm, Tools
from simloop.models.robot_file import RobotFile, RobotFileError, read_robot_file

_SUFFIXES = (".urdf", ".xml", ".mjcf")


def load_robot(name: str, tools: Sequence[str] = ()) -> RobotFile:
    """The robot of that name, or of the file at that path; of a file, `tools` names the links or sites to move."""
    if name in robots.names():
        if tools:
            raise SimloopError(f"--tool goes with a robot file; {name} has its own")
        return RobotFile(robots.load(name), ())
    path = Path(name)
    if not path.exists() and path.suffix.lower() not in _SUFFIXES and path.name == name:
        raise NameNotFoundError("robot", name, robots.names())
    try:
        return read_robot_file(path, tools)
    except RobotFileError as error:
        raise SimloopError(str(error)) from None


def describe_robot(loaded: RobotFile) -> str:
    """Joints, limits, tools and what was decided in reading, for a person."""
    robot = loaded.robot
    arm = Arm(robot.mjcf)
    model = arm.model
    speeds = robot.max_speed or (None,) * arm.n
    arm.kinematics(np.array(robot.home))
    places = Tools(arm, robot.tools).position().reshape(-1, 3)
    mass = float(model.body_mass.sum())
    lines = [f"{robot.name}: {arm.n} joints, {mass:.4g} kg, {model.nmesh} hulls"]
    lines.append(f"  {'joint':<28} {'unit':<4} {'home':>9} {'lower':>9} {'upper':>9} {'speed':>9} {'effort':>9}")
    for j, (unit, home, speed) in enumerate(zip(arm.units, robot.home, speeds, strict=True)):
        lower, upper = model.jnt_range[j] if model.jnt_limited[j] else (None, None)
        effort = float(np.abs(model.jnt_actfrcrange[j]).max()) if model.jnt_actfrclimited[j] else None
        cells = " ".join(
            f"{'-' if value is None else f'{value:.4g}':>9}" for value in (home, lower, upper, speed, effort)
        )
        lines.append(f"  {model.joint(j).name:<28} {unit:<4} {cells}")
    for tool, place in zip(robot.tools, places, strict=True):
        lines.append(f"  tool {tool} at {', '.join(f'{x:.4g}' for x in place)} m")
    return "\n".join([*lines, *(f"  {note}" for note in loaded.notes)])
