"""What is asked of a run of a scenario, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from simloop.master import Lateness, SimloopError, TimedWrite
from simloop.master.component import Value
from simloop.master.seconds import exact_seconds
from simloop.studio.real_robot import robot_settings
from simloop.studio.scenario import Figure, Outcome, Scenario, Settings, port_of

# How a run ends: when its time is over, when a person has seen enough of it, by a signal, or by an error.
COMPLETE, BY_HAND, INTERRUPTED, FAILED = "complete", "finished by hand", "interrupted", "failed"


@dataclass(frozen=True)
class Cut:
    """Where a session ended before the time that was asked for, s, and how: BY_HAND or INTERRUPTED."""

    seconds: Fraction
    ended: str


@dataclass(frozen=True)
class Request:
    """What the user asked for. Settings are `component.variable` to value and come after the scenario's own."""

    scenario: Scenario
    step: str = "1/200"
    duration: str | None = None
    seed: int | None = None
    settings: Mapping[str, Value | Sequence[Value]] | None = None
    writes: Sequence[TimedWrite] = ()
    pace: float | None = None
    """Simulation time for each second of wall time, of the run itself and not of its variants; None is as fast as it
    goes."""
    strict: bool = False
    """Whether a missed deadline ends a paced run."""
    plant: str = "plant"
    """Which unit is the plant: `plant`, or a real robot, one of simloop.fmus.export.DRIVERS."""
    timed: bool = False
    """Whether the account says where the time goes."""
    replayed: Sequence[TimedWrite] = ()
    """What a person wrote in the session that is replayed."""
    cut: Cut | None = None
    """Where that session ended; so does its replay, which is then as partial as the session was."""

    @property
    def h(self) -> Fraction:
        return exact_seconds("step", self.step)

    @property
    def seconds(self) -> Fraction:
        return exact_seconds("duration", self.duration) if self.duration is not None else self.scenario.duration

    @property
    def length(self) -> Fraction:
        """How long it runs, s: `seconds`, or as far as the session that is replayed went."""
        return self.seconds if self.cut is None else self.cut.seconds

    def all_writes(self, held: Iterable[str] = ()) -> tuple[TimedWrite, ...]:
        """What a replayed person, the scenario and then the user writes on the way; of the scenario's, what a shorter
        run does not reach is left out, of all what a session did not reach, and so are writes of what is `held`."""
        own = (write for write in self.scenario.writes(float(self.h)) if write.time < self.length)
        left_out = set(map(port_of, held))
        return tuple(
            write
            for write in (*self.replayed, *own, *self.writes)
            if port_of(write.name) not in left_out and (self.cut is None or write.time < self.cut.seconds)
        )

    def parameters(self) -> Settings:
        seed = {} if self.seed is None else {"plant.seed": self.seed}
        settings = {**self.scenario.parameters(float(self.h)), **(self.settings or {}), **seed}
        return settings if self.plant == "plant" else robot_settings(self.scenario.robot, float(self.h), settings)


@dataclass(frozen=True)
class Finished:
    """A run as it was."""

    outcome: Outcome
    figures: dict[str, Figure]
    status: str
    """How it ended: COMPLETE, BY_HAND, INTERRUPTED or FAILED."""
    error: SimloopError | None = None
    stopped_by: int | None = None
    """The number of the signal that ended it."""
    lateness: Lateness | None = None
    """Of a paced run."""
    session: tuple[TimedWrite, ...] | None = None
    """What a person wrote while it ran, when one could."""

    @property
    def is_nothing(self) -> bool:
        """Whether it was ended before its first step, so that there is nothing to keep."""
        return self.status == INTERRUPTED and len(self.outcome.result) < 2
