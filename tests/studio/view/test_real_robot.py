"""A page that watches drives: they wait for no one, and what the model does not explain is seen as it happens."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from simloop.studio.archive import read_archive

from tests.drivers.drives import emulator, multicast_works
from tests.studio.view.browser import PATIENCE
from tests.studio.view.conftest import serving
from tests.studio.view.test_door import enter, hear_until

pytest.importorskip("can")
pytestmark = pytest.mark.skipif(not multicast_works(), reason="no UDP multicast on this machine")


def test_drives_are_not_switched_on_before_someone_came_and_are_never_paused(tmp_path: Path) -> None:
    """Drives that were switched on and then heard nothing for their watchdog's 5 s would be in fault."""
    patient = ["--set", "driver.reply_timeout=5", "--set", "driver.watchdog=5"]
    with emulator(tmp_path, "--mass-error", "0.05") as drives:
        options = ("--view", "--shadow", "--duration", "1", *patient)
        with serving(*drives.run_arguments(tmp_path / "run", *options)) as (url, process):
            assert "ready to switch on" not in drives.said()
            with enter(url) as guest:
                for what in ({"do": "pause"}, {"do": "speed", "value": 0.1}, {"do": "again", "set": {}}):
                    guest.send(json.dumps(what))
                    hear_until(guest, notice=f"a real robot waits for no one: {what['do']} is for simulated ones")
                hear_until(guest, ended=True)
                guest.send(json.dumps({"do": "finish"}))
                assert process.wait(PATIENCE) == 0
        drives.wait_for("switch on disabled, torque 0", 7)
    archive = read_archive(tmp_path / "run")
    assert archive.record["rows"] == 251
    # An arm 5 % heavier than its model: what the model cannot explain is 5 % of the weight that the motors carry.
    unexplained, weight = (archive.result.vector(name)[-1] for name in ("plant.residual_force", "control.tau"))
    carrying = np.abs(weight) > 5.0
    np.testing.assert_allclose(unexplained[carrying], -0.05 / 1.05 * weight[carrying], rtol=0.1)
