"""Flat schedules over FMUs as calls that the compiled loop makes, and what it means when one of them ends it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from simloop.master._executor import ffi, lib
from simloop.master.component import Component, Vector
from simloop.master.errors import StepDiscardedError
from simloop.master.fmi import FmiInstance
from simloop.master.fmi3 import Fmi3Instance
from simloop.master.fmu import FmuComponent
from simloop.master.schedule import Operation, Restore, Save, Set, Step, Transfer
from simloop.master.system import Connection, System
from simloop.master.transform import Elementwise, Linear, Transform
from simloop.master.values import bind_finite

# By the type of a variable, the kinds of call that get and set it.
_WHOLE_2 = (lib.EXECUTOR_GET_WHOLE_2, lib.EXECUTOR_SET_WHOLE_2)
_KINDS_2 = {
    "Real": (lib.EXECUTOR_GET_REAL_2, lib.EXECUTOR_SET_REAL_2),
    "Integer": _WHOLE_2,
    "Enumeration": _WHOLE_2,
    "Boolean": _WHOLE_2,
}
_INT_32 = np.iinfo(np.int32)
_KINDS_3 = {"Float64": (lib.EXECUTOR_GET_REAL_3, lib.EXECUTOR_SET_REAL_3)}


def can_move(component: Component, names: Iterable[str]) -> bool:
    """Whether one call of the compiled loop gets or sets these variables."""
    if not isinstance(component, FmuComponent) or not component.instance.plain:
        return False
    found = component.references(tuple(names))
    return found is not None and found[0] in _kinds(component.instance)


def can_make(system: System, operation: Operation) -> bool:
    """Whether the compiled loop can make it; all else is for the interpreted one."""
    match operation:
        case Transfer(connection, extrapolation):
            return (
                extrapolation.degree == 0
                and _linear(connection.transform, 1) is not None
                and can_move(system.components[connection.source], connection.outputs)
                and can_move(system.components[connection.target], connection.inputs)
            )
        case Set(name, variable):
            return can_move(system.components[name], (variable,))
        case Step(name) | Save(name) | Restore(name):
            component = system.components[name]
            return isinstance(component, FmuComponent) and component.instance.plain
    return False


@dataclass(frozen=True)
class Call:
    """One call. `operation` is the place in the schedule of what it belongs to; `fields` are its executor_call.

    `judge` is given why the loop ended at it, what the unit answered and the length of the macro step, s. It raises
    what the interpreted loop would; where that would go on, it returns.
    """

    operation: int
    fields: dict[str, Any]
    judge: Callable[[int, int, float], None]
    kept: tuple[Any, ...]
    """What the fields point to."""


class Calls:
    """The calls of operations, in order, and the units that they are made in."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._slots: dict[str, Any] = {}
        self._operation = 0
        self.made: list[Call] = []
        self.units: dict[str, tuple[FmiInstance, Any]] = {}
        """By name, the instance and the cell in which the loop keeps its time."""

    def add(self, operation: Operation) -> None:
        match operation:
            case Transfer(connection):
                self._transfer(connection)
            case Set(name, variable, value):
                self._set(name, (variable,), np.array([float(value)]))
            case Step(name, part, parts):
                self._step(name, part, parts)
            case Save(name):
                self._state(name, "Get", lib.EXECUTOR_SAVE)
            case Restore(name):
                self._state(name, "Set", lib.EXECUTOR_RESTORE)
        self._operation += 1

    def get(self, name: str, variables: tuple[str, ...], values: Vector) -> None:
        instance, component = self._unit(name)
        check = bind_finite(name, variables, values)
        function, fields, kept = self._move(component, variables, values, writing=False)

        def judge(reason: int, status: int, h: float) -> None:
            if reason == lib.EXECUTOR_NOT_FINITE:
                check(instance.time)
            instance.check(function, status)

        self._append(name, fields, judge, kept)

    def _set(self, name: str, variables: tuple[str, ...], values: Vector) -> None:
        instance, component = self._unit(name)
        write = component.writer(variables, values)
        function, fields, kept = self._move(component, variables, values, writing=True)

        def judge(reason: int, status: int, h: float) -> None:
            if reason == lib.EXECUTOR_NOT_TAKEN:
                write()
            instance.check(function, status)

        self._append(name, fields, judge, kept)

    def _transfer(self, connection: Connection) -> None:
        values = np.zeros(len(connection.outputs))
        self.get(connection.source, connection.outputs, values)
        if connection.transform is not None:
            self._scale(connection, values)
        self._set(connection.target, connection.inputs, values)

    def _scale(self, connection: Connection, values: Vector) -> None:
        linear = _linear(connection.transform, len(values))
        assert linear is not None
        factors, offsets = (np.array([getattr(one, name) for one in linear]) for name in ("factor", "offset"))
        fields = {"kind": lib.EXECUTOR_SCALE, "count": len(values), "values": _doubles(values)}
        fields |= {"factors": _doubles(factors), "offsets": _doubles(offsets)}
        self._append(connection.source, fields, _never, (values, factors, offsets))

    def _step(self, name: str, part: int, parts: int) -> None:
        instance, _ = self._unit(name)
        kind = lib.EXECUTOR_STEP_3 if instance.PREFIX == "fmi3" else lib.EXECUTOR_STEP_2
        fields = {"kind": kind, "part": part, "parts": parts, "function": _function(instance, "DoStep")}
        if isinstance(instance, Fmi3Instance):
            *flags, until = map(ctypes.addressof, instance.answer)
            fields["answer"] = [*(ffi.cast("bool *", flag) for flag in flags), ffi.cast("double *", until)]

        def judge(reason: int, status: int, h: float) -> None:
            begin, length = instance.time, h if parts == 1 else h / parts
            done = instance.judge_step(status, length)
            if done < length:
                raise StepDiscardedError(name, begin, length, done)

        self._append(name, fields, judge, ())

    def _state(self, name: str, verb: str, kind: int) -> None:
        instance, _ = self._unit(name)
        if name not in self._slots:
            state = instance.new_slot()
            slot = ffi.new("executor_slot *", [ffi.cast("void **", ctypes.addressof(state.pointer)), 0.0])
            self._slots[name] = state, slot
        state, slot = self._slots[name]
        function = instance.state_function(verb)
        fields = {"kind": kind, "slot": slot, "function": _function(instance, function.removeprefix(instance.PREFIX))}

        def judge(reason: int, status: int, h: float) -> None:
            instance.check(function, status)

        self._append(name, fields, judge, (state, slot))

    def _move(
        self, component: FmuComponent, variables: tuple[str, ...], values: Vector, *, writing: bool
    ) -> tuple[str, dict[str, Any], tuple[Any, ...]]:
        """The name of the function that moves them, the fields of the call and what they point to."""
        instance, found = component.instance, component.references(variables)
        assert found is not None
        kind, references = found
        ending = f"{'Set' if writing else 'Get'}{instance.ACCESS[kind][0]}"
        addresses, whole = ffi.new("uint32_t[]", references), ffi.new("int32_t[]", len(values))
        fields = {
            "kind": _kinds(instance)[kind][writing],
            "function": _function(instance, ending),
            "count": len(values),
            "references": addresses,
            "references_count": len(references),
            "values": _doubles(values),
        }
        if _kinds(instance)[kind] is _WHOLE_2:
            low, high = (0, 1) if kind == "Boolean" else (_INT_32.min, _INT_32.max)
            fields |= {"whole": whole, "low": low, "high": high}
        return f"{instance.PREFIX}{ending}", fields, (values, addresses, whole)

    def _unit(self, name: str) -> tuple[FmiInstance, FmuComponent]:
        component = self._system.components[name]
        assert isinstance(component, FmuComponent)
        if name not in self.units:
            self.units[name] = component.instance, ffi.new("double *")
        return component.instance, component

    def _append(
        self, name: str, fields: dict[str, Any], judge: Callable[[int, int, float], None], kept: tuple[Any, ...]
    ) -> None:
        instance, time = self.units[name]
        common = {"unit": ffi.cast("void *", instance.handle.value), "time": time}
        self.made.append(Call(self._operation, common | fields, judge, kept))


def _kinds(instance: FmiInstance) -> dict[str, tuple[int, int]]:
    return _KINDS_3 if instance.PREFIX == "fmi3" else _KINDS_2


def _function(instance: FmiInstance, ending: str) -> dict[str, Any]:
    function = instance.functions[f"{instance.PREFIX}{ending}"]
    return {"address": ffi.cast("void *", ctypes.cast(function, ctypes.c_void_p).value)}


def _doubles(values: Vector) -> Any:
    return ffi.cast("double *", values.ctypes.data)


def _linear(transform: Transform | None, count: int) -> list[Linear] | None:
    """The transform of each value, where all are linear."""
    match transform:
        case None:
            return []
        case Linear():
            return [transform] * count
        case Elementwise(each):
            linear = [one for one in each if isinstance(one, Linear)]
            return linear if len(linear) == len(each) else None
    return None


def _never(reason: int, status: int, h: float) -> None:
    """A multiplication cannot fail."""
