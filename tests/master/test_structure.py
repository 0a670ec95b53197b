"""Dependencies, the order that follows from them, and a start that is consistent."""

from __future__ import annotations

from pathlib import Path

import pytest
from simloop.fmus.export import build, instantiate
from simloop.master import (
    FmuComponent,
    FunctionComponent,
    ObjectComponent,
    Step,
    System,
    gauss_seidel,
    jacobi,
    run,
)
from simloop.models.robots.sphere import ROBOT

from tests.units.build import NativeUnits


def doubling(name: str, start: float = 0.0) -> FunctionComponent:
    """y = 2 u, directly."""

    def update(values: dict[str, float]) -> None:
        values["y"] = 2.0 * values["u"]

    return FunctionComponent(name, inputs={"u": start}, outputs={"y": 0.0}, update=update)


def chain() -> System:
    """c, fed by b, fed by a, made in the wrong order."""
    system = System(doubling(name) for name in ("c", "b", "a"))
    system.connect("b.y", "c.u")
    system.connect("a.y", "b.u")
    system.set("a.u", 1.0)
    return system


def test_gauss_seidel_steps_in_the_order_in_which_components_feed_each_other() -> None:
    system = chain()
    assert [op.component for op in gauss_seidel(system) if isinstance(op, Step)] == ["a", "b", "c"]


def test_a_chain_of_direct_dependencies_is_consistent_from_the_start() -> None:
    system = chain()
    result = run(system, jacobi(system), step=1, duration=1)
    assert result["c.y"].tolist() == [8.0, 8.0]


def test_in_a_ring_who_depends_directly_comes_after_who_feeds_it() -> None:
    """A lag and a direct unit, whichever was added first."""
    for names in (("lag", "direct"), ("direct", "lag")):
        units = {"lag": FunctionComponent("lag", inputs={"u": 0.0}, outputs={"y": 1.0}), "direct": doubling("direct")}
        system = System(units[name] for name in names)
        system.connect("lag.y", "direct.u")
        system.connect("direct.y", "lag.u")
        assert [op.component for op in gauss_seidel(system) if isinstance(op, Step)] == ["lag", "direct"]


def test_an_input_that_nothing_depends_on_directly_starts_as_its_unit_has_it() -> None:
    """In initialisation mode only: once all have started, every input has what drives it."""
    seen: list[float] = []

    class Watching(FunctionComponent):
        def exit_initialization(self) -> None:
            seen.append(float(self.get("u")))

    system = System([doubling("a"), Watching("b", inputs={"u": 5.0}, outputs={"y": 0.0})])
    system.connect("a.y", "b.u")
    system.set("a.u", 1.0)
    result = run(system, jacobi(system), step=1, duration=1)
    assert seen == [5.0]
    assert system.components["b"].get("u") == 2.0
    assert result.complete


def test_dependencies_are_read_from_files_and_objects(native: NativeUnits, tmp_path: Path) -> None:
    """simloop's own units change their outputs in steps only, and say so."""
    unit = FmuComponent("plant", build("plant", ROBOT, tmp_path / "plant.fmu"))
    for component in (unit, ObjectComponent("plant", instantiate("plant", ROBOT))):
        outputs = [v for v in component.variables.values() if v.causality == "output"]
        assert outputs
        assert all(v.dependencies == () for v in outputs)
    unit.close()
    mass = FmuComponent("mass", native["mass_interpolates"])
    assert (mass.variables["x"].dependencies, mass.input_derivatives) == ((), 2)
    mass.close()


def test_a_result_is_drawn_by_name() -> None:
    system = chain()
    result = run(system, jacobi(system), step=1, duration=3)
    figure = result.plot("c.y", "a.y")
    assert [trace.name for trace in figure.data] == ["c.y", "a.y"]
    assert list(figure.data[0].y) == result["c.y"].tolist()
    with pytest.raises(Exception, match=r"no column 'c\.z'"):
        result.plot("c.z")
