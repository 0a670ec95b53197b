"""Algebraic loops: found, refused where an order is needed, solved to the closed form, and loud when they are not."""

from __future__ import annotations

import re

import pytest
from simloop.master import (
    Adaptive,
    CannotRollBackError,
    Claimed,
    FixedPoint,
    FmuComponent,
    FunctionComponent,
    LoopError,
    Newton,
    System,
    Tolerance,
    WiringError,
    algebraic_loops,
    gauss_seidel,
    iterative,
    jacobi,
    run,
)
from simloop.master.solvers import Solver

from tests.units.build import NativeUnits


def through(name: str, gain: float, offset: float, *, can_rollback: bool = True) -> FunctionComponent:
    """A unit that feeds through: y = gain · u + offset + t."""

    def step(values: dict[str, float], time: float, h: float) -> None:
        values["t"] = time + h

    def update(values: dict[str, float]) -> None:
        values["y"] = gain * values["u"] + offset + values["t"]

    return FunctionComponent(
        name,
        step,
        inputs={"u": 0.0},
        outputs={"y": 0.0},
        states={"t": 0.0},
        update=update,
        can_rollback=can_rollback,
    )


def loop(gain: float, *, rollback: str = "ab") -> System:
    """a.y = gain · b.y + 1 + t, b.y = 0.5 · a.y + 2 + t. Loop gain: gain / 2."""
    system = System([through("a", gain, 1.0, can_rollback="a" in rollback), through("b", 0.5, 2.0)])
    system.connect("b.y", "a.u")
    system.connect("a.y", "b.u")
    return system


def loop_of_files(native: NativeUnits, gain: float) -> System:
    """The same loop of two FMU files, in C."""
    system = System([FmuComponent(name, native["through"], trust=Claimed()) for name in "ab"])
    for name, value in (("a.gain", gain), ("a.offset", 1.0), ("b.gain", 0.5), ("b.offset", 2.0)):
        system.set(name, value)
    system.connect("b.y", "a.u")
    system.connect("a.y", "b.u")
    return system


def closed_form(gain: float, time: float) -> float:
    """a.y"""
    return (1.0 + time + gain * (2.0 + time)) / (1.0 - 0.5 * gain)


def test_a_loop_is_found_by_what_depends_on_what_directly() -> None:
    (found,) = algebraic_loops(loop(0.5))
    assert found.components == ("a", "b")
    assert str(found) == "a.y -> b.u, b.y -> a.u"


def test_a_ring_in_which_a_state_stands_between_is_no_loop() -> None:
    """Not even where both units have a direct path, but of other variables."""
    lag = FunctionComponent("lag", inputs={"u": 0.0}, outputs={"y": 0.0})
    crossed = FunctionComponent(
        "crossed",
        inputs={"u": 0.0, "w": 0.0},
        outputs={"y": 0.0, "z": 0.0},
        update=lambda values: None,
        dependencies={"y": ["w"], "z": ["u"]},
    )
    system = System([lag, crossed])
    system.connect("lag.y", "crossed.u")
    system.connect("crossed.y", "lag.u")
    assert algebraic_loops(system) == []


def test_gauss_seidel_refuses_a_loop_unless_the_order_is_given() -> None:
    with pytest.raises(WiringError, match=r"a -> b -> a depend on each other directly.*iterate"):
        gauss_seidel(loop(0.5))
    system = loop(0.5)
    late = run(system, gauss_seidel(system, order=["a", "b"]), step=1, duration=4)["a.y"][-1]
    assert late != pytest.approx(closed_form(0.5, 4.0), rel=1e-3), "it is late, as was accepted"


@pytest.mark.parametrize("solver", [FixedPoint(1e-12), FixedPoint(1e-12, depth=0, limit=200), Newton(1e-12)])
@pytest.mark.parametrize("gain", [-1.5, 0.5, 1.2])
def test_iteration_gets_the_closed_form(solver: Solver, gain: float) -> None:
    system = loop(gain)
    result = run(system, iterative(system, solver), step="1/4", duration=1)
    for time, value in zip(result["time"].tolist(), result["a.y"].tolist(), strict=True):
        assert value == pytest.approx(closed_form(gain, time), abs=1e-10)
    assert result["time"][0] == 0.0, "and so does the start, which no step has touched"


def test_a_gain_above_one_converges_with_newton_and_is_told_as_diverging_with_plain_fixed_point() -> None:
    system = loop(6.0)
    result = run(system, iterative(system, Newton(1e-12)), step=1, duration=2)
    assert result["a.y"][-1] == pytest.approx(closed_form(6.0, 2.0), abs=1e-10)
    system = loop(6.0)
    said = re.escape("the loop over a.y -> b.u, b.y -> a.u diverges at 0 s")
    with pytest.raises(LoopError, match=said) as caught:
        run(system, iterative(system, FixedPoint(1e-12, depth=0)), step=1, duration=2)
    assert caught.value.connections == ("a.y -> b.u", "b.y -> a.u")
    assert caught.value.residual > 1.0
    assert caught.value.result is not None
    assert caught.value.result["time"].tolist() == [0.0]


def test_two_files_that_feed_through_are_a_loop_like_any_other(native: NativeUnits) -> None:
    system = loop_of_files(native, 0.5)
    with pytest.raises(WiringError, match="depend on each other directly"):
        gauss_seidel(system)
    result = run(system, iterative(system, FixedPoint(1e-12)), step="1/4", duration=1)
    assert result["a.y"][-1] == pytest.approx(closed_form(0.5, 1.0), abs=1e-10)
    system.close()
    steep = loop_of_files(native, 6.0)
    result = run(steep, iterative(steep, Newton(1e-12)), step="1/4", duration=1)
    assert result["a.y"][-1] == pytest.approx(closed_form(6.0, 1.0), abs=1e-10)
    steep.close()
    steep = loop_of_files(native, 6.0)
    with pytest.raises(LoopError, match="diverges"):
        run(steep, iterative(steep, FixedPoint(1e-12, depth=0)), step="1/4", duration=1)
    steep.close()


def test_a_limit_that_is_too_low_is_told_with_the_residual() -> None:
    """Plain iteration with gain g leaves a residual that falls by g each time."""
    system = loop(1.8)
    with pytest.raises(LoopError, match=r"does not converge.*after 3 iterations") as caught:
        run(system, iterative(system, FixedPoint(1e-12, depth=0, limit=3)), step=1, duration=1)
    assert caught.value.iterations == 3
    assert 1e-12 < caught.value.residual < 10.0


def test_a_loop_without_a_solution_is_told() -> None:
    system = loop(2.0)
    with pytest.raises(LoopError):
        run(system, iterative(system, Newton(1e-12)), step=1, duration=1)


def test_a_component_that_cannot_be_undone_is_refused_in_a_loop() -> None:
    with pytest.raises(CannotRollBackError, match=r"'a'.*algebraic loop a\.y -> b\.u") as caught:
        iterative(loop(0.5, rollback="b"), FixedPoint(1e-9))
    assert caught.value.component == "a"


def test_jacobi_runs_over_a_loop_a_step_late() -> None:
    system = loop(0.5)
    result = run(system, jacobi(system), step=1, duration=1)
    first = closed_form(0.5, 0.0)
    assert result["a.y"][0] == pytest.approx(first, abs=1e-10)
    assert result["a.y"][1] == pytest.approx(0.5 * (0.5 * first + 2.0) + 1.0 + 1.0, abs=1e-10)


def test_an_adaptive_step_over_a_loop_counts_its_iterations() -> None:
    system = loop(0.5)
    algorithm = Adaptive(iterative(system, FixedPoint(1e-12)), Tolerance(1e-6), first=0.1)
    result = run(system, algorithm, step=1, duration=1)
    assert result["a.y"][-1] == pytest.approx(closed_form(0.5, 1.0), abs=1e-10)
    (found,) = result.account.describe()["loops"].values()
    assert found["solved"] > 0
    assert 2 <= found["median"] <= found["worst"] <= 6, "Anderson on two linear values needs three or four"
