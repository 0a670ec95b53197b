"""Adaptive: the step size follows the error, which is measured by making each step once more in two halves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from simloop.master.binding import Algorithm, Binding, Stepper, advance_fully
from simloop.master.component import Action, Vector, is_real
from simloop.master.errors import StepTooSmallError, WiringError
from simloop.master.events import refuse_events
from simloop.master.retry import REFUSALS, shorter
from simloop.master.schedule import Schedule
from simloop.master.system import System

# The PI controller of Gustafsson: exponents for this step's error and the last one's, over order + 1.
THIS_ERROR, LAST_ERROR = 0.7, 0.4
SAFETY, MOST_SHRINK, MOST_GROWTH = 0.9, 0.2, 5.0
# A smaller part of what is allowed counts as this, so that a step without error grows as much as one may.
LEAST_ERROR = 1e-10
# How much larger than its estimate an error is taken to be: the estimate is exact for short steps only.
DOUBT = 1.25
# A step that leaves less than this part of the way is stretched to its end.
STRETCH = 1.1


@dataclass(frozen=True)
class Tolerance:
    """The error of one step that is allowed: absolute + relative · |value|, in the variable's unit."""

    absolute: float
    relative: float = 0.0

    def __post_init__(self) -> None:
        if not (self.absolute > 0.0 and self.relative >= 0.0 and math.isfinite(self.absolute + self.relative)):
            raise ValueError(f"{self}: the absolute tolerance must be greater than 0, the relative one 0 or more")


@dataclass(frozen=True)
class Adaptive:
    """Steps of `inner` as long as `tolerance` allows; `tolerances` says otherwise for variables by name.

    `order` is the order of `inner`: 1 for Jacobi and Gauss-Seidel, 2 with linear extrapolation. The error is measured
    on every Real output of the components that can be rolled back, and the two halves are what is kept. `first` is the
    first step to try, s; a step of less than `smallest` s that is still too long is an error.
    """

    inner: Algorithm | Schedule
    tolerance: Tolerance
    order: int = 1
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict)
    first: float = 1e-3
    smallest: float = 1e-12

    def __post_init__(self) -> None:
        refuse_events(self.inner)
        if self.order < 1 or not 0.0 < self.smallest <= self.first:
            raise ValueError("the order must be 1 or more, the first step no less than the smallest, and that above 0")

    def bind(self, binding: Binding) -> Stepper:
        inner = binding.bind_inner(self.inner)
        return _Controlled(self, inner, binding)


class _Controlled:
    """`_memory`: the step to try next, s, and the last step's error as a part of what is allowed."""

    def __init__(self, settings: Adaptive, inner: Stepper, binding: Binding) -> None:
        self._settings, self._inner, self._account = settings, inner, binding.account
        self._start = binding.snapshot()
        self._memory = np.array([settings.first, 1.0])
        binding.remember(self._memory, self._restart)
        self._watch = _Watch(settings, binding)
        self._refused = 0.0

    def _restart(self, time: float) -> None:
        self._memory[1] = 1.0

    def advance(self, time: float, limit: float) -> float:
        h = self._fit(limit)
        self._start.save()
        while True:
            error, cause = self._try(time, h)
            if error <= 1.0:
                self._accept(h, error)
                return h
            self._account.reject(time, h, cause)
            self._start.restore()
            if h <= self._settings.smallest:
                raise StepTooSmallError(time, h, cause)
            h = max(self._after_rejection(h, error), self._settings.smallest)
            self._memory[0] = h

    def _fit(self, limit: float) -> float:
        """The step to try: it neither passes `limit` nor leaves a sliver before it."""
        h = float(self._memory[0])
        if STRETCH * h >= limit:
            return limit
        return 0.5 * limit if 2.0 * h > limit else h

    def _try(self, time: float, h: float) -> tuple[float, str]:
        """The error, and where it is largest; or why there was no step."""
        self._refused = MOST_SHRINK * h
        try:
            advance_fully(self._inner, time, h)
            self._watch.read_whole()
            self._start.restore()
            advance_fully(self._inner, time, 0.5 * h)
            advance_fully(self._inner, time + 0.5 * h, 0.5 * h)
        except REFUSALS as refusal:
            self._refused = shorter(time, h, refusal)
            return math.inf, str(refusal)
        return self._watch.error()

    def _after_rejection(self, h: float, error: float) -> float:
        if math.isinf(error):
            return self._refused
        return h * max(MOST_SHRINK, SAFETY * math.pow(error, -1.0 / (self._settings.order + 1)))

    def _accept(self, h: float, error: float) -> None:
        wanted, before = self._memory
        error = max(error, LEAST_ERROR)
        order = self._settings.order + 1
        factor = SAFETY * error ** (-THIS_ERROR / order) * before ** (LAST_ERROR / order)
        grown = h * min(MOST_GROWTH, max(MOST_SHRINK, factor))
        # A step cut short by its end says nothing against the one that was wanted.
        self._memory[:] = (max(grown, wanted) if h < wanted else grown), error


class _Watch:
    """Compares the outputs after a whole step with those after its two halves."""

    def __init__(self, settings: Adaptive, binding: Binding) -> None:
        self._names: list[str] = []
        groups: list[tuple[str, tuple[str, ...]]] = []
        for name, component in binding.system.components.items():
            reals = tuple(v.name for v in component.variables.values() if v.causality == "output" and is_real(v))
            if reals and component.can_rollback:
                groups.append((name, reals))
                self._names += [f"{name}.{variable}" for variable in reals]
        chosen = _by_scalar(binding.system, settings.tolerances)
        for name in set(chosen) - set(self._names):
            raise WiringError(f"{name} cannot have a tolerance: it is no Real output of a component that can roll back")
        allowed = [chosen.get(name, settings.tolerance) for name in self._names]
        self._absolute = np.array([tolerance.absolute for tolerance in allowed])
        self._relative = np.array([tolerance.relative for tolerance in allowed])
        self._whole, self._halves = np.zeros(len(allowed)), np.zeros(len(allowed))
        self._read_whole = _readers(binding, groups, self._whole)
        self._read_halves = _readers(binding, groups, self._halves)
        # Of two results of order p, one with half the step, the better one's error is this part of their difference.
        self._share = DOUBT / (2.0**settings.order - 1.0)

    def read_whole(self) -> None:
        for read in self._read_whole:
            read()

    def error(self) -> tuple[float, str]:
        """The largest error as a part of what is allowed, and the variable that has it."""
        for read in self._read_halves:
            read()
        if not len(self._names):
            return 0.0, ""
        ratio = self._share * np.abs(self._halves - self._whole)
        ratio /= self._absolute + self._relative * np.abs(self._halves)
        worst = int(np.argmax(ratio))
        return float(ratio[worst]), f"the error of {self._names[worst]} is {ratio[worst]:.3g} of what is allowed"


def _by_scalar(system: System, tolerances: Mapping[str, Tolerance]) -> dict[str, Tolerance]:
    scalars: dict[str, Tolerance] = {}
    for name, tolerance in tolerances.items():
        component, variables = system.resolve(name)
        scalars |= {f"{component.name}.{variable}": tolerance for variable in variables}
    return scalars


def _readers(binding: Binding, groups: list[tuple[str, tuple[str, ...]]], target: Vector) -> list[Action]:
    reads, first = [], 0
    for name, variables in groups:
        reads.append(binding.reader(name, variables, target[first : first + len(variables)]))
        first += len(variables)
    return reads
