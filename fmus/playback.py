"""The off-line planner as a unit: a recorded joint table, one row a step (S1, 5.2.1)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from simloop.fmus.resources import read_home, read_model
from simloop.fmus.slave import VELOCITY, Kind, Port, Role, Slave, Vector
from simloop.fmus.state import UnitState
from simloop.models.arm import Arm
from simloop.models.table import read_table


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
            values = read_table(path, ["time", *(f"q[{i + 1}]" for i in range(self._n))])
            self._times, self._rows = values[:, 0], values[:, 1:]
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
