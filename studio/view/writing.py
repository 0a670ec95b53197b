"""What a person writes into a running loop: set before the next macro step, remembered for a replay, and let go of when
it is held and not renewed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from simloop.master import Component, SimloopError, System, TimedWrite
from simloop.master.component import Variable
from simloop.master.values import check_number
from simloop.studio.scenario import port_of

# What only a hand that is there may hold: it cannot be set to stay. And what is a file of this machine's.
HELD_BY_HAND, FILE = ("planner.enable", "planner.twist"), "planner.table"


@dataclass(frozen=True)
class Held:
    """An input that counts only while it is renewed: when it was, by the wall clock, and what letting go writes."""

    renewed: float
    release: Mapping[str, Any]


class Writing:
    """Writes to one run of a system are appended to `writes`. `time` tells up to where steps are committed, s, and
    `tell` hears in words of what cannot be written."""

    def __init__(
        self, system: System, writes: list[TimedWrite], time: Callable[[], Fraction], tell: Callable[[str], None]
    ) -> None:
        self._system, self._writes, self._time, self._tell = system, writes, time, tell
        self._held: dict[str, Held] = {}

    def settable(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Without what only a hand may hold, or what names a file, which is told."""
        found = {}
        for name, value in values.items():
            if port_of(name) in HELD_BY_HAND:
                self._tell(f"{name} is held by a hand that is there; it cannot be set to stay")
            elif name == FILE:
                self._tell(f"{name} is a file, and given with --set when the run is started")
            else:
                found[name] = value
        return found

    def write(self, values: Mapping[str, Any]) -> None:
        """Set free inputs and tunable parameters, and remember it; what cannot be set is told and left out."""
        for name, value in values.items():
            try:
                component, variables = self._system.resolve_writable(name)
                numbers = [_within(component.name, component.variables[each], value) for each in variables]
            except SimloopError as error:
                self._tell(str(error))
                continue
            for each, number in zip(variables, numbers, strict=True):
                self._set(component, each, number)

    def _set(self, component: Component, variable: str, number: float) -> None:
        if component.get(variable) != number:
            component.set(variable, number)
            self._writes.append(TimedWrite(self._time(), f"{component.name}.{variable}", number))

    def hold(self, key: str, values: Mapping[str, Any], release: Mapping[str, Any], now: float) -> None:
        self._held[key] = Held(now, release)
        self.write(values)

    def release(self, key: str) -> None:
        if key in self._held:
            self.write(self._held.pop(key).release)

    def let_go(self, since: float) -> None:
        """Of all that was not renewed since then."""
        for key in [key for key, held in self._held.items() if held.renewed < since]:
            self.release(key)

    def end(self) -> None:
        """No further step is made: what was written before it is no part of the run."""
        self._writes[:] = [write for write in self._writes if write.time < self._time()]


def _within(component: str, variable: Variable, value: object) -> float:
    """`value` as a number that the variable takes and that is in the range that its unit promises to bear."""
    number = check_number(component, variable, value)
    if not variable.low <= number <= variable.high:
        ends = [f"at least {variable.low:g}"] * math.isfinite(variable.low)
        ends += [f"at most {variable.high:g}"] * math.isfinite(variable.high)
        raise SimloopError(f"{component}.{variable.name} cannot be {number:g}; it must be {' and '.join(ends)}")
    return number
