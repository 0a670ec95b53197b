"""What reports of arms with joints to spare show (S5): joints and their speeds with limits, det(J Jᵀ), the tool's pose
over time and its path in space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from simloop.master import Result
from simloop.models.arm import Arm, Vector
from simloop.models.pose import ToolPose, rotation_between
from simloop.models.robot import Obstacle, Robot
from simloop.studio.look import joint_colour
from simloop.studio.scenario import Curve, Outcome, Panel, Panels, Path, Plot


@dataclass(frozen=True)
class ToolTrace:
    """A robot's first tool in each of k rows: position (k, 3), m; orientation (k, 4), unit quaternions, w first; and
    det(J Jᵀ) (k) of its Jacobian J (6, n) in m and rad."""

    positions: Vector
    quaternions: Vector
    det: Vector


# The last is kept: a scenario's figures, plots and markers ask for the same one.
@lru_cache(maxsize=1)
def trace_tool(robot: Robot, result: Result) -> ToolTrace:
    arm = Arm(robot.mjcf)
    tool = ToolPose(arm, robot.tools[0])
    q = result.vector("plant.q_true")
    positions, quaternions, det = np.empty((len(q), 3)), np.empty((len(q), 4)), np.empty(len(q))
    for k, each in enumerate(q):
        arm.kinematics(each)
        positions[k], quaternions[k] = tool.position(), tool.quaternion()
        J = tool.jacobian()
        det[k] = np.linalg.det(J @ J.T)
    return ToolTrace(positions, quaternions, det)


def plots(robot: Robot, obstacles: tuple[Obstacle, ...] = ()) -> Callable[[Outcome], tuple[Plot | Panels | Path, ...]]:
    """A scenario's `plots`: S5's five figures, the forces, and the path of the tool among the obstacles."""

    def draw(outcome: Outcome) -> tuple[Plot | Panels | Path, ...]:
        trace = trace_tool(robot, outcome.result)
        return (
            path_in_space(robot, obstacles, outcome.result),
            joint_positions(robot, outcome.result),
            joint_speeds(robot, outcome),
            joint_forces(robot, outcome.result),
            tool_position(trace),
            tool_orientation(trace),
            singularity(trace, outcome.result),
        )

    return draw


def joint_positions(robot: Robot, result: Result) -> Panels:
    arm = Arm(robot.mjcf)
    q, (low, high) = result.vector("plant.q_true"), arm.ranges
    panels = [_panel(arm, i, q[:, i], (low[i], high[i])) for i in range(arm.n)]
    return Panels("Joint positions, with their limits", tuple(panels))


def joint_speeds(robot: Robot, outcome: Outcome) -> Panels:
    arm = Arm(robot.mjcf)
    v = outcome.result.vector("plant.v")
    known = robot.max_speed or (np.inf,) * arm.n
    limits = [outcome.number(f"planner.max_joint_speed[{i + 1}]", known[i]) for i in range(arm.n)]
    panels = [_panel(arm, i, v[:, i], (-limits[i], limits[i]), "/s") for i in range(arm.n)]
    return Panels("Joint speeds, with their limits", tuple(panels))


def joint_forces(robot: Robot, result: Result) -> Panels:
    arm = Arm(robot.mjcf)
    force, strongest = result.vector("control.tau"), arm.torque_limits
    units = ["N·m" if unit == "rad" else "N" for unit in arm.units]
    panels = [
        Panel(f"{name} / {unit}", force[:, i], (-strongest[i], strongest[i]), joint_colour(i))
        for i, (name, unit) in enumerate(zip(arm.joint_names, units, strict=True))
    ]
    title = "Joint forces sent by control, with their motors' limits"
    return Panels(f"{title}<br><sub>what acts is less where a motor is too weak or has failed</sub>", tuple(panels))


def _panel(arm: Arm, i: int, values: Vector, limits: tuple[float, float], per: str = "") -> Panel:
    """Of one joint; angles in degrees."""
    turns = arm.units[i] == "rad"
    scale = 180.0 / np.pi if turns else 1.0
    unit = f"{'°' if turns else 'm'}{per}"
    low, high = (scale * limit for limit in limits)
    return Panel(f"{arm.joint_names[i]} / {unit}", scale * values, (low, high), joint_colour(i))


def tool_position(trace: ToolTrace) -> Plot:
    curves = tuple(Curve(axis, trace.positions[:, i]) for i, axis in enumerate("xyz"))
    return Plot("Position of the tool", "position / m", curves)


def tool_orientation(trace: ToolTrace) -> Plot:
    """As rotation vector, since zyz angles jump just where S4 and S5 hold the tool: its axis along z."""
    turned = np.degrees([rotation_between(trace.quaternions[0], quaternion) for quaternion in trace.quaternions])
    curves = tuple(Curve(f"about {axis}", turned[:, i]) for i, axis in enumerate("xyz"))
    return Plot("Orientation of the tool, turned from its start", "rotation vector / °", curves)


def singularity(trace: ToolTrace, result: Result) -> Plot:
    k = int(trace.det.argmin())
    title = f"Distance from singular poses<br><sub>least {trace.det[k]:.3g} at {result['time'][k]:.4g} s</sub>"
    return Plot(title, "det(J Jᵀ)", (Curve("", trace.det),))


def path_in_space(robot: Robot, obstacles: tuple[Obstacle, ...], result: Result) -> Path:
    q = result.vector("plant.q_true")
    postures = tuple((label, skeleton(robot, q[k])) for label, k in (("arm at the start", 0), ("arm at the end", -1)))
    return Path("Path of the tool", trace_tool(robot, result).positions, postures, obstacles)


def skeleton(robot: Robot, q: Vector) -> Vector:
    """The places of the joints that turn, a slide having none, and of the tool, in order, (j, 3), m."""
    arm = Arm(robot.mjcf)
    arm.kinematics(q)
    turning = [unit == "rad" for unit in arm.units]
    return np.vstack([arm.data.xanchor[turning], ToolPose(arm, robot.tools[0]).position()])
