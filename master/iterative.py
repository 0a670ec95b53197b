"""Iterative: each ring of components is stepped again until what they tell each other agrees at the end of the step."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from simloop.master.binding import carries_reals
from simloop.master.errors import CannotRollBackError
from simloop.master.extrapolation import HOLD, Extrapolation
from simloop.master.gauss_seidel import feed
from simloop.master.schedule import Iterate, Operation, Schedule, Step, check_schedule
from simloop.master.solvers import Solver
from simloop.master.structure import algebraic_loops, rings, step_order, undoable_first
from simloop.master.system import System


def iterative(
    system: System,
    solver: Solver,
    extrapolation: Extrapolation = HOLD,
    *,
    loops: Sequence[Collection[str]] | None = None,
) -> Schedule:
    """Rings in the order they feed each other, each solved by `solver`; all others as with Gauss-Seidel.

    `loops` are the sets of components to iterate over: all rings unless given, such as those of `algebraic_loops` only.
    With linear `extrapolation` inputs are interpolated over the step, which is second order. What is no Real goes round
    a ring once a step. A component that cannot be rolled back is outside every ring and comes last; in an algebraic
    loop it is refused.
    """
    can, cannot = undoable_first(system)
    for loop in algebraic_loops(system):
        for name in loop.components:
            if name in cannot:
                reason = system.components[name].cannot_because
                raise CannotRollBackError(name, f"{reason}; it is in the algebraic loop {loop}")
    chosen = [set(ring) for ring in (rings(system, can) if loops is None else loops)]
    schedule: list[Operation] = []
    done: set[str] = set()
    for ring in rings(system, can):
        groups = [[name for name in ring if name in loop] for loop in chosen if loop & set(ring)]
        alone = [[name] for name in ring if not any(name in group for group in groups)]
        for group in _in_order(system, [*groups, *alone], ring):
            schedule += _step_group(system, group, done, solver, extrapolation)
            done.update(group)
    for name in step_order(system, cannot):
        schedule += [*feed(system, name, done, extrapolation), Step(name)]
        done.add(name)
    check_schedule(system, tuple(schedule))
    return tuple(schedule)


def _in_order(system: System, groups: list[list[str]], ring: list[str]) -> list[list[str]]:
    """Groups of one ring, each where its first component stands in the ring."""
    return sorted(groups, key=lambda group: ring.index(group[0]))


def _step_group(
    system: System, group: list[str], done: set[str], solver: Solver, extrapolation: Extrapolation
) -> list[Operation]:
    inner = [c for c in system.connections() if c.source in group and c.target in group]
    solved = [c for c in inner if carries_reals(system.components[c.target], c)]
    incoming = [t for name in group for t in feed(system, name, done, extrapolation) if t.connection not in solved]
    if not solved:
        return [*incoming, *map(Step, group)]
    return [*incoming, Iterate(tuple(group), tuple(solved), solver, extrapolation)]
