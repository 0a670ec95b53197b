"""EGM against an emulated controller: ten seconds of cycles, trouble on the way, and what a controller refuses."""

from __future__ import annotations

import socket

import numpy as np
import pytest
from simloop.drivers.driver import Command, Condition, RobotStoppedError
from simloop.drivers.egm import EgmDriver
from simloop.drivers.egm_link import ArmAxes, Link, arms_of
from simloop.drivers.egm_message import (
    Guidance,
    Kind,
    Motors,
    RobotMessage,
    SensorMessage,
    decode_robot,
    encode_robot,
    encode_sensor,
)
from simloop.drivers.emulate_egm import COMM_TIMEOUT, EmulatedController
from simloop.drivers.emulated_arm import EmulatedArm
from simloop.models.arm import Arm
from simloop.models.robots.iiwa import ROBOT
from simloop.models.robots.yumi import ROBOT as YUMI

from tests.drivers.bench import HOME, PATIENT, H, emulated_controller, in_a_thread

ZERO = np.zeros(7)
TEN_SECONDS = 2500


def test_ten_seconds_at_250_hz_with_lost_messages_and_wrong_numbers() -> None:
    """A sine of 0.02 rad on every joint; what gets lost is missed as often as it was lost, and never more."""
    driver = EgmDriver(7, port=0, reply_timeout=PATIENT)
    driver.configure(H)
    troubles = ["lost@505", "lost@1005x2", "sequence@1505", "lost@2005"]
    missed, errors = {}, []
    with emulated_controller([("127.0.0.1", driver.ports[0])], troubles) as controller:
        report = driver.activate()
        np.testing.assert_allclose(report.q, HOME, atol=1e-12)
        k = 0
        while controller.cycles < TEN_SECONDS:
            k += 1
            q_d = HOME + 0.02 * np.sin(2 * np.pi * 0.5 * k * H)
            report = driver.exchange(Command(ZERO, q_d))
            if report.missed:
                missed[controller.cycles] = report.missed
            errors.append(float(np.abs(report.q - q_d).max()))
        guidance, refused, unanswered = controller.guidance, controller.refused.counts, controller.unanswered
        driver.stop()
    assert list(missed.values()) == [1, 2, 1, 1]
    assert k == TEN_SECONDS - 5 - 5
    assert driver.refused == 1, "the message with the old number"
    assert (guidance, refused, unanswered) == (Guidance.RUNNING, {}, 5)
    # The servo is ideal: with its model right it is where it is told to be.
    assert max(errors) < 1e-9


def sensor(controller_port: int) -> socket.socket:
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.bind(("127.0.0.1", controller_port))
    end.settimeout(5.0)
    return end


def joints_of(q: np.ndarray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return ArmAxes(0, 7).degrees(q)


class Hand:
    """An EGM sensor by hand: takes a message, answers what it likes, and the controller makes one turn."""

    def __init__(self) -> None:
        self.socket = sensor(0)
        arm = EmulatedArm(ROBOT.mjcf, HOME)
        speed = np.array(ROBOT.max_speed)
        to = [("127.0.0.1", self.socket.getsockname()[1])]
        self.controller = EmulatedController(Arm(ROBOT.mjcf), arm, speed, to, patience=0.02)
        self.controller.turn()
        self.heard, self.address = self.socket.recvfrom(4096)
        self.number = 0

    def answer(self, data: bytes) -> RobotMessage:
        self.socket.sendto(data, self.address)
        self.controller.turn()
        self.heard, self.address = self.socket.recvfrom(4096)
        return decode_robot(self.heard)

    def go(self, q: np.ndarray, **changes: object) -> RobotMessage:
        self.number += 1
        joints, external = joints_of(q)
        message = {"sequence": self.number, "time": 0, "joints": joints, "external": external, **changes}
        return self.answer(encode_sensor(SensorMessage(**message)))  # type: ignore[arg-type]


def test_a_controller_refuses_what_is_no_newer_correction_of_its_joints() -> None:
    hand = Hand()
    hand.go(HOME)
    away = HOME + 0.01
    hand.go(away, sequence=0)
    hand.go(away, kind=Kind.COMMAND)
    hand.go(away, joints=(0.0,) * 5)
    hand.go(away, external=())
    hand.answer(b"\xff\xff\xff")
    assert hand.controller.refused.counts == {
        "old sequence number": 1,
        "no correction": 1,
        "number of joints": 2,
        "broken": 1,
    }
    np.testing.assert_allclose(hand.controller.arm.q, HOME, atol=1e-9)
    assert hand.controller.unanswered == 5


def test_a_controller_goes_no_faster_than_its_joints_may() -> None:
    hand = Hand()
    hand.go(HOME)
    # The motors need some cycles to get there.
    for _ in range(20):
        hand.go(HOME + 0.5)
    before = hand.controller.arm.q.copy()
    hand.go(HOME + 0.5)
    np.testing.assert_allclose(hand.controller.arm.q - before, np.array(ROBOT.max_speed) * H, rtol=1e-6)


def test_a_target_out_of_range_ends_egm_with_the_brakes_on() -> None:
    hand = Hand()
    hand.go(HOME)
    out = HOME.copy()
    out[0] = 3.1
    hand.go(out)
    answer = hand.go(HOME + 0.1)
    assert (answer.guidance, answer.motors) == (Guidance.ERROR, Motors.OFF)
    np.testing.assert_allclose(hand.controller.arm.q, HOME, atol=1e-9)


def test_a_controller_that_hears_nothing_for_its_timeout_ends_egm() -> None:
    hand = Hand()
    hand.go(HOME)
    hand.controller._patience = 0.0
    for _ in range(round(COMM_TIMEOUT / H)):
        assert hand.controller.guidance is Guidance.RUNNING
        hand.controller.turn()
    hand.controller.turn()
    assert hand.controller.guidance is Guidance.ERROR
    assert not hand.controller.arm.v.any()


def test_what_does_not_come_from_the_peer_is_not_looked_at() -> None:
    link = Link("127.0.0.1", 0, "127.0.0.1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(("127.0.0.2", 0))
        stranger.sendto(b"x", ("127.0.0.1", link.port))
        assert link.receive(1.0) is None
        assert link.strangers == 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as friend:
        friend.bind(("127.0.0.1", 0))
        friend.sendto(b"y", ("127.0.0.1", link.port))
        got = link.receive(1.0)
        assert got is not None
        assert got[0] == b"y"
    link.close()


def test_the_socket_is_bound_to_the_interface_named_and_loopback_else() -> None:
    driver = EgmDriver(7, port=0)
    driver.configure(H)
    other = EgmDriver(7, port=0, interface="127.0.0.3")
    other.configure(H)
    bound = [each._peers[0].link._socket.getsockname()[0] for each in (driver, other)]
    assert bound == ["127.0.0.1", "127.0.0.3"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.bind(("127.0.0.1", 0))
        end.connect(("127.0.0.4", driver.ports[0]))
        end.send(b"x")
        with pytest.raises(ConnectionRefusedError):
            end.send(b"x")
    driver.stop()
    other.stop()


def test_a_second_host_of_the_same_address_cannot_take_the_robot_over() -> None:
    """Whoever sent first is the controller: another port of its host is another program."""
    driver = EgmDriver(7, port=0, quiet_cycles=1, reply_timeout=0.05)
    driver.configure(H)
    to = ("127.0.0.1", driver.ports[0])
    joints, external = joints_of(HOME)

    def message(number: int, joints: tuple[float, ...]) -> bytes:
        return encode_robot(RobotMessage(number, 0, joints, external, Motors.ON, Guidance.RUNNING))

    with sensor(0) as controller, sensor(0) as intruder:
        controller.sendto(message(1, joints), to)
        controller.sendto(message(2, joints), to)
        driver.activate()
        intruder.sendto(message(3, (1.0,) * 6), to)
        report = driver.exchange(Command(ZERO, HOME))
        assert report.missed == 1
        np.testing.assert_allclose(report.q, HOME)
        assert driver.refused == 1
    driver.stop()


def test_a_controller_with_its_motors_off_is_a_fault() -> None:
    driver = EgmDriver(7, port=0)
    driver.configure(H)
    joints, external = joints_of(HOME)
    with sensor(0) as controller:
        data = encode_robot(RobotMessage(1, 0, joints, external, Motors.OFF, Guidance.STOPPED))
        controller.sendto(data, ("127.0.0.1", driver.ports[0]))
        with pytest.raises(RobotStoppedError, match="motors off, guidance stopped") as caught:
            driver.activate()
    assert caught.value.condition is Condition.FAULT
    driver.stop()


def test_the_yumi_has_two_arms_and_its_seventh_axis_is_third_along_each() -> None:
    """S1's robot: joints run 1, 2, 7, 3, 4, 5, 6 in ABB's numbers, left arm first."""
    left, right = arms_of(len(YUMI.home))
    home = np.array(YUMI.home)
    degrees = np.degrees(home)
    joints, external = left.degrees(home)
    np.testing.assert_allclose(joints, degrees[[0, 1, 3, 4, 5, 6]])
    np.testing.assert_allclose(external, degrees[[2]])
    back = np.zeros(14)
    assert left.take(joints, external, back)
    assert right.take(*right.degrees(home), back)
    np.testing.assert_allclose(back, home, atol=1e-15)
    with pytest.raises(ValueError, match="this robot has 3"):
        arms_of(3)


def test_two_arms_are_guided_at_once() -> None:
    driver = EgmDriver(14, port=0, reply_timeout=PATIENT)
    driver.configure(H)
    home = np.array(YUMI.home)
    to = [("127.0.0.1", port) for port in driver.ports]
    arm = EmulatedArm(YUMI.mjcf, home)
    controller = EmulatedController(Arm(YUMI.mjcf), arm, np.array(YUMI.max_speed), to, patience=PATIENT)
    with in_a_thread(controller.run):
        driver.activate()
        for k in range(1, 51):
            q_d = home + 1e-4 * k
            report = driver.exchange(Command(np.zeros(14), q_d))
            np.testing.assert_allclose(report.q, q_d, atol=1e-9)
        driver.stop()


@pytest.mark.parametrize(
    ("settings", "cycle", "words"),
    [({}, 0.005, "multiples of 0.004 s"), ({"interface": "robot"}, H, "must be an IPv4 address")],
)
def test_settings_that_cannot_be_are_told(settings: dict[str, str], cycle: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        EgmDriver(7, port=0, **settings).configure(cycle)  # type: ignore[arg-type]
