"""Multi-rate: some components make several steps while others make one."""

from __future__ import annotations

import math
from collections.abc import Mapping

from simloop.master.errors import NameNotFoundError, WiringError
from simloop.master.schedule import Operation, Schedule, Step, Transfer, check_schedule
from simloop.master.structure import undoable_first
from simloop.master.system import System


def multi_rate(system: System, steps: Mapping[str, int]) -> Schedule:
    """`steps` says how many steps a component makes in one macro step, 1 where it says nothing.

    Each step starts with what the others said at its start, or last before it: a slow component's outputs are held.
    Components that cannot be rolled back come last, with one step only.
    """
    for name, count in steps.items():
        if name not in system.components:
            raise NameNotFoundError("component", name, system.components)
        if count < 1:
            raise WiringError(f"{name} cannot make {count} steps in a macro step: 1 or more is needed")
    can, cannot = undoable_first(system)
    fast = [name for name in cannot if steps.get(name, 1) > 1]
    if fast:
        raise WiringError(
            f"{fast[0]} cannot be rolled back and is stepped once, last: it cannot have a rate of its own"
        )
    whole = math.lcm(*(steps.get(name, 1) for name in can))
    period = {name: whole // steps.get(name, 1) for name in can} | dict.fromkeys(cannot, whole)
    schedule: list[Operation] = []
    for tick in range(whole):
        # Outputs of a component that is in the midst of its step are those of the step's end, and not yet heard.
        schedule += [
            Transfer(c)
            for c in system.connections()
            if c.target in can and tick % math.lcm(period[c.source], period[c.target]) == 0
        ]
        starting = [name for name in can if tick % period[name] == 0]
        schedule += [Step(name, tick // period[name], whole // period[name]) for name in starting]
    schedule += [Transfer(c) for c in system.connections() if c.target in cannot]
    schedule += [Step(name) for name in cannot]
    check_schedule(system, tuple(schedule))
    return tuple(schedule)
