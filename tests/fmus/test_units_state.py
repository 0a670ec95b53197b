"""The state of every unit, as an FMU file in a host: saved, restored, written down and read again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from simloop.fmus.export import build, instantiate
from simloop.models.robot import Robot
from simloop.models.robots.sphere import ROBOT

from tests.conftest import OBSTACLES
from tests.fmus.every_unit import ARM, KINDS, H, drive, open_unit, outputs, reals


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


def test_reset_gives_back_the_first_state(units: dict[str, Path]) -> None:
    component = open_unit("plant", units["plant"])
    first = [component.get(name) for name in ("noise", "seed")]
    for k in range(3):
        drive(component, k)
    assert component.instance.optional("fmi2Reset")(component.instance.handle) == 0
    assert [component.get(name) for name in ("noise", "seed", "v[1]")] == [0.0, 0.0, 0.0] != first
    component.initialize(0.0)
    component.close()
