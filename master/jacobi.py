"""Jacobi: every component is stepped with what the others said at the start of the step."""

from __future__ import annotations

from simloop.master.extrapolation import HOLD, Extrapolation
from simloop.master.schedule import Operation, Schedule, Step, Transfer, check_schedule
from simloop.master.structure import undoable_first
from simloop.master.system import System


def jacobi(system: System, extrapolation: Extrapolation = HOLD) -> Schedule:
    """First order, with linear `extrapolation` second order. Components that cannot be rolled back come last, fed with
    what the others said at the end of the step."""
    can, cannot = undoable_first(system)
    schedule: list[Operation] = [Transfer(c, extrapolation) for c in system.connections() if c.target in can]
    schedule += [Step(name) for name in can]
    schedule += [Transfer(c, extrapolation, ahead=c.source in can) for c in system.connections() if c.target in cannot]
    schedule += [Step(name) for name in cannot]
    check_schedule(system, tuple(schedule))
    return tuple(schedule)
