"""Check in this process, which may crash, whether a unit's state is what it says: saved, restored, written down.

The unit is stepped with its start values and small changes of its inputs, which are the same in every check.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from simloop.master.errors import SimloopError, UnitError
from simloop.master.fmi import SavedState
from simloop.master.fmu import FmuComponent
from simloop.master.trust import Claimed, Finding, Judgement, Verdict
from simloop.master.values import Family, Value, family, is_number

# Steps before the first save, and after each.
BEFORE, AFTER = 3, 4
# Where the numbers of the steps begin, by which inputs are chosen: on the way to compare, and on one to roll back from.
FIRST, SECOND, ASTRAY = BEFORE, 100, 200
# A change of an input, as a part of its start value and of one.
EXCITATION = 1e-3
# How far outputs may be apart for a state that is restored within tolerance, as a part of the output and of one: what
# an integrator that starts anew with its usual tolerance may differ by.
TOLERANCE = 1e-6
_STEP = 1e-3

Row = list[Value]


def check_unit(path: str, report: str) -> None:
    """Write to `report` each stage as it begins, and the verdict as soon as something is known."""
    _leave_no_core()
    with open(report, "a", encoding="utf-8", buffering=1) as file:

        def begin(stage: str) -> None:
            file.write(json.dumps({"stage": stage}) + "\n")

        def tell(verdict: Verdict) -> None:
            file.write(verdict.to_json() + "\n")

        begin("loading")
        try:
            _Check(Path(path), begin, tell).run()
        except SimloopError as error:
            unknown = Finding(Judgement.NOT_CHECKED, str(error))
            tell(Verdict(unknown, unknown))


def _leave_no_core() -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class _Check:
    """One check of one unit, told stage by stage: where a crash came is known only from what was told before it."""

    def __init__(self, path: Path, begin: Callable[[str], None], tell: Callable[[Verdict], None]) -> None:
        self.path, self.begin, self.tell = path, begin, tell
        self.unit = FmuComponent("unit", path, trust=Claimed())
        self.verdict = Claimed().judge(path, self.unit.description)
        variables = self.unit.variables.values()
        self.inputs = [v for v in variables if v.causality == "input" and family(v) is Family.REAL]
        self.h = _step_size(self.unit)
        self._bind_outputs()

    def _bind_outputs(self) -> None:
        """The outputs in the order in which they are read, one call a type: a unit may have very many."""
        outputs = [v for v in self.unit.variables.values() if v.causality == "output"]
        self.texts = [v.name for v in outputs if not is_number(v)]
        self.outputs: list[str] = []
        self.reads = []
        for kind in sorted({v.type for v in outputs if is_number(v)}):
            group = [v for v in outputs if v.type == kind]
            self.outputs += [v.name for v in group]
            self.reads.append(self.unit.bind(kind, group, writing=False))
        self.outputs += self.texts

    def run(self) -> None:
        self.begin("its start")
        self.unit.initialize(0.0)
        self.begin("a step")
        time = self._drive(0.0, 0, BEFORE)[0]
        if self.verdict.state.believed:
            self._judge_state(time)
        self.tell(self.verdict)
        self.begin("its end")
        self.unit.close()

    def _judge_state(self, time: float) -> None:
        again = False
        try:
            self.begin("saving its state")
            slot = self.unit.save()
            self.begin("saving its state, restoring it and stepping again")
            start = self._read()
            later, first = self._drive(time, FIRST, AFTER)
            again = True
            self.unit.restore(slot)
            found = [_compare(self.outputs, [start], [self._read()])]
            self._drive(time, ASTRAY, AFTER - 1)
            self.unit.restore(slot)
            found.append(_compare(self.outputs, first, self._drive(time, FIRST, AFTER)[1]))
            # A slot used twice must forget what it held.
            slot = self.unit.save(slot)
            again = False
            _, second = self._drive(later, SECOND, AFTER)
            again = True
            self.unit.restore(slot)
            found.append(_compare(self.outputs, second, self._drive(later, SECOND, AFTER)[1]))
        except UnitError as error:
            # To fail in a step before any restore says nothing of the state.
            innocent = not again and error.call.endswith("DoStep")
            finding = Finding(Judgement.NOT_CHECKED if innocent else Judgement.DISHONEST, str(error))
            written = finding if self.verdict.written.believed else self.verdict.written
            self.verdict = Verdict(finding, written)
            return
        finding = max(found, key=lambda each: _ORDER.index(each.judgement))
        self.verdict = replace(self.verdict, state=finding)
        if self.verdict.written.believed:
            self.tell(self.verdict)
            self.verdict = replace(self.verdict, written=self._judge_written(later, slot, second))

    def _judge_written(self, time: float, slot: SavedState, expected: list[Row]) -> Finding:
        try:
            self.begin("writing its state down")
            data = self.unit.serialize(slot)
            self.begin("its end")
            self.unit.close()
            self.begin("taking a written state in a new instance")
            self.unit = FmuComponent("unit", self.path, trust=Claimed())
            self._bind_outputs()
            self.unit.initialize(0.0)
            self.unit.restore(self.unit.deserialize(data))
            return _compare(self.outputs, expected, self._drive(time, SECOND, AFTER)[1])
        except UnitError as error:
            return Finding(Judgement.DISHONEST, str(error))

    def _drive(self, time: float, seed: int, count: int) -> tuple[float, list[Row]]:
        """Steps from `time`, the inputs of each chosen by its number; the time reached and what each step gave."""
        rows = []
        for k in range(seed, seed + count):
            self._excite(k)
            done = self.unit.step(time, self.h)
            time += done
            rows.append([done, *self._read()])
        return time, rows

    def _excite(self, k: int) -> None:
        noise = np.random.default_rng(k).uniform(-1.0, 1.0, len(self.inputs))
        starts = np.array([float(v.start or 0.0) for v in self.inputs])
        values = starts + EXCITATION * noise * np.maximum(1.0, np.abs(starts))
        values = np.clip(values, [v.low for v in self.inputs], [v.high for v in self.inputs])
        if self.inputs:
            self.unit.writer([v.name for v in self.inputs], values)()

    def _read(self) -> Row:
        row: Row = []
        for buffer, layout, move in self.reads:
            move()
            row += buffer[layout].tolist()
        return row + [self.unit.get(name) for name in self.texts]


def _step_size(unit: FmuComponent) -> float:
    """The step that the unit would like, s."""
    experiment = unit.description.model.defaultExperiment
    fixed = unit.description.abilities.fixedInternalStepSize
    wish = (experiment.stepSize if experiment is not None else None) or fixed
    h = float(wish) if wish else _STEP
    return h if 0.0 < h < math.inf else _STEP


_ORDER = (Judgement.EXACT, Judgement.WITHIN_TOLERANCE, Judgement.DISHONEST)


def _compare(outputs: list[str], one: list[Row], other: list[Row]) -> Finding:
    """Bit by bit; `other` is what came after a restore."""
    names = outputs if len(one[0]) == len(outputs) else ["(how far a step came)", *outputs]
    worst, judgement = "", Judgement.EXACT
    for row, again in zip(one, other, strict=True):
        for name, a, b in zip(names, row, again, strict=True):
            if _same_bits(a, b):
                continue
            if not isinstance(a, float) or not isinstance(b, float):
                return Finding(Judgement.DISHONEST, f"output {name} is {b!r} after restore and was {a!r}")
            worst = f"output {name} differs by {abs(a - b):.3g} after restore"
            judgement = Judgement.WITHIN_TOLERANCE
            if not abs(a - b) <= TOLERANCE * max(1.0, abs(a)):
                return Finding(Judgement.DISHONEST, worst)
    return Finding(judgement, worst)


def _same_bits(a: Value, b: Value) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a.hex() == b.hex()
    return a == b
