"""Unpack an FMU or a package: archives that nobody vouches for. What one says of itself is checked while it is read."""

from __future__ import annotations

import stat
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from simloop.master.errors import SimloopError

# Far above any unit that is in use, far below what would fill a disk: bytes unpacked, entries, folders in one path.
MOST_BYTES = 2 * 2**30
MOST_ENTRIES = 20_000
MOST_DEPTH = 32
# Bytes that one packed byte may become, beyond the first MiB: deflate gives up to 1032 on zeros, real units some 10.
MOST_GROWTH = 200
_FREE_GROWTH = 2**20
_CHUNK = 2**20


def unpack(path: Path, folder: Path) -> None:
    """Unpack the archive `path` into the empty `folder`, or refuse it with one sentence that names file and fault."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _check(entries)
            for entry in entries:
                _write(archive, entry, folder)
    except FileNotFoundError as error:
        raise SimloopError(f"there is no file {str(path)!r}") from error
    except IsADirectoryError as error:
        raise SimloopError(f"{str(path)!r} is a folder, not a file") from error
    except _RefusedError as refused:
        raise SimloopError(f"{str(path)!r} cannot be unpacked: {refused}") from None
    # zipfile lets through what each of its decompressors and the file system raise; there is no common base.
    except Exception as error:
        raise SimloopError(f"{str(path)!r} cannot be unpacked: {one_line(error)}") from error


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The folder of an FMU, for as long as it is looked at."""
    with tempfile.TemporaryDirectory(prefix="simloop-unit-") as folder:
        unpack(path, Path(folder))
        yield Path(folder)


class _RefusedError(Exception):
    """Why an archive is refused."""


def _check(entries: list[zipfile.ZipInfo]) -> None:
    if len(entries) > MOST_ENTRIES:
        raise _RefusedError(f"it has {len(entries)} entries; at most {MOST_ENTRIES} are allowed")
    names = set()
    for entry in entries:
        name = _checked_name(entry)
        if name.lower() in names:
            raise _RefusedError(f"it has two entries {name!r}, which may be one file")
        names.add(name.lower())
        if entry.file_size > max(_FREE_GROWTH, MOST_GROWTH * entry.compress_size):
            raise _RefusedError(f"{name!r} would grow from {entry.compress_size} to {entry.file_size} bytes")
    total = sum(entry.file_size for entry in entries)
    if total > MOST_BYTES:
        raise _RefusedError(f"it holds {total} bytes unpacked; at most {MOST_BYTES} are allowed")


def _checked_name(entry: zipfile.ZipInfo) -> str:
    # What zipfile made of the name; `orig_filename` still has a NUL and what follows it.
    name = entry.filename
    parts = PurePosixPath(name).parts
    if "\\" in entry.orig_filename or "\0" in entry.orig_filename:
        raise _RefusedError(f"the entry {entry.orig_filename!r} has a character that is not allowed in a path")
    if name.startswith("/") or ":" in name:
        raise _RefusedError(f"the entry {name!r} is an absolute path")
    if ".." in parts or not parts:
        raise _RefusedError(f"the entry {name!r} leaves its folder")
    if len(parts) > MOST_DEPTH:
        raise _RefusedError(f"the entry {name[:40]!r}… is {len(parts)} folders deep; at most {MOST_DEPTH} are allowed")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _RefusedError(f"the entry {name!r} is a link or a device, not a file")
    return "/".join(parts)


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path) -> None:
    target = folder.joinpath(*PurePosixPath(entry.filename).parts)
    if entry.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    left = entry.file_size
    with archive.open(entry) as source, open(target, "xb") as file:
        while data := source.read(_CHUNK):
            left -= len(data)
            if left < 0:
                raise _RefusedError(f"{entry.filename!r} is larger than the {entry.file_size} bytes that it declares")
            file.write(data)
    if left:
        raise _RefusedError(f"{entry.filename!r} has {left} bytes less than it declares")


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
