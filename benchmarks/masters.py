"""Steps per second of masters that are driven from Python, over the same native units with the same record.

Springs of FMI 2.0 in a ring, each pulled by the position of the one before it; position and velocity of all are
recorded after each step. Everybody makes Jacobi steps. Rounds alternate between the masters, because a machine is never
quiet; what is told are medians. Nobody's loading counts; ours counts from the start of the run to the finished columns.
Every peer's record is compared with ours first. Given a file, writes the table between its two marks.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import numpy as np
from fmpy import extract, instantiate_fmu, read_model_description, simulate_fmu
from fmpy.ssp import simulation
from numpy.typing import NDArray
from simloop.master import Claimed, FmuComponent, System, jacobi, run
from simloop.master.binding import INTERPRETED, Executor
from simloop.master.executor import COMPILED
from simloop.master.fmi import FmiInstance
from simloop.master.ssp import write_ssp

from tests.units.build import compile_unit, recipe, write_unit

SIZES = (1, 2, 10, 50)
FITTED = (2, 5, 10, 20, 50, 100)
ROUNDS = 5
H = Fraction(1, 1000)
# A run lasts about this many seconds on a quiet machine.
LONG = 0.4
# Of the steps of a long run, for the difference of a long and a short one.
SHORT_PART = 4
X, V = 3, 4  # value references of a spring
CHECKED_STEPS = 200
MARKS = ("<!-- measured by benchmarks/masters.py -->", "<!-- end -->")

Columns = NDArray[np.float64]
"""The positions after each step: (steps, units)."""


@dataclass(frozen=True)
class Setup:
    """A ring of `count` springs, as files in `folder`."""

    count: int
    folder: Path
    unit: Path

    @property
    def names(self) -> list[str]:
        return [f"s{i}" for i in range(self.count)]

    @property
    def wires(self) -> list[tuple[str, str]]:
        """Names of a spring and the next; none for a single one."""
        return list(zip(self.names, self.names[1:] + self.names[:1], strict=True)) if self.count > 1 else []

    @property
    def package(self) -> Path:
        path = self.folder / f"ring{self.count}.ssp"
        if not path.exists():
            system = self.system()
            write_ssp(system, path, "ring")
            system.close()
        return path

    def system(self) -> System:
        system = System(FmuComponent(name, self.unit, trust=Claimed()) for name in self.names)
        for one, other in self.wires:
            system.connect(f"{one}.x", f"{other}.F")
        if not self.wires:
            system.set("s0.F", 0.0)
        return system


Drive = Callable[[Setup, int], tuple[float, Columns]]
"""Makes so many steps; the seconds that took, and the positions."""


@dataclass(frozen=True)
class Master:
    """`microseconds` is about what a step of one unit costs, to choose how many steps to make."""

    name: str
    drive: Drive
    microseconds: float
    sizes: tuple[int, ...] = SIZES
    tolerance: float = 1e-9

    def steps(self, count: int) -> int:
        return max(400, int(LONG / (1e-6 * self.microseconds * (count + 2))))


def by_simloop(executor: Executor, clock: Callable[[], float] = time.perf_counter) -> Drive:
    def drive(setup: Setup, steps: int) -> tuple[float, Columns]:
        system = setup.system()
        schedule = jacobi(system)
        begin = clock()
        result = run(system, schedule, step=H, duration=steps * H, executor=executor)
        seconds = clock() - begin
        system.close()
        return seconds, np.column_stack([result[f"{name}.x"][1:] for name in setup.names])

    return drive


def by_fmpy_alone(setup: Setup, steps: int) -> tuple[float, Columns]:
    h, folder, description = float(H), extract(setup.unit), read_model_description(setup.unit)
    unit = instantiate_fmu(folder, description, "CoSimulation")
    begin = time.perf_counter()
    result = simulate_fmu(
        folder,
        fmu_instance=unit,
        model_description=description,
        stop_time=steps * h,
        step_size=h,
        output_interval=h,
        output=["x", "v"],
        record_events=False,
    )
    seconds = time.perf_counter() - begin
    unit.freeInstance()
    shutil.rmtree(folder)
    return seconds, np.column_stack([result["x"][1 : steps + 1]])


def by_fmpy(setup: Setup, steps: int) -> tuple[float, Columns]:
    """Timed from the last unit that it loads to the first that it frees."""
    path, h, instants = str(setup.package), float(H), []

    def noting(function: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: object) -> None:
            instants.append(time.perf_counter())
            function(*arguments)
            instants.append(time.perf_counter())

        return call

    with (
        patch.object(simulation, "instantiate_fmu", noting(simulation.instantiate_fmu)),
        patch.object(simulation, "free_fmu", noting(simulation.free_fmu)),
    ):
        result = simulation.simulate_ssp(path, stop_time=(steps - 0.5) * h, step_size=h)
    loaded, freed = instants[2 * setup.count - 1 : 2 * setup.count + 1]
    return freed - loaded, np.column_stack([result[f"{name}.x"] for name in setup.names])


def by_cofmupy(setup: Setup, steps: int) -> tuple[float, Columns]:
    from cofmupy import Coordinator

    connections = [
        {"source": {"id": one, "variable": "x"}, "target": {"id": other, "variable": "F"}} for one, other in setup.wires
    ]
    units = [{"id": name, "name": name, "path": str(setup.unit)} for name in setup.names]
    coordinator = Coordinator()
    with redirect_stdout(StringIO()):
        coordinator.start({"fmus": units, "connections": connections, "cosim_method": "jacobi", "iterative": False})
    h = float(H)
    begin = time.perf_counter()
    for _ in range(steps):
        coordinator.do_step(h)
    results = coordinator.get_results()
    seconds = time.perf_counter() - begin
    return seconds, np.column_stack([results[name, "x"] for name in setup.names])


def by_libcosim(setup: Setup, steps: int) -> tuple[float, Columns]:
    from libcosimpy.CosimEnums import CosimVariableType
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimObserver import CosimObserver

    log_output_level(CosimLogLevel.ERROR)
    execution = CosimExecution.from_ssp_file(str(setup.package), step_size=int(10**9 * H))
    observer = CosimObserver.create_time_series(buffer_size=steps + 1)
    execution.add_observer(observer)
    places = [execution.slave_index_from_instance_name(name) for name in setup.names]
    for place in places:
        for reference in (X, V):
            observer.start_time_series(place, reference, CosimVariableType.REAL)
    begin = time.perf_counter()
    execution.step(steps)
    x, _ = (
        [observer.time_series_real_samples(place, reference, 1, steps)[2] for place in places] for reference in (X, V)
    )
    return time.perf_counter() - begin, np.column_stack(x)


def by_ecos(setup: Setup, steps: int) -> tuple[float, Columns]:
    from ecospy import EcosLib, EcosSimulation, EcosSimulationStructure

    EcosLib.set_log_level("warn")
    record = setup.folder / "ecos.csv"
    with EcosSimulationStructure() as structure:
        for name in setup.names:
            structure.add_model(name, setup.unit)
        for one, other in setup.wires:
            structure.make_real_connection(f"{one}::x", f"{other}::F")
        with EcosSimulation(step_size=float(H), structure=structure) as running:
            running.add_csv_writer(
                str(record), identifiers=[f"{name}::{each}" for name in setup.names for each in ("x", "v")]
            )
            running.init()
            begin = time.perf_counter()
            running.step(steps)
            seconds = time.perf_counter() - begin
            running.terminate()
    table = np.genfromtxt(record, delimiter=",", names=True, deletechars="", replace_space="")
    columns = [next(each for each in table.dtype.names if each.startswith(f"{name}::x")) for name in setup.names]
    return seconds, np.column_stack([table[name] for name in columns])[-steps:]


OURS = Master("simloop", by_simloop(COMPILED), 0.1)
# fmpy's systems and cofmupy begin with all connected inputs at zero, and ecos writes six digits.
PEERS = (
    Master("simloop, interpreted", by_simloop(INTERPRETED), 15.0),
    Master("fmpy simulate_fmu", by_fmpy_alone, 30.0, sizes=(1,)),
    Master("fmpy simulate_ssp", by_fmpy, 15.0, tolerance=1e-4),
    Master("cofmupy", by_cofmupy, 60.0, tolerance=1e-4),
    Master("libcosimpy", by_libcosim, 5.0),
    Master("ecospy", by_ecos, 3.0, tolerance=1e-4),
)


def spring(folder: Path) -> Path:
    """The tests' native spring; cofmupy cannot take the text of a default step size."""
    path, (source, macros, description) = folder / "spring.fmu", recipe("spring")
    write_unit(path, re.sub("<DefaultExperiment[^>]*>", "", description), compile_unit(source, macros, folder))
    return path


def there_are() -> list[Master]:
    found = []
    for master in PEERS:
        package = master.name.split()[0].rstrip(",")
        try:
            __import__(package)
        except (ImportError, OSError) as error:
            print(f"{package} is left out: {error}")
            continue
        found.append(master)
    return found


def check(master: Master, setup: Setup) -> None:
    """A peer that does other work is no peer."""
    _, theirs = master.drive(setup, CHECKED_STEPS)
    _, ours = OURS.drive(setup, CHECKED_STEPS)
    off = float(np.abs(theirs - ours).max()) if theirs.shape == ours.shape else np.inf
    if not off <= master.tolerance:
        sys.exit(f"{master.name} differs from ours by {off} over {setup.count} units: {theirs.shape} {ours.shape}")


def rate(master: Master, setup: Setup) -> float:
    """Macro steps per second."""
    steps = master.steps(setup.count)
    return steps / master.drive(setup, steps)[0]


def measure(setup: Setup, peers: list[Master]) -> dict[str, tuple[float, float]]:
    """By master: the median rate, and the median over the rounds of ours over theirs."""
    chosen = [master for master in peers if setup.count in master.sizes]
    for master in chosen:
        check(master, setup)
    rounds = [[rate(master, setup) for master in (OURS, *chosen)] for _ in range(ROUNDS)]
    table = {}
    for i, master in enumerate((OURS, *chosen)):
        rates, ratios = [row[i] for row in rounds], [row[0] / row[i] for row in rounds]
        table[master.name] = statistics.median(rates), statistics.median(ratios)
        print(f"{setup.count:3} units  {master.name:<22} {table[master.name][0]:12.0f} steps/s", end="")
        print(f"   ours / this {table[master.name][1]:8.2f}   least of the rounds {min(ratios):8.2f}", flush=True)
    return table


def describe(tables: dict[int, dict[str, tuple[float, float]]]) -> str:
    """As Markdown."""
    names = [OURS.name, *(master.name for master in PEERS if any(master.name in table for table in tables.values()))]
    lines = ["| | " + " | ".join(f"{count} unit{'s' * (count > 1)}" for count in tables) + " |"]
    lines.append("| --- |" + " ---: |" * len(tables))
    for name in names:
        cells = []
        for table in tables.values():
            if name not in table:
                cells.append("")
            elif name == OURS.name:
                cells.append(f"{table[name][0]:,.0f}")
            else:
                cells.append(f"{table[name][0]:,.0f} (× {table[name][1]:.1f})")
        package = name.split()[0].rstrip(",")
        shown = name if package == "simloop" else name.replace(package, f"{package} {version(package)}")
        lines.append(f"| {shown} | {' | '.join(cells)} |")
    return "\n".join(lines)


def least_cost(setup: Setup) -> float:
    """What a macro step of ours costs, µs of the processor's time: the difference of a long run and a short one, so
    that the start does not count. Other work on the machine only adds, so the least times do."""
    drive, long = by_simloop(COMPILED, time.process_time), OURS.steps(setup.count)
    short = long // SHORT_PART
    times = [(drive(setup, long)[0], drive(setup, short)[0]) for _ in range(ROUNDS)]
    return 1e6 * (min(one for one, _ in times) - min(other for _, other in times)) / (long - short)


def fit(folder: Path, unit: Path) -> str:
    """The line through what a macro step of ours costs; and what it costs when all units share one library."""
    rings = [Setup(count, folder, unit) for count in FITTED]
    own = np.array([least_cost(ring) for ring in rings])
    first = FmuComponent("first", unit, trust=Claimed())

    def share(instance: FmiInstance) -> ctypes.CDLL:
        return ctypes.CDLL(first.instance._library._name)

    with patch.object(FmiInstance, "_load", share):
        shared = np.array([least_cost(ring) for ring in rings])
    lines = [
        "| units and connections, each | µs of processor a macro step | the line | one library for all | the line |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    (slope, base), (slope_shared, base_shared) = line(own), line(shared)
    for i, count in enumerate(FITTED):
        on_lines = base + slope * count, base_shared + slope_shared * count
        lines.append(f"| {count} | {own[i]:.2f} | {on_lines[0]:.2f} | {shared[i]:.2f} | {on_lines[1]:.2f} |")
    lines += [
        "",
        f"The lines: {base:.2f} µs + {slope:.3f} µs for each unit with its connection; with one library for all",
    ]
    lines.append(f"{base_shared:.2f} µs + {slope_shared:.3f} µs.")
    return "\n".join(lines)


def line(cost: Columns) -> tuple[float, float]:
    """Slope and base; weighted by 1 / cost, so that the relative error of each size counts alike."""
    slope, base = np.polyfit(np.array(FITTED, dtype=np.float64), cost, 1, w=1.0 / cost)
    return float(slope), float(base)


def main() -> None:
    peers = there_are()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.chdir(folder)
        unit = spring(folder)
        tables = {count: measure(Setup(count, folder, unit), peers) for count in SIZES}
        text = f"{describe(tables)}\n\n{fit(folder, unit)}"
    print(text)
    for path in map(Path, PATHS):
        head, rest = path.read_text(encoding="utf-8").split(MARKS[0])
        tail = rest.split(MARKS[1])[1]
        path.write_text(f"{head}{MARKS[0]}\n{text}\n{MARKS[1]}{tail}", encoding="utf-8")


if __name__ == "__main__":
    PATHS = [Path(argument).resolve() for argument in sys.argv[1:]]
    main()
