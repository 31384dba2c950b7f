"""Work on long arrays in little memory: results beside them on disk, and passes in parts."""

from __future__ import annotations

import math
import os
from mmap import mmap
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Final
from weakref import finalize

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import DTypeLike

    from strapdown._typing import AnyArray, IntArray

__all__ = ["RowFile", "any_finite", "is_mapped", "median_step", "parts", "scratch", "strided"]

_PART: Final = 1 << 18
"""Values of a part."""
_FILL: Final = 1 << 16
"""Rows that are filled at one time."""
_SMALL: Final = 1 << 20
"""Bytes of an array that is in memory in any case."""


def parts(count: int, *, width: int = 1) -> Iterator[slice]:
    """Yield consecutive slices of rows of some width; one of no rows if there are none."""
    size = max(1, _PART // width)
    for start in range(0, max(count, 1), size):
        yield slice(start, min(start + size, count))


def is_mapped(array: AnyArray) -> bool:
    """Whether an array is a part of a file, of which pages are in memory while they are used."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap)


def scratch(
    like: AnyArray, count: int, dtype: DTypeLike = np.float64, tail: tuple[int, ...] = ()
) -> AnyArray:
    """Return an array (N, *tail) to be filled: in memory, or beside one that is part of a file.

    Then it is a temporary file without a name (``TMPDIR``), which ends with the array.

    Raises
    ------
    OSError
        There is no room for the file.

    Examples
    --------
    >>> scratch(np.zeros(3), 2).shape
    (2,)
    """
    shape = (count, *tail)
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size <= _SMALL or not is_mapped(like):
        return np.empty(shape, dtype)
    with TemporaryFile() as file:
        os.posix_fallocate(file.fileno(), 0, size)  # a full disk must not end the process later
        return np.memmap(file, dtype, "r+", shape=shape).view(np.ndarray)


def strided(array: AnyArray, step: int) -> AnyArray:
    """Return every so many rows of an array, one after the other, where the array is held."""
    some = array[::step]
    if step == 1:
        return some
    rows = scratch(array, len(some), array.dtype, array.shape[1:])
    rows[:] = some
    return rows


def any_finite(values: AnyArray) -> bool:
    """Whether a value of an array (N, ...) is finite."""
    return any(bool(np.isfinite(values[part]).any()) for part in parts(len(values)))


def median_step(values: IntArray) -> float:
    """Return the median difference of neighbours among integers (N,), at least two."""
    steps = scratch(values, len(values) - 1, np.int64)
    np.subtract(values[1:], values[:-1], out=steps)
    return float(np.median(steps, overwrite_input=True))


class RowFile:
    """Rows of the shape and type of given ones, appended to a temporary file without a name."""

    def __init__(self, like: AnyArray) -> None:
        self._file = TemporaryFile(buffering=0)  # noqa: SIM115 (as long as this object)
        finalize(self, self._file.close)
        self._shape, self._dtype = like.shape[1:], like.dtype
        self._row_bytes = like.dtype.itemsize * int(np.prod(self._shape))

    def append(self, rows: AnyArray) -> None:
        """Append rows."""
        data = memoryview(np.ascontiguousarray(rows, self._dtype).data).cast("B")
        while data:
            data = data[self._file.write(data) or 0 :]

    def fill(self, count: int) -> None:
        """Append rows without values."""
        value = np.nan if self._dtype.kind == "f" else 0
        for start in range(0, count, _FILL):
            shape = (min(_FILL, count - start), *self._shape)
            self.append(np.full(shape, value, self._dtype))

    def read(self, start: int, stop: int) -> AnyArray:
        """Return a copy of the rows from start to stop."""
        count = max(0, stop - start)
        data = os.pread(self._file.fileno(), count * self._row_bytes, start * self._row_bytes)
        return np.frombuffer(data, self._dtype).reshape(-1, *self._shape)

    def mapped(self, count: int) -> AnyArray:
        """Return the first rows as a file in memory: pages are read when they are used."""
        shape = (count, *self._shape)
        return np.memmap(self._file, self._dtype, "r", shape=shape).view(np.ndarray)
