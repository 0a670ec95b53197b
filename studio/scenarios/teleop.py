"""A hand leads the first tool of any robot: with `--view` yours, else a recorded one, up, aside and back."""

from __future__ import annotations

import math
from fractions import Fraction

from simloop.models.arm import Arm
from simloop.models.robot import Robot
from simloop.models.robots.iiwa import ROBOT
from simloop.studio import redundant
from simloop.studio.scenario import Figure, Graph, Marker, Outcome, Parameters, Scenario
from simloop.studio.scenarios import _teleop as teleop

LEAD = teleop.Lead(
    wishes=(
        (0.0, (0.0, 0.0, 0.05, 0.0, 0.0, 0.0)),
        (1.5, (0.0, 0.05, 0.0, 0.0, 0.0, 0.2)),
        (3.0, (0.0, -0.05, -0.05, 0.0, 0.0, -0.2)),
    ),
    lets_go=4.5,
    seconds=5,
)
# A tool's pose has this many degrees; an arm with fewer joints gives its orientation up before its position.
POSE = 6


def make(robot: Robot) -> Scenario:
    def parameters(h: float) -> Parameters:
        orientation = "held" if Arm(robot.mjcf).n >= POSE else "second"
        return {
            **teleop.NO_TWIST,
            "planner.joint_acceleration": teleop.ACCELERATION,
            "planner.orientation": orientation,
            "planner.spacing": 0.01,
            "planner.influence": 0.05,
        }

    def judge(outcome: Outcome) -> dict[str, Figure]:
        away, turn = teleop.off_the_lead(robot, LEAD, outcome, 0.0, LEAD.lets_go)
        figures = {
            "off": Figure("Tool off the hand's lead", away, "m"),
            "turned_off": Figure("Tool turned off the hand's lead", math.degrees(turn), "°"),
        }
        figures |= teleop.judge_limits(robot, outcome) | teleop.judge_force(robot, outcome.result)
        return figures | teleop.judge_stop(robot, outcome.result, LEAD.lets_go)

    def markers(outcome: Outcome) -> tuple[Marker, ...]:
        return (Marker(LEAD.lets_go, "lets go"),)

    scenario = Scenario(
        name="teleop",
        title=f"{robot.name}: a hand leads the tool up, aside and back",
        robot=robot,
        duration=Fraction(LEAD.seconds),
        parameters=parameters,
        planner="operator",
        table=LEAD.recording,
        graphs=(Graph.PATH_COMPARISON, Graph.VELOCITY_COMPARISON),
        judge=judge,
        markers=markers,
        plots=redundant.plots(robot),
        fit=make,
    )
    return teleop.with_a_person(scenario, f"You lead the tool of {robot.name}")


SCENARIO = make(ROBOT)
