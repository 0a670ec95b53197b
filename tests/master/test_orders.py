"""Orders of convergence, measured on two coupled masses; an adaptive step that keeps its tolerance, and cheaply."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from simloop.master import (
    LINEAR,
    Adaptive,
    Extrapolation,
    FmuComponent,
    FunctionComponent,
    SimloopError,
    System,
    Tolerance,
    WiringError,
    gauss_seidel,
    jacobi,
    multi_rate,
    run,
)

from tests.master.oscillators import ORDERS, SECONDS, START, Make, error, exact, local_errors, oscillators
from tests.units.build import NativeUnits


@pytest.mark.parametrize(("make", "derivatives", "order"), [row[1:] for row in ORDERS], ids=[row[0] for row in ORDERS])
def test_the_error_falls_with_the_order_of_the_method(make: Make, derivatives: int, order: int) -> None:
    coarse, fine = (error(make, steps, derivatives) for steps in (40, 80))
    assert math.log2(coarse / fine) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize(("extrapolation", "order"), [(Extrapolation(0), 1), (LINEAR, 2)])
def test_an_adaptive_step_keeps_its_tolerance_with_fewer_steps_than_the_best_fixed_step(
    extrapolation: Extrapolation, order: int
) -> None:
    """On a motion that dies away. All steps of a unit count, also those that only measured the error."""
    damping, seconds, tolerance = 0.5, 40, 1e-3
    system = oscillators(damping=damping)
    algorithm = Adaptive(jacobi(system, extrapolation), Tolerance(tolerance), order=order)
    adaptive = run(system, algorithm, step=seconds, duration=seconds)
    assert adaptive["time"][-1] == seconds
    assert max(local_errors(adaptive, damping)) <= tolerance
    counts = adaptive.account.components["a"]
    assert counts.standing == 2 * (len(adaptive) - 1), "what is kept are the halves"
    # The best fixed step that needs no more unit steps breaks the tolerance.
    per_second = counts.steps // seconds
    system = oscillators(damping=damping)
    fixed = run(system, jacobi(system, extrapolation), step=f"1/{per_second}", duration=seconds)
    assert fixed.account.components["a"].steps <= counts.steps
    assert max(local_errors(fixed, damping)) > tolerance


def test_a_tolerance_of_its_own_for_one_variable_is_the_one_that_rules() -> None:
    def steps(**tolerances: Tolerance) -> int:
        system = oscillators(damping=0.5)
        named = {name.replace("_", "."): tolerance for name, tolerance in tolerances.items()}
        algorithm = Adaptive(jacobi(system, LINEAR), Tolerance(1.0), order=2, tolerances=named)
        return len(run(system, algorithm, step=10, duration=10))

    loose, tight = steps(), steps(b_v=Tolerance(1e-5))
    assert tight > 4 * loose
    with pytest.raises(SimloopError, match=r"a\.u cannot have a tolerance"):
        steps(a_u=Tolerance(1.0))


def test_the_grid_is_met_exactly_however_the_steps_fall() -> None:
    system = oscillators()
    result = run(system, Adaptive(jacobi(system), Tolerance(1e-3)), step="1/3", duration=2)
    grid = [k / 3 for k in range(7)]
    assert [time for time in result["time"].tolist() if time in grid] == grid
    assert (np.diff(result["time"]) > 0).all()


def test_a_fast_component_makes_its_steps_with_what_a_slow_one_last_said() -> None:
    """Of two units that count, the fast one hears the slow one's number from before its step until that step ends."""
    heard: list[tuple[float, float]] = []

    def count(values: dict[str, float], time: float, h: float) -> None:
        if values.get("watch"):
            heard.append((time, values["u"]))
        values["y"] += 1.0

    system = System(
        FunctionComponent(name, count, inputs={"u": 0.0}, outputs={"y": 0.0}, states={"watch": watch})
        for name, watch in (("slow", 0.0), ("fast", 1.0))
    )
    system.connect("slow.y", "fast.u")
    system.connect("fast.y", "slow.u")
    run(system, multi_rate(system, {"fast": 4}), step=1, duration=2)
    assert heard == [(0.0, 0.0), (0.25, 0.0), (0.5, 0.0), (0.75, 0.0), (1.0, 1.0), (1.25, 1.0), (1.5, 1.0), (1.75, 1.0)]


def test_rates_and_orders_that_cannot_be_are_refused() -> None:
    system = oscillators()
    with pytest.raises(WiringError, match="a cannot make 0 steps"):
        multi_rate(system, {"a": 0})
    with pytest.raises(WiringError, match="must name each of a, b once"):
        gauss_seidel(system, order=["a"])
    with pytest.raises(ValueError, match="0, 1 or 2"):
        Extrapolation(3)
    with pytest.raises(ValueError, match="greater than 0"):
        Tolerance(0.0)


# The mass as a native unit, by the highest derivative of inputs that it takes.
MASSES = {0: "mass", 2: "mass_interpolates"}


def error_on_files(make: Make, steps: int, path: Path) -> float:
    system = System(FmuComponent(name, path) for name in ("a", "b"))
    try:
        system.connect("a.x", "b.u")
        system.connect("b.x", "a.u")
        for name, start in START.items():
            system.set(f"{name}.x0", start)
        result = run(system, make(system), step=f"1/{steps}", duration=SECONDS)
    finally:
        system.close()
    return max(abs(result[f"{name}.x"][-1] - x) for name, x in zip(START, exact(SECONDS), strict=True))


@pytest.mark.parametrize(("make", "derivatives", "order"), [row[1:] for row in ORDERS], ids=[row[0] for row in ORDERS])
def test_native_units_have_the_errors_of_functions(
    make: Make, derivatives: int, order: int, native: NativeUnits
) -> None:
    """Split over two FMU files, the orders are the same, and so is every digit that the coupling decides."""
    coarse, fine = (error_on_files(make, steps, native[MASSES[derivatives]]) for steps in (40, 80))
    assert math.log2(coarse / fine) == pytest.approx(order, abs=0.15)
    assert fine == pytest.approx(error(make, 80, derivatives), rel=1e-4)
