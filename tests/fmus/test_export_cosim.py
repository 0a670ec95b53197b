"""Exported units in libcosim, a master in C++ that is not ours."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from simloop.fmus.export import build
from simloop.fmus.native import build_native_collision
from simloop.master import FmuComponent
from simloop.models.robots.yumi import ROBOT

pytest.importorskip("libcosimpy")
from libcosimpy.CosimExecution import CosimExecution
from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
from libcosimpy.CosimObserver import CosimObserver
from libcosimpy.CosimSlave import CosimLocalSlave

N = len(ROBOT.home)
STEPS, H = 20, 0.002


def names(port: str) -> list[str]:
    return [f"{port}[{i + 1}]" for i in range(N)]


@pytest.mark.parametrize("interpreter", ["", sys.executable], ids=["in the host", "in a process of its own"])
def test_units_in_a_cpp_master_give_our_masters_bits(
    interpreter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The YuMi falls, and the native detector watches: libcosim steps both, then carries q over."""
    plant = build("plant", ROBOT, tmp_path / "plant.fmu")
    near = build_native_collision(ROBOT, tmp_path / "near.fmu")
    ours = [FmuComponent("plant", plant), FmuComponent("near", near)]
    references = [{v.name: v.reference for v in component.variables.values()} for component in ours]

    q = np.zeros(N)
    read, write = ours[0].reader(names("q_true"), q), ours[1].writer(names("q"), q)
    for component in ours:
        component.initialize(0.0)
    for k in range(STEPS):
        read()
        write()
        for component in ours:
            component.step(k * H, H)
    read()
    expected = [*q.tolist(), ours[1].get("distance")]
    for component in ours:
        component.close()

    monkeypatch.setenv("SIMLOOP_PYTHON", interpreter)
    log_output_level(CosimLogLevel.WARNING)
    execution = CosimExecution.from_step_size(step_size=int(H * 1e9))
    slaves = [execution.add_local_slave(CosimLocalSlave(str(path), path.stem)) for path in (plant, near)]
    observer = CosimObserver.create_last_value()
    execution.add_observer(observer)
    for out, into in zip(names("q_true"), names("q"), strict=True):
        execution.connect_real_variables(slaves[0], references[0][out], slaves[1], references[1][into])
    assert execution.step(STEPS)
    found = observer.last_real_values(slaves[0], [references[0][name] for name in names("q_true")])
    found += observer.last_real_values(slaves[1], [references[1]["distance"]])
    assert found == expected
    assert max(abs(np.array(expected[:N]) - ROBOT.home)) > 1e-3
