"""Compile the native units of this folder into .fmu files, good ones and ones with a fault each."""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import fmpy

HERE = Path(__file__).parent
HEADERS = Path(fmpy.__file__).parent / "c-code"


def _tag(tag: str, **attributes: object) -> str:
    return f"<{tag} {' '.join(f'{name}={quoteattr(str(value))}' for name, value in attributes.items())}"


def describe2(
    variables: Iterable[tuple[str, int, str, str, object]],
    *,
    guid: str = "spring",
    identifier: str = "unit",
    state: str = "true",
    types: str = "",
    abilities: str = "",
    follows: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """A model description of FMI 2.0; a variable is name, reference, type, causality, start. `follows` says which
    inputs each output follows at once; without it nothing is said."""
    variables = list(variables)
    places = {name: index for index, (name, *_) in enumerate(variables, 1)}
    rows, outputs = [], []
    for index, (name, reference, kind, causality, start) in enumerate(variables, 1):
        variability = "fixed" if causality == "parameter" else "continuous" if kind == "Real" else "discrete"
        attributes = {} if start is None else {"start": start}
        if kind == "Enumeration":
            attributes["declaredType"] = "Mode"
        head = _tag("ScalarVariable", name=name, valueReference=reference, causality=causality, variability=variability)
        rows.append(f"{head}>{_tag(kind, **attributes)}/></ScalarVariable>")
        if causality == "output":
            outputs.append(index)
    said = {} if follows is None else {places[y]: " ".join(str(places[u]) for u in us) for y, us in follows.items()}
    unknowns = "".join(
        f'<Unknown index="{i}"/>' if follows is None else f'<Unknown index="{i}" dependencies="{said.get(i, "")}"/>'
        for i in outputs
    )
    abilities += ' canHandleVariableCommunicationStepSize="true"'
    abilities += f' canGetAndSetFMUstate="{state}" canSerializeFMUstate="{state}"'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><fmiModelDescription fmiVersion="2.0" modelName="unit" guid="{guid}">'
        f'<CoSimulation modelIdentifier="{identifier}" {abilities}/>{types}'
        f'<DefaultExperiment stepSize="0.005"/><ModelVariables>{"".join(rows)}</ModelVariables>'
        f"<ModelStructure><Outputs>{unknowns}</Outputs><InitialUnknowns>{unknowns}</InitialUnknowns></ModelStructure>"
        "</fmiModelDescription>"
    )


def describe3(rows: Iterable[str], outputs: Iterable[int], *, token: str, abilities: str, types: str = "") -> str:
    """A model description of FMI 3.0; rows are the elements of its variables, outputs their value references."""
    outputs = list(outputs)
    unknowns = "".join(f'<Output valueReference="{vr}"/>' for vr in outputs)
    unknowns += "".join(f'<InitialUnknown valueReference="{vr}"/>' for vr in outputs)
    time = '<Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>'
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        f'<fmiModelDescription fmiVersion="3.0" modelName="unit" instantiationToken="{token}">'
        f'<CoSimulation modelIdentifier="unit" canHandleVariableCommunicationStepSize="true" {abilities}/>{types}'
        f'<DefaultExperiment stepSize="0.005"/><ModelVariables>{time}{"".join(rows)}</ModelVariables>'
        f"<ModelStructure>{unknowns}</ModelStructure></fmiModelDescription>"
    )


SPRING = [
    ("F", 0, "Real", "input", 0.0),
    ("k", 1, "Real", "parameter", 100.0),
    ("m", 2, "Real", "parameter", 1.0),
    ("x", 3, "Real", "output", None),
    ("v", 4, "Real", "output", None),
]
FLIGHT = [
    ("v_after", 0, "Real", "input", 0.0),
    ("z", 1, "Real", "output", None),
    ("v", 2, "Real", "output", None),
    ("bounces", 0, "Integer", "input", 0),
]
GROUND = [
    ("z", 0, "Real", "input", 0.0),
    ("v", 1, "Real", "input", 0.0),
    ("gap", 2, "Real", "output", None),
    ("v_after", 3, "Real", "output", None),
]
THROUGH = [
    ("u", 0, "Real", "input", 0.0),
    ("gain", 1, "Real", "parameter", 0.0),
    ("offset", 2, "Real", "parameter", 0.0),
    ("y", 3, "Real", "output", None),
]
MASS = [
    ("x", 0, "Real", "output", None),
    ("v", 1, "Real", "output", None),
    ("u", 2, "Real", "input", 0.0),
    ("damping", 3, "Real", "parameter", 0.0),
    ("x0", 4, "Real", "parameter", 0.0),
]
_MODE2 = (
    '<TypeDefinitions><SimpleType name="Mode"><Enumeration><Item name="slow" value="1"/><Item name="fast" value="4"/>'
    "</Enumeration></SimpleType></TypeDefinitions>"
)
TYPES2 = [
    ("real", 0, "Real", "input", 0.0),
    ("real_out", 1, "Real", "output", None),
    ("whole", 0, "Integer", "input", 0),
    ("whole_out", 1, "Integer", "output", None),
    ("choice", 2, "Enumeration", "input", 1),
    ("choice_out", 3, "Enumeration", "output", None),
    ("truth", 0, "Boolean", "input", "false"),
    ("truth_out", 1, "Boolean", "output", None),
    ("text", 0, "String", "input", ""),
    ("text_out", 1, "String", "output", None),
]
_STATE3 = 'canGetAndSetFMUState="true" canSerializeFMUState="true"'
SPRINGS = [
    '<UInt64 name="n" valueReference="1" causality="structuralParameter" variability="fixed" start="2"/>',
    '<Float64 name="F" valueReference="2" causality="input" start="0 0"><Dimension valueReference="1"/></Float64>',
    '<Float64 name="k" valueReference="3" causality="parameter" variability="fixed" start="100"/>',
    '<Float64 name="x" valueReference="4" causality="output"><Dimension start="2"/></Float64>',
    '<Float64 name="v" valueReference="5" causality="output"><Dimension start="2"/></Float64>',
    '<Float64 name="turn" valueReference="6" causality="parameter" variability="tunable" start="1 0 0 0 1 0">'
    '<Dimension start="2"/><Dimension start="3"/></Float64>',
    '<Float64 name="turned" valueReference="7" causality="output"><Dimension start="2"/></Float64>',
]
_NUMBERS3 = ("Float32", "Float64", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64")
_TWO = '<Dimension start="2"/>'
TYPES3 = [
    *(
        f'<{kind} name="{kind.lower()}{end}" valueReference="{10 + 2 * i + at}" causality="{causality}" {start}/>'
        for i, kind in enumerate(_NUMBERS3)
        for at, end, causality, start in ((0, "", "input", 'start="0"'), (1, "_out", "output", ""))
    ),
    '<Boolean name="boolean" valueReference="30" causality="input" start="false"/>',
    '<Boolean name="boolean_out" valueReference="31" causality="output"/>',
    '<Enumeration name="choice" valueReference="32" causality="input" declaredType="Mode" start="1"/>',
    '<Enumeration name="choice_out" valueReference="33" causality="output" declaredType="Mode"/>',
    '<String name="text" valueReference="34" causality="input"><Start value=""/></String>',
    '<String name="text_out" valueReference="35" causality="output"/>',
    '<Binary name="blob" valueReference="36" causality="input"><Start value="00ff"/></Binary>',
    '<Binary name="blob_out" valueReference="37" causality="output"/>',
    f'<String name="texts" valueReference="38" causality="input">{_TWO}<Start value="a b"/><Start value="c"/></String>',
    f'<String name="texts_out" valueReference="39" causality="output">{_TWO}</String>',
]
_MODE3 = (
    '<TypeDefinitions><EnumerationType name="Mode"><Item name="slow" value="1"/><Item name="fast" value="4"/>'
    "</EnumerationType></TypeDefinitions>"
)
LEVEL = [
    '<Float64 name="level" valueReference="1" causality="output"/>',
    '<Int32 name="periods" valueReference="2" causality="output"/>',
    '<Int32 name="kicks" valueReference="3" causality="output"/>',
    '<Float64 name="offset" valueReference="4" causality="input" variability="discrete" start="0"/>',
    '<Float64 name="shown" valueReference="5" causality="output"/>',
    '<Clock name="period" valueReference="6" causality="input" intervalVariability="constant" intervalDecimal="0.1"/>',
    '<Clock name="kick" valueReference="7" causality="input" intervalVariability="triggered"/>',
    '<Clock name="emptied" valueReference="8" causality="output" intervalVariability="triggered"/>',
    '<Int32 name="updates" valueReference="9" causality="output"/>',
]
_EVENTS = 'hasEventMode="true" mightReturnEarlyFromDoStep="true" canGetAndSetFMUState="true"'

FAULTS = (
    "FORGETS",
    "DRIFTS",
    "CRASHES_SAVING",
    "CRASHES_WRITING",
    "FORGETS_WRITTEN",
    "CRASHES_LOADING",
    "CRASHES_ENDING",
    "HANGS",
    "DISCARDS",
    "ENDS",
    "GOES_NAN",
    "FAILS",
    "DIES",
    "NO_DO_STEP",
)


def recipe(name: str) -> tuple[str, list[str], str]:
    """The source, the macros and the model description of the unit `name`."""
    springs = describe3(SPRINGS, (4, 5, 7), token="springs", abilities=_STATE3)
    types3 = describe3(TYPES3, range(11, 41, 2), token="types", abilities="", types=_MODE3)
    match name:
        case "spring":
            return "spring2.c", [], describe2(SPRING)
        case "wrong_guid":
            return "spring2.c", [], describe2(SPRING, guid="another")
        case "no_state":
            return "spring2.c", ["NO_STATE"], describe2(SPRING, state="false")
        case "types2":
            return "types2.c", [], describe2(TYPES2, state="false", types=_MODE2)
        case "flight":
            return "parts2.c", ["FLIGHT"], describe2(FLIGHT, guid="flight", follows={})
        case "ground":
            return "parts2.c", ["GROUND"], describe2(GROUND, guid="ground", follows={"gap": ["z"], "v_after": ["v"]})
        case "through":
            return "parts2.c", ["THROUGH"], describe2(THROUGH, guid="through", follows={"y": ["u"]})
        case "mass":
            return "mass2.c", [], describe2(MASS, guid="mass", follows={})
        case "mass_interpolates":
            return "mass2.c", [], describe2(MASS, guid="mass", abilities='canInterpolateInputs="true"', follows={})
        case "springs":
            return "spring3.c", [], springs
        case "springs_early":
            return "spring3.c", ["RETURNS_EARLY"], springs
        case "springs_claim":
            return "spring3.c", ["CLAIMS_EARLY"], springs
        case "springs_discards":
            return "spring3.c", ["DISCARDS"], springs
        case "types3":
            return "types3.c", [], types3
        case "events":
            return "events3.c", [], describe3(LEVEL, (1, 2, 3, 5, 8, 9), token="level", abilities=_EVENTS)
    if name.upper() not in FAULTS:
        raise ValueError(f"there is no native unit {name!r}")
    return "spring2.c", [name.upper()], describe2(SPRING)


class NativeUnits:
    """Native units by name, each compiled when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, name: str) -> Path:
        path = self._folder / f"{name}.fmu"
        if not path.exists():
            source, macros, description = recipe(name)
            write_unit(path, description, compile_unit(source, macros, self._folder))
        return path


def compile_unit(source: str, macros: Iterable[str], folder: Path) -> bytes:
    library = folder / "unit.so"
    # A fault leaves what the other faults need unused.
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    flags = ["-std=gnu11", "-O1", "-shared", "-fPIC", *warnings, f"-I{HEADERS}"]
    subprocess.run(
        [
            "cc",
            *flags,
            *(f"-D{m}" for m in macros),
            str(HERE / source),
            str(HERE / "rest.c"),
            "-o",
            str(library),
            "-lm",
        ],
        check=True,
    )
    return library.read_bytes()


def write_unit(path: Path, description: str | bytes, library: bytes, platform: str | None = None) -> None:
    version3 = 'fmiVersion="3' in str(description)
    where = platform or (fmpy.platform_tuple if version3 else fmpy.platform)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", description)
        archive.writestr(f"binaries/{where}/unit{fmpy.sharedLibraryExtension}", library)
