"""Units and their hosts: files that are no units, calls against the rules, what is left behind."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from simloop.fmus.slave import load
from simloop.master import Claimed, FmuComponent, SimloopError

from tests.fmus.every_unit import H, open_unit


def raw_set_real(component: FmuComponent, reference: int) -> int:
    status = component.instance.functions["fmi2SetReal"]
    one = ctypes.c_size_t(1)
    return int(status(component.instance.handle, (ctypes.c_uint * 1)(reference), one, (ctypes.c_double * 1)(1.0)))


def test_a_host_that_breaks_the_rules_gets_an_error_and_no_crash(units: dict[str, Path]) -> None:
    component = open_unit("plant", units["plant"])
    error = 3
    variables = component.variables
    for name, problem in (
        ("q[1]", "output"),
        ("gear_stiffness[1]", "fixed parameter"),
        ("seed", "not a variable of type Real"),
    ):
        assert raw_set_real(component, variables[name].reference) == error
        assert problem in component.instance.said("")
    assert raw_set_real(component, 4_000_000_000) == error
    assert "4000000000" in component.instance.said("")
    step = component.instance.functions["fmi2DoStep"]
    assert step(component.instance.handle, ctypes.c_double(0.0), ctypes.c_double(-1.0), ctypes.c_int(0)) == error
    assert "step size" in component.instance.said("")
    restore = component.instance.functions["fmi2SetFMUstate"]
    assert restore(component.instance.handle, ctypes.c_void_p()) == error
    component.step(0.0, H)
    component.close()


def test_a_component_that_is_let_go_leaves_no_files(units: dict[str, Path], tmp_path: Path) -> None:
    code = f"""
import tempfile; tempfile.tempdir = {str(tmp_path)!r}
from simloop.master import Claimed, FmuComponent, SimloopError
kept = FmuComponent("plant", {str(units["plant"])!r}, trust=Claimed())
kept.initialize(0.0)
kept.save()
FmuComponent("control", {str(units["control"])!r}, trust=Claimed()).close()
kept.close()
kept.close()
last = FmuComponent("plant", {str(units["plant"])!r}, trust=Claimed())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_an_archive_that_is_broken_or_leaves_its_folder_is_refused(units: dict[str, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(units["plant"]) as archive:
        description = archive.read("modelDescription.xml")
    path = tmp_path / "hostile.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", description)
        archive.writestr("/absolute.txt", "out")
    with pytest.raises(SimloopError, match=r"hostile\.fmu.*cannot be unpacked"):
        FmuComponent("plant", path, trust=Claimed())


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x05\x06" + 18 * b"\0"])
def test_a_file_that_is_no_unit_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.fmu"
    path.write_bytes(content)
    with pytest.raises(SimloopError, match=r"broken\.fmu"):
        FmuComponent("broken", path, trust=Claimed())
    with pytest.raises(SimloopError, match=r"missing\.fmu"):
        FmuComponent("missing", tmp_path / "missing.fmu", trust=Claimed())


def test_an_interrupt_inside_a_unit_reaches_the_script(units: dict[str, Path]) -> None:
    code = f"""
import os, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts with it ignored
from simloop.master import Claimed, FmuComponent, UnitError
unit = FmuComponent("plant", {str(units["plant"])!r}, trust=Claimed())
unit.initialize(0.0)
try:
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    while True:
        try:
            unit.step(0.0, 1e-3)
        except UnitError:
            pass
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "interrupted\n", done.stderr


def test_a_unit_opened_with_anothers_guid_is_refused(units: dict[str, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(units["plant"]) as archive:
        archive.extractall(tmp_path)
    with pytest.raises(ValueError, match="GUID"):
        load(str(tmp_path / "resources"), "plant", "{not-it}")
    unit = json.loads((tmp_path / "resources" / "unit.json").read_text())
    uri = (tmp_path / "resources").as_uri()
    assert load(uri, "plant", unit["guid"]).instance_name == "plant"
