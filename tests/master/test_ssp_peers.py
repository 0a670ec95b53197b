"""What is written here opens in fmpy and libcosim and runs alike there; what is written for them runs alike here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fmpy.ssp.simulation import simulate_ssp
from fmpy.ssp.ssd import read_ssd, read_ssv
from numpy.typing import NDArray
from simloop.master import FmuComponent, ObjectComponent, System
from simloop.master.ssp import SspError, load_ssp, write_ssp
from simloop.master.transform import Linear, Lookup

from tests.master.function_unit import FunctionUnit
from tests.master.ssp_packages import connector, inline, pack, run_by_fmpy, run_jacobi, ssd, unit, wire
from tests.units.blocks import GAIN, INTEGRATOR, SINE, build

STEPS = 50
Y = 1  # the value reference of a block's y


def chain(folder: Path, *, u: str | None = None, y: str | None = None, factor: float = 1.0) -> System:
    """Sine, integrator, gain; `y` and `u` are the units of measure between the first two."""
    system = System(
        [
            FmuComponent("source", build(SINE, folder, y=y)),
            FmuComponent("store", build(INTEGRATOR, folder, u=u)),
            FmuComponent("last", build(GAIN, folder)),
        ]
    )
    system.connect("source.y", "store.u")
    system.connect("store.y", "last.u", factor=factor)
    for name, value in {"source.k": 2.0, "last.k": 4.0, "source.u": 0.0}.items():
        system.set(name, value)
    return system


def by_fmpy(path: Path, names: list[str]) -> list[NDArray[np.float64]]:
    """After each step."""
    result = run_by_fmpy(path, STEPS / 100 - 1e-6, 0.01)
    return [result[name] for name in names]


def by_libcosim(path: Path, names: list[str]) -> list[NDArray[np.float64]]:
    """libcosim's results after each step, of the y of each component."""
    pytest.importorskip("libcosimpy", reason="libcosimpy has no wheel here")
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimObserver import CosimObserver

    log_output_level(CosimLogLevel.ERROR)
    execution = CosimExecution.from_ssp_file(str(path), step_size=10_000_000)
    observer = CosimObserver.create_last_value()
    assert execution.add_observer(observer)
    places = [execution.slave_index_from_instance_name(name.partition(".")[0]) for name in names]
    rows = []
    for _ in range(STEPS):
        assert execution.step()
        rows.append([observer.last_real_values(place, [Y])[0] for place in places])
    return list(np.array(rows).T)


NAMES = ["source.y", "store.y", "last.y"]


def agrees(path: Path, theirs: list[NDArray[np.float64]], names: list[str] = NAMES) -> None:
    ours = run_jacobi(load_ssp(path).system, STEPS)
    for name, column in zip(names, theirs, strict=True):
        assert np.abs(ours[name][1:]).max() > 0.1
        np.testing.assert_allclose(ours[name][1:], column, rtol=1e-9, atol=1e-9)


def test_fmpy_runs_what_is_written_here(tmp_path: Path) -> None:
    path = write_ssp(chain(tmp_path), tmp_path / "x.ssp", "chain", stop=1.0)
    agrees(path, by_fmpy(path, NAMES))


def test_libcosim_runs_what_is_written_here_with_units_converted_and_scaled(tmp_path: Path) -> None:
    """libcosim converts no units, so the package itself must say by what factor."""
    system = chain(tmp_path, y="m/s", u="km/h", factor=3.0)
    path = write_ssp(system, tmp_path / "x.ssp", "chain", stop=1.0)
    agrees(path, by_libcosim(path, NAMES))


def test_a_package_by_hand_for_fmpy_runs_alike_here(tmp_path: Path) -> None:
    """Systems in a system, the way fmpy reads them."""
    inside = (
        f"<ssd:Connectors>{connector('in', 'input')}{connector('out', 'output')}</ssd:Connectors>"
        f"<ssd:Elements>{only('store', 'integrator')}{only('last', 'gain')}</ssd:Elements><ssd:Connections>"
        f"{wire('in', 'store.u')}{wire('store.y', 'last.u')}{wire('last.y', 'out')}</ssd:Connections>"
    )
    contents = (
        f"<ssd:Elements>{only('source', 'sine')}<ssd:System name='sub'>{inside}</ssd:System></ssd:Elements>"
        f"<ssd:Connections>{wire('source.y', 'sub.in')}</ssd:Connections>"
    )
    path = pack(tmp_path / "x.ssp", ssd(contents))
    result = simulate_ssp(str(path), stop_time=STEPS / 100 - 1e-6, step_size=0.01)
    names = ["source.y", "sub.store.y", "sub.last.y"]
    agrees(path, [result[name] for name in names[:2]], names[:2])
    ours = run_jacobi(load_ssp(path).system, STEPS)
    np.testing.assert_allclose(ours["sub.last.y"][1:], result["sub.last.y"], rtol=1e-9, atol=1e-9)


def only(name: str, block: str) -> str:
    """A component with a connector for what is connected only, as fmpy needs."""
    listed = connector("y", "output") if block == "sine" else connector("u", "input") + connector("y", "output")
    return unit(name, block, connectors=listed)


def test_a_package_by_hand_for_libcosim_runs_alike_here(tmp_path: Path) -> None:
    contents = (
        f"<ssd:Elements>{unit('source', 'sine', inline({'k': 3.0}))}{unit('store', 'integrator')}"
        f"{unit('last', 'gain', inline({'k': -2.0}))}</ssd:Elements><ssd:Connections>"
        + wire("source.y", "store.u", '<ssc:LinearTransformation factor="0.5" offset="0.25"/>')
        + wire("store.y", "last.u", '<ssc:LinearTransformation factor="10"/>')
        + "</ssd:Connections>"
    )
    path = pack(tmp_path / "x.ssp", ssd(contents))
    agrees(path, by_libcosim(path, NAMES))


def test_what_is_written_is_valid_and_reads_back_the_same(tmp_path: Path) -> None:
    """fmpy validates against the schemas of the standard."""
    system = chain(tmp_path, y="m/s", u="km/h", factor=3.0)
    system.connect("source.was_on", "last.on", transform=Lookup(((False, True), (True, False))))
    system.connect("source.was_n", "last.n", transform=Lookup(((0, 5), (1, 6))))
    system.set("store.n", 3)
    system.set("store.on", True)
    path = write_ssp(system, tmp_path / "x.ssp", "a <system> & more", stop=2.0)
    described = read_ssd(str(path), validate=True)
    assert described.name == "a <system> & more"
    assert {measure.name: measure.factor for measure in described.units} == {"m/s": 1.0, "km/h": 0.2777777777777778}
    with_values = [component for component in described.system.elements if component.parameterBindings]
    assert [component.name for component in with_values] == ["source", "store", "last"]
    loaded = load_ssp(path)
    assert loaded.stop == 2.0
    assert loaded.notes == ()
    assert loaded.system.values == system.values
    written = {
        (c.source, c.target, output, taken, change)
        for c in system.connections()
        for output, taken, change in zip(c.outputs, c.inputs, each(c.transform, len(c.inputs)), strict=True)
    }
    read = {
        (c.source, c.target, output, taken, change)
        for c in loaded.system.connections()
        for output, taken, change in zip(c.outputs, c.inputs, each(c.transform, len(c.inputs)), strict=True)
    }
    assert read == written
    again = write_ssp(chain(tmp_path, y="m/s", u="km/h", factor=3.0), tmp_path / "y.ssp", "chain")
    assert (
        again.read_bytes()
        == write_ssp(chain(tmp_path, y="m/s", u="km/h", factor=3.0), tmp_path / "z.ssp", "chain").read_bytes()
    )


def each(transform: object, count: int) -> tuple[object, ...]:
    return getattr(transform, "each", (transform,) * count)


def test_a_set_of_values_is_valid_by_itself(tmp_path: Path) -> None:
    path = write_ssp(chain(tmp_path), tmp_path / "x.ssp", "chain")
    given = read_ssv(str(path), resource="resources/1-source.ssv", validate=True)
    assert [(each.name, each.type, float(each.value)) for each in given.parameters] == [
        ("k", "Real", 2.0),
        ("u", "Real", 0.0),
    ]


def test_one_file_is_packed_once_and_two_of_one_name_twice(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    one, other = build(GAIN, tmp_path), build(GAIN, tmp_path / "other", u="m")
    system = System([FmuComponent("a", one), FmuComponent("b", one), FmuComponent("c", other)])
    for name in "abc":
        system.set(f"{name}.u", 1.0)
    loaded = load_ssp(write_ssp(system, tmp_path / "x.ssp", "three"))
    units = {name: component.variables["u"].unit for name, component in loaded.system.components.items()}
    assert units == {"a": None, "b": None, "c": "m"}
    paths = {name: component.path.name for name, component in loaded.system.components.items()}  # type: ignore[attr-defined]
    assert paths["a"] == paths["b"] != paths["c"]


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    system = System([ObjectComponent("thing", FunctionUnit(outputs=["y"]))])
    with pytest.raises(SspError, match="'thing' cannot go into a package: it is a Python object"):
        write_ssp(system, tmp_path / "x.ssp", "x")
    assert not (tmp_path / "x.ssp").exists()


def test_conversion_that_was_suppressed_stays_so(tmp_path: Path) -> None:
    system = System([FmuComponent("a", build(SINE, tmp_path, y="m")), FmuComponent("b", build(GAIN, tmp_path, u="mm"))])
    system.connect("a.y", "b.u", transform=Linear(1.0, 0.0))
    system.set("a.u", 0.0)
    loaded = load_ssp(write_ssp(system, tmp_path / "x.ssp", "x"))
    assert run_jacobi(loaded.system, 2)["b.y"][-1] == run_jacobi(system, 2)["b.y"][-1] != 0.0
