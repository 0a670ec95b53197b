"""The pages on a tablet, upright and lying, and a report on a phone: by fingers alone, nothing cut off or too small."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.studio.view.browser import Page, wait_until
from tests.studio.view.conftest import serving
from tests.studio.view.test_live_page import spot_of

UPRIGHT, LYING, PHONE = (820, 1180), (1180, 820), (400, 800)
# What a finger aims at: a control, or the whole label of a small one. Smaller than 40 px either way, or over another.
CROWDED = """(() => {
  const seen = [...document.querySelectorAll("button, select, input, summary")]
    .filter(one => one.getClientRects().length);
  const places = [...new Set(seen.map(one => one.type === "checkbox" ? one.closest("label") : one))]
    .map(one => ({one, box: one.getBoundingClientRect()}));
  const small = places.filter(({box}) => box.width < 40 || box.height < 40);
  const over = places.filter(({one, box}) => places.some(other => other.one !== one && !other.one.contains(one) &&
    !one.contains(other.one) && box.left < other.box.right - 1 && other.box.left < box.right - 1 &&
    box.top < other.box.bottom - 1 && other.box.top < box.bottom - 1));
  const out = places.filter(({box}) => box.left < 0 || box.right > innerWidth);
  return [...small, ...over, ...out].map(({one}) => one.outerHTML);
})()"""


def check_fit(page: Page, width: int) -> None:
    page.wait(f"innerWidth === {width}")
    assert page.run("document.documentElement.scrollWidth") == width, "nothing is wider than the screen"
    assert page.run(CROWDED) == []


def drag(page: Page, begin: tuple[float, float], way: tuple[float, float]) -> None:
    page.touch("touchStart", begin)
    for k in (1, 2):
        page.touch("touchMove", (begin[0] + way[0] * k / 2, begin[1] + way[1] * k / 2))


def settled(page: Page, script: str) -> Any:
    """What a script gives once it gives the same for ten frames: a browser hands moves on with the frame after."""
    return page.run(
        "new Promise(done => { let before = '', same = 0; const look = () => {"
        f" const now = {script}, text = JSON.stringify(now);"
        " same = text === before ? same + 1 : 0; before = text;"
        " if (same >= 10) done(now); else requestAnimationFrame(look); }; look(); })"
    )


def test_fingers_steer_turn_zoom_and_pull(chromium: str, tmp_path: Path) -> None:
    with serving("run", "mobile-teleop", "--view", "--out", str(tmp_path / "run")) as (url, _):
        page = Page(chromium, url, *UPRIGHT, tablet=True)
        page.wait("picture !== null && operating() && gizmo.at !== null")
        check_fit(page, UPRIGHT[0])
        page.resize(*LYING)
        check_fit(page, LYING[0])
        assert page.run("find('scene').clientHeight") > 300

        begin = page.run("part('tools')[2]")
        x, y = spot_of(page, "add(gizmo.at, [0, 0, gizmo.size()])")
        drag(page, (x, y), (0, -80))
        page.wait(f"part('tools')[2] > {begin} + 0.02")
        wanted = settled(page, "gizmo.target")
        far = (x - 300, y + 150)
        page.touch("touchStart", (x, y - 80), far)
        page.touch("touchMove", (x, y - 80), (far[0] + 60, far[1]))
        assert settled(page, "gizmo.target") == wanted, "a second finger does not lead the gripper elsewhere"
        page.touch("touchEnd")
        page.wait("part('planner.enable')[0] === 0")

        view = "[scene.heading, scene.distance, ...scene.target]"
        before = page.run(view)
        drag(page, (100, 500), (60, 0))
        page.touch("touchEnd")
        turned = settled(page, view)
        assert turned[0] != before[0]
        assert turned[1:] == before[1:]

        page.touch("touchStart", (150, 500), (250, 500))
        for k in (1, 2):
            page.touch("touchMove", (150 - 25 * k, 500), (250 + 25 * k, 500))
        page.touch("touchEnd")
        # Fingers twice as far apart bring the camera to half the distance.
        assert settled(page, "scene.distance") == pytest.approx(turned[1] / 2, rel=0.02)
        assert page.run("scene.heading") == turned[0]

        page.run("find('grab').click(); scene.look()")
        drag(
            page,
            spot_of(page, "[...scene.pose(scene.pieces.find(piece => !piece.standing).body).subarray(0, 3)]"),
            (0, 60),
        )
        page.wait("part('plant.f_ext').some(force => Math.abs(force) > 5)")
        page.touch("touchEnd")
        page.wait("part('plant.f_ext').every(force => force === 0)")
        assert not page.errors
        page.close()


@pytest.mark.parametrize("size", [UPRIGHT, PHONE])
def test_a_report_is_read_by_fingers(size: tuple[int, int], chromium: str, recorded: Path) -> None:
    page = Page(chromium, (recorded / "report.html").as_uri(), *size, tablet=True)
    page.wait("document.body.dataset.frame === '0'")
    check_fit(page, size[0])
    page.run("plots[0].scrollIntoView({block: 'center'}); 0")
    before = page.run("scrollY")
    drag(page, (size[0] / 2, size[1] / 2), (0, -150))
    page.touch("touchEnd")
    wait_until(lambda: page.run("scrollY") > before + 50, "a finger on a graph scrolls the page")
    assert not page.errors
    page.close()
