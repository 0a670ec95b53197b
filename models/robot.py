"""What a robot is to simloop: an MJCF description, its tools, its home; and the scene it stands in."""

from __future__ import annotations

import importlib.resources
import xml.etree.ElementTree as ET
from dataclasses import dataclass


@dataclass(frozen=True)
class Robot:
    """A robot arm.

    `tools` names the MJCF sites that planners move. `home` is the joint position at the start, in joint order,
    m or rad. `max_speed` is what the maker promises of each joint, m/s or rad/s; empty when nothing is known.
    `camera` names the site that looks at the tools, if there is one. `gate` names the module in `models/` that says
    which joint positions may be commanded, if there is one.
    """

    name: str
    mjcf: str
    tools: tuple[str, ...]
    home: tuple[float, ...]
    max_speed: tuple[float, ...] = ()
    camera: str = ""
    gate: str = ""


@dataclass(frozen=True)
class Box:
    """A fixed box in the world, axis-aligned: centre and half sizes in m."""

    name: str
    centre: tuple[float, float, float]
    half_size: tuple[float, float, float]


@dataclass(frozen=True)
class Ball:
    """A fixed ball in the world: centre and radius in m."""

    name: str
    centre: tuple[float, float, float]
    radius: float


@dataclass(frozen=True)
class Polyhedron:
    """A fixed convex body in the world, by its corners in m."""

    name: str
    corners: tuple[tuple[float, float, float], ...]


Obstacle = Box | Ball | Polyhedron


def read_mjcf(module: str) -> str:
    """The MJCF text that stands beside a robot's module."""
    package, _, name = module.rpartition(".")
    return (importlib.resources.files(package) / f"{name}.xml").read_text(encoding="utf-8")


def scene_mjcf(robot: Robot, obstacles: tuple[Obstacle, ...] = ()) -> str:
    """The robot's MJCF with the obstacles added to its world."""
    root = ET.fromstring(robot.mjcf)
    world = root.find("worldbody")
    if world is None:
        raise ValueError(f"the MJCF of robot {robot.name!r} has no <worldbody>")
    for obstacle in obstacles:
        match obstacle:
            case Box(name, centre, half_size):
                shape = {"type": "box", "pos": _numbers(centre), "size": _numbers(half_size)}
            case Ball(name, centre, radius):
                shape = {"type": "sphere", "pos": _numbers(centre), "size": _numbers((radius,))}
            case Polyhedron(name, corners):
                vertices = " ".join(_numbers(corner) for corner in corners)
                ET.SubElement(ET.SubElement(root, "asset"), "mesh", {"name": name, "vertex": vertices})
                shape = {"type": "mesh", "mesh": name}
        ET.SubElement(world, "geom", {"name": name, **shape})
    return ET.tostring(root, encoding="unicode")


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(repr(float(value)) for value in values)
