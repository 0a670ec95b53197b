"""What stands between a command and a real robot. No certified safety function: docs/drivers.md says what it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from simloop.drivers.driver import Command, Condition, Driver, Report, RobotStoppedError, Takes
from simloop.models.arm import Arm, Vector
from simloop.models.gate import Gate

# A motor may go through its whole range of torque in this time, s.
FULL_TORQUE_TIME = 0.05
# An encoder that tells the same number while its joint is told to go this far in all, rad or m, is stuck. Less than
# the floor in a cycle does not count: a joint at rest is told to go about as far as a model error lets it sag.
STUCK_TRAVEL, STUCK_FLOOR = 2e-3, 5e-5


@dataclass(frozen=True)
class Limits:
    """What the joints may do, n each: greatest torque (N·m or N) and its change (per s), range (rad or m), speed. How
    many cycles may be missed before the robot is stopped, and how far from home it may stand at the start."""

    torque: Vector
    torque_rate: Vector
    low: Vector
    high: Vector
    speed: Vector
    missed_cycles: int = 3
    start_tolerance: float = 0.02


def limits_of(arm: Arm, max_speed: Sequence[float], missed_cycles: int, start_tolerance: float) -> Limits:
    """The robot's own; infinite where its model sets none."""
    low, high = arm.ranges
    speed = np.array(max_speed) if len(max_speed) else np.full(arm.n, np.inf)
    torque = arm.torque_limits
    return Limits(torque, torque / FULL_TORQUE_TIME, low, high, speed, missed_cycles, start_tolerance)


class SafeDriver:
    """A driver that does no more than it may, and stops its robot whatever happens.

    Before each command the `watchers` are asked: one that answers with a reason stops the robot. A position that one of
    the `gates` refuses is never commanded. What is beyond the limits is cut off, and `clipped` counts how often. A
    missed cycle holds the last torque, and position goes on as planned; too many stop the robot. After any exception,
    KeyboardInterrupt included, the robot is stopped.
    """

    def __init__(
        self,
        driver: Driver,
        limits: Limits,
        home: Vector,
        *,
        gates: Sequence[Gate],
        watchers: Sequence[Callable[[], str]] = (),
    ) -> None:
        self.features = driver.features
        self.condition = Condition.IDLE
        self.clipped = 0
        self.missed = 0
        """Cycles without a measurement, over the whole run."""
        self._driver, self._limits, self._home, self._gates, self._watchers = driver, limits, home, gates, watchers
        self._sent: Command | None = None
        self._report: Report | None = None
        self._same = np.zeros(len(home))

    def configure(self, cycle: float) -> None:
        self._cycle = cycle
        self._guarded(lambda: self._driver.configure(cycle))

    def activate(self) -> Report:
        def get_ready() -> None:
            self._report = self._driver.activate()
            self._check_start(self._report.q)

        self._guarded(get_ready)
        assert self._report is not None
        return self._report

    def exchange(self, command: Command) -> Report:
        if self.condition not in (Condition.IDLE, Condition.RUNNING, Condition.HOLD) or self._report is None:
            raise RobotStoppedError(self.condition, "the robot was stopped, and is started again only by a new run")
        reports: list[Report] = []
        self._guarded(lambda: reports.append(self._exchange(command)))
        return reports[0]

    def deactivate(self) -> None:
        if self.condition in (Condition.IDLE, Condition.RUNNING, Condition.HOLD):
            self._guarded(self._driver.deactivate)
            self.condition = Condition.IDLE
            self._report = None

    def stop(self) -> None:
        if self.condition is not Condition.FAULT:
            self.condition = Condition.QUICK_STOP
        self._driver.stop()

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except BaseException as error:
            if isinstance(error, RobotStoppedError):
                self.condition = error.condition
            self.stop()
            raise

    def _check_start(self, q: Vector) -> None:
        far = np.abs(q - self._home)
        worst = int(np.argmax(far))
        if far[worst] > self._limits.start_tolerance:
            raise ValueError(
                f"joint {worst + 1} stands at {q[worst]:.4g}, but the run begins at {self._home[worst]:.4g}; "
                f"it may be {self._limits.start_tolerance:g} away"
            )
        for gate in self._gates:
            verdict = gate.check(q)
            if not verdict.allowed:
                raise ValueError(f"the robot stands where it may not be: {verdict.reason}")

    def _exchange(self, command: Command) -> Report:
        for watcher in self._watchers:
            reason = watcher()
            if reason:
                raise RobotStoppedError(Condition.QUICK_STOP, reason)
        if not (np.isfinite(command.tau).all() and np.isfinite(command.q_d).all()):
            raise RobotStoppedError(Condition.QUICK_STOP, "the command is not a finite number")
        holding = self.condition is Condition.HOLD and self.features.takes is Takes.TORQUE
        if holding and self._sent is not None:
            sent = self._sent
        else:
            sent = self._within_limits(command)
            self._pass_gates(sent.q_d)
        report = self._driver.exchange(sent)
        self._sent = sent
        self.missed += bool(report.missed)
        self.condition = Condition.HOLD if report.missed else Condition.RUNNING
        if report.missed >= self._limits.missed_cycles:
            raise RobotStoppedError(Condition.QUICK_STOP, f"no measurement came for {report.missed} cycles")
        if not report.missed:
            self._check_motion(report, sent)
        self._report = report
        return report

    def _pass_gates(self, q_d: Vector) -> None:
        for gate in self._gates:
            verdict = gate.check(q_d)
            if not verdict.allowed:
                raise RobotStoppedError(Condition.QUICK_STOP, f"the command is not legal: {verdict.reason}")

    def _within_limits(self, command: Command) -> Command:
        limits, before = self._limits, self._sent
        if self.features.takes is Takes.TORQUE:
            tau = np.clip(command.tau, -limits.torque, limits.torque)
            # The first command opens the brakes and carries the arm's weight at once.
            if before is not None:
                change = limits.torque_rate * self._cycle
                tau = np.clip(tau, before.tau - change, before.tau + change)
            self.clipped += int(np.count_nonzero(tau != command.tau))
            return Command(tau, command.q_d.copy())
        q_d = np.clip(command.q_d, limits.low, limits.high)
        last = before.q_d if before is not None else self._home
        change = limits.speed * self._cycle
        q_d = np.clip(q_d, last - change, last + change)
        self.clipped += int(np.count_nonzero(q_d != command.q_d))
        return Command(command.tau.copy(), q_d)

    def _check_motion(self, report: Report, sent: Command) -> None:
        limits = self._limits
        fast = np.abs(report.v) > limits.speed
        if fast.any():
            i = int(np.argmax(fast))
            raise RobotStoppedError(
                Condition.QUICK_STOP, f"joint {i + 1} moves at {report.v[i]:.4g}; {limits.speed[i]:.4g} is its limit"
            )
        outside = (report.q < limits.low) | (report.q > limits.high)
        if outside.any():
            i = int(np.argmax(outside))
            raise RobotStoppedError(Condition.QUICK_STOP, f"joint {i + 1} is at {report.q[i]:.4g}, out of its range")
        before = self._report
        unchanged = report.q == before.q if before is not None else np.zeros(len(report.q), dtype=bool)
        told = np.maximum(np.abs(sent.q_d - report.q) - STUCK_FLOOR, 0.0)
        self._same = np.where(unchanged, self._same + told, 0.0)
        if (self._same > STUCK_TRAVEL).any():
            i = int(np.argmax(self._same))
            raise RobotStoppedError(Condition.QUICK_STOP, f"the encoder of joint {i + 1} is stuck at {report.q[i]:.6g}")
