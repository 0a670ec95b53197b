"""Wiring: vectors join by name, and what cannot be joined is refused with both ends named."""

from __future__ import annotations

import networkx as nx
import pytest
from simloop.master import NameNotFoundError, ObjectComponent, SimloopError, System, WiringError

from tests.master.function_unit import FunctionUnit


def source(name: str = "a", size: int = 3, unit: str | None = "m", kind: str = "Real") -> ObjectComponent:
    names = [f"y[{i + 1}]" for i in range(size)]
    return ObjectComponent(name, FunctionUnit(outputs=names, unit=unit, types=dict.fromkeys(names, kind)))


def sink(name: str = "b", size: int = 3, unit: str | None = "m") -> ObjectComponent:
    return ObjectComponent(name, FunctionUnit(inputs=[f"u[{i + 1}]" for i in range(size)], unit=unit))


def test_a_vector_joins_by_name_in_the_order_of_its_elements() -> None:
    twelve = [f"y[{i}]" for i in (10, 2, 1, 11, 12, 3, 4, 5, 6, 7, 8, 9)]
    system = System([ObjectComponent("a", FunctionUnit(outputs=twelve)), sink(size=12, unit=None)])
    system.connect("a.y", "b.u")
    (connection,) = system.between("a", "b")
    assert connection.outputs == tuple(f"y[{i + 1}]" for i in range(12))
    assert connection.inputs == tuple(f"u[{i + 1}]" for i in range(12))
    assert list(nx.topological_sort(system.graph)) == ["a", "b"]


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (source(size=2), sink(size=3), r"a\.y.*b\.u.*2 elements.*3"),
        (source(unit="m"), sink(unit="rad"), r"a\.y\[1\].*b\.u\[1\].*units are m and rad"),
        (source(kind="Integer"), sink(), r"a\.y\[1\].*b\.u\[1\].*types are Integer and Real"),
    ],
    ids=["length", "unit", "type"],
)
def test_a_mismatch_names_both_ends(one: ObjectComponent, other: ObjectComponent, said: str) -> None:
    with pytest.raises(WiringError, match=said):
        System([one, other]).connect("a.y", "b.u")


def test_a_missing_unit_fits_any() -> None:
    system = System([source(unit=None), sink(unit="m")])
    system.connect("a.y", "b.u")
    assert len(system.connections()) == 1


def test_an_input_driven_twice_names_all_three_ends() -> None:
    system = System([source("a"), source("c"), sink("b")])
    system.connect("a.y", "b.u")
    with pytest.raises(WiringError, match=r"b\.u\[1\] is driven by a\.y\[1\].*c\.y\[1\]"):
        system.connect("c.y", "b.u")
    with pytest.raises(WiringError, match=r"b\.u\[2\] is driven by a\.y\[2\]"):
        system.set("b.u[2]", 1.0)


def test_an_input_that_nothing_drives_is_named_and_setting_it_is_enough() -> None:
    system = System([sink("b", size=1)])
    with pytest.raises(WiringError, match=r"b\.u\[1\]"):
        system.check()
    system.set("b.u", 0.0)
    system.check()
    assert system.values == {("b", "u[1]"): 0.0}


def test_a_refused_connection_leaves_its_inputs_free() -> None:
    mixed = FunctionUnit(inputs=["u[1]", "u[2]"], types={"u[2]": "Integer"})
    system = System([source(size=2, unit=None), ObjectComponent("b", mixed)])
    with pytest.raises(WiringError, match=r"b\.u\[2\].*types"):
        system.connect("a.y", "b.u")
    system.connect("a.y[1]", "b.u[1]")
    assert len(system.connections()) == 1


def test_the_wrong_way_round_is_refused() -> None:
    with pytest.raises(WiringError, match="input and output"):
        System([source(), sink()]).connect("b.u", "a.y")


def test_an_output_cannot_be_set_and_two_components_need_two_names() -> None:
    with pytest.raises(WiringError, match=r"a\.y\[1\]"):
        System([source()]).set("a.y", 1.0)
    with pytest.raises(WiringError, match="two components named 'a'"):
        System([source("a"), sink("a")])


def test_a_vector_can_be_set_from_a_sequence_of_its_length() -> None:
    system = System([sink("b", size=3)])
    system.set("b.u", [1.0, 2.0, 3.0])
    assert list(system.values.values()) == [1.0, 2.0, 3.0]
    with pytest.raises(WiringError, match="3 elements, but 2"):
        system.set("b.u", [1.0, 2.0])
    with pytest.raises(SimloopError, match="a finite number"):
        system.set("b.u", [1.0, 2.0, None])  # type: ignore[list-item]


@pytest.mark.parametrize("name", ["", "a.", ".a", "a..b"])
def test_a_component_needs_a_name_that_can_be_used(name: str) -> None:
    with pytest.raises(WiringError, match="cannot be named"):
        System([sink(name)])


def test_a_component_of_a_system_inside_a_system_has_a_name_with_dots() -> None:
    system = System([source("sub.a"), sink("sub.inner.b")])
    system.connect("sub.a.y", "sub.inner.b.u")
    assert [c.source for c in system.connections()] == ["sub.a"]
    with pytest.raises(WiringError, match=r"'sub\.inner' and 'sub\.inner\.b'.*one is inside the other"):
        system.add(sink("sub.inner"))


@pytest.mark.parametrize("name", ["a.yy", "aa.y", "a", "a.", ".y"])
def test_a_wrong_name_gets_the_nearest_right_ones(name: str) -> None:
    system = System([source("a", size=1)])
    with pytest.raises(NameNotFoundError) as caught:
        system.resolve(name)
    assert all(near.startswith("a") for near in caught.value.near)
    assert caught.value.near


def test_a_name_that_is_like_no_other_gets_all_of_them_or_some_of_too_many() -> None:
    def told(*known: str) -> str:
        return str(NameNotFoundError("fruit", "xyz", known)).removeprefix("there is no fruit 'xyz'; ")

    assert told() == "there is none"
    assert told("fig") == "there is only fig"
    assert told("pear", "fig", "plum") == "there are fig, pear and plum"
    many = [f"fig{i:02}" for i in range(31)]
    assert told(*many) == "there are 31, such as fig00, fig01, fig02, fig03, fig04, fig05, fig06, fig07"
    assert told("wxyz", *many) == "did you mean wxyz?"


@pytest.mark.parametrize("value", ["much", float("nan"), float("inf"), "1e999"])
def test_a_value_that_is_no_finite_number_is_refused_with_what_would_be(value: float | str) -> None:
    component = sink("b", size=1)
    with pytest.raises(SimloopError, match=r"b\.u\[1\].*a finite number"):
        component.set("u[1]", value)
