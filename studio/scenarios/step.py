"""Each tool of any robot moves to a place near by that it can reach: the first thing to try with your own robot."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from simloop.models.arm import Arm, Tools, Vector
from simloop.models.clearance import NOTHING_NEAR
from simloop.models.planner import OnlinePlanner, record_table
from simloop.models.robot import Robot
from simloop.models.robot_file.home import overlaps
from simloop.models.robots.sphere import ROBOT
from simloop.studio.scenario import Figure, Graph, Outcome, Parameters, Scenario
from simloop.studio.scenarios._travel import travel_time

ACCELERATION = 0.1  # m/s², the planner's own
MAX_SPEED = 1.0  # m/s, likewise
DURATION = Fraction(3)  # 2 s to get there, and a rest
DISTANCES = (0.1, 0.05, 0.02)  # m, tried in this order
DIRECTIONS = ((0, 0, 1), (0, 0, -1), (-1, 0, 0), (1, 0, 0), (0, 1, 0), (0, -1, 0))
# Where a goal is tried out the step is this, s; it need not be exact.
TRIAL_STEP = 0.02
# Places on the way where it is looked for contact.
LOOKS = 10
# A tool that ends this near to its goal, m, has reached it.
REACHED, REACHED_DISTURBED = 1e-6, 1e-3


def make(robot: Robot) -> Scenario:
    goal = choose_goal(robot)
    settings: Parameters = {f"planner.goal[{i + 1}]": float(value) for i, value in enumerate(goal)}
    return Scenario(
        name="step",
        title=f"{robot.name}: each tool moves to a place near by, planned on-line",
        robot=robot,
        duration=DURATION,
        parameters=lambda h: dict(settings),
        graphs=tuple(Graph),
        judge=lambda outcome: judge(robot, outcome),
        fit=make,
    )


def choose_goal(robot: Robot) -> Vector:
    """Where the tools should go: up by 0.1 m, or else to the first place tried that they reach within their limits,
    touching nothing if that can be.

    When they reach none it is up all the same, and the run shows how far they get.
    """
    arm = Arm(robot.mjcf, contact=True)
    tools = Tools(arm, robot.tools)
    home = np.array(robot.home)
    arm.kinematics(home)
    tried = list(_goals(arm, tools, home, tools.position().copy()))
    reached = []
    for goal in tried:
        path = _path_to(robot, arm, tools, goal)
        if path is not None:
            reached.append(goal)
            if not any(overlaps(arm, q) for q in path[:: len(path) // LOOKS]):
                return goal
    return (reached or tried)[0]


def _goals(arm: Arm, tools: Tools, home: Vector, here: Vector) -> Iterator[Vector]:
    for distance in DISTANCES:
        for direction in DIRECTIONS:
            yield here + distance * np.tile(np.array(direction, dtype=float), len(here) // 3)
    # An arm with few joints moves on a curve: places on it.
    for turn in (0.2, -0.2, 0.05, -0.05):
        arm.kinematics(home + turn)
        yield tools.position().copy()


def _path_to(robot: Robot, arm: Arm, tools: Tools, goal: Vector) -> Vector | None:
    """The joints' way to the goal, if the planner gets there with each in its range and no faster than it may."""
    planner = OnlinePlanner(arm, tools, goal, acceleration=ACCELERATION, max_speed=MAX_SPEED, band=0.0, trim=0.0)
    path = record_table(planner, np.array(robot.home), TRIAL_STEP, int(DURATION / Fraction(TRIAL_STEP)))
    arm.kinematics(path[-1])
    missed = _farthest(tools.position() - goal) > REACHED
    speeds = np.abs(np.diff(path, axis=0)).max(axis=0) / TRIAL_STEP
    hurried = bool(robot.max_speed) and bool((speeds > robot.max_speed).any())
    return None if missed or hurried or _overrun(arm, path) > 0.0 else path


def _farthest(off: Vector) -> float:
    return float(np.linalg.norm(off.reshape(-1, 3), axis=1).max())


def _overrun(arm: Arm, path: Vector) -> float:
    """The farthest that a joint goes beyond its limits, rad or m; negative when all stay inside."""
    limited = arm.model.jnt_limited == 1
    if not limited.any():
        return -math.inf
    lower, upper = arm.model.jnt_range[limited].T
    return float(np.maximum(lower - path[:, limited], path[:, limited] - upper).max())


def judge(robot: Robot, outcome: Outcome) -> dict[str, Figure]:
    arm = Arm(robot.mjcf)
    tools = Tools(arm, robot.tools)
    q, q_d, v = map(outcome.result.vector, ("plant.q_true", "planner.q_d", "plant.v"))
    goal = np.array([outcome.number(f"planner.goal[{i + 1}]") for i in range(tools.size)])
    places = []
    for position in (q[0], q[-1]):
        arm.kinematics(position)
        places.append(tools.position().copy())
    figures = {
        f"{tool}_distance_to_goal": Figure(
            f"Distance of {tool} from its goal at the end", float(np.linalg.norm(off)), "m"
        )
        for tool, off in zip(robot.tools, (places[1] - goal).reshape(-1, 3), strict=True)
    }
    pushed = bool(outcome.result.vector("plant.f_ext").any())
    soft = any(outcome.number(f"control.sigma[{i + 1}]") for i in range(arm.n))
    exact = not (outcome.number("plant.mass_error") or pushed or soft or outcome.disturbed())
    speeding = outcome.number("planner.acceleration", ACCELERATION), outcome.number("planner.max_speed", MAX_SPEED)
    if outcome.seconds >= travel_time(_farthest(places[0] - goal), *speeding):
        limit = REACHED if exact else REACHED_DISTURBED
        figures = {
            key: replace(figure, limit=limit, source="within reach, and reached") for key, figure in figures.items()
        }
    error = Figure("Largest tracking error |q − q_d|", float(np.abs(q - q_d).max()), "rad or m")
    figures["max_tracking_error"] = (
        replace(error, limit=1e-9, source="no model error, no tracking error") if exact else error
    )
    overrun = max(0.0, _overrun(arm, q))
    figures["limit_overrun"] = Figure(
        "Farthest beyond a joint limit",
        overrun,
        "rad or m",
        limit=1e-9 if exact else 1e-3,
        source="joints stay in their range",
    )
    if robot.max_speed:
        part = float((np.abs(v) / np.array(robot.max_speed)).max())
        figures["speed_part"] = Figure("Greatest part of a joint's speed limit", part, "1", limit=1.0, source="limit")
    if (arm.model.jnt_actfrclimited == 1).any():
        figures["effort_part"] = _effort(arm, outcome)
    nearest = float(np.min(outcome.result["collision.distance"]))
    if nearest < NOTHING_NEAR:
        figures["nearest"] = Figure("Nearest that two bodies come", nearest, "m")
    return figures


def _effort(arm: Arm, outcome: Outcome) -> Figure:
    limited = arm.model.jnt_actfrclimited == 1
    most = np.abs(arm.model.jnt_actfrcrange[limited]).max(axis=1)
    tau = np.abs(outcome.result.vector("control.tau"))[1:, limited]
    part = float((tau / most).max()) if len(tau) else 0.0
    return Figure("Greatest part of a joint's effort limit", part, "1", limit=1.0, source="limit")


SCENARIO = make(ROBOT)
