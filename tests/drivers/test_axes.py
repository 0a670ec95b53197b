"""Counts and per mille to joints and torque, from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from simloop.drivers.axes import read_axes

TWO = """
[[joint]]
node = 3
counts_per_unit = 1000.0
rated_torque = 50.0
zero = 250

[[joint]]
node = 4
counts_per_unit = -2000.0
rated_torque = 8.0
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "drives.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_drive_that_turns_the_other_way_has_both_signs_turned(tmp_path: Path) -> None:
    axes = read_axes(written(tmp_path, TWO), 2)
    assert axes.position(np.array([1250.0, 1000.0])).tolist() == [1.0, -0.5]
    assert axes.counts(np.array([1.0, -0.5])).tolist() == [1250.0, 1000.0]
    # Per mille of rated: 25 N·m of 50 is 500.
    assert axes.per_mille(np.array([25.0, 4.0])).tolist() == [500.0, -500.0]
    np.testing.assert_allclose(axes.torque(np.array([500.0, -500.0])), [25.0, 4.0])


def test_what_cannot_be_sent_is_cut_to_an_int16(tmp_path: Path) -> None:
    axes = read_axes(written(tmp_path, TWO), 2)
    assert axes.per_mille(np.array([1e9, -1e9])).tolist() == [32767.0, 32767.0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("node = 4", "node = 3"), "the same node"),
        (("node = 4", "node = 128"), "node = 128; it must be a whole number from 1 to 127"),
        (("node = 4", ""), "needs 'node'"),
        (("rated_torque = 8.0", "rated_torque = 0"), "rated_torque = 0; it must be a number greater than 0"),
        (("counts_per_unit = -2000.0", "counts_per_unit = nan"), "counts_per_unit = nan"),
        (("zero = 250", "offset = 250"), "knows no 'offset'"),
        (("[[joint]]", "[joint]"), "cannot be read|tables"),
    ],
)
def test_a_wrong_file_is_told_by_joint_and_field(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_axes(written(tmp_path, TWO.replace(*change)), 2)


def test_every_joint_needs_its_drive(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has 2 tables .* the robot has 7 joints"):
        read_axes(written(tmp_path, TWO), 7)
