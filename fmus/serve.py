"""A unit in a process of its own: the other end of `cffi_build/fmi2_process.c`; fmi2_helper.h says how they speak."""

from __future__ import annotations

import os
import select
import socket
import struct
import sys
import threading
from collections.abc import Callable
from enum import IntEnum

from simloop.fmus.slave import Slave, load, misfit
from simloop.fmus.state import UnitState


class Call(IntEnum):
    """As in fmi2_process.c."""

    OPEN = 0
    ENTER = 1
    START = 2
    TERMINATE = 3
    RESET = 4
    STEP = 5
    GET_TEXTS = 6
    SET_TEXTS = 7
    SAVE = 8
    RESTORE = 9
    FORGET = 10
    TO_BYTES = 11
    FROM_BYTES = 12
    NAME_OF = 13


OK, DISCARD, ERROR, ELSEWHERE = 0, 2, 3, 100
_REQUEST, _REPLY, _LOG = struct.Struct("=II"), struct.Struct("=III"), struct.Struct("=II")


class HostGoneError(Exception):
    """The other end of the socket is closed."""


class _Line:
    """The socket: whole messages in, whole messages out."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=fd)

    def receive_into(self, target: memoryview) -> None:
        at = 0
        while at < len(target):
            got = self._socket.recv_into(target[at:])
            if got == 0:
                raise HostGoneError
            at += got

    def receive(self, size: int) -> bytes:
        data = bytearray(size)
        self.receive_into(memoryview(data))
        return bytes(data)

    def send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            raise HostGoneError from None


def serve(fd: int, resources: str) -> None:
    """Answer the calls that come over the socket `fd` until it closes; then end the process."""
    threading.Thread(target=_end_with_the_host, args=(fd,), daemon=True).start()
    line = _Line(fd)
    try:
        slave = _open(line, resources)
        if slave is not None:
            _answer_all(line, _Calls(slave))
    except HostGoneError:
        pass
    # The rest of Python's way out is for programs that others wait for.
    os._exit(0)


def _end_with_the_host(fd: int) -> None:
    """A step that never returns must not outlive the host."""
    poll = select.poll()
    poll.register(fd, 0)
    poll.poll()
    os._exit(1)


def _open(line: _Line, resources: str) -> Slave | None:
    _, size = _REQUEST.unpack(line.receive(_REQUEST.size))
    name, guid = _texts(line.receive(size))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    try:
        problem = misfit(resources)
        if not problem:
            slave = load(resources, name, guid)
            count = struct.pack("=I", len(slave.access))
            line.send(_reply(OK, b"", b"", count + slave.access + slave.ports.tobytes()))
            return slave
        line.send(_reply(ELSEWHERE, b"", _entry(ERROR, f"(Python {version}) {problem}"), b""))
    except ImportError as error:
        text = f"(Python {version}) has not all the packages: {error}"
        line.send(_reply(ELSEWHERE, b"", _entry(ERROR, text), b""))
    # Whatever a model can get wrong is the host's to hear, as in the engine for Python hosts.
    except Exception as error:
        line.send(_reply(ERROR, b"", _entry(ERROR, _spoken(error)), b""))
    return None


def _answer_all(line: _Line, calls: _Calls) -> None:
    slave = calls.slave
    numbers = slave.ports.data.cast("B")
    while True:
        call, size = _REQUEST.unpack(line.receive(_REQUEST.size))
        line.receive_into(numbers)
        argument = line.receive(size)
        result, log = b"", b""
        try:
            answer = calls.table[call](argument)
            status, result = DISCARD if answer is False else OK, answer if isinstance(answer, bytes) else b""
        except Exception as error:
            status, log = ERROR, _entry(ERROR, _spoken(error))
        for entry in slave.log_queue:
            log += _entry(int(entry.status), entry.msg)
        slave.log_queue.clear()
        line.send(_reply(status, slave.ports.tobytes(), log, result))


class _Calls:
    """What each call does to the slave: it answers bytes, nothing, or False for a step that is discarded."""

    def __init__(self, slave: Slave) -> None:
        self.slave = slave
        self._states: dict[int, UnitState] = {}
        self._last_slot = 0
        self.table: dict[int, Callable[[bytes], bytes | bool | None]] = {
            Call.ENTER: lambda data: slave.set_start_time(*struct.unpack("=d", data)),
            Call.START: lambda _: slave.exit_initialization_mode(),
            Call.TERMINATE: lambda _: slave.terminate(),
            Call.RESET: lambda _: slave.reset(),
            Call.STEP: lambda data: slave.do_step(*struct.unpack("=dd", data)),
            Call.GET_TEXTS: self._get_texts,
            Call.SET_TEXTS: self._set_texts,
            Call.SAVE: self._save,
            Call.RESTORE: lambda data: slave.restore(self._states[_number(data)]),
            Call.FORGET: self._forget,
            Call.TO_BYTES: lambda data: slave._fmu_state_to_bytes(self._states[_number(data)]),
            Call.FROM_BYTES: lambda data: self._keep(slave._fmu_state_from_bytes(data)),
            Call.NAME_OF: lambda data: slave.name_of(_number(data)).encode(),
        }

    def _get_texts(self, data: bytes) -> bytes:
        references = struct.unpack(f"={len(data) // 4}I", data)
        return b"".join(text.encode() + b"\0" for text in self.slave.get_string(references))

    def _set_texts(self, data: bytes) -> None:
        started, count = struct.unpack_from("=II", data)
        references = struct.unpack_from(f"={count}I", data, 8)
        self.slave.set_string(references, _texts(data[8 + 4 * count :]), bool(started))

    def _save(self, data: bytes) -> bytes:
        slot = _number(data)
        if slot == 0:
            return self._keep(self.slave.save())
        self.slave.save(self._states[slot])
        return data

    def _forget(self, data: bytes) -> None:
        del self._states[_number(data)]

    def _keep(self, state: UnitState) -> bytes:
        self._last_slot += 1
        self._states[self._last_slot] = state
        return struct.pack("=I", self._last_slot)


def _number(data: bytes) -> int:
    return int(struct.unpack("=I", data)[0])


def _texts(data: bytes) -> list[str]:
    return [text.decode() for text in data.split(b"\0")[:-1]]


def _spoken(error: Exception) -> str:
    """A ValueError speaks for itself, others are told with their type."""
    return str(error) if isinstance(error, ValueError) and str(error) else repr(error)


def _entry(status: int, text: str) -> bytes:
    data = text.replace("\0", " ").encode() + b"\0"
    return _LOG.pack(status, len(data)) + data


def _reply(status: int, ports: bytes, log: bytes, result: bytes) -> bytes:
    return _REPLY.pack(status, len(log), len(result)) + ports + log + result
