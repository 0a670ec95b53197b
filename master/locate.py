"""Find the instant at which something happens inside a component, by rolling it back."""

from __future__ import annotations

from typing import Any

import numpy as np
from simloop.master.account import Account, Incident
from simloop.master.clock import Clock
from simloop.master.component import Action, Component
from simloop.master.errors import StepDiscardedError, UnitError

# More than this in one macro step is a system that does not get on, not one in which much happens.
MOST_EVENTS = 1000
# An event that leaves less than this part of a macro step is at its end.
SLIVER = 1e-12
# Halvings of a step that bring any step to any tolerance a double can tell.
MOST_HALVINGS = 100


def bind_locate(component: Component, indicator: str, tolerance: float, clock: Clock, account: Account) -> Action:
    """A call that steps `component` over the macro step, in parts that end where `indicator` falls below zero."""
    counts, cause = account.of(component.name), f"{component.name}.{indicator} fell below zero"
    value = np.zeros(1)
    read = component.reader([indicator], value)
    slot: Any = None

    def step_to(begin: float, length: float) -> bool:
        """Step from the saved state; whether the indicator has fallen below zero."""
        counts.steps += 1
        done = component.step(begin, length)
        if done < length:
            raise StepDiscardedError(component.name, begin, length, done)
        read()
        return bool(value[0] < 0.0)

    def go_back(standing: int) -> None:
        component.restore(slot)
        counts.roll_back(standing)

    def step_to_first(begin: float, length: float) -> float:
        """Step by `length` s, or as far as the first event inside it; how far it went."""
        nonlocal slot
        slot = component.save(slot)
        counts.saves += 1
        standing = counts.standing
        if not step_to(begin, length):
            return length
        before, after = 0.0, length
        for _ in range(MOST_HALVINGS):
            if after - before <= tolerance:
                break
            middle = 0.5 * (before + after)
            go_back(standing)
            if step_to(begin, middle):
                after = middle
            else:
                before = middle
        if length - after <= SLIVER * clock.h:
            after = length
        go_back(standing)
        step_to(begin, after)
        account.events.append(Incident(begin + after, 0.0, cause))
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
