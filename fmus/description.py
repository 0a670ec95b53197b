"""The model description of a unit: what a host knows of it before it loads it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from pythonfmu import Boolean, Fmi2Causality, Integer, Real, String
from pythonfmu.enums import Fmi2Variability
from simloop.fmus.resources import this_version
from simloop.fmus.slave import Kind, Port, Role, Slave
from simloop.models.robot import Robot

# Exponents of the SI base units, as fmi2 UnitDefinitions want them. Units are written as they are spoken.
SI_UNITS: dict[str, dict[str, int]] = {
    "1": {},
    "s": {"s": 1},
    "m": {"m": 1},
    "m/s": {"m": 1, "s": -1},
    "m/s2": {"m": 1, "s": -2},
    "rad": {"rad": 1},
    "rad/s": {"rad": 1, "s": -1},
    "N": {"kg": 1, "m": 1, "s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2},
    "1/kg": {"kg": -1},
    "1/(kg.m2)": {"kg": -1, "m": -2},
}
_TYPES = {Kind.REAL: Real, Kind.INTEGER: Integer, Kind.BOOLEAN: Boolean, Kind.STRING: String}


@dataclass(frozen=True)
class _Scalar:
    """An element of a port; `limits` are by the attributes that tell them, None where nothing is promised."""

    name: str
    port: Port
    unit: str
    start: Any
    limits: dict[str, Any]


def describe(kind: str, robot: Robot, slave: Slave) -> Element:
    """The model description of a unit, but for its GUID; it has no date."""
    slave.modelName = f"simloop_{kind}"
    scalars = [scalar for port in slave.descriptions for scalar in _scalars(port)]
    slave.vars.clear()
    for scalar in scalars:
        slave.register_variable(_registered(scalar))
    keeps = "true" if slave.keeps_state else "false"
    options = {"canGetAndSetFMUstate": keeps, "canSerializeFMUstate": keeps, "needsExecutionTool": "true"}
    root: Element = slave.to_xml(options)
    root.attrib.pop("generationDateAndTime", None)
    root.attrib.pop("guid", None)
    root.set("modelName", f"simloop.{robot.name}.{kind}")
    root.set("version", this_version())
    root.set("generationTool", f"simloop {this_version()}")
    _write_units(root, scalars)
    _write_values(root, scalars)
    _write_dependencies(root, scalars)
    return root


def _scalars(port: Port) -> list[_Scalar]:
    limits = {"min": port.each(port.least), "max": port.each(port.most), "nominal": port.each(port.nominal)}
    units, starts = port.each(port.unit), port.each(port.start)
    return [
        _Scalar(name, port, units[i], starts[i], {word: values[i] for word, values in limits.items()})
        for i, name in enumerate(port.elements())
    ]


def _registered(scalar: _Scalar) -> Any:
    port = scalar.port
    common = {
        "causality": Fmi2Causality[port.role.name.lower()],
        "variability": Fmi2Variability[port.variability],
        "description": port.description,
        "getter": lambda: scalar.start,
    }
    if port.role is not Role.OUTPUT:
        common["start"] = scalar.start
    return _TYPES[port.kind](scalar.name, **common)


def _write_units(root: Element, scalars: Sequence[_Scalar]) -> None:
    definitions = Element("UnitDefinitions")
    for unit in sorted({scalar.unit for scalar in scalars if scalar.port.kind is Kind.REAL}):
        exponents = {base: str(power) for base, power in SI_UNITS[unit].items()}
        SubElement(SubElement(definitions, "Unit", name=unit), "BaseUnit", exponents)
    root.insert([child.tag for child in root].index("CoSimulation") + 1, definitions)


def _write_values(root: Element, scalars: Sequence[_Scalar]) -> None:
    """The unit of each variable, its start in full, and its limits."""
    for variable, scalar in zip(root.iterfind("ModelVariables/ScalarVariable"), scalars, strict=True):
        element, real = variable[0], scalar.port.kind is Kind.REAL
        if real:
            element.set("unit", scalar.unit)
            if scalar.port.role is not Role.OUTPUT:
                element.set("start", repr(float(scalar.start)))
        for word, value in scalar.limits.items():
            if value is not None and math.isfinite(value):
                element.set(word, repr(float(value)) if real else str(int(value)))


def _write_dependencies(root: Element, scalars: Sequence[_Scalar]) -> None:
    """Outputs change in steps only; their first values follow what their ports say."""
    structure = root.find("ModelStructure")
    assert structure is not None
    structure.clear()
    outputs, initial = SubElement(structure, "Outputs"), SubElement(structure, "InitialUnknowns")
    for index, scalar in enumerate(scalars, start=1):
        if scalar.port.role is Role.OUTPUT:
            known = [str(i) for i, other in enumerate(scalars, start=1) if other.port.name in scalar.port.starts_from]
            SubElement(outputs, "Unknown", index=str(index), dependencies="")
            SubElement(initial, "Unknown", index=str(index), dependencies=" ".join(known))
