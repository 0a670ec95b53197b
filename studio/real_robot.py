"""A scenario with a real robot in the plant's place."""

from __future__ import annotations

import numpy as np
from simloop.master import SimloopError, System
from simloop.models.arm import Arm
from simloop.models.robot import Robot
from simloop.studio.scenario import Parameters, Scenario, Settings

# Contact where no threshold is set: a force difference of this part of the strongest motor's torque.
CONTACT_PART = 0.1
# `driver.channel` is the same as `plant.channel`: the component's name stays, so that the wiring does.
ALIAS, COMPONENT = "driver.", "plant."


def robot_settings(robot: Robot, h: float, settings: Settings) -> Settings:
    """The settings with the robot's cycle, contact watched for, and `driver.…` as `plant.…`."""
    limits = Arm(robot.mjcf).torque_limits
    strongest = float(np.max(limits[np.isfinite(limits)], initial=0.0))
    usual: Settings = {"plant.cycle": h, "control.force_threshold": CONTACT_PART * strongest}
    return usual | {
        COMPONENT + name.removeprefix(ALIAS) if name.startswith(ALIAS) else name: value
        for name, value in settings.items()
    }


def check_robot(scenario: Scenario, settings: Settings, h: float) -> None:
    """Refuse a scenario that compares several runs: a real robot runs once."""
    numbers: Parameters = {name: value for name, value in settings.items() if isinstance(value, str | float | int)}
    if scenario.variants(numbers, h):
        raise SimloopError(f"{scenario.name} compares several runs, and a real robot runs once; try step or yumi-step")


def connect_robot(system: System) -> None:
    """What a real robot wants to know beside the force: where it should go, and whether contact was seen."""
    commands = next(c for c in system.connections() if c.target == "control" and "q_d[1]" in c.inputs)
    system.connect(f"{commands.source}.{commands.outputs[0].split('[')[0]}", "plant.q_d")
    for name in ("contact_by_position", "contact_by_force"):
        system.connect(f"control.{name}", f"plant.{name}")
