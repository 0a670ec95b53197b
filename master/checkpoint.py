"""A run on file: states, records and all that its algorithm remembers, to go on from in another process."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from simloop.master.account import Account
from simloop.master.component import Vector
from simloop.master.errors import SimloopError
from simloop.master.recorder import Recorder
from simloop.master.seconds import exact_seconds
from simloop.master.system import System

if TYPE_CHECKING:
    from simloop.master.binding import Algorithm
    from simloop.master.schedule import Schedule


@dataclass(frozen=True)
class Checkpoint:
    """Write the run to `path` when the first macro step that ends at or after `at` s has been committed; and go on."""

    path: Path
    at: Fraction | str | float

    def check(self, kept: Kept, h: Fraction, steps: int) -> int:
        """After which macro step that is; refused when a component cannot be written, or the run ends before."""
        kept.check_components()
        mark = -(-exact_seconds("time of the checkpoint", self.at) // h)
        if mark > steps:
            raise SimloopError(f"the checkpoint at {self.at} s is after the end of the run at {float(steps * h)} s")
        return int(mark)


@dataclass(frozen=True)
class Saved:
    """What a file holds."""

    done: int
    account: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Kept:
    """What of a run is kept. `signature` says what the run is of, so that no other goes on from its file."""

    signature: str
    system: System
    memories: Sequence[Vector]
    recorder: Recorder
    account: Account

    def check_components(self) -> None:
        for name, component in self.system.components.items():
            if not component.can_serialize:
                raise SimloopError(f"the run cannot be written to a file: {name} does not offer to serialise its state")

    def write(self, path: Path, done: int) -> None:
        about = {"signature": self.signature, "done": done, "account": self.account.state()}
        arrays: dict[str, NDArray[Any]] = {"about": _to_array(json.dumps(about).encode()), "rows": self.recorder.rows()}
        for i, memory in enumerate(self.memories):
            arrays[f"memory {i}"] = memory
        for name, component in self.system.components.items():
            arrays[f"state {name}"] = _to_array(component.serialize(component.save()))
        half = path.with_name(path.name + ".part")
        with open(half, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        half.replace(path)

    def read(self, path: Path, steps: int) -> Saved:
        """For a run of so many macro steps."""
        self.check_components()
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            about = json.loads(arrays["about"].tobytes())
            saved = Saved(about["done"], about["account"], arrays)
        except FileNotFoundError:
            raise SimloopError(f"there is no file {str(path)!r}") from None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise SimloopError(f"{str(path)!r} is not a checkpoint: {error}") from error
        if about.get("signature") != self.signature:
            raise SimloopError(f"{str(path)!r} is a checkpoint of another system, algorithm or step")
        if saved.done > steps:
            raise SimloopError(f"{str(path)!r} was written after {saved.done} steps, the run is of {steps} only")
        return saved

    def restore(self, saved: Saved) -> int:
        """Be where the file was written; after how many macro steps that was."""
        for name, component in self.system.components.items():
            component.restore(component.deserialize(saved.arrays[f"state {name}"].tobytes()))
        for i, memory in enumerate(self.memories):
            memory[...] = saved.arrays[f"memory {i}"]
        self.recorder.take(saved.arrays["rows"])
        self.account.take(saved.account)
        return saved.done


def _to_array(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, dtype=np.uint8)


def signature(system: System, algorithm: Algorithm | Schedule, h: Fraction) -> str:
    """Of components and variables, connections, algorithm and step; of a function in it only the name counts."""
    units = {name: [repr(v) for v in component.variables.values()] for name, component in system.components.items()}
    text = json.dumps([units, [repr(c) for c in system.connections()], _plain(algorithm), str(h)])
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return [type(value).__name__, *(_plain(getattr(value, field.name)) for field in fields(value))]
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return [[key, _plain(each)] for key, each in sorted(value.items())]
    return value.__qualname__ if callable(value) else repr(value)
