"""What the tests of views share: browsers, a recorded run, and a live one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest
from simloop.studio import scenarios
from simloop.studio.request import Request
from simloop.studio.runner import run_to_folder

from tests.studio.view import firefox as fox
from tests.studio.view.browser import Page, Tab, browser, program

OpenPage = Callable[..., Tab]
Command = Callable[..., AbstractContextManager[tuple[str, subprocess.Popen[str]]]]


@pytest.fixture(scope="session")
def chromium() -> Iterator[str]:
    if program() is None and "SIMLOOP_NEEDS_BROWSER" not in os.environ:
        pytest.skip("there is no Chromium here; apt-get install chromium")
    with browser() as address:
        yield address


@pytest.fixture(scope="session")
def firefox() -> Iterator[str]:
    if fox.program() is None and "SIMLOOP_NEEDS_BROWSER" not in os.environ:
        pytest.skip("there is no Firefox with a display here; apt-get install firefox-esr xvfb")
    with fox.firefox() as address:
        yield address


@pytest.fixture(params=["chromium", "firefox"])
def open_page(request: pytest.FixtureRequest) -> Iterator[OpenPage]:
    """Opens an address in each of the browsers; what is still open after the test is closed."""
    address: str = request.getfixturevalue(request.param)
    kind = {"chromium": Page, "firefox": fox.FirefoxPage}[request.param]
    with ExitStack() as stack:

        def open_it(url: str, **more: str) -> Tab:
            page: Tab = kind(address, url, **more)
            stack.callback(page.close)
            return page

        yield open_it


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """YuMi's first two seconds, as a folder of results."""
    folder = tmp_path_factory.mktemp("recorded") / "yumi"
    request = Request(scenarios.load("yumi-step"), duration="2", settings={"plant.mass_error": 0.1})
    run_to_folder(request, folder, csv=False, command="simloop run yumi-step")
    return folder


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A command of simloop's that serves a page: its address, and its process."""
    command = [sys.executable, "-u", "-c", "from simloop.studio.cli import main; main()", *arguments, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            if line.startswith("view: http://"):
                break
            said.append(line)
        else:
            raise AssertionError(f"no page is served: {''.join(said)}")
        yield line.split()[1], process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
        process.communicate()
