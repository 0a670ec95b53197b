"""The report's graphs: every joint, in its unit, on a page that stays light."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simloop.master import Result
from simloop.models.arm import Arm
from simloop.models.robot import Robot
from simloop.studio import scenarios
from simloop.studio.graphs import draw, joints_of
from simloop.studio.look import joint_colour
from simloop.studio.report import expectation, format_figure, write_report
from simloop.studio.scenario import Figure, Graph, Marker, Outcome, Panel, Panels, Scenario
from simloop.studio.space import draw_panels

MIXED = """
<mujoco><worldbody><body><joint name="turn"/><geom type="sphere" size="0.1"/>
<body><joint name="reach" type="slide"/><geom type="sphere" size="0.1"/></body></body></worldbody></mujoco>
"""
RECORD: dict[str, Any] = {
    **{"status": "complete", "rows": 1, "step": "1/2000", "duration": 10.0, "seed": 0, "command": "test"},
    **{"parameters": {}, "writes": [], "versions": {}, "units": {}, "inputs": {}},
}


def made_up_run(joints: int, rows: int) -> Outcome:
    rng = np.random.default_rng(0)
    ports = ("control.tau", "control.tau_replay", "planner.q_d", "plant.q", "plant.q_true", "control.v_d", "plant.v")
    columns = {f"{port}[{i}]": rng.standard_normal(rows) for port in ports for i in range(1, joints + 1)}
    columns |= {"time": np.arange(rows) / 2000, "collision.distance": rng.standard_normal(rows)}
    return Outcome(Result(columns, complete=True), {}, 1 / 2000, rows / 2000)


def graphs_of(scenario: Scenario, outcome: Outcome, markers: tuple[Marker, ...] = ()) -> list[dict[str, Any]]:
    return [json.loads(plot) for plot in draw(scenario, outcome, joints_of(scenario), markers)]


def axis(plot: dict[str, Any]) -> str:
    return str(plot["layout"]["yaxis"]["title"]["text"])


@pytest.fixture
def yumi() -> Scenario:
    return replace(scenarios.load("yumi-step"), graphs=tuple(Graph))


def test_every_joint_keeps_its_own_colour_and_dash_in_all_graphs(yumi: Scenario) -> None:
    looks: dict[int, set[tuple[str, str]]] = {}
    for plot in graphs_of(yumi, made_up_run(14, 50))[: len(Graph)]:
        narrow = [trace for trace in plot["data"] if trace["opacity"] == 1.0]
        assert [trace["meta"] for trace in narrow] == list(range(14))
        for trace in narrow:
            looks.setdefault(trace["meta"], set()).add((trace["line"]["color"], trace["line"]["dash"]))
    assert all(len(look) == 1 for look in looks.values())
    assert len(set.union(*looks.values())) == 14


def test_the_panels_of_a_joint_have_its_colour_and_its_limits(yumi: Scenario) -> None:
    arm = Arm(yumi.robot.mjcf)
    panels = graphs_of(yumi, made_up_run(14, 50))[len(Graph)]
    assert [trace["line"]["color"] for trace in panels["data"]] == [joint_colour(i) for i in range(14)]
    lines = [shape["y0"] for shape in panels["layout"]["shapes"]]
    np.testing.assert_allclose(lines, np.degrees(np.column_stack(arm.ranges)).ravel(), rtol=1e-12)


def test_hinges_are_in_radians_and_slides_in_metres(yumi: Scenario) -> None:
    plots = graphs_of(yumi, made_up_run(14, 50))
    assert [axis(plot).rpartition(" / ")[2] for plot in plots[:4]] == ["N·m", "N·m", "rad", "rad"]
    assert axis(plots[-1]) == "distance / m"
    sphere = graphs_of(scenarios.load("sphere-step"), made_up_run(1, 50))
    assert [axis(plot).rpartition(" / ")[2] for plot in sphere[:4]] == ["N", "N", "m", "m"]


def test_an_arm_that_turns_and_slides_gets_a_graph_for_each_unit(yumi: Scenario) -> None:
    robot = Robot("mixed", MIXED, (), (0.0, 0.0))
    plots = graphs_of(replace(yumi, robot=robot, graphs=(Graph.PATH_COMPARISON,)), made_up_run(2, 50))
    assert [axis(plot) for plot in plots] == ["position / m", "angle / rad", "distance / m"]
    assert [plot["data"][0]["name"] for plot in plots[:2]] == ["reach, q_d planned", "turn, q_d planned"]
    titles = [plot["layout"]["title"]["text"].partition("<br>")[0] for plot in plots[:2]]
    assert titles == ["Path comparison, joints that slide", "Path comparison, joints that turn"]


def test_the_title_says_what_every_look_of_a_curve_means(yumi: Scenario) -> None:
    outcome = made_up_run(14, 50)
    compared = replace(outcome, variants={"weighted evenly": (outcome.result, {})})
    (plot, *_) = graphs_of(replace(yumi, graphs=(Graph.PATH_COMPARISON,)), compared)
    assert len({(trace["line"]["width"], trace["opacity"]) for trace in plot["data"]}) == 3
    said = "wide: q_d planned · narrow: q measured · pale: q measured, weighted evenly"
    assert said in plot["layout"]["title"]["text"]


def test_labels_of_instants_stand_above_the_curves_each_in_its_own_line(yumi: Scenario) -> None:
    markers = (Marker(0.01, "touch"), Marker(0.0101, "noticed"))
    for plot in graphs_of(replace(yumi, graphs=tuple(Graph)), made_up_run(14, 50), markers)[: len(Graph)]:
        labels = plot["layout"]["annotations"]
        assert {(label["yref"], label["yanchor"]) for label in labels} == {("paper", "bottom")}
        assert min(label["y"] for label in labels) == 1.0, "the top of the graph"
        assert len({label["y"] for label in labels}) == 2


@pytest.mark.parametrize(("unit", "rounding", "motion"), [("°", 2e-5, 30.0), ("m", 1e-8, 0.2), ("N·m", 1e-9, 1.0)])
def test_rounding_is_drawn_flat_and_motion_fills_its_panel(unit: str, rounding: float, motion: float) -> None:
    time, free = np.linspace(0.0, 1.0, 50), (-np.inf, np.inf)
    for size, least, most in ((rounding, 0.0, 1e-3), (motion, 0.8, 0.9)):
        drawn = json.loads(draw_panels(Panels("", (Panel(f"roll / {unit}", size * time, free, "#000000"),)), time))
        low, high = drawn["layout"]["yaxis"]["range"]
        assert low < 0.0 < size < high
        assert least <= size / (high - low) <= most


def test_the_page_has_one_legend_with_every_joint_and_stays_light(yumi: Scenario, tmp_path: Path) -> None:
    """10 s of noise at 2 kHz, all graphs of 14 joints: less than 15 MB."""
    path = tmp_path / "report.html"
    write_report(path, yumi, made_up_run(14, 20_001), {}, RECORD)
    page = path.read_text(encoding="utf-8")
    names = re.findall(r"</svg>(\w+)</button>", page)
    assert names == [f"{side}_{axis}" for side in ("left", "right") for axis in (1, 2, 7, 3, 4, 5, 6)]
    assert path.stat().st_size < 15e6


def test_one_joint_needs_no_legend_of_joints(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(path, scenarios.load("sphere-step"), made_up_run(1, 50), {}, RECORD)
    assert "data-joint=" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("figure", "value", "expected"),
    [
        (Figure("", 2e-5, "m", limit=1e-6, source="S1"), "2e-05 m", "≤ 1e-06 m (S1)"),
        (Figure("", 0.25, "°", least=0.5, source="S1"), "0.25°", "≥ 0.5° (S1)"),
        (Figure("", 1.0, "N", expected=0.982, tolerance=0.01, source="S1"), "1 N", "0.982 N ± 1% (S1)"),
        (Figure("", 113.0, "°", expected=113.0, source="S3"), "113°", "113° (S3)"),
        (Figure("", 3.0, "1", limit=4.0, source="S1"), "3", "≤ 4 (S1)"),
        (Figure("", None, "s"), "none", ""),
    ],
)
def test_a_figure_and_its_expectation_have_the_same_unit(figure: Figure, value: str, expected: str) -> None:
    assert (format_figure(figure), expectation(figure)) == (value, expected)
