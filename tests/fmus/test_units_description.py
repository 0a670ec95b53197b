"""The model description of every unit: valid, true, and the same each time."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from simloop.fmus.export import build
from simloop.master import Claimed, FmuComponent, UnitError
from simloop.models.robots.sphere import ROBOT

from tests.conftest import OBSTACLES
from tests.fmus.every_unit import KINDS, open_unit, outputs, reals


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
