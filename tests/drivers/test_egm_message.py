"""EGM's messages against Google's protobuf, and against anything that can come over a network."""

from __future__ import annotations

import contextlib
import math
import struct

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st
from simloop.drivers.egm_message import (
    Guidance,
    Kind,
    Motors,
    RobotMessage,
    SensorMessage,
    decode_robot,
    decode_sensor,
    encode_robot,
    encode_sensor,
)

Field = descriptor_pb2.FieldDescriptorProto

# Fields by number, as ABB's egm.proto has them: name, type, message type. Enumerations travel as their numbers.
MESSAGES = {
    "Header": {1: ("seqno", Field.TYPE_UINT32), 2: ("tm", Field.TYPE_UINT32), 3: ("mtype", Field.TYPE_INT32)},
    "Joints": {1: ("joints", Field.TYPE_DOUBLE)},
    "Clock": {1: ("sec", Field.TYPE_UINT64), 2: ("usec", Field.TYPE_UINT64)},
    "Position": {1: ("joints", "Joints"), 3: ("externalJoints", "Joints"), 4: ("time", "Clock")},
    "State": {1: ("state", Field.TYPE_INT32)},
    "Robot": {
        1: ("header", "Header"),
        2: ("feedBack", "Position"),
        3: ("planned", "Position"),
        4: ("motorState", "State"),
        5: ("mciState", "State"),
        6: ("mciConvergenceMet", Field.TYPE_BOOL),
        10: ("utilizationRate", Field.TYPE_DOUBLE),
    },
    "Sensor": {1: ("header", "Header"), 2: ("planned", "Position")},
}


def classes() -> dict[str, type]:
    file = descriptor_pb2.FileDescriptorProto(name="egm_test.proto", package="t", syntax="proto2")
    for name, members in MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in members.items():
            repeated = field == "joints" and kind == Field.TYPE_DOUBLE
            label = Field.LABEL_REPEATED if repeated else Field.LABEL_OPTIONAL
            if isinstance(kind, str):
                message.field.add(
                    name=field, number=number, label=label, type=Field.TYPE_MESSAGE, type_name=f".t.{kind}"
                )
            else:
                message.field.add(name=field, number=number, label=label, type=kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"t.{name}")) for name in MESSAGES}


PROTO = classes()
angles = st.floats(-400, 400)
numbers = st.integers(0, 2**32 - 1)


@given(numbers, numbers, st.lists(angles, min_size=6, max_size=6), st.lists(angles, max_size=6))
def test_protobuf_reads_what_a_driver_sends(sequence: int, tm: int, joints: list[float], external: list[float]) -> None:
    data = encode_sensor(SensorMessage(sequence, tm, tuple(joints), tuple(external)))
    message = PROTO["Sensor"].FromString(data)
    assert (message.header.seqno, message.header.tm, message.header.mtype) == (sequence, tm, 3)
    assert list(message.planned.joints.joints) == joints
    assert list(message.planned.externalJoints.joints) == external
    assert message.SerializeToString(deterministic=True) == data


@given(numbers, st.lists(angles, min_size=6, max_size=6), st.sampled_from(Motors), st.sampled_from(Guidance))
def test_a_driver_reads_what_protobuf_writes(
    sequence: int, joints: list[float], motors: Motors, guidance: Guidance
) -> None:
    message = PROTO["Robot"]()
    message.header.seqno, message.header.tm, message.header.mtype = sequence, 7, 2
    message.feedBack.joints.joints.extend(joints)
    message.feedBack.externalJoints.joints.append(12.5)
    message.feedBack.time.sec = 2**40
    message.planned.joints.joints.extend([0.0] * 6)
    message.motorState.state, message.mciState.state = motors, guidance
    message.mciConvergenceMet, message.utilizationRate = True, 0.5
    expected = RobotMessage(sequence, 7, tuple(joints), (12.5,), motors, guidance)
    assert decode_robot(message.SerializeToString()) == expected
    assert decode_robot(encode_robot(expected)) == expected


def tagged(field: int, data: bytes) -> bytes:
    """As protobuf puts a message into another."""
    return bytes([field << 3 | 2, len(data)]) + data


# Noise seldom gets past the first byte. So, with a good header: any double, or doubles in a row that may be cut short.
double = st.floats().map(lambda value: b"\x09" + struct.pack("<d", value))
packed = st.binary(max_size=17).map(lambda data: tagged(1, data))
sent = st.lists(double | packed, max_size=4).map(
    lambda parts: tagged(1, b"\x08\x05") + tagged(2, tagged(1, b"".join(parts)))
)


@given(st.binary(max_size=200) | sent)
def test_whatever_comes_is_refused_or_has_finite_angles(data: bytes) -> None:
    for decode in (decode_robot, decode_sensor):
        with contextlib.suppress(ValueError):
            message = decode(data)
            assert all(map(math.isfinite, (*message.joints, *message.external)))


@given(st.data())
def test_a_message_cut_short_is_refused_or_has_fewer_fields(data: st.DataObject) -> None:
    whole = encode_sensor(SensorMessage(5, 6, (1.0,) * 6, (2.0,)))
    part = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with contextlib.suppress(ValueError):
        assert decode_sensor(part).joints == ()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_angle_that_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        decode_sensor(encode_sensor(SensorMessage(1, 1, (value,) * 6)))


def test_a_kind_that_egm_does_not_know_is_refused() -> None:
    message = PROTO["Sensor"]()
    message.header.seqno, message.header.mtype = 1, 9
    with pytest.raises(ValueError, match="9 is no kind"):
        decode_sensor(message.SerializeToString())
    assert decode_sensor(encode_sensor(SensorMessage(1, 1, (), kind=Kind.PATH_CORRECTION))).kind is Kind.PATH_CORRECTION
