"""Set a CiA 402 drive up by SDO, and refuse one that is not what it should be."""

from __future__ import annotations

from typing import Any

from simloop.drivers import canopen_frames as frames
from simloop.drivers.axes import Axis


def set_up(node: Any, axis: Axis, cycle: float, watchdog: float) -> None:
    """Torque mode, process data, what to do when cut off; `node` is canopen's, `cycle` and `watchdog` in s."""

    def read(index: int) -> int:
        return int.from_bytes(node.sdo.upload(index, 0), "little")

    def write(index: int, value: int, sub: int = 0) -> None:
        node.sdo.download(index, sub, value.to_bytes(frames.OBJECT_BYTES[index, sub], "little"))

    period = round(1e6 * cycle)
    if period < 1 or abs(period - 1e6 * cycle) > 1e-6:
        raise ValueError(f"the cycle is {cycle} s; drives count it in whole microseconds")
    _check(read, axis)
    node.nmt.send_command(frames.PRE_OPERATIONAL)
    write(frames.CYCLE_PERIOD, period)
    write(frames.MODE, frames.CYCLIC_SYNCHRONOUS_TORQUE)
    if read(frames.MODE_SHOWN) != frames.CYCLIC_SYNCHRONOUS_TORQUE:
        raise ValueError(f"node {axis.node} does not go into cyclic synchronous torque mode")
    write(frames.ABORT_CONNECTION, frames.FAULT_WHEN_CUT_OFF)
    write(frames.QUICK_STOP_OPTION, frames.RAMP_THEN_DISABLED)
    for setting, table, identifier, how, objects in (
        (frames.RPDO1_SETTING, frames.RPDO1_MAP, frames.RPDO1, frames.AT_ONCE, frames.COMMAND_MAP),
        (frames.TPDO1_SETTING, frames.TPDO1_MAP, frames.TPDO1, frames.EVERY_SYNC, frames.ANSWER_MAP),
    ):
        # The order that CiA 301 wants: off, mapping empty, entries, their number, on.
        write(setting, (identifier + axis.node) | frames.PDO_OFF, frames.COB_ID)
        write(setting, how, frames.TRANSMISSION)
        write(table, 0)
        for sub, entry in enumerate(objects, start=1):
            write(table, entry, sub)
        write(table, len(objects))
        write(setting, identifier + axis.node, frames.COB_ID)
    write(frames.RPDO1_SETTING, round(1e3 * watchdog), frames.EVENT_TIMER)


def _check(read: Any, axis: Axis) -> None:
    profile = read(frames.DEVICE_TYPE) & 0xFFFF
    if profile != frames.PROFILE_402:
        raise ValueError(f"node {axis.node} is no drive: its device profile is {profile}, not 402")
    if not read(frames.SUPPORTED_MODES) & frames.CYCLIC_SYNCHRONOUS_TORQUE_BIT:
        raise ValueError(f"node {axis.node} knows no cyclic synchronous torque mode")
    rated = 1e-3 * read(frames.RATED_TORQUE)
    if abs(rated - axis.rated_torque) > 0.5e-3:
        raise ValueError(
            f"node {axis.node} is rated for {rated:g} N·m, but its rated_torque here is {axis.rated_torque:g}"
        )
