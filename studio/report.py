"""The report of a run: one HTML file that opens from disk with no network."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from simloop.master import Lateness
from simloop.models.arm import Arm
from simloop.models.robot import scene_mjcf
from simloop.studio.graphs import draw, draw_lateness, joints_of, legend
from simloop.studio.look import in_words
from simloop.studio.request import BY_HAND
from simloop.studio.scenario import Figure, Outcome, Scenario, Table
from simloop.studio.timeline import Event, events_of
from simloop.studio.view.stage import make_stage, replay_of, seen_in

_SCRIPTS = ("scene.js", "plots.js", "replay.js")


def write_report(
    path: Path,
    scenario: Scenario,
    outcome: Outcome,
    figures: Mapping[str, Figure],
    record: Mapping[str, Any],
    lateness: Lateness | None = None,
) -> None:
    """`record` is what run.json says; `lateness` that of a paced run."""
    markers = scenario.markers(outcome) if figures else ()
    joints = joints_of(scenario)
    plots = draw(scenario, outcome, joints, markers)
    if lateness is not None:
        plots.append(draw_lateness(lateness))
    arm = Arm(scene_mjcf(scenario.robot, scenario.obstacles))
    events = events_of(outcome.result, record["writes"], markers, arm)
    motion = _motion(scenario, outcome)
    page = fill_page(
        plots,
        motion,
        title=html.escape(scenario.name),
        heading=html.escape(scenario.title),
        notice=_notice(record),
        facts=_facts(record, lateness),
        figures=_figure_table(figures),
        replay=replay_controls(outcome.result["time"][-1], events, "the plan, as a ghost") if motion else "",
        events=_event_table(events),
        legend=legend(joints) if scenario.graphs else "",
        tables="\n".join(_own_table(table) for table in (scenario.tables(outcome) if figures else ())),
        parameters=_table([*sorted(record["parameters"].items()), *map(_describe_write, record["writes"])]),
        provenance=_table(
            [
                ("command", record["command"]),
                ("seed", record["seed"]),
                *record["versions"].items(),
                *record["units"].items(),
                *record["inputs"].items(),
            ]
        ),
    )
    path.write_text(page, encoding="utf-8")


def fill_page(plots: list[str], motion: Mapping[str, Any] | None, **parts: str) -> str:
    """The page of a report. `plots` are Plotly's JSON, `motion` what the replay shows, `parts` HTML by its place."""
    import plotly.offline

    room = files("simloop.studio.view")
    texts = {
        "style": (room / "report.css").read_text(encoding="utf-8"),
        "scripts": "\n".join((room / name).read_text(encoding="utf-8") for name in _SCRIPTS),
        "plotly": plotly.offline.get_plotlyjs(),
        "plots": "\n".join(f'<div class="plot" id="plot{i}"></div>' for i in range(len(plots))),
        "data": in_script(",\n".join(plots)),
        "motion": in_script(json.dumps(motion)),
        **parts,
    }
    template = (room / "report.html").read_text(encoding="utf-8")
    return re.sub(r"@(\w+)@", lambda place: texts[place.group(1)], template)


def in_script(text: str) -> str:
    """JSON as it may stand in a page's script: nothing in it ends the script or begins a comment."""
    return text.replace("<", "\\u003c")


def _motion(scenario: Scenario, outcome: Outcome) -> dict[str, Any] | None:
    """What the replay shows; None when there is nothing to play."""
    if len(outcome.result) < 2 or not all(math.isfinite(x) for x in outcome.result.vector("plant.q_true").ravel()):
        return None
    stage = make_stage(scene_mjcf(scenario.robot, scenario.obstacles), scenario.robot.tools)
    goals = goals_of(outcome.parameters, len(scenario.robot.tools))
    described = stage.describe(scenario.robot.home, goals, seen_in(outcome.result))
    return {"stage": described, **replay_of(stage, outcome.result)}


def goals_of(parameters: Mapping[str, Any], tools: int) -> list[list[float]]:
    """Where the planner was told to take each tool, m; none unless all of it was told."""
    names = [f"planner.goal[{i + 1}]" for i in range(3 * tools)]
    if not all(name in parameters for name in names):
        return []
    values = [float(parameters[name]) for name in names]
    return [values[i : i + 3] for i in range(0, len(values), 3)]


def replay_controls(end: float, events: list[Event], ghost: str) -> str:
    """The replay's canvas and what steers it."""
    ticks = "".join(
        f'<i class="{event.kind}" style="left:{100 * event.time / (end or 1.0):.3f}%" data-time="{event.time}" '
        f'title="{html.escape(f"{event.time:.4g} s: {event.text}", quote=True)}"></i>'
        for event in events
    )
    speeds = "".join(
        f'<option value="{speed}"{" selected" if speed == 1 else ""}>{speed}×</option>'
        for speed in (0.1, 0.25, 0.5, 1, 2, 5, 10)
    )
    return (
        '<div class="replay"><canvas id="scene" tabindex="0" aria-label="Replay of the motion"></canvas>'
        '<div class="controls"><button type="button" id="play" aria-pressed="false">▶ Play</button>'
        f'<div class="track">{ticks}<input type="range" id="time" min="0" max="{end}" step="any" value="0" '
        f'aria-label="Time"></div><output id="told"></output>'
        f'<label>speed <select id="speed">{speeds}</select></label>'
        f'<label><input type="checkbox" id="plan"> {html.escape(ghost)}</label></div>'
        '<p class="hint">Drag to turn, shift-drag or two fingers to shift, wheel or pinch to zoom, double-click to see '
        "all; or arrow keys, +, - and Home. A link has the colour of the joint that moves it. The line joins the "
        "nearest pair of bodies and is red and thick when they are closer than 50 mm. Pink balls are where tools are "
        "to go, purple ones joints that have failed. A click in a graph goes to that instant; zooming one graph's time "
        "zooms all.</p></div>"
    )


def _event_table(events: list[Event]) -> str:
    rows = "".join(
        f'<tr><td><button type="button" data-time="{event.time}">{event.time:.4f} s</button></td>'
        f"<td>{event.kind}</td><td>{html.escape(event.text)}</td></tr>"
        for event in events
    )
    head = "<tr><th>time</th><th>kind</th><th>what happened</th></tr>"
    return f'<h2>Events</h2><div class="events"><table>{head}{rows}</table></div>' if rows else ""


def _own_table(table: Table) -> str:
    def row(texts: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts) + "</tr>"

    rows = "".join(row(texts, "td") for texts in table.rows)
    return f"<h2>{html.escape(table.title)}</h2><table>{row(table.columns, 'th')}{rows}</table>"


def _notice(record: Mapping[str, Any]) -> str:
    if record["status"] == "complete":
        return ""
    why = f"it failed: {record['error']}" if record["error"] else "it was interrupted"
    if record["ended"] == BY_HAND:
        why = f"a person ended it at {record['duration']:g} s of {record['asked']:g} s"
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
    return with_unit(f"{figure.value:.5g}", figure.unit)


def with_unit(number: str, unit: str) -> str:
    """A number with its unit: none for the unit 1, and degrees close up."""
    return number if unit == "1" else f"{number}{unit}" if unit == "°" else f"{number} {unit}"


def format_lateness(lateness: Lateness) -> str:
    """How late a paced run was, for a person."""
    missed = f"{lateness.missed} of {lateness.deadlines} deadlines missed"
    return f"{missed}; late by {in_words(lateness.median)} in the median, {in_words(lateness.worst)} at worst"


def expectation(figure: Figure) -> str:
    """What a figure should be, for a person."""
    if figure.limit is not None:
        said = "≤ " + with_unit(f"{figure.limit:.3g}", figure.unit)
    elif figure.least is not None:
        said = "≥ " + with_unit(f"{figure.least:.3g}", figure.unit)
    elif figure.expected is not None:
        said = with_unit(f"{figure.expected:.4g}", figure.unit)
        said += f" ± {figure.tolerance:.0%}" if figure.tolerance else ""
    else:
        return ""
    return f"{said} ({figure.source})"


def _figure_table(figures: Mapping[str, Figure]) -> str:
    words = {True: '<span class="yes">✓ holds</span>', False: '<span class="no">✗ fails</span>', None: ""}
    rows = [
        f"<tr><td>{html.escape(f.label)}</td><td class=number>{html.escape(format_figure(f))}</td>"
        f"<td>{html.escape(expectation(f))}</td><td>{words[f.ok]}</td></tr>"
        for f in figures.values()
    ]
    head = "<tr><th>figure</th><th>value</th><th>expected</th><th></th></tr>"
    return f'<table class="figures">{head}{"".join(rows)}</table>' if rows else ""


def _table(rows: list[tuple[str, Any]]) -> str:
    cells = (f"<tr><td>{html.escape(str(k))}</td><td><code>{html.escape(_plain(v))}</code></td></tr>" for k, v in rows)
    return f"<table>{''.join(cells)}</table>"


def _describe_write(write: Mapping[str, Any]) -> tuple[str, Any]:
    return f"{write['name']} from {write['time']:g} s on", write["value"]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
