"""A system as a picture (SVG): components as boxes, connections as arrows, algebraic loops in colour."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from simloop.master.drawing.boxes import HEAD, MARGIN, Arrow, Box, Layout, Point
from simloop.master.drawing.placing import lay_out
from simloop.master.structure import algebraic_loops
from simloop.master.system import Connection, System
from simloop.master.transform import Elementwise, Linear, Transform

TITLE = 68.0  # the space above the drawing
CORNER = 6.0  # the radius of an arrow's corners
# The widest letters of the fonts below, in parts of the font size; a box never gets too narrow for its text.
LETTER = 0.62
BOLD = 1.12  # wider than plain letters by this
TITLE_SIZE, NAME_SIZE, PORT_SIZE = 16.0, 14.0, 12.0
PLAIN, FRAME = "#5b6b7b", "#9aa5b1"
LOOPS = ("#d1495b", "#b8860b", "#7b3fa0", "#2e8b57")
_STYLE = f"""
text {{ font-family: "DejaVu Sans", Verdana, Arial, sans-serif; fill: #1f2933 }}
.title {{ font-size: {TITLE_SIZE}px; font-weight: bold }}
.about {{ font-size: {PORT_SIZE}px; fill: #5b6b7b }}
.name {{ font-size: {NAME_SIZE}px; font-weight: bold }}
.port {{ font-size: {PORT_SIZE}px }}
.note {{ fill: #7b8794 }}
.box {{ fill: #f5f7fa }}
.frame {{ fill: none; stroke-width: 1.3 }}
.head {{ fill: #e4e7eb }}
.wire {{ fill: none; stroke-width: 1.6 }}
.halo {{ fill: none; stroke: #ffffff; stroke-width: 5 }}
"""


@dataclass(frozen=True)
class _Wire:
    """A connection of two ports, vectors as one: what the drawing shows of it."""

    arrow: Arrow
    count: int
    change: str
    loop: int | None


class _Labels:
    """What stands at the ports: a name, and in grey the length of a vector and what happens to its values."""

    def __init__(self, wires: Sequence[_Wire]) -> None:
        self._of: dict[tuple[str, str, bool], tuple[str, str]] = {}
        for wire in wires:
            arrow, length = wire.arrow, f"[{wire.count}]" if wire.count > 1 else ""
            self._of[arrow.source, arrow.output, False] = (arrow.output, length)
            self._of[arrow.target, arrow.input, True] = (arrow.input, f"{length} {wire.change}".strip())

    def of(self, box: Box) -> Iterator[tuple[str, bool, str, str]]:
        """Port, whether it is an input, name and note."""
        for entering, ports in ((True, box.inputs), (False, box.outputs)):
            for port in ports:
                yield port, entering, *self._of[box.name, port, entering]

    def width(self, box: Box) -> float:
        letters = {True: 0, False: 0}
        for _, entering, name, note in self.of(box):
            letters[entering] = max(letters[entering], len(name) + len(note) + 1)
        ports = sum(letters.values()) * LETTER * PORT_SIZE + 44
        return max(ports, len(box.name) * LETTER * NAME_SIZE * BOLD + 28, 96.0)


def draw(system: System, name: str) -> str:
    """The text of an SVG file."""
    loops = [{end for wire in loop.wires for end in wire.ends} for loop in algebraic_loops(system)]
    wires = _wires(system, loops)
    labels = _Labels(wires)
    layout = lay_out(list(system.components), [wire.arrow for wire in wires], labels.width)
    about = _about(system, wires, len(loops))
    text = max(len(name) * TITLE_SIZE * LETTER * BOLD, len(about) * PORT_SIZE * LETTER)
    width, height = max(layout.width, text + 2 * MARGIN), layout.height + TITLE + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(name, quote=True)}">',
        f"<style>{_STYLE}</style>",
        *_arrow_heads(),
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        f'<text class="title" x="{MARGIN:g}" y="26">{escape(name)}</text>',
        f'<text class="about" x="{MARGIN:g}" y="44">{escape(about)}</text>',
        f'<g transform="translate(0 {TITLE:g})">',
        *_draw_wires(wires, layout),
    ]
    for box in layout.boxes.values():
        within = [wire.loop for wire in wires if wire.loop is not None and box.name in _ends(wire)]
        parts += _draw_box(box, labels, LOOPS[min(within) % len(LOOPS)] if within else FRAME)
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


def _ends(wire: _Wire) -> tuple[str, str]:
    return wire.arrow.source, wire.arrow.target


def _about(system: System, wires: Sequence[_Wire], loops: int) -> str:
    def number(count: int, word: str) -> str:
        return f"{count or 'no'} {word}{'' if count == 1 else 's'}"

    counted = [number(len(system.components), "component"), number(len(wires), "connection")]
    return ", ".join([*counted, number(loops, "algebraic loop") + (" (in colour)" if loops else "")])


def _wires(system: System, loops: Sequence[set[tuple[str, str]]]) -> list[_Wire]:
    found: dict[Arrow, tuple[int, str, int | None]] = {}
    for connection in system.connections():
        for i, (output, taken) in enumerate(zip(connection.outputs, connection.inputs, strict=True)):
            arrow = Arrow(connection.source, _vector(output), connection.target, _vector(taken))
            count, change, loop = found.get(arrow, (0, _change(connection, i), None))
            ends = {(connection.source, output), (connection.target, taken)}
            loop = next((k for k, each in enumerate(loops) if ends <= each), loop)
            found[arrow] = (count + 1, change if change == _change(connection, i) else "…", loop)
    return [_Wire(arrow, *about) for arrow, about in found.items()]


def _vector(name: str) -> str:
    """The vector that a variable is an element of, or itself."""
    return re.sub(r"\[\d+\]$", "", name)


def _change(connection: Connection, i: int) -> str:
    """What happens to the i-th value, in few signs."""
    transform: Transform | None = connection.transform
    if isinstance(transform, Elementwise):
        transform = transform.each[i]
    if transform is None:
        return ""
    if not isinstance(transform, Linear):
        return "mapped"
    factor = f"×{transform.factor:.4g}" if transform.factor != 1.0 else ""
    offset = f"{transform.offset:+.4g}" if transform.offset != 0.0 else ""
    return f"{factor} {offset}".strip()


def _arrow_heads() -> list[str]:
    """One for each colour: an SVG marker does not take the colour of its line everywhere."""
    heads = [
        f'<marker id="head{i}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.5 L10 5 L0 9.5 z" fill="{colour}"/></marker>'
        for i, colour in enumerate((PLAIN, *LOOPS))
    ]
    return ["<defs>", *heads, "</defs>"]


def _draw_wires(wires: Sequence[_Wire], layout: Layout) -> list[str]:
    """Wires from one port are drawn together, so that none has the gap of a crossing where they part; loops on top."""
    groups: dict[tuple[str, str], list[tuple[_Wire, str]]] = {}
    for wire, route in zip(wires, layout.routes, strict=True):
        groups.setdefault((wire.arrow.source, wire.arrow.output), []).append((wire, _rounded(route)))

    def in_loop(pair: tuple[_Wire, str]) -> bool:
        return pair[0].loop is not None

    parts = []
    for group in sorted(groups.values(), key=lambda group: any(map(in_loop, group))):
        parts += [f'<path class="halo" d="{line}"/>' for _, line in group]
        for wire, line in sorted(group, key=in_loop):
            kind = 0 if wire.loop is None else 1 + wire.loop % len(LOOPS)
            arrow = wire.arrow
            told = f"{arrow.source}.{arrow.output} → {arrow.target}.{arrow.input} {wire.change}".strip()
            parts.append(
                f'<path class="wire" d="{line}" stroke="{(PLAIN, *LOOPS)[kind]}" marker-end="url(#head{kind})">'
                f"<title>{escape(told)}</title></path>"
            )
    return parts


def _rounded(points: Sequence[Point]) -> str:
    """A path along the points with its corners rounded."""
    line = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        for (x, y), sign in ((before, "L"), (after, "Q")):
            dx, dy = x - corner[0], y - corner[1]
            part = min(CORNER, (abs(dx) + abs(dy)) / 2) / (abs(dx) + abs(dy))
            near = f"{corner[0] + part * dx:.1f} {corner[1] + part * dy:.1f}"
            line.append(f"L{near}" if sign == "L" else f"Q{corner[0]:.1f} {corner[1]:.1f} {near}")
    return " ".join([*line, f"L{points[-1][0]:.1f} {points[-1][1]:.1f}"])


def _draw_box(box: Box, labels: _Labels, colour: str) -> list[str]:
    x, y, w = box.x, box.y, box.width
    rectangle = f'x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{box.height:.1f}" rx="8"'
    head = f"M{x:.1f} {y + HEAD - 8:.1f} V{y + 8:.1f} q0 -8 8 -8 h{w - 16:.1f} q8 0 8 8 V{y + HEAD - 8:.1f} z"
    parts = [
        f'<rect class="box" {rectangle}/>',
        f'<path class="head" d="{head}"/>',
        f'<rect class="frame" {rectangle} stroke="{colour}"/>',
        f'<text class="name" x="{x + w / 2:.1f}" y="{y + 19:.1f}" text-anchor="middle">{escape(box.name)}</text>',
    ]
    for port, entering, name, note in labels.of(box):
        grey = f'<tspan class="note" dx="4">{escape(note)}</tspan>' if note else ""
        ports, at, anchor = (box.inputs, x + 10, "start") if entering else (box.outputs, x + w - 8, "end")
        place = f'x="{at:.1f}" y="{box.port(ports, port) + 4:.1f}" text-anchor="{anchor}"'
        parts.append(f'<text class="port" {place}>{escape(name)}{grey}</text>')
    return parts
