"""The family of examples that fmpy's own tests read, rebuilt with units that run here: each is valid and loads."""

from __future__ import annotations

from pathlib import Path

import pytest
from fmpy.ssp.simulation import simulate_ssp
from fmpy.ssp.ssd import read_ssd
from simloop.master.ssp import load_ssp

from tests.master.ssp_packages import NAMESPACES, bound, connector, pack, run_jacobi, ssd, unit, values, wire

UNITS = (
    '<ssd:Units><ssc:Unit name="km/h"><ssc:BaseUnit m="1" s="-1" factor="0.2777777777777778"/></ssc:Unit>'
    '<ssc:Unit name="m/s"><ssc:BaseUnit m="1" s="-1"/></ssc:Unit></ssd:Units>'
)
GAINS = {"FirstFMUInstance1.k": 8.0, "FirstFMUInstance2.k": 3.0}
OUTSIDE = connector("In1", "input") + connector("Out1", "output")
DICTIONARY = (
    f'<ssb:SignalDictionary {NAMESPACES} version="1.0">'
    + "".join(
        f'<ssb:DictionaryEntry name="{name}"><ssc:Real unit="km/h"/></ssb:DictionaryEntry>' for name in ("Var2", "Var4")
    )
    + UNITS.replace("ssd:Units", "ssb:Units")
    + "</ssb:SignalDictionary>"
)
REFERENCE = (
    '<ssd:SignalDictionaryReference name="MyRef" dictionary="MyDictionary"><ssd:Connectors>'
    f"{connector('Var2', 'inout', 'km/h')}{connector('Var4', 'inout', 'km/h')}</ssd:Connectors>"
    "</ssd:SignalDictionaryReference>"
)


def inside(through: str = "") -> str:
    """The subsystem: two gains one after another, with what stands between them."""
    between = wire("FirstFMUInstance1.y", "FirstFMUInstance2.u")
    if through:
        between = wire("FirstFMUInstance1.y", "MyRef.Var2") + wire("MyRef.Var2", "FirstFMUInstance2.u")
    return (
        f"<ssd:Connectors>{OUTSIDE}</ssd:Connectors>"
        f"<ssd:Elements>{unit('FirstFMUInstance1', 'gain')}{unit('FirstFMUInstance2', 'gain')}{through}</ssd:Elements>"
        f"<ssd:Connections>{wire('In1', 'FirstFMUInstance1.u')}{between}{wire('FirstFMUInstance2.y', 'Out1')}"
        "</ssd:Connections>"
    )


def whole(sub: str, bindings: str, more: str = "", connectors: str = OUTSIDE, wires: str = "") -> str:
    return (
        f"<ssd:Connectors>{connectors}</ssd:Connectors>{bindings}<ssd:Elements>{sub}</ssd:Elements>"
        f"<ssd:Connections>{wire('In1', 'SubSystem.In1')}{wire('SubSystem.Out1', 'Out1')}{wires}</ssd:Connections>"
        f"{more}"
    )


def sub(contents: str, attributes: str = "") -> str:
    return f'<ssd:System name="SubSystem" {attributes}>{contents}</ssd:System>'


FROM_FILE = bound(attributes='source="resources/SampleParameters.ssv" prefix="SubSystem."')
INLINE = bound(f"<ssd:ParameterValues>{values(GAINS)}</ssd:ParameterValues>", 'prefix="SubSystem."')
FILES: dict[str, str | bytes] = {
    "resources/SampleParameters.ssv": values(GAINS),
    "resources/SampleSignalDictionary.sss": DICTIONARY,
    "resources/SubSystem.ssd": ssd(inside()).replace("resources/", ""),
    "VarB.ssd": ssd(whole(sub(inside()), INLINE)),
}


def dictionary(content: str, attributes: str = "") -> str:
    return (
        f'<ssd:SignalDictionaries><ssd:SignalDictionary name="MyDictionary" {attributes}>{content}'
        "</ssd:SignalDictionary></ssd:SignalDictionaries>"
    )


def component(kind: str, source: str) -> str:
    return f'<ssd:Component name="SubSystem" type="application/x-ssp-{kind}" source="{source}"/>'


WITH_PARAMETERS = sub(
    inside()
    .replace(OUTSIDE, OUTSIDE + connector("gain", "parameter"))
    .replace(
        wire("In1", "FirstFMUInstance1.u"), wire("In1", "FirstFMUInstance1.u") + wire("gain", "FirstFMUInstance2.k")
    )
    .replace(
        unit("FirstFMUInstance2", "gain"),
        unit(
            "FirstFMUInstance2",
            "gain",
            connectors=(connector("u", "input") + connector("y", "output") + connector("k", "parameter")),
        ),
    )
)
EXAMPLES = {
    "SampleSystem": f"<ssd:Elements>{unit('FirstFMUInstance1', 'gain')}{unit('FirstFMUInstance2', 'gain')}"
    "</ssd:Elements>"
    f"<ssd:Connections>{wire('FirstFMUInstance1.y', 'FirstFMUInstance2.u')}</ssd:Connections>",
    "SampleSystemSubSystem": whole(sub(inside()), FROM_FILE),
    "SampleSystemSubSystemDictionary": whole(
        sub(inside(REFERENCE)), FROM_FILE, dictionary("", 'source="resources/SampleSignalDictionary.sss"')
    ),
    "SampleSystemSubSystemDictionaryInline": whole(sub(inside(REFERENCE)), INLINE, dictionary(DICTIONARY)),
    "SampleSystemSubSystemParamConnectors": whole(
        WITH_PARAMETERS,
        bound(f"<ssd:ParameterValues>{values({'SubSystem.FirstFMUInstance1.k': 8.0, 'P': 3.0})}</ssd:ParameterValues>"),
        connectors=OUTSIDE + connector("P", "parameter"),
        wires=wire("P", "SubSystem.gain"),
    ),
    "SampleSystemSubSystemReuse": whole(component("definition", "resources/SubSystem.ssd"), INLINE),
    "SampleSystemSubSystemReuseNested": whole(component("package", "resources/SubSystem.ssp"), INLINE),
    "SampleSystemVariants": whole(sub(inside()), FROM_FILE),
}


def example(folder: Path, name: str) -> Path:
    (folder / "inner").mkdir()
    inner = pack(folder / "inner" / "SubSystem.ssp", ssd(inside()))
    files = {**FILES, "resources/SubSystem.ssp": inner.read_bytes()}
    return pack(folder / f"{name}.ssp", ssd(EXAMPLES[name], UNITS, name), files)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_valid_and_loads(tmp_path: Path, name: str) -> None:
    """fmpy validates it against the schemas of the standard; here it gives what its gains say: 2 · 8 · 3."""
    path = example(tmp_path, name)
    assert read_ssd(str(path), validate=True).name == name
    loaded = load_ssp(path)
    assert loaded.name == name
    assert loaded.notes == ()
    if loaded.inputs:
        ((target, _),) = loaded.inputs["In1"]
        loaded.system.set(target, 2.0)
        result = run_jacobi(loaded.system, steps=4)
        assert result["SubSystem.FirstFMUInstance2.y"][-1] == 48.0


def test_a_variant_can_be_chosen(tmp_path: Path) -> None:
    assert load_ssp(example(tmp_path, "SampleSystemVariants"), "VarB.ssd").name == "by hand"


def test_the_sample_system_gives_what_fmpy_gives(tmp_path: Path) -> None:
    """fmpy does not apply the values of a package by itself, so the gains are 1 on both sides."""
    path = pack(tmp_path / "x.ssp", ssd(whole(sub(inside()), ""), UNITS))
    theirs = simulate_ssp(str(path), stop_time=0.1, step_size=0.01, input={"In1": lambda t: 3.25})
    loaded = load_ssp(path)
    loaded.system.set("SubSystem.FirstFMUInstance1.u", 3.25)
    ours = run_jacobi(loaded.system, steps=10)
    assert theirs["SubSystem.FirstFMUInstance2.y"][-1] == 3.25
    assert abs(ours["SubSystem.FirstFMUInstance2.y"][-1] - 3.25) < 1e-9
