"""PackBot's arm without power, falling from the drive position (S2, section 4).

`--set plant.contact=none` lets it fall through the chassis, `compliant` and `events` are two independent models of
contact that end in the same pose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
from simloop.master import Result
from simloop.master.component import Value
from simloop.models.faults import Fault
from simloop.studio.scenario import Figure, Graph, Marker, Outcome, Parameters, Scenario, Variant
from simloop.studio.scenarios._packbot import JOINTS, REST_SPEED, ROBOT, rest_time, touching

# The report's arm ends with its third link propped up on the shoulder's casing.
PROP = {"link3_tube", "shoulder_casing"}
OTHER = {"events": "compliant", "compliant": "events"}


def parameters(h: float) -> Parameters:
    """Every joint is loose from the start, and the planner wants nothing."""
    return {"plant.contact": "events", "plant.fault": int(Fault.LOOSE), "planner.max_speed": 0.0}


def variants(given: Mapping[str, Value], h: float) -> tuple[Variant, ...]:
    """The other model of contact, unless bodies bounce, which compliant ones do not."""
    other = OTHER.get(str(given["plant.contact"]))
    return (
        ()
        if other is None or given.get("plant.restitution")
        else (Variant(f"contact {other}", {"plant.contact": other}),)
    )


def deepest(result: Result) -> float:
    return max(0.0, -float(result["collision.distance"].min()))


def judge(outcome: Outcome) -> dict[str, Figure]:
    result, contact = outcome.result, str(outcome.parameters["plant.contact"])
    depth = Figure("Deepest penetration", deepest(result), "m")
    if contact == "none":
        through = replace(depth, least=0.05, source="nothing stops a link at the chassis")
        return {"deepest_penetration": through}
    if contact == "events":
        depth = replace(depth, limit=1e-6, source="a touch is located, then held")
    end = result.vector("plant.q_true")[-1]
    rest = Figure(
        "Arm at rest from", rest_time(result), "s", limit=10.0, source=f"every joint below {REST_SPEED:g} rad/s"
    )
    propped = sum(set(pair) == PROP for pair in touching(end))
    figures = {
        "rest_time": rest,
        "deepest_penetration": depth,
        "propped": Figure(
            "Third link rests on the shoulder's casing, 1 for yes",
            float(propped),
            "1",
            least=1.0,
            source="S2, figure 8",
        ),
    }
    if contact == "events":
        figures |= _event_figures(result)
    for label, (other, _) in outcome.variants.items():
        apart = np.degrees(np.abs(end - other.vector("plant.q_true")[-1]))
        words = f"Rest pose against {label}: {JOINTS[int(apart.argmax())]}"
        source = "two independent models of contact"
        figures["rest_pose_difference"] = Figure(words, float(apart.max()), "°", limit=5.0, source=source)
    return figures


def _event_figures(result: Result) -> dict[str, Figure]:
    """A second intersection is a held pair that entered all the same."""
    count, depth = (float(result[f"plant.second_{name}"][-1]) for name in ("intersections", "depth"))
    when = float(result["plant.second_time"][-1]) if count else None
    return {
        "impacts": Figure("Impacts", float(result["plant.impacts"][-1]), "1"),
        "second_intersections": Figure("Second intersections of held pairs", count, "1"),
        "second_depth": Figure(
            "Deepest second intersection", depth, "m", limit=1e-6, source="a held pair does not enter"
        ),
        "second_time": Figure("Time of the deepest second intersection", when, "s"),
    }


def markers(outcome: Outcome) -> tuple[Marker, ...]:
    times = np.unique(outcome.result["plant.impact_time"])
    found = [Marker(float(times[times > 0.0][0]), "first impact")] if times[-1] > 0.0 else []
    rest = rest_time(outcome.result)
    return (*found, *(() if rest is None else (Marker(rest, "at rest"),)))


SCENARIO = Scenario(
    name="packbot-collapse",
    title="PackBot's arm without power, falling from the drive position (S2, section 4)",
    robot=ROBOT,
    duration=Fraction(5),
    parameters=parameters,
    graphs=(Graph.PATH_COMPARISON, Graph.VELOCITY_COMPARISON),
    judge=judge,
    variants=variants,
    markers=markers,
)
