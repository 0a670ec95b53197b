"""Who is let in, who operates, and that the loop waits for no one."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from simloop.master import SimloopError
from simloop.studio.archive import read_archive
from simloop.studio.view.viewer import Address
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.studio.view.browser import PATIENCE, Page, wait_until
from tests.studio.view.conftest import serving


@pytest.fixture(scope="module")
def url(recorded: Path) -> Iterator[str]:
    with serving("view", str(recorded)) as (address, _):
        yield address


def enter(url: str, origin: str | None = None, token: str | None = None) -> connect:
    """A WebSocket as a page would open it, unless told otherwise."""
    parts = urlsplit(url)
    query = parts.query if token is None else f"token={token}"
    origin = f"http://{parts.netloc}" if origin is None else origin
    return connect(f"ws://{parts.netloc}/live?{query}", origin=origin, open_timeout=PATIENCE, close_timeout=0.5)


def status_of(url: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=PATIENCE) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_the_page_needs_the_token(url: str) -> None:
    bare = url.partition("?")[0]
    assert status_of(url) == 200
    for wrong in (bare, f"{bare}?token=", f"{url}x", f"{bare}?token=%C3%A9"):
        assert status_of(wrong) == 403
    assert status_of(url.replace("/?", "/run.json?")) == 404


def test_another_name_for_this_machine_is_refused(url: str) -> None:
    """A name of an attacker's that leads to 127.0.0.1 would make its pages ours."""
    assert status_of(url, Host="evil.example") == 403


def test_the_page_lets_no_request_out_and_is_framed_nowhere(url: str) -> None:
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        policy, page = answer.headers["Content-Security-Policy"], answer.read().decode()
    assert policy.startswith("default-src 'none'")
    assert f"connect-src ws://{urlsplit(url).netloc};" in policy
    assert "frame-ancestors 'none'" in policy
    assert "http://" not in page
    assert "https://" not in page


@pytest.mark.parametrize(
    "wrong", [{"token": "guess"}, {"token": ""}, {"origin": "http://evil.example"}, {"origin": ""}]
)
def test_a_web_socket_needs_the_token_and_the_pages_own_origin(url: str, wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidStatus) as refusal, enter(url, **wrong):
        pass
    assert refusal.value.response.status_code == 403
    with enter(url):
        pass


def test_a_busy_port_is_an_error(recorded: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-c", "from simloop.studio.cli import main; main()", "view", str(recorded)]
        ended = subprocess.run([*command, "--port", port], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 2
    told = f"the page cannot be served at 127.0.0.1 port {port}: it is taken; --port 0 takes any that is free"
    assert ended.stderr == f"simloop: {told}\n"


def test_a_page_on_all_addresses_is_told_by_one_that_others_reach(chromium: str, recorded: Path) -> None:
    with serving("view", str(recorded), "--host", "0.0.0.0") as (url, process):
        told = urlsplit(url)
        assert told.hostname not in ("0.0.0.0", "127.0.0.1")
        assert process.stdout is not None
        assert process.stdout.readline().startswith("warning: whoever on that network has this address can")
        # Another of this machine's addresses, as another machine would have one.
        other = url.replace(told.netloc, f"127.0.0.2:{told.port}")
        assert status_of(other) == 200
        assert status_of(f"{other}x") == 403
        for wrong in ({"token": "guess"}, {"origin": "http://evil.example"}, {"origin": url}):
            with pytest.raises(InvalidStatus) as refusal, enter(other, **wrong):
                pass
            assert refusal.value.response.status_code == 403
        page = Page(chromium, other)
        page.wait("picture !== null && operating()")
        page.close()


def test_on_loopback_no_one_is_warned() -> None:
    for host in ("127.0.0.2", "localhost"):
        address = Address(host, 0)
        address.socket.close()
        assert address.url.startswith(f"http://{host}:")
        assert not address.warning


@pytest.mark.parametrize("host", ["nosuch.invalid", "..", "203.0.113.77", ""])
def test_a_host_that_is_none_of_this_machine_is_one_sentence(host: str) -> None:
    with pytest.raises(SimloopError) as refusal:
        Address(host, 0)
    assert str(refusal.value) == (
        f"the page cannot be served at {host!r}: no address of this machine; --host takes one, or 0.0.0.0 for all"
    )


def hear(guest: ClientConnection) -> dict[str, Any]:
    """The next words; pictures are passed over."""
    while isinstance(message := guest.recv(timeout=PATIENCE), bytes):
        pass
    words: dict[str, Any] = json.loads(message)
    return words


def hear_until(guest: ClientConnection, **wanted: Any) -> dict[str, Any]:
    return wait_until(lambda: (w := hear(guest)) and all(w.get(k) == v for k, v in wanted.items()) and w, str(wanted))


def test_one_operates_and_the_other_watches_until_the_controls_are_free(url: str) -> None:
    with enter(url) as second:
        with enter(url) as first:
            you, other = hear(second)["you"], hear(first)["you"]
            assert hear_until(first, operator=you)["watchers"] == 2
            first.send(json.dumps({"do": "operate"}))
            first.send("no JSON")
            first.send(json.dumps(["no", "order"]))
            assert hear_until(first, watchers=2)["operator"] == you
            second.send(json.dumps({"do": "leave"}))
            hear_until(first, operator=None)
            first.send(json.dumps({"do": "operate"}))
            hear_until(second, operator=other)
        hear_until(second, operator=None, watchers=1)


@pytest.mark.parametrize(
    "odd",
    [
        '{"do": "seek", "time": 1' + 400 * "0" + "}",
        '{"do": "seek", "time": NaN}',
        '{"do": "seek", "time": true}',
        '{"do": "step", "count": 1e999}',
        16_000 * "[",
        b"\xff\x00",
    ],
)
def test_an_odd_message_is_passed_over(url: str, odd: str | bytes) -> None:
    with enter(url) as guest:
        hear(guest)
        guest.send(odd)
        for _ in range(3):
            assert hear(guest)["watchers"] >= 1


def test_what_is_no_address_is_told_so(url: str) -> None:
    parts = urlsplit(url)
    with socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=PATIENCE) as bare:
        bare.sendall(b"GET //[ HTTP/1.1\r\nHost: x\r\n\r\n")
        assert bare.recv(100).startswith(b"HTTP/1.1 400 ")


def viewer_of(process: subprocess.Popen[str]) -> int:
    """The viewer among the children of a run: the one that is not the resource tracker."""
    for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text():
            return int(child)
    raise AssertionError("there is no viewer")


def test_a_viewer_that_freezes_before_anyone_came_is_not_waited_for(tmp_path: Path) -> None:
    arguments = ("run", "sphere-step", "--view", "--pace", "100", "--out", str(tmp_path / "run"))
    with serving(*arguments) as (url, process):
        assert status_of(url) == 200, "it serves, and has said so to the loop"
        time.sleep(0.5)
        os.kill(viewer_of(process), signal.SIGSTOP)
        assert process.wait(PATIENCE) == 0
    assert read_archive(tmp_path / "run").record["rows"] == 1601


@pytest.mark.parametrize("pause", [0.0, 0.1, 0.5])
def test_a_signal_while_a_person_goes_on_to_another_scenario_ends_the_run(pause: float, tmp_path: Path) -> None:
    with serving("run", "sphere-step", "--view", "--out", str(tmp_path / "run")) as (url, process), enter(url) as guest:
        hear(guest)
        guest.send(json.dumps({"do": "scenario", "name": "yumi-step"}))
        time.sleep(pause)
        process.terminate()
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM


@pytest.mark.parametrize("blow", [signal.SIGSTOP, signal.SIGKILL])
def test_a_viewer_that_is_frozen_or_killed_does_not_stop_the_loop(blow: signal.Signals, tmp_path: Path) -> None:
    """Even in a pause that no one can end any more."""
    arguments = ("run", "sphere-step", "--view", "--pace", "100", "--out", str(tmp_path / "run"))
    with serving(*arguments) as (url, process), enter(url) as guest:
        hear(guest)
        guest.send(json.dumps({"do": "pause"}))
        time.sleep(0.5)
        assert process.poll() is None
        os.kill(viewer_of(process), blow)
        assert process.stdout is not None
        told = process.stdout.read()
        assert process.wait(PATIENCE) == 0
    assert ("the page is gone" in told) == (blow == signal.SIGKILL)
    assert read_archive(tmp_path / "run").record["rows"] == 1601
