"""Read a unit's model description: what fmpy makes of it, and what it gets wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn
from xml.etree import ElementTree as ET

import fmpy
from fmpy.model_description import ValidationError
from simloop.master.archive import one_line
from simloop.master.component import Variable
from simloop.master.errors import SimloopError
from simloop.master.measure import measure_of, measures_of
from simloop.master.values import TYPES, Family, Value

NAME = "modelDescription.xml"
# Far above any unit in use: bytes of the file, and scalars that it may describe, elements of arrays counted.
MOST_BYTES = 128 * 2**20
MOST_SCALARS = 1_000_000
_C_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True)
class Description:
    """The description of a co-simulation unit.

    `model` is fmpy's object of it. `periods` are interval and first tick, s, of the clocks that the host has to tick,
    by value reference.
    """

    model: Any
    variables: dict[str, Variable]
    periods: dict[int, tuple[float, float]]

    @property
    def version(self) -> int:
        return 2 if self.model.fmiVersion == "2.0" else 3

    @property
    def abilities(self) -> Any:
        return self.model.coSimulation


def read_description(folder: Path, path: Path) -> Description:
    """The description in the folder into which the unit `path` was unpacked, or one sentence on what is wrong."""
    try:
        root = _parse(folder / NAME)
        # A path to the XML file itself: for a folder fmpy would also read other files, which were not checked.
        model = fmpy.read_model_description(str(folder / NAME))
        _check(model)
        variables = _joined({v.name: v for v in _scalars(model, root)}, model)
        return Description(model, variables, _periods(model, root))
    except FileNotFoundError as error:
        raise SimloopError(f"{str(path)!r} is not an FMU: it has no {NAME}") from error
    except _ContradictionError as refused:
        raise SimloopError(f"{str(path)!r} is not a unit that can be used: {refused}") from None
    # fmpy has no exception of its own for what a file can get wrong.
    except Exception as error:
        raise SimloopError(f"{str(path)!r} is not an FMU that can be read: {one_line(error)}") from error


def broken_rules(folder: Path) -> list[str]:
    """What a description that could be read still has against the rules: its variables' names, its structure."""
    try:
        fmpy.read_model_description(str(folder / NAME), validate_variable_names=True, validate_model_structure=True)
    except ValidationError as error:
        return [" ".join(str(problem).split()) for problem in error.problems]
    return []


class _ContradictionError(Exception):
    """What a description gets wrong that its schema allows."""


class _NoDoctype(ET.TreeBuilder):
    """Entities are declared in a DOCTYPE; FMI has none, so nothing can be expanded or fetched."""

    def doctype(self, name: str, public: str | None, system: str | None) -> NoReturn:
        raise _ContradictionError(f"its {NAME} has a DOCTYPE, which could declare entities")


def _parse(file: Path) -> ET.Element:
    if file.stat().st_size > MOST_BYTES:
        raise _ContradictionError(f"its {NAME} has {file.stat().st_size} bytes; at most {MOST_BYTES} are allowed")
    return ET.fromstring(file.read_bytes(), parser=ET.XMLParser(target=_NoDoctype()))


def _check(model: Any) -> None:
    if model.fmiVersion != "2.0" and not str(model.fmiVersion).startswith("3."):
        raise _ContradictionError(f"it is of FMI {model.fmiVersion}; FMI 2.0 and 3.0 can be used")
    if model.coSimulation is None:
        raise _ContradictionError("it is not for co-simulation")
    identifier = model.coSimulation.modelIdentifier
    if not _C_NAME.fullmatch(identifier or ""):
        raise _ContradictionError(f"its model identifier is {identifier!r}, which is not a name in C")
    if not model.guid:
        raise _ContradictionError("it has neither GUID nor instantiation token")
    seen: dict[tuple[int, Family], Any] = {}
    for v in model.modelVariables:
        # In FMI 2.0 each type that has functions of its own counts its references from 0; enumerations are integers.
        kind = TYPES[v.type].family
        if model.fmiVersion != "2.0":
            kind = Family.REAL
        elif kind is Family.ENUMERATION:
            kind = Family.WHOLE
        other = seen.setdefault((v.valueReference, kind), v)
        if other.type != v.type or other.shape != v.shape:
            raise _ContradictionError(
                f"{other.name} ({other.type}) and {v.name} ({v.type}) have the same value reference {v.valueReference}"
            )


def _scalars(model: Any, root: ET.Element) -> Iterator[Variable]:
    """Every scalar; an array gives one for each of its elements, `name[1]`, `name[2]`, … row by row."""
    texts = {e.get("name"): [s.get("value", "") for s in e.findall("Start")] for e in root.iter("String")}
    texts |= {e.get("name"): [s.get("value", "") for s in e.findall("Start")] for e in root.iter("Binary")}
    names: set[str] = set()
    for v in model.modelVariables:
        size = _size(v)
        original = getattr(v, "alias", None) or v  # fmpy 0.3.20 has no aliases
        starts = texts.get(original.name) or ([] if v.start is None else _words(v, size))
        if len(starts) not in (0, 1, size):
            raise _ContradictionError(f"{v.name} has {size} elements and {len(starts)} start values")
        for index in range(size):
            name = f"{v.name}[{index + 1}]" if v.dimensions else v.name
            if name in names:
                raise _ContradictionError(f"it has two variables {name}")
            names.add(name)
            if len(names) > MOST_SCALARS:
                raise _ContradictionError(f"it has more than {MOST_SCALARS} variables")
            start = starts[index if len(starts) == size else 0] if starts else None
            yield _scalar(v, name, index, size, start)


def _joined(variables: dict[str, Variable], model: Any) -> dict[str, Variable]:
    """The variables with what other parts of the description say of them: their units and what they follow at once."""
    measures = measures_of(model)
    elements: dict[str, list[str]] = {}
    for v in model.modelVariables:
        size = math.prod(v.shape or ())
        elements[v.name] = [f"{v.name}[{i + 1}]" for i in range(size)] if v.dimensions else [v.name]
    follows = {
        unknown.variable.name: tuple(name for known in unknown.dependencies for name in elements[known.name])
        for unknown in model.outputs
        if unknown.dependencies is not None
    }
    joined = {}
    for v in model.modelVariables:
        unit, measure = measure_of(v, measures)
        for name in elements[v.name]:
            joined[name] = replace(variables[name], unit=unit, measure=measure, dependencies=follows.get(v.name))
    return joined


def _words(v: Any, size: int) -> list[str]:
    return str(v.start).split() if v.dimensions and size != 0 else [v.start]


def _size(v: Any) -> int:
    if any(extent < 0 for extent in v.shape or ()):
        raise _ContradictionError(f"{v.name} has a negative dimension")
    size = math.prod(v.shape or ())
    if size > MOST_SCALARS:
        raise _ContradictionError(f"{v.name} has {size} elements; at most {MOST_SCALARS} are allowed")
    return size


def _scalar(v: Any, name: str, index: int, size: int, start: str | None) -> Variable:
    declared = v.declaredType
    items = tuple((item.name, int(item.value)) for item in declared.items) if declared is not None else ()
    low, high = (_bound(v, declared, end, default) for end, default in (("min", -math.inf), ("max", math.inf)))
    return Variable(
        name,
        v.causality,
        v.type,
        None,
        v.valueReference,
        start=None if start is None else _start(v, start),
        variability=v.variability,
        index=index,
        size=size,
        items=items if v.type == "Enumeration" else (),
        low=low,
        high=high,
    )


def _bound(v: Any, declared: Any, end: str, default: float) -> float:
    text = getattr(v, end)
    if text is None and declared is not None:
        text = getattr(declared, end)
    return default if text is None else float(text)


def _start(v: Any, text: str) -> Value:
    kind = TYPES[v.type].family
    try:
        if kind is Family.REAL:
            return float(text)
        if kind in (Family.WHOLE, Family.ENUMERATION):
            return int(text)
        if kind is Family.BINARY:
            return bytes.fromhex(text)
        return text in ("true", "1") if kind in (Family.BOOLEAN, Family.CLOCK) else text
    except ValueError:
        raise _ContradictionError(f"the start of {v.name} is {text!r}, which is not of type {v.type}") from None


def _periods(model: Any, root: ET.Element) -> dict[int, tuple[float, float]]:
    """fmpy leaves out the attributes of clocks."""
    if not model.coSimulation.hasEventMode:
        return {}
    periods = {}
    for clock in root.iter("Clock"):
        if clock.get("causality") != "input" or clock.get("intervalVariability") == "triggered":
            continue
        name, interval = clock.get("name"), float(clock.get("intervalDecimal", "nan"))
        shift = float(clock.get("shiftDecimal", "0"))
        if clock.get("intervalVariability") not in ("constant", "fixed") or not (interval > 0.0 and shift >= 0.0):
            raise _ContradictionError(
                f"the interval of its clock {name} is not constant or not written down; only such clocks can be ticked"
            )
        periods[int(clock.get("valueReference", ""))] = (interval, shift)
    return periods
