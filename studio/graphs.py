"""The graphs of a report: S1's table 2 for every joint, each graph as Plotly's JSON."""

from __future__ import annotations

import html
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simloop.master import Lateness, Result
from simloop.master.pace import EDGES
from simloop.models.arm import Arm
from simloop.studio.look import BLUE, GREY, PALETTE, RED, in_words, joint_colour, layout, thin, time_axis
from simloop.studio.redundant import joint_forces, joint_positions, joint_speeds
from simloop.studio.scenario import Graph, Marker, Outcome, Panels, Path, Plot, Scenario
from simloop.studio.space import draw_panels, draw_path

# Joints past the palette begin it again, darker and with another dash: Plotly's name, and its SVG for the legend.
_DASHES = (("solid", ""), ("dash", "6 3"), ("dot", "2 2"), ("dashdot", "6 2 2 2"))


@dataclass(frozen=True)
class Joint:
    """A joint as the graphs show it: the same colour and dash in each."""

    place: int
    name: str
    unit: str

    @property
    def colour(self) -> str:
        return joint_colour(self.place)

    @property
    def dash_number(self) -> int:
        return self.place // len(PALETTE) % len(_DASHES)

    @property
    def dash(self) -> tuple[str, str]:
        return _DASHES[self.dash_number]


@dataclass(frozen=True)
class Signal:
    """A port with one value a joint, and what a graph calls it."""

    port: str
    name: str

    def of(self, joint: Joint, result: Result) -> NDArray[np.float64]:
        return _numbers(result, f"{self.port}[{joint.place + 1}]")


@dataclass(frozen=True)
class Style:
    """What a graph shows of its two signals: both, or the first less the second."""

    title: str
    axis: Mapping[str, str]
    """Its label for joints whose position is in m and for those in rad."""
    first: Signal
    second: Signal
    difference: bool

    @property
    def key(self) -> str:
        """Which curve is which where colours tell joints apart."""
        return f"wide: {self.first.name} · narrow: {self.second.name}"


@dataclass(frozen=True)
class TwoRuns:
    """A port as it is drawn of two runs, with its label for each unit."""

    port: str
    title: str
    axis: Mapping[str, str]


_FORCES = Signal("control.tau", "τ sent to the plant"), Signal("control.tau_replay", "τ′ needed to go where it went")
_PATHS = Signal("planner.q_d", "q_d planned"), Signal("plant.q", "q measured")
_VELOCITIES = Signal("control.v_d", "v_d wanted"), Signal("plant.v", "v of the plant")
_STYLES = {
    Graph.FORCE_COMPARISON: Style(
        "Force comparison", {"m": "force / N", "rad": "torque / N·m"}, *_FORCES, difference=False
    ),
    Graph.FORCE_DIFFERENCE: Style(
        "Force difference", {"m": "τ − τ′ / N", "rad": "τ − τ′ / N·m"}, *_FORCES, difference=True
    ),
    Graph.PATH_COMPARISON: Style(
        "Path comparison", {"m": "position / m", "rad": "angle / rad"}, *_PATHS, difference=False
    ),
    Graph.PATH_DIFFERENCE: Style(
        "Path difference", {"m": "q − q_d / m", "rad": "q − q_d / rad"}, _PATHS[1], _PATHS[0], difference=True
    ),
    Graph.VELOCITY_COMPARISON: Style(
        "Velocity comparison", {"m": "velocity / m/s", "rad": "velocity / rad/s"}, *_VELOCITIES, difference=False
    ),
    Graph.VELOCITY_DIFFERENCE: Style(
        "Velocity difference",
        {"m": "v − v_d / m/s", "rad": "v − v_d / rad/s"},
        _VELOCITIES[1],
        _VELOCITIES[0],
        difference=True,
    ),
}
TWO_RUNS = (
    TwoRuns("plant.q_true", "Joint positions", _STYLES[Graph.PATH_COMPARISON].axis),
    TwoRuns("control.tau", "Joint forces sent by control", _STYLES[Graph.FORCE_COMPARISON].axis),
    TwoRuns("plant.v", "Joint speeds", _STYLES[Graph.VELOCITY_COMPARISON].axis),
)
DISTANCE = TwoRuns("collision.distance", "Distance to the nearest body", {"m": "distance / m"})
_RUNS = "first run", "second run"
_LOOKS: tuple[dict[str, Any], ...] = {"width": 5.0, "opacity": 0.35}, {"width": 1.5}
# What sets graphs of one kind apart where joints differ in unit.
MOTIONS = {"m": "joints that slide", "rad": "joints that turn"}
# A difference graph spans at least this both ways, whatever its unit: rounding is drawn as the line that it is.
_DUST = 1e-12
# The height of a line of markers' labels, and of the graph below them, px.
_LABEL, _GRAPH = 15, 215
# Stretches of a thinned curve; a screen has fewer columns of pixels. Many joints share what keeps a page light.
_STRETCHES, _SHARED_STRETCHES = 4000, 14000


@dataclass(frozen=True)
class _Curve:
    time: NDArray[np.float64]
    values: NDArray[np.float64]
    name: str
    colour: str
    width: float
    dash: str = "solid"
    joint: int | None = None
    """The place of its joint, when the page's legend shows and hides it."""
    opacity: float = 1.0


def style_of(graph: Graph) -> Style:
    return _STYLES[graph]


def joints_of(scenario: Scenario) -> list[Joint]:
    return joints_of_arm(Arm(scenario.robot.mjcf))


def joints_of_arm(arm: Arm) -> list[Joint]:
    names = [arm.model.joint(i).name or f"q[{i + 1}]" for i in range(arm.n)]
    return [Joint(i, name, unit) for i, (name, unit) in enumerate(zip(names, arm.units, strict=True))]


def draw(scenario: Scenario, outcome: Outcome, joints: list[Joint], markers: tuple[Marker, ...]) -> list[str]:
    """A graph of each kind; two of it when some joints slide and others turn, as their units differ. Then the
    scenario's own, and last the distance to the nearest body."""
    units = sorted({joint.unit for joint in joints})
    plots = [
        _plot(_STYLES[graph], outcome, [joint for joint in joints if joint.unit == unit], joints, markers)
        for graph in (scenario.graphs if len(outcome.result) > 1 else ())
        for unit in units
    ]
    own = scenario.plots(outcome) if outcome.result.complete else ()
    if len(joints) > 1 and len(outcome.result) > 1 and not any(isinstance(plot, Panels) for plot in own):
        robot, result = scenario.robot, outcome.result
        limited = joint_positions(robot, result), joint_speeds(robot, outcome), joint_forces(robot, result)
        own = (*own, *(panels for panels in limited if np.isfinite([p.limits for p in panels.panels]).any()))
    return [
        *plots,
        *(_plot_own(plot, outcome.result, markers) for plot in own),
        _plot_distance(outcome.result, markers),
    ]


def _plot(style: Style, outcome: Outcome, joints: list[Joint], of_all: list[Joint], markers: tuple[Marker, ...]) -> str:
    title = style.title
    if len({joint.unit for joint in of_all}) > 1:
        title += f", {MOTIONS[joints[0].unit]}"
    if len(of_all) == 1:
        curves = _curves_of_one(style, outcome, joints[0])
    else:
        curves = [curve for joint in joints for curve in _curves_of_many(style, outcome, joint)]
        if not style.difference:
            pale = "".join(f" · pale: {style.second.name}, {label}" for label, _ in _variants(style, outcome))
            title += f"<br><sub>{style.key}{pale}</sub>"
    stretches = min(_STRETCHES, _SHARED_STRETCHES // len(of_all))
    span = _DUST if style.difference else 0.0
    return _figure_json(title, style.axis[joints[0].unit], curves, markers, stretches, span)


def _curves_of_one(style: Style, outcome: Outcome, joint: Joint) -> list[_Curve]:
    """A colour for each signal."""
    result = outcome.result
    time, a, b = result["time"], style.first.of(joint, result), style.second.of(joint, result)
    if style.difference:
        return [_Curve(time, a - b, "", BLUE, 1.8)]
    # The wide curve stays visible below the narrow one where they coincide.
    curves = [
        _Curve(time, a, style.first.name, BLUE, 6.0, opacity=0.55),
        _Curve(time, b, style.second.name, RED, 1.6),
    ]
    return curves + [
        _Curve(other["time"], style.second.of(joint, other), f"{style.second.name}, {label}", GREY, 1.6)
        for label, other in _variants(style, outcome)
    ]


def _curves_of_many(style: Style, outcome: Outcome, joint: Joint) -> list[_Curve]:
    """A colour for each joint."""
    result = outcome.result
    time, a, b = result["time"], style.first.of(joint, result), style.second.of(joint, result)
    look: dict[str, Any] = {"colour": joint.colour, "joint": joint.place}
    if style.difference:
        return [_Curve(time, a - b, joint.name, width=1.5, dash=joint.dash[0], **look)]
    curves = [
        _Curve(time, a, f"{joint.name}, {style.first.name}", width=5.0, opacity=0.35, **look),
        _Curve(time, b, f"{joint.name}, {style.second.name}", width=1.5, dash=joint.dash[0], **look),
    ]
    return curves + [
        _Curve(other["time"], style.second.of(joint, other), f"{joint.name}, {label}", width=1.0, opacity=0.5, **look)
        for label, other in _variants(style, outcome)
    ]


def _variants(style: Style, outcome: Outcome) -> list[tuple[str, Result]]:
    """The other runs that a path is compared with."""
    if style is not _STYLES[Graph.PATH_COMPARISON]:
        return []
    return [(label, result) for label, (result, _) in outcome.variants.items()]


def legend(joints: list[Joint]) -> str:
    """One legend for all graphs, when there is more than one joint."""
    if len(joints) < 2:
        return ""
    chips = "".join(
        f'<button type="button" aria-pressed="true" data-joint="{joint.place}"><svg width="28" height="8">'
        f'<line x1="0" y1="4" x2="28" y2="4" stroke="{joint.colour}" stroke-width="3" '
        f'stroke-dasharray="{joint.dash[1]}"/></svg>{html.escape(joint.name)}</button>'
        for joint in joints
    )
    hint = (
        "Click a joint to hide or show it in every graph, double-click to see it alone or all again. The link of the "
        "joint that you point at is dark in the replay."
    )
    return f'<div class="legend"><div class="chips">{chips}</div><p>{hint}</p></div>'


def _plot_own(plot: Plot | Panels | Path, result: Result, markers: tuple[Marker, ...]) -> str:
    if isinstance(plot, Panels):
        return draw_panels(plot, result["time"])
    if isinstance(plot, Path):
        return draw_path(plot)
    curves = [
        _Curve(
            result["time"], curve.values, curve.label, colour, *((6.0, "solid", None, 0.55) if curve.below else (1.6,))
        )
        for curve, colour in zip(plot.curves, itertools.cycle(PALETTE), strict=False)
    ]
    return _figure_json(plot.title, plot.axis, curves, markers, _STRETCHES)


def _plot_distance(result: Result, markers: tuple[Marker, ...]) -> str:
    curves = [_Curve(result["time"], _numbers(result, "collision.distance"), "", BLUE, 1.8)]
    return _figure_json(DISTANCE.title, DISTANCE.axis["m"], curves, markers, _STRETCHES)


def draw_two(style: TwoRuns, first: Result, second: Result, joints: Sequence[tuple[Joint, Joint]]) -> str:
    """A port of two runs, with one value or with one for each of these pairs of joints: the first run wide."""
    both = (first, second)
    if not joints:
        curves = [
            _Curve(run["time"], _numbers(run, style.port), word, colour, **look)
            for run, word, colour, look in zip(both, _RUNS, (BLUE, RED), _LOOKS, strict=True)
        ]
        return _figure_json(style.title, style.axis["m"], curves, (), _STRETCHES)
    title = f"{style.title}<br><sub>wide: first run · narrow: second run</sub>"
    curves = [
        _Curve(
            run["time"],
            Signal(style.port, "").of(joint, run),
            f"{joint.name}, {word}",
            RED if len(joints) == 1 and run is second else pair[0].colour,
            dash="solid" if run is first else joint.dash[0],
            joint=joint.place,
            **look,
        )
        for pair in joints
        for run, joint, word, look in zip(both, pair, _RUNS, _LOOKS, strict=True)
    ]
    return _figure_json(title, style.axis[joints[0][0].unit], curves, (), _SHARED_STRETCHES // max(4, len(curves)))


def draw_lateness(lateness: Lateness) -> str:
    """How many deadlines a paced run was how late for."""
    import plotly.graph_objects as go

    ends = [in_words(edge) for edge in EDGES]
    bins = [*(f"{a} – {b}" for a, b in itertools.pairwise(ends)), f"over {ends[-1]}"]
    seen = [i for i, count in enumerate(lateness.counts) if count]
    kept = slice(0, seen[-1] + 1 if seen else 1)
    bars = go.Bar(
        x=bins[kept], y=lateness.counts[kept], text=lateness.counts[kept], textposition="outside", marker_color=BLUE
    )
    figure = go.Figure(bars)
    title = "Lateness, wall time after each deadline"
    figure.update_layout(**layout(title), xaxis={"type": "category"}, yaxis={"title": {"text": "deadlines"}})
    text: str = figure.to_json()
    return text


def _numbers(result: Result, name: str) -> NDArray[np.float64]:
    return np.asarray(result[name], dtype=np.float64)


def _figure_json(
    title: str, axis: str, curves: list[_Curve], markers: tuple[Marker, ...], stretches: int, span: float = 0.0
) -> str:
    """Over the whole time of its curves; up and down it spans at least ± `span`."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for curve in curves:
        x, y = thin(curve.time, curve.values, stretches)
        line = {"color": curve.colour, "width": curve.width, "dash": curve.dash, "simplify": False}
        shown = bool(curve.name) and curve.joint is None
        figure.add_trace(
            go.Scatter(x=x, y=y, name=curve.name, line=line, showlegend=shown, opacity=curve.opacity, meta=curve.joint)
        )
    ends = [float(curve.time[k]) for curve in curves for k in (0, -1)]
    look = layout(title, 330 + _LABEL * len(markers))
    look["margin"]["t"] += _LABEL * len(markers)
    look["legend"]["y"] += _LABEL * len(markers) / _GRAPH
    values = {"title": {"text": axis}, "exponentformat": "power"}
    if span:
        values["autorangeoptions"] = {"include": [-span, span]}
    figure.update_layout(**look, xaxis=time_axis(*ends), yaxis=values)
    for k, marker in enumerate(reversed(markers)):
        _mark(figure, marker, k, 0.5 * (min(ends) + max(ends)))
    text: str = figure.to_json()
    return text


def _mark(figure: Any, marker: Marker, line: int, middle: float) -> None:
    """A dotted line at an instant, with its label above the graph, where no curve is. Labels of instants a step apart
    would lie on each other, so each has a line of its own."""
    top = 1.0 + _LABEL * line / _GRAPH
    dots = {"color": GREY, "width": 1, "dash": "dot"}
    figure.add_shape(type="line", x0=marker.time, x1=marker.time, y0=0.0, y1=top, yref="paper", line=dots)
    figure.add_annotation(
        text=f"{marker.label} {marker.time:.4f} s",
        font={"size": 11},
        showarrow=False,
        x=marker.time,
        xanchor="left" if marker.time < middle else "right",
        y=top,
        yref="paper",
        yanchor="bottom",
    )
