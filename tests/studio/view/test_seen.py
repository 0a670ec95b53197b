"""What a person sees stays true: ghosts in their own colours, marks where something happened, words long enough to be
read, and the robot in the picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.studio.view.browser import PATIENCE, Page
from tests.studio.view.conftest import serving


def test_a_ghost_is_blue_and_veils_only_links_that_are_elsewhere(chromium: str, recorded: Path) -> None:
    """Over what is opaque a ghost adds 0.35 of its colour, and the page behind the canvas adds nothing."""
    with serving("view", str(recorded)) as (url, _):
        page = Page(chromium, url)
        page.wait("picture !== null && operating()")
        page.run("find('play').dataset.paused === 'false' && find('play').click()")
        page.wait("picture[2] > 0")
        page.run("find('plan').checked = find('prediction').checked = false; scene.ghosts = []; scene.draw(); 0")
        bare = page.pixels().astype(int)
        page.run("scene.ghosts = [{poses: scene.poses, colour: '#0072B2'}]; scene.draw(); 0")
        assert np.abs(page.pixels() - bare).max() == 0, "where the robot is itself"
        page.run(
            "window.moved = new Float32Array(scene.poses);"
            " for (let b = 0; b < moved.length; b += 7) moved[b + 1] += 0.3;"
            " scene.ghosts = [{poses: moved, colour: '#0072B2'}]; scene.draw(); 0"
        )
        seen = page.pixels().astype(int)
        floor = bare[0, 0]
        veiled = (np.abs(bare - floor).max(axis=2) <= 1) & (np.abs(seen - bare).max(axis=2) > 20)
        assert veiled.sum() > 1000
        # Red is what blue has least of: 0.65 of the floor's is left.
        assert np.median(seen[veiled][:, 0]) <= 0.65 * floor[0] + 2
        opaque = page.run(
            "(() => { const c = scene.canvas, gl = scene.gl, p = new Uint8Array(4 * c.width * c.height);"
            " gl.readPixels(0, 0, c.width, c.height, gl.RGBA, gl.UNSIGNED_BYTE, p);"
            " return p.every((value, i) => i % 4 !== 3 || value === 255); })()"
        )
        assert opaque
        page.close()


def test_a_new_run_has_no_marks_of_the_old_one_and_a_refusal_can_be_read(chromium: str, tmp_path: Path) -> None:
    with serving("run", "sphere-step", "--view", "--out", str(tmp_path / "run")) as (url, process):
        page = Page(chromium, url)
        page.wait("picture !== null && operating() && part('row')[0] > 0.3")
        page.run("chosen[0].kind.value = '1'; chosen[0].kind.dispatchEvent(new Event('change')); 0")
        page.wait("strips[0].strip.happened.some(mark => mark.kind === 'fault')")
        page.run("find('again').click()")
        page.wait("part('plant.fault')[0] === 0 && part('row')[0] > 0.2 && part('row')[0] < 10")
        assert page.run("strips[0].strip.happened.length") == 0
        page.run("tuned[0].field.value = 'abc'; tuned[0].field.dispatchEvent(new Event('change')); 0")
        page.wait(f"part('row')[0] > {page.run('part(`row`)[0]')} + 1")
        assert page.run("find('notice').textContent") == "plant.mass_error cannot be 'abc'; it takes a number"
        page.run("find('finish').click()")
        assert process.wait(PATIENCE) == 0
        page.wait("find('state').textContent.startsWith('The session is over. Its results: ')")
        assert page.run("find('notice').hidden && find('again').disabled && find('scenario').disabled")
        assert page.run("find('state').textContent").endswith(str(tmp_path / "run" / "report.html"))
        assert not page.errors
        page.close()


def test_a_tool_that_goes_away_stays_in_the_picture_unless_the_view_was_shifted(chromium: str, tmp_path: Path) -> None:
    """The sphere rises by a metre, out of what the camera first sees."""
    spot = "scene.project([...part('tools').subarray(0, 3)])[1]"
    with serving("run", "sphere-step", "--view", "--pace", "4", "--out", str(tmp_path / "run")) as (url, _):
        page = Page(chromium, url)
        page.wait("picture !== null && part('row')[0] > 6")
        page.wait(f"{spot} > 0.15 * scene.canvas.clientHeight")
        page.run("find('scene').focus(); scene._shift(0, 100); window.chosenView = [...scene.target]; 0")
        page.wait("part('row')[0] > 7")
        assert page.run("scene.target.every((value, i) => value === chosenView[i])")
        page.close()
