"""Make the README's screenshots of the live page and of a report, in a headless Chromium: `make docs`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.studio.view.browser import Page, browser  # noqa: E402
from tests.studio.view.conftest import serving  # noqa: E402

SIMLOOP = [sys.executable, "-c", "from simloop.studio.cli import main; main()"]


def show_live(chromium: str, out: Path) -> None:
    """The mobile manipulator, led upwards by its gizmo."""
    with serving("run", "mobile-teleop", "--view", "--out", str(out / "live")) as (url, process):
        page = Page(chromium, url, 1280, 800)
        page.wait("picture !== null && operating() && gizmo.at !== null && part('row')[0] > 1")
        page.run("scene.look(); scene.heading = -0.75; scene.distance *= 0.9; 0")
        begin = page.run("part('tools')[2]")
        x, y = page.run("scene.project(add(gizmo.at, [0, 0, gizmo.size()]))")
        page.mouse("mousePressed", x, y)
        page.mouse("mouseMoved", x, y - 90)
        page.wait(f"part('tools')[2] > {begin} + 0.05")
        (HERE / "live.png").write_bytes(page.picture())
        page.mouse("mouseReleased", x, y - 90)
        page.run("find('finish').click()")
        process.wait(120)
        page.close()


def show_report(chromium: str, out: Path) -> None:
    """YuMi's step, with the replay half way."""
    run = ["run", "yumi-step", "--step", "1/2000", "--set", "plant.mass_error=0.1", "--out", str(out / "yumi")]
    subprocess.run([*SIMLOOP, *run], check=True, stdout=subprocess.DEVNULL)
    page = Page(chromium, (out / "yumi" / "report.html").as_uri(), 1280, 1240)
    page.wait("document.body.dataset.frame === '0'")
    page.run("seek(1.7); 0")
    page.wait("document.body.dataset.frame === '85'")
    (HERE / "report.png").write_bytes(page.picture())
    page.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        show_live(chromium, Path(folder))
        show_report(chromium, Path(folder))


if __name__ == "__main__":
    main()
