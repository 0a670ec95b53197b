"""Where the browser has no WebGL, or takes it away for a while."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.studio.view.browser import Page
from tests.studio.view.conftest import serving

NO_WEBGL = """const own = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function(kind, ...more) {
  return kind.startsWith("webgl") ? null : own.call(this, kind, ...more);
};"""


def test_without_webgl_the_live_page_says_so_and_the_report_keeps_its_graphs(chromium: str, recorded: Path) -> None:
    with serving("view", str(recorded)) as (url, _):
        page = Page(chromium, url, before=NO_WEBGL)
        told = page.run("document.querySelector('body > .notice').textContent")
        assert told.startswith("The robot cannot be drawn: this browser offers no WebGL. ")
        page.close()

    page = Page(chromium, (recorded / "report.html").as_uri(), before=NO_WEBGL)
    told = page.run("document.querySelector('.replay .notice').textContent")
    assert told == "The replay cannot be drawn: this browser offers no WebGL. The graphs below are whole."
    page.run("time.value = 1.0; time.dispatchEvent(new Event('input')); 0")
    assert page.run("document.getElementById('told').textContent").startswith("1.00 / 2.00 s")
    assert not page.errors
    page.close()


def test_a_scene_that_lost_its_memory_is_drawn_again(chromium: str, recorded: Path) -> None:
    """As on a tablet, when another program was in front."""
    with serving("view", str(recorded)) as (url, _):
        page = Page(chromium, url)
        page.wait("picture !== null && operating() && find('play').dataset.paused")
        page.run("find('play').dataset.paused === 'false' && find('play').click()")
        page.wait("picture[2] > 0")
        page.run("scene.draw()")
        before = page.pixels().astype(int)
        page.run("window.memory = scene.gl.getExtension('WEBGL_lose_context'); memory.loseContext()")
        page.wait("scene.gl.isContextLost()")
        page.run("find('scene').addEventListener('webglcontextrestored', () => { window.back = true; }); 0")
        page.run("memory.restoreContext()")
        page.wait("window.back && !scene.stale")
        assert np.abs(page.pixels() - before).max() <= 2
        assert not page.errors
        page.close()
