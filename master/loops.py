"""Algebraic loops: outputs and inputs that follow each other at once, round in a ring."""

from __future__ import annotations

import networkx as nx
from simloop.master.system import System


def algebraic_loops(system: System) -> list[frozenset[tuple[str, str]]]:
    """Each loop as its variables, (component, variable); loops that share a variable are one.

    An output of which the unit does not say what it follows may follow every input.
    """
    graph = nx.DiGraph()
    for connection in system.connections():
        for output, taken in zip(connection.outputs, connection.inputs, strict=True):
            graph.add_edge((connection.source, output), (connection.target, taken))
    driven = [node for node in graph if graph.in_degree(node)]
    for name, taken in driven:
        for variable in system.components[name].variables.values():
            follows = variable.dependencies is None or taken in variable.dependencies
            if variable.causality == "output" and follows and (name, variable.name) in graph:
                graph.add_edge((name, taken), (name, variable.name))
    loops = [frozenset(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    return sorted(loops, key=min)
