"""A hand leads the tool of any robot, simloop's or a user's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from simloop.models import robots
from simloop.models.arm import Arm
from simloop.models.pose import ToolPose
from simloop.models.robot_file import read_robot
from simloop.studio import scenarios
from simloop.studio.redundant import trace_tool
from simloop.studio.request import Request
from simloop.studio.runner import run_in_memory
from simloop.studio.scenario import Scenario
from simloop.studio.scenarios._teleop import CHANGE
from simloop.studio.scenarios.teleop import LEAD

from tests.models.robot_files import write_arm


def fitted(name: str, folder: Path) -> Scenario:
    fit = scenarios.load("teleop").fit
    assert fit is not None
    return fit(read_robot(write_arm(folder)) if name == "a user's" else robots.load(name))


@pytest.mark.parametrize("name", [*robots.names(), "a user's"])
def test_every_robot_keeps_its_limits_and_stops_when_it_is_let_go(name: str, tmp_path: Path) -> None:
    figures = run_in_memory(Request(fitted(name, tmp_path))).figures
    judged = {key: figure.ok for key, figure in figures.items() if figure.ok is not None}
    assert {"acceleration", "stop"} <= set(judged)
    assert all(judged.values()), judged


@pytest.mark.parametrize("name", ["iiwa", "mobile", "yumi"])
def test_the_tool_goes_where_it_is_led(name: str, tmp_path: Path) -> None:
    """By hand: each wish fades into the next along half a cosine, which is worth half of the time that it takes."""
    scenario = fitted(name, tmp_path)
    result = run_in_memory(Request(scenario)).outcome.result
    ends = [begin for begin, _ in LEAD.wishes[1:]] + [LEAD.lets_go]
    way, before = np.zeros(3), np.zeros(3)
    for (begin, twist), end in zip(LEAD.wishes, ends, strict=True):
        wish = np.array(twist[:3])
        way += 0.5 * CHANGE * (before + wish) + (end - begin - CHANGE) * wish
        before = wish
    went = trace_tool(scenario.robot, result).positions[round(LEAD.lets_go * 200)] - _begin(scenario)
    # The hand is heard every 0.02 s, and goes at 0.05 m/s.
    np.testing.assert_allclose(went, way, atol=0.05 * 0.02)


def _begin(scenario: Scenario) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    arm = Arm(scenario.robot.mjcf)
    tool = ToolPose(arm, scenario.robot.tools[0])
    arm.kinematics(np.array(scenario.robot.home))
    return tool.position().copy()
