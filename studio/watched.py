"""Run a scenario with a person at the controls, in a browser, and go on to another one when asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from simloop.studio import scenarios
from simloop.studio.report import goals_of
from simloop.studio.request import Finished, Request
from simloop.studio.runner import run_to_folder, stop_on_signal
from simloop.studio.view.live import Live, OtherScenario
from simloop.studio.view.viewer import Address, Playbill, Viewer, playbill_of


def run_watched(
    request: Request,
    address: Address,
    *,
    folder_for: Callable[[Request], Path],
    csv: bool,
    command: str,
    lost: Callable[[], None] = lambda: None,
) -> tuple[Request, Finished]:
    """As `run_to_folder`, with a page at `address`; the request is that of the scenario that was run last. `lost` is
    called when the viewer is gone, and the run goes on without it."""
    request, show = _steered(request), 0
    with stop_on_signal() as stopped:
        while True:
            real, folder = request.plant != "plant", folder_for(request)
            with Viewer(address, _playbill(request, show, folder)) as viewer:
                # A real robot is paced by its cycle, a simulated one by what the person wants.
                live = Live(viewer.open, speed=0.0 if real else request.pace or 1.0, real=real, lost=lost)
                paced = replace(request, pace=(request.pace or 1.0) if real else None)
                try:
                    return paced, run_to_folder(paced, folder, csv=csv, command=command, live=live, stopped=stopped)
                except OtherScenario as other:
                    request = _steered(Request(scenarios.load(other.name), step=request.step, pace=request.pace))
                    show += 1


def _steered(request: Request) -> Request:
    steered = request.scenario.steered
    return request if steered is None else replace(request, scenario=steered())


def _playbill(request: Request, show: int, folder: Path) -> Playbill:
    chosen, real = request.scenario, request.plant != "plant"
    bill = playbill_of(chosen.name, chosen.title, chosen.robot, chosen.obstacles)
    goals = tuple(tuple(goal) for goal in goals_of(request.parameters(), len(chosen.robot.tools)))
    others = () if real else tuple(scenarios.names())
    return replace(bill, goals=goals, real=real, show=show, scenarios=others, results=str(folder / "report.html"))
