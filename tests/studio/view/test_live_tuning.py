"""What a person changes in the page while it runs counts from the next step on, and replays to the same bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from simloop.studio.archive import read_archive

from tests.studio.view.browser import PATIENCE, Page
from tests.studio.view.conftest import serving


def set_field(page: Page, name: str, value: str) -> None:
    page.run(
        f"(field => {{ field.value = '{value}'; field.dispatchEvent(new Event('change')); }})"
        f"(tuned.find(one => one.name === '{name}').field)"
    )


def test_mass_error_and_noise_change_while_it_runs(chromium: str, tmp_path: Path) -> None:
    """As in S1, from the click on: a sphere of 1 kg that is 10 % heavier than its model needs 0.1 (g + a) N more."""
    live = tmp_path / "live"
    with serving("run", "sphere-step", "--view", "--out", str(live)) as (url, process):
        page = Page(chromium, url)
        page.wait("picture !== null && operating() && part('row')[0] > 1")
        set_field(page, "plant.mass_error", "0.1")
        page.wait("Math.abs(part('plant.mass_error')[0] - 0.1) < 1e-6")
        page.wait(f"part('row')[0] > {page.run('part(`row`)[0]')} + 0.5")
        set_field(page, "plant.noise", "1e-6")
        page.wait("part('plant.noise')[0] > 0")
        set_field(page, "plant.noise", "-1")
        page.wait("status.notice === 'plant.noise cannot be -1; it must be at least 0'")
        page.wait("status.ended")
        page.run("find('finish').click()")
        assert process.wait(PATIENCE) == 0
        assert not page.errors
        page.close()

    archive = read_archive(live)
    heavier, noisy = archive.record["writes"]
    assert (heavier["name"], heavier["value"]) == ("plant.mass_error", 0.1)
    assert (noisy["name"], noisy["value"]) == ("plant.noise", 1e-6)
    first, second = (int(np.searchsorted(archive.result["time"], write["time"])) for write in (heavier, noisy))
    difference = archive.result["control.tau[1]"] - archive.result["control.tau_replay[1]"]
    np.testing.assert_allclose(difference[1 : first + 1], 0.0, atol=1e-9)
    acceleration = float(np.diff(archive.result["plant.v[1]"])[second - 1]) * 200
    assert difference[second] == pytest.approx(0.1 * (9.82 + acceleration), rel=1e-6)
    told = archive.result["plant.q[1]"] - archive.result["plant.q_true[1]"]
    assert not told[: second + 1].any()
    assert told[second + 1 :].std() == pytest.approx(1e-6, rel=0.15)

    command = [sys.executable, "-c", "from simloop.studio.cli import main; main()", "run", "sphere-step"]
    subprocess.run([*command, "--replay", live / "operator.json", "--out", tmp_path / "again"], check=True)
    assert (live / "signals.parquet").read_bytes() == (tmp_path / "again" / "signals.parquet").read_bytes()
