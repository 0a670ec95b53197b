"""Step a loop of components again and again until what they tell each other agrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from simloop.master.component import Action, Vector
from simloop.master.errors import LoopError
from simloop.master.snapshot import Snapshot

if TYPE_CHECKING:
    from simloop.master.binding import Binding
    from simloop.master.schedule import Iterate


def bind_iterate(operation: Iterate, binding: Binding) -> Action:
    """A call that steps the loop over the macro step with the values at its end that its own outputs confirm."""
    return _Iteration(operation, binding).iterate


class _Iteration:
    """`x` are the values that go round, connection by connection; the solver finds those that the loop gives back."""

    def __init__(self, operation: Iterate, binding: Binding) -> None:
        account = binding.account
        self._solver, self._clock = operation.solver, binding.clock
        self._names = [f"{c.source}.{c.outputs[0]} -> {c.target}.{c.inputs[0]}" for c in operation.connections]
        self._counter = account.loop(", ".join(operation.components))
        wires = [binding.signal(c, operation.extrapolation, ahead=True) for c in operation.connections]
        members = [binding.system.components[name] for name in operation.components]
        self._start = Snapshot(members, [signal.memory for signal, _ in wires], account)
        self._steps = [account.around(name, binding.step(name)) for name in operation.components]
        bounds = np.cumsum([0] + [len(signal.values) for signal, _ in wires])
        self._wires = [(*wire, slice(*bounds[i : i + 2])) for i, wire in enumerate(wires)]
        self._x, self._image = np.zeros(bounds[-1]), np.zeros(bounds[-1])
        self._moved = False

    def iterate(self) -> None:
        self._start.save()
        self._moved = False
        self._read_into(self._x)
        solution = self._solver.solve(self._step_with, self._x)
        if solution.failure is not None:
            found = (solution.residual, solution.iterations, solution.failure)
            raise LoopError(self._names, self._clock.time, *found)
        self._counter[solution.iterations] += 1

    def _step_with(self, guess: Vector) -> Vector:
        """Step all with `guess` as what they hear at the end of the step; what they then say."""
        if self._moved:
            self._start.restore()
        self._moved = True
        time, h = self._clock.time, self._clock.h
        for signal, _, place in self._wires:
            signal.values[:] = guess[place]
            signal.push(time + h)
            signal.write(time, h)
        for step in self._steps:
            step()
        self._read_into(self._image)
        return self._image

    def _read_into(self, target: Vector) -> None:
        for signal, read, place in self._wires:
            read()
            target[place] = signal.values
