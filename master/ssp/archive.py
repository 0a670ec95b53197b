"""Unpack an archive from a stranger: nothing leaves its folder, and nothing grows without bound."""

from __future__ import annotations

import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from simloop.master.ssp.xml import SspError

# More than any honest package has, and what a disk can bear.
MOST_FILES = 20_000
MOST_BYTES = 4 * 2**30
# What deflate gives for text with much repetition; a bomb has a thousand. Small files may do as they like.
HIGHEST_RATIO = 200
SMALL = 2**20
_CHUNK = 2**20


def unpack(path: Path, folder: Path) -> None:
    """Unpack the archive `path` into `folder`, or raise an error that names what is wrong with it."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check(path, archive.infolist())
            for entry in archive.infolist():
                _unpack_entry(archive, entry, folder)
    except FileNotFoundError:
        raise SspError(f"there is no file {str(path)!r}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise SspError(f"{str(path)!r} is not an archive that can be unpacked: {error}") from None


def _check(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    if len(entries) > MOST_FILES:
        raise SspError(f"{str(path)!r} has {len(entries)} entries; {MOST_FILES} are the most that are unpacked")
    size = sum(entry.file_size for entry in entries)
    if size > MOST_BYTES:
        raise SspError(f"{str(path)!r} unpacks to {size} bytes; {MOST_BYTES} are the most that are unpacked")
    seen: set[str] = set()
    for entry in entries:
        name = PurePosixPath(entry.filename.replace("\\", "/"))
        if name.is_absolute() or ".." in name.parts or ":" in entry.filename or not name.parts:
            raise SspError(f"{str(path)!r} has an entry {entry.filename!r}, which would leave its folder")
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise SspError(f"{str(path)!r} has an entry {entry.filename!r}, which is no plain file")
        if entry.file_size > SMALL and entry.file_size > HIGHEST_RATIO * max(entry.compress_size, 1):
            raise SspError(f"{str(path)!r} has an entry {entry.filename!r}, which is packed too densely to be honest")
        if str(name).lower() in seen:
            raise SspError(f"{str(path)!r} has two entries named {entry.filename!r}")
        seen.add(str(name).lower())


def _unpack_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path) -> None:
    target = folder.joinpath(*PurePosixPath(entry.filename.replace("\\", "/")).parts)
    if entry.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as packed, open(target, "xb") as file:
            while chunk := packed.read(_CHUNK):
                file.write(chunk)
    except (FileExistsError, NotADirectoryError):
        raise SspError(f"{entry.filename!r} is both a file and a folder in the archive") from None
