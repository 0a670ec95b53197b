"""The live page in a real browser: a person sees the arm move, steers it, breaks it, and lets go."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from simloop.studio.archive import Archive, read_archive
from simloop.studio.redundant import trace_tool

from tests.models.robot_files import write_arm
from tests.studio.view.browser import PATIENCE, Page, Tab
from tests.studio.view.conftest import OpenPage, serving

# A gamepad as the browser would report it, with its stick and its shoulder button in the test's hands.
FAKE_GAMEPAD = """
window.pad = {connected: true, axes: [0, 0, 0, 0], buttons: Array.from({length: 16}, () => ({pressed: false}))};
navigator.getGamepads = () => [window.pad];
"""


def spot_of(page: Tab, place: str) -> tuple[float, float]:
    """Where on the page a place in the world is seen; `place` is a script."""
    x, y = page.run(
        f"(() => {{ const box = find('scene').getBoundingClientRect(), p = scene.project({place});"
        " return [p[0] + box.left, p[1] + box.top]; })()"
    )
    return x, y


def around(pixels: NDArray[np.uint8], x: float, y: float, reach: int = 60) -> NDArray[np.int32]:
    left, top = max(0, round(x) - reach), max(0, round(y) - reach)
    return pixels[top : top + 2 * reach, left : left + 2 * reach].astype(np.int32)


def test_the_arm_is_seen_to_move_and_a_frozen_joint_holds(open_page: OpenPage, tmp_path: Path) -> None:
    with serving("run", "yumi-step", "--view", "--pace", "0.1", "--out", str(tmp_path / "run")) as (url, process):
        page = open_page(url)
        page.wait("picture !== null && operating() && find('play').dataset.paused === 'false'")
        page.run("find('play').click()")
        page.wait("picture[2] > 0")
        spot = spot_of(page, "[...part('tools').subarray(0, 3)]")
        before = page.pixels()
        began = page.run("part('row')[0]")
        page.run("find('speed').value = '0.5'; find('speed').dispatchEvent(new Event('change')); find('play').click()")
        page.wait(f"part('row')[0] > {began} + 1.5")
        after = page.pixels()
        assert np.abs(around(after, *spot) - around(before, *spot)).max() > 30
        corner = np.abs(after[:40, -40:].astype(int) - before[:40, -40:]).max()
        assert corner <= 2, "where there is no arm nothing changes"

        page.run("chosen[0].kind.value = '2'; chosen[0].kind.dispatchEvent(new Event('change')); 0")
        page.wait("part('plant.fault')[0] === 2")
        page.wait("find('badges').textContent.includes('frozen: left_1')")
        now = page.run("part('row')[0]")
        page.wait(f"part('row')[0] > {now} + 0.3")
        page.run("find('finish').click()")
        assert process.wait(PATIENCE) == 0
        assert not page.errors
        page.close()
    archive = read_archive(tmp_path / "run")
    frozen = archive.result["plant.fault[1]"] == 2
    moved = np.ptp(archive.result.vector("plant.q_true")[frozen], axis=0)
    assert frozen.sum() > 0.2 * 200
    assert moved[0] == 0.0
    assert moved[1:].max() > 1e-3
    assert archive.record["writes"][-1]["name"] == "plant.fault[1]"


def steer_by_mouse(page: Tab) -> None:
    """Drag the gizmo's upward arrow, and keep holding it until the gripper has gone 2 cm."""
    begin = page.run("part('tools')[2]")
    x, y = spot_of(page, "add(gizmo.at, [0, 0, gizmo.size()])")
    page.mouse("mousePressed", x, y)
    for k in range(1, 11):
        page.mouse("mouseMoved", x, y - 8 * k)
    page.wait("part('planner.enable')[0] === 1")
    page.wait(f"part('tools')[2] > {begin} + 0.02")


def steer_by_gamepad(page: Tab) -> None:
    """With the shoulder button held, the left stick forward: along x."""
    begin = page.run("part('tools')[0]")
    page.run("pad.axes[1] = -1; 0")
    time.sleep(0.3)
    assert abs(page.run("part('tools')[0]") - begin) < 1e-3, "without the dead-man's switch nothing moves"
    page.run("pad.buttons[5].pressed = true; 0")
    page.wait(f"part('tools')[0] > {begin} + 0.02")
    page.run("pad.buttons[5].pressed = false; 0")
    page.wait("part('planner.enable')[0] === 0")


def turn_by_mouse(page: Tab) -> None:
    """Drag the gizmo's ring about the vertical, and keep holding it until the gripper has turned by 0.2 rad."""
    turned = (
        "(([w, x, y, z]) => Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))(part('tools').subarray(3, 7))"
    )
    begin = page.run(turned)
    spots = [spot_of(page, f"gizmo.ring(2)[{k}]") for k in (4, 5, 6, 7, 8)]
    page.mouse("mousePressed", *spots[0])
    for spot in spots:
        page.mouse("mouseMoved", *spot)
    page.wait(f"Math.sin({turned} - {begin}) > 0.2")
    assert page.run("gizmo.twist().slice(0, 5)") == [0, 0, 0, 0, 0], "about the vertical, on the spot"
    page.mouse("mouseReleased", *spots[-1])
    page.wait("part('planner.enable')[0] === 0")


# Rows after a let-go in which the arm comes to rest.
STOPPING = 65


def stopped_at(archive: Archive) -> list[int]:
    """The rows in which the operator's switch was let go for good, or for long enough to come to rest."""
    held = archive.result["planner.enable"].astype(int)
    let_go = np.flatnonzero(np.diff(held) < 0) + 1
    return [int(k) for k in let_go if k + STOPPING < len(held) and not held[k : k + STOPPING].any()]


def test_a_person_steers_the_gripper_and_the_session_replays_to_the_same_bytes(
    open_page: OpenPage, tmp_path: Path
) -> None:
    with serving("run", "mobile-teleop", "--view", "--out", str(tmp_path / "live")) as (url, process):
        page = open_page(url, before=FAKE_GAMEPAD)
        page.wait("picture !== null && operating() && gizmo.at !== null")
        steer_by_mouse(page)
        # The page says nothing more, as when a cable is pulled: the loop must find out by itself.
        page.run("socket.send = () => {}; 0")
        page.wait("part('planner.enable')[0] === 0")
        page.close()

        page = open_page(url, before=FAKE_GAMEPAD)
        page.wait("picture !== null && operating() && gizmo.at !== null")
        turn_by_mouse(page)
        steer_by_gamepad(page)
        page.wait(f"part('row')[0] > {page.run('part(`row`)[0]')} + 0.4")
        page.run("find('finish').click()")
        assert process.wait(PATIENCE) == 0
        assert not page.errors
        assert url in page.requests
        assert {request.split("/")[2] for request in page.requests if "://" in request} == {url.split("/")[2]}
        page.close()

    archive = read_archive(tmp_path / "live")
    tool = trace_tool_of(archive)
    let_go = stopped_at(archive)
    assert len(let_go) >= 2
    speed = np.linalg.norm(np.diff(tool, axis=0), axis=1) * 200
    for row in let_go:
        # Its motion fades within 0.1 s; then a platform at 0.2 m/s brakes on, with 60 % of 300 N on 101 kg, for 0.11 s.
        assert (speed[row + 45 : row + STOPPING] < 1e-3).all()
    assert all(figure["ok"] for figure in archive.record["summary"].values() if "ok" in figure)

    again = ["run", "mobile-teleop", "--replay", str(tmp_path / "live" / "operator.json"), "--out", str(tmp_path / "b")]
    command = [sys.executable, "-c", "from simloop.studio.cli import main; main()", *again]
    subprocess.run(command, check=True, capture_output=True)
    same = [(tmp_path / folder / "signals.parquet").read_bytes() for folder in ("live", "b")]
    assert same[0] == same[1]


def test_a_persons_own_robot_is_steered(chromium: str, tmp_path: Path) -> None:
    robot = str(write_arm(tmp_path))
    with serving("run", "teleop", "--robot", robot, "--view", "--out", str(tmp_path / "run")) as (url, process):
        page = Page(chromium, url)
        page.wait("picture !== null && operating() && gizmo.at !== null")
        steer_by_mouse(page)
        page.mouse("mouseReleased", 10, 10)
        page.run("find('finish').click()")
        assert process.wait(PATIENCE) == 0
        assert not page.errors
        page.close()
    record = read_archive(tmp_path / "run").record
    assert record["robot"] == "arm"
    assert all(figure["ok"] for figure in record["summary"].values() if "ok" in figure)


def trace_tool_of(archive: Archive) -> NDArray[np.float64]:
    from simloop.models.robots.mobile import ROBOT

    return trace_tool(ROBOT, archive.result).positions


def test_a_link_is_pulled_by_hand(chromium: str, tmp_path: Path) -> None:
    """Alt-drag pulls with a spring: an external force that lasts as long as the hand does."""
    with serving("run", "sphere-guiding", "--view", "--out", str(tmp_path / "run"), "--duration", "60") as (
        url,
        process,
    ):
        page = Page(chromium, url)
        page.wait("picture !== null && operating()")
        alt = 1
        x, y = spot_of(page, "[...scene.pose(scene.pieces.find(piece => !piece.standing).body).subarray(0, 3)]")
        began = page.run("part('plant.q_true')[0]")
        page.mouse("mousePressed", x, y, alt)
        page.mouse("mouseMoved", x, y - 60, alt)
        page.wait("part('plant.f_ext')[0] > 5")
        page.wait(f"part('plant.q_true')[0] > {began} + 0.02")
        page.mouse("mouseReleased", x, y - 60, alt)
        page.wait("part('plant.f_ext')[0] === 0")
        page.run("find('finish').click()")
        assert process.wait(PATIENCE) == 0
        page.close()


def test_reset_begins_again_with_a_changed_parameter_and_tells_a_bad_one(chromium: str, tmp_path: Path) -> None:
    with serving("run", "sphere-step", "--view", "--out", str(tmp_path / "run")) as (url, process):
        page = Page(chromium, url)
        page.wait("picture !== null && operating() && status.parameters")
        begin_again = "find('more-name').value = '{}'; find('more-value').value = '{}'; find('again').click()"
        page.wait("part('row')[0] > 0.5")
        page.run(begin_again.format("plant.mass_error", "0.25"))
        page.wait("Number(status.parameters['plant.mass_error']) === 0.25")
        page.run(begin_again.format("plant.mass_error", "heavy"))
        page.wait("status.notice && status.notice.includes(\"plant.mass_error cannot be 'heavy'\")")
        page.run("find('more-name').value = ''; find('finish').click()")
        assert process.wait(PATIENCE) == 0
        page.close()
    assert float(read_archive(tmp_path / "run").record["parameters"]["plant.mass_error"]) == 0.25


def test_a_person_goes_on_to_another_scenario_in_the_same_page(chromium: str, tmp_path: Path) -> None:
    with serving("run", "sphere-step", "--view", "--out", str(tmp_path / "run")) as (url, process):
        page = Page(chromium, url)
        page.wait("picture !== null && operating() && joints.length === 1")
        page.run("find('scenario').value = 'yumi-step'; find('scenario').dispatchEvent(new Event('change')); 0")
        page.wait(
            "document.readyState === 'complete' && hello.scenario === 'yumi-step' && picture !== null && operating()"
        )
        page.wait("part('row')[0] > 0.1")
        assert page.run("[joints.length, find('scenario').value]") == [14, "yumi-step"]
        page.run("find('finish').click()")
        assert process.wait(PATIENCE) == 0
        assert not page.errors
        page.close()
    archive = read_archive(tmp_path / "run")
    assert archive.scenario == "yumi-step"
