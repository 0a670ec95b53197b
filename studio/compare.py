"""Controllers compared: tracking, effort and detection against mass error, noise and step size (S1, 7.3)."""

from __future__ import annotations

import csv
import functools
import io
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from simloop.master import SimloopError, TimedWrite
from simloop.master.seconds import exact_seconds
from simloop.models.arm import Arm
from simloop.models.controllers import NATURAL_FREQUENCY
from simloop.models.robot import Robot
from simloop.studio import scenarios
from simloop.studio.request import Finished, Request
from simloop.studio.results import check_folder, versions, write_json
from simloop.studio.runner import run_in_memory
from simloop.studio.scenario import Outcome, Scenario, Settings
from simloop.studio.scenarios._offline import plan_table
from simloop.studio.scenarios._sphere import ACCELERATION, ROBOT
from simloop.studio.scenarios.sphere_collision import detection_times, touch_time

STEPS = ("1/200", "1/2000")
MASS_ERRORS = (0.0, 0.1)
NOISES = (0.0, 1e-5)  # m or rad: an encoder of 19 bits a turn

# The conventional controllers' default is as fast as they are stable with every robot here at 1/200 s; at a smaller
# step they run a second time, tuned as much faster.
FASTEST = NATURAL_FREQUENCY / 200  # natural frequency times step
# A contact is reported from three times the force that the mass error above feels like at home, ...
FELT = 3 * 0.1
# ... or from the position error that a controller makes under that force, and above this many deviations of noise.
DEVIATIONS = 5.0
# A step from one measurement to the next but one has the noise n₊ − 2 n + n₋.
NOISE_OF_STEP = math.sqrt(6.0)
# A triple pole's error under a constant acceleration, at its peak, per acceleration over ω²; then the integral acts.
PID_PEAK = 2.0 * math.exp(-2.0)
# The YuMi has nothing to run into: someone pushes the joint that carries most, as hard as its load does.
PUSH_TIME = Fraction(1, 2)  # s

_RECORD, _HOLDS = "compare.json", ("comparison", "rows")


@dataclass(frozen=True)
class Controller:
    """A control unit and how fast it is tuned, rad/s; None for the simulation in the loop, as fast as its step."""

    control: str
    natural_frequency: float | None = None

    def settings(self) -> Settings:
        return {} if self.natural_frequency is None else {"control.natural_frequency": self.natural_frequency}

    def error_per_acceleration(self, h: float) -> float:
        """How far an acceleration that the controller does not know of takes a joint off, s²."""
        if self.natural_frequency is None:
            return h**2
        return (PID_PEAK if self.control == "pid" else 1.0) / self.natural_frequency**2


def controllers_at(h: float) -> tuple[Controller, ...]:
    """Those that are compared at a step of h s."""
    speeds = [NATURAL_FREQUENCY]
    if FASTEST / h > 1.001 * NATURAL_FREQUENCY:
        speeds.append(round(FASTEST / h, 6))
    others = (Controller(control, speed) for speed in speeds for control in ("computed_torque", "pid"))
    return (Controller("control"), *others)


@dataclass(frozen=True)
class Row:
    """One line of the table; None is for what did not happen, or cannot be told since the run failed."""

    robot: str
    step: str
    mass_error: float
    noise: float
    control: str
    natural_frequency: float | None
    max_error: float | None = None
    rms_error: float | None = None
    final_error: float | None = None
    rms_force: float | None = None
    peak_force: float | None = None
    position_delay: float | None = None
    position_false_alarms: int | None = None
    force_delay: float | None = None
    force_false_alarms: int | None = None
    failure: str = ""


@dataclass(frozen=True)
class Bench:
    """A robot's two runs. All controllers get the same table to follow, so that no plan makes way for its robot."""

    robot: Robot
    units: tuple[str, str]
    tracking: Scenario
    detection: Scenario
    contact_begins: Callable[[Outcome], float | None]

    @functools.cached_property
    def load(self) -> Load:
        return Load(self.robot)


class Load:
    """What an arm at home feels of gravity and of noise."""

    def __init__(self, robot: Robot) -> None:
        arm, home = Arm(robot.mjcf), np.array(robot.home)
        rest, weight = np.zeros(arm.n), np.zeros(arm.n)
        arm.inverse(home, rest, rest, 1.0, weight)
        M = arm.inertia()
        self.joint = int(np.argmax(np.abs(weight)))
        self.push = -float(weight[self.joint])
        self.weight = float(np.abs(weight).max())
        self.fall = float(np.abs(np.linalg.solve(M, weight)).max())
        self.inertia = float(np.linalg.norm(M, axis=1).max())

    def thresholds(self, controller: Controller, noise: float, h: float) -> Settings:
        """Where contact is reported from, by one rule for all controllers."""
        stray = DEVIATIONS * NOISE_OF_STEP * noise
        return {
            "control.force_threshold": FELT * self.weight + stray * self.inertia / h**2,
            "control.position_threshold": FELT * self.fall * controller.error_per_acceleration(h) + stray,
        }


def _sphere() -> Bench:
    # A quarter of the scenario's way: start, stop and rest are all there, in half the time.
    tracking = replace(
        scenarios.load("sphere-offline"),
        table=lambda h, steps: plan_table(ROBOT, (0.0, 0.0, 0.25), ACCELERATION, h, steps),
        duration=Fraction(4),
    )
    # It touches at 3.16 s.
    detection = replace(scenarios.load("sphere-collision"), duration=Fraction(33, 10))
    return Bench(tracking.robot, ("m", "N"), tracking, detection, touch_time)


def _yumi() -> Bench:
    tracking = replace(scenarios.load("yumi-offline"), duration=Fraction(4))
    load = Load(tracking.robot)
    push = TimedWrite(PUSH_TIME, f"plant.f_ext[{load.joint + 1}]", load.push)
    detection = replace(tracking, duration=Fraction(1), writes=lambda h: (push,))
    return Bench(tracking.robot, ("rad", "N·m"), tracking, detection, lambda outcome: float(PUSH_TIME))


_BENCHES = {"sphere": _sphere, "yumi": _yumi}


def bench_of(robot: str) -> Bench:
    if robot not in _BENCHES:
        raise SimloopError(f"controllers are compared for {' and '.join(_BENCHES)}, not for {robot!r}")
    bench = _BENCHES[robot]()
    return replace(bench, tracking=_planned_once(bench.tracking), detection=_planned_once(bench.detection))


def bench_names() -> tuple[str, ...]:
    return tuple(_BENCHES)


def _planned_once(scenario: Scenario) -> Scenario:
    return scenario if scenario.table is None else replace(scenario, table=functools.cache(scenario.table))


def compare(
    bench: Bench,
    steps: Sequence[str] = STEPS,
    mass_errors: Sequence[float] = MASS_ERRORS,
    noises: Sequence[float] = NOISES,
) -> Iterator[Row]:
    """The rows of the table, each as soon as it is measured."""
    for step, mass_error, noise in itertools.product(steps, mass_errors, noises):
        for controller in controllers_at(float(exact_seconds("step", step))):
            yield measure(bench, controller, step, mass_error, noise)


def measure(bench: Bench, controller: Controller, step: str, mass_error: float, noise: float) -> Row:
    h = float(exact_seconds("step", step))
    row = Row(bench.robot.name, step, mass_error, noise, controller.control, controller.natural_frequency)
    plant: Settings = {"plant.mass_error": mass_error, "plant.noise": noise}
    settings = {**plant, **controller.settings()}
    tracked = _run(bench.tracking, controller, step, settings)
    if tracked.error is not None:
        return replace(row, failure=str(tracked.error))
    touched = _run(bench.detection, controller, step, {**settings, **bench.load.thresholds(controller, noise, h)})
    if touched.error is not None:
        return replace(row, failure=str(touched.error))
    return _with_detection(_with_tracking(row, tracked.outcome), bench, touched.outcome)


def _run(scenario: Scenario, controller: Controller, step: str, settings: Settings) -> Finished:
    return run_in_memory(Request(replace(scenario, control=controller.control), step=step, settings=settings))


def _with_tracking(row: Row, outcome: Outcome) -> Row:
    error = (outcome.result.vector("plant.q_true") - outcome.result.vector("planner.q_d"))[1:]
    force = outcome.result.vector("plant.tau_applied")[1:]
    return replace(
        row,
        max_error=float(np.abs(error).max()),
        rms_error=float(np.sqrt(np.mean(error**2))),
        final_error=float(np.abs(error[-1]).max()),
        rms_force=float(np.sqrt(np.mean(force**2))),
        peak_force=float(np.abs(force).max()),
    )


def _with_detection(row: Row, bench: Bench, outcome: Outcome) -> Row:
    begins = bench.contact_begins(outcome)
    found: dict[str, float | int | None] = {}
    for way in ("position", "force"):
        times = detection_times(outcome, f"contact_by_{way}")
        noticed = [t - begins for t in times if begins is not None and t >= begins]
        found[f"{way}_delay"] = noticed[0] if noticed else None
        found[f"{way}_false_alarms"] = len(times) - len(noticed)
    return replace(row, **found)  # type: ignore[arg-type]


_HEAD = (
    ("step", 6),
    ("mass", 5),
    ("noise", 6),
    ("controller", 15),
    ("rad/s", 5),
    ("max error", 9),
    ("rms error", 9),
    ("end error", 9),
    ("rms force", 9),
    ("peak force", 10),
    ("by position", 13),
    ("by force", 13),
)


def title(bench: Bench) -> str:
    length, force = bench.units
    return (
        f"{bench.robot.name}: errors in {length}, forces in {force}; a contact's delay in ms by position and by force, "
        "and the false alarms before it"
    )


def head(bench: Bench) -> str:
    """What stands above the lines, with a line's end."""
    return f"{title(bench)}\n{_line([name for name, _ in _HEAD])}\n"


def line(row: Row) -> str:
    return _line(cells(row)) + (f"  {row.failure}" if row.failure else "")


def _line(texts: Sequence[str]) -> str:
    pairs = zip(texts, _HEAD, strict=True)
    return "  ".join(f"{t:<{w}}" if name == "controller" else f"{t:>{w}}" for t, (name, w) in pairs).rstrip()


def cells(row: Row) -> list[str]:
    """A row as a person reads it."""
    numbers = (row.max_error, row.rms_error, row.final_error, row.rms_force, row.peak_force)
    return [
        row.step,
        f"{row.mass_error:.0%}",
        f"{row.noise:g}",
        row.control,
        "1/h" if row.natural_frequency is None else f"{row.natural_frequency:g}",
        *("–" if number is None else f"{number:.3g}" for number in numbers),
        _noticed(row.position_delay, row.position_false_alarms),
        _noticed(row.force_delay, row.force_false_alarms),
    ]


def _noticed(delay: float | None, false_alarms: int | None) -> str:
    told = "–" if delay is None else f"{1e3 * delay:.1f}"
    return f"{told}, {false_alarms} false" if false_alarms else told


def check_results_folder(out: Path) -> None:
    check_folder(out, _RECORD, _HOLDS)


def write_comparison(out: Path, tables: Iterable[tuple[Bench, Sequence[Row]]], command: str) -> None:
    """Write compare.csv, compare.json and compare.md to `out`."""
    tables = list(tables)
    rows = [asdict(row) for _, table in tables for row in table]
    record = {
        "comparison": [bench.robot.name for bench, _ in tables],
        "rows": rows,
        "versions": versions(),
        "command": command,
    }
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, [field.name for field in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    out.mkdir(parents=True, exist_ok=True)
    (out / "compare.csv").write_text(text.getvalue(), encoding="utf-8", newline="\n")
    (out / "compare.md").write_text("\n".join(map(_markdown, *zip(*tables, strict=True))), encoding="utf-8")
    write_json(out / _RECORD, record)


def _markdown(bench: Bench, rows: Sequence[Row]) -> str:
    columns = [name for name, _ in _HEAD]
    lines = [columns, ["---"] * len(columns), *map(cells, rows)]
    return f"{title(bench)}\n\n" + "".join(f"| {' | '.join(texts)} |\n" for texts in lines)
