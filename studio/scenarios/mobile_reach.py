"""The mobile manipulator goes for something out of its arm's reach: platform and arm move together (S4)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from simloop.models.arm import Arm, Vector
from simloop.models.path import COLUMNS
from simloop.models.pose import ToolPose, rotation_between, zyz_of_quaternion
from simloop.models.robot import Ball
from simloop.models.robots.mobile import ROBOT
from simloop.studio import redundant
from simloop.studio.scenario import Figure, Graph, Outcome, Parameters, Scenario

# From home, m: beyond the arm, which reaches some 0.9 m from its foot.
WAY = (1.6, 0.8, 0.15)
ARRIVES = 14.0  # s
# A path through two like poses begins and ends at rest, s.
STILL = 1.0
PLATFORM = 3
# Beside the way, where only a careless elbow or bumper would touch it.
BALL = Ball("ball", centre=(1.35, 0.05, 0.35), radius=0.12)
SPACING = 0.02  # m


def poses() -> tuple[tuple[Vector, Vector], tuple[Vector, Vector]]:
    """Position and orientation of the gripper at home and at its goal."""
    arm = Arm(ROBOT.mjcf)
    tool = ToolPose(arm, ROBOT.tools[0])
    arm.kinematics(np.array(ROBOT.home))
    position, quaternion = tool.position().copy(), tool.quaternion().copy()
    return (position, quaternion), (position + WAY, quaternion)


def via(h: float, steps: int) -> str:
    (begin, turned), (end, _) = poses()
    angles = zyz_of_quaternion(turned)
    rows = [",".join(COLUMNS)]
    for time, place in ((0.0, begin), (STILL, begin), (ARRIVES, end), (ARRIVES + STILL, end)):
        rows.append(",".join(repr(float(value)) for value in (time, *place, *angles)))
    return "\n".join(rows) + "\n"


def parameters(h: float) -> Parameters:
    return {
        "planner.joint_acceleration": 5.0,
        "planner.spacing": SPACING,
        "planner.influence": 0.1,
        "planner.centre_gain": 2.0,
        "plant.mass_error": 0.1,
    }


def judge(outcome: Outcome) -> dict[str, Figure]:
    result, arm = outcome.result, Arm(ROBOT.mjcf)
    tool = ToolPose(arm, ROBOT.tools[0])
    q = result.vector("plant.q_true")
    arm.kinematics(q[-1])
    _, (goal, turned) = poses()
    away = float(np.linalg.norm(tool.position() - goal))
    turn = float(np.degrees(np.linalg.norm(rotation_between(tool.quaternion(), turned))))
    low, high = arm.model.jnt_range.T
    moved = np.abs(np.diff(q, axis=0)).sum(axis=0)
    beyond = max(0.0, float((low - q).max()), float((q - high).max()))
    arrives = outcome.seconds > ARRIVES
    return {
        "distance_to_goal": Figure(
            "Gripper's distance from its goal at the end", away, "m", limit=1e-3 if arrives else None, source="arrives"
        ),
        "turned_off": Figure(
            "Gripper turned off its goal at the end", turn, "°", limit=0.1 if arrives else None, source="arrives"
        ),
        "min_distance": Figure(
            "Nearest that two bodies come",
            float(result["collision.distance"].min()),
            "m",
            least=SPACING - 1e-3,
            source="planner.spacing",
        ),
        "beyond_range": Figure("Farthest out of a joint's range", beyond, "rad", limit=1e-4, source="hard limits"),
        "platform": Figure("Way of the platform", float(moved[:2].sum()), "m", least=0.1, source="out of reach"),
        "arm": Figure("Way of the arm's joints", float(moved[PLATFORM:].sum()), "rad", least=0.1, source="together"),
        "manipulability": Figure("Least manipulability", float(result["planner.manipulability"].min()), "1"),
    }


SCENARIO = Scenario(
    name="mobile-reach",
    title="The mobile manipulator reaches for what is out of its arm's reach (S4)",
    robot=ROBOT,
    obstacles=(BALL,),
    duration=Fraction(16),
    parameters=parameters,
    planner="path",
    table=via,
    graphs=(Graph.PATH_COMPARISON, Graph.VELOCITY_COMPARISON),
    judge=judge,
    plots=redundant.plots(ROBOT, (BALL,)),
)
