"""Units as a person asks for them by name: written as .fmu files, whole or not at all."""

from __future__ import annotations

from pathlib import Path

from simloop.fmus.export import UNITS, build
from simloop.fmus.native import build_native_collision
from simloop.fmus.packing import bundled, installed
from simloop.master import NameNotFoundError, SimloopError
from simloop.models.robot import Obstacle, Robot

NATIVE = "collision"


def export(
    unit: str | None, robot: Robot, obstacles: tuple[Obstacle, ...], out: Path | None, *, bundle: bool, native: bool
) -> list[Path]:
    """Write a unit to the file `out`, or with no unit every one into the folder `out`; the paths written."""
    if unit is not None and unit not in UNITS:
        raise NameNotFoundError("unit", unit, UNITS)
    if native and unit != NATIVE:
        raise SimloopError(f"--native goes with {NATIVE}, the one unit that there is in plain C")
    if native and bundle:
        raise SimloopError("--native needs no --bundle: there is no Python in it")
    pack = bundled if bundle else installed
    if unit is None:
        folder = out or Path(f"{robot.name}-units")
        if folder.exists() and not folder.is_dir():
            raise SimloopError(f"--out is {str(folder)!r}, which is a file; with --all it is a folder")
        return [build(kind, robot, folder / f"{kind}.fmu", obstacles, pack) for kind in UNITS]
    path = out or Path(f"{robot.name}-{unit}.fmu")
    if path.is_dir():
        raise SimloopError(f"--out is {str(path)!r}, which is a folder; for one unit it is an .fmu file")
    if path.suffix.lower() != ".fmu":
        raise SimloopError(f"--out is {str(path)!r}; its name must end in .fmu")
    if native:
        return [build_native_collision(robot, path, obstacles)]
    return [build(unit, robot, path, obstacles, pack)]
