"""Packages for the tests, written by hand as another tool would."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from fmpy.ssp.simulation import simulate_ssp
from fmpy.ssp.ssd import ParameterSet, read_ssd
from numpy.typing import NDArray
from simloop.master import Result, Step, System, Transfer, run
from simloop.master.schedule import Schedule

from tests.units.blocks import GAIN, INTEGRATOR, SINE, build

NAMESPACES = " ".join(
    f'xmlns:{prefix}="http://ssp-standard.org/SSP1/SystemStructure{name}"'
    for prefix, name in {
        "ssd": "Description",
        "ssc": "Common",
        "ssv": "ParameterValues",
        "ssm": "ParameterMapping",
        "ssb": "SignalDictionary",
    }.items()
)


def ssd(system: str, rest: str = "", name: str = "by hand") -> str:
    """A description with the contents of its System, and what comes after."""
    return (
        f'<ssd:SystemStructureDescription {NAMESPACES} version="1.0" name="{name}">'
        f'<ssd:System name="root">{system}</ssd:System>{rest}</ssd:SystemStructureDescription>'
    )


def connector(name: str, kind: str, unit: str | None = None, kind_of_value: str = "Real") -> str:
    of = "" if unit is None else f' unit="{unit}"'
    return f'<ssd:Connector name="{name}" kind="{kind}"><ssc:{kind_of_value}{of}/></ssd:Connector>'


def unit(name: str, block: str, bindings: str = "", connectors: str | None = None) -> str:
    """A component on resources/BLOCK.fmu with its real connectors, or those given."""
    listed = connector("u", "input") + connector("y", "output") if connectors is None else connectors
    return (
        f'<ssd:Component name="{name}" source="resources/{block}.fmu">'
        f"<ssd:Connectors>{listed}</ssd:Connectors>{bindings}</ssd:Component>"
    )


def wire(start: str, end: str, inside: str = "", attributes: str = "") -> str:
    """A connection of "element.connector", or of "connector" for one of the system itself."""

    def side(which: str, text: str) -> str:
        element, dot, name = text.rpartition(".")
        return (f'{which}Element="{element}" ' if dot else "") + f'{which}Connector="{name}"'

    return f"<ssd:Connection {side('start', start)} {side('end', end)} {attributes}>{inside}</ssd:Connection>"


def values(parameters: dict[str, float], unit: str | None = None, units: str = "") -> str:
    """A parameter set of Reals."""
    of = "" if unit is None else f' unit="{unit}"'
    listed = "".join(
        f'<ssv:Parameter name="{name}"><ssv:Real value="{value!r}"{of}/></ssv:Parameter>'
        for name, value in parameters.items()
    )
    return (
        f'<ssv:ParameterSet {NAMESPACES} version="1.0" name="set"><ssv:Parameters>{listed}</ssv:Parameters>'
        f"{units}</ssv:ParameterSet>"
    )


def bound(inside: str = "", attributes: str = "") -> str:
    """Parameter bindings: one."""
    return (
        f"<ssd:ParameterBindings><ssd:ParameterBinding {attributes}>{inside}</ssd:ParameterBinding>"
        "</ssd:ParameterBindings>"
    )


def inline(parameters: dict[str, float]) -> str:
    return bound(f"<ssd:ParameterValues>{values(parameters)}</ssd:ParameterValues>")


def pack(path: Path, description: str, files: dict[str, str | bytes] | None = None) -> Path:
    """A package with the three blocks in its resources."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("SystemStructure.ssd", description)
        for block in (SINE, INTEGRATOR, GAIN):
            archive.write(build(block, path.parent), f"resources/{block.name}.fmu")
        for name, content in (files or {}).items():
            archive.writestr(name, content)
    return path


def jacobi(system: System) -> Schedule:
    return (*map(Step, system.components), *map(Transfer, system.connections()))


def run_jacobi(system: System, steps: int = 50) -> Result:
    return run(system, jacobi(system), step="1/100", duration=f"{steps}/100")


def run_by_fmpy(path: Path, seconds: float, step: float) -> NDArray[Any]:
    """fmpy's results. It does not apply a package's parameters by itself, so they are handed to it."""
    given = ParameterSet()
    for component in read_ssd(str(path)).system.elements:
        for binding in component.parameterBindings:
            for parameter in binding.parameterValues[0].parameters:
                parameter.name = f"{component.name}.{parameter.name}"
                given.parameters.append(parameter)
    return simulate_ssp(str(path), stop_time=seconds, step_size=step, parameter_set=given)
