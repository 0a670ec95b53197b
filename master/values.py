"""What the value of a variable can be: the types of FMI 2.0 and FMI 3.0, and which of them fit each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from simloop.master.errors import SimloopError, UnitError

if TYPE_CHECKING:
    from simloop.master.component import Variable

Value = float | int | bool | str | bytes
# Whole numbers up to here are doubles too; beyond it two of them can be one double.
EXACT = 2**53


class Family(Enum):
    """Types of one family can be joined; the value is what such a variable takes, in words."""

    REAL = "a finite number"
    WHOLE = "a whole number"
    ENUMERATION = "one of its items"
    BOOLEAN = "true or false"
    CLOCK = "true, for a tick, or false"
    TEXT = "text"
    BINARY = "bytes, or text of hexadecimal digits"


@dataclass(frozen=True)
class Type:
    """A type by its name in the model description; numbers have the numpy type that holds them, others None."""

    family: Family
    dtype: Any


TYPES: dict[str, Type] = {
    "Real": Type(Family.REAL, np.float64),
    "Float64": Type(Family.REAL, np.float64),
    "Float32": Type(Family.REAL, np.float32),
    "Integer": Type(Family.WHOLE, np.int32),
    "Int8": Type(Family.WHOLE, np.int8),
    "UInt8": Type(Family.WHOLE, np.uint8),
    "Int16": Type(Family.WHOLE, np.int16),
    "UInt16": Type(Family.WHOLE, np.uint16),
    "Int32": Type(Family.WHOLE, np.int32),
    "UInt32": Type(Family.WHOLE, np.uint32),
    "Int64": Type(Family.WHOLE, np.int64),
    "UInt64": Type(Family.WHOLE, np.uint64),
    "Enumeration": Type(Family.ENUMERATION, np.int64),
    "Boolean": Type(Family.BOOLEAN, np.bool_),
    "Clock": Type(Family.CLOCK, np.bool_),
    "String": Type(Family.TEXT, None),
    "Binary": Type(Family.BINARY, None),
}


def family(variable: Variable) -> Family:
    return TYPES[variable.type].family


def is_number(variable: Variable) -> bool:
    """Whether it travels as a double."""
    return TYPES[variable.type].dtype is not None


def limits(kind: str) -> tuple[int, int]:
    """The least and the greatest whole number of a type."""
    dtype = TYPES[kind].dtype
    if dtype is np.bool_ or dtype is None:
        return 0, 1
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def check_value(component: str, variable: Variable, value: object) -> Value:
    """`value` as one that `variable` can take, or an error that says what it can."""
    kind = family(variable)
    taken: Value | None
    if kind is Family.TEXT:
        taken = str(value)
    elif kind is Family.BINARY:
        taken = _bytes(value)
    elif kind is Family.REAL:
        number = _number(value)
        taken = number if math.isfinite(number) else None
    else:
        taken = _whole(value, variable)
    if taken is None:
        raise SimloopError(f"{component}.{variable.name} cannot be {value!r}; it takes {_takes(variable)}")
    return taken


def check_number(component: str, variable: Variable, value: object) -> float:
    """As `check_value`, for what travels as a double."""
    if not is_number(variable):
        raise SimloopError(f"{component}.{variable.name} is of type {variable.type}, which is not a number")
    return float(check_value(component, variable, value))


def bind_finite(component: str, names: Sequence[str], values: NDArray[np.float64]) -> Callable[[float], None]:
    """A call that tells, of the time given to it, which of `values` are NaN or infinite."""
    marks = bytearray(len(names))
    finite, isfinite = np.frombuffer(marks, dtype=np.bool_), np.isfinite

    def check(time: float) -> None:
        isfinite(values, finite)
        if 0 in marks:
            wrong = [f"{name} is {value}" for name, value, good in zip(names, values, marks, strict=True) if not good]
            raise UnitError(component, "an output", f"{', '.join(wrong)}; a finite number is needed", time)

    return check


def _takes(variable: Variable) -> str:
    kind = family(variable)
    if kind is Family.WHOLE:
        low, high = limits(variable.type)
        return f"a whole number from {low} to {high}"
    if kind is Family.ENUMERATION and variable.items:
        return "one of " + ", ".join(f"{name} ({number})" for name, number in variable.items)
    return str(kind.value)


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return {"true": 1.0, "false": 0.0}.get(str(value).lower(), math.nan)


def _whole(value: Any, variable: Variable) -> int | bool | None:
    """Whole numbers stay exact: they do not pass through a double."""
    items = dict(variable.items)
    if isinstance(value, str) and value in items:
        return items[value]
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        approximate = _number(value)
        if not math.isfinite(approximate):
            return None
        value, number = approximate, int(approximate)
    if not isinstance(value, str) and number != value:
        return None
    low, high = limits(variable.type)
    if not low <= number <= high or (items and number not in items.values()):
        return None
    return bool(number) if family(variable) in (Family.BOOLEAN, Family.CLOCK) else number


def _bytes(value: object) -> bytes | None:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    try:
        return bytes.fromhex(str(value))
    except ValueError:
        return None
