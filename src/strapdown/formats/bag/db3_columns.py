"""Numbers, topics and times of all messages of an intact rosbag2 database, as arrays.

SQLite takes a microsecond for a row, because it gives each to Python. Here thousands of pages are
decoded at once; their data, which are most of the file, are not looked at.

References
----------
SQLite file format, https://www.sqlite.org/fileformat2.html, sections 1.6 and 2.1.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from strapdown._typing import BoolArray, IntArray

__all__ = ["message_columns"]

_LEAF: Final = 0x0D
_HEAD: Final = 8
_BLOCK: Final = 2**21
"""Bytes of the file that are decoded at once."""
_CONSTANTS: Final = 8
"""Types from this one on are the numbers 0 and 1."""
_SIZES: Final = np.array([0, 1, 2, 3, 4, 6, 8, 8, 0, 0], np.int64)
"""Bytes of a value by its type."""
_REAL: Final = 7
_LONGEST: Final = 8
"""Bytes of a number that are decoded."""
_HEADERS: Final = range(5, 10)
"""Sizes of the header of a row of messages [bytes]."""


def message_columns(path: Path) -> Iterator[IntArray]:
    """Yield number, topic and time [ns] of messages, in the order of the file.

    Parameters
    ----------
    path : Path
        The database. What has another form than a message is passed over.

    Yields
    ------
    (N, 3) int64
        The messages of about 2 MiB.
    """
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    size = int.from_bytes(data[16:18], "big")
    page = 65536 if size <= 1 else size
    step, whole = max(_BLOCK // page, 1) * page, len(data) // page * page
    for start in range(0, whole, step):
        stop = min(start + step, whole)
        yield _messages(np.frombuffer(data, np.uint8, stop - start, start), page)
        if hasattr(data, "madvise") and start:
            data.madvise(mmap.MADV_DONTNEED, start - start % mmap.PAGESIZE, stop - start)


def _messages(block: NDArray[np.uint8], page: int) -> IntArray:
    """Return the messages of some pages."""
    at = _cells(block, page)
    size, at = _varints(block, at)
    number, at = _varints(block, at)
    header, empty, topic, time = (_bytes(block, at + k).astype(np.int64) for k in range(4))
    last_kind = _bytes(block, at + header - 1)
    is_whole = (number > 0) & (size > 0) & (empty == 0) & (last_kind % 2 == 0)  # a blob is even
    is_whole &= (header >= _HEADERS.start) & (header < _HEADERS.stop)
    for kind in (topic, time):
        is_whole &= (kind > 0) & (kind < len(_SIZES)) & (kind != _REAL)
    if not is_whole.all():
        columns = at, header, topic, time, number
        at, header, topic, time, number = (each[is_whole] for each in columns)
    begin = at + header
    integers = _integers(block, begin, topic), _integers(block, begin + _SIZES[topic], time)
    return np.stack([number, *integers]).T  # contiguous columns


def _cells(block: NDArray[np.uint8], page: int) -> IntArray:
    """Return the offsets of the cells of all leaves of tables."""
    pages = block.reshape(-1, page)
    leaves = np.flatnonzero(pages[:, 0] == _LEAF)
    counts = pages[leaves, 3].astype(np.int64) << 8 | pages[leaves, 4]
    most = min(int(counts.max(initial=0)), (page - _HEAD) // 2)
    places = pages[leaves, _HEAD : _HEAD + 2 * most].astype(np.int64)
    offsets = places[:, ::2] << 8 | places[:, 1::2]
    offsets += leaves[:, None] * page
    there: BoolArray = np.arange(most) < counts[:, None]
    return np.asarray(offsets[there & (offsets < len(block))])


def _varints(block: NDArray[np.uint8], at: IntArray) -> tuple[IntArray, IntArray]:
    """Return the unsigned numbers of 7 bits a byte at some offsets, and the offsets after them."""
    value, goes_on = np.zeros(len(at), np.int64), np.ones(len(at), np.bool_)
    for _ in range(_LONGEST):
        byte = _bytes(block, at)
        value = np.where(goes_on, value << 7 | byte & 0x7F, value)
        at = at + goes_on
        goes_on &= byte >= 0x80
        if not goes_on.any():
            break
    return value, at


def _bytes(block: NDArray[np.uint8], at: IntArray) -> NDArray[np.uint8]:
    """Return the bytes at some offsets; beyond the end, the last one."""
    return block.take(at, mode="clip")


def _integers(block: NDArray[np.uint8], at: IntArray, kinds: IntArray) -> IntArray:
    """Return signed integers of some types."""
    everywhere = np.ndarray((len(block) - 7,), ">i8", block, strides=(1,))
    value = everywhere[np.minimum(at, len(block) - 8)].astype(np.int64)
    value >>= np.minimum(64 - 8 * _SIZES[kinds], 63)
    constant = kinds >= _CONSTANTS
    return np.where(constant, kinds - _CONSTANTS, value) if constant.any() else value
