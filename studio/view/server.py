"""The viewer's process: serves the page to who has the token, shows what is on the board, and passes commands on.

One person at a time operates, the others watch. Nothing here is trusted by the loop, and the loop waits for nothing
here.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Protocol

from simloop.studio.view.board import Board
from simloop.studio.view.door import Door
from simloop.studio.view.hand import Hand, Pull
from simloop.studio.view.picture import Painter
from simloop.studio.view.stage import make_stage
from simloop.studio.view.viewer import Address, Playbill
from websockets.asyncio.server import ServerConnection, broadcast, serve
from websockets.exceptions import ConnectionClosed

# Wall time between two looks at the board and between two words to everyone, s.
TICK, BEAT = 1 / 60, 0.25
# A page that is this many bytes behind gets nothing more until it has caught up.
_BEHIND = 1 << 18
# The greatest message that a page may send, bytes, and how many of them are heard between two looks.
_LONGEST, _HEARD = 1 << 14, 10
# A pipe takes a message up to this size, bytes, whole or not at all (POSIX): the loop never waits for the rest of one.
_WHOLE = 4000
# Of what a hand wants, m/s or rad/s, and of where it pulls, m; beyond is no hand's.
_FASTEST, _FARTHEST = 10.0, 100.0
# A pull that is not renewed for this long is let go, s, before the loop's own dead-man's switch would.
_STALE = 0.15


class Source(Protocol):
    """Where the state comes from: a running loop, or a record."""

    def read(self) -> tuple[int, Any, dict[str, Any]] | None: ...
    def command(self, command: Mapping[str, Any]) -> None: ...


@dataclass
class LoopSource:
    """A running loop behind a board and a pipe."""

    board: Board
    commands: Connection

    def read(self) -> tuple[int, Any, dict[str, Any]] | None:
        return self.board.read()

    def __post_init__(self) -> None:
        # Where the loop does not listen, what it is told is lost, and the viewer goes on.
        if hasattr(os, "set_blocking"):
            os.set_blocking(self.commands.fileno(), False)

    def command(self, command: Mapping[str, Any]) -> None:
        told = pickle.dumps(dict(command))
        if len(told) <= _WHOLE:
            with contextlib.suppress(OSError):
                self.commands.send_bytes(told)


def serve_live(
    address: Address, playbill: Playbill, lengths: Mapping[str, int], board: Board, commands: Connection
) -> None:
    """The viewer's process, until its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(Show(address, playbill, lengths, LoopSource(board, commands)).run(_parent_lives))


def _parent_lives() -> bool:
    parent = multiprocessing.parent_process()
    return parent is None or parent.is_alive()


@dataclass
class Guest:
    """Someone with the page open."""

    number: int
    socket: ServerConnection
    heard: int = 0
    """How many messages since the last look."""


@dataclass
class Show:
    address: Address
    playbill: Playbill
    lengths: Mapping[str, int]
    source: Source
    guests: list[Guest] = field(default_factory=list)
    operator: Guest | None = None
    came: int = 0
    pull: Pull | None = None

    def __post_init__(self) -> None:
        stage = make_stage(self.playbill.mjcf, self.playbill.tools)
        self.painter = Painter(stage, self.lengths)
        self._is_steerable = "planner.enable" in self.lengths
        self.hand = Hand(stage.arm)
        hello = {
            "scenario": self.playbill.scenario,
            "title": self.playbill.title,
            "recorded": self.playbill.recorded,
            "real": self.playbill.real,
            "show": self.playbill.show,
            "scenarios": self.playbill.scenarios,
            "seconds": self.playbill.seconds,
            "results": self.playbill.results,
            "steerable": self._is_steerable,
            "layout": self.painter.layout,
            "stage": stage.describe(self.playbill.home, self.playbill.goals),
        }
        self.door = Door(self.address, hello)
        self._words: dict[str, Any] = {}
        self._row: Any = None
        self._has_news = False

    async def run(self, lives: Any) -> None:
        async with serve(
            self._meet, sock=self.address.socket, process_request=self.door.answer, max_size=_LONGEST, compression=None
        ):
            seen = -1
            beat = 0.0
            clock = asyncio.get_running_loop().time
            while True:
                found = self.source.read()
                if found is not None:
                    turn, self._row, self._words = found
                    if turn != seen:
                        self._show(self.painter.paint(self._row))
                        seen = turn
                self._keep_pulling(clock())
                if clock() >= beat:
                    beat = clock() + BEAT
                    self.source.command({"do": "beat", "watchers": len(self.guests)})
                    self._has_news = True
                    if not lives():
                        return
                if self._has_news:
                    self._tell_all()
                for guest in self.guests:
                    guest.heard = 0
                await asyncio.sleep(TICK)

    def _show(self, picture: bytes) -> None:
        for guest in self.guests:
            self._send(guest, picture)

    def _send(self, guest: Guest, message: str | bytes) -> None:
        if guest.socket.transport.get_write_buffer_size() < _BEHIND:
            broadcast([guest.socket], message)

    def _tell_all(self) -> None:
        self._has_news = False
        operator = None if self.operator is None else self.operator.number
        for guest in self.guests:
            about = {"you": guest.number, "operator": operator, "watchers": len(self.guests)}
            about |= {"show": self.playbill.show, **self._words}
            self._send(guest, json.dumps(about))

    async def _meet(self, socket: ServerConnection) -> None:
        self.came += 1
        guest = Guest(self.came, socket)
        self.guests.append(guest)
        self.operator = self.operator or guest
        self.source.command({"do": "beat", "watchers": len(self.guests)})
        self._has_news = True
        if self._row is not None:
            self._send(guest, self.painter.paint(self._row))
        try:
            async for message in socket:
                self._hear(guest, message)
        except ConnectionClosed:
            pass
        finally:
            self.guests.remove(guest)
            if self.operator is guest:
                self._let_go()
            self._has_news = True

    def _let_go(self) -> None:
        """No one operates: what was held is let go now; the loop would find out by itself, later."""
        self.operator, self.pull = None, None
        for key in ("steer", "pull"):
            self.source.command({"do": "release", "key": key})

    def _hear(self, guest: Guest, message: str | bytes) -> None:
        guest.heard += 1
        if guest.heard > _HEARD:
            return
        try:
            order = json.loads(message)
        except (ValueError, RecursionError):
            return
        if not isinstance(order, dict):
            return
        if order.get("do") == "operate" and self.operator is None:
            self.operator = guest
            self._has_news = True
        elif self.operator is guest:
            self._obey(order)

    def _obey(self, order: Mapping[str, Any]) -> None:
        match order:
            case {"do": "leave"}:
                self._let_go()
                self._has_news = True
            case {"do": "play" | "pause" | "finish" as what}:
                self.source.command({"do": what})
            case {"do": "step", "count": int(count)} if 0 < count <= 10**6:
                self.source.command({"do": "step", "count": count})
            case {"do": "speed", "value": int() | float() as speed} if 0.0 <= speed <= 1000.0:
                self.source.command({"do": "speed", "value": float(speed)})
            case {"do": "seek", "time": int() | float() as time} if _is_number(time):
                self.source.command({"do": "seek", "time": float(time)})
            case {"do": "again", "set": dict(changes)} if all(isinstance(v, str) for v in changes.values()):
                self.source.command({"do": "again", "set": changes})
            case {"do": "scenario", "name": str(name)} if name in self.playbill.scenarios:
                self.source.command({"do": "scenario", "name": name})
            case {"do": "set", "name": str(name), "value": int() | float() as value} if _is_number(value):
                self.source.command({"do": "write", "values": {name: float(value)}})
            case {"do": "steer", "twist": list(twist)} if self._is_steerable and _numbers(twist, 6, _FASTEST):
                values = {f"planner.twist[{i + 1}]": float(each) for i, each in enumerate(twist)}
                release = {"planner.enable": 0.0}
                both = {"values": {**values, "planner.enable": 1.0}, "release": release}
                self.source.command({"do": "hold", "key": "steer", **both})
            case {"do": "let go"}:
                self.pull = None
                for key in ("steer", "pull"):
                    self.source.command({"do": "release", "key": key})
            case {"do": "pull", "body": int(body), "local": list(local), "to": list(to)}:
                if _numbers(local, 3, _FARTHEST) and _numbers(to, 3, _FARTHEST) and 0 < body < self.hand.bodies:
                    places = tuple(map(float, local)), tuple(map(float, to))
                    self.pull = Pull(body, *places, asyncio.get_running_loop().time())

    def _keep_pulling(self, now: float) -> None:
        if self.pull is None or self._row is None:
            return
        if now - self.pull.renewed > _STALE:
            self.pull = None
            self.source.command({"do": "release", "key": "pull"})
            return
        q, v = (self.painter.of(self._row, name) for name in ("plant.q_true", "plant.v"))
        force = self.hand.joint_forces(self.pull, q, v)
        names = [f"plant.f_ext[{i + 1}]" for i in range(self.hand.n)]
        values = dict(zip(names, force.tolist(), strict=True))
        self.source.command({"do": "hold", "key": "pull", "values": values, "release": dict.fromkeys(names, 0.0)})


def _is_number(value: Any, most: float = sys.float_info.max) -> bool:
    """Whether it is a number, however long, no greater than `most`; NaN is not, and neither is a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= most


def _numbers(values: list[Any], count: int, most: float) -> bool:
    return len(values) == count and all(_is_number(value, most) for value in values)
