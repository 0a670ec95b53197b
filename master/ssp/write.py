"""Write a system of FMU files as a system structure package (.ssp). The same system gives the same bytes."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

from simloop.master.component import Component, Value
from simloop.master.fmu import FmuComponent
from simloop.master.measure import BASES, Measure
from simloop.master.ssp.note import ScheduleNote, write_note
from simloop.master.ssp.read import DEFAULT
from simloop.master.ssp.xml import ANNOTATION, SSC, SSD, SSV, SspError
from simloop.master.system import Connection, System
from simloop.master.transform import Elementwise, Linear, Lookup, Scalar
from simloop.master.values import is_number

# Readers in the field look for these prefixes as they stand, not for the namespaces that they mean.
_PREFIXES = {"ssd": SSD, "ssc": SSC, "ssv": SSV, "simloop": ANNOTATION}
# Zip entries carry a date; this is the earliest one the format has.
_EPOCH = (1980, 1, 1, 0, 0, 0)
PARAMETERS = "parameters"


def write_ssp(
    system: System, path: Path, name: str, *, stop: float | None = None, note: ScheduleNote | None = None
) -> Path:
    """Write `system`, its FMUs and the values that are set in it to `path`; `stop` ends the default experiment, s."""
    units = {component.name: _unit_of(component) for component in system.components.values()}
    files = _file_names(units)
    entries = {DEFAULT: _to_bytes(_description(system, name, files, stop, note))}
    for component in system.components:
        values = {variable: value for (owner, variable), value in system.values.items() if owner == component}
        if values:
            entries[_values_file(files, component)] = _to_bytes(_parameter_set(system.components[component], values))
    entries |= {files[component]: units[component].read_bytes() for component in units}
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(path.name + ".part")
    half.write_bytes(_archive(entries))
    return half.replace(path)


def _unit_of(component: Component) -> Path:
    if not isinstance(component, FmuComponent):
        raise SspError(f"{component.name!r} cannot go into a package: it is a Python object, not an FMU file")
    return component.path


def _file_names(units: dict[str, Path]) -> dict[str, str]:
    """Where each component's FMU goes; components on one file share it."""
    names: dict[Path, str] = {}
    for component, path in units.items():
        if path not in names:
            usual = f"resources/{_plain(path.stem)}.fmu"
            taken = usual in names.values()
            names[path] = f"resources/{_plain(component)}-{len(names)}.fmu" if taken else usual
    return {component: names[path] for component, path in units.items()}


def _plain(name: str) -> str:
    """A name that needs no escaping in a URI and cannot be mistaken by any file system."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def _values_file(files: dict[str, str], component: str) -> str:
    return f"resources/{list(files).index(component) + 1}-{_plain(component)}.ssv"


def _description(
    system: System, name: str, files: dict[str, str], stop: float | None, note: ScheduleNote | None
) -> Element:
    root = Element(f"{SSD}SystemStructureDescription", _about(name))
    inside = SubElement(root, f"{SSD}System", name=_plain(name))
    elements = SubElement(inside, f"{SSD}Elements")
    connections = system.connections()
    driven = {(each.target, taken) for each in connections for taken in each.inputs}
    for component in system.components.values():
        bound = any(owner == component.name for owner, _ in system.values)
        values = _values_file(files, component.name) if bound else None
        _component(elements, component, files[component.name], values, driven)
    if connections:
        wires = SubElement(inside, f"{SSD}Connections")
        for connection in connections:
            _connection(wires, system, connection)
    measures = _measures(system.components.values())
    if measures:
        _units(SubElement(root, f"{SSD}Units"), measures)
    if stop is not None:
        SubElement(root, f"{SSD}DefaultExperiment", startTime="0", stopTime=repr(float(stop)))
    if note is not None:
        annotations = SubElement(root, f"{SSD}Annotations")
        write_note(SubElement(annotations, f"{SSC}Annotation", type="simloop"), note)
    return root


def _about(name: str) -> dict[str, str]:
    return {"version": "1.0", "name": name, "generationTool": f"simloop {version('simloop')}"}


def _component(
    parent: Element, component: Component, source: str, values: str | None, driven: set[tuple[str, str]]
) -> None:
    element = SubElement(parent, f"{SSD}Component", name=component.name, source=source)
    element.set("type", "application/x-fmu-sharedlibrary")
    # Inputs that nothing drives are left out: fmpy would join them to whatever connection came before. So are texts,
    # which nothing here connects and fmpy refuses.
    listed = [
        variable
        for variable in component.variables.values()
        if is_number(variable) and (variable.causality == "output" or (component.name, variable.name) in driven)
    ]
    if listed:
        connectors = SubElement(element, f"{SSD}Connectors")
        for variable in listed:
            connector = SubElement(connectors, f"{SSD}Connector", name=variable.name, kind=variable.causality)
            typed = SubElement(connector, f"{SSC}{variable.type}")
            if variable.type == "Real" and variable.measure is not None:
                typed.set("unit", variable.measure.name)
    if values is not None:
        bindings = SubElement(element, f"{SSD}ParameterBindings")
        SubElement(bindings, f"{SSD}ParameterBinding", source=values)


def _connection(parent: Element, system: System, connection: Connection) -> None:
    change = connection.transform
    each = change.each if isinstance(change, Elementwise) else (change,) * len(connection.inputs)
    for output, taken, transform in zip(connection.outputs, connection.inputs, each, strict=True):
        ends = {"startElement": connection.source, "startConnector": output}
        element = SubElement(
            parent, f"{SSD}Connection", {**ends, "endElement": connection.target, "endConnector": taken}
        )
        one = system.components[connection.source].variables[output].measure
        other = system.components[connection.target].variables[taken].measure
        if transform is not None or (one != other and one is not None and other is not None):
            # A transform here has the conversion of units in it, and not every tool converts.
            element.set("suppressUnitConversion", "true")
        if transform is not None:
            _transformation(element, f"{connection.target}.{taken}", transform)


def _transformation(parent: Element, name: str, transform: Scalar) -> None:
    match transform:
        case Linear(factor, offset):
            SubElement(parent, f"{SSC}LinearTransformation", factor=repr(factor), offset=repr(offset))
        case Lookup(pairs) if all(isinstance(value, bool) for pair in pairs for value in pair):
            _table(SubElement(parent, f"{SSC}BooleanMappingTransformation"), pairs)
        case Lookup(pairs):
            _table(SubElement(parent, f"{SSC}IntegerMappingTransformation"), pairs)
        case _:
            raise SspError(f"the connection to {name} scales and maps, which SSP cannot express in one")


def _table(parent: Element, pairs: Iterable[tuple[float, float]]) -> None:
    for pair in pairs:
        source, target = (str(value).lower() if isinstance(value, bool) else str(int(value)) for value in pair)
        SubElement(parent, f"{SSC}MapEntry", source=source, target=target)


def _measures(components: Iterable[Component]) -> list[Measure]:
    """The units of measure in use, one of each name."""
    found: dict[str, Measure] = {}
    for component in components:
        for variable in component.variables.values():
            measure = variable.measure
            if measure is None or variable.type != "Real":
                continue
            if found.setdefault(measure.name, measure) != measure:
                raise SspError(f"the unit {measure.name!r} of {component.name!r} is defined otherwise by another FMU")
    return [found[name] for name in sorted(found)]


def _units(parent: Element, measures: Iterable[Measure]) -> None:
    for measure in measures:
        powers = zip(BASES, measure.exponents, strict=True)
        base = {name: str(power) for name, power in powers if power}
        if measure.factor != 1.0:
            base["factor"] = repr(measure.factor)
        if measure.offset != 0.0:
            base["offset"] = repr(measure.offset)
        SubElement(SubElement(parent, f"{SSC}Unit", name=measure.name), f"{SSC}BaseUnit", base)


def _parameter_set(component: Component, values: dict[str, Value]) -> Element:
    root = Element(f"{SSV}ParameterSet", _about(PARAMETERS))
    parameters = SubElement(root, f"{SSV}Parameters")
    used: dict[str, Measure] = {}
    for name, value in values.items():
        variable = component.variables[name]
        parameter = SubElement(parameters, f"{SSV}Parameter", name=name)
        text = str(value).lower() if isinstance(value, bool) else str(value)
        typed = SubElement(parameter, f"{SSV}{variable.type}", value=text)
        if variable.type == "Real" and variable.measure is not None:
            typed.set("unit", variable.measure.name)
            used[variable.measure.name] = variable.measure
    if used:
        _units(SubElement(root, f"{SSV}Units"), [used[name] for name in sorted(used)])
    return root


def _to_bytes(root: Element) -> bytes:
    for prefix, namespace in _PREFIXES.items():
        ET.register_namespace(prefix, namespace.strip("{}"))
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="UTF-8", xml_declaration=True)
    return data


def _archive(entries: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in entries.items():
            # An FMU is packed already.
            kind = zipfile.ZIP_STORED if name.endswith(".fmu") else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name, date_time=_EPOCH), data, kind)
    return buffer.getvalue()
