"""A folder of results, read again: what was recorded, what run.json says, and the scene from the units it ran on."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simloop.master import Result, SimloopError
from simloop.studio import scenarios

# A scene's description is text; one that unpacks to more than this is not one of ours, bytes.
_LARGEST = 1 << 26
# What must stand in run.json, and as what.
_KINDS: Mapping[type, str] = {str: "a text", dict: "a table"}
_NEEDED: Mapping[str, type] = {
    **dict.fromkeys(("scenario", "plant", "status", "command"), str),
    **dict.fromkeys(("parameters", "summary", "account", "units", "versions"), dict),
}


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


class _UnreadableError(Exception):
    """What is wrong with a folder, in words."""


def read_archive(folder: Path) -> Archive:
    """The results that a run wrote to `folder`."""
    try:
        if not folder.is_dir():
            raise _UnreadableError("there is no such folder")
        record = _read_record(folder)
        columns = _read_signals(folder)
        mjcf, unit = _read_plant(folder, f"units/{record['plant']}.fmu")
    except _UnreadableError as error:
        raise SimloopError(f"{str(folder)!r} holds no results that can be read: {error}") from None
    result = Result(columns, complete=record["status"] == "complete")
    return Archive(folder, record, result, mjcf, tuple(unit["tools"]), tuple(unit["home"]))


def _read_record(folder: Path) -> dict[str, Any]:
    try:
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise _UnreadableError(_why_not("run.json", error)) from None
    except (ValueError, RecursionError):
        raise _UnreadableError("run.json is not JSON") from None
    if not isinstance(record, dict):
        raise _UnreadableError("run.json is not the record of a run")
    if "system" in record and "scenario" not in record:
        raise _UnreadableError("they are those of a package, which has no robot to show; run a scenario for that")
    for key, kind in _NEEDED.items():
        if key not in record:
            raise _UnreadableError(f"run.json has no {key!r}")
        if not isinstance(record[key], kind):
            raise _UnreadableError(f"{key!r} in run.json is not {_KINDS[kind]}")
    for key, figure in record["summary"].items():
        if not isinstance(figure, dict) or not {"label", "unit", "value"} <= set(figure):
            raise _UnreadableError(f"the figure {key!r} in run.json has not its label, unit and value")
    if not isinstance(record["account"].get("timeline"), list):
        raise _UnreadableError("the account in run.json has no 'timeline'")
    return record


def _read_signals(folder: Path) -> dict[str, NDArray[Any]]:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(folder / "signals.parquet")
    except OSError as error:
        # pyarrow raises it also for a file that is cut short.
        raise _UnreadableError(_why_not("signals.parquet", error)) from None
    except (ValueError, pyarrow.ArrowException):
        raise _UnreadableError("signals.parquet is not a whole Parquet file") from None
    if not table.num_rows or "time" not in table.column_names:
        raise _UnreadableError("signals.parquet has no rows with a 'time'")
    return {name: np.asarray(table[name]) for name in table.column_names}


def _read_plant(folder: Path, name: str) -> tuple[str, dict[str, Any]]:
    """The plant's scene as MJCF, and what its unit says of itself."""
    try:
        with zipfile.ZipFile(folder / name) as archive:
            mjcf, unit = _resource(archive, "model.xml"), json.loads(_resource(archive, "unit.json"))
    except OSError as error:
        raise _UnreadableError(_why_not(name, error)) from None
    except KeyError:
        raise _UnreadableError(f"{name} is not a plant of simloop's") from None
    # What a damaged archive, or one that is packed in a way that Python does not know, makes zipfile raise.
    except (ValueError, RuntimeError, zipfile.BadZipFile, zlib.error):
        raise _UnreadableError(f"{name} is damaged") from None
    if not isinstance(unit, dict) or not all(isinstance(unit.get(key), list) for key in ("tools", "home")):
        raise _UnreadableError(f"{name} is not a plant of simloop's")
    return mjcf, unit


def _resource(archive: zipfile.ZipFile, name: str) -> str:
    about = archive.getinfo(f"resources/{name}")
    if about.file_size > _LARGEST:
        raise ValueError(f"{name} is too large")
    return archive.read(about).decode("utf-8")


def _why_not(name: str, error: OSError) -> str:
    """Why a file of the folder cannot be read."""
    if isinstance(error, FileNotFoundError):
        return f"{name} is missing"
    return f"{name} cannot be read" + (f" ({error.strerror.lower()})" if error.strerror else "")
