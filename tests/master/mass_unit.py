"""Builds mass.c into an FMU file, with the FMI headers that come with fmpy."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import zipfile
from pathlib import Path

import fmpy
from fmpy import platform

DESCRIPTION = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="mass" guid="mass">
  <CoSimulation modelIdentifier="mass" canHandleVariableCommunicationStepSize="true" canGetAndSetFMUstate="true"
    canSerializeFMUstate="true" canInterpolateInputs="{interpolates}"/>
  <ModelVariables>
    <ScalarVariable name="x" valueReference="0" causality="output"><Real/></ScalarVariable>
    <ScalarVariable name="v" valueReference="1" causality="output"><Real/></ScalarVariable>
    <ScalarVariable name="u" valueReference="2" causality="input"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="damping" valueReference="3" causality="parameter" variability="fixed">
      <Real start="0"/></ScalarVariable>
    <ScalarVariable name="x0" valueReference="4" causality="parameter" variability="fixed">
      <Real start="0"/></ScalarVariable>
  </ModelVariables>
  <ModelStructure><Outputs><Unknown index="1" dependencies=""/><Unknown index="2" dependencies=""/></Outputs>
  </ModelStructure>
</fmiModelDescription>
"""


def build_mass(path: Path, *, interpolates: bool) -> Path:
    library = path.with_suffix(sysconfig.get_config_var("SHLIB_SUFFIX") or ".so")
    headers = Path(fmpy.__file__).parent / "c-code"
    source = Path(__file__).with_name("mass.c")
    compiler = os.environ.get("CC", "cc")
    command = [
        compiler,
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O2",
        "-shared",
        "-fPIC",
        f"-I{headers}",
        str(source),
        "-o",
        str(library),
    ]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", DESCRIPTION.format(interpolates=str(interpolates).lower()))
        archive.write(library, f"binaries/{platform}/mass{library.suffix}")
    return path
