"""Packages from the command line: run, written, drawn; a scenario written and run again gives the same bytes."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result
from fmpy.ssp.ssd import read_ssd
from simloop.studio.cli import main

from tests.master.ssp_packages import connector, inline, pack, run_by_fmpy, ssd, unit, wire

SCALED = '<ssc:LinearTransformation factor="10" offset="1"/>'
CONTENTS = (
    f"<ssd:Connectors>{connector('In1', 'input')}</ssd:Connectors>"
    f"<ssd:Elements>{unit('store', 'integrator', inline({'k': 2.0, 'wrong': 1.0}))}</ssd:Elements>"
    f"<ssd:Connections>{wire('In1', 'store.u', SCALED)}</ssd:Connections>"
)


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An integrator of 2 (10 In1 + 1)."""
    folder = tmp_path_factory.mktemp("package")
    variant = ssd(CONTENTS.replace('value="2.0"', 'value="3.0"'), '<ssd:DefaultExperiment stopTime="1"/>', "variant")
    return pack(folder / "store.ssp", ssd(CONTENTS), {"Variant.ssd": variant})


def test_a_package_runs_and_leaves_its_record(package: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("--step", "1/100", "--duration", "1", "--set", "In1=0.4", "--at", "0.5:In1=0.9", "--csv")
    answer = call("run", package, *arguments, "--out", out)
    assert answer.exit_code == 0, answer.output
    assert "'store.wrong'" in answer.output, "what was left out is told"
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert (record["system"], record["status"], record["rows"]) == ("by hand", "complete", 101)
    assert record["parameters"] == {"store.k": 2.0, "store.u": 5.0}
    assert record["schedule"] == "jacobi"
    assert len(record["units"]["store"]) == 64
    y = pyarrow.parquet.read_table(out / "signals.parquet")["store.y"].to_numpy()
    # Before 0.5 s the rate is 2 (10 · 0.4 + 1), after it 2 (10 · 0.9 + 1).
    np.testing.assert_allclose(y[[50, 100]], [0.5 * 10.0, 0.5 * 10.0 + 0.5 * 20.0], rtol=1e-12)
    assert sorted(path.name for path in out.iterdir()) == ["run.json", "signals.csv", "signals.parquet"]
    again = call("run", package, *arguments[:-1], "--out", out)
    assert again.exit_code == 0, again.output
    assert not (out / "signals.csv").exists()


def test_a_ring_in_a_package_is_solved_refused_or_late_as_the_algorithm_is(tmp_path: Path) -> None:
    """a = b / 2 and b = (a + 1) / 2, at once: b is 2/3."""
    half, up = inline({"k": 0.5}), '<ssc:LinearTransformation factor="1" offset="1"/>'
    ring = (
        f"<ssd:Elements>{unit('a', 'gain', half)}{unit('b', 'gain', half)}</ssd:Elements>"
        f"<ssd:Connections>{wire('a.y', 'b.u', up)}{wire('b.y', 'a.u')}</ssd:Connections>"
    )
    file = pack(tmp_path / "ring.ssp", ssd(ring))
    arguments = ("run", file, "--step", "1", "--duration", "3", "--out", tmp_path / "out", "--algorithm")
    answer = call(*arguments, "iterative")
    assert answer.exit_code == 0, answer.output
    assert json.loads((tmp_path / "out/run.json").read_text(encoding="utf-8"))["schedule"] == "iterative"
    b = pyarrow.parquet.read_table(tmp_path / "out/signals.parquet")["b.y"].to_numpy()
    np.testing.assert_allclose(b[1:], 2 / 3, atol=1e-9)
    assert call(*arguments, "jacobi").exit_code == 0
    late = pyarrow.parquet.read_table(tmp_path / "out/signals.parquet")["b.y"].to_numpy()
    assert abs(late[1] - 2 / 3) > 0.1
    for name, said in (("gauss-seidel", "depend on each other directly"), ("gauss", "did you mean gauss-seidel")):
        answer = call(*arguments, name)
        assert answer.exit_code == 2
        assert said in answer.output


def test_another_description_of_a_package_runs_by_its_name(package: Path, tmp_path: Path) -> None:
    answer = call("run", f"{package}#Variant.ssd", "--out", tmp_path / "out")
    assert answer.exit_code == 0, answer.output
    assert "variant: complete, 200 steps of 1/200 s" in answer.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.ssp"], "there is no file 'none.ssp'"),
        (["PACKAGE"], "give a --duration"),
        (["PACKAGE", "--duration", "1", "--robot", "sphere"], "--robot goes with a scenario"),
        (["PACKAGE", "--duration", "1", "--seed", "0"], "--seed goes with a scenario"),
        (["PACKAGE", "--duration", "1", "--pace", "1"], "--pace goes with a scenario"),
        (["PACKAGE", "--duration", "1", "--view"], "--view goes with a scenario"),
        (["PACKAGE", "--duration", "1", "-v"], "-v goes with a scenario"),
        (["PACKAGE", "--duration", "1", "--set", "In2=1"], "no variable 'In2'"),
        (["PACKAGE", "--duration", "1", "--set", "In1=fast"], "In1 cannot be 'fast'"),
        (["PACKAGE", "--duration", "1", "--at", "2:In1=1"], "cannot be written at 2.0 s"),
        (["PACKAGE#None.ssd", "--duration", "1"], "no file 'None.ssd'"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    package: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    arguments = [argument.replace("PACKAGE", str(package)) for argument in arguments]
    answer = call("run", *arguments, "--out", tmp_path / "out")
    assert answer.exit_code == 2
    assert said in answer.output
    assert answer.output.count("\n") == 1
    assert not (tmp_path / "out").exists()


# Of a scenario that is exported: a parameter, an input on the way, and the parameter on the way.
EXPORTED = (
    *("--step", "1/100", "--duration", "1", "--set", "plant.mass_error=0.1"),
    *("--at", "1/2:plant.f_ext=0.5", "--at", "3/4:plant.mass_error=0.2"),
)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exported") / "sphere.ssp"
    answer = call("export-ssp", "sphere-step", "-o", path, *EXPORTED)
    assert answer.exit_code == 0, answer.output
    return path


def test_a_scenario_as_a_package_gives_the_same_bytes(exported: Path, tmp_path: Path) -> None:
    """Rollback, parameters, timed writes: all of it is in the package."""
    assert call("run", "sphere-step", *EXPORTED, "--csv", "--out", tmp_path / "scenario").exit_code == 0
    answer = call("run", exported, "--csv", "--out", tmp_path / "package")
    assert answer.exit_code == 0, answer.output
    written = [(tmp_path / folder / "signals.csv").read_bytes() for folder in ("scenario", "package")]
    assert written[0] == written[1]
    record = json.loads((tmp_path / "package" / "run.json").read_text(encoding="utf-8"))
    assert record["schedule"] == "simulation_in_the_loop"


def test_an_exported_scenario_is_valid_and_holds_its_units_and_values(exported: Path) -> None:
    described = read_ssd(str(exported), validate=True)
    names = [component.name for component in described.system.elements]
    assert names == ["planner", "control", "plant", "collision"]
    values = described.system.elements[2].parameterBindings[0].parameterValues[0].parameters
    assert ("mass_error", "0.1") in [(each.name, each.value) for each in values]


def test_fmpy_runs_an_exported_scenario(exported: Path) -> None:
    """It knows neither the rollback nor what inputs start from: that it runs is promised, the numbers are its own."""
    theirs = run_by_fmpy(exported, 0.2, 0.01)
    assert len(theirs) == 20
    assert theirs["planner.q_d[1]"][-1] > theirs["planner.q_d[1]"][0] > 0.0, "the planner was given its goal"


def test_contact_by_events_goes_along(tmp_path: Path) -> None:
    """The located touches are part of the schedule that the package carries."""
    scenario = ("packbot-collapse", "--step", "1/100", "--duration", "0.2", "--set", "plant.contact=events")
    path = tmp_path / "arm.ssp"
    assert call("export-ssp", *scenario, "-o", path).exit_code == 0
    with zipfile.ZipFile(path) as archive:
        assert b'indicator="gap"' in archive.read("SystemStructure.ssd")
    assert call("run", path, "--csv", "--out", tmp_path / "package").exit_code == 0
    assert call("run", *scenario, "--csv", "--out", tmp_path / "scenario").exit_code == 0
    written = [(tmp_path / folder / "signals.csv").read_bytes() for folder in ("scenario", "package")]
    assert written[0] == written[1]


def test_what_cannot_be_exported_is_named(tmp_path: Path) -> None:
    answer = call("export-ssp", "sphere-offline", "-o", tmp_path / "x.ssp")
    assert answer.exit_code == 2
    assert "file of joint positions" in answer.output
    answer = call("export-ssp", "sphere-step", "-o", tmp_path / "x.ssp", "--at", "1:plant.tau=1")
    assert answer.exit_code == 2
    assert "plant.tau[1] cannot be written while a run goes on: it is driven by control.tau[1]" in answer.output
    assert not (tmp_path / "x.ssp").exists()


@pytest.mark.parametrize("kind", ["scenario", "package"])
def test_scenarios_and_packages_are_drawn(package: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "x.svg"
    answer = call("graph", "sphere-step" if kind == "scenario" else package, "-o", out)
    assert answer.exit_code == 0, answer.output
    texts = ["".join(text.itertext()) for text in ET.parse(out).iter("{http://www.w3.org/2000/svg}text")]
    expected = {"planner", "control", "plant", "collision"} if kind == "scenario" else {"store"}
    assert expected <= set(texts)
