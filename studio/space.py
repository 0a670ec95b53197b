"""Figures of more than one axis as Plotly's JSON: small panels side by side, and a path among obstacles in space."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simloop.models.pieces import ball_points, hull_of
from simloop.models.robot import Ball, Box, Obstacle, Polyhedron
from simloop.studio.look import BLUE, GREEN, GREY, RED, layout, thin, time_axis
from simloop.studio.scenario import Panel, Panels, Path

_STRETCHES = 1000
# A panel spans at least this, by the unit in its title: rounding and drift far below what a drive resolves stay flat.
LEAST_SPAN = {"°": 0.1, "m": 1e-3, "°/s": 0.1, "m/s": 1e-3, "N·m": 0.01, "N": 0.01}
# The diagonal of a scene, in the units of Plotly's camera, such that it fills its place.
_DIAGONAL = 1.75


def draw_panels(panels: Panels, time: NDArray[np.float64]) -> str:
    """In rows of three or four, whichever leaves fewer places empty; limits are dashed."""
    from plotly.subplots import make_subplots

    count = len(panels.panels)
    columns = min((3, 4), key=lambda columns: -count % columns)
    rows = math.ceil(count / columns)
    names = [panel.title for panel in panels.panels]
    figure = make_subplots(
        rows, columns, subplot_titles=names, shared_xaxes=True, vertical_spacing=0.3 / rows, horizontal_spacing=0.06
    )
    for k, panel in enumerate(panels.panels):
        _fill_panel(figure, panel, time, k // columns + 1, k % columns + 1)
    axis = time_axis(float(time[0]), float(time[-1]))
    figure.update_xaxes({**axis, "title": {"text": ""}})
    for k in range(max(0, count - columns), count):
        row, column = k // columns + 1, k % columns + 1
        figure.update_xaxes(title=axis["title"], showticklabels=True, row=row, col=column)
    figure.update_annotations(font_size=12)
    figure.update_layout(**layout(panels.title, 100 + 150 * rows), showlegend=False, meta="wide")
    text: str = figure.to_json()
    return text


def _fill_panel(figure: Any, panel: Panel, time: NDArray[np.float64], row: int, column: int) -> None:
    import plotly.graph_objects as go

    x, y = thin(time, panel.values, _STRETCHES)
    figure.add_trace(go.Scatter(x=x, y=y, line={"color": panel.colour, "width": 1.6, "simplify": False}), row, column)
    ends = [limit for limit in panel.limits if math.isfinite(limit)]
    for limit in ends:
        figure.add_hline(y=limit, line={"color": RED, "width": 1.2, "dash": "dash"}, row=row, col=column)
    low, high = min([*ends, float(y.min())]), max([*ends, float(y.max())])
    span = max(high - low, LEAST_SPAN.get(panel.title.rpartition(" / ")[2], 0.0)) or 1.0
    middle, reach = 0.5 * (low + high), 0.58 * span
    figure.update_yaxes(range=[middle - reach, middle + reach], row=row, col=column)


def draw_path(path: Path) -> str:
    """In equal scales, with the arm at its start and end as lines through its joints."""
    import plotly.graph_objects as go

    x, y, z = path.positions[:: len(path.positions) // _STRETCHES + 1].T
    figure = go.Figure([go.Scatter3d(x=x, y=y, z=z, mode="lines", name="tool", line={"color": BLUE, "width": 6})])
    for (label, joints), colour in zip(path.postures, ("#9ca3af", "#4b5563"), strict=True):
        a, b, c = joints.T
        look = {"mode": "lines+markers", "line": {"color": colour, "width": 4}, "marker": {"size": 3, "color": colour}}
        figure.add_trace(go.Scatter3d(x=a, y=b, z=c, name=label, **look))
    for label, place, colour in (("start", path.positions[0], GREEN), ("end", path.positions[-1], RED)):
        marker = {"size": 6, "color": colour, "symbol": "circle" if label == "start" else "diamond"}
        point = {axis: [value] for axis, value in zip("xyz", place, strict=True)}
        figure.add_trace(
            go.Scatter3d(
                **point, mode="markers+text", text=[label], textposition="bottom center", name=label, marker=marker
            )
        )
    for obstacle in path.obstacles:
        corners, faces = mesh_of(obstacle)
        mesh = dict(zip("xyzijk", (*corners.T, *faces.T), strict=True))
        shading = {"flatshading": not isinstance(obstacle, Ball), "lighting": {"ambient": 0.5, "diffuse": 0.9}}
        figure.add_trace(go.Mesh3d(**mesh, **shading, name=obstacle.name, showlegend=True, color=GREY, opacity=0.8))
    figure.update_layout(**layout(path.title, 560), scene=_scene(figure), meta="wide")
    text: str = figure.to_json()
    return text


def _scene(figure: Any) -> dict[str, Any]:
    """Equal scales on all axes, and a camera that sees all of it."""
    points = np.hstack([np.array([trace.x, trace.y, trace.z], dtype=float) for trace in figure.data])
    low, high = points.min(axis=1), points.max(axis=1)
    margin = 0.04 * float((high - low).max())
    low, high = low - margin, high + margin
    ratio = _DIAGONAL * (high - low) / float(np.linalg.norm(high - low))
    axes = {
        f"{axis}axis": {"title": {"text": f"{axis} / m"}, "range": [float(low[i]), float(high[i])]}
        for i, axis in enumerate("xyz")
    }
    camera = {"eye": {"x": 1.05, "y": -1.5, "z": 0.65}, "center": {"x": 0, "y": 0, "z": -0.08}}
    return {
        "aspectmode": "manual",
        "aspectratio": dict(zip("xyz", ratio.tolist(), strict=True)),
        "camera": camera,
        **axes,
    }


def mesh_of(obstacle: Obstacle) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Corners (k, 3), m, and triangles of them (m, 3), by number, counter-clockwise from outside."""
    match obstacle:
        case Box(_, centre, half_size):
            signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
            corners = np.array(centre) + signs * np.array(half_size)
        case Polyhedron(_, points):
            corners = np.array(points, dtype=float)
        case Ball(_, centre, radius):
            corners = np.array(centre) + radius * ball_points()
    return hull_of(corners)
