"""The collision detector as a native unit: no Python anywhere, and the answers of the other one."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from fmpy.validation import validate_fmu
from simloop.fmus.export import build
from simloop.fmus.native import build_native_collision
from simloop.master import FmuComponent
from simloop.models import robots
from simloop.models.robot import Ball, Box, Obstacle, Polyhedron, Robot

from tests.fmus.foreign_host import CHECKED, ROOT, Unpacked, compile_c, compile_host, host, run_host, unpack

__all__ = ["host"]

RING = 20 * np.array([(np.cos(a), np.sin(a)) for a in np.linspace(0.0, 2 * np.pi, 160, endpoint=False)])
SCENE: tuple[Obstacle, ...] = (
    Box("export-shelf", centre=(0.5, 0.2, 0.9), half_size=(0.1, 0.3, 0.02)),
    Ball("export-globe", centre=(0.1, -0.6, 1.1), radius=0.1),
    # Enough corners for queries to climb along its edges.
    Polyhedron("export-drum", tuple((0.02 * x + 0.3, 0.02 * y - 0.9, z) for z in (0.0, 0.4) for x, y in RING.tolist())),
)


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Unpacked:
    folder = tmp_path_factory.mktemp("native")
    return unpack(build_native_collision(robots.load("yumi"), folder / "native.fmu", SCENE), folder / "files")


def positions(robot: Robot, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions near home and far from it, with velocities."""
    rng = np.random.default_rng(1)
    reach = np.where(np.arange(count) % 2, 0.3, 1.5)[:, None]
    return robot.home + reach * rng.uniform(-1, 1, (count, len(robot.home))), rng.standard_normal(
        (count, len(robot.home))
    )


def asked(unit: Unpacked, q: np.ndarray, v: np.ndarray) -> list[str]:
    """A script that asks at each position for all numbers and both names."""
    script = [unit.opened("unit"), "start unit"]
    ref, n = unit.reference, q.shape[1]
    for k, numbers in enumerate(np.hstack([q, v]).tolist()):
        script += [f"set unit 0 {' '.join(x.hex() for x in numbers)}", f"step unit {k} 1", f"get unit {2 * n} 1"]
        script += [f"get unit {ref['point_a[1]']} 10", f"string unit {ref['body_a']}", f"string unit {ref['body_b']}"]
    return [*script, "close unit"]


@pytest.mark.parametrize("name", robots.names())
def test_distances_are_those_of_the_python_unit(name: str, host: Path, tmp_path: Path) -> None:
    """To 1e-12 m at 100 positions, some of them in contact. The time to contact and the equation between points and
    normal where both name the same pair: links that overlap alike are a tie, which the last bit decides."""
    robot = robots.load(name)
    unit = unpack(build_native_collision(robot, tmp_path / "native.fmu", SCENE), tmp_path / "files")
    other = FmuComponent("collision", build("collision", robot, tmp_path / "collision.fmu", SCENE))
    other.initialize(0.0)
    q, v = positions(robot, 100)
    lines = run_host(host, asked(unit, q, v), environment={})
    inputs = [f"{port}[{i + 1}]" for port in "qv" for i in range(len(robot.home))]
    same = 0
    for k, numbers in enumerate(np.hstack([q, v])):
        other.writer(inputs, numbers.copy())()
        other.step(float(k), 1.0)
        distance, told, *bodies = lines[4 * k : 4 * k + 4]
        assert float.fromhex(distance) == pytest.approx(other.get("distance"), abs=1e-12)
        if bodies == [other.get("body_a"), other.get("body_b")]:
            same += 1
            found = [float.fromhex(word) for word in told.split()]
            assert found[9] == pytest.approx(other.get("time_to_contact"), rel=1e-6)
            np.testing.assert_allclose(
                np.subtract(found[3:6], found[:3]), float.fromhex(distance) * np.array(found[6:9]), atol=1e-9
            )
    other.close()
    assert same >= 50


def test_its_ports_are_those_of_the_python_unit(native: Unpacked, tmp_path: Path) -> None:
    path = build("collision", robots.load("yumi"), tmp_path / "collision.fmu", SCENE)
    python = ET.parse(unpack(path, tmp_path / "python").folder / "modelDescription.xml").getroot()
    ours = ET.parse(native.folder / "modelDescription.xml").getroot()
    for part in ("ModelVariables", "ModelStructure", "UnitDefinitions", "DefaultExperiment"):
        both = [ET.canonicalize(ET.tostring(root.find(part)), strip_text=True) for root in (python, ours)]
        assert both[0] == both[1]
    unit = ours.find("CoSimulation")
    assert unit is not None
    assert unit.get("needsExecutionTool") == "false"
    assert {file.get("name") for file in unit.iterfind("SourceFiles/File")} <= {
        file.name for file in (native.folder / "sources").iterdir()
    }


def test_it_is_the_same_file_twice_and_valid_and_runs_in_our_master(tmp_path: Path) -> None:
    robot = robots.load("yumi")
    paths = [build_native_collision(robot, tmp_path / name, SCENE) for name in ("a.fmu", "b.fmu")]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert validate_fmu(str(paths[0])) == []
    component = FmuComponent("collision", paths[0])
    component.initialize(0.0)
    slot = component.save()
    component.set("q[1]", 0.3)
    component.step(0.0, 1.0)
    moved = component.get("distance")
    component.restore(slot)
    assert component.get("q[1]") == robot.home[0]
    component.set("q[1]", 0.3)
    component.step(0.0, 1.0)
    assert component.get("distance") == moved
    component.close()


def libraries_of(program: Path) -> list[str]:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(/\S+)", listed)


def test_it_runs_where_there_is_no_python_at_all(host: Path, native: Unpacked, tmp_path: Path) -> None:
    """In a root folder that holds the host, the C library and the unit, and nothing else."""
    jail = tmp_path / "jail"
    shutil.copytree(native.folder, jail / "unit")
    shutil.copy(host, jail / "fmi_host")
    for library in [*libraries_of(host), *libraries_of(native.library)]:
        target = jail / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
    command = ["unshare", "--map-root-user", f"--root={jail}", "/fmi_host"]
    if shutil.which("unshare") is None or subprocess.run(command, input=b"", capture_output=True).returncode:
        pytest.skip("this machine cannot shut a program into a folder")
    script = asked(native, *positions(robots.load("yumi"), 5))
    inside = [
        line.replace(str(native.folder), "/unit").replace(native.folder.as_uri(), "file:///unit") for line in script
    ]
    done = subprocess.run(command, input="\n".join(inside) + "\n", env={}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == run_host(host, script, environment={})
    assert len(done.stdout.splitlines()) == 20


def documented_line() -> Sequence[str]:
    """The line of docs/export.md that compiles a native unit's sources."""
    line = re.search(r"^cc .*-shared.*$", (ROOT / "docs/export.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert line is not None
    return line.group().split()


def test_its_sources_compile_with_the_documented_line_to_the_same_answers(
    host: Path, native: Unpacked, tmp_path: Path
) -> None:
    again = Unpacked(tmp_path / "unit", tmp_path / "unit/sources/simloop_collision.so", native.guid, native.reference)
    shutil.copytree(native.folder, again.folder)
    done = subprocess.run(
        " ".join(documented_line()), shell=True, cwd=again.folder / "sources", capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    q, v = positions(robots.load("yumi"), 20)
    answers = [run_host(host, asked(unit, q, v), environment={}) for unit in (native, again)]
    distances = np.array([[float.fromhex(line) for line in lines[::4]] for lines in answers])
    np.testing.assert_allclose(distances[1], distances[0], rtol=0, atol=1e-12)


@pytest.fixture(scope="module")
def checked(native: Unpacked, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Unpacked]:
    """A host and the unit, both under the address sanitiser, which makes the host print and fail. GJK takes its plain
    path, which compiles ten times as fast; `make stress` has the other one under both sanitisers."""
    folder = tmp_path_factory.mktemp("checked")
    unit = Unpacked(folder / "unit", folder / "checked.so", native.guid, native.reference)
    shutil.copytree(native.folder, unit.folder)
    sources = sorted((unit.folder / "sources").glob("*.c"))
    flags = ["-std=c11", "-O1", "-fsanitize=address", "-DGJK_PLAIN", "-shared", "-fPIC", "-fvisibility=hidden"]
    compile_c(*flags, *sources, "-o", unit.library, "-lm")
    return compile_host(folder, *CHECKED), unit


def test_wrong_calls_are_errors_that_change_nothing(checked: tuple[Path, Unpacked]) -> None:
    host, unit = checked
    ref, home = unit.reference, robots.load("yumi").home
    script = [unit.opened("a"), "step a 0 1", "start a", "save a", f"set a {ref['q[1]']} 0.5", "step a 0 1", "pass a a"]
    script += [f"get a {ref['q[1]']} 1", f"set a {ref['distance']} 1", f"set a {ref['q[2]']} inf"]
    script += ["step a 0 0", "string a 0", f"text a {ref['body_a']} x", "get a 4000000000 1", "close a"]
    said = run_host(host, [*script, unit.opened("b").replace(unit.guid, "{not-it}")])
    assert [line for line in said if not line.startswith("status 3")] == [
        "log a 3 a: a step was asked for before the unit was initialised",
        said[2],
        "log a 3 a.distance is an output and cannot be set",
        "log a 3 a.q[2] was set to infinity; a finite number is needed",
        "log a 3 a: the step size is 0; it must be greater than 0",
        "log a 3 a: value reference 0 is not a variable of type String",
        "log a 3 a: the strings of this unit are outputs and cannot be set",
        "log a 3 a.unknown variable (value reference 4000000000) is not a variable of type Real",
        f"log b 3 b: the host asked for GUID {{not-it}}, but this unit is {unit.guid}",
    ]
    assert float.fromhex(said[2]) == home[0]


def test_a_broken_robot_file_is_refused_or_runs_but_never_reads_beyond_itself(
    checked: tuple[Path, Unpacked], tmp_path: Path
) -> None:
    """60 files with their end cut off, or with four bytes of the head or of the rest overwritten."""
    host, unit = checked
    whole = (unit.resources / "robot.bin").read_bytes()
    rng = np.random.default_rng(2)
    refused = 0
    for k in range(60):
        broken = bytearray(whole)
        at = int(rng.integers(0, 48 if k % 3 == 0 else len(whole)))
        broken[at:] = broken[at:][:0] if k % 3 == 1 else rng.bytes(4) + broken[at + 4 :]
        folder = tmp_path / f"broken{k}"
        (folder / "resources").mkdir(parents=True)
        (folder / "resources/robot.bin").write_bytes(broken)
        opened = Unpacked(folder, unit.library, unit.guid, {}).opened("u")
        if run_host(host, [opened]):
            refused += 1
        else:
            run_host(host, [opened, "start u", "step u 0 1", "close u"])
    assert refused >= 20
