"""Exported units in a host that is not Python: the master's numbers to the last bit, or clear words why not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from simloop.fmus.export import build
from simloop.master import FmuComponent
from simloop.models.robots.yumi import ROBOT as YUMI

from tests.fmus.foreign_host import BARE, CHECKED, Unpacked, compile_host, compile_shell, host, run_host, unpack

__all__ = ["host"]

N = len(YUMI.home)
H = 1 / 2000
STEPS = 30


@pytest.fixture(scope="module")
def yumi(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("yumi")
    return {kind: build(kind, YUMI, folder / f"{kind}.fmu") for kind in ("control", "plant")}


@pytest.fixture
def sphere_plant(units: dict[str, Path], tmp_path: Path) -> Unpacked:
    return unpack(units["plant"], tmp_path / "plant")


def wanted(k: int) -> np.ndarray:
    return np.array(YUMI.home) + 1e-4 * (k + 1) * np.sin(np.arange(N))


def loop_in_our_master(units: dict[str, Path]) -> list[list[str]]:
    """Control, plant, control again from where it was: the loop's macro step (S1, 5.3). What it gives, as text."""
    control, plant = FmuComponent("control", units["control"]), FmuComponent("plant", units["plant"])
    plant.set("noise", 1e-5)
    plant.set("mass_error", 0.1)
    for component in (control, plant):
        component.initialize(0.0)
    q_d, tau, q, seen = np.zeros(N), np.zeros(N), np.zeros(N), np.zeros(2 * N)

    def names(port: str) -> list[str]:
        return [f"{port}[{i + 1}]" for i in range(N)]

    told, slot = [], None
    for k in range(STEPS):
        q_d[:] = wanted(k)
        control.writer(names("q_d"), q_d)()
        slot = control.save(slot)
        control.set("replay", False)
        control.step(k * H, H)
        control.reader(names("tau"), tau)()
        plant.writer(names("tau"), tau)()
        plant.step(k * H, H)
        plant.reader(names("q"), q)()
        control.restore(slot)
        control.writer(names("q_measured"), q)()
        control.set("replay", True)
        control.step(k * H, H)
        control.reader([*names("tau"), *names("tau_replay")], seen)()
        told += [[x.hex() for x in seen.tolist()], [x.hex() for x in q.tolist()]]
    control.close()
    plant.close()
    return told


def loop_script(control: Unpacked, plant: Unpacked) -> list[str]:
    c, p = control.reference, plant.reference
    script = [control.opened("control"), plant.opened("plant")]
    script += [f"set plant {p['noise']} 1e-5", f"set plant {p['mass_error']} 0.1", "start control", "start plant"]
    for k in range(STEPS):
        script += [
            f"set control {c['q_d[1]']} {' '.join(x.hex() for x in wanted(k).tolist())}",
            "save control",
            f"flag control {c['replay']} 0",
            f"step control {(k * H).hex()} {H.hex()}",
            f"copy control {c['tau[1]']} plant {p['tau[1]']} {N}",
            f"step plant {(k * H).hex()} {H.hex()}",
            "restore control",
            f"copy plant {p['q[1]']} control {c['q_measured[1]']} {N}",
            f"flag control {c['replay']} 1",
            f"step control {(k * H).hex()} {H.hex()}",
            f"get control {c['tau[1]']} {2 * N}",
            f"get plant {p['q[1]']} {N}",
        ]
    return [*script, "close control", "close plant"]


def as_numbers(lines: list[str]) -> list[list[str]]:
    """C prints hexadecimal floats without trailing zeros; the same text for the same bits."""
    return [[float.fromhex(word).hex() for word in line.split()] for line in lines]


def test_two_units_in_a_host_that_is_not_python_give_the_masters_bits(
    host: Path, yumi: dict[str, Path], tmp_path: Path
) -> None:
    unpacked = [unpack(yumi[kind], tmp_path / kind) for kind in ("control", "plant")]
    assert as_numbers(run_host(host, loop_script(*unpacked))) == loop_in_our_master(yumi)


def test_a_state_goes_from_one_process_to_another_and_on_to_the_same_bits(host: Path, sphere_plant: Unpacked) -> None:
    ref = sphere_plant.reference
    script = []
    for name in ("a", "b"):
        script += [sphere_plant.opened(name), f"set {name} {ref['noise']} 1e-3", f"start {name}"]
    script += [f"set a {ref['tau[1]']} 3", "step a 0 0.01", "save a", "pass a b"]
    for name in ("a", "b"):
        script += [f"step {name} 0.01 0.01", f"get {name} {ref['q[1]']} 3"]
    script += [
        "restore a",
        "step a 0.01 0.01",
        f"get a {ref['q[1]']} 3",
        "reset b",
        f"get b {ref['noise']} 1",
        "close a",
    ]
    first, second, again, blank = run_host(host, script)
    assert first == second == again
    assert float.fromhex(first.split()[0]) != 0.0
    assert float.fromhex(blank) == 0.0


def test_text_and_wrong_calls_come_through_as_in_our_master(host: Path, sphere_plant: Unpacked) -> None:
    ref = sphere_plant.reference
    said = run_host(
        host,
        [
            sphere_plant.opened("plant"),
            f"text plant {ref['contact']} sticky",
            "start plant",
            f"string plant {ref['contact']}",
            f"text plant {ref['contact']} compliant",
            "start plant",
            f"set plant {ref['tau[1]']} nan",
            f"set plant {ref['q[1]']} 1",
            "step plant 0 -1",
            "restore plant",
            "step plant 0 0.01",
            "close plant",
        ],
    )
    assert said == [
        "log plant 3 contact is 'sticky'; it can be none or compliant or events",
        "status 3 fmi2ExitInitializationMode",
        "sticky",
        "log plant 3 plant.tau[1] was set to NaN; a finite number is needed",
        "status 3 fmi2SetReal",
        "log plant 3 plant.q[1] is an output and cannot be set",
        "status 3 fmi2SetReal",
        "log plant 3 plant: the step size is -1.0; it must be greater than 0",
        "status 3 fmi2DoStep",
        "log plant 3 fmi2SetFMUstate was called with no state",
        "status 3 fmi2SetFMUstate",
    ]


def hide_interpreter(unit: Unpacked) -> None:
    (unit.resources / "python.txt").write_text("/gone/bin/python")


def test_with_the_interpreter_hidden_the_message_says_what_to_do(host: Path, sphere_plant: Unpacked) -> None:
    hide_interpreter(sphere_plant)
    log, status = run_host(host, [sphere_plant.opened("plant")])
    assert status == "status 3 fmi2Instantiate"
    assert log.startswith("log plant 3 plant needs Python 3.11 or newer with simloop 0.1.0, and found no interpreter")
    assert "/gone/bin/python is not there; python3 is not there" in log
    assert "Set the environment variable SIMLOOP_PYTHON" in log
    assert "requirements.txt" in log


def interpreter(path: Path, code: str) -> dict[str, str]:
    """An environment that names an interpreter which runs `code` before the script that it is given."""
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c \'{code}\nimport runpy, sys\n'
                    'runpy.run_path(sys.argv[-1], run_name="__main__")\' "$@"\n')  # fmt: skip
    path.chmod(0o755)
    return {**BARE, "SIMLOOP_PYTHON": str(path)}


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ('import sys; sys.version_info = (3, 8, 1, "final", 0)', "is Python 3.8, which is too old"),
        ('import sys; sys.modules["simloop"] = None', "has not all the packages"),
        ('import sys; sys.modules["mujoco"] = None', "has not all the packages"),
        ('import sys; sys.exit("no licence")', "ended: no licence"),
        ("import os; os.abort()", "ended"),
    ],
)
def test_an_interpreter_that_lacks_something_is_told_by_name(
    code: str, reason: str, host: Path, sphere_plant: Unpacked, tmp_path: Path
) -> None:
    """What SIMLOOP_PYTHON names is taken or refused; nothing else is tried in its place."""
    environment = interpreter(tmp_path / "python", code)
    log, status = run_host(host, [sphere_plant.opened("plant")], environment)
    assert status == "status 3 fmi2Instantiate"
    assert f"{tmp_path / 'python'} " in log
    assert reason in log
    assert "python3" not in log


def test_another_version_of_simloop_is_refused(host: Path, sphere_plant: Unpacked) -> None:
    hide_interpreter(sphere_plant)
    unit = json.loads((sphere_plant.resources / "unit.json").read_text())
    (sphere_plant.resources / "unit.json").write_text(json.dumps({**unit, "version": "9.9"}))
    environment = {**BARE, "SIMLOOP_PYTHON": sys.executable}
    log, _ = run_host(host, [sphere_plant.opened("plant")], environment)
    assert "has simloop 0.1.0, but the unit was exported by simloop 9.9" in log


def test_a_unit_opened_with_anothers_guid_or_no_resources_is_refused(host: Path, sphere_plant: Unpacked) -> None:
    wrong = sphere_plant.opened("plant").replace(sphere_plant.guid, "{not-it}")
    log, status = run_host(host, [wrong])
    assert "the host asked for GUID {not-it}" in log
    assert status == "status 3 fmi2Instantiate"
    log, _ = run_host(host, [f"open plant {sphere_plant.library} http://else/where {sphere_plant.guid}"])
    assert "plant needs" in log


class Paused:
    """A host that has opened units `a` and `b` and waits."""

    def __init__(self, host: Path, unit: Unpacked, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [host], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, bufsize=1
        )
        script = [unit.opened("a"), "start a", unit.opened("b"), "start b"]
        self.tell(*script, "pause")
        assert self.line() == "paused"
        self.helpers = self.children()
        assert len(self.helpers) == 2

    def tell(self, *commands: str) -> None:
        assert self.process.stdin is not None
        for command in commands:
            self.process.stdin.write(command + "\n")

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def children(self) -> list[int]:
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts processes by Linux' /proc")


def wait_until_gone(pids: list[int]) -> None:
    limit = time.monotonic() + 60.0
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < limit, f"still there: {pids}"
        time.sleep(0.01)


@needs_proc
@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (signal.SIGKILL, "log a 3 a: the helper process that runs the model ended"),
        (signal.SIGSTOP, "log a 3 a: the helper process that runs the model did not answer within 5 s"),
    ],
)
def test_a_helper_that_dies_or_hangs_is_an_error_and_the_other_unit_goes_on(
    harm: signal.Signals, said: str, host: Path, sphere_plant: Unpacked
) -> None:
    paused = Paused(host, sphere_plant, {**BARE, "SIMLOOP_TIMEOUT": "5"})
    os.kill(paused.helpers[0], harm)
    q = sphere_plant.reference["q[1]"]
    paused.tell("", "step a 0 0.01", "save a", "step b 0 0.01", f"get b {q} 1", "close a", "pause")
    assert paused.line().startswith(said)
    assert paused.line() == "status 3 fmi2DoStep"
    assert "has ended" in paused.line()
    assert paused.line() == "status 3 fmi2GetFMUstate"
    float.fromhex(paused.line())
    assert paused.line() == "paused"
    assert paused.children() == paused.helpers[1:]
    paused.tell("", "close b", "pause")
    assert paused.line() == "paused"
    assert paused.children() == []
    paused.process.communicate("\n")


@needs_proc
def test_helpers_end_with_a_host_that_is_killed(host: Path, sphere_plant: Unpacked) -> None:
    paused = Paused(host, sphere_plant, BARE)
    paused.process.kill()
    paused.process.communicate()
    wait_until_gone(paused.helpers)


def test_the_library_has_no_memory_errors_and_leaks_nothing(
    units: dict[str, Path], sphere_plant: Unpacked, tmp_path: Path
) -> None:
    """Under the address sanitiser, which makes the host fail: states, texts, errors, no interpreter."""
    host, library = compile_host(tmp_path, *CHECKED), compile_shell(tmp_path, *CHECKED)
    ref = sphere_plant.reference
    script = [sphere_plant.opened("a", library), f"text a {ref['contact']} compliant", "start a", "save a"]
    script += [
        "step a 0 0.01",
        "restore a",
        "save a",
        "pass a a",
        f"set a {ref['q[1]']} 1",
        f"string a {ref['contact']}",
    ]
    script += ["get a 100000 1", "reset a", "close a", sphere_plant.opened("b", library)]
    script += [sphere_plant.opened("c", library).replace(sphere_plant.guid, "{not-it}"), "start b", "close b"]
    said = run_host(host, script)
    assert [line for line in said if line.startswith("status")] == [
        "status 3 fmi2SetReal",
        "status 3 fmi2GetReal",
        "status 3 fmi2Instantiate",
    ]
    hide_interpreter(sphere_plant)
    assert run_host(host, [sphere_plant.opened("d", library)])[-1] == "status 3 fmi2Instantiate"


def test_a_python_host_without_this_simloop_uses_another_interpreter(
    units: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIMLOOP_PYTHON is honoured in any host: the same numbers come from another process."""
    here = FmuComponent("plant", units["plant"])
    monkeypatch.setenv("SIMLOOP_PYTHON", sys.executable)
    there = FmuComponent("plant", units["plant"])
    for component in (here, there):
        component.set("noise", 1e-3)
        component.initialize(0.0)
        component.step(0.0, 0.01)
    assert here.get("q[1]") == there.get("q[1]") != 0.0
    here.close()
    there.close()
