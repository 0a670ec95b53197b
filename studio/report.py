"""The report of a run: one HTML file that opens from disk with no network."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simloop.master import Lateness
from simloop.studio.graphs import draw, draw_lateness, joints_of, legend
from simloop.studio.look import in_words
from simloop.studio.scenario import Figure, Outcome, Scenario, Table


def write_report(
    path: Path,
    scenario: Scenario,
    outcome: Outcome,
    figures: Mapping[str, Figure],
    record: Mapping[str, Any],
    lateness: Lateness | None = None,
) -> None:
    """`record` is what run.json says; `lateness` that of a paced run."""
    import plotly.offline

    markers = scenario.markers(outcome) if figures else ()
    joints = joints_of(scenario)
    plots = draw(scenario, outcome, joints, markers)
    if lateness is not None:
        plots.append(draw_lateness(lateness))
    page = _PAGE.format(
        title=html.escape(scenario.name),
        heading=html.escape(scenario.title),
        notice=_notice(record),
        facts=_facts(record, lateness),
        figures=_figure_table(figures),
        legend=legend(joints) if scenario.graphs else "",
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


def _own_table(table: Table) -> str:
    def row(texts: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts) + "</tr>"

    rows = "".join(row(texts, "td") for texts in table.rows)
    return f"<h2>{html.escape(table.title)}</h2><table>{row(table.columns, 'th')}{rows}</table>"


def _notice(record: Mapping[str, Any]) -> str:
    if record["status"] == "complete":
        return ""
    why = f"it failed: {record['error']}" if record["error"] else "it was interrupted"
    end = f"{record['rows'] - 1} of its steps are recorded"
    return f'<p class="notice"><b>This run is partial:</b> {html.escape(why)}; {end}.</p>'


def _facts(record: Mapping[str, Any], lateness: Lateness | None) -> str:
    steps = f"{record['rows'] - 1} macro steps of {record['step']} s"
    facts = f"{steps} · {record['duration']:g} s · seed {record['seed']}"
    if lateness is not None:
        facts += f" · pace {record['pace']['rate']:g}: {format_lateness(lateness)}"
    return html.escape(facts)


def format_figure(figure: Figure) -> str:
    """A figure's value with its unit, for a person."""
    if figure.value is None:
        return "none"
    return f"{figure.value:.5g} {'' if figure.unit == '1' else figure.unit}".rstrip()


def format_lateness(lateness: Lateness) -> str:
    """How late a paced run was, for a person."""
    missed = f"{lateness.missed} of {lateness.deadlines} deadlines missed"
    return f"{missed}; late by {in_words(lateness.median)} in the median, {in_words(lateness.worst)} at worst"


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
.plot {{ min-width: 0; }} .wide {{ grid-column: 1 / -1; }}
table {{ border-collapse: collapse; }}
td, th {{ text-align: left; padding: 4px 14px 4px 0; border-bottom: 1px solid #e5e7eb; vertical-align: top; }}
td.number {{ text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }}
code {{ font-size: 13px; overflow-wrap: anywhere; }}
.yes {{ color: #047857; }} .no {{ color: #b91c1c; font-weight: bold; }}
.notice {{ background: #fef3c7; border-left: 4px solid #d97706; padding: 10px 14px; }}
.legend {{ position: sticky; top: 0; z-index: 1; background: #fffffff0; padding: 6px 0; }}
.legend p {{ margin: 2px 4px; font-size: 13px; color: #6b7280; }}
.chips {{ display: grid; grid-template-columns: repeat(7, max-content); column-gap: 14px; }}
@media (max-width: 820px) {{ .chips {{ grid-template-columns: repeat(3, max-content); }} }}
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
{tables}
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
figures.forEach((figure, i) => {{
  document.getElementById("plot" + i).classList.toggle("wide", figure.layout.meta === "wide");
  Plotly.newPlot("plot" + i, figure.data, figure.layout, options);
}});
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
