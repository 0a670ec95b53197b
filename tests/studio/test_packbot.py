"""The PackBot's scenarios: its collapse in three contact modes, and the arm that goes on after a joint has failed."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from simloop.master import Result, TimedWrite
from simloop.models.arm import Arm, Tools
from simloop.models.faults import Fault
from simloop.models.robots.packbot import ROBOT
from simloop.studio import scenarios
from simloop.studio.request import Finished, Request
from simloop.studio.runner import run_in_memory, run_to_folder
from simloop.studio.scenarios._packbot import JOINTS, REST_SPEED, rest_time

COLLAPSE = scenarios.load("packbot-collapse")


@functools.cache
def collapse(contact: str) -> Finished:
    """At 2 s it has rested for more than half a second."""
    return run_in_memory(Request(COLLAPSE, duration="2", settings={"plant.contact": contact}))


def value(finished: Finished, key: str) -> float:
    found = finished.figures[key].value
    assert found is not None
    return found


def test_without_contact_a_link_falls_more_than_5_cm_into_the_chassis() -> None:
    finished = collapse("none")
    assert value(finished, "deepest_penetration") > 0.05
    result = finished.outcome.result
    k = int(result["collision.distance"].argmin())
    assert result["collision.distance"][k] < -0.05


@pytest.mark.parametrize("contact", ["compliant", "events"])
def test_with_contact_it_comes_to_rest_propped_by_its_third_link(contact: str) -> None:
    finished = collapse(contact)
    assert [key for key, figure in finished.figures.items() if figure.ok is False] == []
    assert value(finished, "rest_time") < 2.0
    result = finished.outcome.result
    later = result["time"] >= value(finished, "rest_time")
    assert later.sum() > 50
    assert np.abs(result.vector("plant.v")[later]).max() < REST_SPEED
    assert value(finished, "propped") >= 1.0


def test_by_events_nothing_enters_by_a_micrometre_and_compliant_contact_gives_way() -> None:
    assert value(collapse("events"), "deepest_penetration") <= 1e-6
    assert collapse("events").outcome.result["collision.distance"].min() >= -1e-6
    assert 1e-6 < value(collapse("compliant"), "deepest_penetration") < 5e-3


def test_two_independent_models_of_contact_end_within_5_degrees_a_joint() -> None:
    ends = [collapse(contact).outcome.result.vector("plant.q_true")[-1] for contact in ("compliant", "events")]
    assert np.degrees(np.abs(ends[0] - ends[1])).max() < 5.0
    for contact in ("compliant", "events"):
        assert value(collapse(contact), "rest_pose_difference") < 5.0


def test_an_arm_that_bounces_is_not_compared_with_one_that_does_not() -> None:
    assert [v.changes for v in COLLAPSE.variants({"plant.contact": "events"}, 0.005)] == [
        {"plant.contact": "compliant"}
    ]
    assert COLLAPSE.variants({"plant.contact": "events", "plant.restitution": 0.9}, 0.005) == ()
    assert COLLAPSE.variants({"plant.contact": "none"}, 0.005) == ()


def test_the_record_tells_of_second_intersections(tmp_path: Path) -> None:
    run_to_folder(Request(COLLAPSE, duration="0.5"), tmp_path, csv=False, command="test")
    summary = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["summary"]
    assert summary["second_intersections"]["value"] == 0.0
    assert (summary["second_depth"]["value"], summary["second_depth"]["ok"]) == (0.0, True)
    assert summary["second_time"]["value"] is None


def test_a_second_intersection_is_told_with_its_time_and_depth_and_fails_the_run() -> None:
    outcome = collapse("events").outcome
    columns = dict(outcome.result.columns)
    for name, told in {"intersections": 3.0, "depth": 2e-5, "time": 0.75}.items():
        columns[f"plant.second_{name}"] = np.where(outcome.result["time"] < 0.75, 0.0, told)
    figures = COLLAPSE.judge(replace(outcome, result=Result(columns, complete=True)))
    assert [figures[f"second_{name}"].value for name in ("intersections", "depth", "time")] == [3.0, 2e-5, 0.75]
    assert figures["second_depth"].ok is False


def test_what_still_moves_at_the_end_is_not_at_rest() -> None:
    time, speeds = np.linspace(0.0, 1.0, 5), np.array([0.0, 1.0, 2e-3, 0.0, 0.0])
    assert rest_time(Result({"time": time, "plant.v[1]": speeds}, complete=True)) == 0.75
    assert rest_time(Result({"time": time, "plant.v[1]": speeds[::-1] + 2e-3}, complete=True)) is None


@functools.cache
def fail(joint: str, kind: Fault) -> Finished:
    """The default, or with --at: elbow2 stays well and `joint` fails instead."""
    scenario = scenarios.load("packbot-fault")
    if (joint, kind) == ("elbow2", Fault.FROZEN):
        return run_in_memory(Request(scenario))
    own = scenario.writes(1 / 200)
    number = JOINTS.index(joint) + 1
    healthy = [TimedWrite(write.time, write.name, int(Fault.NONE)) for write in own]
    units = {"plant": Fraction(2), "planner": Fraction(21, 10), "control": Fraction(21, 10)}
    failing = [TimedWrite(time, f"{unit}.fault[{number}]", int(kind)) for unit, time in units.items()]
    return run_in_memory(Request(scenario, writes=[*healthy, *failing]))


@pytest.mark.parametrize(
    ("joint", "kind"),
    [("elbow2", Fault.FROZEN), ("elbow1", Fault.FROZEN), ("camera_tilt", Fault.FROZEN), ("camera_pan", Fault.LOOSE)],
)
def test_the_gripper_arrives_though_a_joint_has_failed_on_the_way(joint: str, kind: Fault) -> None:
    finished = fail(joint, kind)
    assert finished.status == "complete"
    assert [key for key, figure in finished.figures.items() if figure.ok is False] == []
    assert finished.figures["distance_to_goal"].ok is True
    result = finished.outcome.result
    arm = Arm(ROBOT.mjcf)
    arm.kinematics(result.vector("plant.q_true")[-1])
    goal = [finished.outcome.number(f"planner.goal[{i}]") for i in (1, 2, 3)]
    assert np.linalg.norm(Tools(arm, ROBOT.tools).position() - goal) < 1e-3
    later, number = result["time"] > 2.0, JOINTS.index(joint) + 1
    assert not result[f"plant.tau_applied[{number}]"][later].any()
    if kind is Fault.FROZEN:
        assert np.ptp(result[f"plant.q_true[{number}]"][later]) == 0.0
    assert joint in finished.figures["distance_to_goal"].label


def test_fewer_targets_are_in_reach_after_a_joint_of_the_arm_has_failed_and_as_many_after_the_cameras() -> None:
    for joint in ("elbow1", "elbow2"):
        finished = fail(joint, Fault.FROZEN)
        assert 0 < value(finished, "reachable_after") < value(finished, "reachable_before")
    camera = fail("camera_tilt", Fault.FROZEN)
    assert value(camera, "reachable_after") == value(camera, "reachable_before")


def test_a_user_injects_another_failure_with_at(tmp_path: Path) -> None:
    from click.testing import CliRunner
    from simloop.studio.cli import main

    at = [f"{time}:{unit}.fault[3]=2" for time, unit in (("0.3", "plant"), ("0.4", "planner"), ("0.4", "control"))]
    arguments = ["run", "packbot-fault", "--duration", "1", "--out", str(tmp_path / "out")]
    answer = CliRunner().invoke(main, [*arguments, *(word for write in at for word in ("--at", write))])
    assert answer.exit_code == 0, answer.output
    record = json.loads((tmp_path / "out/run.json").read_text(encoding="utf-8"))
    assert [write["name"] for write in record["writes"]] == [
        f"{unit}.fault[3]" for unit in ("plant", "planner", "control")
    ]
    assert "elbow1 failed" in record["summary"]["distance_to_goal"]["label"]
