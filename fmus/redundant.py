"""What the planners of arms with joints to spare share: parameters, limits, objectives, and the plan itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from simloop.fmus.resources import read_home, read_max_speed, read_model, read_tools
from simloop.fmus.slave import VELOCITY, Kind, Port, Role, Slave
from simloop.fmus.state import UnitState
from simloop.models.arm import Arm
from simloop.models.clearance import Clearance
from simloop.models.limits import JointLimits, limits_of
from simloop.models.objectives import Centre, Manipulability, Room
from simloop.models.pose import ToolPoint, ToolPose, ToolTurn
from simloop.models.redundancy import ByInertia, Evenly, Resolution, Spacing, Task, Weighting
from simloop.models.redundant_planner import JointPlan, Rate, advance, joints_at_rest
from simloop.models.rolling import Rolling

WEIGHTS: dict[str, Weighting] = {"inertia": ByInertia(), "evenly": Evenly()}
INTEGRATORS = ("euler", "rk23")
Objectives = list[tuple[float, Any]]
ACCELERATION = "Largest acceleration of a joint, rad/s2 or m/s2; less where its motor is too weak"
# Of the tool, beside its position.
ORIENTATIONS = ("held", "second")


@dataclass
class State(UnitState):
    plan: JointPlan


class RedundantPlanner(Slave):
    """Has the ports of the on-line planner, and moves the robot's first tool. The plan is its own, and is re-seeded
    from the robot only where a joint is farther off than `band`."""

    def __init__(
        self, instance_name: str, resources: str, own: list[Port], state: type[State] = State, **parts: Any
    ) -> None:
        """`own` are the ports, and `state` and `parts` the state, that a planner has beyond these."""
        self.arm = Arm(read_model(resources))
        self.tool = ToolPose(self.arm, read_tools(resources)[0])
        n, units = self.arm.n, self.arm.units
        self.home = home = np.array(read_home(resources))
        speed = read_max_speed(resources) or [10.0] * n
        velocity = [VELOCITY[u] for u in units]
        parameter, text = Role.PARAMETER, Kind.STRING
        ports = [
            Port("q", Role.INPUT, "Joint position to plan from", n, unit=units, start=home),
            Port("v", Role.INPUT, "Joint velocity to plan from", n, unit=velocity),
            *own,
            Port("q_d", Role.OUTPUT, "Joint position wanted at the end of the step", n, unit=units),
            Port(
                "manipulability", Role.OUTPUT, "Square root of det(J J'): 0 is a singular pose", starts_from=(), least=0
            ),
            Port("max_joint_speed", parameter, "Largest speed of each joint", n, unit=velocity, start=speed),
            Port("joint_acceleration", parameter, ACCELERATION, start=10.0, least=0),
            Port("band", parameter, "Re-seed only where a joint is farther off, m or rad", start=0.05, least=0),
            Port("spacing", parameter, "Bodies keep this distance", unit="m", start=0.0, least=0),
            Port(
                "influence", parameter, "From this distance on they close ever more slowly; 0 is off", unit="m", least=0
            ),
            Port("closing_rate", parameter, "By at most this part of what is left, 1/s", start=5.0, least=0),
            Port("centre_gain", parameter, "Null space: how much joints like the middle of their range", least=0),
            Port("posture_gain", parameter, "Null space: how much joints like the posture", least=0),
            Port("posture", parameter, "Null space: the posture", n, unit=units, start=home),
            Port("posture_from", parameter, "The posture counts from this time on", unit="s", least=0),
            Port(
                "manipulability_gain",
                parameter,
                "Null space: how much the arm likes to be far from singular poses",
                least=0,
            ),
            Port("room_gain", parameter, "Null space: how much the arm likes room, within twice `influence`", least=0),
            Port("weighting", parameter, f"Of joint motion: {' or '.join(WEIGHTS)}", kind=text, start="inertia"),
            Port(
                "orientation",
                parameter,
                "Of the tool: held with its position, or second to it, given up first where both cannot be kept",
                kind=text,
                start="held",
            ),
            Port(
                "nonholonomic",
                parameter,
                "The platform (joints x, y, heading) cannot move sideways",
                kind=Kind.BOOLEAN,
                start=False,
            ),
            Port("integrator", parameter, f"Of the plan: {' or '.join(INTEGRATORS)}", kind=text, start="euler"),
        ]
        super().__init__(instance_name, resources, ports, state, plan=joints_at_rest(home), **parts)
        self.spacing: Spacing | None = None
        self.q, self.v, self.q_d = map(self.view, ("q", "v", "q_d"))
        self.manipulability = self.view("manipulability")

    def prepare(self) -> None:
        self._band = self.positive("band")
        low, high = self.arm.ranges
        speed, acceleration = self.view("max_joint_speed").copy(), self.positive("joint_acceleration")
        self.limits = limits = limits_of(self.arm, self.home, speed, acceleration)
        influence, self.spacing = self.not_negative("influence"), None
        clearance = Clearance(self.arm) if influence > 0.0 else None
        if clearance is not None:
            self.spacing = Spacing(clearance, self.not_negative("spacing"), influence, self.positive("closing_rate"))
        free = np.isinf(low)
        span_low, span_high = np.where(free, -np.pi, low), np.where(free, np.pi, high)
        self._objective = Manipulability(self.arm, self.tool)
        always: Objectives = [
            (self.not_negative("centre_gain"), Centre(span_low, span_high)),
            (self.not_negative("manipulability_gain"), self._objective),
        ]
        if clearance is not None:
            always.append((self.not_negative("room_gain"), Room(clearance, 2 * influence)))
        later = (self.not_negative("posture_gain"), Centre(span_low, span_high, self.view("posture")))
        tasks = self._tasks()
        choices: dict[str, Any] = {
            "weight": WEIGHTS[self.one_of("weighting", WEIGHTS)],
            "lower": tasks[1:],
            "spacing": self.spacing,
            "rolling": self._rolling(limits),
        }

        def make(objectives: Objectives) -> Resolution:
            chosen = [(gain, objective) for gain, objective in objectives if gain]
            return Resolution(self.arm, tasks[0], limits, objectives=chosen, **choices)

        self.objectives, self.make = always, make
        self._early, self._late = make(always), make([*always, later])
        self._posture_from = self.not_negative("posture_from")
        self._error_controlled = self.one_of("integrator", INTEGRATORS) == "rk23"

    def _tasks(self) -> tuple[Task, ...]:
        if self.one_of("orientation", ORIENTATIONS) == "second":
            return ToolPoint(self.tool), ToolTurn(self.tool)
        return (self.tool,)

    def _rolling(self, limits: JointLimits) -> Rolling | None:
        if not self.view("nonholonomic")[0]:
            return None
        try:
            return Rolling(self.arm, limits)
        except ValueError as error:
            raise ValueError(f"{self.instance_name}.nonholonomic is true, but {error}") from error

    def start(self) -> None:
        self.q_d[:] = self.state.plan.q
        self.manipulability[0] = self._objective.value(self.state.plan.q)

    def resolution(self, time: float) -> Resolution:
        """What resolves the twist at a time."""
        return self._late if time >= self._posture_from else self._early

    def follow(self, twist: Rate, time: float, h: float) -> None:
        """Advance the plan by h s along a twist and tell it."""
        plan = self.state.plan
        if np.abs(plan.q - self.q).max() > self._band:
            plan.q[:], plan.v[:] = self.q, self.v
        resolution = self.resolution(time)
        advance(plan, resolution, twist, time, h, error_controlled=self._error_controlled)
        self.q_d[:] = plan.q
        self.manipulability[0] = self._objective.value(plan.q)
