"""What the iiwa's scenarios share: from posture A to posture B with a pillar between, and what is promised (S5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from simloop.models.arm import Arm, Vector
from simloop.models.path import COLUMNS, PosePath, ViaPoses
from simloop.models.pose import ToolPose, quaternion_of_zyz, rotation_between, zyz_of_quaternion
from simloop.models.robot import Polyhedron
from simloop.models.robots.iiwa import POSTURE_B, ROBOT
from simloop.studio import redundant
from simloop.studio.redundant import trace_tool
from simloop.studio.scenario import Figure, Graph, Outcome, Parameters, Scenario

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


def judge_end(
    outcome: Outcome, posture: Sequence[float] | None, pose: Sequence[float], *, arrived: bool, source: str
) -> dict[str, Figure]:
    """How near it ends to a pose, and to a posture if one is promised, once it should have arrived."""
    q, trace = outcome.result.vector("plant.q_true")[-1], trace_tool(ROBOT, outcome.result)
    turned = rotation_between(trace.quaternions[-1], quaternion_of_zyz(np.array(pose[3:])))
    away = float(np.linalg.norm(trace.positions[-1] - pose[:3]))
    ends = [
        ("position", "Tool's distance from its goal at the end", away, "m", 1e-3),
        ("end_turned", "Tool turned off its goal at the end", float(np.degrees(np.linalg.norm(turned))), "°", 0.1),
    ]
    if posture is not None:
        farthest = float(np.degrees(np.abs(q - np.array(posture)).max()))
        ends.insert(0, ("posture", "Farthest joint from its goal at the end", farthest, "°", 0.1))
    return {
        key: Figure(label, value, unit, limit=limit if arrived else None, source=source)
        for key, label, value, unit, limit in ends
    }


def judge_limits(outcome: Outcome, speeds: Sequence[float], spacing: float) -> dict[str, Figure]:
    """Whether joints kept their speeds and ranges, and bodies their distance."""
    result, (low, high) = outcome.result, Arm(ROBOT.mjcf).ranges
    q, v = result.vector("plant.q_true"), result.vector("plant.v")
    speed = float(np.abs(v / np.array(speeds)).max())
    beyond = max(0.0, float((low - q).max()), float((q - high).max()))
    nearest = float(result["collision.distance"].min())
    return {
        "speed": Figure(
            "Largest joint speed, as a part of its limit", speed, "1", limit=1.0, source="planner.max_joint_speed"
        ),
        "beyond_range": Figure("Farthest out of a joint's range", beyond, "rad", limit=1e-6, source="hard limits"),
        "min_distance": Figure("Nearest that two bodies come", nearest, "m", least=spacing, source="planner.spacing"),
    }


def judge_way(outcome: Outcome, vias: Sequence[Via]) -> dict[str, Figure]:
    """What both ways from A to B promise."""
    trace = trace_tool(ROBOT, outcome.result)
    arrived = outcome.seconds >= DURATION
    turned = max(float(np.linalg.norm(rotation_between(each, NOT_TURNED))) for each in trace.quaternions)
    off = np.linalg.norm(trace.positions - _positions(vias, outcome.result["time"]), axis=1)
    return {
        **judge_end(outcome, POSTURE_B, pose_of(POSTURE_B), arrived=arrived, source="S5: posture B"),
        "turned": Figure(
            "Farthest that the tool is turned on its way",
            float(np.degrees(turned)),
            "°",
            limit=0.5,
            source="orientation held",
        ),
        **judge_limits(outcome, ROBOT.max_speed, SPACING),
        "least_det": Figure("Least det(J Jᵀ)", float(trace.det.min()), "1", least=1e-5, source="far from singular"),
        "off_path": Figure("Farthest that the tool leaves its path", float(off.max()), "m"),
    }


def past_the_pillar(name: str, title: str, vias: Callable[[], Sequence[Via]]) -> Scenario:
    """From posture A to posture B on a path through via poses, the pillar in between."""
    return Scenario(
        name=name,
        title=title,
        robot=ROBOT,
        obstacles=(PILLAR,),
        duration=Fraction(DURATION),
        parameters=parameters,
        planner="path",
        table=lambda h, steps: table(vias()),
        graphs=(Graph.PATH_COMPARISON, Graph.FORCE_COMPARISON),
        judge=lambda outcome: judge_way(outcome, vias()),
        plots=redundant.plots(ROBOT, (PILLAR,)),
    )


def _positions(vias: Sequence[Via], times: Vector) -> Vector:
    """Where the tool should be over time."""
    poses = np.array([pose for _, pose in vias])
    quaternions = np.array([quaternion_of_zyz(pose[3:]) for pose in poses])
    path = PosePath(ViaPoses(np.array([time for time, _ in vias]), poses[:, :3], quaternions))
    positions, quaternion = np.empty((len(times), 3)), np.empty(4)
    for k, time in enumerate(times):
        path.at(float(time), positions[k], quaternion)
    return positions
