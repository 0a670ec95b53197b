"""Each fault that is injected ends as the table in docs/drivers.md says, and the record up to there is whole."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest
from simloop.drivers.cia402 import State
from simloop.drivers.driver import Condition
from simloop.studio.request import Finished

from tests.drivers.bench import emulated_controller, emulated_drives, free_port, run_against, seconds

DOCS = Path(__file__).parents[2] / "docs" / "drivers.md"
ROW = re.compile(r"\| [^|]+ \| (canopen|egm) `([^`]+)` \| ([a-z ]+) \| (\d+) \| ([^|]+) \|")
ROWS = [found.groups() for line in DOCS.read_text(encoding="utf-8").splitlines() if (found := ROW.match(line))]


def test_the_table_has_every_kind_of_trouble() -> None:
    kinds = {row[1].split("@")[0] for row in ROWS if row[0] == "canopen"}
    assert kinds == {"lost", "late", "stuck", "fault", "cable", "push"}
    assert {row[1].split("@")[0] for row in ROWS if row[0] == "egm"} >= {"lost", "sequence", "fault", "cable"}


def judge(finished: Finished, begin: int, ends: str, within: int, cycles: int) -> None:
    result = finished.outcome.result
    conditions = result["plant.condition"]
    committed = len(result) - 1
    assert np.all(np.isfinite(result.vector("plant.q")))
    assert np.all(conditions[1:begin] == Condition.RUNNING)
    if ends == "hold":
        assert finished.status == "complete", finished.error
        assert committed == cycles
        assert set(conditions[begin : begin + within].tolist()) == {Condition.HOLD}
        assert np.all(conditions[begin + within :] == Condition.RUNNING)
        return
    assert finished.status == "failed"
    # The cycle in which it was stopped is not committed any more.
    assert begin <= committed + 1 <= begin + within - 1
    assert "plant failed in a step" in str(finished.error)


@pytest.mark.parametrize("row", [row for row in ROWS if row[0] == "canopen"], ids=lambda row: row[1])
def test_drives(row: tuple[str, ...], tmp_path: Path) -> None:
    _, trouble, ends, within, words = row
    begin = int(re.findall(r"@(\d+)", trouble)[0])
    cycles = begin + 40
    cut = trouble.startswith("cable")
    # A jump of the measured speed to zero looks like contact; what finds the stuck encoder without that is looked at.
    threshold = 0.0 if trouble.startswith("stuck") else 8.0
    # Where the drives must stop by themselves they should not take long.
    settings = {"watchdog": 2.0, "reply_timeout": 0.5} if cut else {"watchdog": 30.0}
    with emulated_drives([trouble]) as (drives, channel):
        finished = run_against(
            "canopen", tmp_path, seconds(cycles), channel=channel, control__force_threshold=threshold, **settings
        )
        judge(finished, begin, ends, int(within), cycles)
        if ends != "hold":
            assert words.strip() in str(finished.error)
        if cut:
            for _ in range(1000):
                if all(drive.state is State.FAULT for drive in drives.drives):
                    break
                time.sleep(0.02)
        states = {drive.state for drive in drives.drives}
        expected = {"fault": {State.FAULT, State.SWITCH_ON_DISABLED}, "hold": {State.SWITCH_ON_DISABLED}}
        stopped = {State.FAULT} if cut else {State.SWITCH_ON_DISABLED}
        assert states == expected.get(ends, stopped)
        assert all(drive.torque == 0 and drive.braked for drive in drives.drives)
        assert not drives.arm.v.any()


@pytest.mark.parametrize("row", [row for row in ROWS if row[0] == "egm"], ids=lambda row: row[1])
def test_a_controller_of_egm(row: tuple[str, ...], tmp_path: Path) -> None:
    _, trouble, ends, within, words = row
    begin = int(re.findall(r"@(\d+)", trouble)[0])
    cycles = begin + 40
    # The controller counts the five quiet cycles too, and what happens to the arm shows in its next message.
    later = 4 if trouble.startswith(("push", "stuck")) else 5
    shifted = trouble.replace(f"@{begin}", f"@{begin + later}")
    threshold = 0.0 if trouble.startswith("stuck") else 8.0
    with emulated_controller([("127.0.0.1", port := free_port())], [shifted]):
        finished = run_against("egm", tmp_path, seconds(cycles), port=port, control__force_threshold=threshold)
    judge(finished, begin, ends, int(within), cycles)
    if ends != "hold":
        assert words.strip() in str(finished.error)
