"""What scenarios share in which a hand leads a tool: the hand as a recording, a person in its place, and what holds
wherever the tool is led."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from simloop.master import Result
from simloop.models.arm import Arm, Vector
from simloop.models.clearance import NOTHING_NEAR
from simloop.models.limits import limits_of
from simloop.models.operator import COLUMNS, RAMP
from simloop.models.pose import rotation_between, turn_by
from simloop.models.robot import Robot
from simloop.studio.redundant import trace_tool
from simloop.studio.scenario import Figure, Outcome, Scenario

ACCELERATION = 5.0  # rad/s², m/s²
# A person may steer this long, s, and usually ends before.
LONGEST_SESSION = 600
# A recording's own step, and the time that the hand takes to change its mind, s.
TICK, CHANGE = 0.02, 0.5
NO_TWIST = {f"planner.twist[{i}]": 0.0 for i in range(1, 7)}


@dataclass(frozen=True)
class Lead:
    """What a hand wants: from each time on, s, a velocity (m/s) and angular velocity (rad/s), until it lets go."""

    wishes: tuple[tuple[float, tuple[float, ...]], ...]
    lets_go: float
    seconds: int

    def wanted(self, time: float) -> Vector:
        """The hand's twist at a time: from one wish to the next along half a cosine."""
        now = np.zeros(6)
        before = np.zeros(6)
        for begin, twist in self.wishes:
            if time >= begin:
                part = 0.5 - 0.5 * np.cos(np.pi * min(1.0, (time - begin) / CHANGE))
                now = before + part * (np.array(twist) - before)
            before = np.array(twist)
        return now

    def recording(self, h: float, steps: int) -> str:
        """As the operator unit's table."""
        rows = [",".join(COLUMNS)]
        for k in range(round(self.seconds / TICK)):
            values = ",".join(repr(float(value)) for value in self.wanted(k * TICK))
            rows.append(f"{k * TICK!r},{values},{int(k * TICK < self.lets_go)}")
        return "\n".join(rows) + "\n"


def with_a_person(scenario: Scenario, title: str) -> Scenario:
    """The scenario, to which a person at the controls can be had: nothing is known then of where the hand will lead,
    only of the limits."""

    def steered() -> Scenario:
        return replace(
            scenario,
            title=title,
            table=None,
            duration=Fraction(LONGEST_SESSION),
            open_ended=True,
            judge=lambda outcome: judge_limits(scenario.robot, outcome),
            variants=lambda given, h: (),
            markers=lambda outcome: (),
        )

    return replace(scenario, steered=steered)


def off_the_lead(robot: Robot, lead: Lead, outcome: Outcome, begin: float, end: float) -> tuple[float, float]:
    """The farthest that the first tool is, m and rad, from where the hand has led it since `begin`."""
    time = outcome.result["time"]
    trace = trace_tool(robot, outcome.result)
    positions, quaternions = trace.positions, trace.quaternions
    first = int(np.searchsorted(time, begin))
    p, turned = positions[first].copy(), quaternions[first].copy()
    away = turn = 0.0
    for k in range(first, int(np.searchsorted(time, min(end, float(time[-1]))))):
        # As the unit hears it: the recording's last row, and the switch's ramp at the start.
        heard = np.floor(time[k] / TICK + 1e-9) * TICK
        twist = lead.wanted(heard) * min(1.0, (time[k] + outcome.h) / RAMP)
        p += outcome.h * twist[:3]
        turned = turn_by(turned, outcome.h * twist[3:])
        away = max(away, float(np.linalg.norm(positions[k + 1] - p)))
        turn = max(turn, float(np.linalg.norm(rotation_between(quaternions[k + 1], turned))))
    return away, turn


def judge_limits(robot: Robot, outcome: Outcome) -> dict[str, Figure]:
    """What holds wherever the tool is led; a limit that the robot does not have is not told of."""
    arm, result = Arm(robot.mjcf), outcome.result
    q, plan = result.vector("plant.q_true"), result.vector("planner.q_d")
    low, high = arm.ranges
    speed = np.diff(plan, axis=0) / outcome.h
    jump = np.abs(np.diff(speed, axis=0)).max(axis=0, initial=0.0) / outcome.h
    most = outcome.number("planner.joint_acceleration", ACCELERATION)
    known = robot.max_speed or (math.inf,) * arm.n
    fastest = np.array([outcome.number(f"planner.max_joint_speed[{i + 1}]", known[i]) for i in range(arm.n)])
    limits = limits_of(arm, np.array(robot.home), fastest, most)
    figures: dict[str, Figure] = {}
    if np.isfinite([low, high]).any():
        beyond = max(0.0, float((low - q).max()), float((q - high).max()))
        words = "Farthest out of a joint's range"
        figures["beyond_range"] = Figure(words, beyond, "rad or m", limit=1e-4, source="hard limits")
    if np.isfinite(fastest).any():
        part = float((np.abs(speed) / fastest).max())
        words = "Largest joint speed planned, as a part of its limit"
        figures["speed"] = Figure(words, part, "1", limit=1.0 + 1e-6, source="hard limits")
    part = float((jump / limits.acceleration).max())
    words = "Largest joint acceleration planned, as a part of its limit"
    figures["acceleration"] = Figure(words, part, "1", limit=1.0 + 1e-6, source="hard limits")
    nearest = float(result["collision.distance"].min())
    if nearest < NOTHING_NEAR:
        words = "Nearest that two bodies come"
        figures["distance"] = Figure(words, nearest, "m", least=0.0, source="no contact")
    ignored = float(result["planner.ignored"].sum())
    figures["ignored"] = Figure("Steps in which the hand's twist was no number", ignored, "1")
    least = float(result["planner.manipulability"].min())
    return figures | {"manipulability": Figure("Least manipulability", least, "1")}


def judge_force(robot: Robot, result: Result) -> dict[str, Figure]:
    """Of a robot whose motors' limits are known."""
    strongest = Arm(robot.mjcf).torque_limits
    if not np.isfinite(strongest).any():
        return {}
    part = float((np.abs(result.vector("control.tau")) / strongest).max())
    words = "Largest joint force wanted, as a part of its motor's"
    return {"force": Figure(words, part, "1", limit=1.0, source="a plan that motors can follow")}


def judge_stop(robot: Robot, result: Result, lets_go: float) -> dict[str, Figure]:
    """How long after the hand lets go the tool still moves faster than a millimetre a second."""
    positions = trace_tool(robot, result).positions
    time = result["time"]
    speed = np.linalg.norm(np.diff(positions, axis=0), axis=1) / np.diff(time)
    after = (time[1:] > lets_go) & (speed > 1e-3)
    still = float(time[1:][after].max()) - lets_go if after.any() else 0.0
    return {"stop": Figure("Time to stop after the hand lets go", still, "s", limit=0.15, source="a dead-man's switch")}
