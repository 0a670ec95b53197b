"""The loop's side of a live view: shows the newest committed state, hears commands, and records what was written.

All of it happens between two macro steps, so what is shown is committed, and each write has the time of the step that
it was made before: written at that time again, the run is the same to the last bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from simloop.master import Account, Component, Result, System, TimedWrite
from simloop.master.component import Value, elements
from simloop.studio.view.board import Board
from simloop.studio.view.writing import Writing

# Wall time between two pictures, at which commands are heard too, s.
LOOK = 1 / 40
# An input that is not renewed for this long is let go at the next look, so within 0.2 s; a viewer that says nothing is
# waited for no longer, or has not even begun; a run that lags by more is let off, s.
DEAD_MAN, SILENT, STARTING, LAG = 0.2 - LOOK, 2.0, 30.0, 0.25
# What is left to hear after this long, s, is heard at the next look: a page that talks too much holds nothing up.
HEARING = 1e-3
# What is shown of the loop, where it is there, by component; the first is q.
SHOWN = (
    "plant.q_true",
    "plant.q",
    "plant.v",
    "plant.fault",
    "plant.fault_size",
    "plant.mass_error",
    "plant.noise",
    "plant.f_ext",
    "plant.residual_force",
    "planner.q_d",
    "planner.twist",
    "planner.enable",
    "control.q_predicted",
    "control.tau",
    "collision.distance",
    "collision.point_a",
    "collision.point_b",
    "collision.contact",
)
# Before what is shown: time, steps done, whether it is paused, speed, macro steps a second of wall time, how many
# instants the master has gone back to so far (events that it located and steps that it rejected), and which repetition
# of the run it is.
ABOUT = 7


def shown_variables(components: Mapping[str, Component]) -> dict[str, list[str]]:
    """For each of SHOWN that these components have, its scalars by full name."""
    found = {}
    for name in SHOWN:
        component, _, variable = name.partition(".")
        if component in components and any(
            each == variable or each.startswith(f"{variable}[") for each in components[component].variables
        ):
            found[name] = [f"{component}.{each}" for each in elements(components[component], variable)]
    return found


@dataclass(frozen=True)
class Window:
    """The viewer as the loop knows it: a board to write on, a pipe to hear from, and whether it lives."""

    board: Board
    commands: Connection
    alive: Callable[[], bool]


class OtherScenario(Exception):  # noqa: N818 - no error, but what a person asked for
    """A person wants to see another scenario."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


OpenWindow = Callable[[Mapping[str, Sequence[str]]], Window]


class Live:
    """One view of a run and of its repetitions. `open_window` is called once, with what is shown. `speed` is simulated
    seconds in a second; 0 is as fast as it goes, or as a `real` robot has it, which waits for no one. `lost` is called
    once when the viewer has ended by itself."""

    def __init__(
        self,
        open_window: OpenWindow,
        speed: float = 1.0,
        *,
        real: bool = False,
        lost: Callable[[], None] = lambda: None,
    ) -> None:
        self._open, self._real, self._lost, self._is_lost = open_window, real, lost, False
        self._window: Window | None = None
        self.speed, self.paused, self.finished = speed, False, False
        self.again: dict[str, Value] | None = None
        """The parameters to begin again with, when that was asked for."""
        self.other: str | None = None
        """The scenario to go on with, when another was asked for."""
        self.writes: list[TimedWrite] = []
        self._words: dict[str, Any] = {}
        self._watchers, self._heard, self._patience, self._met = 0, time.monotonic(), STARTING, False
        self._runs, self._early = False, list[Mapping[str, Any]]()
        self._steps_left = self._repetition = 0

    def watch(
        self,
        system: System,
        h: Fraction,
        parameters: Mapping[str, Value],
        go_on: Callable[[int], bool],
        account: Account,
    ) -> Callable[[int], bool]:
        """What `run` asks before each macro step; `account` is the run's. Waits, before anything moves, for someone who
        could miss the start."""
        self._system, self._dt, self._account = system, float(h), account
        self.writes.clear()
        self._writing = Writing(system, self.writes, lambda: self._done * h, self.tell)
        self.again, self.finished, self._runs, self._steps_left = None, False, False, 0
        self._bind_shown()
        writable = {f"{component}.{variable}" for component, variable in system.writable()}
        at_once = [name for name in parameters if name in writable]
        self.tell(self._words.get("notice", ""), ended=False, parameters=dict(parameters), at_once=at_once)
        self._next_look = self._free_until = 0.0
        self._done, self._rate_from = 0, (time.monotonic(), 0)
        while not self._met and self._speaks() and go_on(0):
            time.sleep(LOOK)
            self._hear(time.monotonic())
        self._restart_clock(time.monotonic())

        def keep_going(done: int) -> bool:
            self._done = done
            if time.monotonic() < self._free_until:
                return go_on(done)
            if not self._runs:
                self._begin_to_obey()
            self._attend()
            goes_on = go_on(done) and not self._over()
            if not goes_on:
                self._writing.end()
            return goes_on

        self._go_on = go_on
        return keep_going

    def _begin_to_obey(self) -> None:
        """What was asked for before the first step counts from there on, as it does when it is replayed."""
        self._runs = True
        early, self._early = self._early, []
        for command in early:
            self._obey(command, time.monotonic())

    def hold(self, result: Result, error: str, go_on: Callable[[int], bool]) -> None:
        """Show the end until a person finishes, begins again, or leaves."""
        self._runs = True
        self._show_end(result)
        over = "The run is over. Reset begins it again; Finish writes its results."
        self.tell(f"{error} {over}".strip(), ended=True)
        while not self._over() and self._attended() and go_on(len(result)):
            self._hear(time.monotonic())
            time.sleep(LOOK)

    def _over(self) -> bool:
        """Whether the person has seen enough of this repetition."""
        return self.finished or self.again is not None or self.other is not None

    def _show_end(self, result: Result) -> None:
        if len(result):
            # Parameters are not in the record; they stay as they were shown last.
            for place, name in enumerate(self._names, ABOUT):
                if name in result.columns:
                    self._row[place] = float(result[name][-1])
            self._row[:3] = float(result["time"][-1]), len(result) - 1, 1.0
            self._board.write(self._row)

    def tell(self, notice: str, **more: Any) -> None:
        """Words for everyone who watches."""
        self._words |= {"notice": notice, **more}
        self._board.tell(**self._words)

    def _bind_shown(self) -> None:
        shown = shown_variables(self._system.components)
        if self._window is None:
            self._window = self._open(shown)
            self._board, self._commands, self._alive = self._window.board, self._window.commands, self._window.alive
            self._heard = time.monotonic()
        self._names = [name for names in shown.values() for name in names]
        self._row = np.zeros(ABOUT + len(self._names))
        self._repetition += 1
        self._row[ABOUT - 1] = self._repetition
        self._reads, first = [], ABOUT
        for name, group in groupby(self._names, lambda name: name.partition(".")[0]):
            variables = [each.partition(".")[2] for each in group]
            target = self._row[first : first + len(variables)]
            self._reads.append(self._system.components[name].reader(variables, target))
            first += len(variables)

    def _attend(self) -> None:
        """Look when it is time to, and wait where a person or the clock wants it; a run that neither holds up is free
        until the next look."""
        now = time.monotonic()
        self._free_until = 0.0
        if now >= self._next_look:
            self._look(now)
        if self._steps_left:
            self._steps_left -= 1
            return
        while self._waits():
            time.sleep(LOOK)
            self._look(time.monotonic())
            self._restart_clock(time.monotonic())
            if self._steps_left:
                self._steps_left -= 1
                return
        if self.speed > 0.0:
            self._keep_pace(now)
        else:
            self._free_until = self._next_look

    def _waits(self) -> bool:
        return self.paused and not self._over() and self._go_on(self._done)

    def _keep_pace(self, now: float) -> None:
        if now - self._due() > LAG:
            self._restart_clock(now)
        # Looking may change the speed, and with it when the step is due.
        while self.speed > 0.0 and now < self._due() - 1e-3 and self._may_wait():
            time.sleep(min(self._due() - now, LOOK))
            now = time.monotonic()
            if now >= self._next_look:
                self._look(now)

    def _due(self) -> float:
        """When, by the wall clock, the next step is due."""
        return self._begin + (self._done - self._begin_done) * self._dt / self.speed

    def _may_wait(self) -> bool:
        return not self.paused and not self._over() and self._go_on(self._done)

    def _restart_clock(self, now: float) -> None:
        self._begin, self._begin_done = now, self._done

    def _look(self, now: float) -> None:
        self._hear(now)
        self._writing.let_go(now - DEAD_MAN)
        self._show(now)
        if self.paused and not self._attended():
            self.paused = False
        self._next_look = now + LOOK

    def _attended(self) -> bool:
        """Whether the viewer lives, speaks and has watchers; without that nothing waits for it."""
        return self._speaks() and self._watchers > 0

    def _speaks(self) -> bool:
        return self._alive() and time.monotonic() - self._heard < self._patience

    def _show(self, now: float) -> None:
        begin, done = self._rate_from
        if now - begin > 0.5:
            self._row[4] = (self._done - done) / (now - begin)
            self._rate_from = now, self._done
        self._row[:4] = self._done * self._dt, self._done, self.paused, self.speed
        self._row[5] = len(self._account.events) + len(self._account.rejected)
        for read in self._reads:
            read()
        self._board.write(self._row)

    def _hear(self, now: float) -> None:
        try:
            end = time.monotonic() + HEARING
            while self._commands.poll() and time.monotonic() < end:
                command = self._commands.recv()
                if self._runs or command["do"] == "beat":
                    self._obey(command, now)
                else:
                    self._early.append(command)
        except (EOFError, OSError):
            self._watchers = 0
            if not self._is_lost:
                self._is_lost = True
                self._lost()

    def _obey(self, command: Mapping[str, Any], now: float) -> None:
        match command:
            case {"do": "pause" | "step" | "speed" | "again" | "scenario" as what} if self._real:
                self.tell(f"a real robot waits for no one: {what} is for simulated ones")
            case {"do": "beat", "watchers": int(watchers)}:
                self._watchers, self._heard, self._patience = watchers, now, SILENT
                self._met = self._met or watchers > 0
            case {"do": "pause"}:
                self.paused, self._steps_left = True, 0
            case {"do": "play"}:
                self.paused, self._steps_left = False, 0
                self._restart_clock(now)
            case {"do": "step", "count": int(count)}:
                self.paused = True
                self._steps_left += count
            case {"do": "speed", "value": float(speed)}:
                self.speed = speed
                self._restart_clock(now)
            case {"do": "finish"}:
                self.finished, self.again, self.other = True, None, None
            case {"do": "again", "set": dict(changes)} if not self.finished:
                self._begin_again(changes)
            case {"do": "scenario", "name": str(name)} if not self.finished:
                self.other = name
            case {"do": "write" | "hold" | "release"} if self._words.get("ended"):
                pass
            case {"do": "write", "values": dict(values)}:
                self._writing.write(self._writing.settable(values))
            case {"do": "hold", "key": str(key), "values": dict(values), "release": dict(release)}:
                self._writing.hold(key, values, release, now)
            case {"do": "release", "key": str(key)}:
                self._writing.release(key)

    def _begin_again(self, changes: Mapping[str, Any]) -> None:
        """What was told of the run before this does not stay; what is refused of the changes is told after it."""
        self._words["notice"] = ""
        self.again = self._writing.settable(changes)
