"""The motion of a run as one binary glTF 2.0 file, for Blender and slides: a node a body, its poses over time."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simloop.models.pieces import Piece
from simloop.studio.archive import Archive
from simloop.studio.look import joint_colour
from simloop.studio.view.stage import STANDING, frame_rows, make_stage

# From the specification: kinds of numbers, and what a buffer is for.
_FLOAT, _UINT32, _VERTICES, _INDICES = 5126, 5125, 34962, 34963
_MAGIC, _JSON, _BIN = 0x46546C67, 0x4E4F534A, 0x004E4942
# glTF is y up, a robot's world z up: a quarter turn about x (x, y, z, w).
_UPRIGHT = [-np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]


class _File:
    """Buffers and what is said of them."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []

    def add(self, values: NDArray[Any], kind: str, target: int | None = None) -> int:
        """An array of SCALAR, VEC3 or VEC4; returns its number."""
        indices = np.issubdtype(values.dtype, np.integer)
        flat = np.ascontiguousarray(values, dtype="<u4" if indices else "<f4")
        self.views.append({"buffer": 0, "byteOffset": len(self.data), "byteLength": flat.nbytes})
        if target is not None:
            self.views[-1]["target"] = target
        self.data += flat.tobytes()
        rows = flat.reshape(len(flat), -1)
        about = {"bufferView": len(self.views) - 1, "count": len(flat), "type": kind}
        about["componentType"] = _UINT32 if indices else _FLOAT
        self.accessors.append(about | {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()})
        return len(self.accessors) - 1


def write_gltf(path: Path, archive: Archive) -> None:
    """As many pictures a second as a report has."""
    stage = make_stage(archive.mjcf, archive.tools)
    rows = frame_rows(archive.result["time"])
    poses = stage.poses(archive.result.vector("plant.q_true")[rows])
    file = _File()
    meshes = [_mesh(file, piece, number) for number, piece in enumerate(stage.pieces)]
    moving = sorted({piece.body for piece in stage.pieces})
    nodes, root = _nodes(stage.pieces, moving, poses)
    times = file.add(archive.result["time"][rows].reshape(-1, 1), "SCALAR")
    description = {
        "asset": {"version": "2.0", "generator": "simloop"},
        "scene": 0,
        "scenes": [{"name": archive.scenario, "nodes": [root]}],
        "nodes": nodes,
        "meshes": meshes,
        "materials": [_material(piece) for piece in stage.pieces],
        "animations": [_animation(file, times, moving, poses)],
        "accessors": file.accessors,
        "bufferViews": file.views,
        "buffers": [{"byteLength": len(file.data)}],
    }
    path.write_bytes(_binary(description, bytes(file.data)))


def _mesh(file: _File, piece: Piece, number: int) -> dict[str, Any]:
    """Flat-shaded: each face has corners of its own."""
    corners = piece.corners[piece.faces.ravel()]
    a, b, c = corners.reshape(-1, 3, 3).transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    attributes = {
        "POSITION": file.add(corners, "VEC3", _VERTICES),
        "NORMAL": file.add(np.repeat(normals, 3, axis=0), "VEC3", _VERTICES),
    }
    indices = file.add(np.arange(len(corners)).reshape(-1, 1), "SCALAR", _INDICES)
    return {"name": piece.name, "primitives": [{"attributes": attributes, "indices": indices, "material": number}]}


def _material(piece: Piece) -> dict[str, Any]:
    colour = STANDING if piece.joint < 0 else joint_colour(piece.joint)
    srgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = (0.5 + 0.5 * srgb) ** 2.2
    look = {"baseColorFactor": [*linear.tolist(), 1.0], "metallicFactor": 0.1, "roughnessFactor": 0.7}
    return {"name": piece.name, "pbrMetallicRoughness": look}


def _nodes(
    pieces: tuple[Piece, ...], bodies: list[int], poses: NDArray[np.float32]
) -> tuple[list[dict[str, Any]], int]:
    """A node a body that has pieces, with a child a piece, below one that turns z up; returns that one's number."""
    nodes: list[dict[str, Any]] = []
    for body in bodies:
        children = [len(bodies) + i for i, piece in enumerate(pieces) if piece.body == body]
        x, y, z, w, a, b, c = poses[0, body].tolist()
        nodes.append({"translation": [x, y, z], "rotation": [a, b, c, w], "children": children})
    nodes += [{"name": piece.name, "mesh": i} for i, piece in enumerate(pieces)]
    nodes.append({"name": "world", "rotation": _UPRIGHT, "children": list(range(len(bodies)))})
    return nodes, len(nodes) - 1


def _animation(file: _File, times: int, bodies: list[int], poses: NDArray[np.float32]) -> Mapping[str, Any]:
    samplers: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []
    for node, body in enumerate(bodies):
        turns = poses[:, body, [4, 5, 6, 3]].copy()
        # The shorter way round between two pictures.
        flips = np.cumsum(np.einsum("ij,ij->i", turns[1:], turns[:-1]) < 0.0) % 2 == 1
        turns[1:][flips] *= -1.0
        for path, values, kind in (("translation", poses[:, body, :3], "VEC3"), ("rotation", turns, "VEC4")):
            channels.append({"sampler": len(samplers), "target": {"node": node, "path": path}})
            samplers.append({"input": times, "output": file.add(values, kind), "interpolation": "LINEAR"})
    return {"name": "motion", "samplers": samplers, "channels": channels}


def _binary(description: Mapping[str, Any], data: bytes) -> bytes:
    text = json.dumps(description, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    data += b"\0" * (-len(data) % 4)
    chunks = struct.pack("<II", len(text), _JSON) + text + struct.pack("<II", len(data), _BIN) + data
    return struct.pack("<III", _MAGIC, 2, 12 + len(chunks)) + chunks
