"""Signed distance between convex bodies: the Python face of `cffi_build/gjk.h`.

A body is the hull of its vertices swept by a sphere. A pose is a pair (rotation, translation),
x_world = rotation @ x_body + translation; None is the identity. In every answer
`point_b - point_a == distance * normal`, with the normal from a to b while the bodies are apart;
a negative distance is the penetration depth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, QhullError
from simloop.models._gjk import ffi, lib

Array: TypeAlias = npt.NDArray[np.float64]
Pose: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike]

# Numbers that a pair remembers.
MEMORY: int = lib.GJK_CACHE_SIZE
# From this many corners on, climbing along edges is quicker than looking at every corner.
CLIMB_FROM = 300
# How far outside the hull's faces, as a part of its size, a dropped point may lie: qhull's own rounding.
HULL_TOLERANCE = 1e-14

_new_scratch = ffi.new_allocator(should_clear_after_alloc=False)

_FAULTS = {
    lib.GJK_BAD_COUNT: "a body needs at least one vertex, and a scene frames for all its members",
    lib.GJK_BAD_VERTEX: "vertices must be finite and within 1e60",
    lib.GJK_BAD_RADIUS: "radius must be finite, within 1e60 and not negative",
    lib.GJK_BAD_MOTION: "velocity, spin, horizon and tolerances must be finite, horizon >= 0 and tolerances > 0",
    lib.GJK_BAD_POSE: "a pose must be finite, its rotation orthonormal and right-handed",
}


class ConvergenceError(ArithmeticError):
    """No certified answer; the `quantity` asked for, m or s, lies between `lower` and `upper`."""

    def __init__(self, lower: float, upper: float, iterations: int, quantity: str = "signed distance") -> None:
        super().__init__(f"{quantity} only known to lie in [{lower:.17g}, {upper:.17g}] after {iterations} iterations")
        self.quantity = quantity
        self.lower = lower
        self.upper = upper
        self.iterations = iterations


class Hull:
    """Convex hull of `vertices` (n, 3), n >= 1, swept by a sphere of `radius`.

    Points that are not corners of the hull are dropped; `corners` are the numbers of those kept, and answers number
    vertices as they were given. Flat, straight and single-point bodies keep every different point. Of large hulls
    `neighbours` says where each kept corner's neighbours begin in the list of all, and that list.
    """

    def __init__(self, vertices: npt.ArrayLike, radius: float = 0.0) -> None:
        self.vertices: Array = np.array(vertices, dtype=np.float64, order="C")
        if self.vertices.ndim != 2 or self.vertices.shape[1] != 3:
            raise ValueError(f"vertices must have shape (n, 3), got {self.vertices.shape}")
        self.vertices.flags.writeable = False
        self.radius = float(radius)
        self.corners, triangles = _corners(self.vertices)
        kept = self.kept = np.ascontiguousarray(self.vertices[self.corners])
        lanes = _aligned(lib.gjk_lanes_size(len(kept)))
        self._body = ffi.new("gjk_body *")
        # The C body points into these.
        self._pinned = [ffi.from_buffer("double[]", kept), ffi.from_buffer("double[]", lanes)]
        _check(lib.gjk_body_init(self._body, self._pinned[0], len(kept), self.radius, self._pinned[1]))
        self.neighbours: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]] | None = None
        if len(kept) >= CLIMB_FROM and triangles is not None:
            self.neighbours = _neighbours(triangles, len(kept))
            tables = (*self.neighbours, np.zeros(lib.GJK_STARTS, dtype=np.int32))
            self._pinned += [ffi.from_buffer("int32_t[]", table) for table in tables]
            lib.gjk_body_climb(self._body, *self._pinned[2:])


@dataclass(frozen=True, eq=False)
class Proximity:
    """Where two bodies are nearest, or how deep they overlap; metres, world frame.

    `indices` (k, 2) are the vertices of a and of b, `barycentric` (k,) their weights, k <= 4:
    together the points of the cores, before the radius.
    """

    distance: float
    point_a: Array
    point_b: Array
    normal: Array
    indices: npt.NDArray[np.int32]
    barycentric: Array
    iterations: int


class PairQuery:
    """Repeated query of one pair, with no allocation: write the poses, `update()`, read.

    Write into `rotation_a`, `translation_a`, `rotation_b`, `translation_b`; they start at the
    identity. `point_a`, `point_b` and `normal` are read-only views that the next update
    overwrites. If `update()` raises, `distance` is NaN.

    `memory` (MEMORY,) is what the pair remembers from one update to the next. Anything in it is safe, but shows in the
    last bits of an answer: who must repeat an update bit for bit keeps it as state and gives its own array.
    """

    def __init__(self, a: Hull | npt.ArrayLike, b: Hull | npt.ArrayLike, memory: Array | None = None) -> None:
        self.a = _hull(a)
        self.b = _hull(b)
        self._pose_a = ffi.new("gjk_pose *")
        self._pose_b = ffi.new("gjk_pose *")
        self.memory = np.zeros(MEMORY) if memory is None else memory
        self._cache = ffi.from_buffer("gjk_cache[]", self.memory, require_writable=True)
        self._work = _new_scratch("gjk_workspace *")
        self._result = ffi.new("gjk_result *", {"distance": float("nan")})
        self._answer = ffi.new("int32_t *")
        self._arguments = (self.a._body, self._pose_a, self.b._body, self._pose_b)
        self.rotation_a = _view(self._pose_a.rotation).reshape(3, 3)
        self.rotation_b = _view(self._pose_b.rotation).reshape(3, 3)
        self.translation_a = _view(self._pose_a.translation)
        self.translation_b = _view(self._pose_b.translation)
        self.rotation_a[:] = self.rotation_b[:] = np.eye(3)
        self.point_a = _view(self._result.point_a, writeable=False)
        self.point_b = _view(self._result.point_b, writeable=False)
        self.normal = _view(self._result.normal, writeable=False)

    def update(self) -> float:
        """Answers for the poses as written; returns the signed distance."""
        status = lib.gjk_distance(*self._arguments, self._cache, self._work, self._result)
        if status:
            self._fail(status)
        return float(self._result.distance)

    def intersects(self) -> bool:
        """Whether the bodies, as posed, overlap or touch: cheaper than `update()`."""
        status = lib.gjk_intersects(*self._arguments, self._answer)
        if status == lib.GJK_NOT_CONVERGED:
            return self.update() <= 0.0
        _check(status)
        return bool(self._answer[0])

    @property
    def distance(self) -> float:
        return float(self._result.distance)

    @property
    def iterations(self) -> int:
        return int(self._result.iterations)

    @property
    def bracket(self) -> tuple[float, float]:
        """Certified lower and upper bound of the signed distance."""
        return float(self._result.lower), float(self._result.upper)

    def proximity(self) -> Proximity:
        """Copy of the last answer."""
        result = self._result
        k = result.count
        pairs = np.array([list(result.index_a[0:k]), list(result.index_b[0:k])], dtype=np.intp)
        return Proximity(
            distance=self.distance,
            point_a=self.point_a.copy(),
            point_b=self.point_b.copy(),
            normal=self.normal.copy(),
            indices=np.stack([self.a.corners[pairs[0]], self.b.corners[pairs[1]]], axis=1).astype(np.int32),
            barycentric=np.array(list(result.barycentric[0:k])),
            iterations=self.iterations,
        )

    def _fail(self, status: int) -> None:
        result = self._result
        if status == lib.GJK_NOT_CONVERGED:
            raise ConvergenceError(result.lower, result.upper, result.iterations)
        result.distance = float("nan")
        _check(status)


@dataclass(frozen=True)
class Motion:
    """From `pose` at time 0 with a constant velocity of the frame's origin (m/s) and a constant spin (rad/s), both in
    world axes."""

    pose: Pose | None = None
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    spin: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Impact:
    """The bodies are proven apart before `lower` s. At `upper` s they are

    - proven to touch or overlap, if `touches`: the first touch lies between the two;
    - within the tolerance, the nearest that was seen, if `grazes`: no overlap was found, and `lower == upper`;
    - else apart, `lower` and `upper` both being the horizon.
    """

    touches: bool
    grazes: bool
    lower: float
    upper: float
    advances: int


def time_of_impact(
    a: Hull | npt.ArrayLike,
    b: Hull | npt.ArrayLike,
    motion_a: Motion,
    motion_b: Motion,
    horizon: float,
    tolerance: float = 1e-9,
    time_tolerance: float = 1e-9,
) -> Impact:
    """When two moving bodies first touch in the next `horizon` s, in a bracket no wider than `time_tolerance` s.

    Bodies that come within `tolerance` m of each other and part again graze. A bracket that stays wider is a
    `ConvergenceError` with the bracket found.
    """
    hulls = _hull(a), _hull(b)
    motions = [_motion(motion) for motion in (motion_a, motion_b)]
    impact = ffi.new("gjk_impact *")
    work = _new_scratch("gjk_workspace *")
    bodies = (hulls[0]._body, motions[0], hulls[1]._body, motions[1])
    status = lib.gjk_time_of_impact(*bodies, horizon, tolerance, time_tolerance, work, impact)
    touches = impact.contact == lib.GJK_TOUCH
    if status == lib.GJK_NOT_CONVERGED:
        raise ConvergenceError(impact.lower, impact.upper if touches else horizon, impact.advances, "time of impact")
    _check(status)
    return Impact(touches, impact.contact == lib.GJK_GRAZE, impact.lower, impact.upper, impact.advances)


def _motion(motion: Motion) -> Any:
    made = ffi.new("gjk_motion *")
    rotation, translation = _pose(motion.pose or (np.eye(3), np.zeros(3)))
    made.pose.rotation, made.pose.translation = rotation.ravel().tolist(), translation.tolist()
    made.velocity, made.spin = list(motion.velocity), list(motion.spin)
    return made


@dataclass(frozen=True, eq=False)
class Member:
    """A body fixed to a frame, x_frame = rotation @ x_body + translation."""

    hull: Hull
    frame: int
    pose: Pose | None = None


class Scene:
    """Bodies on moving frames: write the frames' poses, `update()`, read which pairs are near.

    Write into `rotations` (frames, 3, 3) and `translations` (frames, 3); they start at the identity. `pairs` (m, 2) are
    the members tested against each other, put in the order of their frames; answers number pairs in that order.

    After an update `nearest` is the nearest pair of all (-1 if there are none), with its `distance`, `point_a`,
    `point_b` and `normal`; `within` are the pairs within the margin; `distances` (m,) has theirs, and
    `witnesses` (m, 3, 3) their point_a, point_b and normal; `tested` and
    `pruned` tell how many pairs took a query and how many were spared one. `memory` (m, MEMORY) is what the pairs
    remember, as in PairQuery.
    """

    def __init__(
        self,
        members: Sequence[Member],
        pairs: npt.ArrayLike,
        frames: int,
        memory: Array | None = None,
    ) -> None:
        self.members = tuple(members)
        self.pairs = _in_frame_order(np.array(pairs, dtype=np.int32).reshape(-1, 2), self.members)
        count = len(self.pairs)
        self.memory = np.zeros((count, MEMORY)) if memory is None else memory
        if self.memory.shape != (count, MEMORY) or not self.memory.flags.c_contiguous:
            raise ValueError(f"memory must be a contiguous array of shape {(count, MEMORY)}, got {self.memory.shape}")
        poses = np.tile(np.concatenate([np.eye(3).ravel(), np.zeros(3)]), (frames, 1))
        self.rotations, self.translations = poses[:, :9].reshape(-1, 3, 3), poses[:, 9:]
        self.distances = np.full(count, np.inf)
        self.witnesses = np.zeros((count, 3, 3))
        self._within = np.zeros(count, dtype=np.int32)
        self._answer = ffi.new("gjk_answer *", {"nearest": -1})
        result = self._answer.result
        self.point_a, self.point_b, self.normal = (
            _view(field, writeable=False) for field in (result.point_a, result.point_b, result.normal)
        )
        self._scene = self._make(frames)
        _check(lib.gjk_scene_init(self._scene))
        self._poses = ffi.from_buffer("gjk_pose[]", poses)
        self._outputs = ffi.from_buffer("int32_t[]", self._within), ffi.from_buffer("double[]", self.distances)

    def _make(self, frames: int) -> Any:
        members = ffi.new("gjk_member[]", max(1, len(self.members)))
        for place, member in zip(members, self.members, strict=False):
            rotation, translation = _pose(member.pose or (np.eye(3), np.zeros(3)))
            place.body, place.frame = member.hull._body, member.frame
            place.on_frame.rotation, place.on_frame.translation = rotation.ravel().tolist(), translation.tolist()
        count = max(1, len(self.pairs))
        scene = ffi.new("gjk_scene *")
        scene.member_count, scene.pair_count, scene.frame_count = len(self.members), len(self.pairs), frames
        # The C scene points into these.
        self._pinned = {
            "members": members,
            "pairs": ffi.from_buffer("gjk_pair[]", self.pairs),
            "caches": ffi.from_buffer("gjk_cache[]", self.memory, require_writable=True),
            "boxes": ffi.new("gjk_box[]", max(1, frames)),
            "groups": ffi.new("gjk_group[]", count),
            "placed": ffi.new("gjk_pose[]", max(1, len(self.members))),
            "work": _new_scratch("gjk_workspace *"),
            "witnesses": ffi.from_buffer("gjk_witness[]", self.witnesses),
        }
        for name, memory in self._pinned.items():
            setattr(scene, name, memory)
        return scene

    def update(self, margin: float = 0.0) -> None:
        status = lib.gjk_scene_update(self._scene, self._poses, margin, self._answer, *self._outputs)
        if status == lib.GJK_NOT_CONVERGED:
            result = self._answer.result
            raise ConvergenceError(result.lower, result.upper, result.iterations)
        _check(status)

    @property
    def nearest(self) -> int:
        return int(self._answer.nearest)

    @property
    def distance(self) -> float:
        return float(self._answer.result.distance) if self._answer.nearest >= 0 else float("inf")

    @property
    def within(self) -> npt.NDArray[np.int32]:
        return self._within[: self._answer.within_count]

    @property
    def tested(self) -> int:
        return int(self._answer.tested)

    @property
    def pruned(self) -> int:
        return int(self._answer.pruned)


def _in_frame_order(pairs: npt.NDArray[np.int32], members: Sequence[Member]) -> npt.NDArray[np.int32]:
    if len(pairs) and not (pairs.min() >= 0 and pairs.max() < len(members)):
        raise ValueError(f"pairs name members from 0 to {len(members) - 1}, got {pairs.min()} to {pairs.max()}")
    frames = np.array([member.frame for member in members], dtype=int)[pairs]
    return np.ascontiguousarray(pairs[np.lexsort((frames[:, 1], frames[:, 0]))])


def distance(
    a: Hull | npt.ArrayLike,
    b: Hull | npt.ArrayLike,
    pose_a: Pose | None = None,
    pose_b: Pose | None = None,
) -> Proximity:
    """Signed distance with its witness points; `PairQuery` is the faster way to ask again."""
    query = _posed(a, b, pose_a, pose_b)
    query.update()
    return query.proximity()


def intersects(
    a: Hull | npt.ArrayLike,
    b: Hull | npt.ArrayLike,
    pose_a: Pose | None = None,
    pose_b: Pose | None = None,
) -> bool:
    """Whether two bodies overlap or touch; cheaper than the distance."""
    return _posed(a, b, pose_a, pose_b).intersects()


def _posed(a: Hull | npt.ArrayLike, b: Hull | npt.ArrayLike, pose_a: Pose | None, pose_b: Pose | None) -> PairQuery:
    query = PairQuery(a, b)
    if pose_a is not None:
        query.rotation_a[:], query.translation_a[:] = _pose(pose_a)
    if pose_b is not None:
        query.rotation_b[:], query.translation_b[:] = _pose(pose_b)
    return query


def _pose(pose: Pose) -> tuple[Array, Array]:
    rotation, translation = (np.asarray(part, dtype=np.float64) for part in pose)
    if rotation.shape != (3, 3) or translation.shape != (3,):
        raise ValueError(
            f"a pose is a rotation (3, 3) and a translation (3,), got {rotation.shape} and {translation.shape}"
        )
    return rotation, translation


def _hull(body: Hull | npt.ArrayLike) -> Hull:
    return body if isinstance(body, Hull) else Hull(body)


def _corners(vertices: Array) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp] | None]:
    """Numbers of the points to keep and, where there is a solid hull, its triangles in terms of these."""
    if not np.isfinite(vertices).all() or len(vertices) < 5:
        return np.arange(len(vertices)), None
    distinct = np.sort(np.unique(vertices, axis=0, return_index=True)[1])
    try:
        hull = ConvexHull(vertices[distinct], qhull_options="Qt")
    except (QhullError, ValueError):
        return distinct, None
    kept = np.sort(hull.vertices)
    points = vertices[distinct]
    outside = (points @ hull.equations[:, :3].T + hull.equations[:, 3]).max()
    # A hull that qhull had to bend to close is not one to trust: then every point stays, and none is climbed along.
    if outside > HULL_TOLERANCE * np.abs(points).max():
        return distinct, None
    place = np.full(len(points), -1)
    place[kept] = np.arange(len(kept))
    return distinct[kept], place[hull.simplices]


def _neighbours(triangles: npt.NDArray[np.intp], count: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """For each corner where its neighbours begin in the list of all, and that list."""
    pairs = np.concatenate([triangles[:, [i, j]] for i in range(3) for j in range(3) if i != j])
    pairs = np.unique(pairs, axis=0)
    first = np.searchsorted(pairs[:, 0], np.arange(count + 1)).astype(np.int32)
    return first, np.ascontiguousarray(pairs[:, 1], dtype=np.int32)


def _aligned(size: int) -> Array:
    """Room for doubles that begins at a multiple of 32 bytes."""
    room = np.zeros(size + 4)
    skip = -room.ctypes.data // 8 % 4
    return room[skip : skip + size]


def _view(field: Any, writeable: bool = True) -> Array:
    array = np.frombuffer(ffi.buffer(field), dtype=np.float64)
    array.flags.writeable = writeable
    return array


def _check(status: int) -> None:
    if status != lib.GJK_OK:
        raise ValueError(_FAULTS[status])
