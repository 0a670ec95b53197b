"""The on-line motion planner: constant acceleration, speed cap, constant deceleration of each tool (S1, algorithm 1).

Algorithm 1 as printed scales by an unnormalised direction and, stepped in discrete time, hunts around the goal. This
one solves the stop in discrete time, so that the last step lands on the goal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from simloop.models.arm import Arm, Tools, Vector
from simloop.models.braking import braking_speed
from simloop.models.detour import Detour, DetourPlan, no_detour
from simloop.models.faults import cannot_drive, check_faults

# The lag of the robot behind its command is smoothed over this time, s: long against one step's measurement noise,
# short against a contact.
LAG_TIME = 0.005
# A direction in which the tools move less than this part of the easiest one is one they cannot move in.
RANK_TOLERANCE = 1e-9
# With pivots no farther apart than this, the tools can move in every direction and no such question arises.
SURELY_FREE = 1e-6
# A plan counts its steps to the goal; beyond this, m, it would lose count.
FARTHEST_GOAL = 1e6


@dataclass
class Plan:
    """What the planner remembers: the planned joint position, and for each tool its speed along the path (k),
    the velocity it commanded and the smoothed lag of the robot behind that (3 k each); and the detour it is on."""

    q: Vector
    speed: Vector
    command: Vector
    lag: Vector
    detour: DetourPlan


def rest_at(q: Vector, tools: Tools) -> Plan:
    """A plan that begins at q, at rest."""
    k = tools.size
    return Plan(
        q=np.array(q, dtype=float),
        speed=np.zeros(k // 3),
        command=np.zeros(k),
        lag=np.zeros(k),
        detour=no_detour(len(q)),
    )


class OnlinePlanner:
    """Moves each tool straight to its goal, re-seeded from where the robot is.

    `band` (m): the plan is re-seeded when a tool is farther than this from where the plan has it; 0 re-seeds every
    step, as the thesis does (S1, section 5.3 step 9; section 7.2 proposes the band).

    `trim` (m/s²): the speed that the robot lost against the last command is added to the next one, up to trim · h,
    and a robot that lags more is not outrun. Without it (0) the plan of a robot heavier than its model stops short
    of the goal, and pushes without bound against an obstacle.
    """

    def __init__(
        self,
        arm: Arm,
        tools: Tools,
        goal: Vector,
        *,
        acceleration: float,
        max_speed: float,
        band: float,
        trim: float,
    ) -> None:
        if not np.all(np.abs(goal) <= FARTHEST_GOAL):
            raise ValueError(f"goal is {goal}; it must be within {FARTHEST_GOAL:g} m of the origin")
        if not acceleration > 0.0:
            raise ValueError(f"acceleration is {acceleration}; it must be greater than 0")
        for name, value in (("max_speed", max_speed), ("band", band), ("trim", trim)):
            if value < 0.0:
                raise ValueError(f"{name} is {value}; it must not be negative")
        self._arm = arm
        self.tools = tools
        self._goal: list[float] = goal.tolist()
        self._acceleration = acceleration
        self._max_speed = max_speed
        self._band = band
        self._trim = trim
        self._JMinv = np.zeros((tools.size, arm.n))
        self._detour = Detour(arm, tools, goal, acceleration=acceleration, max_speed=max_speed)

    def step(self, plan: Plan, q: Vector, v: Vector, h: float, fault: Vector | None = None) -> None:
        """Advance `plan` in place by h s, given where the robot is (q, v); `plan.q` is then the position wanted.

        When `fault` (n) tells that joints cannot be driven any more, the others take a detour to a posture that still
        has the tools at the goal.
        """
        if fault is not None and np.count_nonzero(fault):
            check_faults(fault)
            if cannot_drive(fault).any():
                self._detour.step(plan.detour, q, fault, h, plan.q)
                plan.speed[:] = plan.command[:] = plan.lag[:] = 0.0
                return
        plan.detour.under_way = False
        J = self._seed(plan, q, v, h)
        # Three coordinates at a time are quicker as plain floats than as arrays.
        p, lag, speeds = self.tools.position().tolist(), plan.lag.tolist(), plan.speed.tolist()
        move: list[float] = []
        for i, speed in enumerate(speeds):
            tool = slice(3 * i, 3 * i + 3)
            speeds[i], change = self._advance_tool(speed, p[tool], self._goal[tool], lag[tool], h, J is not None)
            move += change
        plan.speed[:] = speeds
        plan.command[:] = move
        plan.command /= h
        if any(move):
            plan.q += self._joint_change(np.array(move), self.tools.jacobian() if J is None else J)

    def _seed(self, plan: Plan, q: Vector, v: Vector, h: float) -> Vector | None:
        """Place the arm where the plan goes on from: at the robot's position, which gives the tools' Jacobian there, or
        inside the band at the plan's own."""
        if self._band > 0.0:
            self._arm.kinematics(plan.q)
            planned = self.tools.position().copy()
            self._arm.kinematics(q)
            off = (self.tools.position() - planned).reshape(-1, 3)
            if np.max(np.linalg.norm(off, axis=1)) <= self._band:
                self._arm.kinematics(plan.q)
                return None
        else:
            self._arm.kinematics(q)
        plan.q[:] = q
        J = self.tools.jacobian()
        plan.lag += (plan.command - J @ v - plan.lag) * (h / (h + LAG_TIME))
        return J

    def _advance_tool(
        self, speed: float, p: list[float], goal: list[float], lag: list[float], h: float, seeded: bool
    ) -> tuple[float, list[float]]:
        """The speed along the way to the goal and the move in the next step, given the speed in the last."""
        way = [goal[0] - p[0], goal[1] - p[1], goal[2] - p[2]]
        distance = math.hypot(*way)
        if distance == 0.0:
            return 0.0, [0.0, 0.0, 0.0]
        direction = [way[0] / distance, way[1] / distance, way[2] / distance]
        slack, share = self._trim * h, 0.0
        if seeded and slack > 0.0:
            size = math.hypot(*lag)
            share = 1.0 if size <= slack else slack / size
            behind = lag[0] * direction[0] + lag[1] * direction[1] + lag[2] * direction[2]
            speed = max(0.0, speed - max(0.0, behind - slack))
        a = self._acceleration
        speed = min(speed + a * h, self._max_speed, braking_speed(distance, a, h))
        move = [h * (speed * d + share * x) for d, x in zip(direction, lag, strict=True)]
        along = move[0] * direction[0] + move[1] * direction[1] + move[2] * direction[2]
        return speed, way if along >= distance else move

    def _joint_change(self, dp: Vector, J: Vector) -> Vector:
        """Joint change for a tool change, as the model itself gives way when its tools are pulled: inertia-weighted
        (S1, 4.2). What the tools cannot do is left out."""
        self._arm.solve_inertia(J, self._JMinv)
        mobility = J @ self._JMinv.T
        factor, pull, failed = lapack.dposv(mobility, dp)
        pivots = factor.ravel()[:: len(dp) + 1]
        if failed or pivots.min() ** 2 <= SURELY_FREE * pivots.max() ** 2:
            values, axes, _ = lapack.dsyevd(mobility)
            free = values > RANK_TOLERANCE * values[-1]
            axes = axes[:, free]
            pull = axes @ ((dp @ axes) / values[free])
        change: Vector = pull @ self._JMinv
        return change


def record_table(planner: OnlinePlanner, q: Vector, h: float, steps: int) -> Vector:
    """Joint positions at 0, h, 2 h, … of a robot that follows the plan exactly: the off-line plan (S1, 5.2.1)."""
    plan = rest_at(q, planner.tools)
    table = np.empty((steps + 1, len(q)))
    table[0] = q
    for k in range(steps):
        before = table[k]
        velocity = (before - table[k - 1]) / h if k else np.zeros(len(q))
        planner.step(plan, before, velocity, h)
        table[k + 1] = plan.q
    return table
