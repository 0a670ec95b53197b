"""What the exporter puts into a unit's resources folder for its slave to read."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any

MODEL = "model.xml"
UNIT = "unit.json"
# What the unit's FMI library reads and runs (fmi2_choose.c): the script that serves the unit, the interpreter that
# exported it, what it needs in words, and what pip installs for it.
START, PYTHON, NEEDS, REQUIREMENTS = "start.py", "python.txt", "needs.txt", "requirements.txt"
# The simloop that travels in a bundled unit, and the file in it that tells its version.
BUNDLE = "bundle"
VERSION = "VERSION"


def this_version() -> str:
    """The version of the simloop that this is, be it installed or bundled."""
    bundled = Path(__file__).with_name(VERSION)
    return bundled.read_text(encoding="utf-8") if bundled.exists() else importlib.metadata.version("simloop")


def read_model(resources: str) -> str:
    """The MJCF of the robot and its scene."""
    return (Path(resources) / MODEL).read_text(encoding="utf-8")


def read_home(resources: str) -> tuple[float, ...]:
    """The joint position at the start."""
    return tuple(_unit(resources)["home"])


def read_tools(resources: str) -> tuple[str, ...]:
    """The names of the tool sites."""
    return tuple(_unit(resources)["tools"])


def read_gate(resources: str) -> str:
    """The name of the module that says which positions may be commanded; empty when there is none."""
    return str(_unit(resources)["gate"])


def read_max_speed(resources: str) -> tuple[float, ...]:
    """The greatest speed of each joint; empty when nothing is known."""
    return tuple(_unit(resources)["max_speed"])


def _unit(resources: str) -> dict[str, Any]:
    unit: dict[str, Any] = json.loads((Path(resources) / UNIT).read_text(encoding="utf-8"))
    return unit
