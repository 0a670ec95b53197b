"""The CANopen driver against emulated drives on the virtual bus."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from simloop.drivers.axes import Axes, Axis
from simloop.drivers.canopen_bus import BusAddress
from simloop.drivers.canopen_drives import CanopenDriver
from simloop.drivers.cia402 import State
from simloop.drivers.driver import Command, Condition, RobotStoppedError
from simloop.fmus.controller import holding_force

from tests.drivers.bench import AXES, HOME, MODEL, H, driver_on, emulated_drives, run_against, seconds


def test_brakes_stay_on_and_torque_zero_until_the_first_command() -> None:
    with emulated_drives() as (drives, channel):
        driver = driver_on(channel)
        driver.configure(H)
        report = driver.activate()
        assert {drive.state for drive in drives.drives} == {State.SWITCHED_ON}
        assert all(drive.braked and drive.torque == 0 for drive in drives.drives)
        assert drives.cycles == 0
        # To the nearest count of 2^24 a turn.
        np.testing.assert_allclose(report.q, HOME, atol=np.pi / 2**24)
        driver.exchange(Command(holding_force(MODEL, HOME), HOME))
        assert {drive.state for drive in drives.drives} == {State.OPERATION_ENABLED}
        driver.deactivate()
        assert {drive.state for drive in drives.drives} == {State.SWITCH_ON_DISABLED}
        assert [drive.refused for drive in drives.drives] == [0] * 7, "no order that the standard does not allow"


def test_the_arm_feels_the_torque_that_was_told_as_sent() -> None:
    """One cycle from rest: q moves as the model does under the torque that the report tells, to the nearest count."""
    with emulated_drives() as (_, channel):
        driver = driver_on(channel)
        driver.configure(H)
        driver.activate()
        tau = holding_force(MODEL, HOME) + np.linspace(-3.0, 3.0, 7)
        report = driver.exchange(Command(tau, HOME))
        driver.stop()
    per_mille = 1e-3 * np.array([axis.rated_torque for axis in AXES.all])
    assert np.all(np.abs(report.sent - tau) <= 0.5 * per_mille * (1 + 1e-9))
    state = MODEL.state_at(HOME)
    MODEL.step(state, report.sent, H)
    np.testing.assert_allclose(report.q, state.q, atol=np.pi / 2**24 * 1.01)


def test_stop_is_a_quick_stop_for_good() -> None:
    with emulated_drives() as (drives, channel):
        driver = driver_on(channel)
        driver.configure(H)
        driver.activate()
        driver.exchange(Command(holding_force(MODEL, HOME) + 5.0, HOME))
        assert drives.arm.v.any()
        driver.stop()
        driver.stop()
        assert {drive.state for drive in drives.drives} == {State.SWITCH_ON_DISABLED}
        assert all(drive.torque == 0 for drive in drives.drives)
        assert not drives.arm.v.any()


def test_a_late_answer_is_missed_once_and_noticed_when_it_comes() -> None:
    with emulated_drives(["late@3:2"]) as (_, channel):
        driver = driver_on(channel, reply_timeout=0.5)
        driver.configure(H)
        driver.activate()
        command = Command(holding_force(MODEL, HOME), HOME)
        assert [driver.exchange(command).missed for _ in range(5)] == [0, 0, 1, 0, 0]
        assert driver.late == 1
        driver.stop()


def test_a_drive_that_is_not_heard_keeps_its_watchdog() -> None:
    """Its answers are lost, so that it is not known to have stopped: it must notice that nobody commands it."""
    with emulated_drives(["lost@2:3x1000"]) as (drives, channel):
        driver = driver_on(channel, reply_timeout=0.5)
        driver.configure(H)
        driver.activate()
        command = Command(holding_force(MODEL, HOME), HOME)
        assert [driver.exchange(command).missed for _ in range(2)] == [0, 1]
        driver.stop()
        # The last frames are still on their way.
        for _ in range(500):
            operational = [drive.operational for drive in drives.drives]
            if not any(operational[:2]) and not any(operational[3:]):
                break
            time.sleep(0.02)
        assert operational == [i == 2 for i in range(7)]


def test_a_drive_in_fault_is_reset_only_when_that_is_asked_for() -> None:
    with emulated_drives() as (drives, channel):
        drives.drives[2].fail(0x4210)
        driver = driver_on(channel)
        driver.configure(H)
        with pytest.raises(RobotStoppedError, match="reset only when that is asked for: joint 3 fault") as caught:
            driver.activate()
        assert caught.value.condition is Condition.FAULT
        driver.stop()
        assert drives.drives[2].state is State.FAULT
        asked = driver_on(channel, reset_faults=True)
        asked.configure(H)
        asked.activate()
        assert {drive.state for drive in drives.drives} == {State.SWITCHED_ON}
        asked.deactivate()


def test_a_drive_with_another_rating_is_refused_before_anything_is_enabled() -> None:
    other = Axes((Axis(1, 1000.0, 5.0), *AXES.all[1:]))
    with emulated_drives() as (drives, channel):
        driver = CanopenDriver(other, BusAddress(channel=channel))
        with pytest.raises(ValueError, match=r"node 1 is rated for 106\.667 N·m, but its rated_torque here is 5"):
            driver.configure(H)
        driver.stop()
        assert {drive.state for drive in drives.drives} == {State.SWITCH_ON_DISABLED}


def test_a_cycle_that_no_drive_can_count_is_refused() -> None:
    with emulated_drives() as (_, channel):
        driver = driver_on(channel)
        with pytest.raises(ValueError, match="whole microseconds"):
            driver.configure(1 / 3000)
        driver.stop()


def test_nobody_on_the_bus_is_told_by_node_and_bus(tmp_path: Path) -> None:
    from simloop.master import SimloopError

    with pytest.raises(SimloopError, match=r"no drive answers as node 1 \(joint 1\) on virtual 'nobody here'"):
        run_against("canopen", tmp_path / "out", seconds(1), channel="nobody here")
    assert not (tmp_path / "out").exists()


def test_letting_go_of_the_dead_man_stops_and_the_record_is_whole(tmp_path: Path) -> None:
    from fractions import Fraction

    from simloop.master import TimedWrite
    from simloop.models.robots.iiwa import ROBOT
    from simloop.studio.request import Request
    from simloop.studio.runner import run_to_folder
    from simloop.studio.scenarios.step import make

    with emulated_drives() as (drives, channel):
        settings = {"driver.channel": channel, "driver.reply_timeout": 1.0, "driver.watchdog": 30.0}
        write = TimedWrite(Fraction(50, 250), "plant.enable", False)
        request = Request(
            make(ROBOT), step="1/250", duration="0.4", settings=settings, writes=(write,), plant="canopen"
        )
        finished = run_to_folder(request, tmp_path, csv=False, command="")
        assert "dead-man's switch was let go" in str(finished.error)
        assert len(finished.outcome.result) == 51
        assert {drive.state for drive in drives.drives} == {State.SWITCH_ON_DISABLED}


def test_a_unit_that_is_let_go_lets_the_robot_go() -> None:
    """A host may free a unit without terminating it."""
    import gc

    from simloop.fmus.export import instantiate
    from simloop.models.robots.iiwa import ROBOT

    with emulated_drives() as (drives, channel):
        unit = instantiate("canopen", ROBOT)
        unit.set_text("channel", channel)
        unit.view("watchdog")[0], unit.view("reply_timeout")[0] = 30.0, 1.0
        unit.exit_initialization_mode()
        unit.view("tau")[:] = holding_force(MODEL, HOME)
        unit.do_step(0.0, H)
        assert {drive.state for drive in drives.drives} == {State.OPERATION_ENABLED}
        del unit
        gc.collect()
        assert {drive.state for drive in drives.drives} == {State.SWITCH_ON_DISABLED}


def test_a_real_robot_is_not_rolled_back(tmp_path: Path) -> None:
    from simloop.fmus.export import build
    from simloop.master import CannotRollBackError, FmuComponent, Save, Step, System
    from simloop.master.schedule import check_schedule
    from simloop.models.robots.iiwa import ROBOT

    component = FmuComponent("plant", build("canopen", ROBOT, tmp_path / "canopen.fmu"))
    assert not component.can_rollback
    with pytest.raises(CannotRollBackError):
        check_schedule(System([component]), (Save("plant"), Step("plant")))
    component.close()
