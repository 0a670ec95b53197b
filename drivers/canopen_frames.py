"""What travels on a CANopen bus to and from CiA 402 drives: identifiers, objects, process data (CiA 301, CiA 402)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from simloop.drivers.cia402 import State, state_of

# Identifiers; a node's number is added to those that end in 0x00 or 0x80, but not to NMT and SYNC.
NMT, SYNC, EMERGENCY = 0x000, 0x080, 0x080
TPDO1, RPDO1, SDO_ANSWER, SDO_REQUEST, HEARTBEAT = 0x180, 0x200, 0x580, 0x600, 0x700

START, PRE_OPERATIONAL = 0x01, 0x80
"""NMT commands."""

DEVICE_TYPE = 0x1000
CYCLE_PERIOD = 0x1006  # µs
RPDO1_SETTING, RPDO1_MAP = 0x1400, 0x1600
TPDO1_SETTING, TPDO1_MAP = 0x1800, 0x1A00
COB_ID, TRANSMISSION, EVENT_TIMER = 1, 2, 5  # sub-indices of a PDO's setting; the timer in ms
ABORT_CONNECTION, ERROR_CODE, QUICK_STOP_OPTION = 0x6007, 0x603F, 0x605A
MODE, MODE_SHOWN, SUPPORTED_MODES = 0x6060, 0x6061, 0x6502
RATED_TORQUE = 0x6076  # mN·m

PROFILE_402 = 402
CYCLIC_SYNCHRONOUS_TORQUE = 10
CYCLIC_SYNCHRONOUS_TORQUE_BIT = 1 << 9  # of the supported modes
PDO_OFF = 1 << 31
EVERY_SYNC, AT_ONCE = 1, 255
"""Transmission types: with each SYNC; when it comes."""
FAULT_WHEN_CUT_OFF = 1  # abort connection option code
RAMP_THEN_DISABLED = 2  # quick stop option code: slow down, then Switch on disabled

# Index, sub-index and number of bits: controlword, target torque; statusword, position, torque.
COMMAND_MAP = (0x60400010, 0x60710010)
ANSWER_MAP = (0x60410010, 0x60640020, 0x60770010)
_COMMAND, _ANSWER, _EMERGENCY = struct.Struct("<Hh"), struct.Struct("<Hih"), struct.Struct("<HB5s")

OBJECT_BYTES = {
    (DEVICE_TYPE, 0): 4,
    (CYCLE_PERIOD, 0): 4,
    **{(setting, sub): size for setting in (RPDO1_SETTING, TPDO1_SETTING) for sub, size in ((1, 4), (2, 1), (5, 2))},
    **{(table, sub): size for table in (RPDO1_MAP, TPDO1_MAP) for sub, size in ((0, 1), (1, 4), (2, 4), (3, 4))},
    (ABORT_CONNECTION, 0): 2,
    (ERROR_CODE, 0): 2,
    (QUICK_STOP_OPTION, 0): 2,
    (MODE, 0): 1,
    (MODE_SHOWN, 0): 1,
    (SUPPORTED_MODES, 0): 4,
    (RATED_TORQUE, 0): 4,
}
"""The objects that are used, by index and sub-index, and how long each is."""

# Emergency codes of CiA 301 and CiA 402, in words.
EMERGENCIES = {
    0x0000: "no error any more",
    0x2310: "continuous over current",
    0x3210: "DC link over voltage",
    0x4210: "excess temperature of the device",
    0x7300: "sensor",
    0x8130: "life guard or heartbeat",
    0x8250: "no command came in time",
    0xFF00: "the maker's own",
}


def emergency_words(code: int) -> str:
    return f"{code:#06x} ({EMERGENCIES.get(code, 'see the drive')})"


@dataclass(frozen=True)
class Answer:
    """A drive's process data: its statusword, its position in counts, its torque in per mille of rated."""

    statusword: int
    position: int
    torque: int

    @property
    def state(self) -> State:
        return state_of(self.statusword)


def pack_command(controlword: int, torque: int) -> bytes:
    """The torque in per mille of rated."""
    return _COMMAND.pack(controlword, torque)


def unpack_command(data: bytes) -> tuple[int, int]:
    controlword, torque = _COMMAND.unpack(data)
    return controlword, torque


def pack_answer(answer: Answer) -> bytes:
    return _ANSWER.pack(answer.statusword, answer.position, answer.torque)


def unpack_answer(data: bytes) -> Answer:
    if len(data) != _ANSWER.size:
        raise ValueError(f"a drive sent process data of {len(data)} bytes; {_ANSWER.size} were agreed on")
    return Answer(*_ANSWER.unpack(data))


def pack_emergency(code: int, register: int) -> bytes:
    return _EMERGENCY.pack(code, register, bytes(5))
