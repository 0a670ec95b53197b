"""The units that can stand in the loop as its control: the same ports, and what each makes of a replay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from simloop.fmus.controller import Controller
from simloop.fmus.export import CONTROLLERS, build, instantiate
from simloop.master import Claimed, FmuComponent
from simloop.models.arm import Arm
from simloop.models.faults import Fault
from simloop.models.robot import Robot
from simloop.models.robots import yumi
from simloop.models.robots.sphere import ROBOT

from tests.fmus.every_unit import ARM

H = 1 / 200
G = 9.82  # m/s²


def unit(kind: str, **parameters: float) -> Controller:
    slave = instantiate(kind, ROBOT)
    assert isinstance(slave, Controller)
    for name, value in parameters.items():
        slave.view(name)[:] = value
    slave.exit_initialization_mode()
    return slave


def macro_step(control: Controller, q_d: float, q_measured: float) -> None:
    """As the master has it: step, roll back, replay."""
    control.q_d[:], control.replay[0] = q_d, 0.0
    saved = control.save()
    control.do_step(0.0, H)
    control.restore(saved)
    control.q_measured[:], control.replay[0] = q_measured, 1.0
    control.do_step(0.0, H)


@pytest.mark.parametrize("kind", CONTROLLERS)
@pytest.mark.parametrize("robot", [ROBOT, yumi.ROBOT], ids=lambda robot: robot.name)
def test_all_have_the_inputs_and_outputs_of_the_control_simulation(kind: str, robot: Robot) -> None:
    def signals(kind: str) -> list[tuple[str, str, str, str]]:
        found = instantiate(kind, robot).variables()
        return [(v.name, v.causality, v.type, v.unit) for v in found if v.causality != "parameter"]

    assert signals(kind) == signals("control")
    parameters = {v.name for v in instantiate(kind, robot).variables() if v.causality == "parameter"}
    assert {"position_threshold", "force_threshold"} <= parameters


@pytest.mark.parametrize("kind", CONTROLLERS)
def test_the_first_force_holds_the_robot(kind: str) -> None:
    assert unit(kind).tau[0] == pytest.approx(G)


@pytest.mark.parametrize("kind", CONTROLLERS)
def test_the_force_sent_is_the_force_of_the_replay_pass(kind: str) -> None:
    """The measurement of a step's end cannot change the force that was sent at its beginning."""
    control = unit(kind)
    for k in range(5):
        control.q_d[:], control.replay[0] = 1e-3 * k, 0.0
        saved = control.save()
        control.do_step(k * H, H)
        sent = float(control.tau[0])
        control.restore(saved)
        control.q_measured[:], control.replay[0] = 0.9e-3 * k, 1.0
        control.do_step(k * H, H)
        assert control.tau[0] == sent


@pytest.mark.parametrize("kind", ["computed_torque", "pid"])
def test_the_plan_goes_on_from_the_set_point(kind: str) -> None:
    control = unit(kind)
    macro_step(control, 1e-3, 0.7e-3)
    macro_step(control, 3e-3, 1.5e-3)
    assert control.q_out[0] == 3e-3
    assert control.v_out[0] == pytest.approx(2e-3 / H)


@pytest.mark.parametrize("kind", ["computed_torque", "pid"])
def test_the_place_of_a_failed_joint_is_where_it_is(kind: str) -> None:
    control = unit(kind)
    control.fault[:] = Fault.FROZEN
    macro_step(control, 1e-3, 0.25e-3)
    assert control.q_out[0] == 0.25e-3
    assert control.tau[0] == 0.0


def test_computed_torque_tells_the_force_of_the_motion_that_was_measured() -> None:
    """The replay's force is the model's own: m (a + g) for a measured acceleration a."""
    control = unit("computed_torque", force_threshold=3.0)
    macro_step(control, 0.0, -4.0 * H**2)
    assert control.tau[0] == pytest.approx(G)
    assert control.tau_replay[0] == pytest.approx(G - 4.0)
    assert control.by_force[0] == 1.0
    control = unit("computed_torque", force_threshold=3.0)
    macro_step(control, 0.0, -2.0 * H**2)
    assert control.by_force[0] == 0.0


def test_a_pid_judges_contact_by_position_alone() -> None:
    control = unit("pid", force_threshold=1e-9, position_threshold=1e-3)
    macro_step(control, 0.0, -0.9e-3)
    assert (control.by_position[0], control.by_force[0]) == (0.0, 0.0)
    macro_step(control, 0.0, -1.1e-3)
    assert (control.by_position[0], control.by_force[0]) == (1.0, 0.0)
    assert control.tau_replay[0] == control.tau[0]


@pytest.mark.parametrize("kind", ["computed_torque", "pid"])
def test_without_a_replay_it_goes_on_as_if_the_robot_did_what_it_expects(kind: str) -> None:
    """So a host that never replays still gets the force that the model needs along the way."""
    control, arm, weight = unit(kind), Arm(ROBOT.mjcf), np.zeros(1)
    arm.inverse(np.zeros(1), np.zeros(1), np.zeros(1), H, weight)
    for k in range(20):
        control.q_d[:] = 0.0
        control.do_step(k * H, H)
        assert control.tau[0] == pytest.approx(weight[0])


@pytest.mark.parametrize("kind", CONTROLLERS)
def test_what_a_replay_takes_back_is_where_the_force_was_expected_to_lead(kind: str) -> None:
    """The prediction is the place that the step came to before it was rolled back."""
    control = unit(kind)
    control.q_d[:], control.replay[0] = 2e-3, 0.0
    saved = control.save()
    control.do_step(0.0, H)
    came_to = float(control.state.q[0])
    control.restore(saved)
    control.q_measured[:], control.replay[0] = 5e-4, 1.0
    control.do_step(0.0, H)
    assert control.q_predicted[0] == came_to
    assert control.state.q[0] == 5e-4


def test_the_control_simulation_predicts_that_it_gets_where_it_is_sent() -> None:
    """Σ = 0: motors do not give way."""
    control = unit("control")
    for k in range(1, 20):
        macro_step(control, 1e-3 * k, 0.9e-3 * k)
        assert control.q_predicted[0] == pytest.approx(1e-3 * k, rel=1e-12)


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
