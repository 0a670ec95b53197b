"""What a page gets of each state: numbers in one message, at places that it is told of once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from simloop.models.arm import Vector
from simloop.studio.view.live import ABOUT
from simloop.studio.view.stage import Stage

# The vectors that are drawn as poses of the robot.
_POSED = {"poses": "plant.q_true", "plan": "planner.q_d", "prediction": "control.q_predicted"}


class Painter:
    """`lengths` are those of the vectors in a row, in order, after ABOUT numbers about the run."""

    def __init__(self, stage: Stage, lengths: Mapping[str, int]) -> None:
        self._stage = stage
        self._places: dict[str, slice] = {}
        first = ABOUT
        for name, length in lengths.items():
            self._places[name] = slice(first, first + length)
            first += length
        bodies = int(stage.arm.model.nbody)
        sizes = {"row": first} | {key: 7 * bodies for key, name in _POSED.items() if name in lengths}
        sizes["tools"] = 7 * len(stage.tool_frames)
        self._slices: dict[str, slice] = {}
        at = 0
        for key, size in sizes.items():
            self._slices[key] = slice(at, at + size)
            at += size
        self._out: NDArray[np.float32] = np.zeros(at, dtype="<f4")
        parts = {key: [part.start, part.stop] for key, part in self._slices.items()}
        self.layout = parts | {name: [part.start, part.stop] for name, part in self._places.items()}
        """Where in a message each thing stands, from and to."""

    def of(self, row: Vector, name: str) -> Vector:
        return row[self._places[name]]

    def paint(self, row: Vector) -> bytes:
        out, slices = self._out, self._slices
        out[slices["row"]] = row
        for key, name in _POSED.items():
            if key in slices:
                out[slices[key]] = self._stage.poses(self.of(row, name)[np.newaxis]).ravel()
        out[slices["tools"]] = self._stage.tool_poses(self.of(row, "plant.q_true")).ravel()
        return out.tobytes()
