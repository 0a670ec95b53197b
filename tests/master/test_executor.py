"""The compiled executor gives what the interpreted one gives: the same bytes, counts, faults and words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import pytest
from simloop.master import (
    LINEAR,
    Account,
    Adaptive,
    Checkpoint,
    Claimed,
    FmuComponent,
    ObjectComponent,
    Pace,
    Restore,
    Result,
    Retry,
    Save,
    Schedule,
    Step,
    StepError,
    System,
    TimedWrite,
    Tolerance,
    Transfer,
    gauss_seidel,
    jacobi,
    multi_rate,
    run,
    simulation_in_the_loop,
)
from simloop.master.binding import INTERPRETED, Algorithm, Binding, Executor
from simloop.master.executor import COMPILED, EXACT, CompiledFlat
from simloop.studio.scenario import connect_loop

from tests.master.function_unit import FunctionUnit
from tests.units.blocks import SINE, Block, build
from tests.units.build import NativeUnits

Make = Callable[[], System]
Choose = Callable[[System], Schedule | Algorithm]
H = "1/100"
STEPS = 300


def springs(native: NativeUnits, *names: str) -> System:
    """Of FMI 2.0, in a ring: each is pulled by the one before it, half as much as that one is out of place."""
    system = System(FmuComponent(name, native[name], trust=Claimed()) for name in names)
    for one, other in zip(names, names[1:] + names[:1], strict=True):
        system.connect(f"{one}.x", f"{other}.F", factor=50.0, offset=0.125)
    return system


def outcome(
    make: Make, choose: Choose, executor: Executor, duration: Fraction = Fraction(STEPS, 100), step: str = H
) -> tuple[Result, dict[str, object], str]:
    """What a run recorded, what it cost, and the words it ended with."""
    system, account = make(), Account()
    try:
        result, words = (
            run(system, choose(system), step=step, duration=duration, account=account, executor=executor),
            "",
        )
    except StepError as error:
        if error.result is None:
            raise
        result, words = error.result, f"{type(error).__name__} at {error.time!r}: {error}"
    system.close()
    return result, asdict(account) | {"seconds": 0.0}, words


def same_bytes(one: Result, other: Result) -> bool:
    pairs = zip(one.columns.items(), other.columns.items(), strict=True)
    return all(a == b and x.tobytes() == y.tobytes() for (a, x), (b, y) in pairs)


def is_compiled(system: System, schedule: Schedule, account: Account | None = None) -> bool:
    return isinstance(Binding(system, account or Account(), COMPILED).bind(schedule), CompiledFlat)


def agree(make: Make, choose: Choose, step: str = H, duration: Fraction = Fraction(STEPS, 100)) -> str:
    """The words in which both runs ended."""
    compiled = outcome(make, choose, COMPILED, duration, step)
    interpreted = outcome(make, choose, INTERPRETED, duration, step)
    assert same_bytes(compiled[0], interpreted[0])
    assert compiled[1:] == interpreted[1:]
    return compiled[2]


def undone(system: System) -> Schedule:
    """Every spring is stepped twice, the first time in vain; its neighbour is fed with what it said in vain."""
    schedule: list[object] = []
    for connection in system.connections():
        name = connection.source
        schedule += [Save(name), Step(name), Transfer(connection), Restore(name), Step(name, 0, 2), Step(name, 1, 2)]
    return tuple(schedule)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "choose",
    [jacobi, gauss_seidel, undone, lambda system: multi_rate(system, {"drifts": 3, "spring": 2})],
    ids=["jacobi", "gauss_seidel", "undone", "multi_rate"],
)
def test_a_flat_schedule_gives_the_same_bytes_and_counts(
    choose: Callable[[System], Schedule], native: NativeUnits
) -> None:
    names = ("spring", "drifts", "forgets")

    def make() -> System:
        return springs(native, *names)

    def ordered(system: System) -> Schedule:
        return gauss_seidel(system, order=names) if choose is gauss_seidel else choose(system)

    system = make()
    assert is_compiled(system, ordered(system))
    system.close()
    assert agree(make, ordered) == ""
    assert agree(make, ordered, "1/3000", Fraction(1, 3)) == ""


def test_the_loop_over_units_that_are_python_inside_gives_the_same_bytes(units: dict[str, Path]) -> None:
    def make() -> System:
        kinds = ("planner", "control", "plant", "collision")
        system = System(FmuComponent(kind, units[kind], trust=Claimed()) for kind in kinds)
        connect_loop(system)
        system.set("plant.f_ext", 0.0)
        system.set("plant.mass_error", 0.1)
        system.set("planner.goal[3]", 0.1)
        return system

    system = make()
    assert is_compiled(system, simulation_in_the_loop(system))
    system.close()
    assert agree(make, simulation_in_the_loop, "1/2000", Fraction(1, 20)) == ""


@pytest.mark.parametrize(
    "choose",
    [
        lambda system: Retry(jacobi(system)),
        lambda system: Adaptive(jacobi(system), Tolerance(1e-4), first=1e-3),
    ],
    ids=["retry", "adaptive"],
)
def test_what_goes_around_a_flat_schedule_gives_the_same_bytes_and_counts(choose: Choose, native: NativeUnits) -> None:
    assert agree(lambda: springs(native, "spring", "discards"), choose, "1/50", Fraction(1, 2)) == ""


def test_whole_numbers_and_arrays_of_fmi_3_travel_alike(native: NativeUnits) -> None:
    def make() -> System:
        names = ("types2", "springs", "springs_claim", "springs_early")
        system = System(FmuComponent(name, native[name], trust=Claimed()) for name in names)
        for name in ("real", "whole", "choice", "truth"):
            system.connect(f"types2.{name}_out", f"types2.{name}")
        system.connect("springs.x", "springs_claim.F", factor=20.0)
        system.connect("springs_claim.x", "springs_early.F")
        system.set("springs.F", (1.0, -2.0))
        system.start("types2.whole_out", -7)
        return system

    system = make()
    assert is_compiled(system, jacobi(system))
    system.close()
    # springs_early ends a step at 0.03 s, where one ends anyway in the first run and none in the second.
    assert agree(make, jacobi) == ""
    assert "springs_early failed in a step at 0.025 s: it came 0.005 s far" in agree(make, jacobi, "1/40", Fraction(1))


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("goes_nan", H),
        ("fails", H),
        ("dies", H),
        ("ends", H),
        ("discards", "1/50"),
        ("springs_discards", "1/50"),
    ],
)
@pytest.mark.parametrize("choose", [jacobi, lambda system: multi_rate(system, {"spring": 2})], ids=["one", "two"])
def test_a_fault_ends_both_alike(name: str, step: str, choose: Choose, native: NativeUnits) -> None:
    def make() -> System:
        system = System(FmuComponent(each, native[each], trust=Claimed()) for each in (name, "spring"))
        system.connect(f"{name}.x[1]" if "springs" in name else f"{name}.x", "spring.F")
        system.set(f"{name}.F", 0.0)
        return system

    assert f"{name} failed in" in agree(make, choose, step)


def test_a_truth_value_that_is_none_is_refused_alike(tmp_path: Path) -> None:
    liar = Block("liar", "y = t; block->boolean[ON] = t > 0.1 ? 7 : 1")

    def make() -> System:
        blocks = (liar, SINE)
        system = System(FmuComponent(block.name, build(block, tmp_path), trust=Claimed()) for block in blocks)
        system.connect("liar.was_on", "sine.on")
        system.set("liar.u", 0.0)
        system.set("sine.u", 0.0)
        return system

    assert "on is 7.0; Boolean travels as a whole number within its range" in agree(make, jacobi)


def test_timed_writes_come_in_the_same_macro_step(native: NativeUnits) -> None:
    times = (Fraction(0), Fraction(1, 300), Fraction(1, 2), Fraction(1, 2), Fraction(29, 10))
    writes = [TimedWrite(time, "spring.F", float(i)) for i, time in enumerate(times)]
    results = []
    for executor in (COMPILED, INTERPRETED):
        system = System([FmuComponent("spring", native["spring"], trust=Claimed())])
        system.set("spring.F", 9.0)
        results.append(run(system, jacobi(system), step=H, duration=3, writes=writes, executor=executor))
        system.close()
    assert same_bytes(*results)
    assert [int((results[0]["spring.F"] == i).argmax()) for i in (0, 1, 3, 4)] == [1, 2, 51, 291]


def test_who_asks_to_stop_is_asked_before_each_step(native: NativeUnits) -> None:
    asked: list[int] = []
    system = springs(native, "spring")

    def keep_going(done: int) -> bool:
        asked.append(done)
        return done < 7

    result = run(system, jacobi(system), step=H, duration=1, keep_going=keep_going)
    assert asked == list(range(8))
    assert (len(result), result.complete) == (8, False)
    system.close()


def test_a_pace_waits_for_each_step(native: NativeUnits) -> None:
    system, pace = springs(native, "spring"), Pace(100.0)
    run(system, jacobi(system), step=H, duration=1, pace=pace)
    assert pace.lateness().deadlines == 100
    system.close()


def test_a_checkpoint_of_one_goes_on_in_the_other(native: NativeUnits, tmp_path: Path) -> None:
    def go(executor: Executor, checkpoint: Checkpoint | None = None, resume: Path | None = None) -> Result:
        system = springs(native, "spring", "discards")
        result = run(
            system, jacobi(system), step=H, duration=3, checkpoint=checkpoint, resume=resume, executor=executor
        )
        system.close()
        return result

    whole = go(COMPILED, Checkpoint(tmp_path / "half", "1.37"))
    assert same_bytes(whole, go(INTERPRETED, resume=tmp_path / "half"))
    assert same_bytes(whole, go(COMPILED, resume=tmp_path / "half"))


@pytest.mark.parametrize("step", ["1/3", "0.001", f"{2**40 + 1}/{2**43 - 1}", f"{EXACT + 1}/{8 * EXACT + 5}"])
def test_every_row_has_the_double_nearest_to_its_time(step: str, native: NativeUnits) -> None:
    system = springs(native, "spring")
    result = run(system, jacobi(system), step=step, duration=20_000 * Fraction(step))
    assert result["time"].tolist() == [float(i * Fraction(step)) for i in range(20_001)]
    system.close()


def test_what_is_no_flat_schedule_of_numbers_over_fmus_is_interpreted(native: NativeUnits, tmp_path: Path) -> None:
    system = springs(native, "spring", "drifts")
    assert is_compiled(system, jacobi(system))
    assert not is_compiled(system, jacobi(system, LINEAR))
    assert not is_compiled(system, jacobi(system), Account(timed=True))
    system.add(ObjectComponent("thing", FunctionUnit(outputs=["y"])))
    assert not is_compiled(system, jacobi(system))
    system.close()
    texts = System([FmuComponent("types2", native["types2"], trust=Claimed())])
    texts.connect("types2.text_out", "types2.text")
    texts.set("types2.real", 0.0)
    assert not is_compiled(texts, jacobi(texts))
    texts.close()
    events = System([FmuComponent("events", native["events"], trust=Claimed())])
    events.set("events.offset", 0.0)
    assert not is_compiled(events, jacobi(events))
    events.close()


def test_an_interrupt_that_comes_during_the_compiled_loop_is_heard(tmp_path: Path) -> None:
    """The unit itself sends it; a loop that never came back would hear nothing before the end of the run."""
    block = Block("interrupts", "extern int raise(int); if (t > 0.5 && y == 0.0) { y = 1.0; raise(2); }")
    system = System([FmuComponent("a", build(block, tmp_path), trust=Claimed())])
    system.set("a.u", 0.0)
    account = Account()
    with pytest.raises(KeyboardInterrupt):
        run(system, jacobi(system), step="1/1000", duration=1000, account=account)
    assert 500 <= account.commits < 20_000
    system.close()
