"""Offsets of data records of a ULog, as a kernel: plain over bytes, compiled over arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from strapdown._kernels.kernel import kernel

if TYPE_CHECKING:
    from array import array
    from mmap import mmap

    import numpy as np
    from numpy.typing import NDArray

    Bytes: TypeAlias = "bytes | mmap | NDArray[np.uint8]"
    Whole: TypeAlias = "array[int] | NDArray[np.integer]"
    Span: TypeAlias = "tuple[int, int, int, int] | NDArray[np.int64]"

__all__ = ["follow_rows"]

_DATA: Final = 68  # the letter D
_HEAD: Final = 5  # u16 size, u8 type, u16 message id


@kernel
def follow_rows(
    data: Bytes, span: Span, subscribed: Whole, offsets: Whole, slots: Whole
) -> tuple[int, int]:
    """Find data records up to a record of another type, an invalid one, or a full table.

    Parameters
    ----------
    data : bytes-like, or (n,) uint8
        The file.
    span : tuple of (int, int, int, int), or (4,) int64
        Start of the first record, limit for the start of the last, limit for its end, and the
        number of rows in the tables so far.
    subscribed : (3 * 65536,) int32
        For each message id three values: least and greatest size of a row, and its slot.
    offsets : (m,) int64
        Output: starts of the rows, after their message id.
    slots : (m,) uint16
        Output: slots of the rows.

    Returns
    -------
    pos : int
        Offset of the first record that was not taken.
    count : int
        Rows in the tables.
    """
    pos, until, end, count = span[0], span[1], span[2], span[3]
    capacity = len(offsets)
    end_of_heads = min(until, end - _HEAD + 1)
    while count < capacity and pos < end_of_heads and data[pos + 2] == _DATA:
        size = data[pos] + 256 * data[pos + 1] - 2
        topic = 3 * (data[pos + 3] + 256 * data[pos + 4])
        stop = pos + _HEAD + size
        if size < subscribed[topic] or size > subscribed[topic + 1] or stop > end:
            break
        offsets[count] = pos + _HEAD
        slots[count] = subscribed[topic + 2]
        count += 1
        pos = stop
    return pos, count
