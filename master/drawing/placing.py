"""Where the boxes of a drawing go: in columns, so that arrows run from left to right and as straight as can be."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

import networkx as nx
from simloop.master.drawing.boxes import BETWEEN, ROW, Arrow, Box, Layout
from simloop.master.drawing.routing import route

# Sweeps over the columns after which order and height hardly change any more.
SWEEPS = 8


def lay_out(names: Sequence[str], arrows: Sequence[Arrow], width: Callable[[Box], float]) -> Layout:
    """Place boxes with these names; `width` tells how wide one must be for its name and ports."""
    backward = _backward(names, arrows)
    layers = _layers(names, arrows, backward)
    boxes = {name: Box(name) for name in names}
    for arrow in arrows:
        for ports, port in ((boxes[arrow.source].outputs, arrow.output), (boxes[arrow.target].inputs, arrow.input)):
            if port not in ports:
                ports.append(port)
    columns: list[list[Box]] = [[] for _ in range(max(layers.values(), default=0) + 1)]
    for name in names:
        columns[layers[name]].append(boxes[name])
    ways = _ways(arrows, backward, layers, boxes, columns)
    for box in boxes.values():
        box.width = width(box)
    _order(columns, ways)
    _order_ports(boxes, columns, arrows, ways, backward)
    _settle(columns, [_links(arrow, ways[i]) for i, arrow in enumerate(arrows) if i not in backward])
    return route(columns, boxes, arrows, ways, backward)


def _backward(names: Sequence[str], arrows: Sequence[Arrow]) -> set[int]:
    """The arrows that close a ring, found by walking along the arrows from the first names on."""
    follows: dict[str, list[tuple[int, str]]] = {name: [] for name in names}
    for i, arrow in enumerate(arrows):
        follows[arrow.source].append((i, arrow.target))
    targets = {arrow.target for arrow in arrows if arrow.source != arrow.target}
    roots = [*(name for name in names if name not in targets), *names]
    state: dict[str, str] = {}
    found: set[int] = set()
    for root in roots:
        if root in state:
            continue
        state[root] = "open"
        stack = [(root, iter(follows[root]))]
        while stack:
            name, rest = stack[-1]
            for i, target in rest:
                if state.get(target) == "open":
                    found.add(i)
                elif target not in state:
                    state[target] = "open"
                    stack.append((target, iter(follows[target])))
                    break
            else:
                state[name] = "done"
                stack.pop()
    return found


def _layers(names: Sequence[str], arrows: Sequence[Arrow], backward: set[int]) -> dict[str, int]:
    """The column of each box: as many as there are arrows on the longest way to it."""
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from((arrow.source, arrow.target) for i, arrow in enumerate(arrows) if i not in backward)
    layers: dict[str, int] = {}
    for name in nx.topological_sort(graph):
        layers[name] = max((layers[before] + 1 for before in graph.predecessors(name)), default=0)
    return layers


def _ways(
    arrows: Sequence[Arrow],
    backward: set[int],
    layers: dict[str, int],
    boxes: dict[str, Box],
    columns: list[list[Box]],
) -> list[list[Box]]:
    """The boxes that each arrow goes through, one of each column; places to pass through are added to the columns."""
    ways = []
    for i, arrow in enumerate(arrows):
        between = []
        if i not in backward:
            for layer in range(layers[arrow.source] + 1, layers[arrow.target]):
                place = Box(f"{i} in {layer}", passing=True)
                columns[layer].append(place)
                between.append(place)
        ways.append([boxes[arrow.source], *between, boxes[arrow.target]])
    return ways


def _neighbours(ways: Iterable[list[Box]]) -> dict[str, list[Box]]:
    near: dict[str, list[Box]] = {}
    for way in ways:
        for one, other in itertools.pairwise(way):
            near.setdefault(one.name, []).append(other)
            near.setdefault(other.name, []).append(one)
    return near


def _order(columns: list[list[Box]], ways: list[list[Box]]) -> None:
    """Each box of a column among the others as its neighbours are among theirs."""
    near = _neighbours(ways)
    for sweep in range(SWEEPS):
        place = {box.name: i / max(len(column), 1) for column in columns for i, box in enumerate(column)}
        for column in columns if sweep % 2 == 0 else reversed(columns):
            old = {box.name: place[box.name] for box in column}

            def wanted(box: Box, old: dict[str, float] = old, place: dict[str, float] = place) -> float:
                others = [place[other.name] for other in near.get(box.name, ()) if other.name not in old]
                return sum(others) / len(others) if others else old[box.name]

            column.sort(key=wanted)
            place |= {box.name: i / len(column) for i, box in enumerate(column)}


def _order_ports(
    boxes: dict[str, Box],
    columns: list[list[Box]],
    arrows: Sequence[Arrow],
    ways: list[list[Box]],
    backward: set[int],
) -> None:
    """Ports in the order of what they are joined to; those of arrows that go back come last, nearest to the tracks."""
    place = {box.name: float(i) for column in columns for i, box in enumerate(column)}
    for box in boxes.values():
        ends: dict[str, list[tuple[bool, float]]] = {}
        for i, arrow in enumerate(arrows):
            if arrow.source == box.name:
                ends.setdefault(arrow.output, []).append((i in backward, place[ways[i][1].name]))
        box.outputs.sort(key=lambda port, ends=ends: _rank(ends[port]))  # type: ignore[misc]
    for box in boxes.values():
        ends = {}
        for i, arrow in enumerate(arrows):
            if arrow.target == box.name:
                outputs = boxes[arrow.source].outputs
                among = outputs.index(arrow.output) / len(outputs) if len(ways[i]) == 2 else 0.0
                ends.setdefault(arrow.input, []).append((i in backward, place[ways[i][-2].name] + among))
        box.inputs.sort(key=lambda port, ends=ends: _rank(ends[port]))  # type: ignore[misc]


def _rank(ends: list[tuple[bool, float]]) -> tuple[bool, float]:
    """Where a port goes among others, by its arrows: whether each goes back, and the place of its other end."""
    return all(back for back, _ in ends), _mean(place for _, place in ends)


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


def _links(arrow: Arrow, way: list[Box]) -> list[tuple[Box, float, Box, float]]:
    """Neighbours on an arrow's way, each with how far below its top the arrow is there."""
    leaves = [way[0].port(way[0].outputs, arrow.output) - way[0].y]
    leaves += [box.port(box.inputs, arrow.input) - box.y for box in way[1:]]
    pairs = zip(way, leaves, strict=True)
    return [(one, high, other, low) for (one, high), (other, low) in itertools.pairwise(pairs)]


def _settle(columns: list[list[Box]], ways: list[list[tuple[Box, float, Box, float]]]) -> None:
    """Heights: so that arrows run as straight as can be, with the boxes in order and apart."""
    for column in columns:
        y = 0.0
        for box in column:
            box.y = y
            y += box.height + BETWEEN
    near: dict[str, list[tuple[Box, float]]] = {}
    for one, high, other, low in itertools.chain(*ways):
        near.setdefault(one.name, []).append((other, low - high))
        near.setdefault(other.name, []).append((one, high - low))
    for sweep in range(2 * SWEEPS):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            for box in column:
                if box.name in near:
                    box.y = _mean(other.y + shift for other, shift in near[box.name])
            _push_apart(column)
    top = min((box.y for column in columns for box in column), default=0.0)
    for box in itertools.chain(*columns):
        box.y = round((box.y - top) / (ROW / 2)) * (ROW / 2)
    for column in columns:
        _push_apart(column)


def _push_apart(column: list[Box]) -> None:
    """Move boxes up and down by the least that brings them in order and apart."""
    for above, below in itertools.pairwise(column):
        below.y = max(below.y, above.y + above.height + (BETWEEN if not (above.passing and below.passing) else 0.0))
