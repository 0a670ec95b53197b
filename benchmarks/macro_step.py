"""What the master costs: a macro step against the same FMI calls with no master around them, in one run.

For the sphere and for an arm of 14 joints, on FMU files. Prints medians over interleaved rounds. "FMUs alone" is the
list of raw FMI calls of one macro step, recording included, made one after the other in a bare loop; "crossing" is
what as many ctypes calls of an empty function cost, which is neither the units' nor the master's work.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simloop.fmus.export import build
from simloop.master import FmuComponent, System, simulation_in_the_loop
from simloop.master.clock import Clock
from simloop.master.recorder import Recorder
from simloop.master.schedule import bind, written_inputs
from simloop.models.robot import Box, Robot
from simloop.models.robots.sphere import ROBOT as SPHERE
from simloop.studio.scenario import connect_loop

ROUNDS, STEPS, H = 15, 200, 1 / 2000
FLOOR = Box("floor", centre=(0.0, 0.0, -0.5), half_size=(2.0, 2.0, 0.05))


def dummy_arm(chains: int = 2, joints: int = 7) -> Robot:
    """Two chains of seven hinges, with plausible links; no robot in particular."""
    bodies, tools = "", []
    for c in range(chains):
        inside = f'<site name="tool{c}" pos="0 0 0.1"/>'
        for j in reversed(range(joints)):
            axis = "0 0 1" if j % 2 == 0 else "0 1 0"
            place = f"0 {0.3 * (2 * c - 1)} 0.3" if j == 0 else "0 0 0.15"
            link = f'<geom type="capsule" fromto="0 0 0 0 0 0.1" size="0.04" mass="{2.0 - 0.2 * j}"/>'
            inside = f'<body pos="{place}"><joint name="j{c}{j}" axis="{axis}" armature="0.01"/>{link}{inside}</body>'
        bodies += inside
        tools.append(f"tool{c}")
    mjcf = f'<mujoco><option gravity="0 0 -9.82"/><worldbody>{bodies}</worldbody></mujoco>'
    home = (0.1, 0.5, -0.2, -0.9, 0.3, 0.6, 0.0) * chains
    return Robot("dummy", mjcf, tuple(tools), home)


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
        component._call = {name: self.wrap(function) for name, function in component._call.items()}
        for name in ("_do_step", "_get_state", "_set_state"):
            setattr(component, name, self.wrap(getattr(component, name)))


def make_loop(robot: Robot, folder: Path, raw: RawCalls | None = None) -> tuple[Callable[[], None], System]:
    """A call that makes one macro step and commits it."""
    system = System()
    for kind in ("planner", "control", "plant", "collision"):
        component = FmuComponent(kind, build(kind, robot, folder / robot.name / f"{kind}.fmu", (FLOOR,)))
        if raw is not None:
            raw.listen_to(component)
        system.add(component)
    connect_loop(system)
    system.set("plant.f_ext", 0.0)
    system.set("plant.mass_error", 0.1)
    system.set("planner.goal[3]", 0.7)
    schedule = simulation_in_the_loop(system)
    clock = Clock()
    clock.h = H
    actions = bind(system, schedule, clock)
    recorder = Recorder(system, skip=written_inputs(schedule))
    system.initialize()
    step = 0

    def macro_step() -> None:
        nonlocal step
        clock.time = step / 2000
        for action in actions:
            action()
        step += 1
        recorder.commit(step / 2000)

    return macro_step, system


def time_of(work: Callable[[], None]) -> float:
    """Seconds for STEPS times `work`."""
    begin = time.perf_counter()
    for _ in range(STEPS):
        work()
    return time.perf_counter() - begin


def measure(robot: Robot, folder: Path) -> None:
    raw = RawCalls()
    listened, listened_system = make_loop(robot, folder, raw)
    listened()
    raw.made.clear()
    listened()
    calls = tuple(raw.made)
    macro_step, system = make_loop(robot, folder)
    empty = listened_system.components["plant"]._fmu.dll["fmi2GetVersion"]  # type: ignore[attr-defined]

    def bare() -> None:
        for function, arguments in calls:
            function(*arguments)

    def crossing() -> None:
        for _, arguments in calls:
            empty(*arguments)

    rounds = [(time_of(macro_step), time_of(bare), time_of(crossing)) for _ in range(ROUNDS)]
    whole, alone, across = (1e6 * statistics.median(column) / STEPS for column in zip(*rounds, strict=True))
    units = alone - across
    print(f"{robot.name}: {len(robot.home)} joints, {len(calls)} FMI calls a macro step")
    print(f"  macro step                  {whole:7.1f} us   {whole * 2e3 / 1e6:5.2f} of real time at 2 kHz")
    print(f"  FMUs alone                  {alone:7.1f} us   ratio macro step / FMUs alone {whole / alone:5.2f}")
    print(f"  of that crossing ctypes     {across:7.1f} us")
    print(f"  master's share              {100 * (whole - alone) / whole:7.1f} %   ", end="")
    print(f"with ctypes counted as the master's {100 * (whole - units) / whole:5.1f} %")
    for each in (system, listened_system):
        each.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        for robot in (SPHERE, dummy_arm()):
            measure(robot, Path(temporary))
