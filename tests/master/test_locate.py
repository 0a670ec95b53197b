"""Events inside a macro step: found by rolling back, committed once, and no time lost."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from simloop.fmus.export import build, instantiate
from simloop.master import (
    CannotRollBackError,
    Claimed,
    FmuComponent,
    Locate,
    NameNotFoundError,
    ObjectComponent,
    Result,
    Schedule,
    Step,
    System,
    Transfer,
    UnitError,
    run,
    simulation_in_the_loop,
)
from simloop.master.locate import MOST_EVENTS
from simloop.models.robot import Robot

from tests.master.function_unit import FunctionUnit
from tests.master.test_run import loop_of_functions

TOLERANCE = 1e-12  # s


class Alarm:
    """A unit whose `gap` falls at 1 / s towards the next of the instants `rings` and starts again when stepped from
    below zero, as a bouncing body does; `x` is the time it has lived, `count` the instants passed.

    `parts` keeps every call, tentative ones too.
    """

    def __init__(self, *rings: float) -> None:
        self.rings = [*rings, math.inf]
        self.parts: list[tuple[float, float]] = []
        self.unit = FunctionUnit(self._step, outputs=["gap", "x", "count"])
        self.unit.ports[:] = (rings[0] if rings else 1.0, 0.0, 0.0)

    def _step(self, values: dict[str, float], time: float, h: float) -> None:
        self.parts.append((time, h))
        if values["gap"] < 0.0:
            values["count"] += 1.0
        values["x"] += h
        values["gap"] = min(self.rings[int(values["count"])] - values["x"], 1.0)


def locate(unit: FunctionUnit, step: str, duration: str, tolerance: float = TOLERANCE) -> Result:
    system = System([ObjectComponent("a", unit)])
    return run(system, (Locate("a", "gap", tolerance),), step=step, duration=duration)


def committed(alarm: Alarm) -> list[tuple[float, float]]:
    """The parts that stayed: the last call from each instant."""
    return list(dict(alarm.parts).items())


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("instant", [0.3, 1 / 3, 0.7 + 1e-7])
def test_an_event_is_located_within_the_tolerance_and_its_far_side_is_kept(instant: float, tolerance: float) -> None:
    alarm = Alarm(instant)
    result = locate(alarm.unit, "1", "1", tolerance)
    (begin, first), (then, _) = committed(alarm)
    assert begin == 0.0
    assert then == first
    assert instant < first <= instant + tolerance, "past the event, where the indicator is below zero"
    assert result["a.count"].tolist() == [0.0, 1.0], "the unit was stepped on from below zero"


def test_a_step_without_an_event_is_one_step() -> None:
    alarm = Alarm()
    locate(alarm.unit, "1/4", "1")
    assert alarm.parts == [(k / 4, 0.25) for k in range(4)]
    assert "restore" not in alarm.unit.calls


def test_all_the_events_of_one_step_are_located_in_their_order() -> None:
    rings = [0.1, 0.25, 0.2500001, 0.6, 0.99]
    alarm = Alarm(*rings)
    result = locate(alarm.unit, "1", "2")
    starts = [begin for begin, _ in committed(alarm)]
    assert starts[:6] == pytest.approx([0.0, *rings], abs=len(rings) * TOLERANCE)
    assert result["a.count"].tolist() == [0.0, 5.0, 5.0]


@pytest.mark.parametrize("before", [0.0, 1e-13, 1e-10, 1e-8])
def test_an_event_at_the_end_of_a_step_happens_once(before: float) -> None:
    """In this step or, when the step ends just short of it, in the next."""
    alarm = Alarm(0.5 - before)
    result = locate(alarm.unit, "1/2", "3/2")
    assert result["a.count"].tolist()[-1] == 1.0
    assert result["a.x"] == pytest.approx([0.0, 0.5, 1.0, 1.5], abs=1e-15)


def test_no_time_is_lost_between_the_parts() -> None:
    """Each part begins where the one before ended, and they sum to the macro step, to the rounding of a sum."""
    alarm = Alarm(*(0.037 * k for k in range(1, 60)))
    result = locate(alarm.unit, "1/7", "2")
    end = 0.0
    for begin, length in committed(alarm):
        assert begin == pytest.approx(end, abs=1e-15)
        end = begin + length
    assert end == pytest.approx(2.0, abs=1e-15)
    assert result["a.x"] == pytest.approx(result["time"], abs=1e-14)
    assert result["time"].tolist() == [k / 7 for k in range(15)]


def test_an_indicator_that_stays_below_zero_is_an_error_with_the_record_up_to_there() -> None:
    def step(values: dict[str, float], time: float, h: float) -> None:
        values["gap"] = 0.55 - time - h

    unit = FunctionUnit(step, outputs=["gap"])
    with pytest.raises(UnitError, match=rf"a failed in a step at 0\.4 s: gap fell below zero {MOST_EVENTS} times") as e:
        locate(unit, "1/5", "1")
    assert e.value.component == "a"
    assert e.value.result is not None
    assert not e.value.result.complete
    assert e.value.result["time"].tolist() == [0.0, 0.2, 0.4]


def test_what_cannot_roll_back_is_refused_by_name_when_the_schedule_is_made() -> None:
    system, log = loop_of_functions(rollback=("planner", "control"))
    with pytest.raises(CannotRollBackError, match="'plant'") as caught:
        simulation_in_the_loop(system, plant_step=Locate("plant", "q", TOLERANCE))
    assert caught.value.component == "plant"
    assert log == []


def test_an_indicator_that_is_not_there_is_told_before_anything_moves() -> None:
    alarm = Alarm(0.5)
    with pytest.raises(NameNotFoundError, match=r"'a\.gapp'; did you mean a\.gap"):
        run(System([ObjectComponent("a", alarm.unit)]), (Locate("a", "gapp", TOLERANCE),), step=1, duration=1)
    assert alarm.parts == []


def watched(watch: Callable[[float], None]) -> tuple[System, Schedule]:
    """An alarm whose `x` an observer sees."""

    def observe(values: dict[str, float], time: float, h: float) -> None:
        watch(values["u"])

    system = System([ObjectComponent("a", Alarm(0.21, 0.22, 0.6).unit)])
    system.add(ObjectComponent("watch", FunctionUnit(observe, inputs=["u"])))
    system.connect("a.x", "watch.u")
    (connection,) = system.connections()
    return system, (Locate("a", "gap", TOLERANCE), Transfer(connection), Step("watch"))


def test_observers_see_only_what_is_committed() -> None:
    seen: list[float] = []
    system, schedule = watched(seen.append)
    result = run(system, schedule, step="1/4", duration="1")
    assert seen == pytest.approx([0.25, 0.5, 0.75, 1.0], abs=1e-15)
    assert len(result) == 5
    assert result["a.x"][1:].tolist() == seen


@pytest.mark.parametrize("tolerance", [0.0, -1.0, math.nan, math.inf])
def test_a_tolerance_that_is_none_is_refused_before_anything_moves(tolerance: float) -> None:
    alarm = Alarm(0.5)
    with pytest.raises(ValueError, match=r"tolerance is .*greater than 0"):
        locate(alarm.unit, "1", "1", tolerance)
    assert alarm.parts == []


BOUNCING = """<mujoco><option gravity="0 0 -9.81"/><worldbody>
<geom name="floor" type="box" size="1 1 0.1" pos="0 0 -0.6"/>
<body><joint name="lift" type="slide" axis="0 0 1"/><geom name="ball" type="sphere" size="0.1" mass="1"/>
<site name="tip"/><body pos="0.3 0 0"><joint name="swing" axis="0 1 0"/>
<geom name="rod" type="capsule" fromto="0 0 0 0.25 0 0" size="0.02" mass="0.3"/></body></body></worldbody></mujoco>"""


def test_on_unit_files_the_events_are_those_of_python_objects_to_the_last_bit(tmp_path: Path) -> None:
    robot = Robot("bouncing", BOUNCING, ("tip",), (0.0, 0.2))
    path = build("plant", robot, tmp_path / "plant.fmu")
    results = []
    for component in (
        FmuComponent("plant", path, trust=Claimed()),
        ObjectComponent("plant", instantiate("plant", robot)),
    ):
        system = System([component])
        for name, value in (("contact", "events"), ("restitution", 0.6), ("tau", 0.0), ("f_ext", 0.0)):
            system.set(f"plant.{name}", value)
        results.append(run(system, (Locate("plant", "gap", TOLERANCE),), step="1/100", duration="3/2"))
        system.close()
    files, objects = results
    assert files["plant.impacts"][-1] > 5
    assert files["plant.held"].max() > 0
    for name in objects.columns:
        assert files[name].tobytes() == objects[name].tobytes(), name
