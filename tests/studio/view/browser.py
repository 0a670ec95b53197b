"""A page in a browser that is spoken to over a WebSocket, and a headless Chromium, which has its own protocol."""

from __future__ import annotations

import base64
import io
import itertools
import json
import shutil
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from websockets.sync.client import ClientConnection, connect

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--remote-debugging-port=0",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
)
# Keys that write no character, by the numbers that Chromium knows them by.
_KEY_CODES = {"Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
# A loaded machine may take this long for what takes a tenth of a second, s.
PATIENCE = 60.0


def program() -> str | None:
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator[str]:
    """Starts Chromium; gives the address at which it hears commands."""
    chromium = program()
    assert chromium is not None, "no Chromium; apt-get install chromium"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [chromium, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        with running(command):
            port_file = Path(profile) / "DevToolsActivePort"
            wait_until(lambda: port_file.exists() and len(port_file.read_text().splitlines()) == 2, "Chromium starts")
            port, path = port_file.read_text().splitlines()
            yield f"ws://127.0.0.1:{port}{path}"


@contextmanager
def running(command: list[str], **more: Any) -> Iterator[None]:
    """A quiet process, ended at the end of the `with`."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until(condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    end = time.monotonic() + patience
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, f"waited {patience:g} s in vain until: {what}"
        time.sleep(0.05)


class Tab(ABC):
    """A page in a browser. Every address that it asks for is remembered in `requests`, what went wrong in `errors`."""

    def __init__(self, address: str) -> None:
        self._stack = ExitStack()
        self._socket: ClientConnection = self._stack.enter_context(
            connect(address, max_size=None, open_timeout=PATIENCE)
        )
        self._numbers = itertools.count(1)
        self._whom: dict[str, str] = {}
        self.requests: list[str] = []
        self.errors: list[str] = []

    def call(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters, **self._whom}))
        while True:
            answer = json.loads(self._socket.recv(timeout=PATIENCE))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    @abstractmethod
    def _note(self, event: dict[str, Any]) -> None: ...

    @abstractmethod
    def run(self, script: str) -> Any: ...

    @abstractmethod
    def mouse(self, kind: str, x: float, y: float) -> None:
        """`kind` is mousePressed, mouseMoved or mouseReleased, of the left button."""

    @abstractmethod
    def key(self, kind: str, key: str) -> None:
        """`kind` is keyDown or keyUp."""

    @abstractmethod
    def picture(self) -> bytes:
        """The page as a PNG file."""

    @abstractmethod
    def close(self) -> None: ...

    def wait(self, script: str, patience: float = PATIENCE) -> Any:
        return wait_until(lambda: self.run(script), script, patience)

    def pixels(self) -> NDArray[np.uint8]:
        """Of the canvas `scene`, (height, width, 3)."""
        script = """(() => { const c = document.getElementById("scene"), gl = c.getContext("webgl");
            const p = new Uint8Array(4 * c.width * c.height);
            gl.readPixels(0, 0, c.width, c.height, gl.RGBA, gl.UNSIGNED_BYTE, p);
            let t = ""; for (let i = 0; i < p.length; i += 8192) t += String.fromCharCode(...p.subarray(i, i + 8192));
            return [c.width, c.height, btoa(t)]; })()"""
        width, height, text = self.run(script)
        values = np.frombuffer(io.BytesIO(base64.b64decode(text)).read(), dtype=np.uint8)
        return values.reshape(height, width, 4)[::-1, :, :3]


class Page(Tab):
    """A tab of Chromium's; as a tablet it has fingers for a mouse, and two pixels where others have one."""

    def __init__(
        self, address: str, url: str, width: int = 1200, height: int = 800, before: str = "", tablet: bool = False
    ) -> None:
        super().__init__(address)
        self._target = self.call("Target.createTarget", url="about:blank", newWindow=True)["targetId"]
        self._whom = {"sessionId": self.call("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]}
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        self._tablet = tablet
        self.resize(width, height)
        if before:
            self.call("Page.addScriptToEvaluateOnNewDocument", source=before)
        self.call("Page.navigate", url=url)
        wait_until(lambda: self.run("document.readyState") == "complete", f"{url} is loaded")

    def resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if self._tablet else 1,
            mobile=self._tablet,
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=self._tablet, maxTouchPoints=5)

    def _note(self, event: dict[str, Any]) -> None:
        match event:
            case {"method": "Network.requestWillBeSent", "params": {"request": {"url": url}}}:
                self.requests.append(url)
            case {"method": "Network.webSocketCreated", "params": {"url": url}}:
                self.requests.append(url)
            case {"method": "Runtime.exceptionThrown", "params": {"exceptionDetails": details}}:
                self.errors.append(details.get("exception", {}).get("description", details["text"]))

    def run(self, script: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, modifiers: int = 0) -> None:
        held = 0 if kind == "mouseReleased" else 1
        place = {"x": x, "y": y, "button": "left", "buttons": held, "clickCount": 1, "modifiers": modifiers}
        self.call("Input.dispatchMouseEvent", type=kind, **place)

    def key(self, kind: str, key: str) -> None:
        text = key if kind == "keyDown" and key not in _KEY_CODES else ""
        self.call("Input.dispatchKeyEvent", type=kind, key=key, text=text, windowsVirtualKeyCode=_KEY_CODES.get(key, 0))

    def touch(self, kind: str, *fingers: tuple[float, float]) -> None:
        """`kind` is touchStart, touchMove or touchEnd; `fingers` are all that touch the screen now."""
        points = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(fingers)]
        self.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    def picture(self) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        if self._whom:
            self._whom = {}
            self.call("Target.closeTarget", targetId=self._target)
        self._stack.close()
