"""A paced run keeps its deadlines by the wall clock, tells how late it was, and records what it would unpaced."""

from __future__ import annotations

import pytest
from simloop.master import ObjectComponent, Pace, SimloopError, Step, System, run
from simloop.master.pace import EDGES, MARGIN, NAP

from tests.master.function_unit import FunctionUnit


class FakeClock:
    """Time passes only in sleeps, in looks at the clock, and when `work` is done."""

    def __init__(self, *, overshoot: float = 0.0, look: float = 1e-5) -> None:
        self.time, self.overshoot, self.look = 1000.0, overshoot, look
        self.slept: list[float] = []

    def now(self) -> float:
        self.time += self.look
        return self.time

    def sleep(self, seconds: float) -> None:
        assert seconds > 0.0
        self.slept.append(seconds)
        self.time += seconds + self.overshoot


def working(clock: FakeClock, work: dict[int, float], usual: float = 1e-3) -> tuple[System, list[float]]:
    """A unit whose k-th step takes `usual` s, or work[k]; and the wall times at which its steps begin."""
    begins: list[float] = []

    def step(values: dict[str, float], time: float, h: float) -> None:
        begins.append(clock.time)
        clock.time += work.get(len(begins) - 1, usual)
        values["y"] += time

    return System([ObjectComponent("a", FunctionUnit(step, outputs=["y"]))]), begins


@pytest.mark.parametrize("rate", [0.5, 1.0, 4.0])
def test_each_step_begins_at_its_own_deadline_however_late_sleeps_end(rate: float) -> None:
    """Sleeps that end 0.1 ms late, inside the margin, and 1000 steps of 1/90 s: no lateness adds up."""
    clock = FakeClock(overshoot=1e-4)
    system, begins = working(clock, {})
    pace = Pace(rate, clock=clock)
    run(system, (Step("a"),), step="1/90", duration="100/9", pace=pace)
    off = [begin - (begins[0] + k / 90 / rate) for k, begin in enumerate(begins)]
    assert min(off) >= -1e-9
    assert max(off) <= 2 * clock.look + 1e-9
    late = pace.lateness()
    assert (late.deadlines, late.missed) == (1000, 0)
    assert late.worst <= clock.look + 1e-9


def test_a_slow_step_is_told_and_caught_up_with() -> None:
    """Step 3 takes 25 ms of its 10: deadlines 4 and 5 are missed, by 15 and 6 ms; then the run is on time again."""
    clock = FakeClock(look=1e-6)
    system, begins = working(clock, {3: 0.025})
    pace = Pace(clock=clock)
    run(system, (Step("a"),), step="1/100", duration="1/10", pace=pace)
    late = pace.lateness()
    assert (late.deadlines, late.missed) == (10, 2)
    assert late.worst == pytest.approx(0.015, abs=1e-4)
    assert late.median < 1e-5
    bins = dict(zip(EDGES, late.counts, strict=True))
    assert (bins[0.01], bins[0.005], sum(late.counts)) == (1, 1, 10)
    assert begins[6] - begins[0] == pytest.approx(0.06, abs=1e-5)


def test_the_clock_is_watched_for_the_margin_only() -> None:
    """All but the margin of each wait is slept, so that a core is not burnt."""
    clock = FakeClock()
    system, _ = working(clock, {})
    run(system, (Step("a"),), step="1/100", duration="1/10", pace=Pace(clock=clock))
    assert sum(clock.slept) >= 10 * (0.01 - 1e-3 - MARGIN - 3 * clock.look)


@pytest.mark.parametrize(("slow", "rows"), [(3, 5), (9, 11)])
def test_a_strict_run_ends_at_the_first_missed_deadline_and_keeps_the_record(slow: int, rows: int) -> None:
    """Also when it is the last one: a run that was late is not a whole strict run."""
    clock = FakeClock()
    system, _ = working(clock, {slow: 0.02})
    pace = Pace(strict=True, clock=clock)
    result = run(system, (Step("a"),), step="1/100", duration="1/10", pace=pace)
    assert not result.complete
    assert len(result) == rows
    assert pace.ended_by is not None
    assert pace.ended_by.time == pytest.approx((slow + 1) / 100)
    assert pace.ended_by.late == pytest.approx(0.01, abs=1e-4)
    assert pace.lateness().missed == 1


def test_a_paced_run_records_the_bits_of_an_unpaced_one() -> None:
    clock = FakeClock()
    system, _ = working(clock, {2: 0.03})
    paced = run(system, (Step("a"),), step="1/100", duration=1, pace=Pace(clock=clock))
    plain = run(working(clock, {})[0], (Step("a"),), step="1/100", duration=1)
    assert list(paced.columns) == list(plain.columns)
    assert all(paced[name].tobytes() == plain[name].tobytes() for name in plain.columns)
    assert paced.complete


def test_a_long_wait_ends_soon_after_the_run_is_told_to_stop() -> None:
    clock = FakeClock()
    system, _ = working(clock, {})
    told = clock.time + 5.0
    pace = Pace(0.01, clock=clock, keep_waiting=lambda: clock.time < told)
    result = run(system, (Step("a"),), step=1, duration=10, pace=pace, keep_going=lambda done: clock.time < told)
    assert not result.complete
    assert clock.time <= told + 2 * NAP


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf"), 1e-9])
def test_a_pace_that_cannot_be_is_refused(rate: float) -> None:
    with pytest.raises(SimloopError, match="1 being real time"):
        Pace(rate)
