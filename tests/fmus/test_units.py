"""Every unit, as an FMU file in a host: its state is whole, its description true, its errors clear."""

from __future__ import annotations

import ctypes
import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from simloop.fmus.export import CONTROLLERS, UNITS, build, instantiate
from simloop.fmus.slave import load
from simloop.master import Claimed, Component, FmuComponent, SimloopError, UnitError
from simloop.models.robot import Robot
from simloop.models.robots.sphere import ROBOT

from tests.conftest import OBSTACLES
from tests.models.test_arm import THREE_LINKS

KINDS = sorted(UNITS)
ARM = Robot("three", THREE_LINKS, tools=("tip",), home=(0.1, 0.2, 0.03))
H = 1 / 200


def reals(component: Component, causality: str) -> list[str]:
    return [v.name for v in component.variables.values() if v.causality == causality and v.type == "Real"]


def open_unit(kind: str, path: Path) -> FmuComponent:
    """A unit with parameters that give it a state worth saving."""
    component = FmuComponent(kind, path, trust=Claimed())
    if kind == "plant":
        for name, value in (("noise", 1e-4), ("seed", 7), ("mass_error", 0.1), ("contact", "compliant")):
            component.set(name, value)
    if kind == "planner":
        component.set("goal[3]", 0.7)
    if kind == "goal":
        component.set("posture[1]", 0.15)
    if kind in CONTROLLERS:
        component.set("replay", True)
        component.set("force_threshold", 0.5)
    component.initialize(0.0)
    return component


def drive(component: Component, k: int) -> None:
    """Inputs of step k: some numbers, the same for the same k."""
    rng = np.random.default_rng(k)
    names = reals(component, "input")
    component.writer(names, 1e-3 * rng.standard_normal(len(names)))()
    component.step(k * H, H)


def outputs(component: Component) -> bytes:
    numbers = [v.name for v in component.variables.values() if v.causality == "output" and v.type != "String"]
    values = np.zeros(len(numbers))
    component.reader(numbers, values)()
    return values.tobytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("robot", [ROBOT, ARM], ids=lambda robot: robot.name)
def test_rollback_equals_never_having_stepped(kind: str, robot: Robot, tmp_path: Path) -> None:
    path = build(kind, robot, tmp_path / "unit.fmu", OBSTACLES)
    straight, rolled = open_unit(kind, path), open_unit(kind, path)
    slot = None
    for k in range(20):
        drive(straight, k)
        slot = rolled.save(slot)
        drive(rolled, 1000 + k)
        drive(rolled, 2000 + k)
        rolled.restore(slot)
        drive(rolled, k)
        assert outputs(rolled) == outputs(straight)
    straight.close()
    rolled.close()


def test_rollback_is_exact_while_bodies_touch(units: dict[str, Path]) -> None:
    """The contact solver starts from its last answer, so that answer is state too."""
    straight, rolled = open_unit("plant", units["plant"]), open_unit("plant", units["plant"])
    slot = None
    for k in range(300):
        push = -15.0 if (k // 40) % 2 else 6.0
        for component in (straight, rolled):
            component.set("tau[1]", push)
        straight.step(k * H, H)
        slot = rolled.save(slot)
        rolled.set("tau[1]", 40.0)
        rolled.step(k * H, H)
        rolled.restore(slot)
        rolled.step(k * H, H)
        assert outputs(rolled) == outputs(straight)
    lowest = min(float(straight.get("q_true[1]")), 0.0)
    assert lowest < -0.09
    straight.close()
    rolled.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_state_does_not_change_when_the_unit_goes_on(kind: str, units: dict[str, Path]) -> None:
    component = open_unit(kind, units[kind])
    drive(component, 0)
    slot = component.save()
    drive(component, 1)
    after = outputs(component)
    for _ in range(3):
        component.restore(slot)
        drive(component, 1)
        assert outputs(component) == after
    component.close()


CHILD = """
import sys, fmpy
from fmpy.fmi2 import FMU2Slave
path, state, inputs, outputs, time, h = sys.argv[1:7]
description = fmpy.read_model_description(path)
unit = FMU2Slave(guid=description.guid, unzipDirectory=fmpy.extract(path), instanceName="child",
                 modelIdentifier=description.coSimulation.modelIdentifier)
unit.instantiate()
unit.setupExperiment(startTime=0.0)
unit.enterInitializationMode()
unit.exitInitializationMode()
unit.setFMUstate(unit.deSerializeFMUstate(open(state, "rb").read()))
values = eval(inputs)
if values:
    unit.setReal(list(values), list(values.values()))
unit.doStep(currentCommunicationPoint=float(time), communicationStepSize=float(h))
print([float(x).hex() for x in unit.getReal(eval(outputs))])
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_written_down_goes_on_in_another_process(kind: str, units: dict[str, Path], tmp_path: Path) -> None:
    """The other process has default parameters until the state brings its own."""
    component = open_unit(kind, units[kind])
    for k in range(3):
        drive(component, k)
    (tmp_path / "state").write_bytes(component.serialize(component.save()))
    inputs = {component.variables[name].reference: 0.001 for name in reals(component, "input")}
    for name in reals(component, "input"):
        component.set(name, 0.001)
    component.step(3 * H, H)
    wanted = [component.variables[name].reference for name in reals(component, "output")]
    here = [float(component.get(name)).hex() for name in reals(component, "output")]
    arguments = [units[kind], tmp_path / "state", inputs, wanted, 3 * H, H]
    child = subprocess.run([sys.executable, "-c", CHILD, *map(str, arguments)], capture_output=True, text=True)
    assert child.stdout.strip() == str(here), child.stderr
    component.close()


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b'{"ports": [1], "texts": []}', b"\xff\xfe"])
def test_a_state_that_is_not_this_units_is_refused(data: bytes) -> None:
    slave = instantiate("plant", ROBOT)
    with pytest.raises(ValueError, match="serialised"):
        slave._fmu_state_from_bytes(data)


@pytest.mark.parametrize("kind", KINDS)
def test_fmpy_finds_nothing_wrong_and_simulates(kind: str, units: dict[str, Path]) -> None:
    assert validate_fmu(str(units[kind])) == []
    result = fmpy.simulate_fmu(str(units[kind]), stop_time=0.1, step_size=0.01, output_interval=0.01)
    component = FmuComponent(kind, units[kind], trust=Claimed())
    component.initialize(0.0)
    for k in range(10):
        component.step(k * 0.01, 0.01)
    for name in reals(component, "output"):
        assert result[name][-1] == pytest.approx(component.get(name), rel=1e-12), name
    component.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_unit_written_twice_is_the_same_file(kind: str, units: dict[str, Path], tmp_path: Path) -> None:
    again = build(kind, ROBOT, tmp_path / "again.fmu", OBSTACLES)
    assert hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(units[kind].read_bytes()).digest()


@pytest.mark.parametrize("kind", KINDS)
def test_declared_dependencies_are_true(kind: str, units: dict[str, Path]) -> None:
    """No output is declared to follow an input at once, and none does: inputs act in a step."""
    with zipfile.ZipFile(units[kind]) as archive:
        root = ET.fromstring(archive.read("modelDescription.xml"))
    declared = [unknown.get("dependencies") for unknown in root.iterfind("ModelStructure/Outputs/Unknown")]
    assert declared
    assert set(declared) == {""}
    component = open_unit(kind, units[kind])
    before = outputs(component)
    names = reals(component, "input")
    component.writer(names, np.full(len(names), 0.123))()
    assert outputs(component) == before
    component.close()


# What a planner's table looks like, where it is not joint positions.
TABLES = {
    "path": "time,x,y,z,z1,y2,z3\n0,0,0,0.5,0,0,0\n1,0,0,0.6,0,0,0\n",
    "operator": "time,vx,vy,vz,wx,wy,wz,enable\n0,0,0,0.1,0,0,0,1\n",
}


@pytest.mark.parametrize("kind", KINDS)
def test_declared_initial_dependencies_are_true(kind: str, units: dict[str, Path], tmp_path: Path) -> None:
    """An output's first value changes with those variables, and only those, that it declares."""
    table = tmp_path / "table.csv"
    table.write_text(TABLES.get(kind, "time,q[1]\n0,0.25\n"))
    other: dict[str, float | int | str] = {
        "seed": 3,
        "v[1]": -0.05,
        "replay": True,
        "contact": "compliant",
        "integrator": "rk4" if kind == "plant" else "rk23",
        "encoder": "motor",
        "fault[1]": 4,
        "gear_stiffness[1]": 0.0,
        "enable": True,
        "weighting": "evenly",
        "orientation": "second",
        # The sphere has no heading, so that true is refused: tests/fmus/test_redundant.py.
        "nonholonomic": False,
        # Needs an influence too: tests/models/test_guide.py.
        "plan_ahead": False,
        "goal": "pose",
        "hold_orientation": True,
        "table": str(table),
        "gate": "polyhedra",
    }
    description = fmpy.read_model_description(str(units[kind]))
    declared = {u.variable.name: {d.name for d in u.dependencies or ()} for u in description.initialUnknowns}

    def first_values(changes: dict[str, float | int | str]) -> dict[str, object]:
        component = FmuComponent(kind, units[kind], trust=Claimed())
        for name, value in changes.items():
            component.set(name, value)
        component.initialize(0.0)
        values = {name: component.get(name) for name in declared}
        component.close()
        return values

    # Guided by hand, the planner takes any goal.
    ground = {"plant": {"noise": 1e-3}, "planner": {"max_speed": 0.0}}.get(kind, {})
    plain = first_values(dict(ground))
    found: dict[str, set[str]] = {name: set() for name in declared}
    for known in description.modelVariables:
        if known.causality in ("input", "parameter"):
            changed = first_values({**ground, known.name: other.get(known.name, 0.05)})
            for name in declared:
                if changed[name] != plain[name]:
                    found[name].add(known.name)
    for name, names in found.items():
        assert names <= declared[name], name
    assert set().union(*found.values()) == set().union(*declared.values())


def test_every_real_has_a_defined_unit(units: dict[str, Path]) -> None:
    for path in units.values():
        description = fmpy.read_model_description(str(path))
        defined = {unit.name for unit in description.unitDefinitions}
        assert {v.unit for v in description.modelVariables if v.type == "Real"} <= defined
    control = fmpy.read_model_description(str(units["control"]))
    assert {v.name: v.unit for v in control.modelVariables}["tau[1]"] == "N"


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


def raw_set_real(component: FmuComponent, reference: int) -> int:
    status = component.instance.functions["fmi2SetReal"]
    one = ctypes.c_size_t(1)
    return int(status(component.instance.handle, (ctypes.c_uint * 1)(reference), one, (ctypes.c_double * 1)(1.0)))


def test_a_host_that_breaks_the_rules_gets_an_error_and_no_crash(units: dict[str, Path]) -> None:
    component = open_unit("plant", units["plant"])
    error = 3
    variables = component.variables
    for name, problem in (
        ("q[1]", "output"),
        ("gear_stiffness[1]", "fixed parameter"),
        ("seed", "not a variable of type Real"),
    ):
        assert raw_set_real(component, variables[name].reference) == error
        assert problem in component.instance.said("")
    assert raw_set_real(component, 4_000_000_000) == error
    assert "4000000000" in component.instance.said("")
    step = component.instance.functions["fmi2DoStep"]
    assert step(component.instance.handle, ctypes.c_double(0.0), ctypes.c_double(-1.0), ctypes.c_int(0)) == error
    assert "step size" in component.instance.said("")
    restore = component.instance.functions["fmi2SetFMUstate"]
    assert restore(component.instance.handle, ctypes.c_void_p()) == error
    component.step(0.0, H)
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


def test_the_two_detectors_of_an_arm_judge_two_signals(tmp_path: Path) -> None:
    """One joint's position is off but no joint's force beyond its threshold, and the other way round."""
    path = build("control", ARM, tmp_path / "control.fmu")
    for position, force, expected in ((1e-6, 1e6, (1.0, 0.0)), (1.0, 1e-3, (0.0, 1.0))):
        component = FmuComponent("control", path, trust=Claimed())
        component.set("position_threshold", position)
        component.set("force_threshold", force)
        component.set("replay", True)
        component.initialize(0.0)
        component.set("q_measured[2]", 0.2001)
        component.step(0.0, H)
        assert (component.get("contact_by_position"), component.get("contact_by_force")) == expected
        component.close()


def test_the_nearest_pair_is_named_arm_first(units: dict[str, Path]) -> None:
    component = open_unit("collision", units["collision"])
    for z, other in ((0.0, "floor"), (0.4, "plane")):
        component.set("q[1]", z)
        component.step(0.0, H)
        assert (component.get("body_a"), component.get("body_b")) == ("sphere", other)
    component.close()


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


def test_a_playback_goes_on_only_with_the_table_it_was_saved_with(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("time,q[1]\n0,0\n1,1\n")
    slaves = [instantiate("playback", ROBOT) for _ in range(2)]
    slaves[0].set_text("table", str(table))
    slaves[0].exit_initialization_mode()
    slaves[0].do_step(0.0, 0.25)
    state = slaves[0].save()
    slaves[1].restore(state)
    slaves[1].do_step(0.25, 0.25)
    assert slaves[1].view("q_d")[0] == 0.5
    table.write_text("time,q[1]\n0,0\n1,2\n")
    other = instantiate("playback", ROBOT)
    other.exit_initialization_mode()
    with pytest.raises(ValueError, match=r"table\.csv.*not the one"):
        other.restore(state)
    assert (other.text("table"), other.view("q_d")[0]) == ("", 0.0)


def test_a_component_that_is_let_go_leaves_no_files(units: dict[str, Path], tmp_path: Path) -> None:
    code = f"""
import tempfile; tempfile.tempdir = {str(tmp_path)!r}
from simloop.master import Claimed, Component, FmuComponent, SimloopError
kept = FmuComponent("plant", {str(units["plant"])!r}, trust=Claimed())
kept.initialize(0.0)
kept.save()
FmuComponent("control", {str(units["control"])!r}, trust=Claimed()).close()
kept.close()
kept.close()
last = FmuComponent("plant", {str(units["plant"])!r}, trust=Claimed())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_an_archive_that_is_broken_or_leaves_its_folder_is_refused(units: dict[str, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(units["plant"]) as archive:
        description = archive.read("modelDescription.xml")
    path = tmp_path / "hostile.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", description)
        archive.writestr("/absolute.txt", "out")
    with pytest.raises(SimloopError, match=r"hostile\.fmu.*cannot be unpacked"):
        FmuComponent("plant", path, trust=Claimed())


def test_an_interrupt_inside_a_unit_reaches_the_script(units: dict[str, Path]) -> None:
    code = f"""
import os, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts with it ignored
from simloop.master import Claimed, Component, FmuComponent, UnitError
unit = FmuComponent("plant", {str(units["plant"])!r}, trust=Claimed())
unit.initialize(0.0)
try:
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    while True:
        try:
            unit.step(0.0, 1e-3)
        except UnitError:
            pass
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "interrupted\n", done.stderr


def test_a_unit_opened_with_anothers_guid_is_refused(units: dict[str, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(units["plant"]) as archive:
        archive.extractall(tmp_path)
    with pytest.raises(ValueError, match="GUID"):
        load(str(tmp_path / "resources"), "plant", "{not-it}")
    unit = json.loads((tmp_path / "resources" / "unit.json").read_text())
    uri = (tmp_path / "resources").as_uri()
    assert load(uri, "plant", unit["guid"]).instance_name == "plant"


def test_reset_gives_back_the_first_state(units: dict[str, Path]) -> None:
    component = open_unit("plant", units["plant"])
    first = [component.get(name) for name in ("noise", "seed")]
    for k in range(3):
        drive(component, k)
    assert component.instance.optional("fmi2Reset")(component.instance.handle) == 0
    assert [component.get(name) for name in ("noise", "seed", "v[1]")] == [0.0, 0.0, 0.0] != first
    component.initialize(0.0)
    component.close()


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x05\x06" + 18 * b"\0"])
def test_a_file_that_is_no_unit_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.fmu"
    path.write_bytes(content)
    with pytest.raises(SimloopError, match=r"broken\.fmu"):
        FmuComponent("broken", path, trust=Claimed())
    with pytest.raises(SimloopError, match=r"missing\.fmu"):
        FmuComponent("missing", tmp_path / "missing.fmu", trust=Claimed())


def test_the_python_face_moves_the_same_numbers(units: dict[str, Path]) -> None:
    slave = instantiate("plant", ROBOT, OBSTACLES)
    reference = {v.name: v.reference for v in slave.variables()}
    slave.set_real([reference["tau[1]"]], [3.0])
    assert slave.get_real([reference["tau[1]"]]) == [3.0]
    with pytest.raises(ValueError, match="tau"):
        slave.set_real([reference["tau[1]"]], [float("nan")])
    with pytest.raises(ValueError, match="1 variables were given 2 values"):
        slave.set_real([reference["tau[1]"]], [1.0, 2.0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_parameter_below_its_declared_least_value_is_refused_at_the_start(kind: str, units: dict[str, Path]) -> None:
    """And every start value is within what is declared; what is declared is not only for show."""
    description = fmpy.read_model_description(str(units[kind]))
    bounded = [v for v in description.modelVariables if v.min is not None or v.max is not None]
    for variable in bounded:
        if variable.start is not None:
            assert float(variable.min or -np.inf) <= float(variable.start) <= float(variable.max or np.inf)
    # Some count only beside another that is on.
    beside = {"spacing": {"influence": 0.1}, "closing_rate": {"influence": 0.1}, "room_gain": {"influence": 0.1}}
    for variable in bounded:
        if variable.causality == "parameter" and variable.min is not None:
            component = FmuComponent(kind, units[kind])
            for name, value in beside.get(variable.name, {}).items():
                if name in component.variables:
                    component.set(name, value)
            component.set(variable.name, int(float(variable.min)) - 1)
            with pytest.raises(UnitError, match=variable.name.partition("[")[0]):
                component.initialize(0.0)
            component.close()
