"""The pages by keyboard alone: every control is reached and shows it, the view turns, the gripper is steered."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.studio.view.browser import Tab
from tests.studio.view.conftest import OpenPage, serving

# What takes a key or a click and can be seen now.
CONTROLS = """[...document.querySelectorAll("button, select, input, summary, canvas[tabindex], .plot[tabindex]")]
    .filter(one => !one.disabled && one.getClientRects().length)"""

DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"


def dark(pixels: NDArray[np.uint8]) -> int:
    return int((pixels.max(axis=2) < 50).sum())


def press(page: Tab, key: str) -> None:
    page.key("keyDown", key)
    page.key("keyUp", key)


def walk(page: Tab) -> None:
    """From where nothing has been touched yet, Tab reaches every control, and each shows that it is reached."""
    page.run(
        f"window.unreached = new Set({CONTROLS}); addEventListener('focusin', ({{target}}) =>"
        " getComputedStyle(target).outlineStyle !== 'none' && unreached.delete(target)); 0"
    )
    count = page.run("unreached.size")
    for _ in range(count + 2):
        page.key("keyDown", "Tab")
    assert page.run("[...unreached].map(one => one.outerHTML)") == []
    assert count > 5


def test_a_person_steers_by_keys_and_a_typed_letter_does_not(open_page: OpenPage, tmp_path: Path) -> None:
    with serving("run", "mobile-teleop", "--view", "--out", str(tmp_path / "run")) as (url, _):
        page = open_page(url)
        page.wait("picture !== null && operating() && status.parameters && gizmo.at !== null")
        walk(page)
        page.run("find('plan').focus(); 0")
        begin = page.run("[...part('tools').subarray(0, 3)]")
        page.key("keyDown", "w")
        page.wait(f"part('tools')[0] > {begin[0]} + 0.02")
        page.key("keyUp", "w")
        page.wait("part('planner.enable')[0] === 0")
        time.sleep(0.5)
        rest = page.run("[...part('tools').subarray(0, 3)]")
        aside = max(abs(rest[i] - begin[i]) for i in (1, 2))
        assert aside < 0.1 * (rest[0] - begin[0]), "W is along x"
        time.sleep(0.5)
        assert abs(page.run("part('tools')[0]") - rest[0]) < 1e-4

        page.run("find('more-name').focus(); 0")
        page.key("keyDown", "w")
        time.sleep(0.5)
        page.key("keyUp", "w")
        assert page.run("find('more-name').value") == "w"
        assert page.run("part('planner.enable')[0]") == 0
        assert abs(page.run("part('tools')[0]") - rest[0]) < 1e-4

        page.run("find('scene').focus(); 0")
        for key, quantity in (("ArrowLeft", "heading"), ("ArrowUp", "height"), ("-", "distance")):
            before = page.run(f"scene.{quantity}")
            press(page, key)
            assert page.run(f"scene.{quantity}") != before
        assert not page.errors


def test_the_report_is_reached_by_keys(open_page: OpenPage, recorded: Path) -> None:
    page = open_page((recorded / "report.html").as_uri())
    page.wait("document.body.dataset.frame === '0'")
    walk(page)
    before = page.pixels()
    page.run("document.querySelector('.chips button').focus(); 0")
    page.wait(DRAWN)
    lit = page.pixels()
    assert dark(lit) > dark(before) + 100, "the link of a joint that is reached stands out, whatever its colour"
    page.run("document.getElementById('scene').focus(); 0")
    page.wait(DRAWN)
    assert (page.pixels() == before).all()
    press(page, "ArrowLeft")
    page.wait(DRAWN)
    assert (page.pixels() != before).any()
    press(page, " ")
    page.wait("Number(document.body.dataset.frame) > 5")
    assert not page.errors
