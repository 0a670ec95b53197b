"""Sphere held for a hand to guide: it drifts for its mass error, unless the planner has a band (S1, 6.1.4 and 7.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from simloop.master import Result
from simloop.master.component import Value
from simloop.studio.scenario import Figure, Graph, Outcome, Parameters, Scenario, Variant
from simloop.studio.scenarios._sphere import FLOOR, MASS, ROBOT, G

# A hand that pushes harder than this moves the sphere; the mass error's 0.982 N does not.
GUIDING_FORCE = 5.0  # N


def parameters(h: float) -> Parameters:
    """Speed 0 and position taken from the robot, as the thesis guides; trim off, or it would hide the drift."""
    return {"plant.mass_error": 0.1, "planner.max_speed": 0.0, "planner.trim": 0.0}


def band_for(h: float) -> float:
    """How far GUIDING_FORCE takes the sphere from its plan, m: the control simulation corrects in one step."""
    return GUIDING_FORCE * h**2 / MASS


def variants(given: Mapping[str, Value], h: float) -> tuple[Variant, ...]:
    if float(given.get("planner.band", 0.0)) > 0.0:
        return (Variant("without the band", {"planner.band": 0.0}),)
    return (Variant("with the band", {"planner.band": band_for(h)}),)


def moved(result: Result) -> float:
    q = result["plant.q_true[1]"]
    return abs(float(q[-1]) - float(q[0]))


def judge(outcome: Outcome) -> dict[str, Figure]:
    """How far the sphere went in the run and in its variant, one of them without the band."""
    ((other, changed),) = outcome.variants.values()
    runs = {outcome.number("planner.band"): outcome.result, float(changed.get("planner.band", 0.0)): other}
    band = max(runs)
    free, held = moved(runs[0.0]), moved(runs[band])
    word = "Drift" if not outcome.result["plant.f_ext[1]"].any() else "Distance moved"
    drift = Figure(f"{word}, re-seeded every step", free, "m")
    ratio = Figure(f"{word} with the band, as a part of the one without", held / free if free else None, "1")
    e = outcome.number("plant.mass_error")
    guided = outcome.number("planner.max_speed", 1.0) == 0.0 and outcome.number("planner.trim", 9.82) == 0.0
    if e and guided and not outcome.disturbed():
        law = abs(e) * G * outcome.h * outcome.seconds
        drift = replace(drift, expected=law, tolerance=0.02, source="mass error × g h t")
        ratio = replace(ratio, limit=0.01, source="cut at least a hundredfold")
    return {
        "drift": drift,
        "drift_with_band": Figure(f"{word} with a band of {band:.3g} m", held, "m"),
        "drift_ratio": ratio,
    }


SCENARIO = Scenario(
    name="sphere-guiding",
    title="Sphere held for hand guiding with 10 % mass error; planner.band stops the drift (S1, 6.1.4, 7.2)",
    robot=ROBOT,
    obstacles=(FLOOR,),
    duration=Fraction(3),
    parameters=parameters,
    graphs=(Graph.FORCE_COMPARISON, Graph.FORCE_DIFFERENCE, Graph.PATH_COMPARISON),
    judge=judge,
    variants=variants,
)
