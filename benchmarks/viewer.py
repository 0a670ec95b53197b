"""What a viewer costs the loop: macro steps a second with a page watching, as a part of those without, in one run.

The page is a WebSocket client in a process of its own that takes every picture. One run is watched and not in turn, by
blocks of a tenth of a second, so that both see the same machine; when it is not watched, viewer and page stand still.
The medians over neighbouring blocks are told: of the macro steps in a second of wall time, where on a machine that is
busy the viewer takes its part of the processors too, and of those in a second of the loop's own processor time, which
is what the loop spends on being watched.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from simloop.fmus.export import build
from simloop.master import Account, FmuComponent, System, run, simulation_in_the_loop
from simloop.master.run import exact_seconds
from simloop.studio import scenarios
from simloop.studio.scenario import Scenario
from simloop.studio.view.live import Live
from simloop.studio.view.viewer import Address, Viewer, playbill_of

STEP = exact_seconds("step", "1/2000")
# Macro steps in a block, pairs of blocks, and pairs before those that count.
BLOCK, PAIRS, WARM_UP = 500, 100, 5
Keep = Callable[[int], bool]


def watch(url: str) -> None:
    """A page that only looks."""
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    parts = urlsplit(url)
    with connect(f"ws://{parts.netloc}/live?{parts.query}", origin=f"http://{parts.netloc}") as socket:
        try:
            while True:
                socket.recv()
        except ConnectionClosed:
            return


class Turns:
    """What the run asks before each macro step: watched in every second block, and the clocks where each begins."""

    def __init__(self, watched: Keep, watchers: list[int]) -> None:
        self._watched, self._watchers = watched, watchers
        self.clocks: list[tuple[float, float]] = []

    def __call__(self, done: int) -> bool:
        block, within = divmod(done, BLOCK)
        if within == 0:
            for process in self._watchers:
                os.kill(process, signal.SIGCONT if block % 2 else signal.SIGSTOP)
            self.clocks.append((time.perf_counter(), time.process_time()))
        return self._watched(done) if block % 2 else True

    def ratios(self, clock: int) -> list[float]:
        """Of each pair: how fast the watched block was, the other being 1."""
        spent = [after[clock] - before[clock] for before, after in zip(self.clocks, self.clocks[1:], strict=False)]
        return [alone / watched for alone, watched in zip(spent[::2], spent[1::2], strict=False)][WARM_UP:]


def take_turns(scenario: Scenario, units: Path, live: Live, watchers: Callable[[], list[int]]) -> tuple[Turns, float]:
    """The run, and its macro steps a second of wall time when it is not watched."""
    kinds = {"planner": scenario.planner, "control": "control", "plant": "plant", "collision": "collision"}
    system = System(FmuComponent(name, units / f"{kind}.fmu") for name, kind in kinds.items())
    try:
        scenario.connect(system)
        system.set("plant.f_ext", 0.0)
        for name, value in scenario.parameters(float(STEP)).items():
            system.set(name, value)
        watched = live.watch(system, STEP, {}, lambda done: True, Account())  # waits for the page
        turns = Turns(watched, watchers())
        blocks = 2 * (PAIRS + WARM_UP)
        run(system, simulation_in_the_loop(system), step=STEP, duration=blocks * BLOCK * STEP, keep_going=turns)
    finally:
        system.close()
    spent = [after[0] - before[0] for before, after in zip(turns.clocks, turns.clocks[1:], strict=False)]
    return turns, BLOCK / statistics.median(spent[::2])


def main() -> None:
    for name in ("sphere-step", "yumi-step"):
        scenario = scenarios.load(name)
        bill = playbill_of(name, scenario.title, scenario.robot, scenario.obstacles)
        with tempfile.TemporaryDirectory() as folder, Address(port=0) as address, Viewer(address, bill) as viewer:
            for kind in (scenario.planner, "control", "plant", "collision"):
                build(kind, scenario.robot, Path(folder) / f"{kind}.fmu", scenario.obstacles)
            page = multiprocessing.get_context("spawn").Process(target=watch, args=(address.url,), daemon=True)
            page.start()

            def watchers(viewer: Viewer = viewer, page: multiprocessing.process.BaseProcess = page) -> list[int]:
                return [pid for pid in (viewer.pid, page.pid) if pid is not None]

            turns, alone = take_turns(scenario, Path(folder), Live(viewer.open, speed=0.0), watchers)
            wall, own = (statistics.median(turns.ratios(clock)) for clock in (0, 1))
            told = f"watched, {wall:.3f} of that by the wall, {own:.3f} by the loop's own processor time"
            print(f"{name}: {alone:.0f} macro steps/s alone; {told} (medians of {PAIRS} pairs)")
            page.kill()


if __name__ == "__main__":
    main()
