"""What comes of recorded runs: comparisons, figures and motions for other programs."""

from __future__ import annotations

import html
import json
import re
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from simloop.master import Result, SimloopError
from simloop.models.arm import Arm
from simloop.studio import scenarios
from simloop.studio.archive import Archive, read_archive
from simloop.studio.cli import main
from simloop.studio.figures import make_figure
from simloop.studio.gltf import write_gltf
from simloop.studio.graphs import Joint
from simloop.studio.request import Request
from simloop.studio.runner import run_to_folder
from simloop.studio.scenario import Graph
from simloop.studio.side_by_side import MOST_PARAMETERS, find_parting, write_side_by_side
from simloop.studio.view.stage import frame_rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("offline") / "yumi"
    run_to_folder(Request(scenarios.load("yumi-step"), duration="1"), out, csv=False, command="simloop run")
    return out


@pytest.fixture(scope="module")
def archive(folder: Path) -> Archive:
    return read_archive(folder)


def changed(archive: Archive, name: str, row: int, by: float) -> Archive:
    columns = {key: column.copy() for key, column in archive.result.columns.items()}
    columns[name][row:] += by
    return replace(archive, result=Result(columns, complete=True))


def test_two_runs_part_where_the_first_bit_differs(archive: Archive) -> None:
    assert find_parting(archive.result, archive.result) is None
    other = changed(changed(archive, "plant.v[3]", 70, 1e-9), "plant.q[2]", 50, 1e-15)
    parting = find_parting(archive.result, other.result)
    assert parting is not None
    assert (parting.time, parting.name) == (0.25, "plant.q[2]")
    assert parting.first == archive.result["plant.q[2]"][50]
    assert parting.second == other.result["plant.q[2]"][50]


def test_runs_of_two_step_sizes_are_compared_where_both_have_rows() -> None:
    coarse = Result({"time": np.arange(5) / 2, "a": np.arange(5.0)}, complete=True)
    fine = Result({"time": np.arange(9) / 4, "a": np.arange(9) / 2}, complete=True)
    assert find_parting(coarse, fine) is None
    with pytest.raises(SimloopError, match="no instant or no variable in common"):
        find_parting(coarse, Result({"time": np.array([9.0]), "a": np.zeros(1)}, complete=True))


def test_the_page_of_two_runs_names_the_parting_and_escapes_all(archive: Archive, tmp_path: Path) -> None:
    other = changed(archive, "control.tau[1]", 100, 0.5)
    other.record["parameters"] |= {"plant.note": "<script>alert(1)</script>"}
    told = write_side_by_side(tmp_path / "two.html", archive, other)
    page = (tmp_path / "two.html").read_text(encoding="utf-8")
    assert told.startswith("The runs part first at 0.5 s, in control.tau[1]: ")
    assert "<script>alert(1)" not in page


def plain(page: str) -> str:
    """What a person reads above the graphs."""
    body = page.partition("<body>")[2].partition("<h2>Graphs</h2>")[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_what_two_runs_were_asked_for_stands_above_their_figures(archive: Archive, tmp_path: Path) -> None:
    asked = {key: value for key, value in archive.record.items() if key != "robot"}
    goal = {"planner.goal[1]": 0.25, **{f"plant.p[{i}]": i for i in range(MOST_PARAMETERS)}}
    asked |= {"step": "1/2000", "seed": 7, "parameters": asked["parameters"] | goal}
    write_side_by_side(tmp_path / "two.html", archive, replace(archive, record=asked))
    told = plain((tmp_path / "two.html").read_text(encoding="utf-8"))
    assert "What differs first second robot yumi – step 1/200 1/2000 seed 0 7 planner.goal[1]" in told
    assert told.index("1 more parameters differ") < told.index("Largest joint error")
    write_side_by_side(tmp_path / "same.html", archive, archive)
    assert "Both runs were asked for the same" in plain((tmp_path / "same.html").read_text(encoding="utf-8"))


def test_joints_of_different_units_are_not_drawn_on_one_axis(tmp_path: Path) -> None:
    archives = []
    for name in ("sphere-step", "packbot-fault", "mobile-reach"):
        out = tmp_path / name
        run_to_folder(Request(scenarios.load(name), duration="0.05"), out, csv=False, command="simloop run")
        archives.append(read_archive(out))
    sphere, packbot, mobile = archives
    write_side_by_side(tmp_path / "two.html", sphere, packbot)
    page = (tmp_path / "two.html").read_text(encoding="utf-8")
    assert "Not drawn together, as their units differ: slide (in m) and turret (in rad)." in plain(page)
    assert [title for title, _ in graphs_in(page)] == ["Distance to the nearest body"]
    write_side_by_side(tmp_path / "two.html", mobile, mobile)
    drawn = graphs_in((tmp_path / "two.html").read_text(encoding="utf-8"))
    kinds = ("Joint positions", "Joint forces sent by control", "Joint speeds")
    assert [title for title, _ in drawn[:-1]] == [
        f"{kind}, {motion}" for kind in kinds for motion in ("joints that slide", "joints that turn")
    ]
    units = ("position / m", "angle / rad", "force / N", "torque / N·m", "velocity / m/s", "velocity / rad/s")
    assert [axis for _, axis in drawn[:-1]] == list(units)


def graphs_in(page: str) -> list[tuple[str, str]]:
    """Title and vertical axis of each."""
    plots = json.loads(re.findall(r"const figures = (\[.*?\n\]);", page, re.DOTALL)[0])
    layouts = [plot["layout"] for plot in plots]
    return [(each["title"]["text"].partition("<br>")[0], each["yaxis"]["title"]["text"]) for each in layouts]


def parts_of(path: Path) -> tuple[dict[str, Any], bytes]:
    data = path.read_bytes()
    magic, version, length = struct.unpack_from("<4sII", data)
    assert (magic, version, length) == (b"glTF", 2, len(data))
    size, kind = struct.unpack_from("<I4s", data, 12)
    assert kind == b"JSON"
    rest, kind = struct.unpack_from("<I4s", data, 20 + size)
    assert kind == b"BIN\0"
    assert 28 + size + rest == len(data)
    return json.loads(data[20 : 20 + size]), data[28 + size :]


def values_of(gltf: dict[str, Any], data: bytes, number: int) -> Any:
    accessor = gltf["accessors"][number]
    view = gltf["bufferViews"][accessor["bufferView"]]
    assert view["byteOffset"] % 4 == 0
    width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
    kind = {5126: "<f4", 5125: "<u4"}[accessor["componentType"]]
    values = np.frombuffer(data, kind, accessor["count"] * width, view["byteOffset"]).reshape(-1, width)
    assert view["byteLength"] == values.nbytes
    np.testing.assert_array_equal(values.min(axis=0), np.array(accessor["min"], dtype=kind))
    np.testing.assert_array_equal(values.max(axis=0), np.array(accessor["max"], dtype=kind))
    return values


def test_the_gltf_has_every_body_where_the_arm_had_it(archive: Archive, tmp_path: Path) -> None:
    """Read by the specification alone, at the last picture, against MuJoCo's kinematics."""
    write_gltf(tmp_path / "motion.glb", archive)
    gltf, data = parts_of(tmp_path / "motion.glb")
    animation, arm = gltf["animations"][0], Arm(archive.mjcf)
    arm.kinematics(archive.result.vector("plant.q_true")[-1])
    names = {arm.model.geom(i).name or arm.model.body(int(b)).name: int(b) for i, b in enumerate(arm.model.geom_bodyid)}
    times = values_of(gltf, data, animation["samplers"][0]["input"])
    np.testing.assert_allclose(times.ravel(), archive.result["time"][frame_rows(archive.result["time"])], rtol=1e-6)
    for channel in animation["channels"]:
        node = gltf["nodes"][channel["target"]["node"]]
        body = names[gltf["nodes"][node["children"][0]]["name"]]
        last = values_of(gltf, data, animation["samplers"][channel["sampler"]]["output"])[-1]
        if channel["target"]["path"] == "translation":
            np.testing.assert_allclose(last, arm.data.xpos[body], atol=1e-6)
        else:
            assert abs(np.dot(last, np.roll(arm.data.xquat[body], -1))) == pytest.approx(1.0, abs=1e-6)


def test_a_figure_is_the_same_file_each_time_and_holds_every_joint(folder: Path, tmp_path: Path) -> None:
    texts = []
    for name in ("a.svg", "b.svg"):
        figure = ["plot", str(folder), "--figure", "force-difference", "-o", str(tmp_path / name)]
        assert CliRunner().invoke(main, figure).exit_code == 0
        texts.append((tmp_path / name).read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    assert "left_1" in texts[0]
    assert "right_6" in texts[0]
    pdf = ["plot", str(folder), "--matrix", "-o", str(tmp_path / "m.pdf")]
    assert CliRunner().invoke(main, pdf).exit_code == 0
    assert (tmp_path / "m.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("count", [2, 9, 14, 40])
@pytest.mark.parametrize("width", [2.0, 5.0, 8.8])
def test_the_legend_is_inside_the_page_and_names_every_joint(count: int, width: float) -> None:
    names = [f"shoulder_joint_{i}" for i in range(1, count + 1)]
    joints = [Joint(i, name, "rad") for i, name in enumerate(names)]
    columns = {f"{port}[{i + 1}]": np.arange(3.0) for port in ("planner.q_d", "plant.q") for i in range(count)}
    result = Result({"time": np.arange(3.0), **columns}, complete=True)
    figure = make_figure(result, joints, ((Graph.PATH_COMPARISON,),), (width, 3.2))
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box, page = legend.get_window_extent(), figure.bbox
    assert page.x0 <= box.x0 <= box.x1 <= page.x1
    assert page.y0 <= box.y0 <= box.y1 <= page.y1
    assert [text.get_text() for text in legend.get_texts()] == names
    (axes,) = figure.axes
    assert axes.texts[0].get_text() == "wide: q_d planned · narrow: q measured"
    assert axes.get_window_extent().height > 0.5 * 3.2 * figure.dpi, "a long legend leaves the graph its height"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["plot", "F", "--figure", "forces", "-o", "x.pdf"], "no figure 'forces'"),
        (["plot", "F", "-o", "x.pdf"], "name either one --figure"),
        (["plot", "F", "--matrix", "-o", "x.docx"], "its name must end in .pdf, .svg or .png"),
        (["export-gltf", "nowhere", "-o", "x.glb"], "'nowhere' holds no results that can be read"),
        (["report", "F", "nowhere"], "'nowhere' holds no results that can be read"),
        (["plot", "F", "--matrix", "-o", "no/x.pdf"], "'no/x.pdf' cannot be written: there is no folder 'no'"),
        (["export-gltf", "F", "-o", "no/x.glb"], "'no/x.glb' cannot be written: there is no folder 'no'"),
        (["report", "F", "F", "-o", "no/x.html"], "'no/x.html' cannot be written: there is no folder 'no'"),
        (["graph", "sphere-step", "-o", "no/x.svg"], "'no/x.svg' cannot be written: there is no folder 'no'"),
        (["export-gltf", "F", "-o", "x.txt"], "--out is 'x.txt'; its name must end in .glb"),
        (["report", "F", "F", "-o", "x.pdf"], "--out is 'x.pdf'; its name must end in .html or .htm"),
        (["graph", "sphere-step", "-o", "x.png"], "--out is 'x.png'; its name must end in .svg"),
        (["export-ssp", "sphere-step", "-o", "x.zip"], "--out is 'x.zip'; its name must end in .ssp"),
        (["export", "plant", "--robot", "sphere", "-o", "x.zip"], "--out is 'x.zip'; its name must end in .fmu"),
        (["info", "plant.fmu", "--tool", "hand"], "--tool goes with a --robot file"),
        (["run", "sphere-step", "--port", "8642"], "--port is about the page that --view serves"),
        (["run", "car.ssp", "--host", "127.0.0.1"], "--host is about the page that --view serves"),
        (["run", "sphere-step", "--seed", "1", "--set", "plant.seed=2"], "--seed and --set plant.seed are the same"),
        (
            ["emulate", "canopen", "--robot", "iiwa", "--interface", "virtual", "--port", "9"],
            "--port goes with --interface udp_multicast, not with virtual",
        ),
        (["emulate", "egm", "--robot", "iiwa", "--patience", "0"], "--patience is 0; it must be a time in s"),
        (["compare-controllers", "--step", "1/200", "--step", "x"], "the step is 'x'; it must be a time in s"),
        (["compare-controllers", "--mass-error", "0", "--mass-error", "-1"], "--mass-error is -1; it must be greater"),
        (["compare-controllers", "--noise", "nan"], "--noise is nan; it must be 0 or more"),
        (["info", "."], "'.' is a folder, not a file"),
        (["emulate", "canopen", "--robot", "iiwa", "--config", "no.toml"], "'no.toml' cannot be read: No such file"),
        (["run", "sphere-step", "--replay", "no.json"], "the session 'no.json' cannot be read: there is no such file"),
        (["run", "sphere-step", "--replay", "F/run.json"], "is not a recorded session"),
        (["run", "sphere-step", "--view", "--strict", "--pace", "1"], "--strict does not go with --view"),
    ],
)
def test_bad_input_is_one_sentence(folder: Path, arguments: list[str], told: str) -> None:
    places = [str(folder) + each[1:] if each[0] == "F" else each for each in arguments]
    answer = CliRunner().invoke(main, places)
    assert answer.exit_code == 2
    assert told in answer.output
    assert "Errno" not in answer.output
    assert answer.output.count("\n") == 1
    assert not Path("x.pdf").exists()
