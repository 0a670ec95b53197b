"""Packages from a stranger: refused with one line that names the fault, and nothing lands outside their folder."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import pytest
from simloop.master import SimloopError
from simloop.master.archive import unpack
from simloop.master.ssp import SspError, load_ssp

from tests.master.ssp_packages import NAMESPACES, pack, ssd, unit

GOOD = f"<ssd:Elements>{unit('a', 'gain')}</ssd:Elements>"


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/evil", "..\\evil", "C:evil", "a\\..\\..\\evil"])
def test_an_entry_that_leaves_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "deep" / "inside"
    inside.mkdir(parents=True)
    path = pack(tmp_path / "x.ssp", ssd(GOOD), {name: "out"})
    with pytest.raises(SimloopError, match=r"leaves its folder|absolute path|not allowed in a path"):
        unpack(path, inside)
    assert not list(inside.iterdir())
    assert not list(tmp_path.rglob("evil"))


def test_a_link_is_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.ssp", ssd(GOOD))
    link = zipfile.ZipInfo("resources/link.fmu")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(SimloopError, match=r"'resources/link\.fmu' is a link"):
        load_ssp(path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "x.ssp"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("SystemStructure.ssd", b"\0" * 50_000_000)
    with pytest.raises(SimloopError, match="would grow from"):
        load_ssp(path)


def test_too_many_entries_are_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.ssp", ssd(GOOD), {f"f{i}": "" for i in range(20_001)})
    with pytest.raises(SimloopError, match="entries"):
        load_ssp(path)


def test_one_name_twice_is_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.ssp", ssd(GOOD), {"systemstructure.SSD": ssd(GOOD)})
    with pytest.raises(SimloopError, match="two entries"):
        load_ssp(path)


def test_a_file_that_is_a_folder_too_is_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.ssp", ssd(GOOD), {"a": "", "a/b": ""})
    with pytest.raises(SimloopError, match="cannot be unpacked"):
        load_ssp(path)


ENTITIES = '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ENTITIES + ssd(GOOD).replace('name="root"', 'name="&e;"'), "document type"),
        ('<!DOCTYPE a [<!ENTITY a "x"><!ENTITY b "&a;&a;">]>' + ssd(GOOD), "document type"),
        (ssd(GOOD)[:-20], "is not XML"),
        ("", "is not XML"),
        ("<a>" * 100_000, "nested more than 64 deep"),
        ("<html/>", "is a html, not a SystemStructureDescription"),
        (ssd(GOOD).replace('version="1.0"', 'version="2.0"'), "SSP 2.0; simloop reads SSP 1"),
        (f'<ssd:SystemStructureDescription {NAMESPACES} version="1.0" name="x"/>', "has no System"),
        (ssd(GOOD).replace('name="a"', ""), "Component has no name"),
        (ssd(GOOD).replace('kind="input"', 'kind="sideways"'), "'sideways'; input, output"),
    ],
)
def test_bad_xml_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SspError, match=said) as caught:
        load_ssp(pack(tmp_path / "x.ssp", text))
    assert "x.ssp" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_entities_in_a_parameter_set_are_refused_too(tmp_path: Path) -> None:
    bindings = '<ssd:ParameterBindings><ssd:ParameterBinding source="p.ssv"/></ssd:ParameterBindings>'
    with pytest.raises(SspError, match=r"p\.ssv.*document type"):
        load_ssp(pack(tmp_path / "x.ssp", ssd(bindings + GOOD), {"p.ssv": ENTITIES + "<a/>"}))


@pytest.mark.parametrize("data", [b"", b"PK", b"not a zip", b"PK\3\4" + b"\xff" * 60])
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.ssp"
    path.write_bytes(data)
    with pytest.raises(SimloopError, match=r"x\.ssp.*cannot be unpacked"):
        load_ssp(path)


def test_a_truncated_package_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.ssp", ssd(GOOD))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    # What is left may end with a whole unit, which is an archive too, but not a package.
    with pytest.raises(SimloopError, match=r"x\.ssp.*(cannot be unpacked|no file 'SystemStructure\.ssd')"):
        load_ssp(path)
    with pytest.raises(SimloopError, match="there is no file"):
        load_ssp(tmp_path / "none.ssp")
