"""An FMU file as a component: unpacked, judged, loaded, and every buffer prepared once."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simloop.master.archive import unpack
from simloop.master.component import Action, Variable, Vector, find_variable
from simloop.master.description import read_description
from simloop.master.errors import SimloopError, UnitError
from simloop.master.fmi import FmiInstance, SavedState
from simloop.master.fmi2 import Fmi2Instance
from simloop.master.fmi3 import Fmi3Instance
from simloop.master.trust import VERIFIED, Trust
from simloop.master.values import EXACT, Family, Value, bind_finite, check_value, family, is_number


class FmuComponent:
    """A co-simulation FMU of FMI 2.0 or 3.0.

    `instance` is the unit in its library: its functions, its handle. `trust` decides whether the unit's word on its own
    state is believed; `verdict` is what it found.
    """

    # The instance's own: one call less in the loop.
    step: Callable[[float, float], float]
    save: Callable[..., SavedState]
    restore: Callable[[SavedState], None]

    def __init__(self, name: str, path: Path | str, *, trust: Trust = VERIFIED) -> None:
        self.name = name
        self.path = Path(path)
        folder = Path(tempfile.mkdtemp(prefix="simloop-unit-"))
        self._finish: weakref.finalize[..., FmuComponent]
        self._finish = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        unpack(self.path, folder)
        self.description = read_description(folder, self.path)
        self.variables: Mapping[str, Variable] = self.description.variables
        self.verdict = trust.judge(self.path, self.description)
        if self.verdict.fails_without_state:
            raise UnitError(name, "loading", f"{str(self.path)!r}: {self.verdict.state.words()}")
        self.can_rollback = self.verdict.state.believed
        self.cannot_because = self.verdict.state.words()
        kind: type[FmiInstance] = Fmi2Instance if self.description.version == 2 else Fmi3Instance
        self.instance = kind(name, self.description, folder, self.path)
        abilities = self.description.abilities
        self.can_serialize = self.can_rollback and bool(abilities.canSerializeFMUstate)
        self.input_derivatives = self.instance.input_derivatives
        self.step, self.save, self.restore = self.instance.step, self.instance.save, self.instance.restore
        self._finish.detach()
        self._finish = weakref.finalize(self, _release, self.instance, folder)

    def initialize(self, time: float) -> None:
        self.instance.enter_initialization(time)
        self.instance.exit_initialization()

    def enter_initialization(self, time: float) -> None:
        self.instance.enter_initialization(time)

    def exit_initialization(self) -> None:
        self.instance.exit_initialization()

    def set(self, name: str, value: Value) -> None:
        variable = find_variable(self, name)
        if variable.causality == "structuralParameter":
            raise SimloopError(f"{self.name}.{name} sizes arrays, which keep the sizes that their file gives them")
        taken = check_value(self.name, variable, value)
        if is_number(variable):
            buffer, place, move = self.bind(variable.type, [variable], writing=True)
            buffer[place] = taken
            move()
        else:
            values = [taken] * variable.size
            if variable.size > 1:
                values = self.instance.get_texts(variable.type, variable.reference, variable.size)
                values[variable.index] = taken
            self.instance.set_texts(variable.type, variable.reference, values)

    def get(self, name: str) -> Value:
        """A number that is not whole as a double, others exactly."""
        variable = find_variable(self, name)
        value: Value
        if not is_number(variable):
            value = self.instance.get_texts(variable.type, variable.reference, variable.size)[variable.index]
            return value
        buffer, place, move = self.bind(variable.type, [variable], writing=False)
        move()
        value = buffer[place][0].item()
        return bool(value) if family(variable) in (Family.BOOLEAN, Family.CLOCK) else value

    def reader(self, names: Sequence[str], target: Vector) -> Action:
        moves = [self._reader_of_type(*group, target) for group in self._by_type(names, target)]
        check, instance = bind_finite(self.name, names, target), self.instance

        move = _in_turn(moves)

        def read() -> None:
            move()
            check(instance.time)

        return read

    def writer(self, names: Sequence[str], source: Vector) -> Action:
        moves = [self._writer_of_type(*group, source) for group in self._by_type(names, source)]
        return _in_turn(moves)

    def derivative_writer(self, names: Sequence[str], order: int, source: Vector) -> Action:
        return self.instance.derivative_writer([find_variable(self, name).reference for name in names], order, source)

    def _by_type(self, names: Sequence[str], array: Vector) -> list[tuple[str, list[Variable], list[int]]]:
        """For each type its variables and their places in `array`."""
        variables = [find_variable(self, name) for name in names]
        if not array.flags.c_contiguous or array.dtype != np.float64 or len(array) != len(names):
            raise ValueError(f"{len(names)} variables need a contiguous array of as many doubles")
        for v in variables:
            if not is_number(v):
                raise ValueError(f"{self.name}.{v.name} is of type {v.type}, which does not travel as a double")
        groups = []
        for kind in sorted({v.type for v in variables}):
            places = [i for i, v in enumerate(variables) if v.type == kind]
            groups.append((kind, [variables[i] for i in places], places))
        return groups

    def _reader_of_type(self, kind: str, variables: list[Variable], places: list[int], array: Vector) -> Action:
        if self._fits(kind, variables, places, array):
            return self.instance.mover(kind, _whole_references(variables), array, writing=False)
        buffer, layout, move = self.bind(kind, variables, writing=False)
        chosen = _index(places, len(array))

        def read() -> None:
            move()
            array[chosen] = buffer[layout]

        if buffer.dtype.itemsize < 8 or buffer.dtype.kind not in "iu":
            return read

        def read_checked() -> None:
            read()
            if (buffer > EXACT).any() or (buffer < -EXACT).any():
                self._refuse_number(variables, buffer[layout])

        return read_checked

    def _writer_of_type(self, kind: str, variables: list[Variable], places: list[int], array: Vector) -> Action:
        if self._fits(kind, variables, places, array):
            return self.instance.mover(kind, _whole_references(variables), array, writing=True)
        buffer, layout, move = self.bind(kind, variables, writing=True)
        chosen = _index(places, len(array))
        if buffer.dtype.kind == "f":

            def write() -> None:
                buffer[layout] = array[chosen]
                move()

            return write
        truth = family(variables[0]) in (Family.BOOLEAN, Family.CLOCK)
        low, high = (0, 1) if truth else (np.iinfo(buffer.dtype).min, np.iinfo(buffer.dtype).max)
        low, high = max(low, -EXACT), min(high, EXACT)

        def write_checked() -> None:
            values = array[chosen]
            if not ((values >= low) & (values <= high) & (values == np.floor(values))).all():
                self._refuse_number(variables, values)
            buffer[layout] = values
            move()

        return write_checked

    def _refuse_number(self, variables: list[Variable], values: NDArray[Any]) -> None:
        told = ", ".join(f"{v.name} is {value}" for v, value in zip(variables, values, strict=True))
        message = f"{told}; {variables[0].type} travels as a whole number within its range and up to 2^53"
        raise UnitError(self.name, "a transfer", message, self.instance.time)

    def _fits(self, kind: str, variables: list[Variable], places: list[int], array: Vector) -> bool:
        """Whether the unit can be given `array` itself: doubles, in order, arrays whole."""
        in_order = places == list(range(len(array)))
        return self.instance.ACCESS[kind][1] is np.float64 and in_order and _are_whole(variables)

    def references(self, names: Sequence[str]) -> tuple[str, list[int]] | None:
        """The type of these variables and the references by which one call moves them; None where it takes more."""
        variables = [find_variable(self, name) for name in names]
        if len({v.type for v in variables}) != 1 or not _are_whole(variables):
            return None
        return variables[0].type, _whole_references(variables)

    def bind(
        self, kind: str, variables: list[Variable], *, writing: bool
    ) -> tuple[NDArray[Any], NDArray[np.intp], Action]:
        """A buffer for the variables, arrays whole, where in it each stands, and a call that moves all of it."""
        first: dict[int, int] = {}
        length = 0
        for v in variables:
            if v.reference not in first:
                first[v.reference] = length
                length += v.size
        buffer = np.zeros(length, dtype=self.instance.ACCESS[kind][1])
        layout = np.array([first[v.reference] + v.index for v in variables], dtype=np.intp)
        move = self.instance.mover(kind, list(first), buffer, writing=writing)
        if not writing or len(set(layout.tolist())) == length:
            return buffer, layout, move
        # The elements that are not given keep their values.
        fetch = self.instance.mover(kind, list(first), buffer, writing=False)
        return buffer, layout, self._patch(buffer, layout, fetch, move)

    def _patch(self, buffer: NDArray[Any], layout: NDArray[np.intp], fetch: Action, move: Action) -> Action:
        def fetch_and_move() -> None:
            given = buffer[layout]
            fetch()
            buffer[layout] = given
            move()

        return fetch_and_move

    def serialize(self, state: SavedState) -> bytes:
        """A saved state as bytes that `deserialize` of another instance of the same file takes."""
        return self.instance.serialize(state)

    def deserialize(self, data: bytes) -> SavedState:
        return self.instance.deserialize(data)

    def close(self) -> None:
        """Free the instance and its files, as also happens when the component is let go. No call may follow."""
        self._finish()


def _in_turn(moves: list[Action]) -> Action:
    if len(moves) == 1:
        return moves[0]

    def move_all() -> None:
        for move in moves:
            move()

    return move_all


def _are_whole(variables: list[Variable]) -> bool:
    """Whether the elements of arrays are all there, in order."""
    whole = [(v.reference, i) for v in variables if v.index == 0 for i in range(v.size)]
    return [(v.reference, v.index) for v in variables] == whole


def _whole_references(variables: list[Variable]) -> list[int]:
    return [v.reference for v in variables if v.index == 0]


def _index(places: list[int], length: int) -> slice | NDArray[np.intp]:
    return slice(None) if places == list(range(length)) else np.array(places, dtype=np.intp)


def _release(instance: FmiInstance, folder: Path) -> None:
    release: Callable[[], None] = instance.release
    release()
    shutil.rmtree(folder, ignore_errors=True)
