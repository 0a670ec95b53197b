"""How drives turn numbers into a robot's joints: counts to radians, per mille to torque; from a TOML file."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from simloop.models.arm import Arm, Vector

# Where nothing else is said: counts a turn (or a metre) on the joint's side of the gear, and the part of its greatest
# torque that a motor is rated for. A joint without a known limit is rated for this, N·m or N.
COUNTS, RATED_PART, RATED_OTHERWISE = 1 << 24, 1 / 3, 10.0
# Target torque is an int16 in per mille of rated.
MOST_PER_MILLE = 32767


@dataclass(frozen=True)
class Axis:
    """One drive and its joint: counts = zero + counts_per_unit · q, q in rad or m. A drive that turns the other way
    has a negative number there. `rated_torque` is on the joint's side of the gear, N·m or N."""

    node: int
    counts_per_unit: float
    rated_torque: float
    zero: int = 0

    @property
    def torque_unit(self) -> float:
        """A per mille of rated, signed as the joint turns, N·m or N."""
        return math.copysign(1e-3 * self.rated_torque, self.counts_per_unit)


class Axes:
    """The drives of a robot, in the order of its joints."""

    def __init__(self, axes: tuple[Axis, ...]) -> None:
        self.all = axes
        self._counts_per_unit = np.array([axis.counts_per_unit for axis in axes])
        self._zero = np.array([float(axis.zero) for axis in axes])
        self._torque_unit = np.array([axis.torque_unit for axis in axes])

    def position(self, counts: Vector) -> Vector:
        """rad or m."""
        q: Vector = (counts - self._zero) / self._counts_per_unit
        return q

    def counts(self, q: Vector) -> Vector:
        counts: Vector = np.rint(self._zero + self._counts_per_unit * q)
        return counts

    def per_mille(self, tau: Vector) -> Vector:
        """The nearest that can be sent."""
        rounded: Vector = np.clip(np.rint(tau / self._torque_unit), -MOST_PER_MILLE, MOST_PER_MILLE)
        return rounded

    def torque(self, per_mille: Vector) -> Vector:
        """N·m or N."""
        tau: Vector = per_mille * self._torque_unit
        return tau


def default_axes(arm: Arm) -> Axes:
    """Nodes 1 to n, a fine encoder, motors rated for a third of their joint's greatest torque."""
    per_unit = [COUNTS / (2 * math.pi) if unit == "rad" else float(COUNTS) for unit in arm.units]
    limits = [limit * RATED_PART if math.isfinite(limit) else RATED_OTHERWISE for limit in arm.torque_limits.tolist()]
    # A drive tells its rated torque in whole mN·m.
    rated = [round(1e3 * limit) / 1e3 for limit in limits]
    return Axes(
        tuple(Axis(i + 1, counts, torque) for i, (counts, torque) in enumerate(zip(per_unit, rated, strict=True)))
    )


def read_axes(path: Path, n: int) -> Axes:
    """The n tables `[[joint]]` of a TOML file, in the order of the joints, with the fields of Axis."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("joint", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"the drives' file {str(path)!r} cannot be read: {reason}") from None
    if not isinstance(tables, list) or len(tables) != n:
        found = len(tables) if isinstance(tables, list) else "no list of"
        raise ValueError(f"{str(path)!r} has {found} tables [[joint]]; the robot has {n} joints")
    axes = tuple(_axis(table, i + 1, path) for i, table in enumerate(tables))
    if len({axis.node for axis in axes}) != n:
        raise ValueError(f"{str(path)!r} gives two joints the same node")
    return Axes(axes)


def _axis(table: dict[str, Any], joint: int, path: Path) -> Axis:
    names = {field.name for field in fields(Axis)}
    unknown, missing = set(table) - names, names - {"zero"} - set(table)
    if unknown or missing:
        wrong = f"knows no {min(unknown)!r}" if unknown else f"needs {min(missing)!r}"
        raise ValueError(f"joint {joint} in {str(path)!r} {wrong}; it takes {', '.join(sorted(names))}")
    rules: dict[str, tuple[Callable[[Any], bool], str]] = {
        "node": (lambda value: type(value) is int and 1 <= value <= 127, "a whole number from 1 to 127"),
        "zero": (lambda value: type(value) is int and abs(value) < 2**31, "a whole number of 32 bits"),
        "counts_per_unit": (lambda value: _is_number(value) and value != 0.0, "a number other than 0"),
        "rated_torque": (lambda value: _is_number(value) and 0.0 < value < 1e6, "a number greater than 0"),
    }
    for name, value in table.items():
        allowed, words = rules[name]
        if not allowed(value):
            raise ValueError(f"joint {joint} in {str(path)!r} has {name} = {value!r}; it must be {words}")
    return Axis(**table)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
