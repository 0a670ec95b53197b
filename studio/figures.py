"""Figures for papers: the graphs of S1's table 2 as PDF, SVG or PNG, one or the whole matrix."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from simloop.master import NameNotFoundError, Result, SimloopError
from simloop.studio.archive import Archive
from simloop.studio.graphs import Joint, joints_of_arm, style_of
from simloop.studio.look import BLUE, GREY, RED, thin
from simloop.studio.scenario import Graph
from simloop.studio.view.stage import make_stage

_SUFFIXES = (".pdf", ".svg", ".png")
# Of one graph, and of one in the matrix, inches; points kept of a curve.
_SIZE, _CELL, _STRETCHES = (5.0, 3.2), (4.4, 2.7), 1500
# Columns of a legend at most, and the part of the page's width that it may take: the rest is its margin.
_COLUMNS, _ROOM = 7, 0.96
# Font sizes and lines that can be read in a column of a paper.
_LOOK = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "lines.linewidth": 1.3,
    "svg.hashsalt": "simloop",
}


def write_figure(path: Path, archive: Archive, graph: Graph) -> None:
    """One graph."""
    _draw(path, archive, ((graph,),), _SIZE)


def write_matrix(path: Path, archive: Archive) -> None:
    """The six graphs of table 2: a row for force, path and velocity, each as comparison and difference."""
    write_graphs(path, archive, list(Graph))


def write_graphs(path: Path, archive: Archive, graphs: Sequence[Graph]) -> None:
    """These graphs, two in a row."""
    rows = tuple(tuple(graphs[i : i + 2]) for i in range(0, len(graphs), 2))
    _draw(path, archive, rows, _CELL)


def graph_of(name: str) -> Graph:
    try:
        return Graph(name)
    except ValueError:
        raise NameNotFoundError("figure", name, [graph.value for graph in Graph]) from None


def _draw(path: Path, archive: Archive, rows: tuple[tuple[Graph, ...], ...], size: tuple[float, float]) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        raise SimloopError("figures need more packages: pip install 'simloop[figures]'")
    if path.suffix.lower() not in _SUFFIXES:
        raise SimloopError(f"a figure cannot be written to {str(path)!r}; its name must end in .pdf, .svg or .png")
    import matplotlib as mpl

    joints = joints_of_arm(make_stage(archive.mjcf, archive.tools).arm)
    with mpl.rc_context(_LOOK):
        figure = make_figure(archive.result, joints, rows, size)
        # Without the date of its making the same run gives the same file.
        undated = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}, ".png": {}}[path.suffix.lower()]
        figure.savefig(path, metadata=undated, dpi=110)


def make_figure(
    result: Result, joints: list[Joint], rows: tuple[tuple[Graph, ...], ...], size: tuple[float, float]
) -> Any:
    """Matplotlib's figure of these graphs, each of this size, inches; a legend of joints makes it higher."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size[0] * len(rows[0]), size[1] * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), len(rows[0]), squeeze=False)
    for line, graphs in zip(axes, rows, strict=True):
        for place, graph in zip(line, graphs, strict=False):
            _fill(place, result, graph, joints)
        for empty in line[len(graphs) :]:
            empty.set_axis_off()
    if len(joints) > 1:
        _add_legend(figure, *axes[0][0].get_legend_handles_labels())
    return figure


def _add_legend(figure: Any, handles: list[Any], labels: list[str]) -> None:
    """Below the graphs, in as many columns as the page has room for."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer = FigureCanvasAgg(figure).get_renderer()
    for columns in range(min(_COLUMNS, len(labels)), 0, -1):
        legend = figure.legend(
            handles, labels, loc="outside lower center", ncols=columns, fontsize=7, handlelength=2.5, columnspacing=1.2
        )
        box = legend.get_window_extent(renderer)
        if box.width <= _ROOM * figure.bbox.width or columns == 1:
            width, height = figure.get_size_inches()
            figure.set_size_inches(width, height + box.height / figure.dpi)
            return
        legend.remove()


def _fill(axes: Any, result: Result, graph: Graph, joints: list[Joint]) -> None:
    style = style_of(graph)
    for joint in joints:
        first, second = style.first.of(joint, result), style.second.of(joint, result)
        colours = (BLUE, RED) if len(joints) == 1 else (joint.colour, joint.colour)
        dash = ("solid", "dashed", "dotted", "dashdot")[joint.dash_number]
        if style.difference:
            axes.plot(*thin(result["time"], first - second, _STRETCHES), color=colours[0], ls=dash, label=joint.name)
            continue
        names = (style.first.name, style.second.name) if len(joints) == 1 else (None, joint.name)
        axes.plot(*thin(result["time"], first, _STRETCHES), color=colours[0], lw=4, alpha=0.4, label=names[0])
        axes.plot(*thin(result["time"], second, _STRETCHES), color=colours[1], ls=dash, label=names[1])
    units = sorted({joint.unit for joint in joints})
    axes.set(title=style.title, xlabel="time / s", ylabel=" or ".join(style.axis[unit] for unit in units))
    if style.difference:
        axes.axhline(0.0, color=GREY, lw=0.5)
        _keep_dust_flat(axes)
    elif len(joints) == 1:
        axes.legend(fontsize=8)
    else:
        axes.set_title(style.title, pad=16)
        axes.text(0.5, 1.02, style.key, transform=axes.transAxes, ha="center", va="bottom", fontsize=7, color=GREY)


def _keep_dust_flat(axes: Any) -> None:
    """A difference that is nothing but rounding is drawn as the line that it is."""
    values = np.concatenate([line.get_ydata() for line in axes.get_lines()])
    if np.abs(values).max() < 1e-13:
        axes.set_ylim(-1e-12, 1e-12)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-3, 4), useMathText=True)
