"""The state machine of CiA 402, and an emulated drive that keeps to it."""

from __future__ import annotations

import itertools

import pytest
from simloop.drivers import canopen_frames as frames
from simloop.drivers.axes import Axis
from simloop.drivers.cia402 import State, order_of, state_of
from simloop.drivers.emulated_drive import COMMAND_TIMEOUT, EmulatedDrive

# Statuswords as the standard prints them, x for any bit, bits 15 to 0.
STATUSWORDS = {
    "xxxx xxxx x0xx 0000": State.NOT_READY_TO_SWITCH_ON,
    "xxxx xxxx x1xx 0000": State.SWITCH_ON_DISABLED,
    "xxxx xxxx x01x 0001": State.READY_TO_SWITCH_ON,
    "xxxx xxxx x01x 0011": State.SWITCHED_ON,
    "xxxx xxxx x01x 0111": State.OPERATION_ENABLED,
    "xxxx xxxx x00x 0111": State.QUICK_STOP_ACTIVE,
    "xxxx xxxx x0xx 1111": State.FAULT_REACTION_ACTIVE,
    "xxxx xxxx x0xx 1000": State.FAULT,
}
# Controlwords, and in which states each takes a drive where, by the standard's transitions.
SOD, RTSO, SO = State.SWITCH_ON_DISABLED, State.READY_TO_SWITCH_ON, State.SWITCHED_ON
OE, QSA, FAULT = State.OPERATION_ENABLED, State.QUICK_STOP_ACTIVE, State.FAULT
MOVES = {
    0x06: {SOD: RTSO, SO: RTSO, OE: RTSO},
    0x07: {RTSO: SO, OE: SO},
    0x0F: {SO: OE},
    0x02: {RTSO: SOD, SO: SOD, OE: QSA},
    0x00: {RTSO: SOD, SO: SOD, OE: SOD, QSA: SOD},
    0x80: {FAULT: SOD},
}
STAYS = {0x06: RTSO, 0x07: SO, 0x0F: OE, 0x02: (SOD, QSA), 0x00: SOD}
WAY = {SOD: [], RTSO: [0x06], SO: [0x06, 0x07], OE: [0x06, 0x07, 0x0F], QSA: [0x06, 0x07, 0x0F, 0x02]}


def drive_ready() -> EmulatedDrive:
    """A drive that takes commands, in Switch on disabled."""
    drive = EmulatedDrive(Axis(1, 1000.0, 10.0))
    for index, objects in ((0x1600, frames.COMMAND_MAP), (0x1A00, frames.ANSWER_MAP)):
        for sub, entry in enumerate(objects, start=1):
            assert download(drive, index, sub, entry, 4) == b"\x60"
        assert download(drive, index, 0, len(objects), 1) == b"\x60"
    assert download(drive, 0x1400, 1, 0x201, 4) == b"\x60"
    assert download(drive, 0x1800, 1, 0x181, 4) == b"\x60"
    assert download(drive, 0x6060, 0, 10, 1) == b"\x60"
    drive.manage(frames.START)
    return drive


def download(drive: EmulatedDrive, index: int, sub: int, value: int, size: int) -> bytes:
    """An expedited SDO download, by the standard's bits; the answer's first byte."""
    head = bytes((0x23 | (4 - size) << 2, index & 0xFF, index >> 8, sub))
    return drive.serve(head + value.to_bytes(4, "little"))[:1]


def drive_in(state: State) -> EmulatedDrive:
    drive = drive_ready()
    if state is FAULT:
        drive.fail(0x2310)
        drive.sync()
    for word in WAY.get(state, []):
        drive.take(frames.pack_command(word, 100), 0.0)
    assert drive.state is state
    return drive


@pytest.mark.parametrize("pattern", STATUSWORDS)
def test_every_statusword_tells_its_state(pattern: str) -> None:
    bits = pattern.replace(" ", "")
    for fill in ("0", "1"):
        assert state_of(int(bits.replace("x", fill), 2)) is STATUSWORDS[pattern]


@pytest.mark.parametrize(("state", "word"), list(itertools.product([*WAY, FAULT], MOVES)))
def test_a_drive_goes_where_the_standard_says_and_nowhere_else(state: State, word: int) -> None:
    drive = drive_in(state)
    refused = drive.refused
    drive.take(frames.pack_command(word, 100), 0.0)
    assert drive.state is MOVES[word].get(state, state)
    stays = STAYS.get(word, ())
    obeyed = state in MOVES[word] or state is stays or (isinstance(stays, tuple) and state in stays)
    assert drive.refused - refused == (0 if obeyed else 1)


@pytest.mark.parametrize("state", [*WAY, FAULT])
def test_only_an_enabled_drive_gives_torque_and_opens_its_brake(state: State) -> None:
    drive = drive_in(state)
    drive.take(frames.pack_command(WAY.get(state, [0])[-1] if WAY.get(state) else 0, 250), 0.0)
    assert (drive.torque, drive.braked) == ((250, False) if state is OE else (0, True))


def test_a_fault_is_reset_by_the_rise_of_its_bit_only() -> None:
    drive = drive_in(FAULT)
    for word in (0x80, 0x80):
        drive.take(frames.pack_command(word, 0), 0.0)
    assert drive.state is SOD
    drive.fail(0x2310)
    drive.sync()
    drive.take(frames.pack_command(0x80, 0), 0.0)
    assert drive.state is FAULT, "the bit was still set"
    assert order_of(0x80, 0x80).value == 0x00


def test_a_quick_stop_ends_in_switch_on_disabled_and_is_not_taken_back() -> None:
    drive = drive_in(QSA)
    drive.take(frames.pack_command(0x0F, 100), 0.0)
    assert (drive.state, drive.refused) == (QSA, 1)
    drive.sync()
    assert drive.state is SOD


def test_a_drive_without_commands_faults_by_itself_and_says_so() -> None:
    drive = drive_in(OE)
    assert download(drive, 0x1400, 5, 250, 2) == b"\x60"
    drive.take(frames.pack_command(0x0F, 100), 10.0)
    drive.watch(10.25)
    assert drive.state is OE
    drive.watch(10.2501)
    assert (drive.state, drive.torque) == (FAULT, 0)
    assert drive.emergencies[-1][:2] == COMMAND_TIMEOUT.to_bytes(2, "little")
    drive.watch(99.0)
    assert len(drive.emergencies) == 1


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ("40 34 12 00 00000000", 0x06020000),  # an object that is not there
        ("40 00 14 09 00000000", 0x06090011),  # a sub-index that is not there
        ("2F 61 60 00 0a000000", 0x06010002),  # the mode shown is read only
        ("2F 60 60 00 08000000", 0x06090030),  # cyclic synchronous position is not known
        ("23 60 60 00 0a000000", 0x06070010),  # four bytes for one
        ("23 00 16 01 10007a60", 0x08000022),  # mapping while process data is on
        ("61 00 16 01 00000000", 0x05040001),  # a segmented transfer
    ],
)
def test_a_drive_refuses_with_the_standards_abort_codes(request_: str, code: int) -> None:
    answer = drive_ready().serve(bytes.fromhex(request_))
    assert answer[0] == 0x80
    assert int.from_bytes(answer[4:], "little") == code


def test_process_data_outside_operational_is_not_listened_to() -> None:
    drive = drive_in(OE)
    drive.manage(frames.PRE_OPERATIONAL)
    drive.take(frames.pack_command(0x0F, 900), 0.0)
    assert drive.torque == 100
    assert not drive.answers
