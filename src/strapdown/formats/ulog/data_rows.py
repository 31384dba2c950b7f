"""Rows of a ULog: the subscriptions, and the search for data records."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._kernels.compilation import prepared
from strapdown.formats.ulog.data_row_offsets import follow_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from mmap import mmap

    from numpy.typing import NDArray

    from strapdown._typing import IntArray

__all__ = ["MESSAGES", "RowWalk"]

MESSAGES: Final = 2**16
"""Number of message ids, and so of topics, that a file can have."""
_LEAST_RECORD: Final = 13
"""Size of a data record with only a stamp [bytes]."""
_ROWS: Final = 2**18
"""Rows found by one call of the kernel."""
_PLAIN: Final = 2**25
"""Smaller files use plain Python, as loading the compiler takes longer [bytes]."""


class RowWalk:
    """Walk over the data records of subscribed topics.

    Parameters
    ----------
    data : bytes or mmap
        The file.
    """

    def __init__(self, data: bytes | mmap) -> None:
        rows = min(_ROWS, 1 + len(data) // _LEAST_RECORD)
        self._subscribed = array("i", [1, 0, 0]) * MESSAGES  # least above greatest: not subscribed
        self._offsets, self._slots = array("q", bytes(8 * rows)), array("H", bytes(2 * rows))
        self._count = 0
        self._follow = _follower(data, (self._subscribed, self._offsets, self._slots))

    @property
    def is_full(self) -> bool:
        """Whether rows must be taken before others can be found."""
        return self._count == len(self._offsets)

    def subscribe(self, msg_id: int, least: int, most: int, slot: int) -> None:
        """Accept rows of ``least`` to ``most`` bytes with a message id, for a slot."""
        self._subscribed[3 * msg_id : 3 * msg_id + 3] = array("i", [least, most, slot])

    def follow(self, pos: int, until: int, end: int) -> int:
        """Call :func:`follow_rows`, which adds to the rows so far; return the end."""
        pos, self._count = self._follow((pos, until, end, self._count))
        return pos

    def take(self) -> tuple[IntArray, NDArray[np.uint16]]:
        """Return the offsets of the rows so far, and their slots, and forget them."""
        count, self._count = self._count, 0
        offsets = np.array(self._offsets[:count], np.int64)
        return offsets, np.array(self._slots[:count], np.uint16)


def _follower(
    data: bytes | mmap, tables: tuple[array[int], array[int], array[int]]
) -> Callable[[tuple[int, int, int, int]], tuple[int, int]]:
    """Return the walk over data records, compiled for large files."""
    if len(data) < _PLAIN:
        return lambda span: follow_rows(data, span, *tables)
    viewed = np.frombuffer(data, np.uint8)
    views = [np.frombuffer(table, table.typecode) for table in tables]
    at = np.zeros(4, np.int64)
    walk = prepared(follow_rows, viewed, at, *views)

    def follow(span: tuple[int, int, int, int]) -> tuple[int, int]:
        at[:] = span
        walk()
        pos, count = walk.value
        return pos, count

    return follow
