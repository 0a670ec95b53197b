"""What an input does between two communication points: held, or on a polynomial through the last outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from simloop.master.component import Action, Component
from simloop.master.structure import feeds_through
from simloop.master.system import Connection


@dataclass(frozen=True)
class Extrapolation:
    """A polynomial of this degree, 0 to 2, through the newest outputs of a connection.

    A unit that takes derivatives of its inputs gets the polynomial itself. Any other input is a constant over the step:
    the polynomial's mean over the step or, for an input on which an output depends directly, its value at the end.
    """

    degree: int

    def __post_init__(self) -> None:
        if self.degree not in (0, 1, 2):
            raise ValueError(f"the degree is {self.degree}; it must be 0, 1 or 2")


HOLD, LINEAR, QUADRATIC = Extrapolation(0), Extrapolation(1), Extrapolation(2)


class Signal:
    """The Real values that one connection carries, with as many past ones as its polynomial needs.

    `memory` is all its state: a row a sample, the newest first, its time and then its values; NaN where none is yet.
    """

    def __init__(self, connection: Connection, target: Component, extrapolation: Extrapolation) -> None:
        count = len(connection.inputs)
        self.degree = extrapolation.degree
        self.values = np.zeros(count)
        self.memory = np.full((self.degree + 1, count + 1), np.nan)
        self._sent, self._slope, self._bend = np.zeros(count), np.zeros(count), np.zeros(count)
        self._work = np.zeros(count)
        order = min(target.input_derivatives, self.degree)
        self._writes: list[Action] = [target.writer(connection.inputs, self._sent)]
        if order:
            self._writes.append(target.derivative_writer(connection.inputs, 1, self._slope))
        if order > 1:
            self._curve = np.zeros(count)
            self._writes.append(target.derivative_writer(connection.inputs, 2, self._curve))
        self._order = order
        at_end = np.array([feeds_through(target, name) for name in connection.inputs])
        # Of a step's length and its square: the mean of a polynomial over the step, or its value at the end.
        self._first, self._second = np.where(at_end, 1.0, 1 / 2), np.where(at_end, 1.0, 1 / 3)

    def forget(self) -> None:
        self.memory[:] = np.nan

    def push(self, time: float) -> None:
        """Take `values` as the outputs at `time` s; in place of earlier ones for the same time."""
        if self.memory[0, 0] != time:
            for row in range(self.degree, 0, -1):
                self.memory[row] = self.memory[row - 1]
            self.memory[0, 0] = time
        self.memory[0, 1:] = self.values

    def write(self, time: float, h: float) -> None:
        """Set the inputs for a step from `time` s of h s."""
        self._fit(time)
        sent, slope, bend, work = self._sent, self._slope, self._bend, self._work
        if self._order < self.degree:
            np.multiply(slope, self._first, out=work)
            work *= h
            if self._order == 0:
                sent += work
            np.multiply(bend, self._second, out=work)
            work *= h * h
            sent += work
        if self._order > 1:
            np.multiply(bend, 2.0, out=self._curve)
        for write in self._writes:
            write()

    def _fit(self, time: float) -> None:
        """The polynomial sent + slope s + bend s², s counted from `time`, through as many samples as there are."""
        memory, sent, slope, bend = self.memory, self._sent, self._slope, self._bend
        slope[:] = bend[:] = 0.0
        sent[:] = memory[0, 1:]
        if self.degree == 0 or np.isnan(memory[1, 0]):
            return
        t0, t1 = memory[0, 0], memory[1, 0]
        np.subtract(memory[0, 1:], memory[1, 1:], out=slope)
        slope /= t0 - t1
        if self.degree > 1 and not np.isnan(memory[2, 0]):
            np.subtract(memory[1, 1:], memory[2, 1:], out=bend)
            bend /= memory[2, 0] - t1
            bend += slope
            bend /= t0 - memory[2, 0]
        # Newton's form around t0, moved to `time`.
        shift = time - t0
        np.multiply(bend, shift * (shift + t0 - t1), out=self._work)
        sent += self._work
        np.multiply(slope, shift, out=self._work)
        sent += self._work
        np.multiply(bend, 2 * shift + t0 - t1, out=self._work)
        slope += self._work
