"""What the sphere's scenarios share: its scene, its goal and its laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from simloop.models.robot import Box
from simloop.models.robots.sphere import ROBOT
from simloop.studio.scenario import Figure, Outcome, Parameters
from simloop.studio.scenarios._travel import travel_time

__all__ = ["ACCELERATION", "FLOOR", "GOAL", "MASS", "ROBOT", "G", "step_figures"]

# S1, 5.4 and 5.4.1.
MASS = 1.0  # kg
G = 9.82  # m/s²
ACCELERATION = 0.1  # m/s²
# The sphere's lowest point starts 0.1 m above it.
FLOOR = Box("floor", centre=(0.0, 0.0, -0.25), half_size=(0.5, 0.5, 0.05))
GOAL: Parameters = {"planner.goal[3]": 1.0}

# "Steady" is the last part of the run, when the sphere rests.
STEADY_SECONDS = 0.5


def arrival_time(outcome: Outcome) -> float:
    """When the planner should be at its goal: constant acceleration, speed cap, constant deceleration."""
    return travel_time(
        abs(outcome.number("planner.goal[3]", 1.0)),
        outcome.number("planner.acceleration", ACCELERATION),
        outcome.number("planner.max_speed", 1.0),
    )


def step_figures(outcome: Outcome) -> dict[str, Figure]:
    """The figures of S1, appendix A, for a step. They are judged where their laws hold, else they only inform."""
    result = outcome.result
    e = outcome.number("plant.mass_error")
    rests = outcome.seconds >= arrival_time(outcome) + STEADY_SECONDS
    steady = result["time"] > result["time"][-1] - STEADY_SECONDS
    steady[0] = False  # the forces before the first step are no difference yet
    difference = float(np.mean((result["control.tau[1]"] - result["control.tau_replay[1]"])[steady]))
    force = Figure("Steady force difference τ − τ′" if rests else "Force difference τ − τ′ at the end", difference, "N")
    if rests and e and not outcome.disturbed():
        force = replace(force, expected=e * MASS * G, tolerance=0.01, source="mass error × m g")
    goal = outcome.number("planner.goal[3]", 1.0)
    planned, reached = (abs(float(result[name][-1]) - goal) for name in ("planner.q_d[1]", "plant.q_true[1]"))
    arrives = Figure("Planner's distance from the goal at the end", planned, "m")
    if rests and not outcome.disturbed():
        arrives = replace(arrives, limit=1e-6, source="the planner arrives")
    return {
        "steady_force_difference": force,
        "max_tracking_error": _tracking_error(outcome, e),
        "planner_distance_to_goal": arrives,
        "plant_distance_to_goal": Figure("Plant's distance from the goal at the end", reached, "m"),
    }


def _tracking_error(outcome: Outcome, e: float) -> Figure:
    """Steady, the plant is e (g + a) h² behind; getting there it overshoots by up to a part |e| / (1 + e)."""
    tracking = outcome.result["plant.q[1]"] - outcome.result["planner.q_d[1]"]
    figure = Figure("Largest tracking error |q − q_d|", float(np.abs(tracking).max()), "m")
    if outcome.disturbed() or not -0.5 <= e <= 0.5:
        return figure
    if e == 0.0:
        return replace(figure, limit=1e-12, source="no model error, no tracking error")
    a = outcome.number("planner.acceleration", ACCELERATION)
    law = abs(e) * MASS * (G + a) * outcome.h**2
    tolerance = max(0.1, 1.001 * abs(e) / (1 + e))
    return replace(figure, expected=law, tolerance=tolerance, source="mass error × (g + a) h²")
