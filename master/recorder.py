"""Records committed steps: one row a macro step, one read a component."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from simloop.master.component import Vector
from simloop.master.result import Result
from simloop.master.system import System

_CHUNK_ROWS = 16384
_DTYPES = {"Real": np.float64, "Integer": np.int32, "Boolean": np.bool_}


class Recorder:
    """Hears of a step only when it is committed, so it never sees a tentative one.

    Records every output that is a number, and every input that no component drives, but for those in `skip`.
    """

    def __init__(self, system: System, skip: Iterable[tuple[str, str]] = ()) -> None:
        self._names: list[str] = ["time"]
        self._types: list[type[np.generic]] = [np.float64]
        groups: list[tuple[str, list[str]]] = []
        outside = set(system.undriven_inputs()) - set(skip)
        for name, component in system.components.items():
            group = [
                v.name
                for v in component.variables.values()
                if v.type in _DTYPES and (v.causality == "output" or (name, v.name) in outside)
            ]
            groups.append((name, group))
            self._names += [f"{name}.{variable}" for variable in group]
            self._types += [_DTYPES[component.variables[variable].type] for variable in group]
        self._row = np.zeros(len(self._names))
        self._reads = []
        first = 1
        for name, group in groups:
            if group:
                place = self._row[first : first + len(group)]
                self._reads.append(system.components[name].reader(group, place))
                first += len(group)
        self._chunks: list[Vector] = []
        self._used = _CHUNK_ROWS

    def commit(self, time: float) -> None:
        self._row[0] = time
        for read in self._reads:
            read()
        if self._used == _CHUNK_ROWS:
            self._chunks.append(np.empty((_CHUNK_ROWS, len(self._names))))
            self._used = 0
        self._chunks[-1][self._used] = self._row
        self._used += 1

    def result(self, *, complete: bool) -> Result:
        rows = self._chunks[:-1] + [chunk[: self._used] for chunk in self._chunks[-1:]]
        table = np.concatenate(rows) if rows else np.empty((0, len(self._names)))
        columns = {
            name: np.ascontiguousarray(table[:, i]).astype(kind)
            for i, (name, kind) in enumerate(zip(self._names, self._types, strict=True))
        }
        return Result(columns, complete=complete)
