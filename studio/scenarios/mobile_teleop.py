"""An operator's hand, from a recording, leads the gripper of the mobile manipulator (S4).

Joint motion is weighted by inertia, so that the arm does what it can before the platform moves; a run weighted evenly
is beside it. The hand leads the gripper up, past the edge of where it reaches, and down again, and lets go in the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from simloop.master.component import Value
from simloop.models.robots.mobile import ROBOT
from simloop.studio import redundant
from simloop.studio.scenario import Figure, Graph, Marker, Outcome, Parameters, Scenario, Variant
from simloop.studio.scenarios import _teleop as teleop

# It is led past the edge and is back by then, s.
EDGE, BACK = 9.0, 19.0
LEAD = teleop.Lead(
    wishes=(
        (0.0, (0.1, 0.0, 0.0, 0.0, 0.0, 0.0)),
        (3.0, (0.0, 0.1, 0.0, 0.0, 0.0, 0.2)),
        (6.0, (0.0, -0.1, 0.05, 0.0, 0.0, -0.2)),
        (EDGE, (0.0, 0.0, 0.1, 0.0, 0.0, 0.0)),
        (16.0, (0.0, 0.0, -0.1, 0.0, 0.0, 0.0)),
    ),
    lets_go=22.0,
    seconds=24,
)
PLATFORM = 3


def parameters(h: float) -> Parameters:
    return {
        "planner.integrator": "rk23",
        **teleop.NO_TWIST,
        "planner.joint_acceleration": teleop.ACCELERATION,
        "planner.spacing": 0.02,
        "planner.influence": 0.06,
        "plant.mass_error": 0.1,
    }


def variants(given: Mapping[str, Value], h: float) -> tuple[Variant, ...]:
    other = "inertia" if given.get("planner.weighting") == "evenly" else "evenly"
    return (Variant(f"weighted {'by inertia' if other == 'inertia' else other}", {"planner.weighting": other}),)


def judge(outcome: Outcome) -> dict[str, Figure]:
    result = outcome.result
    figures: dict[str, Figure] = {}
    for key, words, begin, end in (
        ("led", "on its way", 0.0, EDGE),
        ("back", "back from the edge", BACK, LEAD.lets_go),
    ):
        if begin >= result["time"][-1]:
            continue
        away, turn = teleop.off_the_lead(ROBOT, LEAD, outcome, begin, end)
        figures[f"{key}_off"] = Figure(f"Gripper off the hand's lead, {words}", away, "m", limit=1e-3, source="S4")
        figures[f"{key}_turned_off"] = Figure(
            f"Gripper turned off the hand's lead, {words}", float(np.degrees(turn)), "°", limit=0.1, source="S4"
        )
    figures |= teleop.judge_limits(ROBOT, outcome) | teleop.judge_force(ROBOT, result)
    return figures | teleop.judge_stop(ROBOT, result, LEAD.lets_go) | _shares(outcome)


def _shares(outcome: Outcome) -> dict[str, Figure]:
    """How far platform and arm go until the edge, where both runs follow the same lead."""
    own = "evenly" if outcome.parameters.get("planner.weighting") == "evenly" else "by inertia"
    runs = {f"weighted {own}": outcome.result, **{label: result for label, (result, _) in outcome.variants.items()}}
    figures = {}
    for label, result in runs.items():
        free = result["time"] <= EDGE
        moved = np.abs(np.diff(result.vector("plant.q_true")[free], axis=0)).sum(axis=0)
        key = label.replace(" ", "_")
        figures[f"platform_{key}"] = Figure(f"Way of the platform, {label}", float(moved[:2].sum()), "m")
        figures[f"arm_{key}"] = Figure(f"Way of the arm's joints, {label}", float(moved[PLATFORM:].sum()), "rad")
    inertia, even = (figures[f"platform_weighted_{name}"].value or 0.0 for name in ("by_inertia", "evenly"))
    words = "Platform's way weighted by inertia, as a part of that weighted evenly"
    if even:
        figures["platform_share"] = Figure(words, inertia / even, "1", limit=1.0, source="the arm is lighter")
    return figures


def markers(outcome: Outcome) -> tuple[Marker, ...]:
    return tuple(Marker(t, label) for t, label in ((EDGE, "led up"), (16.0, "led down"), (LEAD.lets_go, "lets go")))


SCENARIO = teleop.with_a_person(
    Scenario(
        name="mobile-teleop",
        title="A hand leads the gripper of the mobile manipulator, past its reach and back (S4)",
        robot=ROBOT,
        duration=Fraction(LEAD.seconds),
        parameters=parameters,
        planner="operator",
        table=LEAD.recording,
        graphs=(Graph.PATH_COMPARISON, Graph.VELOCITY_COMPARISON),
        judge=judge,
        variants=variants,
        markers=markers,
        plots=redundant.plots(ROBOT),
    ),
    title="You lead the gripper of the mobile manipulator (S4)",
)
