"""Rows in temporary files: long recordings stay on disk, and only what is shown is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown._scratch import RowFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import AnyArray, IntArray

__all__ = ["Table"]


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
        self._stamps = RowFile(np.empty(0, np.int64))
        self._columns: dict[str, RowFile] = {}
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
            late = RowFile(columns[name])
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
