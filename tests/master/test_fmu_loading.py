"""Hardened loading: whatever a file holds, it is a unit that works or one sentence that names file and fault."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import fmpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from simloop.master import Claimed, FmuComponent, SimloopError, archive, description

from tests.units.build import SPRING, SPRINGS, TYPES3, NativeUnits, describe2, describe3, write_unit

GOOD = describe2(SPRING)
SUFFIX = fmpy.sharedLibraryExtension


def library_of(path: Path) -> bytes:
    with zipfile.ZipFile(path) as opened:
        return opened.read(next(name for name in opened.namelist() if name.endswith(SUFFIX)))


def refused(path: Path) -> str:
    """The one line with which a file is refused."""
    with pytest.raises(SimloopError) as caught:
        FmuComponent("unit", path, trust=Claimed())
    told = str(caught.value)
    assert "\n" not in told
    assert path.name in told
    return told


def entry(name: str, mode: int = 0) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


@pytest.mark.parametrize(
    ("name", "mode", "said"),
    [
        ("../out.txt", 0, "leaves its folder"),
        ("resources/../../out.txt", 0, "leaves its folder"),
        ("/out.txt", 0, "absolute path"),
        ("C:/out.txt", 0, "absolute path"),
        ("..\\out.txt", 0, "character that is not allowed"),
        ("resources/out\0.txt", 0, "character that is not allowed"),
        ("resources/link", stat.S_IFLNK | 0o777, "a link or a device"),
        ("resources/pipe", stat.S_IFIFO | 0o777, "a link or a device"),
        ("a/" * 40 + "deep", 0, "41 folders deep"),
        ("modelDescription.xml/inside", 0, "cannot be unpacked"),
        ("x" * 300, 0, "cannot be unpacked"),
    ],
)
def test_an_entry_that_is_not_a_file_inside_the_folder_is_refused(
    name: str, mode: int, said: str, native: NativeUnits, tmp_path: Path
) -> None:
    path = tmp_path / "in" / "bad.fmu"
    path.parent.mkdir()
    write_unit(path, GOOD, library_of(native["spring"]))
    with zipfile.ZipFile(path, "a") as opened:
        info = entry("x" * len(name), mode)
        # zipfile would clean the name; a hostile writer would not.
        info.filename = name
        opened.writestr(info, "/etc/passwd")
    assert said in refused(path)
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


def test_an_archive_that_would_fill_the_disk_is_refused_before_it_does(
    native: NativeUnits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.fmu"
    write_unit(path, GOOD, library_of(native["spring"]))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("resources/zeros", bytes(20 * 2**20))
    assert "'resources/zeros' would grow from" in refused(path)
    monkeypatch.setattr(archive, "MOST_GROWTH", 10**6)
    monkeypatch.setattr(archive, "MOST_BYTES", 2**20)
    assert "bytes unpacked; at most 1048576 are allowed" in refused(path)
    monkeypatch.setattr(archive, "MOST_ENTRIES", 2)
    assert "it has 3 entries; at most 2 are allowed" in refused(path)


@pytest.mark.parametrize("declared", [0, 10, 10**6])
def test_a_size_that_is_not_the_declared_one_is_refused(declared: int, native: NativeUnits, tmp_path: Path) -> None:
    path = tmp_path / "liar.fmu"
    write_unit(path, GOOD, library_of(native["spring"]))
    size = len(GOOD.encode()).to_bytes(4, "little")
    data = path.read_bytes()
    assert data.count(size) == 2  # in the entry's own header and in the directory at the end
    path.write_bytes(data.replace(size, declared.to_bytes(4, "little")))
    refused(path)


def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.fmu"
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("modelDescription.xml", GOOD)
        with pytest.warns(UserWarning, match="Duplicate"):
            opened.writestr("modelDescription.xml", GOOD)
    assert "two entries 'modelDescription.xml'" in refused(path)


LAUGHS = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(9))
SECRET = '<!ENTITY secret SYSTEM "file:///etc/hostname">'


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda xml: xml.replace("?>", f'?><!DOCTYPE f [<!ENTITY l0 "ha">{LAUGHS}]>', 1), "DOCTYPE"),
        (lambda xml: xml.replace("?>", f"?><!DOCTYPE f [{SECRET}]>", 1).replace('"x"', '"&secret;"'), "DOCTYPE"),
        (lambda xml: xml.replace("?>", '?><!DOCTYPE f SYSTEM "http://localhost/f.dtd">', 1), "DOCTYPE"),
        (lambda xml: xml[: len(xml) // 2], "cannot be read|can be read"),
        (lambda xml: "", "can be read"),
        (lambda xml: "<a>" * 100_000, "can be read"),
        (lambda xml: xml.replace('fmiVersion="2.0"', 'fmiVersion="1.0"'), "can be"),
        (lambda xml: xml.replace('fmiVersion="2.0"', 'fmiVersion="7.0"'), "7.0"),
        (lambda xml: xml.replace('modelIdentifier="unit"', 'modelIdentifier="../../unit"'), "not a name in C"),
        (lambda xml: xml.replace('modelIdentifier="unit"', ""), "modelIdentifier"),
        (lambda xml: xml.replace('guid="spring"', ""), "guid"),
        (lambda xml: xml.replace('guid="spring"', 'guid=""'), "neither GUID nor"),
        (lambda xml: xml.replace('causality="input"', 'causality="inward"'), "inward"),
        (lambda xml: xml.replace('valueReference="3"', ""), "valueReference"),
        (lambda xml: xml.replace('name="v"', 'name="x"'), "not unique"),
        (lambda xml: xml.replace('start="100.0"', 'start="much"'), "much"),
        (lambda xml: xml.replace('<Unknown index="4"/>', '<Unknown index="40"/>'), "read"),
        (
            lambda xml: xml.replace("<CoSimulation", "<ModelExchange").replace(
                'canHandleVariableCommunicationStepSize="true"', ""
            ),
            "not for co-simulation",
        ),
    ],
)
def test_a_description_that_is_hostile_or_wrong_is_refused(
    change: Callable[[str], str], said: str, native: NativeUnits, tmp_path: Path
) -> None:
    path = tmp_path / "wrong.fmu"
    xml = change(GOOD)
    assert xml != GOOD
    write_unit(path, xml, library_of(native["spring"]))
    told = refused(path)
    assert any(part in told for part in said.split("|")), told


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([*SPRINGS, SPRINGS[2].replace('"k"', '"also_k"')], "same value reference"),
        (
            [row.replace('<Dimension start="3"/>', '<Dimension start="3000000"/>') for row in SPRINGS],
            "6000000 elements",
        ),
        ([row.replace('start="1 0 0 0 1 0"', 'start="1 0 0"') for row in SPRINGS], "6 elements and 3 start values"),
        ([*SPRINGS, SPRINGS[2].replace('"k"', '"x[1]"').replace('"3"', '"20"')], "two variables x[1]"),
        ([row.replace('<Dimension valueReference="1"/>', '<Dimension valueReference="99"/>') for row in SPRINGS], "99"),
        (
            [
                *SPRINGS,
                '<Clock name="c" valueReference="30" causality="input" intervalVariability="countdown"/>',
            ],
            "clock c",
        ),
    ],
    ids=["reference", "elements", "starts", "names", "dimension", "clock"],
)
def test_a_description_of_fmi_3_that_contradicts_itself_is_refused(
    rows: list[str], said: str, native: NativeUnits, tmp_path: Path
) -> None:
    path = tmp_path / "wrong.fmu"
    xml = describe3(rows, (4, 5, 7), token="springs", abilities='hasEventMode="true"')
    write_unit(path, xml, library_of(native["springs"]))
    assert said in refused(path)


def test_an_integer_and_an_enumeration_cannot_share_a_reference(native: NativeUnits, tmp_path: Path) -> None:
    path = tmp_path / "wrong.fmu"
    with zipfile.ZipFile(native["types2"]) as opened:
        xml = opened.read("modelDescription.xml").decode()
    write_unit(path, xml.replace('name="choice" valueReference="2"', 'name="choice" valueReference="0"'), b"")
    assert "whole (Integer) and choice (Enumeration) have the same value reference 0" in refused(path)


def test_a_description_that_is_too_large_is_refused(
    native: NativeUnits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(description, "MOST_BYTES", 500)
    assert "at most 500 are allowed" in refused(native["spring"])


def test_a_wrong_guid_and_a_missing_function_are_told(native: NativeUnits, tmp_path: Path) -> None:
    assert "the GUID another is not spring" in refused(native["wrong_guid"])
    token = tmp_path / "wrong_token.fmu"
    xml = describe3(SPRINGS, (4, 5, 7), token="another", abilities="")
    write_unit(token, xml, library_of(native["springs"]))
    assert refused(token).startswith("unit failed in loading")
    assert "the instantiation token is not springs" in refused(token)
    assert refused(native["no_do_step"]).endswith("its binary lacks the function fmi2DoStep")


@pytest.mark.parametrize(
    ("platform", "content", "said"),
    [
        ("win64", b"MZ", "has no binary .* for this machine; it has win64"),
        ("..", b"", "leaves its folder"),
        (None, b"MZ\x90\x00 a library of another system", "cannot be loaded"),
        (None, b"", "cannot be loaded"),
        (None, b"\x7fELF\x02\x01\x01", "cannot be loaded"),
    ],
)
def test_a_binary_that_is_missing_or_foreign_is_told(
    platform: str | None, content: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "foreign.fmu"
    write_unit(path, GOOD, content, platform)
    with pytest.raises(SimloopError, match=said):
        FmuComponent("unit", path, trust=Claimed())


def test_a_library_that_is_no_unit_lacks_the_functions_of_one(tmp_path: Path) -> None:
    path = tmp_path / "plain.fmu"
    library = Path(fmpy.__file__).parent / "logging" / fmpy.platform / f"logging{SUFFIX}"
    write_unit(path, GOOD, library.read_bytes())
    assert "lacks the function fmi2FreeInstance, fmi2Terminate, fmi2DoStep" in refused(path)


def survives(path: Path) -> None:
    """It loads, or is refused in one line; any other exception fails the test."""
    told = ""
    try:
        FmuComponent("unit", path, trust=Claimed()).close()
    except SimloopError as error:
        told = str(error)
    assert len(told.splitlines()) <= 1


FUZZ = settings(
    max_examples=120,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
CHANGES = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=4)


def damaged(data: bytes, changes: list[tuple[float, int]], cut: float) -> bytes:
    """Some bytes turned over, and perhaps the end cut off."""
    changed = bytearray(data)
    for place, flip in changes:
        changed[int(place * len(changed))] ^= flip
    return bytes(changed[: int(cut * len(changed)) + 1])


@FUZZ
@given(changes=CHANGES, cut=st.sampled_from([1.0, 1.0, 0.99, 0.5, 0.1]))
def test_a_damaged_file_never_raises_anything_else(
    changes: list[tuple[float, int]], cut: float, native: NativeUnits, tmp_path: Path
) -> None:
    path = tmp_path / "damaged.fmu"
    path.write_bytes(damaged(native["spring"].read_bytes(), changes, cut))
    survives(path)


DESCRIPTIONS = {
    "spring": GOOD,
    "springs": describe3(SPRINGS, (4, 5, 7), token="springs", abilities=""),
    "types3": describe3(TYPES3, range(11, 41, 2), token="types", abilities=""),
}


@FUZZ
@given(name=st.sampled_from(sorted(DESCRIPTIONS)), changes=CHANGES, cut=st.sampled_from([1.0, 1.0, 1.0, 0.9]))
def test_a_damaged_description_never_raises_anything_else(
    name: str, changes: list[tuple[float, int]], cut: float, native: NativeUnits, tmp_path: Path
) -> None:
    path = tmp_path / "damaged.fmu"
    library = library_of(native[name])
    xml = damaged(DESCRIPTIONS[name].encode(), changes, cut)
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("modelDescription.xml", xml)
        for platform in (fmpy.platform, fmpy.platform_tuple):
            opened.writestr(f"binaries/{platform}/unit{SUFFIX}", library)
    survives(path)
