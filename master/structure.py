"""What depends on what: the graph of variables, its algebraic loops, and an order of components."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import networkx as nx
from simloop.master.component import Component
from simloop.master.errors import WiringError
from simloop.master.system import Connection, System

Node = tuple[str, str]


@dataclass(frozen=True)
class Wire:
    """One scalar of a connection."""

    connection: Connection
    index: int

    @property
    def ends(self) -> tuple[Node, Node]:
        c = self.connection
        return (c.source, c.outputs[self.index]), (c.target, c.inputs[self.index])

    def __str__(self) -> str:
        return " -> ".join(".".join(end) for end in self.ends)


@dataclass(frozen=True)
class Loop:
    """An algebraic loop: values that depend on themselves at one instant. Wires stand in the order of their sources."""

    components: tuple[str, ...]
    wires: tuple[Wire, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.wires))


def feeds_through(component: Component, name: str) -> bool:
    """Whether an output of the component depends on this input directly, or may: None declares nothing."""
    return any(
        v.dependencies is None or name in v.dependencies
        for v in component.variables.values()
        if v.causality == "output"
    )


def variable_graph(system: System) -> nx.DiGraph:
    """A node (component, variable) for each input and output, an edge where one directly sets the other.

    An output that declares no dependencies hangs on all inputs of its component, by way of a node (component, "*").
    """
    graph = nx.DiGraph()
    for name, component in system.components.items():
        inputs = [v.name for v in component.variables.values() if v.causality == "input"]
        graph.add_nodes_from((name, taken) for taken in inputs)
        for v in component.variables.values():
            if v.causality != "output":
                continue
            graph.add_node((name, v.name))
            if v.dependencies is None:
                graph.add_edges_from(((name, taken), (name, "*")) for taken in inputs)
                graph.add_edge((name, "*"), (name, v.name))
            else:
                graph.add_edges_from(((name, taken), (name, v.name)) for taken in v.dependencies)
    for connection in system.connections():
        graph.add_edges_from(wire.ends for wire in wires_of(connection))
    return graph


def wires_of(connection: Connection) -> list[Wire]:
    return [Wire(connection, i) for i in range(len(connection.inputs))]


def algebraic_loops(system: System) -> list[Loop]:
    """The strongly connected parts of the graph of variables, in the order they feed each other."""
    return [part for part in ordered_parts(system) if isinstance(part, Loop)]


def ordered_parts(system: System) -> list[Loop | Wire]:
    """Every wire once, alone or in its algebraic loop, in an order in which each follows those that its value depends
    on."""
    graph = variable_graph(system)
    condensed = nx.condensation(graph)
    part_of = condensed.graph["mapping"]
    rank = {node: i for i, node in enumerate(graph)}
    first = {part: min(rank[node] for node in condensed.nodes[part]["members"]) for part in condensed}
    place = {part: i for i, part in enumerate(nx.lexicographical_topological_sort(condensed, key=first.__getitem__))}
    inside: dict[int, list[Wire]] = {}
    parts: list[tuple[int, Loop | Wire]] = []
    for wire in (wire for connection in system.connections() for wire in wires_of(connection)):
        output, taken = wire.ends
        if part_of[output] == part_of[taken]:
            inside.setdefault(part_of[output], []).append(wire)
        else:
            parts.append((place[part_of[output]], wire))
    for part, wires in inside.items():
        members = {component for wire in wires for component, _ in wire.ends}
        loop = Loop(tuple(name for name in system.components if name in members), tuple(wires))
        parts.append((place[part], loop))
    return [part for _, part in sorted(parts, key=lambda each: each[0])]


def undoable_first(system: System) -> tuple[list[str], list[str]]:
    """The components that can be rolled back, and those that cannot: these are stepped last, so that an algorithm
    around the schedule can undo all that comes before."""
    can = [name for name, component in system.components.items() if component.can_rollback]
    return can, [name for name in system.components if name not in can]


def rings(system: System, names: Iterable[str]) -> list[list[str]]:
    """The given components in the order they feed each other; those that feed each other in a ring stand together."""
    chosen = list(names)
    rank = {name: i for i, name in enumerate(chosen)}
    condensed = nx.condensation(system.graph.subgraph(chosen))
    members = {part: sorted(condensed.nodes[part]["members"], key=rank.__getitem__) for part in condensed}
    order = nx.lexicographical_topological_sort(condensed, key=lambda part: rank[members[part][0]])
    return [members[part] for part in order]


def step_order(system: System, names: Iterable[str]) -> list[str]:
    """The given components in the order they feed each other. In a ring, who depends directly on what another feeds it
    comes after that other. A ring of such dependencies has no order: WiringError."""
    order = []
    for ring in rings(system, names):
        rank = {name: i for i, name in enumerate(ring)}
        direct = nx.DiGraph()
        direct.add_nodes_from(ring)
        for source in ring:
            for target in ring:
                if source != target and any(_feeds_directly(system, c) for c in system.between(source, target)):
                    direct.add_edge(source, target)
        try:
            order += list(nx.lexicographical_topological_sort(direct, key=rank.__getitem__))
        except nx.NetworkXUnfeasible:
            ring = [source for source, _ in nx.find_cycle(direct)]
            cycle = " -> ".join([*ring, ring[0]])
            raise WiringError(
                f"{cycle} depend on each other directly, so no order of steps is right: iterate over this loop "
                "(iterative), or give an order and with it accept a delay of one step"
            ) from None
    return order


def _feeds_directly(system: System, connection: Connection) -> bool:
    target = system.components[connection.target]
    return any(feeds_through(target, name) for name in connection.inputs)
