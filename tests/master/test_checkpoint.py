"""The same bytes twice, and from a checkpoint in another process."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from simloop.fmus.export import build
from simloop.master import Checkpoint, FunctionComponent, Result, SimloopError, System, gauss_seidel, jacobi, run
from simloop.models.robots.sphere import ROBOT

from tests.master.oscillators import oscillators
from tests.master.resumed import CASES, STEPS, run_case


def columns(result: Result) -> dict[str, bytes]:
    return {name: column.tobytes() for name, column in result.columns.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With units, a checkpoint of each case at a step of its own, and what another process made of each."""
    folder = tmp_path_factory.mktemp("checkpoints")
    for kind in ("planner", "control", "plant"):
        build(kind, ROBOT, folder / f"{kind}.fmu")
    for seed, name in enumerate(CASES):
        at = random.Random(seed).randrange(1, STEPS)
        run_case(name, folder, checkpoint=Checkpoint(folder / f"{name}.checkpoint", f"{at}/10"))
    here = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-m", "tests.master.resumed", str(folder)], check=True, cwd=here)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_the_same_run_gives_the_same_bytes_again_and_from_a_checkpoint(name: str, folder: Path) -> None:
    first, second = run_case(name, folder), run_case(name, folder)
    assert first.complete
    assert len(first) > STEPS
    assert columns(first) == columns(second)
    with np.load(folder / f"{name}.resumed.npz") as resumed:
        assert {column: resumed[column].tobytes() for column in resumed.files} == columns(first)
    assert (folder / f"{name}.account").read_text(encoding="utf-8") == repr(first.account.describe())


def test_a_checkpoint_of_something_else_is_refused_before_anything_moves(tmp_path: Path) -> None:
    path = tmp_path / "a.checkpoint"
    system = oscillators()
    run(system, jacobi(system), step="1/2", duration=2, checkpoint=Checkpoint(path, 1))
    for make, step in ((jacobi, "1/4"), (gauss_seidel, "1/2")):
        system = oscillators()
        with pytest.raises(SimloopError, match="another system, algorithm or step"):
            run(system, make(system), step=step, duration=2, resume=path)  # type: ignore[operator]
    system = oscillators()
    with pytest.raises(SimloopError, match="written after 2 steps, the run is of 1 only"):
        run(system, jacobi(system), step="1/2", duration="1/2", resume=path)
    path.write_bytes(b"no checkpoint")
    system = oscillators()
    with pytest.raises(SimloopError, match="is not a checkpoint"):
        run(system, jacobi(system), step="1/2", duration=2, resume=path)
    with pytest.raises(SimloopError, match="there is no file"):
        run(system, jacobi(system), step="1/2", duration=2, resume=tmp_path / "none")


def test_a_component_that_cannot_be_serialised_or_a_time_outside_the_run_is_refused(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "c", 3)
    system = System([FunctionComponent("robot", outputs={"y": 0.0}, can_rollback=False)])
    with pytest.raises(SimloopError, match="robot does not offer to serialise"):
        run(system, jacobi(system), step=1, duration=5, checkpoint=checkpoint)
    system = oscillators()
    with pytest.raises(SimloopError, match="after the end of the run at 2"):
        run(system, jacobi(system), step=1, duration=2, checkpoint=checkpoint)
    assert list(tmp_path.iterdir()) == []


def test_a_run_goes_on_past_the_end_of_the_one_it_came_from(tmp_path: Path) -> None:
    path = tmp_path / "c"
    system = oscillators()
    run(system, jacobi(system), step="1/4", duration=2, checkpoint=Checkpoint(path, 2))
    longer, whole = oscillators(), oscillators()
    resumed = run(longer, jacobi(longer), step="1/4", duration=5, resume=path)
    assert columns(resumed) == columns(run(whole, jacobi(whole), step="1/4", duration=5))
