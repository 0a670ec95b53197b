"""Write the collision detector as a unit in plain C: no interpreter, and sources that compile anywhere."""

from __future__ import annotations

import importlib.resources
import importlib.util
import re
import struct
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
from simloop.fmus.description import describe
from simloop.fmus.export import document, instantiate, library_path, make_guid, write_archive
from simloop.fmus.slave import Slave
from simloop.models.arm import Arm
from simloop.models.native import CollisionData, collision_data
from simloop.models.robot import Obstacle, Robot, scene_mjcf

ROBOT = "robot.bin"
MAGIC, FORMAT = b"simloopC", 1
# What is compiled of a unit's `sources`; the rest are headers.
COMPILED = ("fmi2_shell.c", "native_collision.c", "native_robot.c", "gjk.c", "gjk_scene.c")
PORTS = ("q", "v", "distance", "contact", "point_a", "point_b", "normal", "time_to_contact", "pair", "body_a", "body_b")


def build_native_collision(robot: Robot, path: Path, obstacles: tuple[Obstacle, ...] = ()) -> Path:
    """Write the unit `collision` for a robot in its scene to `path`, without Python."""
    slave = instantiate("collision", robot, obstacles)
    if tuple(port.name for port in slave.descriptions) != PORTS:
        raise RuntimeError("the collision unit's ports are not those that native_collision.c has")
    description = describe("collision", robot, slave)
    unit = description.find("CoSimulation")
    assert unit is not None
    unit.set("needsExecutionTool", "false")
    files = Element("SourceFiles")
    for name in COMPILED:
        SubElement(files, "File", name=name)
    unit.append(files)
    library, sources = native_library().read_bytes(), source_files()
    data = collision_data(Arm(scene_mjcf(robot, obstacles)))
    guid = make_guid(tostring(description), library, pack_robot(data, slave, ""), *sources.values())
    description.set("guid", guid)
    entries = {library_path(description): library, f"resources/{ROBOT}": pack_robot(data, slave, guid)}
    entries |= {f"sources/{name}": text for name, text in sources.items()}
    return write_archive(path, description, entries | document(slave, description, robot))


def native_library() -> Path:
    """The compiled library of the native collision unit."""
    spec = importlib.util.find_spec("simloop.fmus._native")
    if spec is None or spec.origin is None:
        raise RuntimeError("the native library of simloop is not compiled; install simloop with a C compiler at hand")
    return Path(spec.origin)


def source_files() -> dict[str, bytes]:
    """The C sources and their headers, by name."""
    folder = importlib.resources.files("simloop.cffi_build")
    found: dict[str, bytes] = {}
    waiting = list(COMPILED)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = (folder / name).read_bytes()
            waiting += re.findall(r'^ *#include "(.*)"', found[name].decode(), re.MULTILINE)
    return dict(sorted(found.items()))


def pack_robot(data: CollisionData, slave: Slave, guid: str) -> bytes:
    """The file that `cffi_build/native_robot.h` describes."""
    texts = [guid, *(variable.name for variable in slave.variables())]
    texts += [name for pair in data.names for name in pair]
    text = b"".join(name.encode() + b"\0" for name in texts)
    counts = (
        len(data.body_pos),
        len(data.joint_zero),
        len(data.standing),
        len(data.member_radius),
        len(data.vertices),
        len(data.climb),
        len(data.names),
        len(slave.ports),
        len(text),
    )
    doubles = (
        data.body_pos,
        data.body_quat,
        data.joint_axis,
        data.joint_pos,
        data.joint_zero,
        data.standing,
        data.member_pose,
        data.member_radius,
        data.vertices,
        slave.ports,
    )
    wholes = (
        data.body_parent,
        data.body_joint,
        data.body_joints,
        data.joint_slides,
        data.member_frame,
        data.member_vertex,
        data.member_climb,
        data.climb,
        data.pair,
        data.pair_body,
    )
    parts = [MAGIC, struct.pack("<i9i", FORMAT, *counts)]
    parts += [np.ascontiguousarray(array, dtype="<f8").tobytes() for array in doubles]
    parts += [np.ascontiguousarray(array, dtype="<i4").tobytes() for array in wholes]
    return b"".join([*parts, slave.access, text])
