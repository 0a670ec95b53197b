"""What the iiwa's scenarios share: from posture A to posture B with a pillar between, and what is promised (S5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from simloop.models.arm import Arm, Vector
from simloop.models.path import COLUMNS, PosePath, ViaPoses
from simloop.models.pose import ToolPose, quaternion_of_zyz, rotation_between, zyz_of_quaternion
from simloop.models.robot import Polyhedron
from simloop.models.robots.iiwa import POSTURE_B, ROBOT
from simloop.studio.redundant import trace_tool
from simloop.studio.scenario import Figure, Outcome, Parameters

Via = tuple[float, Sequence[float]]

STEP = 0.005  # s
DURATION = 25.0  # s
# When the tool is at posture A, A still, the three via points, B, and B still, s. The document counts steps of 5 ms.
KNOTS = tuple(DURATION * part / 300 for part in (0, 10, 85, 160, 220, 240, 300))
# Tool poses between those of the postures: x, y, z in m, then zyz angles in rad, which all say "not turned".
VIA_POINTS = (
    (0.85, -0.2, 0.45, 0.7632, 0.0, -0.7632),
    (0.9, 0.2, 0.4, -0.7632, 0.0, 0.7632),
    (0.7, 0.5, 0.1, -0.7632, 0.0, 0.7632),
)
# A pillar with a rhombus for its section, standing at z = -1 m; corners in m.
PRISM = (
    (0.55, -0.1, -0.1),
    (0.60, 0.0, -0.1),
    (0.55, 0.1, -0.1),
    (0.50, 0.0, -0.1),
    (0.55, -0.1, -1.0),
    (0.60, 0.0, -1.0),
    (0.55, 0.1, -1.0),
    (0.50, 0.0, -1.0),
)
PILLAR = Polyhedron("pillar", PRISM)
SPACING = 0.01  # m
NOT_TURNED = np.array([1.0, 0.0, 0.0, 0.0])


def pose_of(posture: Sequence[float]) -> tuple[float, ...]:
    """Position and zyz angles of the tool."""
    arm = Arm(ROBOT.mjcf)
    tool = ToolPose(arm, ROBOT.tools[0])
    arm.kinematics(np.array(posture))
    return (*tool.position(), *zyz_of_quaternion(tool.quaternion()))


def table(vias: Sequence[Via]) -> str:
    rows = [",".join(repr(float(value)) for value in (time, *pose)) for time, pose in vias]
    return "\n".join([",".join(COLUMNS), *rows]) + "\n"


def parameters(h: float) -> Parameters:
    posture = {f"planner.posture[{i + 1}]": angle for i, angle in enumerate(POSTURE_B)}
    return {
        "planner.plan_ahead": True,
        "planner.posture_gain": 1.0,
        **posture,
        "planner.spacing": SPACING,
        "planner.influence": 0.03,
        "planner.closing_rate": 20.0,
        "planner.centre_gain": 0.2,
        "planner.manipulability_gain": 0.05,
        "plant.mass_error": 0.1,
    }


def judge_way(outcome: Outcome, vias: Sequence[Via]) -> dict[str, Figure]:
    """What both ways from A to B promise."""
    result, trace = outcome.result, trace_tool(ROBOT, outcome.result)
    arm = Arm(ROBOT.mjcf)
    q, v, (low, high) = result.vector("plant.q_true"), result.vector("plant.v"), arm.ranges
    arrived = outcome.seconds >= DURATION
    end = pose_of(POSTURE_B)
    turned = [np.linalg.norm(rotation_between(each, NOT_TURNED)) for each in trace.quaternions]
    astray = np.linalg.norm(rotation_between(trace.quaternions[-1], quaternion_of_zyz(np.array(end[3:]))))
    speed = float(np.abs(v / np.array(ROBOT.max_speed)).max())
    beyond = max(0.0, float((low - q).max()), float((q - high).max()))
    off = np.linalg.norm(trace.positions - _positions(vias, result["time"]), axis=1)

    def at_the_end(limit: float) -> float | None:
        return limit if arrived else None

    return {
        "posture": Figure(
            "Farthest joint from posture B at the end",
            float(np.degrees(np.abs(q[-1] - POSTURE_B).max())),
            "deg",
            limit=at_the_end(0.1),
            source="S5: posture B, joint by joint",
        ),
        "position": Figure(
            "Tool from its end pose",
            float(np.linalg.norm(trace.positions[-1] - end[:3])),
            "m",
            limit=at_the_end(1e-3),
            source="S5: the pose of posture B",
        ),
        "end_turned": Figure(
            "Tool turned off its end pose",
            float(np.degrees(astray)),
            "deg",
            limit=at_the_end(0.1),
            source="S5: the pose of posture B",
        ),
        "turned": Figure(
            "Tool turned at most on the way",
            float(np.degrees(max(turned))),
            "deg",
            limit=0.5,
            source="orientation held",
        ),
        "speed": Figure("Largest part of a joint's speed", speed, "1", limit=1.0, source="S5: speed limits"),
        "beyond_range": Figure("Farthest out of a joint's range", beyond, "rad", limit=1e-6, source="hard limits"),
        "min_distance": Figure(
            "Nearest that two bodies come",
            float(result["collision.distance"].min()),
            "m",
            least=SPACING,
            source="planner.spacing",
        ),
        "least_det": Figure("Least det(J Jᵀ)", float(trace.det.min()), "1", least=1e-5, source="far from singular"),
        "off_path": Figure("Farthest that the tool leaves its path", float(off.max()), "m"),
    }


def _positions(vias: Sequence[Via], times: Vector) -> Vector:
    """Where the tool should be over time."""
    poses = np.array([pose for _, pose in vias])
    quaternions = np.array([quaternion_of_zyz(pose[3:]) for pose in poses])
    path = PosePath(ViaPoses(np.array([time for time, _ in vias]), poses[:, :3], quaternions))
    positions, quaternion = np.empty((len(times), 3)), np.empty(4)
    for k, time in enumerate(times):
        path.at(float(time), positions[k], quaternion)
    return positions
