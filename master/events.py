"""Find the instant at which something happens inside a component, by rolling it back."""

from __future__ import annotations

from typing import Any

import numpy as np
from simloop.master.clock import Clock
from simloop.master.component import Action, Component, bind_step
from simloop.master.errors import UnitError

# More than this in one macro step is a system that does not get on, not one in which much happens.
MOST_EVENTS = 1000
# An event that leaves less than this part of a macro step is at its end.
SLIVER = 1e-12
# Halvings of a step that bring any step to any tolerance a double can tell.
MOST_HALVINGS = 100


def bind_locate(component: Component, indicator: str, tolerance: float, clock: Clock) -> Action:
    """A call that steps `component` over the macro step, in parts that end where `indicator` falls below zero."""
    value = np.zeros(1)
    read, step = component.reader([indicator], value), bind_step(component)
    slot: Any = None

    def step_to(begin: float, length: float) -> bool:
        """Step from the saved state; whether the indicator has fallen below zero."""
        step(begin, length)
        read()
        return bool(value[0] < 0.0)

    def step_to_first(begin: float, length: float) -> float:
        """Step by `length` s, or as far as the first event inside it; how far it went."""
        nonlocal slot
        slot = component.save(slot)
        if not step_to(begin, length):
            return length
        before, after = 0.0, length
        for _ in range(MOST_HALVINGS):
            if after - before <= tolerance:
                break
            middle = 0.5 * (before + after)
            component.restore(slot)
            if step_to(begin, middle):
                after = middle
            else:
                before = middle
        if length - after <= SLIVER * clock.h:
            after = length
        component.restore(slot)
        step_to(begin, after)
        return after

    def locate_now() -> None:
        done = 0.0
        for _ in range(MOST_EVENTS):
            done += step_to_first(clock.time + done, clock.h - done)
            if clock.h - done <= SLIVER * clock.h:
                return
        message = f"{indicator} fell below zero {MOST_EVENTS} times in one step"
        raise UnitError(component.name, "fmi2DoStep", message, clock.time)

    return locate_now
