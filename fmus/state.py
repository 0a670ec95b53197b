"""The state of a unit as one dataclass: copied on save and on restore, and written to bytes.

A state's fields are arrays of doubles, numbers, lists of text, a random generator, or dataclasses of these.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass
class UnitState:
    """What every unit has: its numeric ports by value reference, and its text variables."""

    ports: NDArray[np.float64]
    texts: list[str]


def copy_into(source: Any, target: Any) -> None:
    """Make `target` equal to `source`, field by field, writing arrays in place."""
    for name in _names(type(source)):
        value = getattr(source, name)
        if isinstance(value, np.ndarray):
            getattr(target, name)[...] = value
        elif isinstance(value, np.random.Generator):
            getattr(target, name).bit_generator.state = value.bit_generator.state
        elif isinstance(value, list):
            getattr(target, name)[:] = value
        elif is_dataclass(value):
            copy_into(value, getattr(target, name))
        else:
            setattr(target, name, value)


def duplicate(source: Any) -> Any:
    """A copy of `source` that shares nothing with it."""
    return type(source)(**{name: _duplicate_value(getattr(source, name)) for name in _names(type(source))})


def to_bytes(state: Any) -> bytes:
    """JSON, with numbers in full: what is read back is the same to the last bit."""
    return json.dumps(_plain(state), sort_keys=True).encode()


def from_bytes(data: bytes, like: Any, first_finite: int = 0) -> Any:
    """The state that `to_bytes` wrote, of the kind and sizes of `like`; ValueError when it is not one.

    Its ports before `first_finite` may be NaN or infinite, nothing else may.
    """
    try:
        plain = json.loads(data)
    except ValueError as error:
        raise ValueError("the serialised state is not one that this unit wrote") from error
    state = duplicate(like)
    _fill(state, plain, "state", first_finite)
    return state


_FIELD_NAMES: dict[type, tuple[str, ...]] = {}


def _names(kind: type) -> tuple[str, ...]:
    names = _FIELD_NAMES.get(kind)
    if names is None:
        names = _FIELD_NAMES[kind] = tuple(field.name for field in fields(kind))
    return names


def _duplicate_value(value: Any) -> Any:
    if isinstance(value, np.ndarray | list):
        return value.copy()
    if isinstance(value, np.random.Generator):
        generator = np.random.Generator(type(value.bit_generator)())
        generator.bit_generator.state = value.bit_generator.state
        return generator
    return duplicate(value) if is_dataclass(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    if is_dataclass(value):
        return {name: _plain(getattr(value, name)) for name in _names(type(value))}
    return value


def _is_texts(value: list[Any], count: int) -> bool:
    return len(value) == count and all(isinstance(text, str) for text in value)


def _fill(target: Any, plain: Any, path: str, first_finite: int = 0) -> None:
    names = _names(type(target))
    if not isinstance(plain, dict) or sorted(plain) != sorted(names):
        raise ValueError(f"the serialised {path} does not have the fields {', '.join(names)}")
    for name in names:
        old, new, where = getattr(target, name), plain[name], f"{path}.{name}"
        if is_dataclass(old):
            _fill(old, new, where)
            continue
        try:
            if isinstance(old, np.ndarray):
                array = np.array(new, dtype=float)
                if old.size == 0 == array.size:
                    continue  # lists do not tell how wide an array without rows is
                checked = array[first_finite:] if name == "ports" else array
                if array.shape != old.shape or not np.isfinite(checked).all():
                    raise ValueError(f"{old.size} finite numbers are needed")
                old[...] = array
            elif isinstance(old, np.random.Generator):
                old.bit_generator.state = new
            elif type(new) is type(old) and (not isinstance(old, list) or _is_texts(new, len(old))):
                setattr(target, name, new)
            else:
                raise ValueError("another kind of value")
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"the serialised {where} does not fit this unit: {error}") from error
