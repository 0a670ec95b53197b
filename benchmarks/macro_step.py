"""What a macro step costs, and the master's part of it: against the same FMI calls with no master around them, in one
run, and against real time at 2 kHz.

For the sphere and for the YuMi's 14 joints, on FMU files, with on-line planner, collision detector and rollback.
Prints medians over interleaved rounds. The master makes the macro step in C, or interpreted, call by call; both come
back to Python after each. "FMUs alone" is the list of raw FMI calls of one macro step, recording included, made one
after the other in a bare loop; "crossing" is what as many ctypes calls of an empty function cost, which is not the
units' work. Then where each microsecond goes, operation by operation, interpreted; looking at the clock so often makes
the whole a little slower.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from simloop.fmus.export import build
from simloop.master import Account, Claimed, FmuComponent, Set, System, Transfer, simulation_in_the_loop
from simloop.master.binding import INTERPRETED, Binding, Executor
from simloop.master.executor import COMPILED, CompiledFlat
from simloop.master.initialization import initialize
from simloop.master.recorder import Recorder
from simloop.master.schedule import Operation, written_inputs
from simloop.models.robot import Box, Robot
from simloop.models.robots.sphere import ROBOT as SPHERE
from simloop.models.robots.yumi import ROBOT as YUMI
from simloop.studio.scenario import connect_loop

ROUNDS, STEPS, H = 15, 200, 1 / 2000
FLOOR = Box("floor", centre=(0.0, 0.0, -0.5), half_size=(2.0, 2.0, 0.05))


class RawCalls:
    """Stands in for a unit's FMI functions while one macro step is listened to."""

    def __init__(self) -> None:
        self.made: list[tuple[Callable[..., int], tuple[Any, ...]]] = []

    def wrap(self, function: Callable[..., int]) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            self.made.append((function, arguments))
            return function(*arguments)

        return call

    def listen_to(self, component: FmuComponent) -> None:
        functions = component.instance.functions
        functions |= {name: self.wrap(function) for name, function in functions.items()}


def make_loop(
    robot: Robot, folder: Path, executor: Executor, raw: RawCalls | None = None, *, timed: bool = False
) -> tuple[Callable[[], None], System, list[tuple[str, Callable[[], None]]]]:
    """A call that makes one macro step and commits it, and its parts in order, with a name each."""
    system = System()
    for kind in ("planner", "control", "plant", "collision"):
        component = FmuComponent(
            kind, build(kind, robot, folder / robot.name / f"{kind}.fmu", (FLOOR,)), trust=Claimed()
        )
        if raw is not None:
            raw.listen_to(component)
        system.add(component)
    connect_loop(system)
    system.set("plant.f_ext", 0.0)
    system.set("plant.mass_error", 0.1)
    system.set("planner.goal[3]", 1.0)
    schedule = simulation_in_the_loop(system)
    binding = Binding(system, Account(timed=timed), executor)
    stepper = binding.bind(schedule)
    actions = binding.actions(schedule)
    binding.clock.h = H
    recorder = Recorder(system, skip=written_inputs(schedule))
    recording = stepper.recording(recorder, Fraction(1, 2000)) if isinstance(stepper, CompiledFlat) else None
    initialize(system)
    step = 0

    def macro_step() -> None:
        nonlocal step
        if recording is not None:
            recording.run(step, 1)
        else:
            stepper.advance(step / 2000, H)
            recorder.commit((step + 1) / 2000)
        step += 1

    names = [name for operation in schedule for name in names_of(operation)]
    parts = [*zip(names, actions, strict=True), ("record", lambda: recorder.commit(0.0))]
    return macro_step, system, parts


def names_of(operation: Operation) -> list[str]:
    """What an operation is called here, once for each call it is bound to."""
    match operation:
        case Transfer():
            return ["transfer"] * 2
        case Set():
            return ["transfer"]
        case _:
            return [f"{type(operation).__name__.lower()} {operation.component}"]


def time_of(work: Callable[[], None]) -> float:
    """Seconds for STEPS times `work`."""
    begin = time.perf_counter()
    for _ in range(STEPS):
        work()
    return time.perf_counter() - begin


def measure(robot: Robot, folder: Path) -> None:
    raw = RawCalls()
    listened, listened_system, _ = make_loop(robot, folder, INTERPRETED, raw)
    listened()
    raw.made.clear()
    listened()
    calls = tuple(raw.made)
    compiled_step, compiled_system, _ = make_loop(robot, folder, COMPILED)
    macro_step, system, _ = make_loop(robot, folder, INTERPRETED)
    timed_step, timed_system, _ = make_loop(robot, folder, INTERPRETED, timed=True)
    empty = listened_system.components["plant"].instance.optional("fmi2GetVersion")  # type: ignore[attr-defined]

    def bare() -> None:
        for function, arguments in calls:
            function(*arguments)

    def crossing() -> None:
        for _, arguments in calls:
            empty(*arguments)

    works = (compiled_step, macro_step, bare, crossing, timed_step)
    rounds = [[time_of(work) for work in works] for _ in range(ROUNDS)]
    compiled, whole, alone, across, timed = (1e6 * statistics.median(c) / STEPS for c in zip(*rounds, strict=True))
    units, gain = alone - across, statistics.median(row[1] / row[0] for row in rounds)
    print(f"{robot.name}: {len(robot.home)} joints, {len(calls)} FMI calls a macro step")
    print(f"  macro step, compiled        {compiled:7.1f} us   {1e6 * H / compiled:5.2f} times real time at 2 kHz")
    print(f"  macro step, interpreted     {whole:7.1f} us   median of the rounds, interpreted / compiled {gain:5.2f}")
    print(f"  FMUs alone                  {alone:7.1f} us   compiled / alone {compiled / alone:5.2f}, ", end="")
    print(f"interpreted / alone {whole / alone:5.2f}")
    print(f"  of that crossing ctypes     {across:7.1f} us")
    print(f"  all but the units' own work {100 * (compiled - units) / compiled:7.1f} % compiled, ", end="")
    print(f"{100 * (whole - units) / whole:5.1f} % interpreted")
    print(f"  with a timed account        {timed:7.1f} us   ratio timed / not timed, interpreted {timed / whole:5.3f}")
    for each in (compiled_system, system, timed_system, listened_system):
        each.close()


def measure_parts(robot: Robot, folder: Path) -> None:
    """Where each microsecond goes."""
    _, system, parts = make_loop(robot, folder, INTERPRETED)
    spent = {name: 0.0 for name, _ in parts}
    for step in range(STEPS * 5 + 1):
        for name, action in parts:
            begin = time.perf_counter()
            action()
            spent[name] += time.perf_counter() - begin if step else 0.0
    for name, seconds in sorted(spent.items(), key=lambda part: -part[1]):
        print(f"    {name:<22} {1e6 * seconds / (STEPS * 5):7.1f} us")
    system.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        for robot in (SPHERE, YUMI):
            measure(robot, Path(temporary))
            measure_parts(robot, Path(temporary))
