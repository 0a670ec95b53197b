"""Orders of convergence, measured on two coupled masses; an adaptive step that keeps its tolerance, and cheaply."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.linalg
from simloop.master import (
    LINEAR,
    QUADRATIC,
    Adaptive,
    Extrapolation,
    FixedPoint,
    Result,
    Schedule,
    SimloopError,
    System,
    Tolerance,
    WiringError,
    gauss_seidel,
    iterative,
    jacobi,
    multi_rate,
    run,
)

from tests.master.oscillators import COUPLING, WALL, exact, oscillators

SECONDS = 2
SOLVER = FixedPoint(1e-12)
Make = Callable[[System], Schedule]

# What theory says: a held input is first order. A straight line through the outputs is second order, also as its mean
# over the step. A parabola is third order, if the unit takes it as it is; as a mean it stays second order, for what the
# input does within the step is lost.
ORDERS: list[tuple[str, Make, int, int]] = [
    ("jacobi", jacobi, 0, 1),
    ("jacobi, linear", lambda s: jacobi(s, LINEAR), 0, 2),
    ("jacobi, quadratic", lambda s: jacobi(s, QUADRATIC), 0, 2),
    ("jacobi, quadratic, derivatives", lambda s: jacobi(s, QUADRATIC), 2, 3),
    ("gauss-seidel", gauss_seidel, 0, 1),
    ("gauss-seidel, linear", lambda s: gauss_seidel(s, LINEAR), 0, 2),
    ("gauss-seidel, quadratic, derivatives", lambda s: gauss_seidel(s, QUADRATIC), 2, 3),
    ("iterative", lambda s: iterative(s, SOLVER), 0, 1),
    ("iterative, linear", lambda s: iterative(s, SOLVER, LINEAR), 0, 2),
    ("iterative, quadratic, derivatives", lambda s: iterative(s, SOLVER, QUADRATIC), 2, 3),
    ("multi-rate", lambda s: multi_rate(s, {"a": 3}), 0, 1),
]


def error(make: Make, steps: int, input_derivatives: int) -> float:
    """At the end, m."""
    system = oscillators(input_derivatives=input_derivatives)
    result = run(system, make(system), step=f"1/{steps}", duration=SECONDS)
    a, b = exact(SECONDS)
    return max(abs(result["a.x"][-1] - a), abs(result["b.x"][-1] - b))


@pytest.mark.parametrize(("make", "derivatives", "order"), [row[1:] for row in ORDERS], ids=[row[0] for row in ORDERS])
def test_the_error_falls_with_the_order_of_the_method(make: Make, derivatives: int, order: int) -> None:
    coarse, fine = (error(make, steps, derivatives) for steps in (40, 80))
    assert math.log2(coarse / fine) == pytest.approx(order, abs=0.15)


def local_errors(result: Result, damping: float) -> list[float]:
    """Of each step, against the exact motion from where it began."""
    k = WALL + COUPLING
    A = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [-k, COUPLING, -damping, 0], [COUPLING, -k, 0, -damping]])
    states = np.column_stack([result[name] for name in ("a.x", "b.x", "a.v", "b.v")])
    steps = np.diff(result["time"])
    moved = {h: scipy.linalg.expm(A * h) for h in set(steps.tolist())}
    pairs = zip(steps.tolist(), states[:-1], states[1:], strict=True)
    return [float(np.max(np.abs(moved[h] @ begin - end))) for h, begin, end in pairs]


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
    from simloop.master import FunctionComponent

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
