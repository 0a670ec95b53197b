"""Check in this process, which may crash, whether a unit's state is what it says: saved, restored, written down.

The unit is stepped with its start values and small changes of its inputs, which are the same in every check.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from simloop.master.errors import SimloopError, UnitError
from simloop.master.fmu import FmuComponent
from simloop.master.trust import Claimed, Finding, Judgement, Verdict
from simloop.master.values import Family, Value, family

# Steps before the first save, after it, and until a slot is used again.
BEFORE, AFTER = 3, 4
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
    def __init__(self, path: Path, begin: Any, tell: Any) -> None:
        self.path, self.begin, self.tell = path, begin, tell
        self.unit = FmuComponent("unit", path, trust=Claimed())
        self.verdict = Claimed().judge(path, self.unit.description)
        variables = self.unit.variables.values()
        self.outputs = [v.name for v in variables if v.causality == "output"]
        self.inputs = [v for v in variables if v.causality == "input" and family(v) is Family.REAL]
        self.h = _step_size(self.unit)

    def run(self) -> None:
        self.begin("its start")
        self.unit.initialize(0.0)
        self.begin("a step")
        time = self._drive(0.0, 0, BEFORE)[0]
        self.unit_has_stepped(time)

    def unit_has_stepped(self, time: float) -> None:
        if self.verdict.state.believed:
            try:
                finding, data, expected = self._judge_state(time)
            except UnitError as error:
                finding, data, expected = Finding(Judgement.DISHONEST, str(error)), None, []
            self.verdict = replace(self.verdict, state=finding)
            if data is not None:
                self.tell(self.verdict)
                self.verdict = replace(self.verdict, written=self._judge_written(time, data, expected))
            elif self.verdict.written.believed:
                self.verdict = replace(self.verdict, written=finding)
        self.tell(self.verdict)
        self.begin("its end")
        self.unit.close()

    def _judge_state(self, time: float) -> tuple[Finding, bytes | None, list[Row]]:
        self.begin("saving its state")
        slot = self.unit.save()
        self.begin("saving its state, restoring it and stepping again")
        start = self._read()
        later, first = self._drive(time, BEFORE, AFTER)
        self.unit.restore(slot)
        restored = self._read()
        self._drive(time, 100, AFTER + 1)
        self.unit.restore(slot)
        _, second = self._drive(time, BEFORE, AFTER)
        findings = [_compare(self.outputs, [start], [restored]), _compare(self.outputs, first, second)]
        # A slot used twice must forget what it held.
        slot = self.unit.save(slot)
        _, first = self._drive(later, 200, AFTER)
        self.unit.restore(slot)
        _, second = self._drive(later, 200, AFTER)
        findings.append(_compare(self.outputs, first, second))
        data = None
        if self.verdict.written.believed:
            self.unit.restore(slot)
            self.begin("writing its state down")
            data = self.unit.serialize(slot)
        self._written_at = later
        return max(findings, key=lambda finding: _ORDER.index(finding.judgement)), data, first

    def _judge_written(self, time: float, data: bytes, expected: list[Row]) -> Finding:
        self.begin("taking a written state in a new instance")
        self.unit.close()
        self.unit = FmuComponent("unit", self.path, trust=Claimed())
        try:
            self.unit.initialize(0.0)
            self.unit.restore(self.unit.deserialize(data))
            _, rows = self._drive(self._written_at, 200, AFTER)
        except UnitError as error:
            return Finding(Judgement.DISHONEST, str(error))
        return _compare(self.outputs, expected, rows)

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
        return [self.unit.get(name) for name in self.outputs]


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
    names = outputs if len(one[0]) == len(outputs) else ["the length of a step", *outputs]
    worst, judgement = "", Judgement.EXACT
    for row, again in zip(one, other, strict=True):
        for name, a, b in zip(names, row, again, strict=True):
            if _same_bits(a, b):
                continue
            if not isinstance(a, float) or not isinstance(b, float):
                return Finding(Judgement.DISHONEST, f"{name} is {b!r} after restore and was {a!r}")
            worst = f"{name} differs by {abs(a - b):.3g} after restore"
            judgement = Judgement.WITHIN_TOLERANCE
            if not abs(a - b) <= TOLERANCE * max(1.0, abs(a)):
                return Finding(Judgement.DISHONEST, worst)
    return Finding(judgement, worst)


def _same_bits(a: Value, b: Value) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a.hex() == b.hex()
    return a == b
