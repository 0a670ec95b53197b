"""Records committed steps: one row a step, one read a component."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from simloop.master.account import Account
from simloop.master.component import Vector
from simloop.master.result import Result
from simloop.master.system import System
from simloop.master.values import TYPES, is_number

# Few enough that a chunk stays near the processor while columns are made of it.
_CHUNK_ROWS = 1024


class Recorder:
    """Hears of a step only when it is committed, so it never sees a tentative one.

    Records every output that is a number, and every input that no component drives, but for those in `skip`. `row` is
    where a step is read to, its time first; `reads` says which variables of which component go to which part of it.
    """

    def __init__(self, system: System, skip: Iterable[tuple[str, str]] = ()) -> None:
        wanted: list[tuple[str, str, str]] = []
        outside = set(system.undriven_inputs()) - set(skip)
        for name, component in system.components.items():
            wanted += [
                (name, v.type, v.name)
                for v in component.variables.values()
                if is_number(v) and (v.causality == "output" or (name, v.name) in outside)
            ]
        # In the row, variables of one type stand together, so that one call reads them straight into their place.
        groups: dict[tuple[str, str], list[str]] = {}
        for name, kind, variable in wanted:
            groups.setdefault((name, kind), []).append(variable)
        self.row = np.zeros(1 + len(wanted))
        self.reads: list[tuple[str, tuple[str, ...], Vector]] = []
        places: dict[str, tuple[int, Any]] = {"time": (0, np.float64)}
        first = 1
        for (name, kind), group in groups.items():
            self.reads.append((name, tuple(group), self.row[first : first + len(group)]))
            places |= {f"{name}.{variable}": (first + i, TYPES[kind].dtype) for i, variable in enumerate(group)}
            first += len(group)
        self._columns = {name: places[name] for name in ("time", *(f"{c}.{v}" for c, _, v in wanted))}
        self._actions = [system.components[name].reader(group, place) for name, group, place in self.reads]
        self._chunks: list[Vector] = []
        self._used = _CHUNK_ROWS

    def commit(self, time: float) -> None:
        self.row[0] = time
        for read in self._actions:
            read()
        self.space()[0] = self.row
        self.filled(1)

    def space(self) -> Vector:
        """Rows for the next steps, at least one, to be filled by who makes the steps."""
        if self._used == _CHUNK_ROWS:
            self._chunks.append(np.empty((_CHUNK_ROWS, len(self.row))))
            self._used = 0
        return self._chunks[-1][self._used :]

    def filled(self, rows: int) -> None:
        """So many of them are committed."""
        self._used += rows

    def rows(self) -> Vector:
        """All that was committed, a row a step."""
        rows = self._filled()
        return np.concatenate(rows) if rows else np.empty((0, len(self.row)))

    def _filled(self) -> list[Vector]:
        return self._chunks[:-1] + [chunk[: self._used] for chunk in self._chunks[-1:]]

    def take(self, rows: Vector) -> None:
        """Go on after these rows."""
        whole, self._used = divmod(len(rows), _CHUNK_ROWS)
        self._chunks = [rows[i * _CHUNK_ROWS : (i + 1) * _CHUNK_ROWS].copy() for i in range(whole)]
        if self._used:
            self._chunks.append(np.empty((_CHUNK_ROWS, len(self.row))))
            self._chunks[-1][: self._used] = rows[whole * _CHUNK_ROWS :]
        else:
            self._used = _CHUNK_ROWS

    def result(self, account: Account, *, complete: bool) -> Result:
        chunks = self._filled()
        columns = {name: np.empty(sum(map(len, chunks)), kind) for name, (_, kind) in self._columns.items()}
        first = 0
        for chunk in chunks:
            for name, (place, _) in self._columns.items():
                columns[name][first : first + len(chunk)] = chunk[:, place]
            first += len(chunk)
        return Result(columns, complete=complete, account=account)
