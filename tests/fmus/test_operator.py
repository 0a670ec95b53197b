"""An operator whose numbers go bad: the arm comes to rest, is told of, and goes on when they are good again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from simloop.fmus.export import build, instantiate
from simloop.master import FmuComponent, ObjectComponent, Step, System, Transfer, UnitError, run
from simloop.models.arm import Vector
from simloop.models.operator import RAMP
from simloop.models.robots.mobile import ROBOT

from tests.master.function_unit import FunctionUnit

H = 1 / 200
TWIST = [f"twist[{i}]" for i in range(1, 7)]
Q_D = [f"q_d[{i}]" for i in range(1, 10)]
ACCELERATION = 5.0


@pytest.fixture(scope="module")
def unit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("operator", ROBOT, tmp_path_factory.mktemp("unit") / "operator.fmu")


def follow(component: FmuComponent, twist: Vector, steps: int, first: int) -> Vector:
    """The joint positions planned while the hand wants `twist`, the robot following exactly."""
    plan = np.zeros((steps, len(Q_D)))
    q_d = np.zeros(len(Q_D))
    for k in range(steps):
        component.writer(TWIST, twist)()
        component.step((first + k) * H, H)
        component.reader(Q_D, q_d)()
        component.writer([name.replace("q_d", "q") for name in Q_D], q_d.copy())()
        plan[k] = q_d
    return plan


def open_operator(path: Path) -> FmuComponent:
    component = FmuComponent("operator", path)
    component.set("enable", True)
    component.set("joint_acceleration", ACCELERATION)
    component.initialize(0.0)
    return component


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 5])
def test_numbers_that_are_none_stop_the_arm_smoothly_and_good_ones_move_it_again(
    wrong: float, place: int, unit: Path
) -> None:
    good = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.1])
    bad = good.copy()
    bad[place] = wrong
    component = open_operator(unit)
    led = follow(component, good, 60, 0)
    assert not component.get("ignored")
    left = follow(component, bad, 60, 60)
    assert component.get("ignored")
    again = follow(component, good, 60, 120)
    assert not component.get("ignored")
    component.close()
    speed = np.abs(np.diff(np.concatenate([led, left, again]), axis=0)) / H
    assert np.isfinite(speed).all()
    still = speed[60 + round(RAMP / H) + 4 : 118]
    assert still.max() < 1e-3 * speed[:59].max(), "at rest after the ramp of the dead-man's switch"
    assert speed[150:].max() > 0.5 * speed[:59].max(), "moves again"
    assert np.abs(np.diff(speed, axis=0)).max() <= ACCELERATION * H * (1 + 1e-9)


def test_it_is_told_once_through_the_logger(unit: Path) -> None:
    slave = instantiate("operator", ROBOT)
    slave.view("enable")[0] = 1.0
    slave.exit_initialization_mode()
    said: list[int] = []
    for k, twist in enumerate((0.1, np.nan, np.nan, 0.1, np.inf, np.inf)):
        slave.view("twist")[:] = twist
        slave.do_step(k * H, H)
        said.append(len(slave.log_queue))
    assert said == [0, 1, 1, 1, 2, 2]
    assert "twist is NaN or infinite at 0.005 s; taken as let go" in slave.log_queue[0].msg


def test_a_state_with_such_numbers_is_saved_written_and_read_whole(unit: Path) -> None:
    component = open_operator(unit)
    follow(component, np.full(6, np.nan), 2, 0)
    back = component.deserialize(component.serialize(component.save()))
    follow(component, np.full(6, 0.1), 2, 2)
    component.restore(back)
    assert all(np.isnan(component.get(name)) for name in TWIST)
    component.step(2 * H, H)
    assert component.get("ignored")
    component.close()


def test_a_unit_that_leads_with_nan_ends_the_run_with_the_record_kept(unit: Path) -> None:
    """The master lets no unit say NaN, the operator's least of all: it names the unit, and nothing is lost."""

    def hand(values: dict[str, float], time: float, h: float) -> None:
        values["vx"] = np.nan if 0.1 <= time < 0.3 else 0.05

    system = System([ObjectComponent("hand", FunctionUnit(hand, outputs=["vx"], unit="m/s"))])
    system.add(FmuComponent("operator", unit))
    system.set("operator.enable", True)
    for name in (*TWIST[1:], *(f"{port}[{i}]" for port in ("q", "v") for i in range(1, 10))):
        system.set(f"operator.{name}", ROBOT.home[int(name[2]) - 1] if name.startswith("q") else 0.0)
    system.connect("hand.vx", "operator.twist[1]")
    schedule = (Step("hand"), *map(Transfer, system.connections()), Step("operator"))
    with pytest.raises(UnitError, match="vx is nan") as caught:
        run(system, schedule, step="1/200", duration="1/2")
    system.close()
    assert caught.value.component == "hand"
    result = caught.value.result
    assert result is not None
    assert result["time"][-1] == pytest.approx(0.1)
    assert result["operator.q_d[1]"][-1] > result["operator.q_d[1]"][0]
