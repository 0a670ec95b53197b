"""`--robot`: a user's file through all four units, and every fault of it as one sentence that leaves no trace."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from simloop.fmus.export import UNITS
from simloop.models.arm import Arm, Tools
from simloop.models.robot_file import read_robot
from simloop.studio.cli import main
from simloop.studio.scenarios.step import choose_goal

from tests.models.robot_files import ARM, INERTIAL, LIMIT, write_arm, write_mjcf
from tests.models.test_robot_file import MJCF_FAULTS, URDF_FAULTS


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def summary(out: Path) -> dict[str, dict[str, object]]:
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert record["status"] == "complete"
    figures: dict[str, dict[str, object]] = record["summary"]
    return figures


@pytest.mark.parametrize("kind", ["urdf", "mjcf"])
def test_a_users_arm_runs_on_all_four_units_and_reaches_its_goal(kind: str, tmp_path: Path) -> None:
    path = write_arm(tmp_path) if kind == "urdf" else write_mjcf(tmp_path)
    answer = call("run", "step", "--robot", path, "--out", tmp_path / "out")
    assert answer.exit_code == 0, answer.output
    assert "FAIL" not in answer.output
    figures = summary(tmp_path / "out")
    tool = "flange" if kind == "urdf" else "tip"
    assert float(str(figures[f"{tool}_distance_to_goal"]["value"])) < 1e-6
    units = sorted(path.name for path in (tmp_path / "out/units").iterdir())
    assert units == ["collision.fmu", "control.fmu", "planner.fmu", "plant.fmu"]


def test_a_mass_error_leaves_the_tool_within_a_millimetre(tmp_path: Path) -> None:
    arguments = ["--robot", str(write_arm(tmp_path)), "--set", "plant.mass_error=0.1", "--step", "1/2000"]
    answer = call("run", "step", *arguments, "--out", tmp_path / "out")
    assert answer.exit_code == 0, answer.output
    assert "FAIL" not in answer.output
    assert summary(tmp_path / "out")["flange_distance_to_goal"]["limit"] == 1e-3


def test_a_goal_out_of_reach_is_refused_with_the_nearest_that_is_not(tmp_path: Path) -> None:
    arguments = ["--robot", str(write_arm(tmp_path)), "--set", "planner.goal=0,0,3", "--duration", "20"]
    answer = call("run", "step", *arguments, "--out", tmp_path / "out")
    assert answer.exit_code == 2
    assert re.search(r"goal \(0, 0, 3\) m is out of reach; the nearest feasible is \(.*\) m, \S+ m off", answer.output)
    assert not (tmp_path / "out").exists()


def test_the_goal_that_is_chosen_is_near_and_other_than_home(tmp_path: Path) -> None:
    robot = read_robot(write_arm(tmp_path))
    arm = Arm(robot.mjcf)
    tools = Tools(arm, robot.tools)
    arm.kinematics(np.array(robot.home))
    assert 0.01 < math.dist(choose_goal(robot), tools.position()) < 0.5


def test_a_robot_of_simloops_goes_by_its_name(tmp_path: Path) -> None:
    answer = call("run", "step", "--robot", "sphere", "--out", tmp_path / "out")
    assert answer.exit_code == 0, answer.output
    assert "FAIL" not in answer.output


def test_every_unit_of_a_users_arm_can_be_built(tmp_path: Path) -> None:
    answer = call("export", "--all", "--robot", write_arm(tmp_path), "--tool", "hand", "--out", tmp_path / "units")
    assert answer.exit_code == 0, answer.output
    built = {path.stem for path in (tmp_path / "units").iterdir()}
    assert built == set(UNITS)
    answer = call("info", tmp_path / "units/plant.fmu")
    assert "q[3]" in answer.output


def test_the_view_of_a_robot_names_joints_limits_and_tools(tmp_path: Path) -> None:
    answer = call("info", "--robot", write_arm(tmp_path))
    assert answer.exit_code == 0, answer.output
    shoulder = next(line for line in answer.output.splitlines() if "shoulder" in line).split()
    assert shoulder[:2] == ["shoulder", "rad"]
    assert shoulder[3:] == ["-1.5", "2", "3", "40"]
    assert "tool flange at" in answer.output


def refuses(answer: Result, said: str, out: Path) -> None:
    assert answer.exit_code == 2
    assert said in answer.output
    assert len(answer.output.strip().splitlines()) == 1
    assert not out.exists()


@pytest.mark.parametrize("fault", URDF_FAULTS)
def test_a_faulty_urdf_is_one_sentence_exit_code_2_and_no_trace(fault: str, tmp_path: Path) -> None:
    text, said = URDF_FAULTS[fault]
    path = write_arm(tmp_path, text)
    (path.parent / "fake.stl").write_text("not a mesh at all, but long enough to look like one: " + "x" * 100)
    refuses(call("run", "step", "--robot", path, "--out", tmp_path / "out"), said, tmp_path / "out")


@pytest.mark.parametrize("fault", MJCF_FAULTS)
def test_a_faulty_mjcf_is_one_sentence_exit_code_2_and_no_trace(fault: str, tmp_path: Path) -> None:
    text, said = MJCF_FAULTS[fault]
    path = write_mjcf(tmp_path, text)
    refuses(call("export", "--all", "--robot", path, "--out", tmp_path / "out"), said, tmp_path / "out")


def test_all_that_is_missing_is_one_sentence(tmp_path: Path) -> None:
    path = write_arm(tmp_path, ARM.replace(INERTIAL, "").replace(LIMIT, ""))
    answer = call("run", "step", "--robot", path, "--out", tmp_path / "out")
    for said in ("'upper'", "'lower'", "'hand'", "'shoulder'"):
        refuses(answer, said, tmp_path / "out")


@pytest.mark.parametrize("scenario", ["sphere-step", "sphere-offline", "sphere-collision", "sphere-guiding"])
def test_a_scenario_about_its_own_robot_takes_no_other(scenario: str, tmp_path: Path) -> None:
    answer = call("run", scenario, "--robot", write_arm(tmp_path), "--out", tmp_path / "out")
    refuses(answer, f"{scenario} is about its own robot and takes no --robot; step and teleop do", tmp_path / "out")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["step", "--robot", "spher"], "did you mean sphere?"),
        (["step", "--robot", "gone.urdf"], "'gone.urdf': there is no such file"),
        (["step", "--robot", "."], "there is no such file"),
        (["step", "--tool", "hand"], "--tool goes with a --robot file"),
        (["step", "--robot", "sphere", "--tool", "hand"], "--tool goes with a robot file; sphere has its own"),
    ],
)
def test_other_mistakes_are_as_clear(arguments: list[str], said: str, tmp_path: Path) -> None:
    refuses(call("run", *arguments, "--out", tmp_path / "out"), said, tmp_path / "out")
