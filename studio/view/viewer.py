"""Start the viewer: a process of its own behind an address of its own."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import multiprocessing
import secrets
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

from simloop.master import SimloopError
from simloop.models.robot import Obstacle, Robot, scene_mjcf
from simloop.studio.view.board import Board
from simloop.studio.view.live import ABOUT, Window

LOOPBACK, PORT = "127.0.0.1", 8642
# Addresses of no one (RFC 5737 and 3849): which of ours would be used to send there is asked, nothing is sent.
_AFAR = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}


@dataclass(frozen=True)
class Playbill:
    """What a page is told before anything moves: the scene as MJCF, its tools and home, where the tools are to go."""

    scenario: str
    title: str
    mjcf: str
    tools: tuple[str, ...]
    home: tuple[float, ...]
    goals: tuple[tuple[float, ...], ...] = ()
    recorded: bool = False
    real: bool = False
    """Whether it is a robot that waits for no one."""
    show: int = 0
    """Which of the shows at one address it is: a page of an earlier one begins anew."""
    scenarios: tuple[str, ...] = ()
    """Those that a person may go on to."""
    seconds: float = 0.0
    """How long a recorded run is."""
    results: str = ""
    """Where a live run writes its report."""


def playbill_of(name: str, title: str, robot: Robot, obstacles: tuple[Obstacle, ...]) -> Playbill:
    return Playbill(name, title, scene_mjcf(robot, obstacles), robot.tools, robot.home)


class Address:
    """Where a page is found: bound at once, so that a busy port is known before anything runs."""

    def __init__(self, host: str = LOOPBACK, port: int = PORT) -> None:
        if not 0 <= port < 65536:
            raise SimloopError(f"the port is {port}; it must be from 0 (any that is free) to 65535")
        try:
            family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self.socket = socket.socket(family, socket.SOCK_STREAM)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.bind(place)
            self.socket.listen()
        except (OSError, UnicodeError) as error:
            raise SimloopError(_refusal(host, port, error)) from None
        bound = ipaddress.ip_address(self.socket.getsockname()[0])
        self.is_loopback = bound.is_loopback
        self.host = _address_from_afar(family) if bound.is_unspecified else host
        self.port = int(self.socket.getsockname()[1])
        self.token = secrets.token_urlsafe(24)

    def __enter__(self) -> Address:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/?token={self.token}"

    @property
    def warning(self) -> str:
        """What to tell whoever opens the page to a network; empty on loopback."""
        if self.is_loopback:
            return ""
        return "whoever on that network has this address can watch and steer; it is plain HTTP, which others can read"


def _refusal(host: str, port: int, error: OSError | UnicodeError) -> str:
    if isinstance(error, socket.gaierror | UnicodeError) or error.errno == errno.EADDRNOTAVAIL:
        return (
            f"the page cannot be served at {host!r}: no address of this machine; --host takes one, or 0.0.0.0 for all"
        )
    known = {errno.EADDRINUSE: "it is taken", errno.EACCES: "it is not for every user"}
    reason = known.get(error.errno or 0, error.strerror)
    return f"the page cannot be served at {host} port {port}: {reason}; --port 0 takes any that is free"


def _address_from_afar(family: socket.AddressFamily) -> str:
    """By which others reach this machine: its address on the way out, or its name where there is no way out."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect((_AFAR[family], 9))
        return str(probe.getsockname()[0])
    return socket.gethostname()


class Viewer:
    """The viewer's process, from `open` to the end of the `with`."""

    def __init__(self, address: Address, playbill: Playbill) -> None:
        self._address, self.playbill = address, playbill
        self._context = multiprocessing.get_context("spawn")
        self._process: multiprocessing.process.BaseProcess | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def open(self, shown: Mapping[str, Sequence[str]]) -> Window:
        """Start the process; `shown` are the variables on the board, by name of their vector."""
        from simloop.studio.view.server import serve_live

        board = Board(self._context, ABOUT + sum(map(len, shown.values())))
        ours, theirs = self._context.Pipe(duplex=False)
        lengths = {name: len(variables) for name, variables in shown.items()}
        self._process = self._context.Process(
            target=serve_live, args=(self._address, self.playbill, lengths, board, theirs), daemon=True
        )
        self._process.start()
        theirs.close()
        return Window(board, ours, self._process.is_alive)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.is_alive():
            # A frozen one hears no polite signal.
            self._process.kill()
            self._process.join()
