"""A Firefox, spoken to by WebDriver BiDi over a WebSocket. It draws WebGL only on a display, which Xvfb is."""

from __future__ import annotations

import base64
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.studio.view.browser import Tab, running, wait_until

PROGRAMS = ("firefox-esr", "firefox")
# Whatever name Firefox itself would ask for leads nowhere: it connects to no one but the tests.
_PREFERENCES = 'user_pref("network.dns.forceResolve", "127.0.0.1");\n'
# As WebDriver writes keys that write no character.
_KEYS = {"Tab": "\ue004", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015"}
_POINTER = {"mousePressed": "pointerDown", "mouseReleased": "pointerUp"}


def program() -> str | None:
    """Firefox, where there is a display for it too."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None) if shutil.which("Xvfb") else None


@contextmanager
def firefox() -> Iterator[str]:
    """Starts Firefox; gives the address at which it hears commands."""
    found = program()
    assert found is not None, "no Firefox with a display; apt-get install firefox-esr xvfb"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, display(Path(profile)) as number:
        (Path(profile) / "user.js").write_text(_PREFERENCES)
        command = [found, "--no-remote", "--profile", profile, "--remote-debugging-port=0", "about:blank"]
        with running(command, env=os.environ | {"DISPLAY": f":{number}"}):
            port_file = Path(profile) / "WebDriverBiDiServer.json"
            wait_until(lambda: port_file.exists() and port_file.read_text().endswith("}"), "Firefox starts")
            yield f"ws://127.0.0.1:{json.loads(port_file.read_text())['ws_port']}/session"


@contextmanager
def display(folder: Path) -> Iterator[str]:
    """The number of a display that is in memory only."""
    told = folder / "display"
    with told.open("w") as file:
        command = ["Xvfb", "-displayfd", str(file.fileno()), "-screen", "0", "1400x1000x24", "-nolisten", "tcp"]
        with running(command, pass_fds=(file.fileno(),)):
            wait_until(lambda: told.read_text().endswith("\n"), "Xvfb starts")
            yield told.read_text().strip()


class FirefoxPage(Tab):
    """A tab of Firefox's."""

    def __init__(self, address: str, url: str, width: int = 1200, height: int = 800, before: str = "") -> None:
        super().__init__(address)
        self.call("session.new", capabilities={})
        self._context = self.call("browsingContext.create", type="tab")["context"]
        self.call("session.subscribe", events=["network.beforeRequestSent", "log.entryAdded"])
        self.call("browsingContext.setViewport", context=self._context, viewport={"width": width, "height": height})
        if before:
            self.call("script.addPreloadScript", functionDeclaration=f"() => {{ {before} }}")
        self.call("browsingContext.navigate", context=self._context, url=url, wait="complete")

    def _note(self, event: dict[str, Any]) -> None:
        match event:
            case {"method": "network.beforeRequestSent", "params": {"request": {"url": url}}}:
                self.requests.append(url)
            case {"method": "log.entryAdded", "params": {"type": "javascript", "level": "error", "text": text}}:
                self.errors.append(text)

    def run(self, script: str) -> Any:
        answer = self.call("script.evaluate", expression=script, target={"context": self._context}, awaitPromise=True)
        assert answer["type"] == "success", answer["exceptionDetails"]["text"]
        return _plain(answer["result"])

    def mouse(self, kind: str, x: float, y: float) -> None:
        actions: list[dict[str, Any]] = [{"type": "pointerMove", "x": round(x), "y": round(y)}]
        if kind in _POINTER:
            actions.append({"type": _POINTER[kind], "button": 0})
        self._act({"type": "pointer", "id": "mouse", "actions": actions})

    def key(self, kind: str, key: str) -> None:
        self._act({"type": "key", "id": "keys", "actions": [{"type": kind, "value": _KEYS.get(key, key)}]})

    def _act(self, source: dict[str, Any]) -> None:
        self.call("input.performActions", context=self._context, actions=[source])

    def picture(self) -> bytes:
        return base64.b64decode(self.call("browsingContext.captureScreenshot", context=self._context)["data"])

    def close(self) -> None:
        if self._context:
            self.call("browsingContext.close", context=self._context)
            self.call("session.end")
            self._context = ""
        self._stack.close()


def _plain(value: dict[str, Any]) -> Any:
    """A value of the page's as one of Python's; None for what has none."""
    if value["type"] == "array":
        return [_plain(each) for each in value["value"]]
    return value.get("value")
