"""Parameter sets (.ssv) and their mappings (.ssm), units of measure, and transformations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from simloop.master.component import Value
from simloop.master.measure import BASES, Measure
from simloop.master.ssp.xml import SSC, SSM, SSV, Element, SspError, local, need, number, truth, whole
from simloop.master.transform import Linear, Lookup


@dataclass(frozen=True)
class Setting:
    """A value for what has the hierarchical name `target` in the element that it is bound to.

    It is converted from `measure`, if `converts`, and then transformed.
    """

    target: str
    value: Value
    measure: Measure | None = None
    transform: Linear | Lookup | None = None
    converts: bool = True


def read_measures(parent: Element, units: str) -> dict[str, Measure]:
    """The definitions in the element `units` (a tag) of a document's root."""
    found = {}
    for unit in parent.findall(f"{units}/{SSC}Unit"):
        name, base = need(unit, "name"), unit.find(f"{SSC}BaseUnit")
        if base is None:
            raise SspError(f"the unit {name!r} has no BaseUnit")
        exponents = tuple(whole(base, each, 0) for each in BASES)
        factor = number(base, "factor", 1.0)
        if factor == 0.0:
            raise SspError(f"the unit {name!r} has the factor 0")
        found[name] = Measure(name, exponents, factor, number(base, "offset", 0.0))
    return found


def find_measure(typed: Element, measures: Mapping[str, Measure], notes: list[str]) -> Measure | None:
    unit = typed.get("unit")
    if unit is None:
        return None
    if unit not in measures:
        note = f"the unit {unit!r} is not among the Units of its file, so nothing is converted to or from it"
        if note not in notes:
            notes.append(note)
    return measures.get(unit)


def read_transform(parent: Element) -> Linear | Lookup | None:
    """What a connection or a mapping entry does to its values."""
    for child in parent:
        if child.tag == f"{SSC}LinearTransformation":
            return Linear(number(child, "factor", 1.0), number(child, "offset", 0.0))
        if child.tag == f"{SSC}BooleanMappingTransformation":
            return Lookup(tuple((truth(e, "source"), truth(e, "target")) for e in _entries(child)))
        if child.tag == f"{SSC}IntegerMappingTransformation":
            return Lookup(tuple((whole(e, "source"), whole(e, "target")) for e in _entries(child)))
        if child.tag.startswith(SSC):
            raise SspError(f"a {local(child)} is not supported; linear, Boolean and Integer ones are")
    return None


def _entries(transformation: Element) -> Iterator[Element]:
    yield from transformation.findall(f"{SSC}MapEntry")


def read_values(
    root: Element, name: str, prefix: str, around: Mapping[str, Measure], notes: list[str]
) -> list[Setting]:
    """The parameters of a set, the prefix before their names; `around` are the units of the file that has it inline."""
    if root.tag != f"{SSV}ParameterSet":
        raise SspError(f"{name!r} is a {local(root)}, not a ParameterSet of SSP 1.0")
    measures = {**around, **read_measures(root, f"{SSV}Units")}
    settings = []
    for parameter in root.findall(f"{SSV}Parameters/{SSV}Parameter"):
        target = prefix + need(parameter, "name")
        typed = next((child for child in parameter if child.tag != f"{SSV}Annotations"), None)
        if typed is None:
            raise SspError(f"the parameter {target!r} in {name!r} has no value")
        measure = find_measure(typed, measures, notes)
        settings.append(Setting(target, _value(typed, target), measure))
    return settings


def _value(typed: Element, target: str) -> Value:
    match local(typed):
        case "Real":
            return number(typed, "value")
        case "Integer":
            return whole(typed, "value")
        case "Boolean":
            return truth(typed, "value")
        case "String":
            return need(typed, "value")
        case other:
            raise SspError(
                f"the parameter {target!r} is of the type {other}, which is not supported; numbers and Strings are"
            )


def map_values(root: Element, name: str, settings: list[Setting], notes: list[str]) -> list[Setting]:
    """The settings under the names that a mapping gives them. What the mapping does not name is left out, and told."""
    if root.tag != f"{SSM}ParameterMapping":
        raise SspError(f"{name!r} is a {local(root)}, not a ParameterMapping of SSP 1.0")
    given = {setting.target: setting for setting in settings}
    mapped, used = [], set()
    for entry in root.findall(f"{SSM}MappingEntry"):
        source = need(entry, "source")
        if source not in given:
            notes.append(f"the mapping {name!r} names the parameter {source!r}, which the parameter set has not")
            continue
        used.add(source)
        converts = not truth(entry, "suppressUnitConversion", "false")
        mapped.append(
            replace(given[source], target=need(entry, "target"), transform=read_transform(entry), converts=converts)
        )
    for left in given.keys() - used:
        notes.append(f"the mapping {name!r} does not name the parameter {left!r}, which is not used")
    return mapped
