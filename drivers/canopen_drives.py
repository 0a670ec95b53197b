"""CiA 402 drives on CANopen in cyclic synchronous torque mode, one node a joint."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from simloop.drivers import canopen_frames as frames
from simloop.drivers.axes import Axes
from simloop.drivers.canopen_bus import BusAddress, import_extra
from simloop.drivers.canopen_setup import set_up
from simloop.drivers.cia402 import UPWARDS, Order, State
from simloop.drivers.driver import Command, Condition, Features, Report, RobotStoppedError, Takes
from simloop.models.arm import Vector

# How often it is tried to get the drives up, enabled, or stopped: cycles. A brake takes some 0.1 s to open.
MOST_CYCLES = 250
# Cycles without an answer after which a drive that should stop is no longer waited for.
UNHEARD = 2
# The most frames that are taken in between two cycles, and the longest that canopen's thread sleeps, s.
MOST_FRAMES, NAP = 1000, 0.05

_FAULTS = (State.FAULT, State.FAULT_REACTION_ACTIVE)
# A drive in one of these may move, or stop only now.
_MOVING = (State.OPERATION_ENABLED, State.QUICK_STOP_ACTIVE, State.FAULT_REACTION_ACTIVE)


class CanopenDriver:
    """A cycle is: a command to every drive, which takes it at once; `sync_after` of the cycle; SYNC, at which all
    measure; an answer from every drive. Drives that step a simulated arm with each SYNC need no `sync_after`.

    An answer that has not come after `reply_timeout` s is missing. `watchdog` s without a command and a drive stops by
    itself. A drive in fault is reset only with `reset_faults`, and nothing is ever enabled again.
    """

    def __init__(
        self,
        axes: Axes,
        bus: BusAddress,
        *,
        reply_timeout: float = 0.05,
        watchdog: float = 0.25,
        sync_after: float = 0.0,
        reset_faults: bool = False,
        quiet_cycles: int = 5,
    ) -> None:
        n = len(axes.all)
        self.features = Features("CiA 402 drives on CANopen", n, Takes.TORQUE)
        self.late = 0
        """Answers that came one cycle late."""
        self.states: list[State | None] = [None] * n
        """What each drive said last."""
        self._axes, self._bus = axes, bus
        self._reply_timeout, self._watchdog, self._sync_after = reply_timeout, watchdog, sync_after
        self._reset_faults, self._quiet_cycles = reset_faults, quiet_cycles
        self._nodes = [axis.node for axis in axes.all]
        self._fresh, self._data = [0] * n, [b""] * n
        self._emergencies: dict[int, int] = {}
        self._network: Any = None
        self._enabled = False
        self._missed = 0
        self._counts, self._q, self._v = np.zeros(n), np.zeros(n), np.zeros(n)
        self._none = np.zeros(n)

    def configure(self, cycle: float) -> None:
        self._cycle = cycle
        bus = self._bus.open()
        canopen = import_extra("canopen")
        self._network = network = canopen.Network(bus)
        network.NOTIFIER_CYCLE = NAP
        network.connect()
        for i, axis in enumerate(self._axes.all):
            network.subscribe(frames.TPDO1 + axis.node, self._listener(i))
            network.subscribe(frames.EMERGENCY + axis.node, self._emergency_listener(i))
            node = network.add_node(canopen.RemoteNode(axis.node, canopen.ObjectDictionary()))
            try:
                set_up(node, axis, cycle, self._watchdog)
            except canopen.SdoCommunicationError:
                raise ValueError(f"no drive answers as node {axis.node} (joint {i + 1}) on {self._bus}") from None
            except canopen.SdoAbortedError as error:
                raise ValueError(f"node {axis.node} (joint {i + 1}) refuses its settings: {error}") from None
        # From here on frames are taken in by this thread: no other one comes between in a cycle.
        network.notifier.stop()
        network.notifier = None

    def activate(self) -> Report:
        """Up to Switched on: brakes on, zero torque, `quiet_cycles` cycles at least."""
        for node in self._nodes:
            self._network.send_message(frames.NMT, bytes((frames.START, node)))
        self._run(Order.DISABLE_VOLTAGE)
        self._reset()
        done = 0
        for _ in range(MOST_CYCLES):
            orders = [
                UPWARDS.get(state, Order.DISABLE_VOLTAGE) if state else Order.DISABLE_VOLTAGE for state in self.states
            ]
            whole = self._turn(orders, self._none)
            self._check_faults()
            done = done + 1 if whole else 0
            if done >= self._quiet_cycles and all(state is State.SWITCHED_ON for state in self.states):
                self._q = self._axes.position(self._counts)
                return Report(self._q, self._v, self._none)
        raise RobotStoppedError(Condition.QUICK_STOP, f"the drives do not switch on: {self._tell()}")

    def exchange(self, command: Command) -> Report:
        per_mille = self._axes.per_mille(command.tau)
        orders = [Order.ENABLE_OPERATION] * len(self._nodes)
        whole = self._turn(orders, per_mille)
        self._check_faults()
        if not self._enabled:
            whole = self._wait_for_brakes(orders, per_mille)
        elif any(state is not State.OPERATION_ENABLED for state in self.states):
            raise RobotStoppedError(Condition.QUICK_STOP, f"not all drives are enabled any more: {self._tell()}")
        if whole:
            q = self._axes.position(self._counts)
            self._v = (q - self._q) / (self._cycle * (self._missed + 1))
            self._q = q
        self._missed = 0 if whole else self._missed + 1
        # Unheard of, the arm goes on as it went: a step back to an old position would look like a blow.
        expected = self._q + self._v * (self._cycle * self._missed)
        return Report(expected, self._v, self._axes.torque(per_mille), self._missed)

    def deactivate(self) -> None:
        for order in (Order.SWITCH_ON, Order.SHUTDOWN, Order.DISABLE_VOLTAGE):
            self._run(order)
        self._disconnect()

    def stop(self) -> None:
        """Quick stop, waited for; a drive that is not heard of any more has its own watchdog."""
        unheard = 0
        for _ in range(MOST_CYCLES):
            if self._network is None:
                return
            unheard = 0 if self._run(Order.QUICK_STOP) else unheard + 1
            if unheard >= UNHEARD or not any(state in _MOVING for state in self.states):
                break
        self._disconnect()

    def _run(self, order: Order) -> bool:
        """One cycle with the same order for all and no torque; a bus that is gone or talks nonsense has no answers."""
        if self._network is None:
            return False
        try:
            return self._turn([order] * len(self._nodes), self._none)
        except (_bus_error(), ValueError):
            return False

    def _reset(self) -> None:
        if not any(state in _FAULTS for state in self.states):
            return
        if not self._reset_faults:
            raise RobotStoppedError(
                Condition.FAULT, f"a drive is in fault, and is reset only when that is asked for: {self._tell()}"
            )
        self._run(Order.FAULT_RESET)
        self._emergencies.clear()

    def _wait_for_brakes(self, orders: Sequence[Order], per_mille: Vector) -> bool:
        """Hold the first command until all drives are enabled."""
        whole = True
        for _ in range(MOST_CYCLES):
            if all(state is State.OPERATION_ENABLED for state in self.states):
                self._enabled = True
                return whole
            whole = self._turn(orders, per_mille)
            self._check_faults()
        raise RobotStoppedError(Condition.QUICK_STOP, f"the drives do not enable: {self._tell()}")

    def _turn(self, orders: Sequence[Order], per_mille: Vector) -> bool:
        """One cycle on the bus; whether every drive answered. Positions are taken only when all did."""
        send = self._network.send_message
        for node, order, torque in zip(self._nodes, orders, per_mille.tolist(), strict=True):
            send(frames.RPDO1 + node, frames.pack_command(order.value, int(torque)))
        if self._sync_after:
            time.sleep(self._sync_after * self._cycle)
        for _ in range(MOST_FRAMES):
            if not self._take(0.0):
                break
        self._fresh[:] = [0] * len(self._fresh)
        send(frames.SYNC, b"")
        end = time.monotonic() + self._reply_timeout
        while not (whole := all(self._fresh)) and (left := end - time.monotonic()) > 0.0:
            self._take(left)
        self.late += sum(count > 1 for count in self._fresh)
        for i, count in enumerate(self._fresh):
            if count:
                answer = frames.unpack_answer(self._data[i])
                self.states[i] = answer.state
                if whole:
                    self._counts[i] = answer.position
        return whole

    def _take(self, timeout: float) -> bool:
        """Take in one frame; whether one came in time, s."""
        message = self._network.bus.recv(timeout)
        if message is None:
            return False
        if not message.is_error_frame and not message.is_remote_frame:
            self._network.notify(message.arbitration_id, message.data, message.timestamp)
        return True

    def _check_faults(self) -> None:
        if any(state in _FAULTS for state in self.states):
            raise RobotStoppedError(Condition.FAULT, f"a drive is in fault: {self._tell()}")

    def _tell(self) -> str:
        """The joints in fault, or else those that are not up, in words."""
        faulty = [i for i, state in enumerate(self.states) if state in _FAULTS]
        up = (State.OPERATION_ENABLED, State.SWITCHED_ON)
        parts = []
        for i in faulty or [i for i, state in enumerate(self.states) if state not in up]:
            state, code = self.states[i], self._emergencies.get(i)
            why = f", emergency {frames.emergency_words(code)}" if code else ""
            parts.append(f"joint {i + 1} {state.words if state else 'does not answer'}{why}")
        return "; ".join(parts) or "all switched on"

    def _listener(self, i: int) -> Any:
        def hear(identifier: int, data: bytearray, timestamp: float) -> None:
            self._data[i] = bytes(data)
            self._fresh[i] += 1

        return hear

    def _emergency_listener(self, i: int) -> Any:
        def hear(identifier: int, data: bytearray, timestamp: float) -> None:
            self._emergencies[i] = int.from_bytes(data[:2], "little")

        return hear

    def _disconnect(self) -> None:
        """Leave the drives that have stopped taking no process data, so that they do not miss it. One that is not known
        to have stopped must miss it: its watchdog is what is left."""
        network, self._network = self._network, None
        if network is not None:
            stopped = [n for n, state in zip(self._nodes, self.states, strict=True) if state not in (*_MOVING, None)]
            with contextlib.suppress(_bus_error()):
                for node in stopped:
                    network.send_message(frames.NMT, bytes((frames.PRE_OPERATIONAL, node)))
            network.disconnect()
            network.bus = None


def _bus_error() -> type[Exception]:
    error: type[Exception] = import_extra("can").CanError
    return error
