"""The report of a run: one HTML file that opens from disk with no network."""

from __future__ import annotations

import html
import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simloop.master import Result
from simloop.studio.scenario import Figure, Graph, Marker, Outcome, Plot, Scenario, Table

# Okabe and Ito's palette: told apart by the colour-blind too.
BLUE, RED, GREY = "#0072B2", "#D55E00", "#6b7280"
PALETTE = (BLUE, RED, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

# For each graph: title, axis, and the curves as (column pattern, name); two curves compare, one with a
# second pattern is their difference.
_CURVES: dict[Graph, tuple[str, str, tuple[tuple[str, str], tuple[str, str]]]] = {
    Graph.FORCE_COMPARISON: (
        "Force comparison",
        "force / N",
        (
            ("control.tau[{i}]", "τ sent to the plant"),
            ("control.tau_replay[{i}]", "τ′ needed to go where it went"),
        ),
    ),
    Graph.FORCE_DIFFERENCE: (
        "Force difference",
        "τ − τ′ / N",
        (("control.tau[{i}]", ""), ("control.tau_replay[{i}]", "")),
    ),
    Graph.PATH_COMPARISON: (
        "Path comparison",
        "position / m",
        (("planner.q_d[{i}]", "q_d planned"), ("plant.q[{i}]", "q measured")),
    ),
    Graph.PATH_DIFFERENCE: (
        "Path difference",
        "q − q_d / m",
        (("plant.q[{i}]", ""), ("planner.q_d[{i}]", "")),
    ),
    Graph.VELOCITY_COMPARISON: (
        "Velocity comparison",
        "velocity / m/s",
        (("control.v_d[{i}]", "v_d wanted"), ("plant.v[{i}]", "v of the plant")),
    ),
    Graph.VELOCITY_DIFFERENCE: (
        "Velocity difference",
        "v − v_d / m/s",
        (("plant.v[{i}]", ""), ("control.v_d[{i}]", "")),
    ),
}
# Stretches of a thinned curve; a screen has fewer columns of pixels.
_STRETCHES = 4000
_DIFFERENCES = (Graph.FORCE_DIFFERENCE, Graph.PATH_DIFFERENCE, Graph.VELOCITY_DIFFERENCE)


def write_report(
    path: Path, scenario: Scenario, outcome: Outcome, figures: Mapping[str, Figure], record: Mapping[str, Any]
) -> None:
    import plotly.offline

    markers = scenario.markers(outcome) if figures else ()
    plots = [_plot(graph, outcome, markers) for graph in scenario.graphs] if len(outcome.result) > 1 else []
    plots += [_plot_own(plot, outcome.result, markers) for plot in (scenario.plots(outcome) if figures else ())]
    plots.append(_plot_distance(outcome.result, markers))
    page = _PAGE.format(
        title=html.escape(scenario.name),
        heading=html.escape(scenario.title),
        notice=_notice(record),
        facts=_facts(record),
        figures=_figure_table(figures),
        tables="\n".join(_own_table(table) for table in (scenario.tables(outcome) if figures else ())),
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


def _plot(graph: Graph, outcome: Outcome, markers: tuple[Marker, ...]) -> str:
    title, axis, (first, second) = _CURVES[graph]
    result = outcome.result
    time = result["time"]
    a, b = (_numbers(result, pattern.format(i=1)) for pattern, _ in (first, second))
    if graph in _DIFFERENCES:
        curves = [(time, a - b, "", BLUE, 1.8)]
    else:
        # The wide curve stays visible below the narrow one where they coincide.
        curves = [(time, a, first[1], BLUE, 6.0), (time, b, second[1], RED, 1.6)]
        if graph is Graph.PATH_COMPARISON:
            curves += [
                (other["time"], _numbers(other, second[0].format(i=1)), f"{second[1]}, {label}", GREY, 1.6)
                for label, (other, _) in outcome.variants.items()
            ]
    return _figure_json(title, axis, curves, markers)


def _plot_distance(result: Result, markers: tuple[Marker, ...]) -> str:
    curves = [(result["time"], _numbers(result, "collision.distance"), "", BLUE, 1.8)]
    return _figure_json("Distance to the nearest body", "distance / m", curves, markers)


def _plot_own(plot: Plot, result: Result, markers: tuple[Marker, ...]) -> str:
    colours = itertools.cycle(PALETTE)
    curves = [(result["time"], c.values, c.label, next(colours), 6.0 if c.below else 1.6) for c in plot.curves]
    return _figure_json(plot.title, plot.axis, curves, markers)


def _own_table(table: Table) -> str:
    def row(texts: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts) + "</tr>"

    rows = "".join(row(texts, "td") for texts in table.rows)
    return f"<h2>{html.escape(table.title)}</h2><table>{row(table.columns, 'th')}{rows}</table>"


def _numbers(result: Result, name: str) -> NDArray[np.float64]:
    return np.asarray(result[name], dtype=np.float64)


def _thin(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Enough points to look the same: of a long curve, the least and the greatest of each of many short stretches."""
    if len(x) <= 2 * _STRETCHES:
        return x, y
    size = len(x) // _STRETCHES + 1
    kept = {0, len(x) - 1}
    for start in range(0, len(x), size):
        stretch = y[start : start + size]
        kept |= {start + int(stretch.argmin()), start + int(stretch.argmax())}
    places = np.array(sorted(kept))
    return x[places], y[places]


def _figure_json(title: str, axis: str, curves: list[Any], markers: tuple[Marker, ...]) -> str:
    import plotly.graph_objects as go

    figure = go.Figure()
    for time, values, name, colour, width in curves:
        x, y = _thin(time, values)
        line = {"color": colour, "width": width, "simplify": False}
        figure.add_trace(
            go.Scatter(x=x, y=y, name=name, line=line, showlegend=bool(name), opacity=0.55 if width > 3 else 1.0)
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
details {{ margin-top: 12px; }} summary {{ cursor: pointer; font-weight: 600; }}
</style></head><body>
<h1>{heading}</h1>
<p class="facts">{title} · {facts}</p>
{notice}
{figures}
{tables}
<h2>Graphs</h2>
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
</script>
</body></html>
"""
