"""Units of measure, as model descriptions and system structures define them, and how values go from one to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simloop.master.transform import Linear

BASES = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")


@dataclass(frozen=True)
class Measure:
    """A unit of measure: a value v in it is factor · v + offset in the product of `BASES` raised to `exponents`."""

    name: str
    exponents: tuple[int, ...] = (0,) * len(BASES)
    factor: float = 1.0
    offset: float = 0.0

    def __str__(self) -> str:
        powers = zip(BASES, self.exponents, strict=True)
        dimension = " ".join(base if power == 1 else f"{base}^{power}" for base, power in powers if power)
        return f"{self.name} ({dimension or 'no dimension'})"


def convert(source: Measure, target: Measure) -> Linear | None:
    """What takes a value from one unit to the other; None where they do not measure the same thing."""
    if source.exponents != target.exponents:
        return None
    return Linear(source.factor / target.factor, (source.offset - target.offset) / target.factor)


def measures_of(description: Any) -> dict[str, Measure]:
    """The units that an FMU's model description, as fmpy gives it, defines by their bases."""
    return {
        unit.name: Measure(
            unit.name,
            tuple(int(getattr(unit.baseUnit, base)) for base in BASES),
            float(unit.baseUnit.factor),
            float(unit.baseUnit.offset),
        )
        for unit in description.unitDefinitions
        if unit.baseUnit is not None
    }


def measure_of(variable: Any, measures: Mapping[str, Measure]) -> tuple[str | None, Measure | None]:
    """The name and the definition of a variable's unit; both may stand on its declared type instead."""
    declared = variable.declaredType
    unit = variable.unit or (None if declared is None else declared.unit)
    measure = None if unit is None else measures.get(unit)
    relative = variable.relativeQuantity or (declared is not None and declared.relativeQuantity)
    if measure is not None and relative:
        measure = Measure(measure.name, measure.exponents, measure.factor)
    return unit, measure
