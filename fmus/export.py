"""Write units as `.fmu` files. The same unit gives the same bytes."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import platform
import sys
import tempfile
import uuid
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import Element, indent, tostring

from simloop.fmus.collision import Collision
from simloop.fmus.computed_torque import ComputedTorque
from simloop.fmus.control import Control
from simloop.fmus.driver import CanopenRobot, EgmRobot
from simloop.fmus.gate import Gate
from simloop.fmus.operator import Operator
from simloop.fmus.path import PathPlanner
from simloop.fmus.pid import Pid
from simloop.fmus.planner import Planner
from simloop.fmus.plant import Plant
from simloop.fmus.playback import Playback
from simloop.fmus.resources import MODEL, UNIT
from simloop.fmus.slave import Slave
from simloop.models.robot import Obstacle, Robot, scene_mjcf

UNITS: dict[str, Callable[..., Slave]] = {
    "planner": Planner,
    "playback": Playback,
    "path": PathPlanner,
    "operator": Operator,
    "control": Control,
    "computed_torque": ComputedTorque,
    "pid": Pid,
    "plant": Plant,
    "collision": Collision,
    "gate": Gate,
}
# Real robots in the plant's place; no other tool is given one by accident.
DRIVERS: dict[str, Callable[..., Slave]] = {"canopen": CanopenRobot, "egm": EgmRobot}
_CLASSES = UNITS | DRIVERS
# The units that can stand in the loop as its control: all with the same inputs and outputs.
CONTROLLERS = ("control", "computed_torque", "pid")
# Zip entries carry a date; this is the earliest one the format has.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def instantiate(kind: str, robot: Robot, obstacles: tuple[Obstacle, ...] = (), name: str | None = None) -> Slave:
    """A unit as a plain Python object, not behind the FMI."""
    with tempfile.TemporaryDirectory() as folder:
        _write_resources(Path(folder), kind, robot, obstacles, guid="")
        return _CLASSES[kind](instance_name=name or kind, resources=folder)


def build(kind: str, robot: Robot, path: Path, obstacles: tuple[Obstacle, ...] = ()) -> Path:
    """Write the unit `kind` (a key of UNITS or DRIVERS) for a robot in its scene to `path`."""
    if kind not in _CLASSES:
        raise ValueError(f"there is no unit {kind!r}; there are {', '.join(_CLASSES)}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _write_resources(folder, kind, robot, obstacles, guid="")
        description = _describe(kind, robot, folder)
        library = shell_library().read_bytes()
        guid = _guid(tostring(description), library, *(file.read_bytes() for file in sorted(folder.iterdir())))
        _write_resources(folder, kind, robot, obstacles, guid)
        description.set("guid", guid)
        identifier = description.find("CoSimulation").get("modelIdentifier")  # type: ignore[union-attr]
        entries = {f"binaries/{_platform_folder()}/{identifier}{_library_suffix()}": library}
        entries |= {f"resources/{file.name}": file.read_bytes() for file in sorted(folder.iterdir())}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_archive({"modelDescription.xml": _xml_bytes(description), **entries}))
    return path


def build_all(robot: Robot, folder: Path, obstacles: tuple[Obstacle, ...] = ()) -> dict[str, Path]:
    """Write every unit for a robot in its scene into `folder`."""
    return {kind: build(kind, robot, folder / f"{kind}.fmu", obstacles) for kind in UNITS}


def shell_library() -> Path:
    """The compiled FMI library that goes into every unit."""
    spec = importlib.util.find_spec("simloop.fmus._shell")
    if spec is None or spec.origin is None:
        raise RuntimeError("the FMI library of simloop is not compiled; install simloop with a C compiler at hand")
    return Path(spec.origin)


def _write_resources(folder: Path, kind: str, robot: Robot, obstacles: tuple[Obstacle, ...], guid: str) -> None:
    cls = _CLASSES[kind]
    unit = {
        "module": cls.__module__,
        "class": cls.__name__,
        "guid": guid,
        "home": robot.home,
        "tools": robot.tools,
        "max_speed": robot.max_speed,
        "gate": robot.gate,
    }
    (folder / UNIT).write_text(json.dumps(unit, indent=1, sort_keys=True), encoding="utf-8")
    (folder / MODEL).write_text(scene_mjcf(robot, obstacles), encoding="utf-8")


def _describe(kind: str, robot: Robot, resources: Path) -> Element:
    slave = _CLASSES[kind](instance_name=kind, resources=str(resources))
    slave.modelName = f"simloop_{kind}"
    description = slave.to_xml()
    description.set("modelName", f"simloop.{robot.name}.{kind}")
    return description


def _guid(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return f"{{{uuid.UUID(bytes=digest.digest()[:16], version=5)}}}"


def _platform_folder() -> str:
    system = {"linux": "linux", "win32": "win", "darwin": "darwin"}[sys.platform]
    return system + ("64" if platform.architecture()[0] == "64bit" else "32")


def _library_suffix() -> str:
    return {"linux": ".so", "win32": ".dll", "darwin": ".dylib"}[sys.platform]


def _xml_bytes(root: Element) -> bytes:
    indent(root)
    return bytes(tostring(root, encoding="UTF-8", xml_declaration=True))


def _archive(entries: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(zipfile.ZipInfo(name, date_time=_EPOCH), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
