"""The messages of ABB's Externally Guided Motion: EgmRobot and EgmSensor of ABB's egm.proto (proto2).

Written and read here by hand, for they are small: a tag, then a varint, eight bytes, or a length and that many bytes.
What is not needed is skipped, as protobuf asks for; what is broken is a ValueError.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

E = TypeVar("E", bound=IntEnum)

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
LONGEST = 4096
"""Bytes of the longest datagram that is looked at."""
MOST_JOINTS = 6
"""Of `joints` and of `externalJoints`."""


class Kind(IntEnum):
    """EgmHeader.MessageType."""

    UNDEFINED = 0
    COMMAND = 1
    DATA = 2
    CORRECTION = 3
    PATH_CORRECTION = 4


class Motors(IntEnum):
    UNDEFINED = 0
    ON = 1
    OFF = 2


class Guidance(IntEnum):
    """EgmMCIState: whether the controller listens."""

    UNDEFINED = 0
    ERROR = 1
    STOPPED = 2
    RUNNING = 3


@dataclass(frozen=True)
class RobotMessage:
    """From the controller: measured joints and external joints, degrees; time in ms."""

    sequence: int
    time: int
    joints: tuple[float, ...]
    external: tuple[float, ...] = ()
    motors: Motors = Motors.UNDEFINED
    guidance: Guidance = Guidance.UNDEFINED
    kind: Kind = Kind.DATA


@dataclass(frozen=True)
class SensorMessage:
    """To the controller: wanted joints and external joints, degrees; time in ms."""

    sequence: int
    time: int
    joints: tuple[float, ...]
    external: tuple[float, ...] = ()
    kind: Kind = Kind.CORRECTION


def encode_robot(message: RobotMessage) -> bytes:
    body = _field(1, _header(message.sequence, message.time, message.kind))
    body += _field(2, _joints(message.joints, message.external))
    return body + _field(4, _number(1, message.motors)) + _field(5, _number(1, message.guidance))


def encode_sensor(message: SensorMessage) -> bytes:
    header = _header(message.sequence, message.time, message.kind)
    return _field(1, header) + _field(2, _joints(message.joints, message.external))


def decode_robot(data: bytes) -> RobotMessage:
    parts = _messages(data)
    sequence, time, kind = _read_header(parts.get(1, b""))
    joints, external = _read_joints(parts.get(2, b""))
    motors, guidance = (_numbers(parts.get(i, b"")).get(1, 0) for i in (4, 5))
    return RobotMessage(sequence, time, joints, external, _enum(Motors, motors), _enum(Guidance, guidance), kind)


def decode_sensor(data: bytes) -> SensorMessage:
    parts = _messages(data)
    sequence, time, kind = _read_header(parts.get(1, b""))
    joints, external = _read_joints(parts.get(2, b""))
    return SensorMessage(sequence, time, joints, external, kind)


def _enum(kind: type[E], value: int) -> E:
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"{value} is no {kind.__name__.lower()} state of EGM") from None


def _header(sequence: int, time: int, kind: Kind) -> bytes:
    return _number(1, sequence & 0xFFFFFFFF) + _number(2, time & 0xFFFFFFFF) + _number(3, kind)


def _joints(joints: tuple[float, ...], external: tuple[float, ...]) -> bytes:
    both = _field(1, _doubles(joints))
    return both + _field(3, _doubles(external)) if external else both


def _doubles(values: tuple[float, ...]) -> bytes:
    # proto2 writes repeated numbers one by one, each with its tag.
    return b"".join(_varint(1 << 3 | _FIXED64) + struct.pack("<d", value) for value in values)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _field(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_header(data: bytes) -> tuple[int, int, Kind]:
    numbers = _numbers(data)
    if 1 not in numbers:
        raise ValueError("an EGM message has no sequence number")
    return numbers[1], numbers.get(2, 0), _enum(Kind, numbers.get(3, 0))


def _read_joints(data: bytes) -> tuple[tuple[float, ...], tuple[float, ...]]:
    parts = _messages(data)
    return _read_doubles(parts.get(1, b"")), _read_doubles(parts.get(3, b""))


def _read_doubles(data: bytes) -> tuple[float, ...]:
    values: list[float] = []
    for field, wire, value in _fields(data):
        if field != 1:
            continue
        packed = value if isinstance(value, bytes) else b""
        if wire not in (_FIXED64, _BYTES) or len(packed) % 8:
            raise ValueError("joints of an EGM message are not doubles")
        values += (number for (number,) in struct.iter_unpack("<d", packed))
    if len(values) > MOST_JOINTS or not all(map(math.isfinite, values)):
        raise ValueError(f"joints of an EGM message are more than {MOST_JOINTS} or not finite")
    return tuple(values)


def _messages(data: bytes) -> dict[int, bytes]:
    return {field: value for field, wire, value in _fields(data) if wire == _BYTES and isinstance(value, bytes)}


def _numbers(data: bytes) -> dict[int, int]:
    return {field: value for field, _, value in _fields(data) if isinstance(value, int)}


def _fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Number, wire type and value of each field."""
    if len(data) > LONGEST:
        raise ValueError(f"an EGM message has {len(data)} bytes; {LONGEST} are the most")
    place = 0
    while place < len(data):
        tag, place = _read_varint(data, place)
        field, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, place = _read_varint(data, place)
            yield field, wire, value
            continue
        if wire == _BYTES:
            length, place = _read_varint(data, place)
        elif wire in (_FIXED64, _FIXED32):
            length = 8 if wire == _FIXED64 else 4
        else:
            raise ValueError(f"an EGM message has wire type {wire}, which protobuf does not know")
        if field == 0 or place + length > len(data):
            raise ValueError("an EGM message ends too early")
        yield field, wire, data[place : place + length]
        place += length


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        if place >= len(data):
            raise ValueError("an EGM message ends too early")
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ValueError("an EGM message has a number of more than 64 bits")
