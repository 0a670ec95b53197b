"""What a connection does to the values that it carries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from simloop.master.errors import WiringError

Vector = NDArray[np.float64]
Action = Callable[[], None]


@dataclass(frozen=True)
class Linear:
    """factor · value + offset."""

    factor: float = 1.0
    offset: float = 0.0

    def bind(self, values: Vector) -> Action:
        """A call that changes `values` in place."""
        return _bind_linear(values, np.float64(self.factor), np.float64(self.offset))

    def of(self, value: float) -> float:
        return self.factor * value + self.offset

    def then(self, later: Linear) -> Linear:
        return Linear(later.factor * self.factor, later.factor * self.offset + later.offset)


IDENTITY = Linear()


@dataclass(frozen=True)
class Lookup:
    """Pairs of a value and what it becomes, for whole numbers and truth values. A value in none is an error."""

    pairs: tuple[tuple[float, float], ...]

    def bind(self, values: Vector) -> Action:
        def look_up() -> None:
            for i, value in enumerate(values):
                values[i] = self.of(value)

        return look_up

    def of(self, value: float) -> float:
        for known, becomes in self.pairs:
            if value == known:
                return becomes
        listed = ", ".join(f"{known:g}" for known, _ in self.pairs)
        raise WiringError(f"a connection maps the values {listed} only, and was given {value:g}")


@dataclass(frozen=True)
class Chain:
    """Several, one after another."""

    links: tuple[Linear | Lookup, ...]

    def bind(self, values: Vector) -> Action:
        return _one_after_another([link.bind(values) for link in self.links])

    def of(self, value: float) -> float:
        for link in self.links:
            value = link.of(value)
        return value


Scalar = Linear | Lookup | Chain


@dataclass(frozen=True)
class Elementwise:
    """For each value its own."""

    each: tuple[Scalar, ...]

    def bind(self, values: Vector) -> Action:
        linear = [one for one in self.each if isinstance(one, Linear)]
        if len(linear) == len(self.each):
            factors, offsets = (np.array([getattr(one, name) for one in linear]) for name in ("factor", "offset"))
            return _bind_linear(values, factors, offsets)
        return _one_after_another([one.bind(values[i : i + 1]) for i, one in enumerate(self.each)])


Transform = Scalar | Elementwise


def compose(links: Sequence[Linear | Lookup]) -> Scalar | None:
    """The transforms in their order as one, the linear ones among neighbours merged; None if nothing is changed."""
    merged: list[Linear | Lookup] = []
    for link in links:
        last = merged[-1] if merged else None
        if isinstance(last, Linear) and isinstance(link, Linear):
            merged[-1] = last.then(link)
        else:
            merged.append(link)
    merged = [link for link in merged if link != IDENTITY]
    if len(merged) > 1:
        return Chain(tuple(merged))
    return merged[0] if merged else None


def side_by_side(transforms: Sequence[Scalar | None]) -> Transform | None:
    """One transform for neighbouring values that have each their own."""
    if all(transform == transforms[0] for transform in transforms):
        return transforms[0]
    return Elementwise(tuple(IDENTITY if transform is None else transform for transform in transforms))


def _bind_linear(values: Vector, factor: np.float64 | Vector, offset: np.float64 | Vector) -> Action:
    def scale() -> None:
        np.multiply(values, factor, out=values)
        np.add(values, offset, out=values)

    return scale


def _one_after_another(actions: Sequence[Action]) -> Action:
    def act() -> None:
        for action in actions:
            action()

    return act
