"""A way from one joint position to another around what is in between, with the tool's orientation held.

Two trees grow towards random positions and towards each other (RRT-Connect). A branch that meets an obstacle does not
end there: it slides along it, by small quadratic programmes, as long as that brings it nearer. So narrow passages are
found that blind branches miss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from simloop.models.arm import Vector
from simloop.models.free_space import FreeSpace, Wish

# How far a branch grows at once, and how near two ends must come to be joined, m or rad.
STRIDE, JOINED = 0.1, 0.05
# A branch ends when a stride brings it nearer by less than this part of one.
HARDLY_NEARER = 0.15
# Random positions that are tried before a search gives up; strides of one branch.
MOST_SAMPLES, MOST_STRIDES = 10_000, 100
# How far beyond start and end the joints may go, m or rad: near ways first, then any.
BESIDE = (1.0, np.inf)
# Shortcuts tried to shorten a way.
SHORTCUTS = 300


class Tree:
    """Positions that are reached from the first, each from its parent."""

    def __init__(self, root: Vector) -> None:
        self._positions = root[None, :].copy()
        self._parents = [-1]
        self._count = 1

    def add(self, q: Vector, parent: int) -> int:
        if self._count == len(self._positions):
            self._positions = np.concatenate([self._positions, np.zeros_like(self._positions)])
        self._positions[self._count] = q
        self._parents.append(parent)
        self._count += 1
        return self._count - 1

    def at(self, index: int) -> Vector:
        position: Vector = self._positions[index].copy()
        return position

    def nearest(self, q: Vector) -> int:
        return int(((self._positions[: self._count] - q) ** 2).sum(axis=1).argmin())

    def way_to(self, index: int) -> list[Vector]:
        way = []
        while index >= 0:
            way.append(self.at(index))
            index = self._parents[index]
        return way[::-1]


@dataclass(frozen=True)
class Search:
    """Ways within a space, with the tool turned as `quaternion` says if there is one; the same seed gives the same
    way."""

    space: FreeSpace
    quaternion: Vector | None
    seed: int = 0

    def way(self, start: Vector, end: Vector) -> Vector | None:
        """Positions (k, n) from start to end, no two neighbours farther apart than some STRIDE; None when no way was
        found. Near ways are looked for first."""
        for beside in BESIDE:
            part = self.space.within(np.minimum(start, end) - beside, np.maximum(start, end) + beside)
            way = Search(part, self.quaternion, self.seed)._way(start, end)
            if way is not None:
                return way
        return None

    def _way(self, start: Vector, end: Vector) -> Vector | None:
        random = np.random.default_rng(self.seed)
        # A joint without ends is taken once around, or ± π m.
        low = np.where(np.isfinite(self.space.low), self.space.low, -np.pi)
        high = np.where(np.isfinite(self.space.high), self.space.high, np.pi)
        one, other, turned = Tree(start), Tree(end), False
        target: Vector | None = end
        for _ in range(MOST_SAMPLES):
            if target is not None:
                tip, _ = self._grow(one, target)
                meeting, met = self._grow(other, one.at(tip))
                if met:
                    way = one.way_to(tip) + other.way_to(meeting)[::-1]
                    return np.array(way[::-1] if turned else way)
                one, other, turned = other, one, not turned
            target = self.space.turn(random.uniform(low, high), self.quaternion)
        return None

    def _grow(self, tree: Tree, target: Vector) -> tuple[int, bool]:
        """Grow a branch from the nearest position towards a target; its tip, and whether it got there."""
        tip = tree.nearest(target)
        q = tree.at(tip)
        for _ in range(MOST_STRIDES):
            far = float(np.linalg.norm(target - q))
            if far < JOINED:
                return tip, True
            stride = self._stride(q, target)
            if stride is None or np.linalg.norm(target - stride) > far - HARDLY_NEARER * min(STRIDE, far):
                return tip, False
            q = stride
            tip = tree.add(q, tip)
        return tip, False

    def _stride(self, q: Vector, target: Vector) -> Vector | None:
        """One stride towards a target, along obstacles where they are in the way."""
        space, way, reach = self.space, target - q, np.full(len(q), STRIDE)
        wish = Wish(np.eye(len(q)), way * min(1.0, STRIDE / float(np.linalg.norm(way))))
        moved = space.turn(q + space.move(q, wish, -reach, reach, self.quaternion), self.quaternion)
        return moved if moved is not None and space.admits(moved) else None

    def shorten(self, way: Vector) -> Vector:
        """The way with detours cut that a straight line between two of its positions saves."""
        random = np.random.default_rng(self.seed)
        positions = list(way)
        for _ in range(SHORTCUTS):
            i, j = sorted(random.integers(0, len(positions), 2).tolist())
            if j - i < 2:
                continue
            straight = self._straight(positions[i], positions[j])
            if straight is not None and length(straight) < length(np.array(positions[i : j + 1])):
                positions[i : j + 1] = list(straight)
        return np.array(positions)

    def _straight(self, begin: Vector, end: Vector) -> Vector | None:
        """From one position to another, straight but for the tool's orientation; None when something is in the way."""
        positions = [begin]
        for _ in range(MOST_STRIDES * 4):
            far = float(np.linalg.norm(end - positions[-1]))
            if far < STRIDE:
                return np.array([*positions, end])
            q = self.space.turn(positions[-1] + (end - positions[-1]) * STRIDE / far, self.quaternion)
            if q is None or np.linalg.norm(end - q) > far - STRIDE / 3 or not self.space.admits(q):
                return None
            positions.append(q)
        return None


def length(way: Vector) -> float:
    """How far the joints go along a way, rad or m."""
    return float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum())
