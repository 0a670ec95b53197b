"""Sphere held for a hand to guide: it drifts for its mass error, unless the planner has a band (S1, 6.1.4 and 7.2)."""

from __future__ import annotations

from fractions import Fraction

from simloop.master import Result
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


def variants(given: Parameters, h: float) -> tuple[Variant, ...]:
    if float(given.get("planner.band", 0.0)) > 0.0:
        return (Variant("without the band", {"planner.band": 0.0}),)
    return (Variant("with the band", {"planner.band": band_for(h)}),)


def drift(result: Result) -> float:
    q = result["plant.q_true[1]"]
    return abs(float(q[-1]) - float(q[0]))


def judge(outcome: Outcome) -> dict[str, Figure]:
    runs = {float(outcome.parameters.get("planner.band", 0.0)): outcome.result}
    runs |= {float(given.get("planner.band", 0.0)): result for result, given in outcome.variants.values()}
    band = max(runs)
    free, held = drift(runs[0.0]), drift(runs[band])
    seconds = float(outcome.result["time"][-1])
    mass_error = float(outcome.parameters.get("plant.mass_error", 0.0))
    pushed = bool(outcome.result["plant.f_ext[1]"].any())
    law = abs(mass_error) * G * outcome.h * seconds
    plain = law > 0.0 and not pushed and not float(outcome.parameters.get("plant.noise", 0.0))
    expected = {"expected": law, "tolerance": 0.02, "source": "mass error × g h t"} if plain else {}
    return {
        "drift": Figure("Drift, re-seeded every step", free, "m", **expected),  # type: ignore[arg-type]
        "drift_with_band": Figure(f"Drift with a band of {band:.3g} m", held, "m"),
        "drift_ratio": Figure(
            "Drift with the band, as a part of that without",
            held / free if free else None,
            "1",
            limit=0.01 if plain else None,
            source="cut at least a hundredfold",
        ),
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
