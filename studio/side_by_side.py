"""Two runs side by side: where they part first, their figures in one table, their curves in one graph, one replay."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simloop.master import Result, SimloopError
from simloop.models.arm import Arm
from simloop.studio.archive import Archive
from simloop.studio.graphs import DISTANCE, MOTIONS, TWO_RUNS, Joint, TwoRuns, draw_two, joints_of_arm, legend
from simloop.studio.look import RED
from simloop.studio.report import fill_page, replay_controls, with_unit
from simloop.studio.view.stage import frame_rows, make_stage, pack, replay_of, seen_in

# What a run was asked for; a key that older results do not have is unknown.
_ASKED = ("scenario", "robot", "control", "plant", "status", "step", "duration", "seed")
# Of parameters that differ, as many stand near the top; all of them stand further below.
MOST_PARAMETERS = 20


@dataclass(frozen=True)
class Parting:
    """The first instant, s, at which two runs differ, the variable that does (the most, when several do), and its two
    values."""

    time: float
    name: str
    first: float
    second: float


def find_parting(first: Result, second: Result) -> Parting | None:
    """Compared at the instants that both have; None when all that both recorded is the same there."""
    _, rows, others = np.intersect1d(first["time"], second["time"], return_indices=True)
    names = [name for name in first.columns if name in second.columns and name != "time"]
    if not len(rows) or not names:
        raise SimloopError("the two runs have no instant or no variable in common")
    a, b = (
        np.column_stack([np.asarray(run[name], dtype=float)[places] for name in names])
        for run, places in ((first, rows), (second, others))
    )
    apart = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    if not apart.any():
        return None
    row = int(apart.any(axis=1).argmax())
    column = int(np.where(apart[row], _relative(a[row], b[row]), -1.0).argmax())
    return Parting(float(first["time"][rows[row]]), names[column], float(a[row, column]), float(b[row, column]))


def _relative(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much two numbers differ, as a part of the greater."""
    size = np.maximum(np.abs(a), np.abs(b))
    return np.nan_to_num(np.divide(np.abs(a - b), size, out=np.zeros_like(size), where=size > 0.0), nan=2.0)


def describe_parting(parting: Parting | None, first: Archive, second: Archive) -> str:
    if parting is None:
        if len(first.result) == len(second.result):
            return "The two runs are the same in all that both recorded."
        return "The two runs are the same at the instants and in the variables that both recorded."
    values = f"{parting.first!r} against {parting.second!r}"
    return f"The runs part first at {parting.time:.9g} s, in {parting.name}: {values}."


def write_side_by_side(path: Path, first: Archive, second: Archive) -> str:
    """Write one page of both; returns where they part, in a sentence."""
    told = describe_parting(find_parting(first.result, second.result), first, second)
    names = [html.escape(str(archive.folder)) for archive in (first, second)]
    pairs, apart = pair_joints(*(joints_of_arm(Arm(archive.mjcf)) for archive in (first, second)))
    titles = dict.fromkeys(html.escape(archive.title) for archive in (first, second))
    motion = _motion(first, second)
    page = fill_page(
        _plots(first, second, pairs),
        motion,
        title=f"{names[0]} and {names[1]}",
        heading=f"Two runs: {' · '.join(titles)}",
        facts="first run: wide, pale curves · second run: narrow curves",
        notice=f'<p class="notice">{html.escape(told)}</p>' + _what_differs(first, second) + _paragraphs(apart),
        figures=_figures(first, second),
        replay=replay_controls(first.result["time"][-1], [], "the second run, as a ghost") if motion else "",
        events="",
        legend=legend([joint for joint, _ in pairs]),
        tables="",
        parameters=_differences("parameters", first, second),
        provenance=_both([("command", r["command"]) for r in (first.record, second.record)])
        + _differences("versions", first, second)
        + _differences("units", first, second),
    )
    path.write_text(page, encoding="utf-8")
    return told


def pair_joints(first: list[Joint], second: list[Joint]) -> tuple[list[tuple[Joint, Joint]], list[str]]:
    """The joints that can be drawn together, by their number, and in sentences what cannot or is to be known."""
    pairs = [(a, b) for a, b in zip(first, second, strict=False) if a.unit == b.unit]
    unlike = [
        f"{a.name} (in {a.unit}) and {b.name} (in {b.unit})"
        for a, b in zip(first, second, strict=False)
        if a.unit != b.unit
    ]
    alone = [joint.name for joint in (*first[len(second) :], *second[len(first) :])]
    told = []
    if unlike:
        told.append(f"Not drawn together, as their units differ: {', '.join(unlike)}.")
    if alone:
        told.append(f"Not drawn, as only one of the robots has so many joints: {', '.join(alone)}.")
    if any(a.name != b.name for a, b in pairs):
        named = ", ".join(f"{a.name} with {b.name}" for a, b in pairs)
        told.append(f"The robots have joints of other names; they are drawn by their number: {named}.")
    return pairs, told


def _plots(first: Archive, second: Archive, pairs: list[tuple[Joint, Joint]]) -> list[str]:
    """A graph for each unit that joints have."""
    groups = {unit: [pair for pair in pairs if pair[0].unit == unit] for unit in sorted({a.unit for a, _ in pairs})}
    drawn: list[tuple[TwoRuns, list[tuple[Joint, Joint]]]] = [
        (style if len(groups) == 1 else replace(style, title=f"{style.title}, {MOTIONS[unit]}"), group)
        for style in TWO_RUNS
        for unit, group in groups.items()
    ]
    drawn.append((DISTANCE, []))
    return [
        draw_two(style, first.result, second.result, group)
        for style, group in drawn
        if all(_has(archive, style.port) for archive in (first, second))
    ]


def _has(archive: Archive, name: str) -> bool:
    return name in archive.result.columns or f"{name}[1]" in archive.result.columns


def _what_differs(first: Archive, second: Archive) -> str:
    """What the two runs were asked for and made with, as far as it is not the same."""
    a, b = first.record, second.record
    rows = [(key, a.get(key), b.get(key)) for key in _ASKED if a.get(key) != b.get(key)]
    # The seed has been told.
    parameters = [row for row in _unlike(a["parameters"], b["parameters"]) if row[0] != "plant.seed"]
    rows += parameters[:MOST_PARAMETERS]
    rows += _unlike(*({f"{w['name']} from {w['time']:g} s on": w["value"] for w in r["writes"]} for r in (a, b)))
    rows += _unlike(a["versions"], b["versions"])
    if not rows:
        return "<p>Both runs were asked for the same, of the same versions.</p>"
    cells = "".join(
        f"<tr><td>{html.escape(name)}</td>"
        + "".join(f"<td><code>{html.escape(_plain(value))}</code></td>" for value in values)
        + "</tr>"
        for name, *values in rows
    )
    more = len(parameters) - MOST_PARAMETERS
    rest = f"<p>{more} more parameters differ; all stand below, under Parameters.</p>" if more > 0 else ""
    return f"<h2>What differs</h2><table><tr><th></th><th>first</th><th>second</th></tr>{cells}</table>{rest}"


def _unlike(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    return [(name, a.get(name), b.get(name)) for name in sorted({*a, *b}) if a.get(name) != b.get(name)]


def _plain(value: Any) -> str:
    return "–" if value is None else value if isinstance(value, str) else json.dumps(value)


def _paragraphs(sentences: list[str]) -> str:
    return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)


def _motion(first: Archive, second: Archive) -> dict[str, Any] | None:
    """The first run's replay with the second as a ghost; None for two robots."""
    if first.mjcf != second.mjcf or len(first.result) < 2:
        return None
    stage = make_stage(first.mjcf, first.tools)
    motion = {"stage": stage.describe(first.home, seen=seen_in(first.result)), **replay_of(stage, first.result)}
    times = first.result["time"][frame_rows(first.result["time"])]
    rows = np.clip(np.searchsorted(second.result["time"], times + 1e-9) - 1, 0, len(second.result) - 1)
    motion["plan"] = pack(stage.poses(second.result.vector("plant.q_true")[rows]))
    return motion | {"ghost": RED}


def _figures(first: Archive, second: Archive) -> str:
    summaries = first.record["summary"], second.record["summary"]
    rows = ""
    for key in dict.fromkeys([*summaries[0], *summaries[1]]):
        about = [summary.get(key) for summary in summaries]
        # A label may tell of its run, such as which joint failed.
        labels = dict.fromkeys(each["label"] for each in about if each is not None)
        cells = "".join(f"<td class=number>{html.escape(_value(each))}</td>" for each in about)
        rows += f"<tr><td>{html.escape(' · '.join(labels))}</td>{cells}</tr>"
    head = "<tr><th>figure</th><th>first</th><th>second</th></tr>"
    return f"<h2>Figures</h2><table>{head}{rows}</table>" if rows else ""


def _value(figure: dict[str, Any] | None) -> str:
    if figure is None or figure["value"] is None:
        return "–"
    holds = {True: " ✓", False: " ✗", None: ""}[figure.get("ok")]
    return with_unit(f"{figure['value']:.5g}", figure["unit"]) + holds


def _differences(key: str, first: Archive, second: Archive) -> str:
    """Of two tables, what is not the same in both."""
    rows = [
        f"<tr><td>{html.escape(name)}</td>"
        + "".join(f"<td><code>{html.escape(_plain(value))}</code></td>" for value in values)
        + "</tr>"
        for name, *values in _unlike(first.record[key], second.record[key])
    ]
    if not rows:
        return f"<p>The {key} are the same.</p>"
    return f"<table><tr><th>{key} that differ</th><th>first</th><th>second</th></tr>{''.join(rows)}</table>"


def _both(rows: list[tuple[str, str]]) -> str:
    cells = "".join(f"<tr><td>{html.escape(k)}</td><td><code>{html.escape(v)}</code></td></tr>" for k, v in rows)
    return f"<table>{cells}</table>"
