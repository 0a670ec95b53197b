"""What a unit refuses: the error names the thing, and nothing has changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from simloop.fmus.export import build, instantiate
from simloop.master import Claimed, FmuComponent, UnitError
from simloop.models.robots.sphere import ROBOT

from tests.conftest import OBSTACLES
from tests.fmus.every_unit import ARM, KINDS, H, drive, open_unit, outputs, reals


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_none_is_an_error_that_names_the_variable(
    kind: str, wrong: float, units: dict[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    component = open_unit(kind, units[kind])
    drive(component, 0)
    before = outputs(component)
    # What an operator says is let go when it is no number, and is tested with it.
    name = next(name for name in reals(component, "input") if not name.startswith("twist"))
    with pytest.raises(UnitError, match=f"{kind}.*{name.replace('[', '.').replace(']', '.')}.*finite"):
        component.writer([name], np.array([wrong]))()
    assert outputs(component) == before
    drive(component, 1)
    component.close()
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_all_or_none_of_the_values_of_a_call_are_taken(tmp_path: Path) -> None:
    component = open_unit("plant", build("plant", ARM, tmp_path / "plant.fmu"))
    taus = [name for name in component.variables if name.startswith("tau[")]
    component.writer(taus, np.array([1.0, 2.0, 3.0]))()
    with pytest.raises(UnitError, match=r"tau\[3\]"):
        component.writer(taus, np.array([4.0, 5.0, np.nan]))()
    values = np.zeros(3)
    component.reader(taus, values)()
    assert values.tolist() == [1.0, 2.0, 3.0]
    component.close()


@pytest.mark.parametrize(
    ("kind", "name", "value", "said"),
    [
        ("plant", "noise", -1.0, "noise"),
        ("plant", "seed", -1, "seed"),
        ("plant", "contact", "sticky", "compliant"),
        ("plant", "mass_error", -2.0, "mass_error"),
        ("planner", "acceleration", 0.0, "acceleration"),
        ("control", "sigma[1]", -1.0, "sigma"),
        ("control", "force_threshold", -1.0, "force_threshold"),
        ("computed_torque", "natural_frequency", 0.0, "natural_frequency is 0; it must be greater than 0"),
        ("computed_torque", "damping_ratio", -1.0, "damping_ratio"),
        ("computed_torque", "position_threshold", -1.0, "position_threshold"),
        ("pid", "natural_frequency", -1.0, "natural_frequency"),
        ("pid", "filter_ratio", 0.0, "filter_ratio"),
        ("playback", "table", "/no/such/file.csv", "no/such/file"),
        ("gate", "step", 0.0, "step"),
        ("gate", "slide_speed", -1.0, "slide_speed"),
        ("gate", "margin", -1.0, "margin"),
        ("gate", "margin", 0.2, "home position is not legal: sphere is 100 mm from floor"),
        ("gate", "gate", "analytic", "polyhedra, for this robot has no other"),
    ],
)
def test_a_parameter_that_cannot_be_fails_the_start_by_name(
    kind: str, name: str, value: float | str, said: str, units: dict[str, Path]
) -> None:
    component = FmuComponent(kind, units[kind], trust=Claimed())
    component.set(name, value)
    with pytest.raises(UnitError, match=said):
        component.initialize(0.0)
    component.close()


@pytest.mark.parametrize(
    "text",
    ["", "time,q[1],q[2]\n0,1,2\n", "time,q[1]\n0,nan\n", "time,q[1]\n0,1\n0,2\n", "time,q[1]\n0\n", "a,b\n0,1\n"],
)
def test_a_table_of_the_wrong_size_or_kind_is_refused(text: str, units: dict[str, Path], tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text(text)
    component = FmuComponent("playback", units["playback"], trust=Claimed())
    component.set("table", str(table))
    with pytest.raises(UnitError, match=r"table\.csv"):
        component.initialize(0.0)
    component.close()


def test_an_arm_that_blows_up_is_an_error_that_says_what_and_when(
    units: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    component = open_unit("plant", units["plant"])
    component.set("tau[1]", 1e300)
    with pytest.raises(UnitError, match=r"q_true\[1\].*NaN or infinite in the step from 0 s"):
        component.step(0.0, 1e6)
    component.close()
    assert list(tmp_path.iterdir()) == []


def test_a_step_before_the_start_and_a_refused_state_are_errors_that_change_nothing(units: dict[str, Path]) -> None:
    component = FmuComponent("plant", units["plant"], trust=Claimed())
    with pytest.raises(UnitError, match="before the unit was initialised"):
        component.step(0.0, H)
    component.close()
    slave = instantiate("plant", ROBOT)
    slave.exit_initialization_mode()
    bad = slave.save()
    bad.ports[{v.name: v.reference for v in slave.variables()}["noise"]] = -1.0
    before = slave.ports.copy()
    with pytest.raises(ValueError, match="noise"):
        slave.restore(bad)
    np.testing.assert_array_equal(slave.ports, before)
    assert slave.do_step(0.0, H)


def test_the_python_face_moves_the_same_numbers() -> None:
    slave = instantiate("plant", ROBOT, OBSTACLES)
    reference = {v.name: v.reference for v in slave.variables()}
    slave.set_real([reference["tau[1]"]], [3.0])
    assert slave.get_real([reference["tau[1]"]]) == [3.0]
    with pytest.raises(ValueError, match="tau"):
        slave.set_real([reference["tau[1]"]], [float("nan")])
    with pytest.raises(ValueError, match="1 variables were given 2 values"):
        slave.set_real([reference["tau[1]"]], [1.0, 2.0])
