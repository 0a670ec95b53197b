"""Gauss-Seidel: components are stepped one after the other, each with the newest that those before it said."""

from __future__ import annotations

from collections.abc import Sequence

from simloop.master.errors import WiringError
from simloop.master.extrapolation import HOLD, Extrapolation
from simloop.master.schedule import Operation, Schedule, Step, Transfer, check_schedule
from simloop.master.structure import step_order, undoable_first
from simloop.master.system import System


def gauss_seidel(
    system: System, extrapolation: Extrapolation = HOLD, *, order: Sequence[str] | None = None
) -> Schedule:
    """In the order in which components feed each other; those that cannot be rolled back come last.

    An algebraic loop has no such order and is refused, unless `order` names one: then what closes the loop is one step
    late.
    """
    if order is None:
        can, cannot = undoable_first(system)
        order = [*step_order(system, can), *step_order(system, cannot)]
    elif sorted(order) != sorted(system.components):
        raise WiringError(f"the order {', '.join(order)} must name each of {', '.join(system.components)} once")
    schedule: list[Operation] = []
    done: set[str] = set()
    for name in order:
        schedule += feed(system, name, done, extrapolation)
        schedule.append(Step(name))
        done.add(name)
    check_schedule(system, tuple(schedule))
    return tuple(schedule)


def feed(system: System, name: str, done: set[str], extrapolation: Extrapolation) -> list[Transfer]:
    """What brings all its inputs to a component, when those in `done` have been stepped already."""
    incoming = [c for c in system.connections() if c.target == name]
    return [Transfer(connection, extrapolation, ahead=connection.source in done) for connection in incoming]
