"""The built wheel, in an environment of its own: everything is in it and it runs. `make wheel` calls this."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("cffi_build", "drivers", "fmus", "master", "models", "studio")
SHIPPED = [
    path.relative_to(ROOT)
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*"))
    if path.suffix in (".py", ".pyi", ".xml", ".c", ".h") or path.name == "py.typed"
]


def installed(room: str) -> Path:
    return Path(importlib.import_module(f"simloop.{room}").__path__[0])


@pytest.mark.parametrize("path", SHIPPED, ids=str)
def test_every_file_of_the_rooms_is_in_the_wheel(path: Path) -> None:
    room, *rest = path.parts
    copy = installed(room).joinpath(*rest)
    assert "site-packages" in copy.parts
    assert copy.read_bytes() == (ROOT / path).read_bytes()


def test_nothing_of_the_rooms_lies_loose_in_site_packages() -> None:
    site = installed("models").parents[1]
    assert not [room for room in (*ROOMS, "tests") if (site / room).exists()]


def test_the_installed_command_runs_a_scenario(tmp_path: Path) -> None:
    command = shutil.which("simloop", path=str(Path(sys.executable).parent))
    assert command is not None
    out = tmp_path / "out"
    done = subprocess.run(
        [command, "run", "sphere-collision", "--out", str(out)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert record["status"] == "complete"
    assert record["summary"]["contact_by_force_delay"]["ok"] is True


def test_an_exported_unit_runs_where_pip_installed_only_its_requirements(tmp_path: Path) -> None:
    """Bundled, in an environment without simloop, by a host that is not Python."""
    command = shutil.which("simloop", path=str(Path(sys.executable).parent))
    assert command is not None
    for arguments in (["control", "--bundle"], ["collision", "--native"]):
        made = subprocess.run(
            [command, "export", *arguments, "--robot", "sphere", "-o", tmp_path / f"{arguments[0]}.fmu"]
        )
        assert made.returncode == 0
    files = {name: tmp_path / name for name in ("control", "collision")}
    guids = {}
    for name, folder in files.items():
        with zipfile.ZipFile(tmp_path / f"{name}.fmu") as archive:
            archive.extractall(folder)
        guids[name] = ET.parse(folder / "modelDescription.xml").getroot().get("guid")
    environment, host = tmp_path / "environment", tmp_path / "fmi_host"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    requirements = files["control"] / "resources/requirements.txt"
    subprocess.run([environment / "bin/python", "-m", "pip", "-qq", "install", "-r", requirements], check=True)
    subprocess.run(["cc", ROOT / "tests/c/fmi_host.c", "-o", host, "-ldl"], check=True)
    script = ""
    for name, folder in files.items():
        library = next((folder / "binaries").glob("*/*"))
        script += f"open {name} {library} {(folder / 'resources').as_uri()} {guids[name]}\n"
        script += f"start {name}\nstep {name} 0 0.01\nget {name} 0 1\nclose {name}\n"
    where = {"PATH": "/nowhere", "SIMLOOP_PYTHON": str(environment / "bin/python")}
    done = subprocess.run([host], input=script, env=where, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("0x0p+0\n0x0p+0\n", "")
