"""The drawing: boxes apart, arrows along the grid and round the boxes, algebraic loops found and in colour."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from simloop.master import FmuComponent, ObjectComponent, System
from simloop.master.drawing import draw
from simloop.master.drawing.boxes import Arrow, Box, Layout
from simloop.master.drawing.placing import lay_out
from simloop.master.drawing.svg import LOOPS
from simloop.master.structure import algebraic_loops

from tests.master.function_unit import FunctionUnit
from tests.units.blocks import GAIN, INTEGRATOR, build

SVG = "{http://www.w3.org/2000/svg}"


@st.composite
def drawings(draw_: st.DrawFn) -> tuple[list[str], list[Arrow]]:
    """Some boxes and arrows between any of them; an input has one arrow."""
    names = [f"c{i}" for i in range(draw_(st.integers(1, 7)))]
    pairs = draw_(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=12))
    outputs = draw_(st.lists(st.integers(0, 2), min_size=len(pairs), max_size=len(pairs)))
    arrows = [
        Arrow(one, f"y{k}", other, f"u{i}") for i, ((one, other), k) in enumerate(zip(pairs, outputs, strict=True))
    ]
    return names, arrows


def wide(box: Box) -> float:
    return 120.0


def crosses(one: tuple[float, float], other: tuple[float, float], box: Box) -> bool:
    """Whether a line of a route goes through the inside of a box."""
    left, right = sorted((one[0], other[0]))
    top, bottom = sorted((one[1], other[1]))
    return left < box.x + box.width and right > box.x and top < box.y + box.height and bottom > box.y


@settings(max_examples=150, deadline=None)
@given(drawings())
def test_boxes_are_apart_and_arrows_go_round_them(drawing: tuple[list[str], list[Arrow]]) -> None:
    names, arrows = drawing
    layout = lay_out(names, arrows, wide)
    for one, other in itertools.combinations(layout.boxes.values(), 2):
        apart = (one.x + one.width < other.x or other.x + other.width < one.x) or (
            one.y + one.height < other.y or other.y + other.height < one.y
        )
        assert apart, (one, other)
    for arrow, route in zip(arrows, layout.routes, strict=True):
        source, target = layout.boxes[arrow.source], layout.boxes[arrow.target]
        assert route[0] == (source.x + source.width, source.port(source.outputs, arrow.output))
        assert route[-1] == (target.x, target.port(target.inputs, arrow.input))
        assert route[-2][0] < route[-1][0], "an arrow comes in from the left"
        for one, other in itertools.pairwise(route):
            assert (one[0] == other[0]) != (one[1] == other[1]), "an arrow runs along the grid"
            assert not any(crosses(one, other, box) for box in layout.boxes.values())
        assert all(0 <= x <= layout.width and y <= layout.height for x, y in route)


def shared(layout: Layout, arrows: list[Arrow]) -> list[tuple[Arrow, Arrow]]:
    """Arrows of different outputs that run on one line for a while."""
    found = []
    for (one, way), (other, detour) in itertools.combinations(zip(arrows, layout.routes, strict=True), 2):
        if (one.source, one.output) == (other.source, other.output):
            continue
        for (a, b), (c, d) in itertools.product(itertools.pairwise(way), itertools.pairwise(detour)):
            for along, across in ((0, 1), (1, 0)):
                if a[across] == b[across] == c[across] == d[across]:
                    (p, q), (r, s) = sorted((a[along], b[along])), sorted((c[along], d[along]))
                    if min(q, s) - max(p, r) > 1.0:
                        found.append((one, other))
    return found


@settings(max_examples=150, deadline=None)
@given(drawings())
def test_no_two_arrows_run_on_one_line(drawing: tuple[list[str], list[Arrow]]) -> None:
    names, arrows = drawing
    assert not shared(lay_out(names, arrows, wide), arrows)


def test_what_feeds_another_stands_left_of_it() -> None:
    arrows = [Arrow("c", "y", "b", "u"), Arrow("b", "y", "a", "u"), Arrow("c", "y", "a", "v")]
    boxes = lay_out(["a", "b", "c"], arrows, wide).boxes
    assert boxes["c"].x < boxes["b"].x < boxes["a"].x


def ring(folder: Path, *, broken: bool) -> System:
    """Two gains in a ring, or a gain and an integrator, whose output does not follow its input at once."""
    system = System(
        [
            FmuComponent("a", build(GAIN, folder)),
            FmuComponent("b", build(INTEGRATOR if broken else GAIN, folder)),
            FmuComponent("c", build(INTEGRATOR, folder)),
        ]
    )
    system.connect("a.y", "b.u", factor=2.5)
    system.connect("b.y", "a.u")
    system.connect("a.y", "c.u")
    return system


def test_a_ring_is_a_loop_unless_a_unit_says_that_it_waits(tmp_path: Path) -> None:
    around = {("a", "u"), ("a", "y"), ("b", "u"), ("b", "y")}
    (found,) = algebraic_loops(ring(tmp_path, broken=False))
    assert {end for wire in found.wires for end in wire.ends} == around
    assert algebraic_loops(ring(tmp_path, broken=True)) == []


def test_a_unit_that_does_not_say_may_follow_at_once() -> None:
    system = System([ObjectComponent(name, FunctionUnit(inputs=["u"], outputs=["y"])) for name in "ab"])
    system.connect("a.y", "b.u")
    assert algebraic_loops(system) == []
    system.connect("b.y", "a.u")
    assert len(algebraic_loops(system)) == 1


def test_the_picture_has_every_box_port_and_arrow_and_the_loop_in_colour(tmp_path: Path) -> None:
    root = ET.fromstring(draw(ring(tmp_path, broken=False), "a <ring> & more"))
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert texts[:2] == ["a <ring> & more", "3 components, 3 connections, 1 algebraic loop (in colour)"]
    assert sorted(texts[2:]) == sorted(["a", "b", "c", "u", "y", "u×2.5", "y", "u"])
    wires = [path for path in root.iter(f"{SVG}path") if path.get("class") == "wire"]
    told = {wire.findtext(f"{SVG}title"): wire.get("stroke") for wire in wires}
    assert {title for title, colour in told.items() if colour == LOOPS[0]} == {"a.y → b.u ×2.5", "b.y → a.u"}
    assert set(told) == {"a.y → b.u ×2.5", "b.y → a.u", "a.y → c.u"}


def test_a_vector_is_one_arrow() -> None:
    giver = FunctionUnit(outputs=[f"y[{i}]" for i in range(1, 8)])
    taker = FunctionUnit(inputs=[f"u[{i}]" for i in range(1, 8)])
    system = System([ObjectComponent("a", giver), ObjectComponent("b", taker)])
    system.connect("a.y", "b.u")
    picture = draw(system, "vector")
    assert picture.count('class="wire"') == 1
    assert "[7]" in picture
