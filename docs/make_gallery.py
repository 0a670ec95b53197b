"""Make the gallery of S1's twelve runs: their graphs of table 2, and docs/gallery.md. `make gallery`."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simloop.studio import scenarios
from simloop.studio.archive import read_archive
from simloop.studio.figures import write_graphs
from simloop.studio.request import Request
from simloop.studio.runner import run_to_folder

HERE = Path(__file__).parent
STEPS = ("1/200", "1/2000")


@dataclass(frozen=True)
class Exhibit:
    """A scenario, its name in the thesis's appendix A, what to see, and the figures of the run that are told."""

    scenario: str
    in_thesis: str
    see: str
    told: tuple[str, ...]


EXHIBITS = (
    Exhibit(
        "sphere-step",
        "Sphere Step",
        "The force sent (wide) is a tenth above the force of the replay (narrow): the plant is 10 % heavier than its "
        "model, and the loop finds the weight that is missing. The steps in the force are the planner's acceleration, "
        "its deceleration and its stop. The path difference falls with the square of the step.",
        ("steady_force_difference", "max_tracking_error"),
    ),
    Exhibit(
        "sphere-offline",
        "Sphere Offline",
        "The same step from a table that was planned beforehand: as the thesis says, on-line or off-line planning "
        "makes very little difference.",
        ("steady_force_difference", "max_tracking_error"),
    ),
    Exhibit(
        "sphere-collision",
        "Sphere Collision",
        "Until the sphere meets the plane the graphs are those of a step. At the touch the measured path leaves the "
        "planned one, and the force of the replay leaves the force sent: either difference notices the contact, with "
        "no sensor.",
        (),
    ),
    Exhibit(
        "sphere-guiding",
        "Sphere Guiding",
        "Held with no goal, the sphere sinks: each step it gives way by what the mass error costs, and the planner "
        "takes that as where it should be. It is the drift of the thesis's 7.2; `planner.band` ends it, and the grey "
        "curve of the run's report shows that.",
        (),
    ),
    Exhibit(
        "yumi-step",
        "Yumi Step",
        "Both grippers go 0.3 m outwards. A colour a joint, the right arm's darker and dashed: the two arms mirror "
        "each other in every graph. The force difference is gravity on the mass that the model lacks, so it changes "
        "with the posture.",
        ("max_joint_error",),
    ),
    Exhibit(
        "yumi-offline",
        "Yumi Offline",
        "The same from a table of joint positions. Again hardly anything changes.",
        ("max_joint_error",),
    ),
)


def make(exhibit: Exhibit, step: str) -> str:
    """Run it, draw it, and return its part of the page."""
    scenario = scenarios.load(exhibit.scenario)
    name = f"{exhibit.scenario}-{step.replace('1/', '')}"
    settings = {"plant.mass_error": 0.1}
    command = f"simloop run {exhibit.scenario} --step {step} --set plant.mass_error=0.1"
    with tempfile.TemporaryDirectory() as folder:
        run_to_folder(Request(scenario, step=step, settings=settings), Path(folder), csv=False, command=command)
        archive = read_archive(Path(folder))
        write_graphs(HERE / "gallery" / f"{name}.png", archive, scenario.graphs)
    summary: dict[str, Any] = archive.record["summary"]
    told = [f"{summary[key]['label']}: {summary[key]['value']:.4g} {summary[key]['unit']}." for key in exhibit.told]
    held = all(figure["ok"] for figure in summary.values() if "ok" in figure)
    verdict = "Every figure that the scenario promises holds." if held else "**Not every promised figure holds.**"
    print(f"{name}: {' '.join(told)}", file=sys.stderr)
    lines = [f"### h = {step} s", "", f"![{exhibit.in_thesis}, h = {step} s](gallery/{name}.png)", ""]
    return "\n".join([*lines, f"`{command}` · {' '.join([*told, verdict])}", ""])


def main() -> None:
    (HERE / "gallery").mkdir(exist_ok=True)
    page = [
        "# S1's twelve runs",
        "",
        "The graphs of table 2 of the thesis, each scenario at both of its steps, with the plant 10 % heavier than its",
        "model. The thesis shows them in its appendix A, under headings and with no numbers; the headings stand here.",
        "In a comparison the wide curve is what was sent, planned or wanted, the narrow one what came of it. Built by",
        "`make gallery`; a single graph as PDF by `simloop plot DIR --figure force-comparison -o fig.pdf`.",
        "",
    ]
    for exhibit in EXHIBITS:
        page += [f"## {exhibit.in_thesis}", "", exhibit.see, ""]
        page += [f"In the thesis: table 2 and appendix A, “{exhibit.in_thesis}”.", ""]
        page += [make(exhibit, step) for step in STEPS]
    (HERE / "gallery.md").write_text("\n".join(page), encoding="utf-8")


if __name__ == "__main__":
    main()
