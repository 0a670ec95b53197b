"""A system structure description (.ssd) as data: systems, components and connections, as they stand in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from simloop.master.measure import Measure
from simloop.master.ssp.values import Setting
from simloop.master.ssp.xml import Element
from simloop.master.transform import Linear, Lookup


@dataclass(frozen=True)
class Connector:
    """`kind` is input, output, parameter, calculatedParameter or inout; `type` and `measure` may be left open."""

    name: str
    kind: str
    type: str | None = None
    measure: Measure | None = None


@dataclass(frozen=True)
class End:
    """A connector of the system itself (`element` None) or of one of its elements."""

    element: str | None
    connector: str

    def __str__(self) -> str:
        return self.connector if self.element is None else f"{self.element}.{self.connector}"


@dataclass(frozen=True)
class Wire:
    """A connection; which way it carries values follows from the kinds of its ends, not from their order."""

    start: End
    end: End
    transform: Linear | Lookup | None = None
    converts: bool = True


@dataclass(frozen=True, kw_only=True)
class Part:
    """An element of a system."""

    name: str
    connectors: Mapping[str, Connector]
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Unit(Part):
    """A component that is an FMU file."""

    path: Path


@dataclass(frozen=True, kw_only=True)
class DictionaryReference(Part):
    """A place in which entries of a signal dictionary can be connected to."""

    dictionary: str


@dataclass(frozen=True, kw_only=True)
class Group(Part):
    """A system. `dictionaries` has the units of the entries of each signal dictionary."""

    parts: tuple[Part, ...]
    wires: tuple[Wire, ...]
    dictionaries: Mapping[str, Mapping[str, Measure | None]]


@dataclass(frozen=True)
class Structure:
    """A whole file: its system, the default experiment's start and end, s, and simloop's own annotation."""

    name: str
    system: Group
    start: float | None = None
    stop: float | None = None
    annotation: Element | None = None
