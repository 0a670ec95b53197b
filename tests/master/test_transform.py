"""Connections convert units by their definitions, scale, and look up; what has no common dimension is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simloop.master import ObjectComponent, Step, System, Transfer, WiringError, run
from simloop.master.measure import Measure, convert
from simloop.master.transform import Linear, Lookup, Transform, compose

from tests.master.function_unit import FunctionUnit

#                      kg m  s  A  K  mol cd rad
METRE = Measure("m", (0, 1, 0, 0, 0, 0, 0, 0))
MILLIMETRE = Measure("mm", (0, 1, 0, 0, 0, 0, 0, 0), 1e-3)
KELVIN = Measure("K", (0, 0, 0, 0, 1, 0, 0, 0))
CELSIUS = Measure("degC", (0, 0, 0, 0, 1, 0, 0, 0), 1.0, 273.15)
FAHRENHEIT = Measure("degF", (0, 0, 0, 0, 1, 0, 0, 0), 5 / 9, 273.15 - 32 * 5 / 9)
NEWTON = Measure("N", (1, 1, -2, 0, 0, 0, 0, 0))


def sent(value: float, of: Measure | None, to: Measure | None, kind: str = "Real", **how: float | Transform) -> float:
    """What arrives in `to` when `value` in `of` is sent."""

    def give(values: dict[str, float], time: float, h: float) -> None:
        values["y"] = value

    def copy(values: dict[str, float], time: float, h: float) -> None:
        values["got"] = values["u"]

    giver = FunctionUnit(give, outputs=["y"], measure=of, types={"y": kind})
    taker = FunctionUnit(copy, inputs=["u"], outputs=["got"], measure=to, types={"u": kind})
    system = System([ObjectComponent("a", giver), ObjectComponent("b", taker)])
    system.connect("a.y", "b.u", **how)  # type: ignore[arg-type]
    (wire,) = system.connections()
    return float(run(system, (Step("a"), Transfer(wire), Step("b")), step=1, duration=1)["b.got"][-1])


@pytest.mark.parametrize(
    ("value", "of", "to", "arrives"),
    [
        (1.5, METRE, MILLIMETRE, 1500.0),
        (1500.0, MILLIMETRE, METRE, 1.5),
        (100.0, CELSIUS, KELVIN, 373.15),
        (212.0, FAHRENHEIT, CELSIUS, 100.0),
        (-40.0, CELSIUS, FAHRENHEIT, -40.0),
        (7.0, None, METRE, 7.0),
        (7.0, MILLIMETRE, None, 7.0),
    ],
)
def test_a_value_arrives_in_the_unit_of_the_input(
    value: float, of: Measure | None, to: Measure | None, arrives: float
) -> None:
    assert sent(value, of, to) == pytest.approx(arrives, rel=1e-14)


def test_the_unit_is_converted_before_factor_and_offset() -> None:
    assert sent(20.0, CELSIUS, KELVIN, factor=2.0, offset=-3.0) == pytest.approx(2 * 293.15 - 3, rel=1e-14)


def test_a_transform_is_used_in_place_of_conversion() -> None:
    assert sent(20.0, CELSIUS, KELVIN, transform=Linear(2.0, 1.0)) == 41.0
    assert sent(1.0, None, None, kind="Boolean", transform=Lookup(((0.0, 1.0), (1.0, 0.0)))) == 0.0
    with pytest.raises(WiringError, match="maps the values 0, 1 only, and was given 2"):
        sent(2.0, None, None, kind="Integer", transform=Lookup(((0.0, 1.0), (1.0, 0.0))))


def test_two_dimensions_are_refused_with_both_named() -> None:
    with pytest.raises(WiringError, match=r"a\.y and b\.u .* N \(kg m s\^-2\) and mm \(m\)"):
        sent(1.0, NEWTON, MILLIMETRE)


def test_only_reals_are_scaled_and_only_by_finite_numbers() -> None:
    with pytest.raises(WiringError, match=r"a\.y and b\.u.*Integer, not Real"):
        sent(1.0, None, None, kind="Integer", factor=2.0)
    with pytest.raises(WiringError, match="the offset is nan"):
        sent(1.0, None, None, offset=float("nan"))


def test_a_connection_that_changes_nothing_has_no_transform() -> None:
    system = System(
        [
            ObjectComponent("a", FunctionUnit(outputs=["y"], measure=METRE)),
            ObjectComponent("b", FunctionUnit(inputs=["u"], measure=Measure("metre", METRE.exponents))),
        ]
    )
    system.connect("a.y", "b.u", factor=1.0)
    assert system.connections()[0].transform is None


def test_each_element_of_a_vector_has_its_own_conversion() -> None:
    """As joints do, of which one slides and another turns."""
    units = [MILLIMETRE, METRE, CELSIUS]
    giver, taker = FunctionUnit(outputs=["y[1]", "y[2]", "y[3]"]), FunctionUnit(inputs=["u[1]", "u[2]", "u[3]"])
    given_, taken = giver.variables(), taker.variables()
    for i, (of, to) in enumerate(zip(units, [METRE, METRE, KELVIN], strict=True)):
        given_[i] = type(given_[i])(f"y[{i + 1}]", "output", "Real", of.name, i, measure=of)
        taken[i] = type(taken[i])(f"u[{i + 1}]", "input", "Real", to.name, i, measure=to)
    system = System([ObjectComponent("a", giver), ObjectComponent("b", taker)])
    system.connect("a.y", "b.u")
    giver.ports[:] = [5.0, 6.0, 7.0]
    run(system, (Transfer(system.connections()[0]),), step=1, duration=1)
    assert taker.ports == pytest.approx([0.005, 6.0, 280.15], rel=1e-14)


linears = st.builds(Linear, *[st.floats(-100, 100)] * 2)


@given(st.lists(linears, max_size=4), st.floats(-100, 100))
def test_composed_transforms_do_what_they_do_one_after_another(links: list[Linear], value: float) -> None:
    expected = value
    for link in links:
        expected = link.of(expected)
    values = np.array([value])
    one = compose(links)
    if one is not None:
        one.bind(values)()
    assert values[0] == pytest.approx(expected, rel=1e-9, abs=1e-3)


measures = st.builds(Measure, st.just("u"), st.just(METRE.exponents), st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))


@given(measures, measures, st.floats(-1e3, 1e3))
def test_there_and_back_is_where_one_was(one: Measure, other: Measure, value: float) -> None:
    there, back = convert(one, other), convert(other, one)
    assert there is not None
    assert back is not None
    assert back.of(there.of(value)) == pytest.approx(value, rel=1e-6, abs=1e-3)
