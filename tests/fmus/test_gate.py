"""The gate as an FMU file of the lab arm: S3's first border, by points and by polyhedra, and its state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from simloop.fmus.export import build
from simloop.master import Claimed, FmuComponent, UnitError
from simloop.models.lab_gate import MOTORS, UNITS
from simloop.models.robots.lab import ROBOT

H = 1 / 50
Q_D, Q, Q_ALLOWED = ([f"{name}[{i + 1}]" for i in range(6)] for name in ("q_d", "q", "q_allowed"))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("gate", ROBOT, tmp_path_factory.mktemp("gate") / "gate.fmu")


class Commanded:
    """A gate with a robot that follows exactly, commanded in motor degrees."""

    def __init__(self, path: Path, kind: str) -> None:
        self.component = FmuComponent("gate", path, trust=Claimed())
        self.component.set("gate", kind)
        self.component.initialize(0.0)
        self.wanted, self.reached = np.zeros(6), np.zeros(6)
        self._set = [self.component.writer(names, array) for names, array in ((Q_D, self.wanted), (Q, self.reached))]
        self._read = self.component.reader(Q_ALLOWED, self.reached)

    def command(self, *m: float) -> None:
        self.wanted[:] = MOTORS.joints(np.array(m) * UNITS)

    def step(self, count: int = 1) -> np.ndarray:
        for _ in range(count):
            for write in self._set:
                write()
            self.component.step(0.0, H)
            self._read()
        return MOTORS.positions(self.reached) / UNITS


@pytest.mark.parametrize(("kind", "last", "said"), [("analytic", 112, "segment 2"), ("polyhedra", 113, "head")])
def test_a_jump_stops_at_the_last_legal_degree_and_says_why(path: Path, kind: str, last: int, said: str) -> None:
    gate = Commanded(path, kind)
    gate.command(0, 0, 150, 0, 0, 0)
    m = gate.step(int(120 / 40 / H))
    np.testing.assert_allclose(m, [0, 0, last, 0, 0, 0], atol=1e-9)
    assert gate.component.get("allowed") == 0.0
    assert said in str(gate.component.get("reason"))
    gate.command(0, 0, 90, 0, 0, 0)
    np.testing.assert_allclose(gate.step(60), [0, 0, 90, 0, 0, 0], atol=1e-9)
    assert (gate.component.get("allowed"), gate.component.get("reason")) == (1.0, "")
    gate.component.close()


@pytest.mark.parametrize("kind", ["analytic", "polyhedra"])
def test_rollback_within_a_step_and_at_a_border_equals_never_having_stepped(path: Path, kind: str) -> None:
    straight, rolled = Commanded(path, kind), Commanded(path, kind)
    rng = np.random.default_rng(5)
    slot, verdicts = None, set()
    for _ in range(80):
        target = rng.uniform([0, 0, 100, -8, 0, -1], [0, 0, 180, 8, 0, 2])
        for gate in (straight, rolled):
            gate.command(*target)
        before = rolled.reached.copy()
        slot = rolled.component.save(slot)
        rolled.command(*-target)
        rolled.step(3)
        rolled.component.restore(slot)
        rolled.command(*target)
        rolled.reached[:] = before
        np.testing.assert_array_equal(rolled.step(11), straight.step(11))
        verdicts.add(str(straight.component.get("reason")))
        assert rolled.component.get("reason") == straight.component.get("reason")
    assert "" in verdicts
    assert any("motor 6" in reason for reason in verdicts)
    assert any("segment" in reason for reason in verdicts)
    for gate in (straight, rolled):
        gate.component.close()


def test_a_kind_that_does_not_exist_is_refused_with_those_that_do(path: Path) -> None:
    component = FmuComponent("gate", path, trust=Claimed())
    component.set("gate", "magic")
    with pytest.raises(UnitError, match="analytic or polyhedra"):
        component.initialize(0.0)
    component.close()
