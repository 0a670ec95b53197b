"""Draw the README's picture from runs made here: `make docs`."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from simloop.studio import scenarios
from simloop.studio.graphs import BLUE, RED
from simloop.studio.request import Request
from simloop.studio.runner import run_in_memory

HERE = Path(__file__).parent
Point = tuple[float, float]


def draw_loop(axes: plt.Axes) -> None:
    """The macro step: who hands what to whom."""
    boxes = {"planner": (0.16, 0.72), "control\nsimulation": (0.5, 0.72), "robot\n(plant)": (0.84, 0.72)}
    for name, (x, y) in boxes.items():
        style = {"boxstyle": "round,pad=0.5", "fc": "#eef4fa", "ec": BLUE, "lw": 1.6}
        axes.text(x, y, name, ha="center", va="center", fontsize=11, bbox=style)

    def arrow(start: Point, end: Point, text: str, at: Point, **style: str) -> None:
        look = {"arrowstyle": "-|>", "lw": 1.5, "color": style.get("color", "#374151")}
        look["connectionstyle"] = style.get("bend", "arc3")
        axes.annotate("", xy=end, xytext=start, arrowprops=look)
        axes.text(*at, text, ha="center", fontsize=10, color=look["color"])

    arrow((0.25, 0.75), (0.385, 0.75), "1  $q_d$", (0.315, 0.79))
    arrow((0.615, 0.75), (0.755, 0.75), "2  force $\\tau$", (0.685, 0.79))
    arrow((0.80, 0.60), (0.56, 0.60), "3  measured $q$", (0.69, 0.40), bend="arc3,rad=-0.35", color=RED)
    arrow((0.44, 0.60), (0.20, 0.60), "5  go on from there", (0.30, 0.40), bend="arc3,rad=-0.35")
    axes.text(0.5, 0.20, "4  roll back, and replay to where the robot went", ha="center", fontsize=10.5, color=RED)
    axes.text(0.5, 0.10, "the force that the replay needs tells of contact", ha="center", fontsize=9.5, color="#6b7280")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.axis("off")


def draw_errors(axes: plt.Axes) -> None:
    for step, colour in (("1/200", RED), ("1/2000", BLUE)):
        request = Request(scenarios.load("sphere-step"), step=step, settings={"plant.mass_error": 0.1})
        result = run_in_memory(request).outcome.result
        error = np.abs(result["plant.q[1]"] - result["planner.q_d[1]"])
        axes.semilogy(result["time"][1:], error[1:], color=colour, lw=1.8)
        axes.text(0.3, error.max() * 1.35, f"h = {step} s: at most {error.max():.2g} m", color=colour, fontsize=10)
    axes.set(xlabel="time / s", ylabel="|q − q_d| / m", ylim=(1e-8, 1e-4), xlim=(0, 8))
    axes.set_title("Tracking error, robot 10 % heavier than its model", fontsize=11)
    axes.grid(alpha=0.3)


def main() -> None:
    plt.switch_backend("Agg")
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), width_ratios=(1.25, 1), layout="constrained")
    draw_loop(left)
    draw_errors(right)
    figure.savefig(HERE / "loop.png", dpi=110)
    print(HERE / "loop.png")


if __name__ == "__main__":
    main()
