"""What the safety layer lets through, cuts off and stops, with a driver that only takes notes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from simloop.drivers.driver import Command, Condition, Features, Report, RobotStoppedError, Takes
from simloop.drivers.safety import Limits, SafeDriver
from simloop.models.gate import ALLOWED, Motors, Verdict

H = 0.01
HOME = np.zeros(2)
INFINITE = np.full(2, np.inf)
LIMITS = Limits(
    torque=np.array([10.0, 10.0]),
    torque_rate=np.array([100.0, 100.0]),
    low=np.array([-1.0, -1.0]),
    high=np.array([1.0, 1.0]),
    speed=np.array([2.0, 2.0]),
)


class Notes:
    """A robot that is where `measure` says, and keeps what it is told."""

    def __init__(self, measure: Callable[[Command], Report] | None = None, takes: Takes = Takes.TORQUE) -> None:
        self.features = Features("notes", 2, takes)
        self.commands: list[Command] = []
        self.stops = 0
        self.calls: list[str] = []
        self.start = HOME.copy()
        self._measure = measure or (lambda command: Report(command.q_d.copy(), np.zeros(2), command.tau))

    def configure(self, cycle: float) -> None:
        self.calls.append("configure")

    def activate(self) -> Report:
        self.calls.append("activate")
        return Report(self.start, np.zeros(2), np.zeros(2))

    def exchange(self, command: Command) -> Report:
        self.commands.append(command)
        return self._measure(command)

    def deactivate(self) -> None:
        self.calls.append("deactivate")

    def stop(self) -> None:
        self.stops += 1


class Fence:
    """No position beyond 0.5."""

    motors = Motors(np.eye(2), -INFINITE, INFINITE, (False, False))

    def check(self, q: np.ndarray) -> Verdict:
        return ALLOWED if np.all(q <= 0.5) else Verdict("fence", "past the fence")


def ready(notes: Notes, **settings: object) -> SafeDriver:
    robot = SafeDriver(notes, LIMITS, HOME, **{"gates": (), **settings})  # type: ignore[arg-type]
    robot.configure(H)
    robot.activate()
    return robot


def command(tau: float, q_d: float = 0.0) -> Command:
    return Command(np.array([tau, 0.0]), np.array([q_d, 0.0]))


def test_torque_is_cut_at_its_limit_counted_and_told_as_sent() -> None:
    notes = Notes()
    robot = ready(notes)
    assert robot.exchange(command(25.0)).sent.tolist() == [10.0, 0.0]
    assert robot.clipped == 1
    robot.exchange(command(10.0))
    assert robot.clipped == 1


def test_torque_changes_no_faster_than_it_may_after_the_first() -> None:
    """100 N·m/s is 1 N·m in a cycle of 0.01 s."""
    notes = Notes()
    robot = ready(notes)
    for _ in range(4):
        robot.exchange(command(8.0))
    for _ in range(3):
        robot.exchange(command(-8.0))
    assert [c.tau[0] for c in notes.commands] == [8.0, 8.0, 8.0, 8.0, 7.0, 6.0, 5.0]
    assert robot.clipped == 3


def test_a_commanded_position_keeps_range_and_speed() -> None:
    notes = Notes(takes=Takes.POSITION)
    robot = ready(notes)
    for _ in range(60):
        robot.exchange(command(0.0, 3.0))
    steps = np.diff([0.0] + [c.q_d[0] for c in notes.commands])
    assert steps.max() == pytest.approx(2.0 * H)
    assert notes.commands[-1].q_d[0] == 1.0


def test_an_illegal_position_is_never_sent() -> None:
    notes = Notes()
    robot = ready(notes, gates=(Fence(),))
    robot.exchange(command(1.0, 0.5))
    with pytest.raises(RobotStoppedError, match="past the fence"):
        robot.exchange(command(1.0, 0.51))
    assert (len(notes.commands), notes.stops, robot.condition) == (1, 1, Condition.QUICK_STOP)


def test_a_watcher_with_a_reason_stops_before_anything_is_sent() -> None:
    reasons = ["", "the dead-man's switch was let go"]
    notes = Notes()
    robot = ready(notes, watchers=(lambda: reasons.pop(0),))
    robot.exchange(command(1.0))
    with pytest.raises(RobotStoppedError, match="dead-man"):
        robot.exchange(command(1.0))
    assert (len(notes.commands), notes.stops) == (1, 1)


def test_what_was_stopped_does_not_go_on() -> None:
    notes = Notes()
    robot = ready(notes)
    robot.stop()
    with pytest.raises(RobotStoppedError, match="only by a new run"):
        robot.exchange(command(1.0))
    robot.deactivate()
    assert notes.commands == []
    assert "deactivate" not in notes.calls


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("bus"), RobotStoppedError(Condition.FAULT, "drive")])
def test_whatever_happens_in_a_cycle_stops_the_robot(error: BaseException) -> None:
    def fail(command: Command) -> Report:
        raise error

    notes = Notes(fail)
    robot = ready(notes)
    with pytest.raises(type(error)):
        robot.exchange(command(1.0))
    assert notes.stops == 1
    assert robot.condition is (Condition.FAULT if isinstance(error, RobotStoppedError) else Condition.QUICK_STOP)


@pytest.mark.parametrize("call", ["configure", "activate"])
def test_whatever_happens_before_the_first_cycle_does_too(call: str) -> None:
    notes = Notes()

    def fail(*_: float) -> Report:
        raise ValueError("no such robot")

    setattr(notes, call, fail)
    robot = SafeDriver(notes, LIMITS, HOME, gates=())
    with pytest.raises(ValueError, match="no such robot"):
        ready(notes)
    assert notes.stops == 1
    with pytest.raises(RobotStoppedError):
        robot.exchange(command(0.0))


def test_missed_cycles_hold_the_torque_and_then_stop() -> None:
    missing = iter([0, 1, 2, 0, 1, 2, 3])
    notes = Notes(lambda c: Report(c.q_d.copy(), np.zeros(2), c.tau, next(missing)))
    robot = ready(notes)
    conditions = []
    for k in range(6):
        robot.exchange(command(1.0 + k))
        conditions.append(robot.condition)
    hold, run = Condition.HOLD, Condition.RUNNING
    assert conditions == [run, hold, hold, run, hold, hold]
    # What was sent when the first one was missed stands until one comes again.
    assert [c.tau[0] for c in notes.commands] == [1.0, 2.0, 2.0, 2.0, 3.0, 3.0]
    with pytest.raises(RobotStoppedError, match="no measurement came for 3 cycles"):
        robot.exchange(command(1.0))
    assert robot.missed == 5


def test_a_joint_too_fast_or_out_of_range_stops() -> None:
    fast = ready(Notes(lambda c: Report(np.zeros(2), np.array([0.0, -2.1]), c.tau)))
    with pytest.raises(RobotStoppedError, match=r"joint 2 moves at -2\.1; 2 is its limit"):
        fast.exchange(command(0.0))
    far = ready(Notes(lambda c: Report(np.array([1.01, 0.0]), np.zeros(2), c.tau)))
    with pytest.raises(RobotStoppedError, match=r"joint 1 is at 1\.01, out of its range"):
        far.exchange(command(0.0))


def test_an_encoder_that_stands_still_while_its_joint_is_sent_on_is_stuck() -> None:
    """0.3 mm or mrad a cycle, of which 0.05 do not count, come to more than 2 in the ninth cycle."""
    still = ready(Notes(lambda c: Report(np.zeros(2), np.zeros(2), c.tau)))
    for _ in range(8):
        still.exchange(command(0.0, 3e-4))
    with pytest.raises(RobotStoppedError, match="the encoder of joint 1 is stuck at 0"):
        still.exchange(command(0.0, 3e-4))


def test_an_arm_at_rest_is_not_called_stuck() -> None:
    rest = ready(Notes(lambda c: Report(np.zeros(2), np.zeros(2), c.tau)))
    for _ in range(1000):
        rest.exchange(command(0.0, 4e-5))
    assert rest.condition is Condition.RUNNING


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_command_that_is_no_number_is_not_sent(bad: float) -> None:
    notes = Notes()
    with pytest.raises(RobotStoppedError, match="not a finite number"):
        ready(notes).exchange(command(bad))
    assert (notes.commands, notes.stops) == ([], 1)


def test_a_robot_that_does_not_stand_where_the_run_begins_is_not_started() -> None:
    notes = Notes()
    notes.start = np.array([0.0, 0.03])
    with pytest.raises(ValueError, match=r"joint 2 stands at 0\.03, but the run begins at 0; it may be 0\.02 away"):
        ready(notes)
    assert notes.stops == 1
