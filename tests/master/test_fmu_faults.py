"""Faults of units: each has one defined end, with component and time, and keeps the last good record."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from simloop.master import Claimed, FmuComponent, ObjectComponent, Step, System, Transfer, UnitError, run

from tests.master.function_unit import FunctionUnit
from tests.units.build import NativeUnits

H = 0.01


def run_alone(native: NativeUnits, name: str, h: float = H) -> tuple[System, UnitError]:
    system = System([FmuComponent(name, native[name], trust=Claimed())])
    inputs = [v.name for v in system.components[name].variables.values() if v.causality == "input"]
    for each in inputs:
        system.set(f"{name}.{each}", 0.0)
    with pytest.raises(UnitError) as caught:
        run(system, (Step(name),), step=h, duration=10 * h)
    return system, caught.value


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("goes_nan", "goes_nan failed in an output at 0.05 s: x is nan; a finite number is needed"),
        ("fails", "fails failed in a step at 0.05 s: the spring broke"),
        ("dies", "dies failed in a step at 0.05 s: status fatal"),
        ("ends", "ends failed in a step at 0.05 s: the spring is worn out"),
    ],
)
def test_a_fault_names_component_and_time_and_keeps_the_record(name: str, said: str, native: NativeUnits) -> None:
    system, error = run_alone(native, name)
    assert str(error) == said
    assert (error.component, error.time) == (name, 0.05)
    assert error.result is not None
    good = 5 if name == "goes_nan" else 6
    np.testing.assert_allclose(error.result["time"], H * np.arange(good), atol=1e-15)
    np.testing.assert_allclose(error.result[f"{name}.x"], 0.1 * np.cos(10 * H * np.arange(good)), atol=1e-14)
    system.close()


def test_nan_is_told_of_the_unit_that_made_it_and_not_of_the_one_that_gets_it(native: NativeUnits) -> None:
    system = System(FmuComponent(name, native[name], trust=Claimed()) for name in ("goes_nan", "spring"))
    system.connect("goes_nan.x", "spring.F")
    system.set("goes_nan.F", 0.0)
    schedule = (Step("goes_nan"), *(Transfer(c) for c in system.connections()), Step("spring"))
    with pytest.raises(UnitError, match=r"goes_nan failed in an output at 0\.05 s: x is nan"):
        run(system, schedule, step=H, duration=1)
    assert math.isfinite(float(system.components["spring"].get("F")))
    system.close()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_object_is_held_to_the_same(value: float) -> None:
    def step(values: dict[str, float], time: float, h: float) -> None:
        values["y"] = value if time >= 2.0 else 1e308

    system = System([ObjectComponent("a", FunctionUnit(step, outputs=["x", "y"]))])
    with pytest.raises(UnitError, match=rf"a failed in an output at 3 s: y is {value}; a finite number") as caught:
        run(system, (Step("a"),), step=1, duration=5)
    assert caught.value.result is not None
    assert caught.value.result["time"].tolist() == [0.0, 1.0, 2.0]


def test_after_a_fatal_error_nothing_is_called_in_the_unit_any_more(native: NativeUnits) -> None:
    """The unit would end the process that calls it once more."""
    code = f"""
import sys
import numpy as np
from simloop.master import Claimed, FmuComponent, UnitError
unit = FmuComponent("unit", {str(native["dies"])!r}, trust=Claimed())
unit.initialize(0.0)
state = unit.save()
read, write = unit.reader(["x"], np.zeros(1)), unit.writer(["F"], np.zeros(1))
try:
    unit.step(0.05, 0.01)
except UnitError:
    pass
for call in (read, write, unit.save, lambda: unit.step(0.06, 0.01), lambda: unit.restore(state),
             lambda: unit.get("x"), lambda: unit.set("F", 1.0), lambda: unit.serialize(state)):
    try:
        call()
    except UnitError as error:
        assert "fatal error" in str(error), error
    else:
        sys.exit("a call went through")
unit.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_discarded_step_says_how_far_it_came_and_goes_on_from_there(native: NativeUnits) -> None:
    component = FmuComponent("unit", native["discards"], trust=Claimed())
    component.initialize(0.0)
    assert component.step(0.0, 0.025) == 0.01
    assert component.step(0.01, 0.01) == 0.01
    assert component.get("x") == pytest.approx(0.1 * math.cos(0.2), abs=1e-14)
    component.close()


def test_a_step_discarded_whole_can_be_made_in_smaller_ones(native: NativeUnits) -> None:
    component = FmuComponent("unit", native["springs_discards"], trust=Claimed())
    component.initialize(0.0)
    assert component.step(0.0, 0.02) == 0.0
    assert component.get("x[1]") == 0.1
    assert component.step(0.0, 0.01) == component.step(0.01, 0.01) == 0.01
    assert component.get("x[1]") == pytest.approx(0.1 * math.cos(0.2), abs=1e-14)
    component.close()


@pytest.mark.parametrize(("name", "came"), [("discards", "0.01"), ("springs_discards", "0")])
def test_a_plain_step_that_comes_short_is_an_error_that_says_how_far(name: str, came: str, native: NativeUnits) -> None:
    system, error = run_alone(native, name, h=0.025)
    assert str(error).startswith(f"{name} failed in a step at 0 s: it came {came} s far of 0.025 s;")
    system.close()


def test_an_object_that_refuses_a_step_came_nowhere() -> None:
    class Refusing(FunctionUnit):
        def do_step(self, current_time: float, step_size: float) -> bool:
            return False

    component = ObjectComponent("a", Refusing(outputs=["y"]))
    assert component.step(0.0, 0.5) == 0.0
    with pytest.raises(UnitError, match=r"a failed in a step at 0 s: it came 0 s far of 0\.5 s"):
        run(System([component]), (Step("a"),), step="1/2", duration=1)


def test_a_component_that_failed_leaves_no_files(native: NativeUnits, tmp_path: Path) -> None:
    code = f"""
import tempfile; tempfile.tempdir = {str(tmp_path)!r}
from simloop.master import Claimed, FmuComponent, SimloopError
for path in {[str(native[name]) for name in ("wrong_guid", "no_do_step", "dies")]!r}:
    try:
        unit = FmuComponent("unit", path, trust=Claimed())
        unit.initialize(0.0)
        unit.step(0.05, 0.01)
    except SimloopError:
        pass
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []
