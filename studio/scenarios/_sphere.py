"""What the sphere's scenarios share: its scene, its goal and its laws."""

from __future__ import annotations

import numpy as np
from simloop.models.robot import Box
from simloop.models.robots.sphere import ROBOT
from simloop.studio.scenario import Figure, Outcome, Parameters

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


def step_figures(outcome: Outcome) -> dict[str, Figure]:
    """The figures of S1, appendix A, for a step; their laws hold without noise, Σ or external force."""
    result, given = outcome.result, outcome.parameters
    mass_error = float(given.get("plant.mass_error", 0.0))
    clean = not any(float(given.get(name, 0.0)) for name in ("plant.noise", "control.sigma[1]"))
    clean = clean and not result["plant.f_ext[1]"].any()
    steady = result["time"] > result["time"][-1] - STEADY_SECONDS
    difference = result["control.tau[1]"] - result["control.tau_replay[1]"]
    tracking = result["plant.q[1]"] - result["planner.q_d[1]"]
    law = mass_error * MASS * G
    force = Figure("Steady force difference τ − τ′", float(np.mean(difference[steady])), "N")
    error = Figure("Largest tracking error |q − q_d|", float(np.abs(tracking).max()), "m")
    if clean and mass_error:
        force = Figure(force.label, force.value, "N", law, 0.01, source="mass error × m g")
        bound = abs(mass_error) * MASS * (G + ACCELERATION) * outcome.h**2
        error = Figure(error.label, error.value, "m", bound, 0.1, source="mass error × (g + a) h²")
    elif clean:
        error = Figure(error.label, error.value, "m", limit=1e-12, source="no model error, no tracking error")
    goal = float(GOAL["planner.goal[3]"])
    return {
        "steady_force_difference": force,
        "max_tracking_error": error,
        "planner_distance_to_goal": Figure(
            "Planner's distance from the goal at the end",
            abs(float(result["planner.q_d[1]"][-1]) - goal),
            "m",
            limit=1e-6,
            source="the planner arrives",
        ),
        "plant_distance_to_goal": Figure(
            "Plant's distance from the goal at the end", abs(float(result["plant.q_true[1]"][-1]) - goal), "m"
        ),
    }
