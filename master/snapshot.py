"""The state of a whole system, to come back to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simloop.master.account import Account
from simloop.master.component import Component, Vector


class Snapshot:
    """Saves components and what algorithms remember, always into the same slots."""

    def __init__(self, components: Sequence[Component], memories: Sequence[Vector], account: Account) -> None:
        self._components = tuple(components)
        self._memories = tuple(memories)
        self._copies = tuple(memory.copy() for memory in memories)
        self._slots: list[Any] = [None] * len(components)
        self._marks = [0] * len(components)
        self._counts = [account.of(component.name) for component in components]
        self._save = account.around_each(components, self._save_one)
        self._restore = account.around_each(components, self._restore_one)

    def save(self) -> None:
        for save in self._save:
            save()
        for memory, copy in zip(self._memories, self._copies, strict=True):
            copy[...] = memory

    def restore(self) -> None:
        for restore in self._restore:
            restore()
        for memory, copy in zip(self._memories, self._copies, strict=True):
            memory[...] = copy

    def _save_one(self, i: int) -> None:
        counts = self._counts[i]
        self._slots[i] = self._components[i].save(self._slots[i])
        self._marks[i] = counts.standing
        counts.saves += 1

    def _restore_one(self, i: int) -> None:
        counts = self._counts[i]
        self._components[i].restore(self._slots[i])
        counts.roll_back(self._marks[i])
