"""A joint of the PackBot's arm fails on the way; the gripper still arrives (S2, sections 2 and 5).

The plant's joint fails at FAILS; DIAGNOSED later the planner and the control simulation are told, and go on with the
joints that are left. Choose another failure with --at, such as `--at 2:plant.fault[3]=1` (1 loose, 2 frozen).
"""

from __future__ import annotations

import functools
from dataclasses import replace
from fractions import Fraction

import numpy as np
from simloop.master import TimedWrite
from simloop.models.arm import Arm, Tools, Vector
from simloop.models.faults import Fault, cannot_drive
from simloop.models.reach import Reach
from simloop.models.sight import Sight
from simloop.studio.scenario import Figure, Graph, Marker, Outcome, Parameters, Scenario, Table
from simloop.studio.scenarios._packbot import JOINTS, ROBOT

JOINT = JOINTS.index("elbow2") + 1
FAILS, DIAGNOSED = Fraction(2), Fraction(1, 10)  # s
GOAL = (0.9, 0.3, 0.8)  # m
# Targets ahead of the robot, m.
GRID = [(x, y, z) for x in (0.5, 0.8, 1.1, 1.4) for y in (-0.4, 0.0, 0.4) for z in (0.1, 0.5, 0.9, 1.3)]


def parameters(h: float) -> Parameters:
    return {f"planner.goal[{i}]": coordinate for i, coordinate in enumerate(GOAL, start=1)}


def writes(h: float) -> tuple[TimedWrite, ...]:
    frozen = int(Fault.FROZEN)
    told = [TimedWrite(FAILS + DIAGNOSED, f"{unit}.fault[{JOINT}]", frozen) for unit in ("planner", "control")]
    return (TimedWrite(FAILS, f"plant.fault[{JOINT}]", frozen), *told)


def judge(outcome: Outcome) -> dict[str, Figure]:
    result, arm = outcome.result, Arm(ROBOT.mjcf)
    tools = Tools(arm, ROBOT.tools)
    q, fault = result.vector("plant.q_true")[-1], result.vector("plant.fault")[-1]
    goal = np.array([outcome.number(f"planner.goal[{i}]", c) for i, c in enumerate(GOAL, start=1)])
    arm.kinematics(q)
    here = tools.position().copy()
    blocked = Sight(arm, ROBOT.camera).blocked_by(here)
    failed = " and ".join(name for name, gone in zip(JOINTS, cannot_drive(fault), strict=True) if gone) or "nothing"
    reach = Reach(arm, tools)
    arrives = Figure(f"Gripper's distance from its goal, with {failed} failed", float(np.linalg.norm(here - goal)), "m")
    if reach.find(goal, q, fault) is not None:
        # Static friction lets a hanging link rest a degree or two beside the place where gravity alone would have it.
        limit = 0.02 if np.any(fault == Fault.LOOSE) else 1e-3
        arrives = replace(arrives, limit=limit, source="in reach of the other joints")
    before, after = (sum(in_reach(q, f)) for f in (np.zeros(arm.n), fault))
    hidden = f"Bodies that hide the gripper from the camera{': ' if blocked else ''}{', '.join(blocked)}"
    return {
        "distance_to_goal": arrives,
        "reachable_before": Figure(f"Targets in reach, of {len(GRID)}, with the arm whole", float(before), "1"),
        "reachable_after": Figure(f"Targets in reach, of {len(GRID)}, with {failed} failed", float(after), "1"),
        "sight_blocked": Figure(hidden, float(len(blocked)), "1"),
    }


def in_reach(q: Vector, fault: Vector) -> tuple[bool, ...]:
    """Which targets of the grid the gripper can reach from q."""
    return _in_reach(tuple(q.tolist()), tuple(fault.tolist()))


@functools.cache
def _in_reach(q: tuple[float, ...], fault: tuple[float, ...]) -> tuple[bool, ...]:
    """Kept, for the figures and the table both ask."""
    arm = Arm(ROBOT.mjcf)
    reach = Reach(arm, Tools(arm, ROBOT.tools))
    return tuple(reach.find(np.array(target), np.array(q), np.array(fault)) is not None for target in GRID)


def tables(outcome: Outcome) -> tuple[Table, ...]:
    q, fault = (outcome.result.vector(name)[-1] for name in ("plant.q_true", "plant.fault"))
    words = {(True, True): "yes", (True, False): "no more", (False, True): "yes", (False, False): "never"}
    found = [words[pair] for pair in zip(in_reach(q, np.zeros_like(fault)), in_reach(q, fault), strict=True)]
    places = sorted({(target[0], target[1]) for target in GRID})
    heights = sorted({target[2] for target in GRID})
    cells = {tuple(target): word for target, word in zip(GRID, found, strict=True)}
    rows = tuple((f"{x:g}, {y:g}", *(cells[x, y, z] for z in heights)) for x, y in places)
    return (Table("Targets in reach after the failure", ("x, y / m", *(f"z = {z:g} m" for z in heights)), rows),)


def markers(outcome: Outcome) -> tuple[Marker, ...]:
    fault = outcome.result.vector("plant.fault")
    changed = np.flatnonzero(np.any(np.diff(fault, axis=0) != 0.0, axis=1))
    return tuple(Marker(float(outcome.result["time"][k]), "fault") for k in changed[:4])


SCENARIO = Scenario(
    name="packbot-fault",
    title="A joint of the PackBot's arm freezes on the way; the others bring the gripper home (S2, sections 2, 5)",
    robot=ROBOT,
    duration=Fraction(8),
    parameters=parameters,
    writes=writes,
    graphs=(Graph.PATH_COMPARISON, Graph.FORCE_COMPARISON, Graph.VELOCITY_COMPARISON),
    judge=judge,
    markers=markers,
    tables=tables,
)
