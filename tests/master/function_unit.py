"""A unit made of functions, to test master algorithms on: any variables, any step, state that is its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from simloop.master import Variable
from simloop.master.component import Vector
from simloop.master.measure import Measure


class FunctionUnit:
    """`step(values, time, h)` changes `values`, a dict by variable name, in place. `calls` tells what was done."""

    def __init__(
        self,
        step: Callable[[dict[str, float], float, float], None] = lambda values, time, h: None,
        *,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        unit: str | None = None,
        types: dict[str, str] | None = None,
        measure: Measure | None = None,
    ) -> None:
        names = [(name, "input") for name in inputs] + [(name, "output") for name in outputs]
        kinds = types or {}
        self._variables = [
            Variable(name, causality, kinds.get(name, "Real"), measure.name if measure else unit, i, measure=measure)
            for i, (name, causality) in enumerate(names)
        ]
        self.ports: Vector = np.zeros(len(names))
        self._step = step
        self.calls: list[str] = []

    def variables(self) -> list[Variable]:
        return self._variables

    def exit_initialization_mode(self) -> None:
        self.calls.append("start")

    def do_step(self, current_time: float, step_size: float) -> bool:
        self.calls.append("step")
        values = {v.name: float(self.ports[v.reference]) for v in self._variables}
        self._step(values, current_time, step_size)
        for v in self._variables:
            self.ports[v.reference] = values[v.name]
        return True

    def save(self, into: Any = None) -> Any:
        self.calls.append("save")
        return self.ports.copy()

    def restore(self, state: Any) -> None:
        self.calls.append("restore")
        self.ports[:] = state

    def set_string(self, vrs: Sequence[int], values: Sequence[str]) -> None:
        raise ValueError("no text here")

    def get_string(self, vrs: Sequence[int]) -> list[str]:
        raise ValueError("no text here")
