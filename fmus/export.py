"""Write units as `.fmu` files. The same unit gives the same bytes."""

from __future__ import annotations

import hashlib
import importlib.metadata
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

from simloop.fmus import serve, start_script
from simloop.fmus.collision import Collision
from simloop.fmus.computed_torque import ComputedTorque
from simloop.fmus.control import Control
from simloop.fmus.description import describe
from simloop.fmus.documentation import write_page
from simloop.fmus.driver import CanopenRobot, EgmRobot
from simloop.fmus.gate import Gate
from simloop.fmus.goal import GoalUnit
from simloop.fmus.operator import Operator
from simloop.fmus.packing import Pack, installed
from simloop.fmus.path import PathPlanner
from simloop.fmus.pid import Pid
from simloop.fmus.planner import Planner
from simloop.fmus.plant import Plant
from simloop.fmus.playback import Playback
from simloop.fmus.resources import MODEL, NEEDS, PYTHON, REQUIREMENTS, START, UNIT, this_version
from simloop.fmus.slave import Slave
from simloop.models.picture import draw
from simloop.models.robot import Obstacle, Robot, scene_mjcf

UNITS: dict[str, Callable[..., Slave]] = {
    "planner": Planner,
    "playback": Playback,
    "path": PathPlanner,
    "goal": GoalUnit,
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
OLDEST_PYTHON = "3.11"
# Zip entries carry a date; this is the earliest one the format has.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def instantiate(kind: str, robot: Robot, obstacles: tuple[Obstacle, ...] = (), name: str | None = None) -> Slave:
    """A unit as a plain Python object, not behind the FMI."""
    with tempfile.TemporaryDirectory() as folder:
        _write_resources(Path(folder), kind, robot, obstacles, guid="")
        return _CLASSES[kind](instance_name=name or kind, resources=folder)


def build(kind: str, robot: Robot, path: Path, obstacles: tuple[Obstacle, ...] = (), pack: Pack = installed) -> Path:
    """Write the unit `kind` (a key of UNITS or DRIVERS) for a robot in its scene to `path`; `pack` says how its code
    travels."""
    if kind not in _CLASSES:
        raise ValueError(f"there is no unit {kind!r}; there are {', '.join(_CLASSES)}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _write_resources(folder, kind, robot, obstacles, guid="")
        slave = _CLASSES[kind](instance_name=kind, resources=str(folder))
        description = describe(kind, robot, slave)
        parts = {"library": shell_library().read_bytes(), **_travelling(kind, robot, pack)}
        model = [file.read_bytes() for file in sorted(folder.iterdir())]
        guid = make_guid(tostring(description), *parts.values(), *model)
        _write_resources(folder, kind, robot, obstacles, guid)
        description.set("guid", guid)
        entries = {library_path(description): parts.pop("library")}
        resources = {file.name: file.read_bytes() for file in sorted(folder.iterdir())} | parts
    # Which interpreter this is does not change what the unit is, so it stays out of the GUID.
    resources[PYTHON] = sys.executable.encode()
    entries |= {f"resources/{name}": data for name, data in resources.items()}
    return write_archive(path, description, entries | document(slave, description, robot))


def build_all(
    robot: Robot, folder: Path, obstacles: tuple[Obstacle, ...] = (), pack: Pack = installed
) -> dict[str, Path]:
    """Write every unit for a robot in its scene into `folder`."""
    return {kind: build(kind, robot, folder / f"{kind}.fmu", obstacles, pack) for kind in UNITS}


def _travelling(kind: str, robot: Robot, pack: Pack) -> dict[str, bytes]:
    """What the unit's FMI library needs to run the model, by its path in the resources folder."""
    modules = [_CLASSES[kind].__module__, serve.__name__]
    if robot.gate:
        modules.append(f"simloop.models.{robot.gate}")
    packing = pack(modules)
    packages = ", ".join(requirement.replace("==", " ") for requirement in packing.requirements)
    return {
        START: Path(start_script.__file__).read_bytes(),
        NEEDS: f"Python {OLDEST_PYTHON} or newer with {packages}\n".encode(),
        REQUIREMENTS: "".join(f"{requirement}\n" for requirement in packing.requirements).encode(),
        **packing.files,
    }


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
        "version": this_version(),
    }
    (folder / UNIT).write_text(json.dumps(unit, indent=1, sort_keys=True), encoding="utf-8")
    (folder / MODEL).write_text(scene_mjcf(robot, obstacles), encoding="utf-8")


def document(slave: Slave, description: Element, robot: Robot) -> dict[str, bytes]:
    """The pages for a person that go into a unit, by their path in the archive."""
    # A checkout may stand in the way with a record of its own, which has no licence.
    copies = (found.read_text("licenses/LICENSE") for found in importlib.metadata.distributions(name="simloop"))
    licence = next((text for text in copies if text), None)
    if licence is None:
        raise RuntimeError("simloop is installed without its licence, which every unit carries")
    page = write_page(description, slave.descriptions, draw(robot.mjcf, robot.home))
    return {"documentation/index.html": page.encode(), "documentation/licenses/license.txt": licence.encode()}


def make_guid(*parts: bytes) -> str:
    """A GUID that is the same for the same parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return f"{{{uuid.UUID(bytes=digest.digest()[:16], version=5)}}}"


def _platform_folder() -> str:
    system = {"linux": "linux", "win32": "win", "darwin": "darwin"}[sys.platform]
    return system + ("64" if platform.architecture()[0] == "64bit" else "32")


def _library_suffix() -> str:
    return {"linux": ".so", "win32": ".dll", "darwin": ".dylib"}[sys.platform]


def library_path(description: Element) -> str:
    """Where in the archive a library for this machine belongs."""
    identifier = description.find("CoSimulation").get("modelIdentifier")  # type: ignore[union-attr]
    return f"binaries/{_platform_folder()}/{identifier}{_library_suffix()}"


def write_archive(path: Path, description: Element, entries: dict[str, bytes]) -> Path:
    """Write a unit: its description, and the other files by their path in the archive."""
    indent(description)
    xml = bytes(tostring(description, encoding="UTF-8", xml_declaration=True))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {"modelDescription.xml": xml, **entries}.items():
            archive.writestr(zipfile.ZipInfo(name, date_time=_EPOCH), data, zipfile.ZIP_DEFLATED)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(buffer.getvalue())
    return path
