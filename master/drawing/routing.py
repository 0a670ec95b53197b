"""The ways of arrows along the grid between the columns of boxes. An arrow that goes back runs below all boxes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from simloop.master.drawing.boxes import BETWEEN, LANE, MARGIN, ROW, Arrow, Box, Layout, Point

# Tries after which the order of lanes hardly changes any more.
SWEEPS = 8
# What two arrows on one line count against crossings.
ON_ONE_LINE = 1000


@dataclass(frozen=True)
class _Segment:
    """What an arrow does between two columns: in from the left at `left`, in a lane up or down, out at `right`.

    Where one is None, the arrow comes from or goes to the tracks below, at `down`.
    """

    arrow: int
    left: float | None
    right: float | None
    down: float

    @property
    def span(self) -> tuple[float, float]:
        ends = [self.down if end is None else end for end in (self.left, self.right)]
        return min(ends), max(ends)


def route(
    columns: list[list[Box]], boxes: dict[str, Box], arrows: Sequence[Arrow], ways: list[list[Box]], backward: set[int]
) -> Layout:
    where = {box.name: i for i, column in enumerate(columns) for box in column}
    for gap in range(1, len(columns)):
        if _cost(_best_order(_gaps(columns, where, arrows, ways, backward)[0][gap])) >= ON_ONE_LINE:
            # No order of lanes keeps some two arrows apart here, so nothing on the right stays level with the left.
            for box in itertools.chain(*columns[gap:]):
                box.y += ROW / 4
    gaps, track = _gaps(columns, where, arrows, ways, backward)
    lanes = _place_columns(columns, gaps)
    routes = []
    for i, arrow in enumerate(arrows):
        source, target = boxes[arrow.source], boxes[arrow.target]
        start, end = source.port(source.outputs, arrow.output), target.port(target.inputs, arrow.input)
        points: list[Point] = [(source.x + source.width, start)]
        if i in backward:
            out, back = lanes[where[arrow.source] + 1, i], lanes[where[arrow.target], i]
            points += [(out, start), (out, track[i]), (back, track[i]), (back, end)]
        else:
            for k, box in enumerate(ways[i][1:]):
                lane, y = lanes[where[arrow.source] + 1 + k, i], box.port(box.inputs, arrow.input)
                points += [(lane, points[-1][1]), (lane, y)]
        routes.append(_without_repeats([*points, (target.x, end)]))
    right = max((box.x + box.width for box in boxes.values()), default=0.0)
    width = max([right, *(x for route in routes for x, _ in route)]) + MARGIN
    height = max([box.y + box.height for box in boxes.values()] + [y for route in routes for _, y in route])
    return Layout(boxes, routes, width, height)


def _gaps(
    columns: list[list[Box]],
    where: dict[str, int],
    arrows: Sequence[Arrow],
    ways: list[list[Box]],
    backward: set[int],
) -> tuple[list[list[_Segment]], dict[int, float]]:
    """What the arrows do before, between and after the columns; the height of the track of each that goes back."""
    bottom = max((box.y + box.height for box in itertools.chain(*columns)), default=0.0) + BETWEEN
    heights = []
    for arrow, way in zip(arrows, ways, strict=True):
        after = [box.port(box.inputs, arrow.input) for box in way[1:]]
        heights.append([way[0].port(way[0].outputs, arrow.output), *after])
    first = [where[arrow.source] for arrow in arrows]
    # The shortest way back runs innermost; of two alike, the one that starts lower.
    order = sorted(backward, key=lambda i: (first[i] - where[arrows[i].target], first[i], -heights[i][0]))
    track = {i: bottom + LANE * k for k, i in enumerate(order)}
    gaps: list[list[_Segment]] = [[] for _ in range(len(columns) + 1)]
    for i, arrow in enumerate(arrows):
        if i in backward:
            gaps[first[i] + 1].append(_Segment(i, heights[i][0], None, track[i]))
            gaps[where[arrow.target]].append(_Segment(i, None, heights[i][-1], track[i]))
        else:
            for k, (left, right) in enumerate(itertools.pairwise(heights[i])):
                gaps[first[i] + 1 + k].append(_Segment(i, left, right, 0.0))
    return gaps, track


def _place_columns(columns: list[list[Box]], gaps: list[list[_Segment]]) -> dict[tuple[int, int], float]:
    """Columns and the lanes between them from left to right; the x of each arrow's lane, by gap and arrow."""
    lanes: dict[tuple[int, int], float] = {}
    x = MARGIN
    for gap, segments in enumerate(gaps):
        inner = 0 < gap < len(columns)
        x += LANE if segments or inner else 0.0
        for segment in _best_order(segments):
            x += LANE
            lanes[gap, segment.arrow] = x
        x += 1.5 * LANE if segments or inner else 0.0
        if gap < len(columns):
            widest = max((box.width for box in columns[gap]), default=0.0)
            for box in columns[gap]:
                box.x = x + (widest - box.width) / 2
            x += widest
    return lanes


def _best_order(segments: list[_Segment]) -> list[_Segment]:
    """The lanes from left to right with few crossings, and with no two arrows on one line."""
    order = sorted(segments, key=lambda s: (s.span, s.arrow))
    best = _cost(order)
    for _ in range(SWEEPS):
        before = best
        for segment in list(order):
            rest = [other for other in order if other is not segment]
            tries = [[*rest[:i], segment, *rest[i:]] for i in range(len(order))]
            order = min([order, *tries], key=_cost)
        best = _cost(order)
        if best == before:
            break
    return order


def _cost(order: list[_Segment]) -> int:
    cost = 0
    for one, other in itertools.combinations(order, 2):
        if one.right is not None:
            cost += other.span[0] < one.right < other.span[1]
        if other.left is not None:
            cost += one.span[0] < other.left < one.span[1]
        if one.right is not None and other.left is not None and abs(one.right - other.left) < 1.0:
            cost += ON_ONE_LINE
    return cost


def _without_repeats(points: list[Point]) -> list[Point]:
    """Corners only: no point twice, none on the way straight on."""
    kept: list[Point] = []
    for point in points:
        if kept and point == kept[-1]:
            continue
        if len(kept) > 1 and (kept[-2][0] == kept[-1][0] == point[0] or kept[-2][1] == kept[-1][1] == point[1]):
            kept[-1] = point
        else:
            kept.append(point)
    return kept
