"""The command with a robot in the plant's place: bad input is one sentence, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from simloop.studio.cli import main


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("run step --robot iiwa --plant toaster", "--plant is 'toaster'; it can be canopen or egm"),
        ("run step --robot iiwa --shadow", "--shadow goes with a --plant"),
        ("run step --robot iiwa --plant egm --step 1/200", "EGM runs in multiples of 0.004 s"),
        ("run step --robot sphere --plant egm --step 1/250", "this robot has 1\n"),
        ("run step --robot iiwa --plant canopen --set driver.mass_error=0.1", "no variable 'plant.mass_error'"),
        ("run step --robot iiwa --plant canopen --set driver.config=none.toml", "'none.toml' cannot be read"),
        ("run packbot-collapse --plant canopen", "a real robot runs once"),
        ("emulate egm --robot sphere", "this robot has 1\n"),
        ("emulate egm --robot iiwa --inject lost", "is not KIND@CYCLE"),
        ("emulate canopen --robot iiwa --inject fault@10:8", "about joint 8; there are 7"),
        ("emulate canopen --robot nobody", "there is no robot 'nobody'"),
        ("emulate canopen --robot iiwa --interface carrier-pigeon", "cannot be opened"),
    ],
)
def test_bad_input_is_one_sentence(arguments: str, words: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    parts = arguments.split()
    answer = CliRunner().invoke(main, [*parts, "--out", str(out)] if parts[0] == "run" else parts)
    assert answer.exit_code == 2
    assert words in answer.output
    assert not out.exists()
