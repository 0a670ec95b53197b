"""The points of a mesh file: STL (binary or text), OBJ and COLLADA. Faces are not needed for a convex hull."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from simloop.models.robot_file.safe_xml import Element, XmlError, parse_xml

Array = npt.NDArray[np.float64]

# Binary STL: a header, a count, then for each triangle a normal, three corners and two spare bytes.
_HEADER, _TRIANGLE = 84, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("spare", "<u2")])
# Nodes within nodes in a COLLADA scene; a file that goes deeper refers to itself.
_DEEPEST = 100


class MeshError(ValueError):
    """A file that is not a mesh simloop can read; the message goes on from the file's name."""


def read_points(path: Path) -> Array:
    """The corners of the mesh (n, 3), in the file's own unit, which for URDF and MJCF is m."""
    readers = {".stl": _read_stl, ".obj": _read_obj, ".dae": _read_collada}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise MeshError(f"is a {path.suffix or 'nameless'} file; a mesh can be .stl, .obj or .dae")
    if not path.is_file():
        raise MeshError("is missing")
    try:
        points = reader(path.read_bytes())
    except OSError as error:
        raise MeshError(f"cannot be read: {error.strerror}") from None
    except (ValueError, IndexError, XmlError) as error:
        raise MeshError(f"is not a mesh: {error}") from None
    if len(points) < 4:
        raise MeshError(f"is not a mesh: it has {len(points)} points, and a body has 4 or more")
    if not np.isfinite(points).all():
        raise MeshError("has corners that are NaN or infinite; every coordinate must be finite")
    return points


def _read_stl(data: bytes) -> Array:
    count = int.from_bytes(data[80:84], "little") if len(data) >= _HEADER else -1
    if len(data) >= _HEADER and len(data) >= _HEADER + count * _TRIANGLE.itemsize and not _looks_like_text(data, count):
        triangles = np.frombuffer(data, dtype=_TRIANGLE, count=count, offset=_HEADER)
        return np.asarray(triangles["corners"].reshape(-1, 3), dtype=float)
    if not data.lstrip().startswith(b"solid"):
        raise ValueError("an STL file begins with 'solid', or is binary and as long as its count of triangles says")
    rows = [line.split()[1:] for line in data.splitlines() if line.split()[:1] == [b"vertex"]]
    return _rows(rows)


def _looks_like_text(data: bytes, count: int) -> bool:
    """Text whose 81st to 84th letters happen to give a small enough number, or a binary header that says 'solid'?"""
    return data.lstrip().startswith(b"solid") and len(data) != _HEADER + count * _TRIANGLE.itemsize and b"facet" in data


def _read_obj(data: bytes) -> Array:
    rows = [line.split()[1:4] for line in data.splitlines() if line.split()[:1] == [b"v"]]
    return _rows(rows)


def _rows(rows: list[list[bytes]]) -> Array:
    if any(len(row) != 3 for row in rows):
        raise ValueError("a corner has three coordinates")
    return np.array([[float(number) for number in row] for row in rows]).reshape(-1, 3)


def _read_collada(data: bytes) -> Array:
    root = parse_xml(data)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    unit = root.find("asset/unit")
    metres = float(unit.get("meter", "1")) if unit is not None else 1.0
    points = {f"#{g.get('id')}": _collada_points(g) for g in root.iterfind("library_geometries/geometry")}
    nodes = {f"#{n.get('id')}": n for n in root.iter("node")}
    parts: list[Array] = []

    def place(node: Element, T_world_parent: Array, depth: int) -> None:
        if depth > _DEEPEST:
            raise ValueError("its nodes contain each other")
        T = T_world_parent @ _collada_transform(node)
        for instance in node.iterfind("instance_geometry"):
            parts.append(points[str(instance.get("url"))] @ T[:3, :3].T + T[:3, 3])
        for child in [*node.iterfind("node"), *(nodes[str(i.get("url"))] for i in node.iterfind("instance_node"))]:
            place(child, T, depth + 1)

    try:
        for node in root.iterfind("library_visual_scenes/visual_scene/node"):
            place(node, np.eye(4), 0)
    except KeyError as missing:
        raise ValueError(f"it refers to {missing}, which it does not have") from None
    if not parts:
        parts = list(points.values())
    # ROS tools take the axes of the file as they are, whatever its up_axis says; so does this.
    return metres * np.concatenate(parts) if parts else np.zeros((0, 3))


def _collada_points(geometry: Element) -> Array:
    for entry in geometry.iterfind("mesh/vertices/input"):
        if entry.get("semantic") == "POSITION":
            source = str(entry.get("source")).removeprefix("#")
            array = geometry.find(f"mesh/source[@id='{source}']/float_array")
            if array is not None and array.text:
                return np.array([float(number) for number in array.text.split()]).reshape(-1, 3)
    return np.zeros((0, 3))


def _collada_transform(node: Element) -> Array:
    T = np.eye(4)
    for step in node:
        if step.tag not in ("matrix", "translate", "scale", "rotate"):
            continue
        numbers = np.array([float(number) for number in (step.text or "").split()])
        part = np.eye(4)
        if step.tag == "matrix":
            part = numbers.reshape(4, 4)
        elif step.tag == "translate":
            part[:3, 3] = numbers
        elif step.tag == "scale":
            part[:3, :3] = np.diag(numbers)
        else:
            part[:3, :3] = _turn(numbers[:3], np.radians(numbers[3]))
        T = T @ part
    return T


def _turn(axis: Array, angle: float) -> Array:
    """Rotation by an angle about an axis (Rodrigues)."""
    x, y, z = axis / np.linalg.norm(axis)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K)
