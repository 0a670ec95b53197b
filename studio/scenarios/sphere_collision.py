"""Sphere that runs into a plane on its way, and notices without a sensor (S1, 6.1.3 and 7.1)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from simloop.models.robot import Box
from simloop.studio.scenario import Figure, Graph, Marker, Outcome, Parameters, Scenario
from simloop.studio.scenarios._sphere import FLOOR, GOAL, MASS, ROBOT

# Its lower face at z = 0.6 m stops the sphere of radius 0.1 m half way, at full speed.
PLANE = Box("plane", centre=(0.0, 0.0, 0.65), half_size=(0.5, 0.5, 0.05))
# Three times what a mass error of 10 % feels like.
FORCE_THRESHOLD = 3.0  # N


def parameters(h: float) -> Parameters:
    """The position threshold is the distance by which the force threshold moves the sphere in one step."""
    return {
        **GOAL,
        "plant.contact": "compliant",
        "control.force_threshold": FORCE_THRESHOLD,
        "control.position_threshold": FORCE_THRESHOLD * h**2 / MASS,
    }


def touch_time(outcome: Outcome) -> float | None:
    """When the distance first reaches 0, linear between the steps around it."""
    time, distance = outcome.result["time"], outcome.result["collision.distance"]
    inside = np.flatnonzero(distance <= 0.0)
    if not len(inside):
        return None
    k = int(inside[0])
    if k == 0:
        return float(time[0])
    part = distance[k - 1] / (distance[k - 1] - distance[k])
    return float(time[k - 1] + part * (time[k] - time[k - 1]))


def detection_times(outcome: Outcome, name: str) -> list[float]:
    """The instants at which a detector begins to report contact."""
    reported = outcome.result[f"control.{name}"].astype(bool)
    begins = np.flatnonzero(reported & ~np.concatenate([[False], reported[:-1]]))
    return [float(t) for t in outcome.result["time"][begins]]


def judge(outcome: Outcome) -> dict[str, Figure]:
    touch = touch_time(outcome)
    figures = {"touch_time": Figure("True first touch", touch, "s")}
    for name, words in (
        ("contact_by_position", "position difference"),
        ("contact_by_force", "force difference"),
    ):
        times = detection_times(outcome, name)
        early = [t for t in times if touch is None or t < touch]
        noticed = [t for t in times if touch is not None and t >= touch]
        first = noticed[0] if noticed else None
        delay = None if first is None or touch is None else first - touch
        figures[f"{name}_time"] = Figure(f"Touch noticed by {words}", first, "s")
        noticed_late = Figure(f"Delay of noticing the touch by {words}", delay, "s")
        false_alarms = Figure(f"False alarms by {words}", float(len(early)), "1")
        # The thresholds are the control simulation's: another controller strays farther, or knows no force.
        if outcome.control == "control":
            noticed_late = replace(noticed_late, limit=0.1, source="noticed within 0.1 s")
            false_alarms = replace(false_alarms, limit=0.0, source="never before the touch")
        figures[f"{name}_delay"] = noticed_late
        figures[f"{name}_false_alarms"] = false_alarms
    figures["max_penetration"] = Figure(
        "Deepest penetration", max(0.0, -float(outcome.result["collision.distance"].min())), "m"
    )
    return figures


def markers(outcome: Outcome) -> tuple[Marker, ...]:
    figures = judge(outcome)
    wanted = {
        "touch_time": "touch",
        "contact_by_position_time": "noticed by position",
        "contact_by_force_time": "noticed by force",
    }
    found = [(figures[key].value, label) for key, label in wanted.items()]
    return tuple(Marker(value, label) for value, label in found if value is not None)


SCENARIO = Scenario(
    name="sphere-collision",
    title="Sphere that hits a plane half way, noticed without a sensor (S1, 6.1.3)",
    robot=ROBOT,
    obstacles=(FLOOR, PLANE),
    duration=Fraction(5),
    parameters=parameters,
    graphs=(Graph.FORCE_COMPARISON, Graph.FORCE_DIFFERENCE, Graph.PATH_COMPARISON, Graph.PATH_DIFFERENCE),
    judge=judge,
    markers=markers,
)
