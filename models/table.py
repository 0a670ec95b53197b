"""Tables of numbers over time, from CSV files."""

from __future__ import annotations

import csv
from collections.abc import Sequence

import numpy as np
from simloop.models.arm import Vector


def read_table(path: str, columns: Sequence[str], *, rows: int = 1) -> Vector:
    """The numbers of a CSV file whose header is `columns`, the first of them a time that rises; at least `rows` rows.

    ValueError names the file and what is wrong.
    """
    try:
        # utf-8-sig: spreadsheets put a byte-order mark first.
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file) if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"table {path!r} cannot be read: {error}") from error
    if len(lines) < 1 + rows or lines[0] != list(columns) or any(len(line) != len(columns) for line in lines):
        wanted = "" if rows == 1 else f", at least {rows} rows"
        raise ValueError(
            f"table {path!r} must have the columns {','.join(columns)} and as many numbers in each row{wanted}"
        )
    try:
        values = np.array(lines[1:], dtype=float)
    except ValueError as error:
        raise ValueError(f"table {path!r} has something that is not a number: {error}") from error
    bad = ~np.isfinite(values).all(axis=1)
    bad[1:] |= np.diff(values[:, 0]) <= 0.0
    if bad.any():
        row = int(np.flatnonzero(bad)[0]) + 1
        raise ValueError(f"table {path!r} must have finite numbers and times that rise; row {row} has not")
    return values
