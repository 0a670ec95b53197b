"""The planners of arms with joints to spare, as units: a platform on wheels, and an orientation that is second."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from simloop.fmus.export import build, instantiate
from simloop.master import FmuComponent
from simloop.master.errors import UnitError
from simloop.models.robot import Ball
from simloop.models.robots.iiwa import ROBOT as IIWA
from simloop.models.robots.mobile import ROBOT as MOBILE

from tests.models.test_guide import ROBOT as PLANAR

H = 1 / 200
SIDEWAYS = (0.02, 0.1, 0.0, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("operator", MOBILE, tmp_path_factory.mktemp("mobile") / "operator.fmu")


def lead(file: Path, steps: int, rolled_back: bool = False) -> NDArray[np.float64]:
    """The plan of a platform on wheels for a hand that leads the gripper aside, (steps + 1, 9)."""
    component = FmuComponent("planner", file)
    component.set("nonholonomic", True)
    component.set("weighting", "evenly")
    component.set("enable", True)
    for i, value in enumerate(SIDEWAYS, start=1):
        component.set(f"twist[{i}]", value)
    component.initialize(0.0)
    plan = np.zeros(9)
    read = component.reader([f"q_d[{i}]" for i in range(1, 10)], plan)
    copy = component.writer([f"q[{i}]" for i in range(1, 10)], plan)
    read()
    plans = [plan.copy()]
    for k in range(steps):
        copy()
        if rolled_back:
            state = component.save()
            component.step(k * H, H)
            component.restore(state)
        component.step(k * H, H)
        read()
        plans.append(plan.copy())
    component.close()
    return np.array(plans)


def test_the_plan_of_a_platform_on_wheels_never_goes_sideways(operator: Path) -> None:
    plans = lead(operator, 200)
    way, heading = np.diff(plans, axis=0), plans[:-1, 2]
    np.testing.assert_allclose(-np.sin(heading) * way[:, 0] + np.cos(heading) * way[:, 1], 0.0, atol=1e-14)
    assert np.abs(way[:, :2]).sum() > 0.01, "it drives"
    assert np.abs(heading[-1]) > 0.01, "it turns"


def test_rolled_back_every_step_it_plans_the_same(operator: Path) -> None:
    np.testing.assert_array_equal(lead(operator, 50, rolled_back=True), lead(operator, 50))


@pytest.mark.parametrize("kind", ["operator", "path"])
def test_a_robot_without_a_platform_cannot_be_on_wheels(kind: str, tmp_path: Path) -> None:
    component = FmuComponent("planner", build(kind, IIWA, tmp_path / "unit.fmu"))
    component.set("nonholonomic", True)
    with pytest.raises(UnitError, match=r"planner\.nonholonomic is true, but .* slides along x and y"):
        component.initialize(0.0)
    component.close()


def test_an_orientation_that_is_not_known_is_refused_with_those_that_are(operator: Path) -> None:
    component = FmuComponent("planner", operator)
    component.set("orientation", "third")
    with pytest.raises(UnitError, match=r"planner\.orientation is 'third'; it can be held or second"):
        component.initialize(0.0)
    component.close()


def test_a_path_planned_ahead_goes_on_from_a_state_in_a_unit_that_was_never_started(tmp_path: Path) -> None:
    """It plans the same way again, whatever the state's position is, and so gives the same bits."""
    ball = Ball("ball", (0.75, 0.0, 0.0), 0.05)
    table = tmp_path / "via.csv"
    first = instantiate("path", PLANAR, (ball,))
    first.arm.kinematics(np.array(PLANAR.home))
    x, y, z = first.tool.position()
    table.write_text(f"time,x,y,z,z1,y2,z3\n0,{x},{y},{z},0,0,0\n0.5,{x},{y},{z},0,0,0\n2,{x - 0.1},{y},{z},0,0,0\n")
    text = next(v.reference for v in first.variables() if v.name == "table")
    first.set_string([text], [str(table)])
    for name, value in (("plan_ahead", 1.0), ("spacing", 0.02), ("influence", 0.05)):
        first.view(name)[0] = value
    first.exit_initialization_mode()
    plans = []
    for k in range(100):
        first.do_step(k * 0.01, 0.01)
    state = first._fmu_state_to_bytes(first.save())
    other = instantiate("path", PLANAR, (ball,))
    other.exit_initialization_mode()
    other.restore(other._fmu_state_from_bytes(state))
    for unit in (first, other):
        for k in range(100, 150):
            unit.do_step(k * 0.01, 0.01)
        plans.append(unit.view("q_d").tobytes())
    assert plans[0] == plans[1]
