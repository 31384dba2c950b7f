"""Rows in temporary files: long recordings stay on disk, and only what is shown is read."""

from __future__ import annotations

import os
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Final
from weakref import finalize

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import AnyArray, IntArray

__all__ = ["Table"]

_FILL: Final = 1 << 16
"""Rows that are filled at one time."""


class Table:
    """Stamps and columns that grow, on disk; one thread appends while others read.

    The files have no name, and vanish with the process. Stamps are mapped, because searches touch
    few of their pages; columns are read, so that they never count as memory of the process.

    Examples
    --------
    >>> table = Table()
    >>> table.append(np.array([0, 10]), {"force": np.eye(3)[:2]})
    >>> table.append(np.array([20]), {"force": np.eye(3)[2:]})
    >>> table.t_ns.tolist(), table.read("force", 1, 3).tolist()
    ([0, 10, 20], [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """

    def __init__(self) -> None:
        self._stamps = _RowFile(np.empty(0, np.int64))
        self._columns: dict[str, _RowFile] = {}
        self._t_ns = np.empty(0, np.int64)

    @property
    def t_ns(self) -> IntArray:
        """Stamps (N,) of the rows so far."""
        return self._t_ns

    @property
    def names(self) -> frozenset[str]:
        """Columns."""
        return frozenset(self._columns)

    def __len__(self) -> int:
        return len(self._t_ns)

    def append(self, t_ns: IntArray, columns: Mapping[str, AnyArray]) -> None:
        """Append rows.

        A column that begins with them, or that they lack, is NaN in the other rows, or 0 where it
        holds integers.
        """
        if not len(t_ns):
            return
        for name in columns.keys() - self._columns.keys():
            late = _RowFile(columns[name])
            late.fill(len(self))
            self._columns[name] = late  # complete, because others read while this appends
        for name, column in self._columns.items():
            if name in columns:
                column.append(columns[name])
            else:
                column.fill(len(t_ns))
        self._stamps.append(t_ns)
        self._t_ns = self._stamps.mapped(len(self) + len(t_ns))

    def read(self, name: str, start: int, stop: int) -> AnyArray:
        """Return the rows of a column from start to stop."""
        return self._columns[name].read(start, stop)

    def mapped(self, name: str) -> AnyArray:
        """Return all rows of a column as a file in memory: pages are read when they are used."""
        return self._columns[name].mapped(len(self))


class _RowFile:
    """Rows of the shape and type of given ones."""

    def __init__(self, like: AnyArray) -> None:
        self._file = TemporaryFile(buffering=0)  # noqa: SIM115 (as long as this object)
        finalize(self, self._file.close)
        self._shape, self._dtype = like.shape[1:], like.dtype
        self._row_bytes = like.dtype.itemsize * int(np.prod(self._shape))

    def append(self, rows: AnyArray) -> None:
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
        count = max(0, stop - start)
        data = os.pread(self._file.fileno(), count * self._row_bytes, start * self._row_bytes)
        return np.frombuffer(data, self._dtype).reshape(-1, *self._shape)

    def mapped(self, count: int) -> AnyArray:
        shape = (count, *self._shape)
        return np.memmap(self._file, self._dtype, "r", shape=shape).view(np.ndarray)
