"""A board in shared memory: the loop writes its newest committed state on it, the viewer reads it.

The writer never waits: a reader that is slow, frozen or gone costs it nothing. A reader that catches the writer in the
middle, or sees its stores in another order than they were made, as some processors allow, finds the checksum wrong and
reads again.
"""

from __future__ import annotations

import json
import zlib
from multiprocessing.context import SpawnContext
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Room for what is told in words, bytes.
_WORDS = 16384
# Before the row: the number of the last writing, the length of the words, and the checksums of row and words.
_HEAD = 4
# A reader that meets a writer this often in a row gives up until it looks again.
_TRIES = 20


class Board:
    """A row of `size` numbers and a few words; pickled to another process it is the same memory."""

    def __init__(self, context: SpawnContext, size: int) -> None:
        self._size = size
        self._memory = context.RawArray("d", _HEAD + size + _WORDS // 8)
        self._bind()

    def _bind(self) -> None:
        whole: NDArray[np.float64] = np.frombuffer(self._memory, dtype=np.float64)
        self._head, self._row = whole[:_HEAD].view(np.int64), whole[_HEAD : _HEAD + self._size]
        self._words = whole[_HEAD + self._size :].view(np.uint8)
        self._text, self._told = b"", dict[str, Any]()

    def __getstate__(self) -> dict[str, Any]:
        return {"_size": self._size, "_memory": self._memory}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()

    def write(self, row: NDArray[np.float64]) -> None:
        turn = int(self._head[0]) + 1
        self._row[:] = row
        self._head[2] = zlib.crc32(row.data, turn)
        self._head[0] = turn

    def tell(self, **words: Any) -> None:
        """Replace the words; where they are too long for the board, a notice of that stands in their place."""
        text = json.dumps(words).encode()
        if len(text) >= _WORDS:
            text = json.dumps({"notice": "there is more to tell than the board has room for"}).encode()
        self._words[: len(text)] = np.frombuffer(text, dtype=np.uint8)
        self._head[1], self._head[3] = len(text), zlib.crc32(text)

    def read(self) -> tuple[int, NDArray[np.float64], dict[str, Any]] | None:
        """The number of the last writing, the row and the words; None when the writer was in the way."""
        for _ in range(_TRIES):
            (turn, length, row_sum, words_sum), row = self._head.tolist(), self._row.copy()
            text = self._words[:length].tobytes()
            if zlib.crc32(row.data, turn) == row_sum and zlib.crc32(text) == words_sum:
                if text != self._text:
                    self._text, self._told = text, json.loads(text)
                return turn, row, self._told
        return None
