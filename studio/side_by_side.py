"""Two runs side by side: where they part first, their figures in one table, their curves in one graph, one replay."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simloop.master import Result, SimloopError
from simloop.studio.archive import Archive
from simloop.studio.graphs import draw_two
from simloop.studio.look import RED
from simloop.studio.report import fill_page, replay_controls
from simloop.studio.view.stage import frame_rows, make_stage, pack, replay_of, seen_in

# The vectors that are drawn, with a label for their axis.
_DRAWN = {
    "plant.q_true": "true position / m, rad",
    "control.tau": "force / N, N·m",
    "plant.v": "velocity / m/s, rad/s",
    "collision.distance": "distance of the nearest pair / m",
}


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
    plots = [
        draw_two(first.result, second.result, name, axis, (str(first.folder), str(second.folder)))
        for name, axis in _DRAWN.items()
        if _has(first, name) and _has(second, name)
    ]
    motion = _motion(first, second)
    page = fill_page(
        plots,
        motion,
        title=f"{names[0]} and {names[1]}",
        heading=f"{html.escape(first.title)} · two runs",
        facts="first: solid · second: dotted, in red where there is one curve",
        notice=f'<p class="notice">{html.escape(told)}</p>',
        figures=_figures(first, second),
        replay=replay_controls(first.result["time"][-1], [], "the second run, as a ghost") if motion else "",
        events="",
        legend="",
        tables="",
        parameters=_differences("parameters", first, second),
        provenance=_both([("command", r["command"]) for r in (first.record, second.record)])
        + _differences("versions", first, second)
        + _differences("units", first, second),
    )
    path.write_text(page, encoding="utf-8")
    return told


def _has(archive: Archive, name: str) -> bool:
    return name in archive.result.columns or f"{name}[1]" in archive.result.columns


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
        known: dict[str, Any] = next(each for each in about if each is not None)
        cells = "".join(f"<td class=number>{html.escape(_value(each))}</td>" for each in about)
        rows += f"<tr><td>{html.escape(known['label'])}</td>{cells}<td>{html.escape(known['unit'])}</td></tr>"
    head = "<tr><th>figure</th><th>first</th><th>second</th><th></th></tr>"
    return f"<table>{head}{rows}</table>" if rows else ""


def _value(figure: dict[str, Any] | None) -> str:
    if figure is None or figure["value"] is None:
        return "–"
    return f"{figure['value']:.5g}" + {True: " ✓", False: " ✗", None: ""}[figure.get("ok")]


def _differences(key: str, first: Archive, second: Archive) -> str:
    """Of two tables, what is not the same in both."""
    a, b = first.record[key], second.record[key]
    rows = [
        f"<tr><td>{html.escape(str(name))}</td>"
        + "".join(f"<td><code>{html.escape(json.dumps(side.get(name)))}</code></td>" for side in (a, b))
        + "</tr>"
        for name in sorted({*a, *b})
        if a.get(name) != b.get(name)
    ]
    if not rows:
        return f"<p>The {key} are the same.</p>"
    return f"<table><tr><th>{key} that differ</th><th>first</th><th>second</th></tr>{''.join(rows)}</table>"


def _both(rows: list[tuple[str, str]]) -> str:
    cells = "".join(f"<tr><td>{html.escape(k)}</td><td><code>{html.escape(v)}</code></td></tr>" for k, v in rows)
    return f"<table>{cells}</table>"
