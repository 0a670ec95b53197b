"""A recorded run in the browser: the same page, fed from a file, with play, pause, step, speed and scrubbing."""

from __future__ import annotations

import asyncio
import bisect
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simloop.master import SimloopError
from simloop.studio.archive import Archive, read_archive
from simloop.studio.report import goals_of
from simloop.studio.view.live import ABOUT, SHOWN
from simloop.studio.view.server import Show
from simloop.studio.view.viewer import Address, Playbill


def serve_recorded(folder: Path, address: Address, tell: Callable[[Address], None]) -> None:
    """Serve the run in `folder` until the user ends it; `tell` is given the address."""
    archive = read_archive(folder)
    source = Player(archive)
    goals = tuple(tuple(goal) for goal in goals_of(archive.record["parameters"], len(archive.tools)))
    about = (archive.scenario, archive.title, archive.mjcf, archive.tools, archive.home, goals)
    bill = Playbill(*about, recorded=True, seconds=float(archive.result["time"][-1]))
    tell(address)
    try:
        asyncio.run(Show(address, bill, source.lengths, source).run(lambda: True))
    except KeyboardInterrupt:
        return


class Player:
    """A record as a page's source: it keeps the time that is shown, and moves it on by the wall clock."""

    def __init__(self, archive: Archive, clock: Callable[[], float] = time.monotonic) -> None:
        result = archive.result
        if not len(result):
            raise SimloopError("the run has no rows to play")
        shown = {name: _columns(result.columns, name) for name in SHOWN}
        shown = {name: columns for name, columns in shown.items() if columns}
        self.lengths = {name: len(columns) for name, columns in shown.items()}
        self._time = np.asarray(result["time"])
        self._returned = [incident["time"] for incident in archive.record["account"]["timeline"]]
        self._table = np.column_stack([result[c] for columns in shown.values() for c in columns]).astype(float)
        self._clock, self._wall = clock, clock()
        self._now, self._speed, self._paused, self._turn = float(self._time[0]), 1.0, False, 0
        words = {"parameters": archive.record["parameters"], "notice": f"Recorded run, {archive.record['status']}."}
        self._words: dict[str, Any] = json.loads(json.dumps(words))

    def read(self) -> tuple[int, NDArray[np.float64], dict[str, Any]]:
        now = self._clock()
        if not self._paused:
            self._now = min(self._now + self._speed * (now - self._wall), float(self._time[-1]))
            self._turn += 1
        self._wall = now
        k = self._row()
        about = [self._now, k, self._paused or self._now >= self._time[-1], self._speed, 0.0, self._returns(k), 1]
        assert len(about) == ABOUT
        return self._turn, np.concatenate([about, self._table[k]]), self._words

    def _returns(self, k: int) -> int:
        """How many instants the master had gone back to by row k."""
        return bisect.bisect_right(self._returned, float(self._time[k]))

    def _row(self) -> int:
        return int(np.searchsorted(self._time, self._now + 1e-9, side="right")) - 1

    def command(self, command: Mapping[str, Any]) -> None:
        self._turn += 1
        match command:
            case {"do": "pause"}:
                self._paused = True
            case {"do": "play"}:
                self._paused = False
                if self._now >= self._time[-1]:
                    self._now = float(self._time[0])
            case {"do": "step", "count": int(count)}:
                self._paused = True
                self._now = float(self._time[min(self._row() + count, len(self._time) - 1)])
            case {"do": "speed", "value": float(speed)} if speed > 0.0:
                self._speed = speed
            case {"do": "seek", "time": float(moment)}:
                self._now = float(np.clip(moment, self._time[0], self._time[-1]))
            case {"do": "again"}:
                self._now, self._paused = float(self._time[0]), False


def _columns(names: Mapping[str, Any], vector: str) -> list[str]:
    """The columns of a vector, in order, or the one of a scalar."""
    found = [f"{vector}[{i + 1}]" for i in range(sum(name.startswith(f"{vector}[") for name in names))]
    return found or [vector] * (vector in names)
