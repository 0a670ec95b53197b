"""Small native units, compiled from block.c: a host that is not Python can run them too."""

from __future__ import annotations

import functools
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tests.units.build import compile_unit


@dataclass(frozen=True)
class Block:
    """`step` is C that gives y from u, y, k, t and h; whether y follows u at once is `feedthrough`."""

    name: str
    step: str
    first: float = 0.0
    feedthrough: bool = False

    @property
    def guid(self) -> str:
        """One for each: libcosim takes units of one GUID for the same."""
        return f"{{simloop-block-{self.name}}}"


SINE = Block("sine", "y = k * sin(t)")
INTEGRATOR = Block("integrator", "y += h * k * u")
GAIN = Block("gain", "y = k * u", feedthrough=True)

# name: kg m s K exponents, then factor and offset
UNITS = {
    "m": 'm="1"',
    "mm": 'm="1" factor="0.001"',
    "km/h": 'm="1" s="-1" factor="0.2777777777777778"',
    "m/s": 'm="1" s="-1"',
    "K": 'K="1"',
    "degC": 'K="1" offset="273.15"',
    "N": 'kg="1" m="1" s="-2"',
}


def build(block: Block, folder: Path, *, u: str | None = None, y: str | None = None) -> Path:
    """Write the unit to `folder`; `u` and `y` are units of measure."""
    path = folder / f"{block.name}.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        # An entry of ZipInfo has no date of today, so the same unit has the same bytes.
        archive.writestr(zipfile.ZipInfo("modelDescription.xml"), _description(block, u, y))
        archive.writestr(zipfile.ZipInfo(f"binaries/linux64/{block.name}.so"), _library(block))
    return path


@functools.cache
def _library(block: Block) -> bytes:
    macros = [f'GUID="{block.guid}"', f"FIRST={block.first!r}", f"STEP={block.step}"]
    with tempfile.TemporaryDirectory() as folder:
        return compile_unit("block.c", macros, Path(folder))


def _description(block: Block, u: str | None, y: str | None) -> str:
    used = sorted({unit for unit in (u, y) if unit is not None})
    units = "".join(f'<Unit name="{unit}"><BaseUnit {UNITS[unit]}/></Unit>' for unit in used)
    of_u, of_y = ("" if unit is None else f' unit="{unit}"' for unit in (u, y))
    follows = "1" if block.feedthrough else ""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="{block.name}" guid="{block.guid}">
  <CoSimulation modelIdentifier="{block.name}" canHandleVariableCommunicationStepSize="true"
    canGetAndSetFMUstate="true"/>
  {f"<UnitDefinitions>{units}</UnitDefinitions>" if units else ""}
  <ModelVariables>
    <ScalarVariable name="u" valueReference="0" causality="input"><Real start="0"{of_u}/></ScalarVariable>
    <ScalarVariable name="y" valueReference="1" causality="output" initial="exact"><Real start="{block.first}"{of_y}/>
    </ScalarVariable>
    <ScalarVariable name="k" valueReference="2" causality="parameter" variability="fixed"><Real start="1"/>
    </ScalarVariable>
    <ScalarVariable name="on" valueReference="0" causality="input" variability="discrete"><Boolean start="false"/>
    </ScalarVariable>
    <ScalarVariable name="was_on" valueReference="1" causality="output" variability="discrete"><Boolean/>
    </ScalarVariable>
    <ScalarVariable name="n" valueReference="0" causality="input" variability="discrete"><Integer start="0"/>
    </ScalarVariable>
    <ScalarVariable name="was_n" valueReference="1" causality="output" variability="discrete"><Integer/>
    </ScalarVariable>
  </ModelVariables>
  <ModelStructure><Outputs>
    <Unknown index="2" dependencies="{follows}"/>
    <Unknown index="5" dependencies=""/>
    <Unknown index="7" dependencies=""/>
  </Outputs><InitialUnknowns>
    <Unknown index="5" dependencies=""/><Unknown index="7" dependencies=""/>
  </InitialUnknowns></ModelStructure>
</fmiModelDescription>
"""
