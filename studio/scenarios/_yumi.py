"""What the YuMi's scenarios share: the move, and the figures it is judged by."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
from simloop.models.arm import Arm, Tools, Vector
from simloop.models.robots.yumi import ROBOT
from simloop.studio.scenario import Figure, Outcome, Parameters
from simloop.studio.scenarios._travel import travel_time

__all__ = ["ACCELERATION", "ROBOT", "goal", "goal_parameters", "step_figures"]

# S1, 5.4.1 and 6.1.1. Outwards: the hands start side by side, and would meet the other way.
ACCELERATION = 0.1  # m/s²
MOVES = (0.0, 0.3, 0.0, 0.0, -0.3, 0.0)  # m; left gripper, then right

# "At rest" is the last part of the run, when the grippers have arrived.
STEADY_SECONDS = 0.5

# The law of the joint error is followed at this many instants of a run.
INSTANTS = 200


@functools.cache
def goal() -> tuple[float, ...]:
    """Where both grippers go, m in the world: 0.3 m along y from home, away from each other."""
    arm = Arm(ROBOT.mjcf)
    arm.kinematics(np.array(ROBOT.home))
    return tuple((Tools(arm, ROBOT.tools).position() + MOVES).tolist())


def goal_parameters(h: float) -> Parameters:
    return {f"planner.goal[{i}]": coordinate for i, coordinate in enumerate(goal(), start=1)}


def step_figures(outcome: Outcome) -> dict[str, Figure]:
    """How well the arms follow, whether they arrive, and what they spare: range, speed, each other."""
    arm = Arm(ROBOT.mjcf)
    return {
        "max_joint_error": _joint_error(outcome, arm),
        **_distances_to_goal(outcome, arm),
        "drift_at_rest": _drift_at_rest(outcome),
        **_self_contact(outcome),
        **_joint_limits(outcome, arm),
    }


def _joint_error(outcome: Outcome, arm: Arm) -> Figure:
    """At rest a joint is e M⁻¹ g h² behind, g the torque of gravity: with that, the control simulation's step from
    standstill asks for the force that the mass error lacks. Getting there it overshoots, as the sphere does."""
    error = np.abs(outcome.result.vector("plant.q") - outcome.result.vector("planner.q_d"))
    figure = Figure("Largest joint error |q − q_d|", float(error.max()), "rad")
    e = outcome.number("plant.mass_error")
    if outcome.disturbed() or not -0.5 <= e <= 0.5:
        return figure
    if e == 0.0:
        return replace(figure, limit=1e-10, source="no model error, no tracking error")
    q = outcome.result.vector("plant.q_true")
    fastest = max(float(np.abs(_fall(arm, each)).max()) for each in q[:: len(q) // INSTANTS + 1])
    law = abs(e) * fastest * outcome.h**2
    tolerance = max(0.1, 1.001 * abs(e) / (1 + e))
    return replace(figure, expected=law, tolerance=tolerance, source="mass error × M⁻¹ g h²")


def _fall(arm: Arm, q: Vector) -> Vector:
    """The acceleration of the joints with no force on them, from standstill at q, rad/s²."""
    force, at_rest = np.zeros(arm.n), np.zeros(arm.n)
    arm.inverse(q, at_rest, at_rest, 1.0, force)
    return np.asarray(np.linalg.solve(arm.inertia(), force), dtype=np.float64)


def _distances_to_goal(outcome: Outcome, arm: Arm) -> dict[str, Figure]:
    arm.kinematics(outcome.result.vector("plant.q_true")[-1])
    off = (Tools(arm, ROBOT.tools).position() - _wanted(outcome)).reshape(-1, 3)
    limit = 1e-3 if outcome.number("plant.mass_error") else 1e-6
    figures = {}
    for name, distance in zip(ROBOT.tools, np.linalg.norm(off, axis=1), strict=True):
        figure = Figure(f"{name.capitalize()} gripper's distance from its goal at the end", float(distance), "m")
        judged = _rests(outcome) and not outcome.disturbed()
        figures[f"{name}_distance_to_goal"] = (
            replace(figure, limit=limit, source="the gripper arrives") if judged else figure
        )
    return figures


def _rests(outcome: Outcome) -> bool:
    """Whether the run lasts until the grippers should have been at their goals for a while."""
    move = (_wanted(outcome) - goal() + MOVES).reshape(-1, 3)
    arrival = travel_time(
        float(np.linalg.norm(move, axis=1).max()),
        outcome.number("planner.acceleration", ACCELERATION),
        outcome.number("planner.max_speed", 1.0),
    )
    return outcome.seconds >= arrival + STEADY_SECONDS


def _wanted(outcome: Outcome) -> Vector:
    """Where this run sends the grippers, m."""
    return np.array([outcome.number(f"planner.goal[{i}]", value) for i, value in enumerate(goal(), start=1)])


def _drift_at_rest(outcome: Outcome) -> Figure:
    """Where the joints can move without moving a gripper, nothing calls a heavier robot back: re-seeded every step,
    the plan takes e h M⁻¹ g of each step's sag for granted, as hand guiding does. A planner.band stops it."""
    v = np.abs(outcome.result.vector("plant.v")[-1])
    return Figure("Joint drift with the grippers at rest", float(v.max()) if _rests(outcome) else None, "rad/s")


def _self_contact(outcome: Outcome) -> dict[str, Figure]:
    distance = float(np.min(outcome.result["collision.distance"]))
    depth = Figure("Deepest contact of the arms", max(0.0, -distance), "m", limit=0.0, source="no contact")
    return {"min_distance": Figure("Smallest distance of two bodies", distance, "m"), "max_contact_depth": depth}


def _joint_limits(outcome: Outcome, arm: Arm) -> dict[str, Figure]:
    q, v = outcome.result.vector("plant.q_true"), outcome.result.vector("plant.v")
    low, high = arm.model.jnt_range.T
    beyond = max(0.0, float(np.max(low - q)), float(np.max(q - high)))
    speed = float(np.max(np.abs(v) / ROBOT.max_speed))
    return {
        "max_joint_speed": Figure("Largest joint speed, as a part of its limit", speed, "1", limit=1.0, source="ABB"),
        "beyond_joint_range": Figure("Farthest out of a joint's range", beyond, "rad", limit=0.0, source="ABB"),
    }
