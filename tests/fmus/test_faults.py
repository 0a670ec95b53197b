"""What planner and control do when they are told of a fault, as units."""

from __future__ import annotations

import numpy as np
import pytest
from simloop.fmus.export import instantiate
from simloop.master import ObjectComponent, UnitError
from simloop.models.faults import Fault

from tests.fmus.test_plant import ROBOT, H, N


def opened(kind: str, **settings: float) -> ObjectComponent:
    component = ObjectComponent(kind, instantiate(kind, ROBOT))
    for name, value in settings.items():
        component.set(name, value)
    component.initialize(0.0)
    return component


@pytest.mark.parametrize("kind", ["planner", "control", "plant"])
def test_a_fault_that_is_none_is_refused_by_every_unit_that_hears_of_it(kind: str) -> None:
    component = opened(kind)
    component.set("fault[2]", 7)
    with pytest.raises(UnitError, match=rf"{kind} failed in a step at 0 s: fault is 7; it can be 0 none"):
        component.step(0.0, H)


@pytest.mark.parametrize("kind", [Fault.FROZEN, Fault.LOOSE])
def test_a_joint_known_to_have_failed_is_no_contact(kind: Fault) -> None:
    """The loose joint falls, the frozen one is held by more than its motor; neither has touched anything. A push on a
    joint that is well still is a contact."""
    component = opened("control", position_threshold=1e-5, force_threshold=0.5, replay=True)
    component.set("fault[2]", int(kind))
    home = np.array(ROBOT.home)
    component.writer([f"q_d[{i + 1}]" for i in range(N)], home)()
    measured = [f"q_measured[{i + 1}]" for i in range(N)]
    component.writer(measured, home)()
    saved = component.save()
    component.set("replay", False)
    component.step(0.0, H)
    went = np.array([component.get(f"q[{i + 1}]") for i in range(N)])
    component.restore(saved)
    component.writer(measured, went)()
    component.step(0.0, H)
    assert (component.get("contact_by_position"), component.get("contact_by_force")) == (0.0, 0.0)
    component.restore(saved)
    component.writer(measured, went + 1e-3 * np.eye(N)[0])()
    component.step(0.0, H)
    assert (component.get("contact_by_position"), component.get("contact_by_force")) == (1.0, 1.0)
