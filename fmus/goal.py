"""The planner from goal to goal as a unit: around obstacles, within the joints' limits, planned before the start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from simloop.fmus.redundant import ACCELERATION
from simloop.fmus.resources import read_home, read_max_speed, read_model, read_tools
from simloop.fmus.slave import VELOCITY, Kind, Port, Role, Slave, Vector
from simloop.fmus.state import UnitState
from simloop.models.along_way import AlongWay
from simloop.models.arm import Arm
from simloop.models.clearance import Clearance
from simloop.models.feasible import check_posture, posture_for_pose
from simloop.models.free_space import AHEAD, FreeSpace
from simloop.models.goal import SOUGHT, GoalPlanner
from simloop.models.limits import limits_of
from simloop.models.objectives import Manipulability
from simloop.models.pose import ToolPose, quaternion_of_zyz, zyz_of_quaternion
from simloop.models.redundancy import Spacing
from simloop.models.redundant_planner import JointPlan, joints_at_rest

GOALS = ("posture", "pose")
# Off its way the arm closes on other bodies by at most this part of what is left, 1/s.
CLOSING_RATE = 5.0


@dataclass
class State(UnitState):
    plan: JointPlan
    progress: float
    """How far on the way, s."""


class GoalUnit(Slave):
    """Has the ports of the on-line planner. The way begins at home, where every run does, and depends on parameters
    only; a robot that is farther off it than `band` is waited for and brought back."""

    description = "Goal planner: takes an arm to a posture or a pose around what is in the way, within its limits"

    def __init__(self, instance_name: str, resources: str, **_: Any) -> None:
        self.arm = Arm(read_model(resources))
        self.tool = ToolPose(self.arm, read_tools(resources)[0])
        self._home: Vector = np.array(read_home(resources))
        n, units = self.arm.n, self.arm.units
        velocity = [VELOCITY[unit] for unit in units]
        self.arm.kinematics(self._home)
        pose = [*self.tool.position(), *zyz_of_quaternion(self.tool.quaternion())]
        parameter = Role.PARAMETER
        ports = [
            Port("q", Role.INPUT, "Joint position of the robot", n, unit=units, start=self._home),
            Port("v", Role.INPUT, "Joint velocity of the robot", n, unit=velocity),
            Port("q_d", Role.OUTPUT, "Joint position wanted at the end of the step", n, unit=units),
            Port(
                "manipulability", Role.OUTPUT, "Square root of det(J J'): 0 is a singular pose", starts_from=(), least=0
            ),
            Port("goal", parameter, f"What to go to: {' or '.join(GOALS)}", kind=Kind.STRING, start="posture"),
            Port("posture", parameter, "The goal as joint positions", n, unit=units, start=self._home),
            Port(
                "pose",
                parameter,
                "The goal as pose of the first tool: x, y, z and Euler angles z, y, z",
                6,
                unit=["m"] * 3 + ["rad"] * 3,
                start=pose,
            ),
            Port(
                "hold_orientation",
                parameter,
                "The tool keeps its orientation on the way",
                kind=Kind.BOOLEAN,
                start=False,
            ),
            Port("spacing", parameter, "Bodies keep this distance", unit="m", start=0.01, least=0),
            Port(
                "max_joint_speed",
                parameter,
                "Largest speed of each joint",
                n,
                unit=velocity,
                start=read_max_speed(resources) or [10.0] * n,
            ),
            Port("joint_acceleration", parameter, ACCELERATION, start=10.0, least=0),
            Port("band", parameter, "Plan from the robot where a joint is farther off, m or rad", start=0.05, least=0),
            Port("seed", parameter, "Of the random search for a way", kind=Kind.INTEGER, start=0, least=0),
        ]
        super().__init__(instance_name, resources, ports, State, plan=joints_at_rest(self._home), progress=0.0)
        self.q, self.v, self.q_d = map(self.view, ("q", "v", "q_d"))
        self.manipulability = self.view("manipulability")
        self._manipulability = Manipulability(self.arm, self.tool)

    def prepare(self) -> None:
        self._band, least = self.positive("band"), self.not_negative("spacing")
        low, high = self.arm.ranges
        speed = self.view("max_joint_speed").copy()
        slow = np.flatnonzero(speed <= 0.0)
        if len(slow):
            name = f"{self.instance_name}.max_joint_speed[{slow[0] + 1}]"
            raise ValueError(f"{name} is {speed[slow[0]]:g}; it must be greater than 0")
        limits = limits_of(self.arm, self._home, speed, self.positive("joint_acceleration"))
        clearance, seed = Clearance(self.arm), int(self.not_negative("seed"))
        goal = self._goal(Spacing(clearance, least + SOUGHT, least + AHEAD, CLOSING_RATE))
        space = FreeSpace(self.arm, self.tool, low, high, least)
        way = GoalPlanner(space, limits, self._held(goal), seed).plan(self._home, goal)
        self._along = AlongWay(self.arm, way, limits, Spacing(clearance, least, least + AHEAD, CLOSING_RATE))

    def _goal(self, spacing: Spacing) -> Vector:
        """The posture to go to."""
        posture = self.view("posture").copy()
        if self.one_of("goal", GOALS) == "pose":
            pose = self.view("pose")
            turned = quaternion_of_zyz(pose[3:])
            posture = posture_for_pose(self.arm, self.tool, pose[:3].copy(), turned, self._home, spacing)
        elif (posture != self._home).any():
            check_posture(self.arm, posture, spacing)
        return posture

    def _held(self, goal: Vector) -> Vector | None:
        """The orientation of the tool that is held on the way, if one is: that of the goal."""
        if not self.view("hold_orientation")[0]:
            return None
        self.arm.kinematics(goal)
        return self.tool.quaternion().copy()

    def start(self) -> None:
        self.q_d[:] = self.state.plan.q
        self.manipulability[0] = self._manipulability.value(self.state.plan.q)

    def step(self, time: float, h: float) -> None:
        plan = self.state.plan
        if np.abs(plan.q - self.q).max() > self._band:
            plan.q[:], plan.v[:] = self.q, self.v
        self.state.progress = self._along.advance(plan, self.state.progress, h)
        self.q_d[:] = plan.q
        self.manipulability[0] = self._manipulability.value(plan.q)
