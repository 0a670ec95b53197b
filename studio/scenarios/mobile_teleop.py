"""An operator's hand, from a recording, leads the gripper of the mobile manipulator (S4).

Joint motion is weighted by inertia, so that the arm does what it can before the platform moves; a run weighted evenly
is beside it. The hand leads the gripper up, past the edge of where it reaches, and down again, and lets go in the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
from simloop.master import Result
from simloop.master.component import Value
from simloop.models.arm import Arm, Vector
from simloop.models.limits import limits_of
from simloop.models.operator import COLUMNS, RAMP
from simloop.models.pose import rotation_between, turn_by
from simloop.models.robots.mobile import ROBOT
from simloop.studio import redundant
from simloop.studio.redundant import trace_tool
from simloop.studio.scenario import Figure, Graph, Marker, Outcome, Parameters, Scenario, Variant

# From each time on, s: the velocity (m/s) and angular velocity (rad/s) that the hand wants.
WANTED: tuple[tuple[float, tuple[float, ...]], ...] = (
    (0.0, (0.1, 0.0, 0.0, 0.0, 0.0, 0.0)),
    (3.0, (0.0, 0.1, 0.0, 0.0, 0.0, 0.2)),
    (6.0, (0.0, -0.1, 0.05, 0.0, 0.0, -0.2)),
    (9.0, (0.0, 0.0, 0.1, 0.0, 0.0, 0.0)),
    (16.0, (0.0, 0.0, -0.1, 0.0, 0.0, 0.0)),
)
# The hand takes this long to change its mind; it is led past the edge and is back by then, and lets go, s.
CHANGE, EDGE, BACK, LETS_GO = 0.5, 9.0, 19.0, 22.0
SECONDS = 24
# A person may steer this long, s, and usually ends before.
LONGEST_SESSION = 600
# The recording's own step, s.
TICK = 0.02
ACCELERATION = 5.0  # rad/s², m/s²
PLATFORM = 3


def wanted(time: float) -> Vector:
    """The hand's twist at a time: from one wish to the next along half a cosine."""
    now = np.zeros(6)
    before = np.zeros(6)
    for begin, twist in WANTED:
        if time >= begin:
            part = 0.5 - 0.5 * np.cos(np.pi * min(1.0, (time - begin) / CHANGE))
            now = before + part * (np.array(twist) - before)
        before = np.array(twist)
    return now


def recording(h: float, steps: int) -> str:
    rows = [",".join(COLUMNS)]
    for k in range(round(SECONDS / TICK)):
        values = ",".join(repr(float(value)) for value in wanted(k * TICK))
        rows.append(f"{k * TICK!r},{values},{int(k * TICK < LETS_GO)}")
    return "\n".join(rows) + "\n"


def parameters(h: float) -> Parameters:
    return {
        "planner.integrator": "rk23",
        **{f"planner.twist[{i}]": 0.0 for i in range(1, 7)},
        "planner.joint_acceleration": ACCELERATION,
        "planner.spacing": 0.02,
        "planner.influence": 0.06,
        "plant.mass_error": 0.1,
    }


def variants(given: Mapping[str, Value], h: float) -> tuple[Variant, ...]:
    other = "inertia" if given.get("planner.weighting") == "evenly" else "evenly"
    return (Variant(f"weighted {'by inertia' if other == 'inertia' else other}", {"planner.weighting": other}),)


def off(outcome: Outcome, begin: float, end: float) -> tuple[float, float]:
    """The farthest that the gripper is, m and rad, from where the hand has led it since `begin`."""
    time = outcome.result["time"]
    trace = trace_tool(ROBOT, outcome.result)
    positions, quaternions = trace.positions, trace.quaternions
    first = int(np.searchsorted(time, begin))
    p, turned = positions[first].copy(), quaternions[first].copy()
    away = turn = 0.0
    for k in range(first, int(np.searchsorted(time, min(end, float(time[-1]))))):
        # As the unit hears it: the recording's last row, and the switch's ramp at the start.
        twist = wanted(np.floor(time[k] / TICK + 1e-9) * TICK) * min(1.0, (time[k] + outcome.h) / RAMP)
        p += outcome.h * twist[:3]
        turned = turn_by(turned, outcome.h * twist[3:])
        away = max(away, float(np.linalg.norm(positions[k + 1] - p)))
        turn = max(turn, float(np.linalg.norm(rotation_between(quaternions[k + 1], turned))))
    return away, turn


def judge(outcome: Outcome) -> dict[str, Figure]:
    result = outcome.result
    figures: dict[str, Figure] = {}
    for key, words, begin, end in (("led", "on its way", 0.0, EDGE), ("back", "back from the edge", BACK, LETS_GO)):
        if begin >= result["time"][-1]:
            continue
        away, turn = off(outcome, begin, end)
        figures[f"{key}_off"] = Figure(f"Gripper off the hand's lead, {words}", away, "m", limit=1e-3, source="S4")
        figures[f"{key}_turned_off"] = Figure(
            f"Gripper turned off it, {words}", float(np.degrees(turn)), "deg", limit=0.1, source="S4"
        )
    return figures | _limits(outcome) | _force(result) | _stop(result) | _shares(outcome)


def _limits(outcome: Outcome) -> dict[str, Figure]:
    arm, result = Arm(ROBOT.mjcf), outcome.result
    q, plan = result.vector("plant.q_true"), result.vector("planner.q_d")
    low, high = arm.model.jnt_range.T
    speed = np.diff(plan, axis=0) / outcome.h
    jump = np.abs(np.diff(speed, axis=0)).max(axis=0) / outcome.h
    beyond = max(0.0, float((low - q).max()), float((q - high).max()))
    most = outcome.number("planner.joint_acceleration", ACCELERATION)
    limits = limits_of(arm, np.array(ROBOT.home), np.array(ROBOT.max_speed), most)
    return {
        "beyond_range": Figure("Farthest out of a joint's range", beyond, "rad", limit=1e-4, source="hard limits"),
        "speed": Figure(
            "Largest joint speed planned, as a part of its limit",
            float((np.abs(speed) / limits.speed).max()),
            "1",
            limit=1.0 + 1e-6,
            source="hard limits",
        ),
        "acceleration": Figure(
            "Largest joint acceleration planned, as a part of its limit",
            float((jump / limits.acceleration).max()),
            "1",
            limit=1.0 + 1e-6,
            source="hard limits",
        ),
        "distance": Figure(
            "Nearest that two bodies come",
            float(result["collision.distance"].min()),
            "m",
            least=0.0,
            source="no contact",
        ),
        "ignored": Figure("Steps in which the hand's twist was no number", float(result["planner.ignored"].sum()), "1"),
        "manipulability": Figure("Least manipulability", float(result["planner.manipulability"].min()), "1"),
    }


def _force(result: Result) -> dict[str, Figure]:
    part = float((np.abs(result.vector("control.tau")) / Arm(ROBOT.mjcf).torque_limits).max())
    words = "Largest joint force wanted, as a part of its motor's"
    return {"force": Figure(words, part, "1", limit=1.0, source="a plan that motors can follow")}


def _stop(result: Result) -> dict[str, Figure]:
    """How long after the hand lets go the gripper still moves faster than a millimetre a second."""
    positions = trace_tool(ROBOT, result).positions
    time = result["time"]
    speed = np.linalg.norm(np.diff(positions, axis=0), axis=1) / np.diff(time)
    after = (time[1:] > LETS_GO) & (speed > 1e-3)
    still = float(time[1:][after].max()) - LETS_GO if after.any() else 0.0
    return {"stop": Figure("Time to stop after the hand lets go", still, "s", limit=0.15, source="a dead-man's switch")}


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
    words = "Platform's way weighted by inertia, as a part of that evenly"
    if even:
        figures["platform_share"] = Figure(words, inertia / even, "1", limit=1.0, source="the arm is lighter")
    return figures


def markers(outcome: Outcome) -> tuple[Marker, ...]:
    return tuple(Marker(t, label) for t, label in ((EDGE, "led up"), (16.0, "led down"), (LETS_GO, "lets go")))


def steered() -> Scenario:
    """With a person at the controls: nothing is known of where the hand will lead, only of the limits."""
    return replace(
        SCENARIO,
        title="You lead the gripper of the mobile manipulator (S4)",
        table=None,
        duration=Fraction(LONGEST_SESSION),
        judge=_limits,
        variants=lambda given, h: (),
        markers=lambda outcome: (),
    )


SCENARIO = Scenario(
    name="mobile-teleop",
    title="A hand leads the gripper of the mobile manipulator, past its reach and back (S4)",
    robot=ROBOT,
    duration=Fraction(SECONDS),
    parameters=parameters,
    planner="operator",
    table=recording,
    graphs=(Graph.PATH_COMPARISON, Graph.VELOCITY_COMPARISON),
    judge=judge,
    variants=variants,
    markers=markers,
    plots=redundant.plots(ROBOT),
    steered=steered,
)
