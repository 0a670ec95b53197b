"""A robot and its scene as a page is told of them: pieces with colours, and poses of bodies over time."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simloop.master import Result
from simloop.models.arm import Arm, Vector
from simloop.models.pieces import Piece, body_poses, pieces_of
from simloop.models.pose import ToolPose
from simloop.studio.look import joint_colour

# Of what stands still, and of what belongs to the robot but is moved by no joint.
STANDING, FLOOR = "#9aa3ae", "#e9ebef"
# What stands still and is wider than this both ways, m, is a floor.
_WIDE = 1.5
# Pictures a second in a report's replay, and the most of them: a long run is thinned for display, never in the data.
FRAMES_PER_SECOND, MOST_FRAMES = 50, 3000
# The camera has this many postures of a motion in its picture, and so, nearly, all.
_SEEN = 9
_LOOKS_DOWN, _LOOKS_UP = 0.38, -0.12
# Corners are told to a tenth of a millimetre.
_DECIMALS = 4


@dataclass(frozen=True)
class Stage:
    """An arm in its scene, from MJCF with the obstacles in it, and its tool sites."""

    arm: Arm
    pieces: tuple[Piece, ...]
    tool_frames: tuple[ToolPose, ...]

    def describe(
        self, home: Sequence[float], goals: Sequence[Sequence[float]] = (), seen: Vector | None = None
    ) -> dict[str, Any]:
        """What a page needs to draw it; `goals` are places in the world, m, and `seen` joint positions (k, n) that the
        camera should have in its picture, home unless given."""
        poses = self.poses(np.array([home]))[0]
        low, high = self._extent(np.array([home]) if seen is None else seen, goals)
        return {
            "pieces": [_describe_piece(piece) for piece in self.pieces],
            "bodies": [self.arm.model.body(i).name for i in range(self.arm.model.nbody)],
            "joints": [self._describe_joint(i) for i in range(self.arm.n)],
            "goals": [list(goal) for goal in goals],
            "height": self._camera_height(np.array(home)),
            "low": low.tolist(),
            "high": high.tolist(),
            "home": pack(poses),
        }

    def _describe_joint(self, i: int) -> dict[str, Any]:
        """Its limits None where there are none; `at` is where it turns or slides, in the frame of the body it moves."""
        model, (low, high), strongest = self.arm.model, self.arm.ranges, self.arm.torque_limits
        return {
            "name": self.arm.joint_names[i],
            "unit": self.arm.units[i],
            "colour": joint_colour(i),
            "body": int(model.jnt_bodyid[i]),
            "at": model.jnt_pos[i].tolist(),
            "range": [_known(low[i]), _known(high[i])],
            "force": [_known(-strongest[i]), _known(strongest[i])],
        }

    def poses(self, q: Vector) -> NDArray[np.float32]:
        """Of every body in each row of q (k, n): (k, bodies, 7)."""
        poses = np.empty((len(q), self.arm.model.nbody, 7))
        for row, out in zip(q, poses, strict=True):
            body_poses(self.arm, row, out)
        return poses.astype(np.float32)

    def tool_poses(self, q: Vector) -> Vector:
        """Of each tool at q, (tools, 7): position, m, and quaternion, w first, in the world frame."""
        self.arm.kinematics(q)
        poses: Vector = np.empty((len(self.tool_frames), 7))
        for tool, out in zip(self.tool_frames, poses, strict=True):
            out[:3], out[3:] = tool.position(), tool.quaternion()
        return poses

    def _extent(self, seen: Vector, goals: Sequence[Sequence[float]]) -> tuple[Vector, Vector]:
        """The box around all pieces but floors, the tools and the goals, as a camera should see them."""
        shown = [piece for piece in self.pieces if not _is_wide(piece)] or list(self.pieces)
        poses = self.poses(seen)
        places = [_placed(piece.corners, each[piece.body]) for piece in shown for each in poses]
        tools = [self.tool_poses(q)[:, :3] for q in seen]
        points = np.vstack([*places, *tools, *(np.reshape(goal, (1, 3)) for goal in goals)])
        return points.min(axis=0), points.max(axis=0)

    def _camera_height(self, home: Vector) -> float:
        """By how much the camera looks down, rad; or a little up, where something that stands still is above a tool."""
        tools, poses = self.tool_poses(home)[:, :3], self.poses(home[np.newaxis])[0]
        for piece in self.pieces:
            corners = _placed(piece.corners, poses[piece.body])
            low, high = corners.min(axis=0), corners.max(axis=0)
            above = (low[:2] < tools[:, :2]) & (tools[:, :2] < high[:2])
            if piece.joint < 0 and bool((above.all(axis=1) & (low[2] > tools[:, 2])).any()):
                return _LOOKS_UP
        return _LOOKS_DOWN


def make_stage(mjcf: str, tools: Sequence[str]) -> Stage:
    arm = Arm(mjcf)
    return Stage(arm, tuple(pieces_of(arm)), tuple(ToolPose(arm, name) for name in tools))


def replay_of(stage: Stage, result: Result) -> dict[str, Any]:
    """The motion of a run, thinned to FRAMES_PER_SECOND: poses, and the nearest pair's points and distance."""
    rows = frame_rows(result["time"])
    near = np.column_stack([result["collision.distance"], *_points(result)])[rows]
    return {
        "times": pack(result["time"][rows]),
        "poses": pack(stage.poses(result.vector("plant.q_true")[rows])),
        "plan": pack(stage.poses(result.vector("planner.q_d")[rows])),
        "near": pack(near),
        **_faults(result, rows),
    }


def _faults(result: Result, rows: NDArray[np.intp]) -> dict[str, str]:
    """Which joints have failed, where any has."""
    faults = result.vector("plant.fault")[rows] if "plant.fault[1]" in result.columns else np.zeros(0)
    return {"faults": pack(faults)} if faults.any() else {}


def seen_in(result: Result) -> Vector:
    """Joint positions spread over a run, for a camera that should see all of it."""
    q = result.vector("plant.q_true")
    some: Vector = q[np.linspace(0, len(q) - 1, _SEEN).astype(int)]
    return some


def frame_rows(time: NDArray[np.float64]) -> NDArray[np.intp]:
    """Which rows of a run are shown: evenly spaced, the last one among them."""
    seconds = float(time[-1] - time[0])
    frames = int(min(MOST_FRAMES, len(time), max(2.0, seconds * FRAMES_PER_SECOND + 1)))
    return np.unique(np.linspace(0, len(time) - 1, frames).round().astype(np.intp))


def pack(values: NDArray[Any]) -> str:
    """Numbers as base64 of little-endian 32-bit floats."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")


def _known(limit: float) -> float | None:
    return float(limit) if np.isfinite(limit) else None


def _points(result: Result) -> list[NDArray[np.float64]]:
    names = ("collision.point_a", "collision.point_b")
    if any(f"{name}[1]" not in result.columns for name in names):
        return [np.zeros((len(result), 3))] * 2
    return [result.vector(name) for name in names]


def _is_wide(piece: Piece) -> bool:
    """Whether it stands still and is a floor, or a ceiling."""
    return piece.joint < 0 and bool(np.all(np.ptp(piece.corners[:, :2], axis=0) > _WIDE))


def _describe_piece(piece: Piece) -> dict[str, Any]:
    return {
        "name": piece.name,
        "body": piece.body,
        "joint": piece.joint,
        "colour": joint_colour(piece.joint) if piece.joint >= 0 else FLOOR if _is_wide(piece) else STANDING,
        "standing": piece.joint < 0,
        "corners": piece.corners.round(_DECIMALS).ravel().tolist(),
        "faces": piece.faces.ravel().tolist(),
    }


def _placed(corners: Vector, pose: NDArray[np.float32]) -> Vector:
    """Corners of a body's frame in the world, the pose being position and quaternion."""
    w, v = float(pose[3]), pose[4:].astype(float)
    across = np.cross(v, corners)
    placed: Vector = pose[:3] + corners + 2.0 * (w * across + np.cross(v, across))
    return placed
