"""The off-line planner as a unit: a recorded joint table, one row a step (S1, 5.2.1)."""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from simloop.fmus.resources import read_home, read_model
from simloop.fmus.slave import VELOCITY, Kind, Port, Role, Slave, Vector
from simloop.fmus.state import UnitState
from simloop.models.arm import Arm


@dataclass
class State(UnitState):
    digest: str
    """Of the table that is played: a state can only go on with the same one."""


class Playback(Slave):
    """Has the ports of the on-line planner; `q` and `v` are not listened to."""

    description = "Off-line planner: hands out a recorded joint table, linear between its rows, held after the last"

    def __init__(self, instance_name: str, resources: str, **_: Any) -> None:
        arm = Arm(read_model(resources))
        self._n, units = arm.n, arm.units
        home = read_home(resources)
        ports = [
            Port("q", Role.INPUT, "Joint position, not listened to", self._n, unit=units, start=home),
            Port("v", Role.INPUT, "Joint velocity, not listened to", self._n, unit=[VELOCITY[u] for u in units]),
            Port("q_d", Role.OUTPUT, "Joint position wanted", self._n, unit=units, starts_from=("table",)),
            Port(
                "table",
                Role.PARAMETER,
                "CSV file: time,q[1],…; empty holds the start",
                kind=Kind.STRING,
                start="",
            ),
        ]
        super().__init__(instance_name, resources, ports, State, digest="")
        self._home = np.array(home)
        self.q_d = self.view("q_d")

    def prepare(self) -> None:
        path = self.text("table")
        self._times: Vector = np.zeros(1)
        self._rows: Vector = self._home[None]
        if path:
            self._times, self._rows = read_table(path, self._n)
        self._digest = hashlib.sha256(self._times.tobytes() + self._rows.tobytes()).hexdigest()

    def start(self) -> None:
        self.state.digest = self._digest
        self._look_up(self.start_time)

    def restore(self, state: UnitState) -> None:
        before = self.save()
        super().restore(state)
        # A state from before the start has not taken up a table yet.
        if self.state.digest not in ("", self._digest):
            table = self.text("table")
            super().restore(before)
            raise ValueError(f"table {table!r} is not the one that this state was saved with")

    def step(self, time: float, h: float) -> None:
        self._look_up(time + h)

    def _look_up(self, time: float) -> None:
        times, rows = self._times, self._rows
        after = int(np.searchsorted(times, time))
        if after == len(times):
            self.q_d[:] = rows[-1]
        elif after == 0:
            self.q_d[:] = rows[0]
        else:
            part = (time - times[after - 1]) / (times[after] - times[after - 1])
            self.q_d[:] = rows[after - 1] + part * (rows[after] - rows[after - 1])


def read_table(path: str, n: int) -> tuple[Vector, Vector]:
    """Times and joint positions of a table for n joints; ValueError names the file and what is wrong."""
    header = ["time", *(f"q[{i + 1}]" for i in range(n))]
    try:
        # utf-8-sig: spreadsheets put a byte-order mark first.
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file) if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"table {path!r} cannot be read: {error}") from error
    if len(lines) < 2 or lines[0] != header or any(len(line) != len(header) for line in lines):
        raise ValueError(f"table {path!r} must have the columns {','.join(header)} and as many numbers in each row")
    try:
        values = np.array(lines[1:], dtype=float)
    except ValueError as error:
        raise ValueError(f"table {path!r} has something that is not a number: {error}") from error
    if not np.isfinite(values).all() or np.any(np.diff(values[:, 0]) <= 0.0):
        raise ValueError(f"table {path!r} must have finite numbers and times that rise")
    return values[:, 0], values[:, 1:]
