"""`simloop export`: the files it writes, and how it refuses."""

from __future__ import annotations

import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from simloop.fmus.export import UNITS

from tests.studio.test_cli import call


def test_one_unit_is_one_file_that_tells_of_itself(tmp_path: Path) -> None:
    path = tmp_path / "yumi-plant.fmu"
    assert call("export", "plant", "--robot", "yumi", "-o", path).output.split() == [str(path)]
    assert "simloop.yumi.plant" in call("info", path).output
    with zipfile.ZipFile(path) as archive:
        page = archive.read("documentation/index.html").decode()
        licence = archive.read("documentation/licenses/license.txt").decode()
        description = ET.fromstring(archive.read("modelDescription.xml"))
        needed = archive.read("resources/requirements.txt").decode()
    assert "Apache License" in licence
    assert needed == f"simloop=={description.get('version')}\n"
    experiment = description.find("DefaultExperiment")
    assert experiment is not None
    assert {"startTime", "stopTime", "stepSize"} <= set(experiment.attrib)
    table = ET.fromstring(page.partition("\n")[2].replace('<meta charset="utf-8">', ""))
    rows = [cell.text for cell in table.iterfind("./body/table/tr/td[1]/code")]
    ports = [v.get("name", "") for v in description.iterfind("ModelVariables/ScalarVariable")]
    assert {row.split("[")[0] for row in rows if row} == {port.split("[")[0] for port in ports}
    picture = table.find("./body/{http://www.w3.org/2000/svg}svg")
    assert picture is not None
    assert len(picture) > 100


def test_every_unit_of_a_scenario_or_robot_goes_into_a_folder(tmp_path: Path) -> None:
    written = call("export", "--all", "--scenario", "sphere-collision", "-o", tmp_path / "units").output.split()
    assert sorted(Path(path).stem for path in written) == sorted(UNITS)
    assert "floor" in zipfile.ZipFile(tmp_path / "units/collision.fmu").read("resources/model.xml").decode()


def test_a_native_unit_has_sources_and_no_python(tmp_path: Path) -> None:
    assert call("export", "collision", "--robot", "iiwa", "--native", "-o", tmp_path / "near.fmu").exit_code == 0
    names = zipfile.ZipFile(tmp_path / "near.fmu").namelist()
    assert "sources/native_collision.c" in names
    assert not [name for name in names if name.endswith((".py", ".xml")) and name != "modelDescription.xml"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plant"], "--robot or a --scenario"),
        (["plant", "--robot", "yumi", "--scenario", "sphere-step"], "--robot or a --scenario"),
        (["--robot", "yumi"], "name one unit, such as plant, or --all"),
        (["plant", "--all", "--robot", "yumi"], "name one unit"),
        (["plnt", "--robot", "yumi"], "did you mean plant"),
        (["plant", "--robot", "yumy"], "did you mean yumi"),
        (["plant", "--native", "--robot", "yumi"], "--native goes with collision"),
        (["collision", "--native", "--bundle", "--robot", "yumi"], "no Python in it"),
        (["plant", "--scenario", "sphere-step", "--tool", "x"], "--tool goes with a --robot file"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence_and_no_file(arguments: list[str], said: str, tmp_path: Path) -> None:
    answer = call("export", *arguments, "-o", tmp_path / "out")
    assert answer.exit_code == 2
    assert said in answer.output
    assert len(answer.output.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_where_a_file_belongs_and_the_other_way_round_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    assert "which is a folder" in call("export", "plant", "--robot", "sphere", "-o", tmp_path / "folder").output
    assert "which is a file" in call("export", "--all", "--robot", "sphere", "-o", tmp_path / "file").output
    assert (tmp_path / "file").read_text() == "mine"
