"""Packages by hand: what the standard says of systems in systems, parameters, units and dictionaries holds here."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from fmpy.ssp.ssd import read_ssd
from simloop.master import SimloopError
from simloop.master.ssp import LoadedSystem, SspError, load_ssp

from tests.master.ssp_packages import (
    NAMESPACES,
    bound,
    connector,
    inline,
    pack,
    run_jacobi,
    ssd,
    unit,
    values,
    wire,
)

UNITS = (
    '<ssd:Units><ssc:Unit name="m"><ssc:BaseUnit m="1"/></ssc:Unit>'
    '<ssc:Unit name="mm"><ssc:BaseUnit m="1" factor="0.001"/></ssc:Unit>'
    '<ssc:Unit name="N"><ssc:BaseUnit kg="1" m="1" s="-2"/></ssc:Unit></ssd:Units>'
)
CHAIN = unit("source", "sine") + unit("store", "integrator")
H = 0.01


def system(elements: str, wires: str = "", connectors: str = "", bindings: str = "", more: str = "") -> str:
    """The contents of a System."""
    return (
        (f"<ssd:Connectors>{connectors}</ssd:Connectors>" if connectors else "")
        + bindings
        + f"<ssd:Elements>{elements}</ssd:Elements>"
        + (f"<ssd:Connections>{wires}</ssd:Connections>" if wires else "")
        + more
    )


def load(folder: Path, contents: str, rest: str = "", files: dict[str, str | bytes] | None = None) -> LoadedSystem:
    """Load a package that is valid by the schemas of the standard, against which fmpy checks."""
    path = pack(folder / "hand.ssp", ssd(contents, rest), files)
    read_ssd(str(path), validate=True)
    return load_ssp(path)


def sum_of_sines(steps: int, factor: float = 1.0) -> float:
    """What the integrator of a sine has after some steps, each taking the sine that the step before ended with."""
    return sum(H * factor * math.sin(i * H) for i in range(steps))


def test_two_units_run_as_their_equations_say(tmp_path: Path) -> None:
    loaded = load(tmp_path, system(CHAIN, wire("source.y", "store.u")), '<ssd:DefaultExperiment stopTime="2.5"/>')
    assert (loaded.name, loaded.stop, loaded.notes) == ("by hand", 2.5, ())
    result = run_jacobi(loaded.system)
    assert result["store.y"][-1] == pytest.approx(sum_of_sines(50), rel=1e-12)


def test_the_order_of_a_connections_ends_does_not_matter(tmp_path: Path) -> None:
    """The standard: start and end do not tell which way values go, the kinds do."""
    loaded = load(tmp_path, system(CHAIN, wire("store.u", "source.y")))
    assert run_jacobi(loaded.system)["store.y"][-1] == pytest.approx(sum_of_sines(50), rel=1e-12)


SUB = (
    '<ssd:System name="sub">'
    + system(
        unit("inner", "gain") + unit("store", "integrator"),
        wire("in", "inner.u") + wire("inner.y", "store.u") + wire("store.y", "out"),
        connector("in", "input") + connector("out", "output") + connector("k", "parameter"),
    )
    + "</ssd:System>"
)


def test_a_system_in_a_system_is_flat_here_with_names_with_dots(tmp_path: Path) -> None:
    contents = system(
        unit("source", "sine") + SUB + unit("last", "gain"),
        wire("source.y", "sub.in") + wire("sub.out", "last.u") + wire("last.y", "out"),
        connector("out", "output"),
        inline({"sub.inner.k": 3.0}),
    )
    loaded = load(tmp_path, contents)
    assert list(loaded.system.components) == ["source", "sub.inner", "sub.store", "last"]
    result = run_jacobi(loaded.system)
    # The gain is one more step between the sine and the integrator.
    assert result["sub.store.y"][-1] == pytest.approx(sum_of_sines(49, 3.0), rel=1e-12)


def test_an_outer_binding_wins_over_an_inner_one_and_a_later_over_an_earlier(tmp_path: Path) -> None:
    inner = unit("a", "gain", inline({"k": 2.0})) + unit("b", "gain", inline({"k": 2.0})) + unit("c", "gain")
    outer = bound(f"<ssd:ParameterValues>{values({'b.k': 3.0, 'c.k': 4.0})}</ssd:ParameterValues>").replace(
        "</ssd:ParameterBindings>",
        f"<ssd:ParameterBinding prefix='c.'><ssd:ParameterValues>{values({'k': 5.0})}</ssd:ParameterValues>"
        "</ssd:ParameterBinding></ssd:ParameterBindings>",
    )
    loaded = load(tmp_path, system(inner, bindings=outer))
    given = {component: value for (component, name), value in loaded.system.values.items() if name == "k"}
    assert given == {"a": 2.0, "b": 3.0, "c": 5.0}


def test_parameters_come_from_files_through_a_mapping_with_units_and_a_transformation(tmp_path: Path) -> None:
    """Converted first, then factor and offset: 2 mm to an input in m, times 10, plus 1."""
    mapping = (
        f'<ssm:ParameterMapping {NAMESPACES} version="1.0">'
        '<ssm:MappingEntry source="width" target="g.u"><ssc:LinearTransformation factor="10" offset="1"/>'
        "</ssm:MappingEntry>"
        '<ssm:MappingEntry source="width" target="g.k" suppressUnitConversion="true"/>'
        '<ssm:MappingEntry source="height" target="g.k"/></ssm:ParameterMapping>'
    )
    files = {
        "resources/p.ssv": values({"width": 2.0, "depth": 9.0}, "mm", UNITS.replace("ssd:Units", "ssv:Units")),
        "resources/p.ssm": mapping,
    }
    bindings = bound('<ssd:ParameterMapping source="resources/p.ssm"/>', 'source="resources/p.ssv"')
    contents = system(unit("g", "gain", connectors=connector("u", "input", "m")), bindings=bindings)
    loaded = load(tmp_path, contents, UNITS, dict(files))
    assert loaded.system.values["g", "u"] == pytest.approx(1.02)
    assert loaded.system.values["g", "k"] == 2.0
    told = " ".join(loaded.notes)
    assert "'height'" in told
    assert "'depth'" in told


def test_a_connection_converts_units_and_then_transforms_unless_told_not_to(tmp_path: Path) -> None:
    source = unit("a", "gain", inline({"y": 3.0}), connector("y", "output", "m"))
    linear = '<ssc:LinearTransformation factor="2" offset="1"/>'
    sinks = "".join(unit(name, "gain", connectors=connector("u", "input", "mm")) for name in "bcd")
    wires = (
        wire("a.y", "b.u") + wire("a.y", "c.u", linear) + wire("a.y", "d.u", linear, 'suppressUnitConversion="true"')
    )
    result = run_jacobi(load(tmp_path, system(source + sinks, wires), UNITS).system, steps=1)
    assert [result[f"{name}.y"][-1] for name in "bcd"] == pytest.approx([3000.0, 6001.0, 7.0])


def test_units_of_systems_between_are_converted_at_each(tmp_path: Path) -> None:
    """m to mm at the subsystem's connector, then doubled, then back to m."""
    inside = system(
        unit("b", "gain", connectors=connector("u", "input", "m")),
        wire("in", "b.u", '<ssc:LinearTransformation factor="2" offset="500"/>'),
        connector("in", "input", "mm"),
    )
    contents = system(
        unit("a", "gain", inline({"y": 3.0}), connector("y", "output", "m"))
        + f'<ssd:System name="sub">{inside}</ssd:System>',
        wire("a.y", "sub.in"),
    )
    result = run_jacobi(load(tmp_path, contents, UNITS).system, steps=1)
    assert result["sub.b.y"][-1] == pytest.approx(2 * 3.0 + 500.0)


def test_boolean_and_integer_mappings_are_applied(tmp_path: Path) -> None:
    def both(name: str) -> str:
        return unit(
            name,
            "gain",
            connectors=connector("on", "input", kind_of_value="Boolean")
            + connector("was_on", "output", kind_of_value="Boolean")
            + connector("n", "input", kind_of_value="Integer")
            + connector("was_n", "output", kind_of_value="Integer"),
        )

    upside_down = (
        '<ssc:BooleanMappingTransformation><ssc:MapEntry source="false" target="true"/>'
        '<ssc:MapEntry source="true" target="false"/></ssc:BooleanMappingTransformation>'
    )
    table = '<ssc:IntegerMappingTransformation><ssc:MapEntry source="0" target="7"/></ssc:IntegerMappingTransformation>'
    contents = system(both("a") + both("b"), wire("a.was_on", "b.on", upside_down) + wire("a.was_n", "b.n", table))
    result = run_jacobi(load(tmp_path, contents).system, steps=2)
    assert result["b.was_on"][-1]
    assert result["b.was_n"][-1] == 7


DICTIONARY = (
    f'<ssb:SignalDictionary {NAMESPACES} version="1.0">'
    '<ssb:DictionaryEntry name="speed"><ssc:Real/></ssb:DictionaryEntry></ssb:SignalDictionary>'
)


@pytest.mark.parametrize("by_file", [True, False], ids=["file", "inline"])
def test_a_signal_dictionary_carries_a_value_between_systems(tmp_path: Path, by_file: bool) -> None:
    def reference(kind: str) -> str:
        return (
            '<ssd:SignalDictionaryReference name="bus" dictionary="Bus"><ssd:Connectors>'
            f"{connector('speed', kind)}</ssd:Connectors></ssd:SignalDictionaryReference>"
        )

    one = system(unit("source", "sine") + reference("inout"), wire("source.y", "bus.speed"))
    two = system(unit("store", "integrator") + reference("output"), wire("bus.speed", "store.u"))
    held = '<ssd:SignalDictionary name="Bus" source="resources/bus.ssb"/>'
    if not by_file:
        held = f'<ssd:SignalDictionary name="Bus">{DICTIONARY}</ssd:SignalDictionary>'
    contents = system(
        f'<ssd:System name="one">{one}</ssd:System><ssd:System name="two">{two}</ssd:System>',
        more=f"<ssd:SignalDictionaries>{held}</ssd:SignalDictionaries>",
    )
    loaded = load(tmp_path, contents, files={"resources/bus.ssb": DICTIONARY})
    assert run_jacobi(loaded.system)["two.store.y"][-1] == pytest.approx(sum_of_sines(50), rel=1e-12)


def test_inputs_and_parameters_of_the_whole_system_reach_its_units(tmp_path: Path) -> None:
    inside = system(
        unit("g", "gain", connectors=connector("u", "input") + connector("k", "parameter")),
        wire("in", "g.u", '<ssc:LinearTransformation factor="2" offset="0"/>') + wire("gain", "g.k"),
        connector("in", "input") + connector("gain", "parameter"),
    )
    contents = system(
        f'<ssd:System name="sub">{inside}</ssd:System>' + unit("other", "gain"),
        wire("In1", "sub.in") + wire("In1", "other.u"),
        connector("In1", "input"),
        inline({"sub.gain": 5.0, "In1": 3.0}),
    )
    loaded = load(tmp_path, contents)
    assert {name for name, _ in loaded.inputs["In1"]} == {"sub.g.u", "other.u"}
    assert loaded.system.values == {("sub.g", "k"): 5.0, ("sub.g", "u"): 6.0, ("other", "u"): 3.0}
    assert run_jacobi(loaded.system, steps=1)["sub.g.y"][-1] == 30.0


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("application/x-ssp-definition", "#twice"),
        ("application/x-ssp-definition", "sub.ssd"),
        ("application/x-ssp-package", "resources/sub.ssp"),
        ("application/x-ssp-package", "resources/sub.ssp#Other.ssd"),
    ],
)
def test_a_component_can_stand_for_a_system(tmp_path: Path, kind: str, source: str) -> None:
    gains = system(
        unit("g", "gain", inline({"k": 2.0})),
        wire("in", "g.u") + wire("g.y", "out"),
        connector("in", "input") + connector("out", "output"),
    )
    (tmp_path / "inner").mkdir()
    inner = pack(tmp_path / "inner" / "sub.ssp", ssd(gains), {"Other.ssd": ssd(gains)})
    again = f'<ssd:Component name="again" type="{kind}" source="{source}">{inline({"g.k": 7.0})}</ssd:Component>'
    contents = system(
        unit("source", "sine") + f'<ssd:System name="first" id="twice">{gains}</ssd:System>{again}',
        wire("source.y", "first.in") + wire("first.out", "again.in"),
    )
    loaded = load(tmp_path, contents, files={"sub.ssd": ssd(gains), "resources/sub.ssp": inner.read_bytes()})
    result = run_jacobi(loaded.system)
    assert result["again.g.y"][3] == pytest.approx(7.0 * 2.0 * math.sin(H), rel=1e-12)


def test_another_description_of_the_package_can_be_chosen(tmp_path: Path) -> None:
    path = pack(tmp_path / "variants.ssp", ssd(system(CHAIN)), {"B.ssd": ssd(system(unit("only", "gain")), name="B")})
    assert load_ssp(path, "B.ssd").name == "B"
    with pytest.raises(SspError, match=r"variants\.ssp.*no file 'C\.ssd'"):
        load_ssp(path, "C.ssd")


def test_a_first_value_of_an_output_is_a_start_value(tmp_path: Path) -> None:
    loaded = load(tmp_path, system(unit("s", "integrator", inline({"y": 4.0}))))
    assert np.all(run_jacobi(loaded.system)["s.y"] == 4.0)


def both_types(one: str, other: str) -> str:
    """A Boolean and a real connector joined."""
    return system(
        unit("a", "gain", connectors=connector("was_on", "output", kind_of_value=one))
        + unit("b", "gain", connectors=connector("u", "input", kind_of_value=other)),
        wire("a.was_on", "b.u"),
    )


THROUGH = (
    '<ssd:System name="s">'
    + system(unit("b", "gain"), wire("in", "out"), connector("in", "input") + connector("out", "output"))
    + "</ssd:System>"
)
NAMED = {
    "an enumeration mapping": (
        system(CHAIN, wire("source.y", "store.u", "<ssc:EnumerationMappingTransformation/>")),
        "EnumerationMappingTransformation is not supported",
    ),
    "two drivers": (
        system(CHAIN + unit("c", "sine"), wire("source.y", "store.u") + wire("c.y", "store.u")),
        r"store\.u is driven by source\.y and by c\.y",
    ),
    "two outputs": (system(CHAIN, wire("source.y", "store.y")), r"source\.y and store\.y.*both give"),
    "no such connector": (system(CHAIN, wire("source.z", "store.u")), r"'root' connects 'source\.z'"),
    "no such element": (system(CHAIN, wire("nobody.y", "store.u")), r"'root' connects 'nobody\.y'"),
    "no such variable": (
        system(unit("a", "gain", connectors=connector("z", "output"))),
        r"no variable 'a\.z'",
    ),
    "the wrong kind": (
        system(unit("a", "gain", connectors=connector("u", "output"))),
        r"a\.u is of the kind output, but in the FMU it is of input",
    ),
    "the wrong type": (
        system(unit("a", "gain", connectors=connector("u", "input", kind_of_value="Integer"))),
        r"a\.u is Integer, but the FMU has Real",
    ),
    "two types": (both_types("Boolean", "Real"), r"types are Boolean and Real"),
    "two dimensions": (
        system(
            unit("a", "gain", connectors=connector("y", "output", "m"))
            + unit("b", "gain", connectors=connector("u", "input", "N")),
            wire("a.y", "b.u"),
        ),
        r"a\.y cannot drive b\.u: their units are m \(m\) and N \(kg m s\^-2\)",
    ),
    "model exchange": (
        system(unit("a", "gain").replace("<ssd:Component", '<ssd:Component implementation="ModelExchange"')),
        "'a' is to be used by model exchange; co-simulation is supported",
    ),
    "another sort of component": (
        system('<ssd:Component name="a" type="text/x-modelica" source="a.mo"/>'),
        "'a' is of the type 'text/x-modelica'",
    ),
    "a missing unit": (system('<ssd:Component name="a" source="resources/none.fmu"/>'), r"no file 'resources/none"),
    "a unit outside": (system('<ssd:Component name="a" source="../a.fmu"/>'), "not a file inside the package"),
    "a unit elsewhere": (system('<ssd:Component name="a" source="http://a/b.fmu"/>'), "not a file inside"),
    "parameters inside a component": (
        system(unit("a", "gain", bound(attributes='source="p.ssv" sourceBase="component"'))),
        "source inside a component, which is not supported",
    ),
    "an enumeration": (
        system(unit("a", "gain", inline({"k": 1.0}).replace("ssv:Real", "ssv:Enumeration"))),
        "'k' is of the type Enumeration, which is not supported",
    ),
    "a value in the wrong unit": (
        system(
            unit(
                "a",
                "gain",
                bound(f"<ssd:ParameterValues>{values({'u': 1.0}, 'N')}</ssd:ParameterValues>"),
                connector("u", "input", "m"),
            )
        ),
        r"a\.u is given in N \(kg m s\^-2\), but it is in m \(m\)",
    ),
    "no number": (system(unit("a", "gain", inline({"k": math.nan}))), "'nan'; it must be a finite number"),
    "two of one name": (system(unit("a", "gain") + unit("a", "gain")), "two elements named 'a'"),
    "a system that is itself": (
        '<ssd:Elements><ssd:Component name="a" type="application/x-ssp-definition" source="SystemStructure.ssd"/>'
        "</ssd:Elements>",
        "it may contain itself",
    ),
    "a ring without a unit": (
        system(unit("a", "gain") + THROUGH, wire("s.out", "s.in") + wire("s.out", "a.u")),
        "back to itself",
    ),
    "no dictionary": (
        system(
            '<ssd:SignalDictionaryReference name="bus" dictionary="Bus"><ssd:Connectors>'
            f"{connector('speed', 'inout')}</ssd:Connectors></ssd:SignalDictionaryReference>" + CHAIN,
            wire("source.y", "bus.speed"),
        ),
        "dictionary 'Bus', which there is not",
    ),
}


@pytest.mark.parametrize(("contents", "said"), NAMED.values(), ids=NAMED)
def test_what_cannot_be_is_named(tmp_path: Path, contents: str, said: str) -> None:
    with pytest.raises(SimloopError, match=said):
        load_ssp(pack(tmp_path / "hand.ssp", ssd(contents, UNITS)))


def test_a_parameter_calculated_by_another_unit_is_named(tmp_path: Path) -> None:
    contents = system(
        unit("a", "gain", connectors=connector("y", "calculatedParameter"))
        + unit("b", "gain", connectors=connector("k", "parameter")),
        wire("a.y", "b.k"),
    )
    with pytest.raises(SspError, match=r"a\.y is of the kind calculatedParameter"):
        load(tmp_path, contents)


def test_what_is_set_but_not_there_is_told(tmp_path: Path) -> None:
    loaded = load(tmp_path, system(unit("a", "gain", inline({"nothing": 1.0}))))
    assert any("'a.nothing'" in note for note in loaded.notes)
