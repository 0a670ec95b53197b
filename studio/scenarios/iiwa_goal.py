"""The iiwa from posture A to posture B among two balls and two polyhedra: it plans its own way and time."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from simloop.models.arm import Vector
from simloop.models.robot import Ball, Polyhedron
from simloop.models.robots.iiwa import POSTURE_B, ROBOT
from simloop.studio import redundant
from simloop.studio.redundant import trace_tool
from simloop.studio.scenario import Figure, Graph, Outcome, Parameters, Scenario
from simloop.studio.scenarios._iiwa import PILLAR, SPACING, judge_end, judge_limits, pose_of

ACCELERATION = 5.0  # rad/s2
# When it has long arrived, s.
ARRIVED = 4.0
# Straight from posture to posture the arm would go through pillar, ball and wedge; the other ball is above the pillar.
OBSTACLES = (
    PILLAR,
    Ball("ball", centre=(0.75, -0.15, -0.45), radius=0.1),
    Ball("high_ball", centre=(0.55, 0.0, 0.2), radius=0.12),
    Polyhedron(
        "wedge",
        (
            (0.5, 0.1, -0.85),
            (0.75, 0.1, -0.85),
            (0.5, 0.25, -0.85),
            (0.75, 0.25, -0.85),
            (0.6, 0.15, -0.45),
            (0.6, 0.2, -0.45),
        ),
    ),
)


def parameters(h: float) -> Parameters:
    return {
        **{f"planner.posture[{i + 1}]": angle for i, angle in enumerate(POSTURE_B)},
        "planner.spacing": SPACING,
        "planner.joint_acceleration": ACCELERATION,
        "plant.mass_error": 0.1,
    }


def asked(outcome: Outcome, name: str, otherwise: Sequence[float]) -> Vector:
    """A vector that the planner was given, or its start value."""
    return np.array([outcome.number(f"planner.{name}[{i + 1}]", value) for i, value in enumerate(otherwise)])


def judge(outcome: Outcome) -> dict[str, Figure]:
    to_posture = outcome.parameters.get("planner.goal", "posture") == "posture"
    goal = asked(outcome, "posture", ROBOT.home).tolist()
    pose = pose_of(goal) if to_posture else asked(outcome, "pose", pose_of(ROBOT.home)).tolist()
    acceleration = outcome.number("planner.joint_acceleration", ACCELERATION)
    hardest = float(np.abs(np.diff(outcome.result.vector("plant.v"), axis=0)).max()) / outcome.h / acceleration
    speeds = asked(outcome, "max_joint_speed", ROBOT.max_speed).tolist()
    return {
        **judge_end(
            outcome,
            goal if to_posture else None,
            pose,
            arrived=outcome.seconds >= ARRIVED,
            source="planner.posture" if to_posture else "planner.pose",
        ),
        **judge_limits(outcome, speeds, outcome.number("planner.spacing", SPACING)),
        "acceleration": Figure(
            "Largest joint acceleration, as a part of its limit",
            hardest,
            "1",
            limit=1.0,
            source="planner.joint_acceleration",
        ),
        "least_det": Figure("Least det(J Jᵀ)", float(trace_tool(ROBOT, outcome.result).det.min()), "1"),
    }


SCENARIO = Scenario(
    name="iiwa-goal",
    title="The iiwa goes from posture A to posture B around balls and polyhedra, on a way that it finds",
    robot=ROBOT,
    obstacles=OBSTACLES,
    duration=Fraction(6),
    parameters=parameters,
    planner="goal",
    graphs=(Graph.PATH_COMPARISON, Graph.VELOCITY_COMPARISON, Graph.FORCE_COMPARISON),
    judge=judge,
    plots=redundant.plots(ROBOT, OBSTACLES),
)
