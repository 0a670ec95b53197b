"""A host that is not Python, for tests: `tests/c/fmi_host.c`, compiled, and units unpacked for it."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[2]
CHECKED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# A host's own variables, and no path that leads to an interpreter.
BARE = {"PATH": "/nowhere"}


def compile_c(*arguments: str | Path) -> None:
    done = subprocess.run([os.environ.get("CC", "cc"), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def compile_host(folder: Path, *flags: str) -> Path:
    program = folder / "fmi_host"
    compile_c("-std=c11", *flags, ROOT / "tests/c/fmi_host.c", "-o", program, "-ldl")
    return program


def compile_shell(folder: Path, *flags: str) -> Path:
    """The FMI library of Python units, compiled anew."""
    library = folder / "shell.so"
    parts = [ROOT / f"cffi_build/fmi2_{part}.c" for part in ("shell", "python", "process", "helper", "choose")]
    python = ["-DPy_LIMITED_API=0x030b0000", "-isystem", sysconfig.get_path("include")]
    compile_c("-std=c11", *flags, "-shared", "-fPIC", "-fvisibility=hidden", *python, *parts, "-o", library)
    return library


@dataclass(frozen=True)
class Unpacked:
    """A unit's files, for a host to open."""

    folder: Path
    library: Path
    guid: str
    reference: Mapping[str, int]

    @property
    def resources(self) -> Path:
        return self.folder / "resources"

    def opened(self, name: str, library: Path | None = None) -> str:
        return f"open {name} {library or self.library} {self.resources.as_uri()} {self.guid}"


def unpack(fmu: Path, folder: Path) -> Unpacked:
    with zipfile.ZipFile(fmu) as archive:
        archive.extractall(folder)
    root = ET.parse(folder / "modelDescription.xml").getroot()
    names = {
        v.get("name", ""): int(v.get("valueReference", "")) for v in root.iterfind("ModelVariables/ScalarVariable")
    }
    library = next((folder / "binaries").glob("*/*"))
    return Unpacked(folder, library, root.get("guid", ""), names)


def run_host(program: Path, script: Sequence[str], environment: Mapping[str, str] = BARE) -> list[str]:
    """What the host prints when it does a script; it must end well, and find nothing wrong with its memory."""
    done = subprocess.run(
        [program], input="\n".join(script) + "\n", env=dict(environment), capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_host(tmp_path_factory.mktemp("host"), "-O2")
