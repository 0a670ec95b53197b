"""Units of both versions of FMI: every type arrives as it was sent, arrays element by element, events and clocks."""

from __future__ import annotations

import math

import fmpy
import numpy as np
import pytest
from simloop.master import (
    Claimed,
    FmuComponent,
    SimloopError,
    Step,
    System,
    Transfer,
    UnitError,
    WiringError,
    run,
)

from tests.units.build import NativeUnits

H = 0.005


def opened(native: NativeUnits, name: str, *, start: bool = True) -> FmuComponent:
    component = FmuComponent(name, native[name], trust=Claimed())
    if start:
        component.initialize(0.0)
    return component


def test_a_spring_of_either_version_swings_as_the_cosine(native: NativeUnits) -> None:
    one, two = opened(native, "spring"), opened(native, "springs")
    for k in range(40):
        assert one.step(k * H, H) == two.step(k * H, H) == H
    assert one.get("x") == pytest.approx(0.1 * math.cos(10 * 0.2), abs=1e-13)
    assert [two.get("x[1]"), two.get("x[2]")] == pytest.approx([0.1 * math.cos(2), 0.2 * math.cos(2)], abs=1e-13)
    one.close()
    two.close()


@pytest.mark.parametrize(("name", "output"), [("spring", "x"), ("springs", "x")])
def test_another_host_gets_the_same_from_the_native_units(name: str, output: str, native: NativeUnits) -> None:
    table = fmpy.simulate_fmu(str(native[name]), stop_time=0.2, step_size=0.01, output_interval=0.01, output=[output])
    swing = np.asarray(table[output]).reshape(len(table), -1)
    np.testing.assert_allclose(swing[:, 0], 0.1 * np.cos(10 * table["time"]), atol=1e-13)


@pytest.mark.parametrize("name", ["spring", "springs", "springs_early"])
def test_rollback_equals_never_having_stepped(name: str, native: NativeUnits) -> None:
    straight, rolled = opened(native, name), opened(native, name)
    outputs = [v.name for v in straight.variables.values() if v.causality == "output"]
    inputs = [v.name for v in straight.variables.values() if v.causality == "input"]
    slot = None
    for k in range(20):
        slot = rolled.save(slot)
        rolled.writer(inputs, np.full(len(inputs), 40.0))()
        rolled.step(k * H, 3 * H)
        rolled.restore(slot)
        for component in (straight, rolled):
            component.writer(inputs, np.full(len(inputs), float(k)))()
            component.step(k * H, H)
        assert [rolled.get(o) for o in outputs] == [straight.get(o) for o in outputs]
    straight.close()
    rolled.close()


@pytest.mark.parametrize("name", ["spring", "springs"])
def test_a_written_state_goes_on_in_another_instance(name: str, native: NativeUnits) -> None:
    one, other = opened(native, name), opened(native, name)
    one.step(0.0, 0.3)
    other.restore(other.deserialize(one.serialize(one.save())))
    for component in (one, other):
        component.step(0.3, 0.1)
    element = "v" if name == "spring" else "v[2]"
    assert one.get(element) == other.get(element) != 0.0
    one.close()
    other.close()


def test_an_array_is_its_elements_row_by_row(native: NativeUnits) -> None:
    component = opened(native, "springs", start=False)
    names = [name for name in component.variables if name.startswith("turn[")]
    assert names == [f"turn[{i}]" for i in range(1, 7)]
    assert [component.variables[name].start for name in names] == [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    # Row 2, column 3: turned[2] = 0 x1 + 1 x2 + 7. The elements that are not given keep their values.
    component.set("turn[6]", 7.0)
    component.initialize(0.0)
    assert [component.get(name) for name in names] == [1.0, 0.0, 0.0, 0.0, 1.0, 7.0]
    assert [component.get("turned[1]"), component.get("turned[2]")] == pytest.approx([0.1, 7.2], abs=1e-15)
    component.close()


def test_elements_are_read_and_written_in_any_order_and_mixed_with_others(native: NativeUnits) -> None:
    component = opened(native, "springs")
    component.writer(["F[2]", "k", "F[1]"], np.array([2.0, 50.0, 1.0]))()
    values = np.zeros(5)
    component.reader(["F[1]", "x[2]", "k", "F[2]", "x[1]"], values)()
    assert values.tolist() == [1.0, 0.2, 50.0, 2.0, 0.1]
    component.writer(["F[2]"], np.array([9.0]))()
    assert [component.get("F[1]"), component.get("F[2]")] == [1.0, 9.0]
    component.close()


def test_a_structural_parameter_keeps_its_start(native: NativeUnits) -> None:
    component = opened(native, "springs", start=False)
    assert component.get("n") == component.variables["n"].start == 2
    with pytest.raises(SimloopError, match=r"springs\.n sizes arrays"):
        component.set("n", 3)
    component.close()


EXTREMES = {
    "float32": (0.5, -(2.0**100)),
    "float64": (1e-300, math.pi),
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**53 + 1, 2**63 - 1),
    "uint64": (2**53 + 1, 2**64 - 1),
    "boolean": (True, False),
    "choice": (1, 4),
    "text": ("", "grüße, 世界"),
    "blob": (b"", bytes(range(64))),
    "texts[1]": ("one", ""),
    "texts[2]": ("two", "zwei"),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_every_type_of_fmi_3_comes_back_exactly(name: str, native: NativeUnits) -> None:
    component = opened(native, "types3")
    out = name.replace("[", "_out[") if "[" in name else f"{name}_out"
    for value in EXTREMES[name]:
        component.set(name, value)
        component.step(0.0, H)
        assert component.get(out) == value
        assert type(component.get(out)) is type(value)
    component.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [("real", -1.5), ("whole", -(2**31)), ("choice", 4), ("truth", True), ("text", "grüße")],
)
def test_every_type_of_fmi_2_comes_back_exactly(name: str, value: float | str, native: NativeUnits) -> None:
    component = opened(native, "types2")
    component.set(name, value)
    component.step(0.0, H)
    assert component.get(f"{name}_out") == value
    component.close()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("int8", 128, "from -128 to 127"),
        ("uint64", -1, "from 0 to 18446744073709551615"),
        ("int32", 0.5, "whole number"),
        ("float64", "much", "a finite number"),
        ("boolean", 2, "true or false"),
        ("choice", "swift", r"one of slow \(1\), fast \(4\)"),
        ("choice", 2, r"one of slow \(1\), fast \(4\)"),
        ("blob", "zz", "hexadecimal"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_what_would(
    name: str, value: float | str, said: str, native: NativeUnits
) -> None:
    component = opened(native, "types3")
    with pytest.raises(SimloopError, match=rf"types3\.{name} cannot be .*{said}"):
        component.set(name, value)
    component.close()


def test_text_means_what_it_says_for_every_type(native: NativeUnits) -> None:
    component = opened(native, "types3")
    said = {"int64": "9007199254740993", "choice": "fast", "boolean": "true", "blob": "00ff", "float64": "1e-3"}
    for name, text in said.items():
        component.set(name, text)
    assert [component.get(name) for name in said] == [9007199254740993, 4, True, b"\x00\xff", 1e-3]
    assert component.variables["blob"].start == b"\x00\xff"
    assert [component.variables[f"texts[{i}]"].start for i in (1, 2)] == ["a b", "c"]
    component.close()


def test_a_whole_number_that_is_no_double_is_never_silently_another(native: NativeUnits) -> None:
    component = opened(native, "types3")
    read = component.reader(["int64"], np.zeros(1))
    component.set("int64", 2**53)
    read()
    for value in (2**53 + 1, -(2**53) - 1):
        component.set("int64", value)
        with pytest.raises(UnitError, match=rf"int64 is {value}; Int64 travels .* up to 2\^53"):
            read()
    for name, number in (("int64", 2.0**60), ("int8", 300.0), ("uint16", -1.0), ("int32", 0.5), ("boolean", 2.0)):
        with pytest.raises(UnitError, match=name):
            component.writer([name], np.array([number]))()
    component.close()


def test_a_system_of_both_versions_carries_numbers_arrays_text_and_bytes(native: NativeUnits) -> None:
    system = System(
        FmuComponent(name, native[unit], trust=Claimed())
        for name, unit in (("a", "types3"), ("b", "types2"), ("c", "types3"), ("s", "springs"), ("d", "springs"))
    )
    for source, target in (
        ("a.float32_out", "b.real"),
        ("a.int64_out", "b.whole"),
        ("a.choice_out", "b.choice"),
        ("a.text_out", "b.text"),
        ("b.text_out", "c.text"),
        ("a.blob_out", "c.blob"),
        ("s.x", "d.F"),
    ):
        system.connect(source, target)
    for name in ("a.float64", "c.float64", "c.float32", "s.F"):
        system.set(name, 0.0)
    for name, value in (("float32", 0.25), ("int64", -7), ("choice", "fast"), ("text", "grüße"), ("blob", b"\0\1")):
        system.set(f"a.{name}", value)
    steps = [Step(name) for name in system.components]
    schedule = (*steps, *(Transfer(connection) for connection in system.connections()))
    result = run(system, schedule, step=H, duration=3 * H)
    assert result["b.real_out"][-1] == 0.25
    assert (result["b.whole_out"].tolist()[-1], result["b.choice_out"].tolist()[-1]) == (-7, 4)
    assert system.components["c"].get("text_out") == "grüße"
    assert system.components["c"].get("blob_out") == b"\0\1"
    assert system.components["d"].get("F[2]") == result["s.x[2]"][-1]
    assert result["a.int64_out"].dtype == np.int64
    with pytest.raises(WiringError, match=r"types are String and Float64"):
        system.connect("b.text_out", "c.float64")
    system.close()


def test_a_number_too_large_for_its_target_is_an_error_and_not_another_number(native: NativeUnits) -> None:
    system = System(FmuComponent(name, native["types3"], trust=Claimed()) for name in ("a", "b"))
    system.connect("a.int64_out", "b.int8")
    for name in ("a.float64", "b.float64", "a.float32", "b.float32"):
        system.set(name, 0.0)
    system.set("a.int64", 200)
    schedule = (Step("a"), *(Transfer(c) for c in system.connections()), Step("b"))
    with pytest.raises(UnitError, match=r"b failed in a transfer.*int8 is 200"):
        run(system, schedule, step=H, duration=H)
    system.close()


def test_a_step_that_returns_early_says_how_far_it_came(native: NativeUnits) -> None:
    component = opened(native, "springs_early")
    assert component.step(0.0, 0.02) == 0.02
    assert component.step(0.02, 0.02) == pytest.approx(0.01, abs=1e-15)
    assert component.get("x[1]") == pytest.approx(0.1 * math.cos(0.3), abs=1e-14)
    component.close()


def test_the_host_ticks_a_periodic_clock_at_its_instants_and_an_event_is_dealt_with_where_it_is(
    native: NativeUnits,
) -> None:
    """Ticks at 0, 0.1, 0.2, …; the level passes 0.25 at 0.25 s, in two updates."""
    component = opened(native, "events")
    assert component.get("periods") == 1
    assert component.step(0.0, 0.22) == 0.22
    assert (component.get("periods"), component.get("level"), component.get("emptied")) == (3, 0.22, False)
    assert component.step(0.22, 0.1) == pytest.approx(0.03, abs=1e-15)
    assert (component.get("level"), component.get("updates"), component.get("emptied")) == (0.0, 2, True)
    assert component.step(0.25, 0.05) == pytest.approx(0.05, abs=1e-15)
    assert (component.get("periods"), component.get("emptied")) == (4, False)
    component.close()


def test_ticks_do_not_depend_on_how_time_is_cut(native: NativeUnits) -> None:
    counts = []
    for n in (7, 10, 20, 21):
        component = opened(native, "events")
        for k in range(n):
            component.step(k * 0.2 / n, 0.2 / n)
        counts.append(component.get("periods"))
        component.close()
    assert counts == [3, 3, 3, 3]


def test_a_discrete_input_and_a_clock_are_set_in_event_mode(native: NativeUnits) -> None:
    component = opened(native, "events")
    component.step(0.0, 0.05)
    component.set("offset", 2.0)
    assert component.get("shown") == 2.05
    component.set("kick", True)
    component.set("kick", False)
    assert component.get("kicks") == 1
    slot = component.save()
    component.set("kick", True)
    component.step(0.05, 0.2)
    assert (component.get("kicks"), component.get("emptied")) == (2, True)
    component.restore(slot)
    assert (component.get("kicks"), component.get("emptied"), component.get("shown")) == (1, False, 2.05)
    component.close()
