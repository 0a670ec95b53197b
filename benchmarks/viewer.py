"""What a viewer costs the loop: macro steps a second with a page watching, as a part of those without, in one run.

The page is a WebSocket client in a process of its own that takes every picture. The runs alternate, so that both see
the same machine; the medians of their ratios are told: of the macro steps in a second of wall time, where on a machine
that is busy the viewer takes its part of the processors too, and of those in a second of the loop's own processor
time, which is what the loop spends on being watched.
"""

from __future__ import annotations

import multiprocessing
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

STEP, SECONDS, PAIRS = "1/2000", 1, 11
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


def steps_per_second(scenario: Scenario, units: Path, keep_of: Callable[[System], Keep]) -> tuple[float, float]:
    """Of wall time and of the process's own."""
    kinds = {"planner": scenario.planner, "control": "control", "plant": "plant", "collision": "collision"}
    system = System(FmuComponent(name, units / f"{kind}.fmu") for name, kind in kinds.items())
    try:
        scenario.connect(system)
        system.set("plant.f_ext", 0.0)
        for name, value in scenario.parameters(float(exact_seconds("step", STEP))).items():
            system.set(name, value)
        schedule = simulation_in_the_loop(system)
        keep = keep_of(system)
        wall, own = time.perf_counter(), time.process_time()
        steps = len(run(system, schedule, step=STEP, duration=SECONDS, keep_going=keep)) - 1
        return steps / (time.perf_counter() - wall), steps / (time.process_time() - own)
    finally:
        system.close()


def main() -> None:
    for name in ("sphere-step", "yumi-step"):
        scenario = scenarios.load(name)
        bill = playbill_of(name, scenario.title, scenario.robot, scenario.obstacles)
        with tempfile.TemporaryDirectory() as folder, Address(port=0) as address, Viewer(address, bill) as viewer:
            for kind in (scenario.planner, "control", "plant", "collision"):
                build(kind, scenario.robot, Path(folder) / f"{kind}.fmu", scenario.obstacles)
            live = Live(viewer.open, speed=0.0)

            def with_viewer(system: System, live: Live = live) -> Keep:
                keep = live.watch(system, exact_seconds("step", STEP), {}, lambda done: True, Account())
                keep(0)  # waits for the page
                return keep

            page = multiprocessing.get_context("spawn").Process(target=watch, args=(address.url,), daemon=True)
            page.start()
            steps_per_second(scenario, Path(folder), with_viewer)
            pairs = []
            for _ in range(PAIRS):
                unwatched = steps_per_second(scenario, Path(folder), lambda system: lambda done: True)
                watched = steps_per_second(scenario, Path(folder), with_viewer)
                pairs.append((unwatched, watched))
            wall, own = (statistics.median(watched[i] / alone[i] for alone, watched in pairs) for i in (0, 1))
            alone = statistics.median(alone[0] for alone, _ in pairs)
            told = f"watched, {wall:.3f} of that by the wall, {own:.3f} by the loop's own processor time"
            print(f"{name}: {alone:.0f} macro steps/s alone; {told} (medians of {PAIRS} pairs)")
            page.kill()


if __name__ == "__main__":
    main()
