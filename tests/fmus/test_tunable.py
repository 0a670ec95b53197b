"""Tunable parameters: set between steps they hold from the next one on, undone they leave no trace, refused neither."""

from __future__ import annotations

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy.fmi2 import FMU2Slave
from simloop.fmus.export import CONTROLLERS, build, instantiate
from simloop.master import (
    Claimed,
    Component,
    FmuComponent,
    ObjectComponent,
    Result,
    Step,
    System,
    TimedWrite,
    UnitError,
    run,
)
from simloop.models.robots.sphere import ROBOT

from tests.fmus.every_unit import KINDS, H, drive, open_unit, outputs, reals
from tests.fmus.foreign_host import ROOT, host, run_host, unpack
from tests.fmus.test_plant import SITUATIONS
from tests.fmus.test_plant import drive as drive_arm
from tests.fmus.test_plant import file as arm_file
from tests.fmus.test_plant import opened as opened_arm
from tests.fmus.test_plant import outputs as outputs_of_arm
from tests.fmus.test_units_state import CHILD

__all__ = ["arm_file", "host"]

MASS, G = 1.0, 9.82  # kg, m/s²: S1's sphere
TUNED = ("plant", *CONTROLLERS)


def documented() -> dict[str, set[str]]:
    """The tunable parameters of each unit as docs/units.md has them in its table."""
    text = (ROOT / "docs/units.md").read_text(encoding="utf-8")
    table = text[text.index("| unit | tunable |") :].partition("\n\n")[0].splitlines()[2:]
    rows = [[re.findall(r"`(\w+)`", cell) for cell in line.strip("|").split("|")] for line in table]
    return {kind: set(names) for kinds, names in rows for kind in kinds}


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_description_has_the_tunable_parameters_of_the_documentation(
    kind: str, units: dict[str, Path]
) -> None:
    variables = fmpy.read_model_description(str(units[kind])).modelVariables
    tunable = {v.name.partition("[")[0] for v in variables if v.variability == "tunable"}
    assert tunable == documented().get(kind, set())
    assert bool(tunable) == (kind in TUNED)
    assert {v.causality for v in variables if v.variability in ("fixed", "tunable")} <= {"parameter"}


def alone(plant: Component, *writes: tuple[str, str, float], tau: float = 0.0) -> Result:
    """Four seconds of the plant by itself, h = 1/200 s."""
    system = System([plant])
    try:
        system.set("plant.tau", tau)
        system.set("plant.f_ext", 0.0)
        timed = [TimedWrite(Fraction(time), f"plant.{name}", value) for time, name, value in writes]
        return run(system, (Step("plant"),), step="1/200", duration=4, writes=timed)
    finally:
        system.close()


def as_file(units: dict[str, Path]) -> FmuComponent:
    return FmuComponent("plant", units["plant"], trust=Claimed())


def as_object() -> ObjectComponent:
    return ObjectComponent("plant", instantiate("plant", ROBOT))


def test_from_the_next_step_on_the_mass_is_the_new_one(units: dict[str, Path]) -> None:
    """Newton: a force F gives F/m − g until 2 s and F/(1.1 m) − g after, to the step."""
    force = 15.0
    result = alone(as_file(units), ("2", "mass_error", 0.1), tau=force)
    a = np.diff(result["plant.v[1]"]) * 200
    np.testing.assert_allclose(a[:400], force / MASS - G, rtol=1e-10)
    np.testing.assert_allclose(a[400:], force / (1.1 * MASS) - G, rtol=1e-10)


def test_noise_begins_and_ends_when_it_is_told_to(units: dict[str, Path]) -> None:
    """None at all before and after; between, the standard deviation of 400 samples is within 15 % of the true one but
    once in fifty thousand."""
    result = alone(as_file(units), ("1", "noise", 1e-3), ("3", "noise", 0.0))
    error, time = result["plant.q[1]"] - result["plant.q_true[1]"], result["time"]
    noisy = (time > 1.0) & (time <= 3.0)
    assert not error[~noisy].any()
    assert error[noisy].std() == pytest.approx(1e-3, rel=0.15)


def test_files_give_the_bits_of_objects(units: dict[str, Path]) -> None:
    writes = [("1", "mass_error", 0.3), ("3/2", "noise", 1e-4), ("2", "mass_error", -0.2), ("3", "noise", 0.0)]
    one, other = alone(as_file(units), *writes, tau=11.0), alone(as_object(), *writes, tau=11.0)
    for name in other.columns:
        assert one[name].tobytes() == other[name].tobytes(), name


def tune(component: Component) -> None:
    """Give every tunable parameter another value that it takes."""
    for v in component.variables.values():
        if v.variability == "tunable":
            component.set(v.name, 0.1 + 0.5 * float(component.get(v.name)))


@pytest.mark.parametrize("kind", TUNED)
def test_rolled_back_it_was_never_tuned(kind: str, units: dict[str, Path]) -> None:
    straight, rolled = open_unit(kind, units[kind]), open_unit(kind, units[kind])
    for component in (straight, rolled):
        drive(component, 0)
    slot = None
    for k in range(1, 20):
        drive(straight, k)
        slot = rolled.save(slot)
        tune(rolled)
        drive(rolled, k)
        assert outputs(rolled) != outputs(straight), "the tuned step is another one"
        rolled.restore(slot)
        drive(rolled, k)
        assert outputs(rolled) == outputs(straight)
    straight.close()
    rolled.close()


@pytest.mark.parametrize("situation", SITUATIONS)
def test_rolled_back_it_was_never_tuned_while_bodies_touch(situation: str, arm_file: Path) -> None:
    """Held by contacts, frozen, on elastic gears or in a burst of noise: the model is built anew amid it."""
    straight, rolled = (opened_arm(arm_file, SITUATIONS[situation]) for _ in range(2))
    slot = None
    for k in range(70):
        drive_arm(straight, k)
        slot = rolled.save(slot)
        tune(rolled)
        drive_arm(rolled, k)
        rolled.restore(slot)
        drive_arm(rolled, k)
        assert outputs_of_arm(rolled) == outputs_of_arm(straight)
    straight.close()
    rolled.close()


@pytest.mark.parametrize("situation", SITUATIONS)
def test_building_the_model_anew_changes_nothing_by_itself(situation: str, arm_file: Path) -> None:
    """Fault sizes of joints that are well do nothing, but a change of them is a change."""
    straight, tuned = (opened_arm(arm_file, SITUATIONS[situation]) for _ in range(2))
    for k in range(70):
        drive_arm(straight, k)
        tuned.set("fault_size[3]", 1.0 + k)
        drive_arm(tuned, k)
        assert outputs_of_arm(tuned) == outputs_of_arm(straight)
    straight.close()
    tuned.close()


@pytest.mark.parametrize("kind", TUNED)
@pytest.mark.parametrize("pending", [True, False], ids=["before the step", "after it"])
def test_a_tuned_state_written_down_goes_on_in_another_process(
    kind: str, pending: bool, units: dict[str, Path], tmp_path: Path
) -> None:
    component = open_unit(kind, units[kind])
    drive(component, 0)
    tune(component)
    if not pending:
        drive(component, 1)
    (tmp_path / "state").write_bytes(component.serialize(component.save()))
    inputs = {component.variables[name].reference: 0.001 for name in reals(component, "input")}
    for name in reals(component, "input"):
        component.set(name, 0.001)
    component.step(2 * H, H)
    wanted = [component.variables[name].reference for name in reals(component, "output")]
    here = [float(component.get(name)).hex() for name in reals(component, "output")]
    arguments = [units[kind], tmp_path / "state", inputs, wanted, 2 * H, H]
    child = subprocess.run([sys.executable, "-c", CHILD, *map(str, arguments)], capture_output=True, text=True)
    assert child.stdout.strip() == str(here), child.stderr
    component.close()


# A push, and what is tuned before which step.
PUSH = 12.0
SCRIPT = {3: ("mass_error", 0.1), 5: ("noise", 1e-3), 7: ("mass_error", -0.5)}


def in_our_master() -> list[str]:
    component = as_object()
    component.set("tau[1]", PUSH)
    component.initialize(0.0)
    seen = []
    for k in range(10):
        if k in SCRIPT:
            component.set(*SCRIPT[k])
        component.step(k * H, H)
        seen.append(float(component.get("q[1]")).hex())
    return seen


def test_a_host_by_fmpy_may_tune_between_steps(units: dict[str, Path]) -> None:
    description = fmpy.read_model_description(str(units["plant"]))
    reference = {v.name: v.valueReference for v in description.modelVariables}
    unit = FMU2Slave(
        guid=description.guid,
        unzipDirectory=fmpy.extract(str(units["plant"])),
        instanceName="plant",
        modelIdentifier=description.coSimulation.modelIdentifier,
    )
    unit.instantiate()
    unit.setupExperiment(startTime=0.0)
    unit.enterInitializationMode()
    unit.setReal([reference["tau[1]"]], [PUSH])
    unit.exitInitializationMode()
    seen = []
    for k in range(10):
        if k in SCRIPT:
            name, value = SCRIPT[k]
            unit.setReal([reference[name]], [value])
        unit.doStep(currentCommunicationPoint=k * H, communicationStepSize=H)
        seen.append(float(unit.getReal([reference["q[1]"]])[0]).hex())
    unit.terminate()
    unit.freeInstance()
    assert seen == in_our_master()


def test_so_may_a_host_that_is_not_python_and_a_bad_value_is_its_to_hear(
    host: Path, units: dict[str, Path], tmp_path: Path
) -> None:
    plant = unpack(units["plant"], tmp_path / "plant")
    ref = plant.reference
    script = [plant.opened("plant"), f"set plant {ref['tau[1]']} {PUSH}", "start plant"]
    for k in range(10):
        if k in SCRIPT:
            name, value = SCRIPT[k]
            script.append(f"set plant {ref[name]} {value}")
        if k == 8:
            script += [f"set plant {ref['mass_error']} -1", f"step plant {(k * H).hex()} {H.hex()}"]
            script.append(f"get plant {ref['mass_error']} 1")
        script += [f"step plant {(k * H).hex()} {H.hex()}", f"get plant {ref['q[1]']} 1"]
    said = run_host(host, [*script, "close plant"])
    refused, said[8:11] = said[8:11], []
    assert refused == [
        "log plant 3 plant.mass_error is -1; it must be greater than -1",
        "status 3 fmi2DoStep",
        "-0x1p-1",
    ]
    assert [float.fromhex(word).hex() for word in said] == in_our_master()


BAD = [
    ("plant", "mass_error", -1.0, "plant.mass_error is -1; it must be greater than -1"),
    ("plant", "mass_error", -2.0, "plant.mass_error is -2; it must be greater than -1"),
    ("plant", "noise", -0.1, "plant.noise is -0.1; it must not be negative"),
    ("plant", "fault_size[1]", -1.0, "plant.fault_size[1] is -1; it must not be negative"),
    ("plant", "restitution", 1.5, "plant.restitution is 1.5; it must be from 0 to 1"),
    ("control", "sigma[1]", -1.0, "control.sigma[1] is -1; it must not be negative"),
    ("control", "position_threshold", -1.0, "control.position_threshold is -1; it must not be negative"),
    ("pid", "force_threshold", -1.0, "pid.force_threshold is -1; it must not be negative"),
    ("pid", "filter_ratio", 0.0, "pid.filter_ratio is 0; it must be greater than 0"),
    ("computed_torque", "natural_frequency", 0.0, "computed_torque.natural_frequency is 0; it must be greater than 0"),
    ("computed_torque", "damping_ratio", -1.0, "computed_torque.damping_ratio is -1; it must be greater than 0"),
]


@pytest.mark.parametrize(("kind", "name", "value", "said"), BAD)
def test_a_value_that_cannot_be_is_refused_by_name_and_leaves_the_unit_as_it_was(
    kind: str, name: str, value: float, said: str, units: dict[str, Path]
) -> None:
    """As an FMU file and as an object, and though a good value is written with the bad one."""
    files = [open_unit(kind, units[kind]) for _ in range(2)]
    objects = [ObjectComponent(kind, instantiate(kind, ROBOT)) for _ in range(2)]
    for component in objects:
        component.initialize(0.0)
    for straight, refused in (files, objects):
        for component in (straight, refused):
            drive(component, 0)
        before = refused.get(name)
        refused.set("noise" if kind == "plant" else "force_threshold", 2.0)
        refused.set(name, value)
        with pytest.raises(UnitError) as caught:
            refused.step(H, H)
        assert str(caught.value) == f"{kind} failed in a step at {H:g} s: {said}"
        assert refused.get(name) == before
        for k in (1, 2):
            drive(straight, k)
            drive(refused, k)
            assert outputs(refused) == outputs(straight)
    for component in files:
        component.close()


def test_a_bad_value_on_the_way_ends_the_run_and_keeps_its_record(units: dict[str, Path]) -> None:
    said = "plant failed in a step at 2 s: plant.mass_error is -2; it must be greater than -1"
    for plant in (as_file(units), as_object()):
        with pytest.raises(UnitError, match=re.escape(said)) as caught:
            alone(plant, ("2", "mass_error", -2.0))
        assert caught.value.result is not None
        assert len(caught.value.result) == 401


def test_a_threshold_turned_off_reports_no_contact_any_more(units: dict[str, Path]) -> None:
    component = open_unit("control", units["control"])
    component.set("q_measured[1]", 0.1)
    component.step(0.0, H)
    assert component.get("contact_by_force") is True
    component.set("force_threshold", 0.0)
    component.step(H, H)
    assert component.get("contact_by_force") is False
    component.close()


def test_a_fixed_parameter_is_not_written_between_steps(units: dict[str, Path]) -> None:
    component = open_unit("plant", units["plant"])
    with pytest.raises(UnitError, match=r"plant.gear_stiffness\[1\] is a fixed parameter"):
        component.set("gear_stiffness[1]", 1.0)
    component.close()


def test_a_unit_for_many_joints_names_the_element(tmp_path: Path) -> None:
    from simloop.models.robots.yumi import ROBOT as YUMI

    component = FmuComponent("plant", build("plant", YUMI, tmp_path / "plant.fmu"), trust=Claimed())
    component.initialize(0.0)
    component.set("fault_size[12]", -3.0)
    with pytest.raises(UnitError) as caught:
        component.step(0.0, H)
    assert str(caught.value) == "plant failed in a step at 0 s: plant.fault_size[12] is -3; it must not be negative"
    component.close()
