"""Every kind of unit, with a state worth saving, and what drives it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from simloop.fmus.export import CONTROLLERS, UNITS
from simloop.master import Claimed, Component, FmuComponent
from simloop.models.robot import Robot

from tests.models.test_arm import THREE_LINKS

KINDS = sorted(UNITS)
ARM = Robot("three", THREE_LINKS, tools=("tip",), home=(0.1, 0.2, 0.03))
H = 1 / 200


def reals(component: Component, causality: str) -> list[str]:
    return [v.name for v in component.variables.values() if v.causality == causality and v.type == "Real"]


def open_unit(kind: str, path: Path) -> FmuComponent:
    """A unit with parameters that give it a state worth saving."""
    component = FmuComponent(kind, path, trust=Claimed())
    if kind == "plant":
        for name, value in (("noise", 1e-4), ("seed", 7), ("mass_error", 0.1), ("contact", "compliant")):
            component.set(name, value)
    if kind == "planner":
        component.set("goal[3]", 0.7)
    if kind == "goal":
        component.set("posture[1]", 0.15)
    if kind in CONTROLLERS:
        component.set("replay", True)
        component.set("force_threshold", 0.5)
    component.initialize(0.0)
    return component


def drive(component: Component, k: int) -> None:
    """Inputs of step k: some numbers, the same for the same k."""
    rng = np.random.default_rng(k)
    names = reals(component, "input")
    component.writer(names, 1e-3 * rng.standard_normal(len(names)))()
    component.step(k * H, H)


def outputs(component: Component) -> bytes:
    numbers = [v.name for v in component.variables.values() if v.causality == "output" and v.type != "String"]
    values = np.zeros(len(numbers))
    component.reader(numbers, values)()
    return values.tobytes()
