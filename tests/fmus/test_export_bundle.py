"""A bundled unit runs with an interpreter that has no simloop, only what its requirements.txt says."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from simloop.fmus.export import build
from simloop.fmus.packing import bundled
from simloop.master import FmuComponent
from simloop.models.robots.sphere import ROBOT

from tests.conftest import OBSTACLES
from tests.fmus.foreign_host import BARE, host, run_host, unpack

__all__ = ["host"]


def with_dependencies(names: list[str]) -> set[str]:
    found: set[str] = set()
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            needed = map(Requirement, importlib.metadata.requires(name) or [])
            # Some are of an extra, or for another system.
            names += [each.name for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    return found


def only(requirements: str, folder: Path) -> Path:
    """An environment with the packages of a requirements.txt, as they are installed here, and no other."""
    venv.create(folder, with_pip=False)
    site = next(folder.glob("lib/python*/site-packages"))
    wanted = [re.split(r"[^A-Za-z0-9_.-]", line)[0] for line in requirements.splitlines()]
    for name in with_dependencies(wanted):
        distribution = importlib.metadata.distribution(name)
        for top in {Path(str(file)).parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
            source = Path(str(distribution.locate_file(top)))
            if source.exists() and not (site / top).exists():
                (site / top).symlink_to(source)
    return folder / "bin/python"


@pytest.mark.parametrize("kind", ["plant", "control", "collision"])
def test_a_bundled_unit_runs_without_simloop_to_the_masters_bits(kind: str, host: Path, tmp_path: Path) -> None:
    path = build(kind, ROBOT, tmp_path / "unit.fmu", OBSTACLES, bundled)
    unit = unpack(path, tmp_path / "files")
    python = only((unit.resources / "requirements.txt").read_text(), tmp_path / "environment")
    has = subprocess.run([python, "-c", "import simloop"], capture_output=True, text=True)
    assert "No module named 'simloop'" in has.stderr
    driven, seen = {"plant": ("tau[1]", "q[1]"), "control": ("q_d[1]", "tau[1]"), "collision": ("q[1]", "distance")}[
        kind
    ]
    ours = FmuComponent(kind, path)
    ours.initialize(0.0)
    script, expected = [unit.opened("unit"), "start unit"], []
    for k in range(10):
        ours.set(driven, 0.01 * k)
        ours.step(k * 0.01, 0.01)
        expected.append(ours.get(seen))
        script += [
            f"set unit {unit.reference[driven]} {(0.01 * k).hex()}",
            f"step unit {(k * 0.01).hex()} {(0.01).hex()}",
        ]
        script.append(f"get unit {unit.reference[seen]} 1")
    ours.close()
    lines = run_host(host, [*script, "close unit"], {**BARE, "SIMLOOP_PYTHON": str(python)})
    assert [float.fromhex(line) for line in lines] == expected
    assert len(set(expected)) > 1


def test_a_bundle_is_the_same_file_twice_and_has_nothing_to_spare(tmp_path: Path) -> None:
    first, second = (build("control", ROBOT, tmp_path / name, (), bundled) for name in ("a.fmu", "b.fmu"))
    assert first.read_bytes() == second.read_bytes()
    unit = unpack(first, tmp_path / "files")
    needed = [re.split("[<>=]", line)[0] for line in (unit.resources / "requirements.txt").read_text().split()]
    assert needed == ["mujoco", "numpy", "pythonfmu"]
    assert not list(unit.resources.glob("bundle/simloop/models/robots")), "the robot is data"
    assert not list(unit.resources.glob("bundle/simloop/studio"))


def test_a_python_host_without_simloop_runs_a_bundled_unit(tmp_path: Path) -> None:
    """fmpy there, simloop not: the unit takes the host's interpreter for its own process."""
    path = build("control", ROBOT, tmp_path / "control.fmu", (), bundled)
    unit = unpack(path, tmp_path / "files")
    (unit.resources / "python.txt").write_text("/gone/python")
    requirements = (unit.resources / "requirements.txt").read_text() + "fmpy\n"
    python = only(requirements, tmp_path / "environment")
    code = f"""
import fmpy, sys
from fmpy.fmi2 import FMU2Slave
description = fmpy.read_model_description({str(path)!r})
unit = FMU2Slave(guid=description.guid, unzipDirectory={str(unit.folder)!r}, instanceName="control",
                 modelIdentifier=description.coSimulation.modelIdentifier)
unit.instantiate()
unit.setupExperiment(startTime=0.0)
unit.enterInitializationMode()
unit.exitInitializationMode()
unit.doStep(0.0, 0.01)
print(unit.getReal([{unit.reference["tau[1]"]}])[0].hex(), "simloop.fmus" in sys.modules)
unit.terminate()
unit.freeInstance()
"""
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=BARE)
    ours = FmuComponent("control", path)
    ours.initialize(0.0)
    ours.step(0.0, 0.01)
    assert done.stdout.split() == [float(ours.get("tau[1]")).hex(), "False"], done.stderr
    ours.close()
    assert sys.executable not in done.stderr
