"""The mesh files that a robot file names, found, and turned into convex hulls of few corners."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np
from scipy.spatial import ConvexHull
from simloop.models.enclosure import Array, enclose
from simloop.models.robot_file.mesh_file import MeshError, read_points

_SCHEMES = ("package", "model", "file")


class MeshHulls:
    """Hulls by file and scale. `folder` is where the robot file is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._hulls: dict[tuple[Path, tuple[float, ...]], tuple[str, Array, float]] = {}

    def add(self, filename: str, scale: tuple[float, ...] = (1.0, 1.0, 1.0)) -> str:
        """The name, in `assets`, of the hull of a mesh; a ValueError goes on from the file's name."""
        path = find_mesh(filename, self._folder)
        key = (path, scale)
        if key not in self._hulls:
            try:
                corners, excess = enclose(read_points(path) * scale)
            except MeshError:
                raise
            except ValueError as error:
                raise MeshError(f"has no hull: {error}") from None
            self._hulls[key] = (f"{len(self._hulls)}-{path.stem}.obj", corners, excess)
        return self._hulls[key][0]

    def assets(self) -> dict[str, bytes]:
        return {name: _obj(corners) for name, corners, _ in self._hulls.values()}

    def notes(self) -> list[str]:
        return excess_notes({Path(name).stem.partition("-")[2]: excess for name, _, excess in self._hulls.values()})


def excess_notes(excess: Mapping[str, float]) -> list[str]:
    """How far hulls reach beyond their meshes, m, in words."""
    if not any(excess.values()):
        return []
    worst = max(excess, key=lambda mesh: excess[mesh])
    return [f"the hulls reach up to {1e3 * excess[worst]:.2g} mm beyond their meshes, that of {worst!r} the farthest"]


def find_mesh(filename: str, folder: Path) -> Path:
    """The path of a mesh that a robot file in `folder` names: relative to it, or as package://NAME/…, where NAME is a
    folder above, or beside one above."""
    scheme, slashes, rest = filename.partition("://")
    if not slashes:
        return folder / filename
    if scheme not in _SCHEMES:
        raise MeshError(
            f"is named by {scheme}://; it can be a path, or begin with {', '.join(f'{s}://' for s in _SCHEMES)}"
        )
    if scheme == "file":
        return Path(unquote(urlparse(filename).path))
    package, _, inside = rest.partition("/")
    above = [folder, *folder.parents]
    candidates = [place / inside for place in above if place.name == package]
    candidates += [place / package / inside for place in above] + [place / inside for place in above]
    found = next((path for path in candidates if path.is_file()), None)
    if found is None:
        raise MeshError(
            f"is missing; looked for {inside!r} in the folders above the robot file and in {package!r} beside them"
        )
    return found


def _obj(corners: Array) -> bytes:
    """The hull as a closed OBJ surface, its faces seen from outside."""
    hull = ConvexHull(corners)
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in corners.tolist()]
    for (a, b, c), equation in zip(hull.simplices, hull.equations, strict=True):
        outward = np.cross(corners[b] - corners[a], corners[c] - corners[a]) @ equation[:3] > 0.0
        lines.append(f"f {a + 1} {b + 1} {c + 1}" if outward else f"f {a + 1} {c + 1} {b + 1}")
    return ("\n".join(lines) + "\n").encode()
