"""What a run recorded: a column a variable, and how to write it to a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simloop.master.account import Account
from simloop.master.errors import NameNotFoundError


class Result:
    """Columns by name, all of one length: `time` in s, then `component.variable[i]`. `account` is what it cost."""

    def __init__(self, columns: Mapping[str, NDArray[Any]], *, complete: bool, account: Account | None = None) -> None:
        self.columns = dict(columns)
        self.complete = complete
        self.account = Account() if account is None else account

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.columns:
            raise NameNotFoundError("column", name, self.columns)
        return self.columns[name]

    def vector(self, name: str) -> NDArray[np.float64]:
        """All elements of a vector over time, (rows, n): `plant.q` is plant.q[1], plant.q[2], …"""
        names = [f"{name}[{i + 1}]" for i in range(sum(column.startswith(f"{name}[") for column in self.columns))]
        return np.column_stack([self[each] for each in names or [name]]).astype(np.float64)

    def __len__(self) -> int:
        return len(self.columns["time"])

    def plot(self, *names: str) -> Any:
        """A plotly figure of these columns over time, `.show()` it; all of them unless named."""
        import plotly.graph_objects as go

        figure = go.Figure()
        for name in names or [column for column in self.columns if column != "time"]:
            figure.add_scatter(x=self["time"], y=self[name], name=name, mode="lines")
        figure.update_layout(xaxis_title="time, s", hovermode="x unified")
        return figure

    def write_parquet(self, path: Path, metadata: Mapping[str, str]) -> None:
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table(self.columns).replace_schema_metadata(dict(metadata))
        pyarrow.parquet.write_table(table, path)

    def write_csv(self, path: Path) -> None:
        """Numbers in full: reading them back gives the same bits."""
        lists = [column.tolist() for column in self.columns.values()]
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(",".join(self.columns) + "\n")
            for row in zip(*lists, strict=True):
                file.write(",".join(map(repr, row)) + "\n")
