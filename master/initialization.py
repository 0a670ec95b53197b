"""Start a system: inputs on which outputs depend directly are settled in initialisation mode, loops by iteration."""

from __future__ import annotations

import numpy as np
from simloop.master.binding import bind_read, bind_transfer
from simloop.master.component import Vector, is_real
from simloop.master.errors import LoopError
from simloop.master.solvers import Newton, Solver
from simloop.master.structure import Loop, Wire, feeds_through, ordered_parts
from simloop.master.system import System

# The residual that is allowed in a loop at the start, relative to max(1, |value|).
TOLERANCE = 1e-12


def initialize(system: System, solver: Solver | None = None) -> None:
    """Initialise every component, then let every input start with what drives it.

    In initialisation mode a wire is carried only to a Real input on which an output depends directly; others start
    as their unit has them.
    """
    system.enter_initialization()
    parts = ordered_parts(system)
    for part in parts:
        if isinstance(part, Loop):
            _solve(system, part, solver or Newton(TOLERANCE))
        elif _is_real(system, part) and feeds_through(system.components[part.connection.target], part.ends[1][1]):
            _write(system, part, _read(system, part))
    system.exit_initialization()
    wires = [wire for part in parts for wire in (part.wires if isinstance(part, Loop) else (part,))]
    for connection in dict.fromkeys(wire.connection for wire in wires):
        for _, act in bind_transfer(system, connection):
            act()


def _is_real(system: System, wire: Wire) -> bool:
    component, name = wire.ends[1]
    return is_real(system.components[component].variables[name])


def _read(system: System, wire: Wire) -> float:
    buffer = np.zeros(len(wire.connection.outputs))
    bind_read(system, wire.connection, buffer)()
    return float(buffer[wire.index])


def _write(system: System, wire: Wire, value: float) -> None:
    component, name = wire.ends[1]
    system.components[component].set(name, value)


def _solve(system: System, loop: Loop, solver: Solver) -> None:
    """For the Reals in it."""
    reals = [wire for wire in loop.wires if _is_real(system, wire)]

    def g(x: Vector) -> Vector:
        for wire, value in zip(reals, x, strict=True):
            _write(system, wire, float(value))
        return np.array([_read(system, wire) for wire in reals])

    if reals:
        solution = solver.solve(g, np.array([_read(system, wire) for wire in reals]))
        if solution.failure is not None:
            names = [str(wire) for wire in reals]
            raise LoopError(names, 0.0, solution.residual, solution.iterations, solution.failure)
