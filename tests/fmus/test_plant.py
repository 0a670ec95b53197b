"""The plant as an FMU file: its faults, gears and contacts are whole state, and each fault keeps its law."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from simloop.fmus.export import build, instantiate
from simloop.master import (
    Claimed,
    Component,
    FmuComponent,
    Locate,
    ObjectComponent,
    Result,
    Step,
    System,
    TimedWrite,
    UnitError,
    run,
)
from simloop.master.component import Value
from simloop.models.faults import Fault
from simloop.models.robot import Robot

# Falls on the floor within 0.3 s, elbow first; each joint has a rotor.
FALLING = """<mujoco><option gravity="0 0 -9.81"/><worldbody>
<geom name="floor" type="box" size="2 2 0.1" pos="0 0 -0.45"/>
<body name="one"><joint name="a" axis="0 1 0" armature="0.02" actuatorfrcrange="-9 9"/>
<geom name="upper" type="capsule" fromto="0 0 0 0.4 0 0" size="0.03" mass="1"/>
<body name="two" pos="0.4 0 0"><joint name="b" axis="0 1 0" armature="0.01" damping="0.02"/>
<geom name="fore" type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="0.6"/>
<body name="three" pos="0.3 0 0"><joint name="c" axis="1 0 0" armature="0.01"/>
<geom name="hand" type="box" size="0.05 0.06 0.02" pos="0.05 0 0" mass="0.3"/><site name="tip"/></body></body></body>
</worldbody></mujoco>"""
ROBOT = Robot("falling", FALLING, ("tip",), (0.1, 0.2, 0.3))
N, STEP, H = 3, "1/100", 0.01
LOCATED = 1e-12
Settings = dict[str, Value]
EVENTS: Settings = {"contact": "events", "restitution": 0.4}
# What makes a state worth saving, by name.
SITUATIONS: dict[str, Settings] = {
    "held": EVENTS,
    "frozen": {**EVENTS, "fault[2]": int(Fault.FROZEN)},
    "gears": {**EVENTS, "gear_stiffness[1]": 60.0, "gear_stiffness[2]": 30.0, "gear_damping": 0.1, "encoder": "motor"},
    "burst": {"contact": "compliant", "noise": 1e-5, "seed": 3, "fault[1]": int(Fault.NOISY), "fault_size": 1e-2},
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("plant", ROBOT, tmp_path_factory.mktemp("falling") / "plant.fmu")


def elements(component: Component, name: str) -> list[str]:
    return [v for v in component.variables if v == name or v.startswith(f"{name}[")]


def opened(file: Path, settings: Settings) -> FmuComponent:
    component = FmuComponent("plant", file, trust=Claimed())
    for name, value in settings.items():
        for element in elements(component, name):
            component.set(element, value)
    component.initialize(0.0)
    return component


def drive(component: FmuComponent, k: int) -> None:
    """One step with some torque, the same for the same k."""
    component.writer(elements(component, "tau"), 0.2 * np.random.default_rng(k).standard_normal(N))()
    component.step(k * H, H)


def outputs(component: FmuComponent) -> bytes:
    names = [v.name for v in component.variables.values() if v.causality == "output"]
    values = np.zeros(len(names))
    component.reader(names, values)()
    return values.tobytes()


def run_alone(
    component: Component, settings: Settings, duration: str, *writes: tuple[str, str, Value], tau: float = 0.0
) -> Result:
    """The plant by itself under the master, touches located where contact is by events."""
    system = System([component])
    try:
        for name, value in {"tau": tau, "f_ext": 0.0, **settings}.items():
            system.set(f"plant.{name}", value)
        step = Locate("plant", "gap", LOCATED) if settings.get("contact") == "events" else Step("plant")
        timed = [TimedWrite(Fraction(time), f"plant.{name}", value) for time, name, value in writes]
        return run(system, (step,), step=STEP, duration=duration, writes=timed)
    finally:
        system.close()


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_file_gives_the_bits_of_an_object(situation: str, file: Path) -> None:
    settings = SITUATIONS[situation]
    one = run_alone(FmuComponent("plant", file, trust=Claimed()), settings, "0.8")
    other = run_alone(ObjectComponent("plant", instantiate("plant", ROBOT)), settings, "0.8")
    for name in other.columns:
        assert one[name].tobytes() == other[name].tobytes(), name
    if settings["contact"] == "events":
        assert one["plant.held"].max() > 0, "it lies on the floor for a while"


@pytest.mark.parametrize("situation", SITUATIONS)
def test_rollback_equals_never_having_stepped(situation: str, file: Path) -> None:
    """Between any two steps, the other way made with other torque and, half of the times, another fault."""
    straight, rolled = (opened(file, SITUATIONS[situation]) for _ in range(2))
    usual = rolled.get("fault[3]")
    slot = None
    for k in range(70):
        drive(straight, k)
        slot = rolled.save(slot)
        rolled.set("fault[3]", int(Fault.FROZEN) if k % 2 else int(Fault.LOST))
        drive(rolled, 1000 + k)
        drive(rolled, 2000 + k)
        rolled.restore(slot)
        assert rolled.get("fault[3]") == usual
        drive(rolled, k)
        assert outputs(rolled) == outputs(straight)
    straight.close()
    rolled.close()


CHILD = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from simloop.master import Claimed, FmuComponent
from tests.fmus.test_plant import drive, outputs, take
for state in sys.argv[3:]:
    unit = FmuComponent("plant", sys.argv[2], trust=Claimed())
    unit.initialize(0.0)
    take(unit, Path(state).read_bytes())
    for k in range(45, 50):
        drive(unit, k)
    print(outputs(unit).hex())
    unit.close()
"""


def give(component: FmuComponent) -> bytes:
    return component.serialize(component.save())


def take(component: FmuComponent, data: bytes) -> None:
    component.restore(component.deserialize(data))


def test_a_state_written_down_goes_on_in_another_process_that_has_default_parameters(
    file: Path, tmp_path: Path
) -> None:
    here, states = [], []
    for situation, settings in SITUATIONS.items():
        component = opened(file, settings)
        for k in range(45):
            drive(component, k)
        state = tmp_path / situation
        state.write_bytes(give(component))
        states.append(str(state))
        for k in range(45, 50):
            drive(component, k)
        here.append(outputs(component).hex())
        component.close()
    root = str(Path(__file__).parents[2])
    child = subprocess.run([sys.executable, "-c", CHILD, root, str(file), *states], capture_output=True, text=True)
    assert child.stdout.split() == here, child.stderr


def test_a_joint_frozen_on_the_way_stays_where_it_was_and_thaws(file: Path) -> None:
    frozen, well = int(Fault.FROZEN), int(Fault.NONE)
    result = run_alone(
        FmuComponent("plant", file, trust=Claimed()),
        {},
        "0.3",
        ("0.1", "fault[2]", frozen),
        ("0.2", "fault[2]", well),
        tau=0.5,
    )
    time, q, v = result["time"], result.vector("plant.q_true"), result.vector("plant.v")
    stuck = (time > 0.1) & (time <= 0.2)
    assert (q[stuck, 1] == q[time == 0.1, 1]).all()
    assert (v[stuck, 1] == 0.0).all()
    assert (result["plant.tau_applied[2]"][stuck] == 0.0).all()
    assert np.all(np.diff(q[:, 0]) != 0.0)
    assert np.all(np.diff(q[~stuck, 1]) != 0.0)


def test_a_loose_joint_and_a_weak_one_give_what_they_can(file: Path) -> None:
    writes = [("0.1", "fault[1]", int(Fault.LOOSE)), ("0.2", "fault[1]", int(Fault.WEAK))]
    result = run_alone(FmuComponent("plant", file, trust=Claimed()), {"fault_size": 0.25}, "0.3", *writes, tau=-20.0)
    time, applied = result["time"], result.vector("plant.tau_applied")
    expected = np.select([time == 0.0, time <= 0.1, time <= 0.2], [0.0, -9.0, 0.0], -0.25)
    np.testing.assert_array_equal(applied[:, 0], expected)
    np.testing.assert_array_equal(applied[1:, 1:], -20.0)


def test_a_stuck_sensor_keeps_telling_where_the_joint_was(file: Path) -> None:
    result = run_alone(FmuComponent("plant", file, trust=Claimed()), {}, "0.2", ("0.1", "fault[1]", int(Fault.STUCK)))
    time, q, true = result["time"], result.vector("plant.q"), result.vector("plant.q_true")
    assert (q[time > 0.1, 0] == true[time == 0.1, 0]).all()
    np.testing.assert_array_equal(q[:, 1:], true[:, 1:])
    np.testing.assert_array_equal(q[time <= 0.1], true[time <= 0.1])
    assert abs(true[-1, 0] - q[-1, 0]) > 0.01


def test_a_noise_burst_has_its_size_on_its_joint_alone(file: Path) -> None:
    """The standard deviation of 2000 samples is within 5 % of the true one but once in a thousand."""
    settings: Settings = {"fault_size": 0.02, "fault[2]": int(Fault.FROZEN)}
    burst, quiet = int(Fault.NOISY), int(Fault.NONE)
    result = run_alone(
        FmuComponent("plant", file, trust=Claimed()),
        settings,
        "30",
        ("5", "fault[1]", burst),
        ("25", "fault[1]", quiet),
    )
    time, error = result["time"], result.vector("plant.q") - result.vector("plant.q_true")
    noisy = (time > 5.0) & (time <= 25.0)
    assert error[noisy, 0].std() == pytest.approx(0.02, rel=0.05)
    assert abs(error[noisy, 0].mean()) < 4 * 0.02 / math.sqrt(2000)
    assert not error[~noisy].any()
    assert not error[:, 1:].any()


def test_of_a_lost_measurement_the_one_before_is_told_once_more(file: Path) -> None:
    """One step late, then right again, though the fault stands; lost again only when it comes again."""
    lost, well = int(Fault.LOST), int(Fault.NONE)
    writes = [("0.1", "fault[1]", lost), ("0.15", "fault[1]", well), ("0.17", "fault[1]", lost)]
    result = run_alone(FmuComponent("plant", file, trust=Claimed()), {}, "0.2", *writes)
    q, true = result.vector("plant.q"), result.vector("plant.q_true")
    late = [11, 18]
    np.testing.assert_array_equal(q[late, 0], true[[10, 17], 0])
    right = np.setdiff1d(np.arange(len(q)), late)
    np.testing.assert_array_equal(q[right], true[right])
    np.testing.assert_array_equal(q[:, 1:], true[:, 1:])


def test_a_measurement_is_lost_also_in_a_step_with_a_touch_in_it(file: Path) -> None:
    """The touch splits the step; what is told at its end is still the measurement before."""
    plain = run_alone(FmuComponent("plant", file, trust=Claimed()), EVENTS, "0.6")
    touch = int(np.flatnonzero(np.diff(plain["plant.impacts"]))[0])
    result = run_alone(
        FmuComponent("plant", file, trust=Claimed()), EVENTS, "0.6", (f"{touch}/100", "fault[1]", int(Fault.LOST))
    )
    q, true = result.vector("plant.q"), result.vector("plant.q_true")
    assert q[touch + 1, 0] == true[touch, 0]
    assert q[touch + 2, 0] == true[touch + 2, 0]


def test_a_fault_that_is_none_ends_the_run_with_a_sentence_and_its_record(file: Path) -> None:
    said = r"plant failed in a step at 0\.05 s: .*fault is 9; it can be 0 none, 1 loose, 2 frozen, 3 weak"
    with pytest.raises(UnitError, match=said) as caught:
        run_alone(FmuComponent("plant", file, trust=Claimed()), {}, "0.1", ("0.05", "fault[2]", 9))
    assert caught.value.result is not None
    assert len(caught.value.result) == 6


def test_all_joints_frozen_is_an_error_that_says_so_and_leaves_the_unit_well(file: Path) -> None:
    component = opened(file, {})
    drive(component, 0)
    before = outputs(component)
    for name in elements(component, "fault"):
        component.set(name, int(Fault.FROZEN))
    with pytest.raises(UnitError, match="every joint is frozen; at least one must be able to move"):
        component.step(H, H)
    assert outputs(component) == before
    component.set("fault[1]", int(Fault.NONE))
    drive(component, 1)
    component.close()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("restitution", 1.5, "restitution is 1.5; it must be from 0 to 1"),
        ("restitution", -0.1, "restitution is -0.1; it must be from 0 to 1"),
        ("gear_stiffness[2]", -1.0, "gear_stiffness.*must not be negative"),
        ("gear_damping[1]", -1.0, "gear_damping.*must not be negative"),
        ("fault_size[3]", -1.0, "fault_size.*must not be negative"),
        ("contact", "glue", "contact is 'glue'; it can be none or compliant or events"),
        ("integrator", "midpoint", "integrator is 'midpoint'; it can be euler or rk4"),
        ("encoder", "wrist", "encoder is 'wrist'; it can be joint or motor"),
    ],
)
def test_a_parameter_out_of_range_is_one_sentence(name: str, value: Value, said: str, file: Path) -> None:
    component = FmuComponent("plant", file, trust=Claimed())
    component.set(name, value)
    with pytest.raises(UnitError, match=said) as caught:
        component.initialize(0.0)
    assert "\n" not in str(caught.value)
    component.close()


PENDULUM = """<mujoco><option gravity="0 0 -9.81"/><worldbody><body><joint name="a" axis="0 -1 0" armature="0.05"
damping="2"/><geom type="sphere" size="0.05" pos="0.5 0 0" mass="2"/><site name="tip"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("encoder", ["joint", "motor"])
def test_a_loaded_gear_is_wound_by_torque_over_stiffness_and_the_encoder_sits_on_its_side(encoder: str) -> None:
    """At rest under 4 N·m the joint stands where m g l cos q holds them, the motor 4 / k ahead."""
    robot, k, tau = Robot("pendulum", PENDULUM, ("tip",), (1.0,)), 50.0, 4.0
    component = ObjectComponent("plant", instantiate("plant", robot))
    settings: Settings = {"gear_stiffness": k, "gear_damping": 3.0, "encoder": encoder}
    # Below the horizontal the arm stands still by itself.
    rest = -math.acos(tau / (2 * 9.81 * 0.5))
    result = run_alone(component, settings, "20", tau=tau)
    joint, motor, told = (result[f"plant.{name}[1]"] for name in ("q_true", "q_motor", "q"))
    assert joint[-1] == pytest.approx(rest, abs=1e-6)
    assert motor[-1] - joint[-1] == pytest.approx(tau / k, abs=1e-6)
    np.testing.assert_array_equal(told, motor if encoder == "motor" else joint)


def test_with_rigid_gears_the_motor_is_where_the_joint_is(file: Path) -> None:
    result = run_alone(FmuComponent("plant", file, trust=Claimed()), {}, "0.2", tau=0.4)
    np.testing.assert_array_equal(result.vector("plant.q_motor"), result.vector("plant.q_true"))


def test_a_frozen_joint_holds_its_motor_too_and_the_other_gears_still_give_way(file: Path) -> None:
    settings: Settings = {"gear_stiffness": 0.5, "gear_damping": 0.01}
    result = run_alone(
        FmuComponent("plant", file, trust=Claimed()), settings, "0.3", ("0.1", "fault[2]", int(Fault.FROZEN)), tau=0.02
    )
    joint, motor, later = result.vector("plant.q_true"), result.vector("plant.q_motor"), result["time"] > 0.1
    for side in (joint, motor):
        assert np.ptp(side[later, 1]) == 0.0
        assert np.all(np.diff(side[:, 0]) != 0.0)
    assert np.abs(motor - joint)[later][:, [0, 2]].min(axis=0).max() > 0.0


def test_the_run_is_marked_with_its_error_and_exit_code(tmp_path: Path) -> None:
    from click.testing import CliRunner
    from simloop.studio.cli import main

    said = {"9": "fault is 9; it can be 0 none", "2": "every joint is frozen"}
    for code, words in said.items():
        out = tmp_path / code
        arguments = ["run", "sphere-step", "--duration", "1", "--at", f"0.5:plant.fault[1]={code}", "--out", str(out)]
        answer = CliRunner().invoke(main, arguments)
        assert answer.exit_code == 1, answer.output
        assert words in answer.output
        record = json.loads((out / "run.json").read_text(encoding="utf-8"))
        assert (record["status"], record["rows"]) == ("partial", 101)
        assert words in record["error"]
