"""What a run cost: steps, rollbacks and saves by component, rejected steps and events by time, iterations by loop."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from simloop.master.component import Action, Component


@dataclass(slots=True)
class Counts:
    """Of one component. `undone` are the steps that a rollback took back; `seconds` is the time spent in its calls, 0
    unless the account is timed."""

    steps: int = 0
    undone: int = 0
    saves: int = 0
    rollbacks: int = 0
    seconds: float = 0.0

    @property
    def standing(self) -> int:
        """Steps that no rollback has undone."""
        return self.steps - self.undone

    def add(self, counts: Counts, times: int) -> None:
        """The steps, saves and rollbacks of `counts`, so many times."""
        self.steps += times * counts.steps
        self.undone += times * counts.undone
        self.saves += times * counts.saves
        self.rollbacks += times * counts.rollbacks

    def roll_back(self, standing: int) -> None:
        """To when so many steps stood."""
        self.undone = self.steps - standing
        self.rollbacks += 1


@dataclass(frozen=True)
class Incident:
    """Something on the timeline: a step from `time` s of `h` s that was rejected, or with h = 0 an event; and why."""

    time: float
    h: float
    cause: str


@dataclass
class Account:
    """Filled while a run goes on. With `timed` the clock is looked at around every call of a component.

    `commits` are the steps that the run made, however many a component needed for one. `loops` is, by loop, how often
    it took how many iterations. Recording is not in `seconds`.
    """

    timed: bool = False
    components: dict[str, Counts] = field(default_factory=dict)
    commits: int = 0
    seconds: float = 0.0
    """Of the whole run, wall clock."""
    rejected: list[Incident] = field(default_factory=list)
    events: list[Incident] = field(default_factory=list)
    loops: dict[str, Counter[int]] = field(default_factory=dict)

    def of(self, component: str) -> Counts:
        return self.components.setdefault(component, Counts())

    def around(self, component: str, action: Action) -> Action:
        """The action itself or, timed, one that adds its seconds to the component's."""
        if not self.timed:
            return action
        counts = self.of(component)

        def act() -> None:
            begin = time.perf_counter()
            action()
            counts.seconds += time.perf_counter() - begin

        return act

    def around_each(self, components: Sequence[Component], call: Callable[[int], None]) -> list[Action]:
        """For each component, `call` with its number."""
        return [self.around(component.name, partial(call, i)) for i, component in enumerate(components)]

    def loop(self, name: str) -> Counter[int]:
        return self.loops.setdefault(name, Counter())

    def reject(self, time: float, h: float, cause: str) -> None:
        self.rejected.append(Incident(time, h, cause))

    def describe(self) -> dict[str, Any]:
        """As plain data, for a file. Seconds are left out where they were not measured."""
        components = {name: self._describe_counts(counts) for name, counts in self.components.items()}
        about: dict[str, Any] = {"commits": self.commits, "rejected": len(self.rejected), "components": components}
        about["loops"] = {name: spread(counter) for name, counter in self.loops.items()}
        about["timeline"] = [asdict(i) for i in sorted((*self.rejected, *self.events), key=lambda i: i.time)]
        return about | ({"seconds": self.seconds} if self.timed else {})

    def _describe_counts(self, counts: Counts) -> dict[str, float]:
        about: dict[str, float] = {
            "steps": counts.steps,
            "undone": counts.undone,
            "saves": counts.saves,
            "rollbacks": counts.rollbacks,
        }
        if self.timed:
            about |= {"seconds_inside": counts.seconds, "seconds_waiting": self.seconds - counts.seconds}
        return about

    def lines(self) -> list[str]:
        """For a terminal."""
        about = self.describe()
        width = max(map(len, about["components"]), default=0)
        lines = [f"{self.commits} steps committed, {len(self.rejected)} rejected, {len(self.events)} events"]
        for name, counts in about["components"].items():
            told = ", ".join(f"{key.replace('_', ' ')} {value:.6g}" for key, value in counts.items())
            lines.append(f"  {name:<{width}}  {told}")
        for name, found in about["loops"].items():
            lines.append(f"  loop {name}: iterations median {found['median']:g}, worst {found['worst']}")
        return lines

    def state(self) -> dict[str, Any]:
        """All of it as plain data, for a checkpoint."""
        return asdict(self) | {"loops": {name: sorted(counter.items()) for name, counter in self.loops.items()}}

    def take(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`, in place, so that who counts here goes on counting here."""
        for name, counts in state["components"].items():
            for field_name, count in counts.items():
                setattr(self.of(name), field_name, count)
        self.commits, self.seconds = state["commits"], state["seconds"]
        self.rejected[:] = [Incident(**incident) for incident in state["rejected"]]
        self.events[:] = [Incident(**incident) for incident in state["events"]]
        for name, pairs in state["loops"].items():
            loop = self.loop(name)
            loop.clear()
            loop.update({int(iterations): int(times) for iterations, times in pairs})


def spread(counter: Counter[int]) -> dict[str, float]:
    """How often, and the median and the worst of the iterations."""
    values = sorted(counter.elements())
    if not values:
        return {"solved": 0, "median": 0, "worst": 0}
    middle = len(values) // 2
    median = values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
    return {"solved": len(values), "median": median, "worst": values[-1]}
