"""A system structure package (.ssp) as a system that can be run."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from simloop.master.archive import unpack
from simloop.master.component import Component, Value
from simloop.master.fmu import FmuComponent
from simloop.master.measure import convert
from simloop.master.ssp.note import ScheduleNote, read_note
from simloop.master.ssp.read import DEFAULT, Package
from simloop.master.ssp.structure import Group, Part, Structure, Unit
from simloop.master.ssp.values import Setting
from simloop.master.ssp.wiring import Net, Node, Reached
from simloop.master.ssp.xml import SspError
from simloop.master.system import System
from simloop.master.transform import Linear, Lookup, Scalar, compose


@dataclass(frozen=True)
class LoadedSystem:
    """A system from a package, flat: a component inside a subsystem is named with dots.

    `inputs` has for each input and parameter of the whole system the variables that it reaches, each as
    "component.variable" with what happens to the value on the way. `stop` is when the default experiment ends, s.
    `notes` tells what was left out or decided, each a clause.
    """

    name: str
    system: System
    inputs: Mapping[str, tuple[tuple[str, Scalar | None], ...]]
    stop: float | None
    schedule: ScheduleNote | None
    notes: tuple[str, ...]


def load_ssp(path: Path | str, description: str = DEFAULT) -> LoadedSystem:
    """Load a package; `description` names another of the system structures in it."""
    folder = tempfile.mkdtemp(prefix="simloop-ssp-")
    system = System()
    # The units' files stay for as long as the system does, so that it can be written again.
    weakref.finalize(system, shutil.rmtree, folder, ignore_errors=True)
    try:
        unpack(Path(path), Path(folder))
        notes: list[str] = []
        structure = Package(Path(folder), notes).read(description)
        return _load(structure, system, notes)
    except SspError as error:
        system.close()
        raise SspError(f"{str(path)!r}: {error}") from error.__cause__
    except BaseException:
        system.close()
        raise


def _load(structure: Structure, system: System, notes: list[str]) -> LoadedSystem:
    for component in _components(structure.system, ()):
        system.add(component)
    net = Net(structure.system, system.components)
    _connect(system, net)
    for path, part in _parts(structure.system, ()):
        for setting in part.settings:
            _set(system, net, part, path, setting, notes)
    _leave_at_start(system)
    if structure.start:
        notes.append(f"the default experiment starts at {structure.start:g} s; a run starts at 0 s here")
    inputs = {
        connector.name: tuple(
            (f"{each.component}.{each.variable}", compose(each.links))
            for each in net.reached.get(Node((), connector.name), ())
        )
        for connector in structure.system.connectors.values()
        if connector.kind in ("input", "parameter")
    }
    note = None if structure.annotation is None else read_note(structure.annotation)
    return LoadedSystem(structure.name, system, inputs, structure.stop, note, tuple(notes))


def _components(part: Part, path: tuple[str, ...]) -> Iterator[Component]:
    if isinstance(part, Unit):
        yield FmuComponent(".".join(path), part.path)
    elif isinstance(part, Group):
        for inner in part.parts:
            yield from _components(inner, (*path, inner.name))


def _parts(part: Part, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Part]]:
    """What is inside before what is outside: a system's settings win over those of its elements."""
    if isinstance(part, Group):
        for inner in part.parts:
            yield from _parts(inner, (*path, inner.name))
    yield path, part


def _connect(system: System, net: Net) -> None:
    """One connection for each pair of components, with all that goes from the one to the other."""
    pairs: dict[tuple[str, str], list[tuple[str, str, Scalar | None]]] = {}
    for drive in net.drives:
        between = pairs.setdefault((drive.component, drive.target.component), [])
        between.append((drive.variable, drive.target.variable, compose(drive.target.links)))
    for (source, target), wires in pairs.items():
        outputs, inputs, transforms = zip(*wires, strict=True)
        system.join(source, outputs, target, inputs, transforms)


def _set(system: System, net: Net, part: Part, path: tuple[str, ...], setting: Setting, notes: list[str]) -> None:
    node, reached = _resolve(system, net, part, path, setting.target)
    if not reached:
        where = ".".join((*path, setting.target))
        notes.append(f"nothing here has the name {where!r} that a parameter set gives a value to")
    for each in reached:
        value = _transformed(system, net, node, each, setting)
        system.start(f"{each.component}.{each.variable}", value)


def _transformed(system: System, net: Net, node: Node, reached: Reached, setting: Setting) -> Value:
    if isinstance(setting.value, str):
        return setting.value
    links: list[Linear | Lookup] = []
    component = system.components.get(".".join(node.path))
    own = None if component is None else component.variables[node.connector].measure
    measure = own or net.measure(node)
    if setting.converts and setting.measure is not None and measure is not None:
        between = convert(setting.measure, measure)
        if between is None:
            raise SspError(f"the value of {node} is given in {setting.measure}, but it is in {measure}")
        links.append(between)
    if setting.transform is not None:
        links.append(setting.transform)
    change = compose([*links, *reached.links])
    return setting.value if change is None else change.of(float(setting.value))


def _resolve(system: System, net: Net, part: Part, path: tuple[str, ...], name: str) -> tuple[Node, list[Reached]]:
    """The connector or variable with a hierarchical name inside a part, and what it reaches."""
    node = Node(path, name)
    if isinstance(part, Unit):
        component = ".".join(path)
        known = name in system.components[component].variables
        return node, [Reached(component, name)] if known else []
    if name in part.connectors:
        return node, net.reached.get(node, [])
    if isinstance(part, Group):
        for inner in part.parts:
            if name.startswith(f"{inner.name}."):
                rest = name.removeprefix(f"{inner.name}.")
                found = _resolve(system, net, inner, (*path, inner.name), rest)
                if found[1]:
                    return found
    return node, []


def _leave_at_start(system: System) -> None:
    """Inputs that nothing drives or sets keep what the units' descriptions give them."""
    for name, variable in system.undriven_inputs():
        about = system.components[name].variables[variable]
        if about.type == "Real" and (name, variable) not in system.values and about.start is not None:
            system.set(f"{name}.{variable}", about.start)
