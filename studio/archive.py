"""A folder of results, read again: what was recorded, what run.json says, and the scene from the units it ran on."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from simloop.master import Result, SimloopError
from simloop.studio import scenarios

# A scene's description is text; one that unpacks to more than this is not one of ours, bytes.
_LARGEST = 1 << 26


@dataclass(frozen=True)
class Archive:
    """`mjcf` is the robot in its scene, as the plant had it."""

    folder: Path
    record: dict[str, Any]
    result: Result
    mjcf: str
    tools: tuple[str, ...]
    home: tuple[float, ...]

    @property
    def scenario(self) -> str:
        return str(self.record["scenario"])

    @property
    def title(self) -> str:
        return scenarios.load(self.scenario).title if self.scenario in scenarios.names() else self.scenario


def read_archive(folder: Path) -> Archive:
    """The results that a run wrote to `folder`."""
    import pyarrow
    import pyarrow.parquet

    try:
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        table = pyarrow.parquet.read_table(folder / "signals.parquet")
        plant = folder / "units" / f"{record['plant']}.fmu"
        mjcf, unit = _resource(plant, "model.xml"), json.loads(_resource(plant, "unit.json"))
        columns = {name: np.asarray(table[name]) for name in table.column_names}
        result = Result(columns, complete=record["status"] == "complete")
        return Archive(folder, record, result, mjcf, tuple(unit["tools"]), tuple(unit["home"]))
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, pyarrow.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SimloopError(f"{str(folder)!r} holds no results that can be read: {reason}") from None


def _resource(unit: Path, name: str) -> str:
    with zipfile.ZipFile(unit) as archive:
        about = archive.getinfo(f"resources/{name}")
        if about.file_size > _LARGEST:
            raise ValueError(f"{name} in {unit.name} is too large")
        return archive.read(about).decode("utf-8")
