"""Follow the connections of nested systems from the units' inputs back to what drives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from simloop.master.component import Component, find_variable
from simloop.master.measure import Measure, convert
from simloop.master.ssp.structure import Connector, DictionaryReference, End, Group, Part, Unit, Wire
from simloop.master.ssp.xml import SspError
from simloop.master.transform import Linear, Lookup

_GIVES = ("output", "calculatedParameter")
_TAKES = ("input", "parameter")
_TYPES = ("Real", "Integer", "Boolean", "String")


@dataclass(frozen=True)
class Node:
    """A connector: of the unit or system with this path of names, or the entry of a dictionary of that system."""

    path: tuple[str, ...]
    connector: str
    dictionary: str | None = None

    def __str__(self) -> str:
        return ".".join((*self.path, *([self.dictionary] if self.dictionary else []), self.connector))


@dataclass(frozen=True)
class Reached:
    """A unit's variable that a value reaches, and what happens to it on the way."""

    component: str
    variable: str
    links: tuple[Linear | Lookup, ...] = ()


@dataclass(frozen=True)
class Drive:
    """An output of a unit that drives an input of another."""

    component: str
    variable: str
    target: Reached


@dataclass(frozen=True)
class _Edge:
    source: Node
    wire: Wire


class Net:
    """All connectors of a system and of those inside it, and what drives each.

    `components` has the loaded units by their names with dots.
    """

    def __init__(self, system: Group, components: Mapping[str, Component]) -> None:
        self._components = components
        self._measures: dict[Node, Measure | None] = {}
        self._kinds: dict[Node, str] = {}
        self._drivers: dict[Node, _Edge] = {}
        self._of_units: dict[Node, Unit] = {}
        self.drives: list[Drive] = []
        self.reached: dict[Node, list[Reached]] = {}
        self._add_part(system, ())
        self._add_wires(system, (), [])
        for node in self._of_units:
            if self._kinds[node] in _TAKES:
                self._follow(node)

    def _add_part(self, part: Part, path: tuple[str, ...]) -> None:
        for connector in part.connectors.values():
            node = Node(path, connector.name)
            self._kinds[node] = connector.kind
            self._measures[node] = connector.measure
            if isinstance(part, Unit):
                self._of_units[node] = part
                self._measures[node] = self._check_connector(node, connector)
        if isinstance(part, Group):
            for inner in part.parts:
                if not isinstance(inner, DictionaryReference):
                    self._add_part(inner, (*path, inner.name))

    def _check_connector(self, node: Node, connector: Connector) -> Measure | None:
        """A unit's connector must be as the variable is that it stands for; its unit of measure."""
        variable = find_variable(self._components[".".join(node.path)], connector.name)
        if variable.causality != connector.kind:
            raise SspError(
                f"the connector {node} is of the kind {connector.kind}, but in the FMU it is of {variable.causality}"
            )
        if connector.type is not None and variable.type in _TYPES and connector.type != variable.type:
            raise SspError(f"the connector {node} is {connector.type}, but the FMU has {variable.type}")
        own, given = variable.measure, connector.measure
        if (
            own is not None
            and given is not None
            and (own.exponents, own.factor, own.offset) != (given.exponents, given.factor, given.offset)
        ):
            raise SspError(f"the connector {node} is in {given}, but the FMU has it in {own}")
        return own or given

    def _add_wires(self, system: Group, path: tuple[str, ...], around: list[tuple[tuple[str, ...], Group]]) -> None:
        scopes = [*around, (path, system)]
        for wire in system.wires:
            (one, gives), (other, also_gives) = (self._end(end, scopes) for end in (wire.start, wire.end))
            if gives is not None and gives is also_gives:
                what = "give" if gives else "take"
                raise SspError(f"the connection of {one} and {other} joins two that both {what} a value")
            if gives is False or also_gives is True:
                one, other = other, one
            if other in self._drivers:
                raise SspError(f"{other} is driven by {self._drivers[other].source} and by {one}")
            self._drivers[other] = _Edge(one, wire)
        for part in system.parts:
            if isinstance(part, Group):
                self._add_wires(part, (*path, part.name), scopes)

    def _end(self, end: End, scopes: list[tuple[tuple[str, ...], Group]]) -> tuple[Node, bool | None]:
        """The node that an end of a wire is, and whether it gives values there; None if it may do either."""
        path, system = scopes[-1]
        part: Part | None = system
        if end.element is not None:
            part = next((each for each in system.parts if each.name == end.element), None)
        connector = None if part is None else part.connectors.get(end.connector)
        if part is None or connector is None:
            where = ".".join(path) or system.name
            raise SspError(f"the system {where!r} connects {str(end)!r}, which it does not have")
        if isinstance(part, DictionaryReference):
            gives = None if connector.kind == "inout" else connector.kind in _GIVES
            return self._entry(part, end.connector, scopes), gives
        if connector.kind == "inout":
            raise SspError(f"the connector {str(end)!r} is inout, which only one of a signal dictionary can be")
        inside = end.element is None
        return Node(path if inside else (*path, part.name), end.connector), (connector.kind in _GIVES) != inside

    def _entry(self, part: DictionaryReference, entry: str, scopes: list[tuple[tuple[str, ...], Group]]) -> Node:
        for path, system in reversed(scopes):
            entries = system.dictionaries.get(part.dictionary)
            if entries is not None:
                if entry not in entries:
                    raise SspError(f"the signal dictionary {part.dictionary!r} has no entry {entry!r}")
                node = Node(path, entry, part.dictionary)
                self._measures[node] = entries[entry]
                return node
        raise SspError(f"{part.name!r} refers to the signal dictionary {part.dictionary!r}, which there is not")

    def _follow(self, sink: Node) -> None:
        """From a unit's input or parameter back to what drives it."""
        way: list[tuple[Node, Wire]] = []
        seen, node = {sink}, sink
        component = ".".join(sink.path)
        self.reached[sink] = [Reached(component, sink.connector)]
        while node in self._drivers:
            edge = self._drivers[node]
            way.insert(0, (node, edge.wire))
            node = edge.source
            if node in seen:
                raise SspError(f"the connections lead from {node} back to itself, with no unit between")
            seen.add(node)
            reached = Reached(component, sink.connector, tuple(self._links(node, way)))
            if node in self._of_units:
                if self._kinds[sink] == "parameter":
                    raise SspError(f"{sink} is a parameter calculated by {node}, which is not supported")
                self.drives.append(Drive(".".join(node.path), node.connector, reached))
            else:
                self.reached.setdefault(node, []).append(reached)

    def _links(self, source: Node, way: list[tuple[Node, Wire]]) -> Iterator[Linear | Lookup]:
        """What happens to a value from `source` on: at each connection it is converted, then transformed."""
        measure = self._measures[source]
        for node, wire in way:
            becomes = self._measures[node]
            if not wire.converts:
                measure = becomes
            elif measure is not None and becomes is not None:
                between = convert(measure, becomes)
                if between is None:
                    raise SspError(f"{source} cannot drive {node}: their units are {measure} and {becomes}")
                yield between
            if wire.transform is not None:
                yield wire.transform
            measure = becomes or measure

    def measure(self, node: Node) -> Measure | None:
        return self._measures.get(node)
