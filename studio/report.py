"""The report of a run: one HTML file that opens from disk with no network."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simloop.master import Result
from simloop.models.arm import Arm
from simloop.studio.scenario import Figure, Graph, Marker, Outcome, Scenario

# Okabe and Ito's palette, told apart by the colour-blind too, without its yellow, which is faint on white.
BLUE, RED, GREY = "#0072B2", "#D55E00", "#6b7280"
_PALETTE = (BLUE, RED, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Joints past the palette begin it again with another dash: Plotly's name, and the same for the legend's SVG.
_DASHES = (("solid", ""), ("dash", "6 3"), ("dot", "2 2"), ("dashdot", "6 2 2 2"))


@dataclass(frozen=True)
class _Joint:
    """A joint as the graphs show it: the same colour and dash in each."""

    place: int
    name: str
    unit: str

    @property
    def colour(self) -> str:
        return _PALETTE[self.place % len(_PALETTE)]

    @property
    def dash(self) -> tuple[str, str]:
        return _DASHES[self.place // len(_PALETTE) % len(_DASHES)]


@dataclass(frozen=True)
class _Signal:
    """A port with one value a joint, and what a graph calls it."""

    port: str
    name: str

    def of(self, joint: _Joint, result: Result) -> NDArray[np.float64]:
        return _numbers(result, f"{self.port}[{joint.place + 1}]")


@dataclass(frozen=True)
class _Style:
    """What a graph shows of its two signals: both, or the first less the second."""

    title: str
    axis: Mapping[str, str]
    """Its label for joints whose position is in m and for those in rad."""
    first: _Signal
    second: _Signal
    difference: bool


_FORCES = _Signal("control.tau", "τ sent to the plant"), _Signal("control.tau_replay", "τ′ needed to go where it went")
_PATHS = _Signal("planner.q_d", "q_d planned"), _Signal("plant.q", "q measured")
_VELOCITIES = _Signal("control.v_d", "v_d wanted"), _Signal("plant.v", "v of the plant")
_STYLES = {
    Graph.FORCE_COMPARISON: _Style(
        "Force comparison", {"m": "force / N", "rad": "torque / N·m"}, *_FORCES, difference=False
    ),
    Graph.FORCE_DIFFERENCE: _Style(
        "Force difference", {"m": "τ − τ′ / N", "rad": "τ − τ′ / N·m"}, *_FORCES, difference=True
    ),
    Graph.PATH_COMPARISON: _Style(
        "Path comparison", {"m": "position / m", "rad": "angle / rad"}, *_PATHS, difference=False
    ),
    Graph.PATH_DIFFERENCE: _Style(
        "Path difference", {"m": "q − q_d / m", "rad": "q − q_d / rad"}, *reversed(_PATHS), difference=True
    ),
    Graph.VELOCITY_COMPARISON: _Style(
        "Velocity comparison", {"m": "velocity / m/s", "rad": "velocity / rad/s"}, *_VELOCITIES, difference=False
    ),
    Graph.VELOCITY_DIFFERENCE: _Style(
        "Velocity difference", {"m": "v − v_d / m/s", "rad": "v − v_d / rad/s"}, *reversed(_VELOCITIES), difference=True
    ),
}
# Stretches of a thinned curve; a screen has fewer columns of pixels. Many joints share what keeps a page light.
_STRETCHES, _SHARED_STRETCHES = 4000, 16000


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


def write_report(
    path: Path, scenario: Scenario, outcome: Outcome, figures: Mapping[str, Figure], record: Mapping[str, Any]
) -> None:
    import plotly.offline

    markers = scenario.markers(outcome) if figures else ()
    joints = _joints(scenario)
    plots = _plots(scenario, outcome, joints, markers) if len(outcome.result) > 1 else []
    plots.append(_plot_distance(outcome.result, markers))
    page = _PAGE.format(
        title=html.escape(scenario.name),
        heading=html.escape(scenario.title),
        notice=_notice(record),
        facts=_facts(record),
        figures=_figure_table(figures),
        legend=_legend(joints),
        plotly=plotly.offline.get_plotlyjs(),
        plots="\n".join(f'<div class="plot" id="plot{i}"></div>' for i in range(len(plots))),
        data=",\n".join(plots).replace("</", "<\\/"),
        parameters=_table([*sorted(record["parameters"].items()), *map(_describe_write, record["writes"])]),
        provenance=_table(
            [
                ("command", record["command"]),
                *record["versions"].items(),
                *record["units"].items(),
                *record["inputs"].items(),
            ]
        ),
    )
    path.write_text(page, encoding="utf-8")


def _joints(scenario: Scenario) -> list[_Joint]:
    arm = Arm(scenario.robot.mjcf)
    names = [arm.model.joint(i).name or f"q[{i + 1}]" for i in range(arm.n)]
    return [_Joint(i, name, unit) for i, (name, unit) in enumerate(zip(names, arm.units, strict=True))]


def _plots(scenario: Scenario, outcome: Outcome, joints: list[_Joint], markers: tuple[Marker, ...]) -> list[str]:
    """A graph of each kind; two of it when some joints slide and others turn, as their units differ."""
    units = sorted({joint.unit for joint in joints})
    return [
        _plot(_STYLES[graph], outcome, [joint for joint in joints if joint.unit == unit], len(joints), markers)
        for graph in scenario.graphs
        for unit in units
    ]


def _plot(style: _Style, outcome: Outcome, joints: list[_Joint], of_all: int, markers: tuple[Marker, ...]) -> str:
    title = style.title
    if of_all == 1:
        curves = _curves_of_one(style, outcome, joints[0])
    else:
        curves = [curve for joint in joints for curve in _curves_of_many(style, outcome, joint)]
        if not style.difference:
            title += f"<br><sub>wide: {style.first.name} · narrow: {style.second.name}</sub>"
    stretches = min(_STRETCHES, _SHARED_STRETCHES // of_all)
    return _figure_json(title, style.axis[joints[0].unit], curves, markers, stretches)


def _curves_of_one(style: _Style, outcome: Outcome, joint: _Joint) -> list[_Curve]:
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


def _curves_of_many(style: _Style, outcome: Outcome, joint: _Joint) -> list[_Curve]:
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


def _variants(style: _Style, outcome: Outcome) -> list[tuple[str, Result]]:
    """The other runs that a path is compared with."""
    if style is not _STYLES[Graph.PATH_COMPARISON]:
        return []
    return [(label, result) for label, (result, _) in outcome.variants.items()]


def _legend(joints: list[_Joint]) -> str:
    """One legend for all graphs, when there is more than one joint."""
    if len(joints) == 1:
        return ""
    chips = "".join(
        f'<button type="button" aria-pressed="true" data-joint="{joint.place}"><svg width="28" height="8">'
        f'<line x1="0" y1="4" x2="28" y2="4" stroke="{joint.colour}" stroke-width="3" '
        f'stroke-dasharray="{joint.dash[1]}"/></svg>{html.escape(joint.name)}</button>'
        for joint in joints
    )
    hint = "Click a joint to hide or show it in every graph, double-click to see it alone or all again."
    return f'<div class="legend"><div class="chips">{chips}</div><p>{hint}</p></div>'


def _plot_distance(result: Result, markers: tuple[Marker, ...]) -> str:
    curves = [_Curve(result["time"], _numbers(result, "collision.distance"), "", BLUE, 1.8)]
    return _figure_json("Distance to the nearest body", "distance / m", curves, markers, _STRETCHES)


def _numbers(result: Result, name: str) -> NDArray[np.float64]:
    return np.asarray(result[name], dtype=np.float64)


def _thin(
    x: NDArray[np.float64], y: NDArray[np.float64], stretches: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Enough points to look the same: of a long curve, the least and the greatest of each of many short stretches."""
    if len(x) <= 2 * stretches:
        return x, y
    size = len(x) // stretches + 1
    kept = {0, len(x) - 1}
    for start in range(0, len(x), size):
        stretch = y[start : start + size]
        kept |= {start + int(stretch.argmin()), start + int(stretch.argmax())}
    places = np.array(sorted(kept))
    return x[places], y[places]


def _figure_json(title: str, axis: str, curves: list[_Curve], markers: tuple[Marker, ...], stretches: int) -> str:
    import plotly.graph_objects as go

    figure = go.Figure()
    for curve in curves:
        x, y = _thin(curve.time, curve.values, stretches)
        line = {"color": curve.colour, "width": curve.width, "dash": curve.dash, "simplify": False}
        shown = bool(curve.name) and curve.joint is None
        figure.add_trace(
            go.Scatter(x=x, y=y, name=curve.name, line=line, showlegend=shown, opacity=curve.opacity, meta=curve.joint)
        )
    for k, marker in enumerate(markers):
        # Labels of instants a step apart would lie on each other; each gets a line of its own.
        label = {
            "text": f"{marker.label} {marker.time:.4f} s",
            "font": {"size": 11},
            "yshift": 14 * (len(markers) - 1 - k),
        }
        line = {"color": GREY, "width": 1, "dash": "dot"}
        figure.add_vline(x=marker.time, line=line, annotation=label, annotation_position="bottom right")
    figure.update_layout(
        title={"text": title, "font": {"size": 15}},
        template="plotly_white",
        height=330,
        margin={"l": 70, "r": 15, "t": 70, "b": 45},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0.0},
        xaxis={"title": {"text": "time / s"}},
        yaxis={"title": {"text": axis}, "exponentformat": "power"},
    )
    text: str = figure.to_json()
    return text


def _notice(record: Mapping[str, Any]) -> str:
    if record["status"] == "complete":
        return ""
    why = f"it failed: {record['error']}" if record["error"] else "it was interrupted"
    end = f"{record['rows'] - 1} of its steps are recorded"
    return f'<p class="notice"><b>This run is partial:</b> {html.escape(why)}; {end}.</p>'


def _facts(record: Mapping[str, Any]) -> str:
    steps = f"{record['rows'] - 1} macro steps of {record['step']} s"
    return html.escape(f"{steps} · {record['duration']:g} s · seed {record['seed']}")


def format_figure(figure: Figure) -> str:
    """A figure's value with its unit, for a person."""
    if figure.value is None:
        return "none"
    return f"{figure.value:.5g} {'' if figure.unit == '1' else figure.unit}".rstrip()


def expectation(figure: Figure) -> str:
    """What a figure should be, for a person."""
    if figure.limit is not None:
        return f"≤ {figure.limit:.3g} ({figure.source})"
    if figure.least is not None:
        return f"≥ {figure.least:.3g} ({figure.source})"
    if figure.expected is not None:
        return f"{figure.expected:.4g} ± {figure.tolerance:.0%} ({figure.source})"
    return ""


def _figure_table(figures: Mapping[str, Figure]) -> str:
    words = {True: '<span class="yes">✓ holds</span>', False: '<span class="no">✗ fails</span>', None: ""}
    rows = [
        f"<tr><td>{html.escape(f.label)}</td><td class=number>{html.escape(format_figure(f))}</td>"
        f"<td>{html.escape(expectation(f))}</td><td>{words[f.ok]}</td></tr>"
        for f in figures.values()
    ]
    head = "<tr><th>figure</th><th>value</th><th>expected</th><th></th></tr>"
    return f"<table>{head}{''.join(rows)}</table>" if rows else ""


def _table(rows: list[tuple[str, Any]]) -> str:
    cells = (f"<tr><td>{html.escape(str(k))}</td><td><code>{html.escape(_plain(v))}</code></td></tr>" for k, v in rows)
    return f"<table>{''.join(cells)}</table>"


def _describe_write(write: Mapping[str, Any]) -> tuple[str, Any]:
    return f"{write['name']} from {write['time']:g} s on", write["value"]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · simloop</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: #1f2937; margin: 0 auto; max-width: 1280px; padding: 24px; }}
h1 {{ font-size: 22px; margin: 0; }} h2 {{ font-size: 16px; margin: 28px 0 8px; }}
.facts {{ color: #6b7280; margin: 4px 0 16px; }}
.plots {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 520px), 1fr)); gap: 8px; }}
.plot {{ min-width: 0; }}
table {{ border-collapse: collapse; }}
td, th {{ text-align: left; padding: 4px 14px 4px 0; border-bottom: 1px solid #e5e7eb; vertical-align: top; }}
td.number {{ text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }}
code {{ font-size: 13px; overflow-wrap: anywhere; }}
.yes {{ color: #047857; }} .no {{ color: #b91c1c; font-weight: bold; }}
.notice {{ background: #fef3c7; border-left: 4px solid #d97706; padding: 10px 14px; }}
.legend {{ position: sticky; top: 0; z-index: 1; background: #fffffff0; padding: 6px 0; border-bottom: 1px solid #e5e7eb; }}
.legend p {{ margin: 2px 4px; font-size: 13px; color: #6b7280; }}
.chips {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(104px, max-content)); }}
.chips button {{ all: unset; cursor: pointer; padding: 2px 4px; font-size: 13px; white-space: nowrap; }}
.chips button:focus-visible {{ outline: 2px solid #0072B2; }}
.chips button[aria-pressed=false] {{ opacity: 0.35; text-decoration: line-through; }}
.chips svg {{ margin-right: 6px; vertical-align: middle; }}
details {{ margin-top: 12px; }} summary {{ cursor: pointer; font-weight: 600; }}
</style></head><body>
<h1>{heading}</h1>
<p class="facts">{title} · {facts}</p>
{notice}
{figures}
<h2>Graphs</h2>
{legend}
<div class="plots">
{plots}
</div>
<details><summary>Parameters</summary>{parameters}</details>
<details><summary>Provenance</summary>{provenance}</details>
<script>{plotly}</script>
<script>
const figures = [
{data}
];
const options = {{responsive: true, displaylogo: false}};
figures.forEach((figure, i) => Plotly.newPlot("plot" + i, figure.data, figure.layout, options));
const chips = [...document.querySelectorAll(".chips button")];
function show(wanted) {{
  chips.forEach(chip => chip.setAttribute("aria-pressed", wanted(chip)));
  const joints = new Set(chips.filter(wanted).map(chip => Number(chip.dataset.joint)));
  figures.forEach((figure, i) => {{
    const places = figure.data.flatMap((trace, k) => typeof trace.meta === "number" ? [k] : []);
    const visible = places.map(k => joints.has(figure.data[k].meta));
    if (places.length) Plotly.restyle("plot" + i, {{visible: visible}}, places);
  }});
}}
const pressed = chip => chip.getAttribute("aria-pressed") === "true";
chips.forEach(one => {{
  let alone = false;
  one.addEventListener("click", event => {{
    if (event.detail > 1) return;
    alone = pressed(one) && chips.filter(pressed).length === 1;
    const before = new Map(chips.map(chip => [chip, pressed(chip)]));
    show(chip => chip === one ? !before.get(one) : before.get(chip));
  }});
  one.addEventListener("dblclick", () => {{ const all = alone; show(chip => all || chip === one); }});
}});
</script>
</body></html>
"""
