"""The built wheel, in an environment of its own: everything is in it and it runs. `make wheel` calls this."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("drivers", "fmus", "master", "models", "studio")
SHIPPED = [
    path.relative_to(ROOT)
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*"))
    if path.suffix in (".py", ".pyi", ".xml") or path.name == "py.typed"
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
    assert not [room for room in (*ROOMS, "cffi_build", "tests") if (site / room).exists()]


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
