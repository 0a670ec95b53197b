"""A component that is a Python function, for models of a few lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simloop.master.component import NOT_OFFERED, Action, Value, Variable, Vector, find_variable
from simloop.master.errors import UnitError
from simloop.master.values import check_number

Numbers = dict[str, float]


class FunctionComponent:
    """`step(values, time, h)` moves `values`, a dict by variable name, on by h s, in place; it may return how far it
    came, s, where that is less.

    `inputs`, `outputs`, `parameters` and `states` give each variable its first value; a state is seen by no one else.
    Parameters are tunable: a step finds what was written last.
    `update(values)` computes the outputs that depend on inputs directly: it is called before outputs are read.
    `dependencies` says which inputs, by output; with `update` and nothing said it is all of them. With
    `input_derivatives` the step finds the derivatives of an input `u` as `u'` and `u''`, zero unless set for it.
    """

    def __init__(
        self,
        name: str,
        step: Callable[[Numbers, float, float], float | None] = lambda values, time, h: None,
        *,
        inputs: Mapping[str, float] | None = None,
        outputs: Mapping[str, float] | None = None,
        parameters: Mapping[str, float] | None = None,
        states: Mapping[str, float] | None = None,
        update: Callable[[Numbers], None] | None = None,
        dependencies: Mapping[str, Sequence[str]] | None = None,
        types: Mapping[str, str] | None = None,
        input_derivatives: int = 0,
        can_rollback: bool = True,
    ) -> None:
        self.name = name
        self.can_rollback = self.can_serialize = can_rollback
        self.cannot_because = "" if can_rollback else NOT_OFFERED
        self.input_derivatives = input_derivatives
        self._step, self._update = step, update
        groups = {"input": inputs or {}, "output": outputs or {}, "parameter": parameters or {}}
        known = dependencies if dependencies is not None or update is not None else {}
        kinds = types or {}
        variables: dict[str, Variable] = {}
        for causality, group in groups.items():
            for variable in group:
                needs = None if known is None or causality != "output" else tuple(known.get(variable, ()))
                place = len(variables)
                kind = kinds.get(variable, "Real")
                changes = "tunable" if causality == "parameter" else "continuous"
                variables[variable] = Variable(
                    variable, causality, kind, None, place, variability=changes, dependencies=needs
                )
        self.variables: Mapping[str, Variable] = variables
        self._values: Numbers = {k: float(v) for group in (*groups.values(), states or {}) for k, v in group.items()}
        self._rates = [f"{u}{mark}" for u in groups["input"] for mark in ("'", "''")[:input_derivatives]]
        self._values |= dict.fromkeys(self._rates, 0.0)
        self._time = 0.0

    def initialize(self, time: float) -> None:
        self.enter_initialization(time)
        self.exit_initialization()

    def enter_initialization(self, time: float) -> None:
        self._time = time

    def exit_initialization(self) -> None:
        self._refresh()

    def _refresh(self) -> None:
        if self._update is not None:
            self._call("its outputs", lambda: self._update(self._values))  # type: ignore[misc]

    def _call(self, what: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (ArithmeticError, ValueError) as error:
            raise UnitError(self.name, what, str(error), self._time) from error

    def set(self, name: str, value: Value) -> None:
        self._values[name] = check_number(self.name, find_variable(self, name), value)

    def get(self, name: str) -> Value:
        find_variable(self, name)
        self._refresh()
        return self._values[name]

    def reader(self, names: Sequence[str], target: Vector) -> Action:
        for name in names:
            find_variable(self, name)

        def read() -> None:
            self._refresh()
            for i, name in enumerate(names):
                target[i] = self._values[name]

        return read

    def writer(self, names: Sequence[str], source: Vector) -> Action:
        for name in names:
            find_variable(self, name)

        def write() -> None:
            for name, value in zip(names, source.tolist(), strict=True):
                self._values[name] = value

        return write

    def derivative_writer(self, names: Sequence[str], order: int, source: Vector) -> Action:
        if order > self.input_derivatives:
            raise ValueError(f"{self.name} takes no derivatives of order {order} of its inputs")

        def write() -> None:
            for name, value in zip(names, source.tolist(), strict=True):
                self._values[name + "'" * order] = value

        return write

    def step(self, time: float, h: float) -> float:
        self._time = time
        done = self._call("a step", lambda: self._step(self._values, time, h))
        for rate in self._rates:
            self._values[rate] = 0.0
        return h if done is None else float(done)

    def save(self, into: Any = None) -> Any:
        if into is None:
            return dict(self._values)
        into.update(self._values)
        return into

    def restore(self, state: Any) -> None:
        self._values.update(state)

    def serialize(self, state: Any) -> bytes:
        return json.dumps(state).encode()

    def deserialize(self, data: bytes) -> Any:
        return json.loads(data)

    def close(self) -> None:
        pass
