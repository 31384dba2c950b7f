"""Assignment of the samples of a slower sensor to the nearest rows of a faster one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.formats.block_reader import NeedsWhole
from strapdown.units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray

__all__ = [
    "MAGNETOMETER_WITHIN_NS",
    "NearestRows",
    "before",
    "left_out",
    "nearest_rows",
    "on_nearest_rows",
]

MAGNETOMETER_WITHIN_NS: Final = 20 * NS_PER_MS
"""Largest distance in time from a magnetometer sample to its row [ns]."""
_AROUND_NS: Final = NS_PER_S
"""Time before the rows of a block that is kept for comparison [ns]."""


def on_nearest_rows(
    rows_ns: IntArray, stamps_ns: IntArray, vectors: FloatArray, *, within_ns: int
) -> tuple[FloatArray, BoolArray]:
    """Assign each vector to the row that is nearest in time; other rows are NaN.

    Parameters
    ----------
    rows_ns : (N,) int64
        Stamps of the rows, in any order [ns].
    stamps_ns : (M,) int64
        Stamps of the vectors, in any order [ns].
    vectors : (M, n)
        In any unit.
    within_ns : int
        A vector farther than this from every row is left out [ns]; 0 requires equal stamps.

    Returns
    -------
    values : (N, n)
        In the unit of the vectors.
    placed : (M,) bool
        Whether each vector was assigned to a row; of several for one row, only the last is.
    """
    if np.array_equal(rows_ns, stamps_ns):
        return vectors, np.ones(len(vectors), np.bool_)
    return _on_nearest(rows_ns, stamps_ns, vectors, within_ns)


def nearest_rows(rows_ns: IntArray, stamps_ns: IntArray) -> IntArray:
    """Return the number of the row, of at least one, that is nearest in time to each stamp."""
    order = np.argsort(rows_ns, kind="stable")
    ordered = rows_ns[order]
    after = np.searchsorted(ordered, stamps_ns).clip(max=len(ordered) - 1)
    before = (after - 1).clip(min=0)
    is_before = np.abs(stamps_ns - ordered[before]) <= np.abs(ordered[after] - stamps_ns)
    return order[np.where(is_before, before, after)]


def _on_nearest(
    rows_ns: IntArray, stamps_ns: IntArray, vectors: FloatArray, within_ns: int
) -> tuple[FloatArray, BoolArray]:
    """Assign each vector as :func:`on_nearest_rows`, where the stamps are not the same."""
    values = np.full((len(rows_ns), *vectors.shape[1:]), np.nan)
    placed = np.zeros(len(vectors), np.bool_)
    if not (len(rows_ns) and len(stamps_ns)):
        return values, placed
    row = nearest_rows(rows_ns, stamps_ns)
    near = np.flatnonzero(np.abs(rows_ns[row] - stamps_ns) <= within_ns)
    holder = np.full(len(rows_ns), -1)
    holder[row[near]] = near
    placed[holder[holder >= 0]] = True
    values[row[placed]] = vectors[placed]
    return values, placed


class NearestRows:
    """The same for rows and vectors that arrive in blocks.

    Parameters
    ----------
    within_ns : int
        As of :func:`on_nearest_rows`.

    Attributes
    ----------
    vectors, placed : int
        Numbers of vectors so far, and of those that were assigned to a row.
    """

    def __init__(self, within_ns: int) -> None:
        self.vectors = self.placed = 0
        self._within_ns = within_ns
        self._rows = self._stamps = np.empty(0, np.int64)
        self._values: FloatArray | None = None
        self._rows_done = self._stamps_done = 0
        self._same, self._repeats, self._last_ns = True, False, -(2**63)

    def add(
        self, rows_ns: IntArray | None, stamps_ns: IntArray | None, vectors: FloatArray | None
    ) -> None:
        """Append rows, or vectors with their stamps."""
        if rows_ns is not None:
            self._rows = np.concatenate([self._rows, rows_ns])
        if stamps_ns is not None and vectors is not None:
            self._stamps = np.concatenate([self._stamps, stamps_ns])
            known = [] if self._values is None else [self._values]
            self._values = np.concatenate([*known, vectors])

    def take(self, cut_ns: int) -> FloatArray:
        """Return the values of the next rows: those before the first at a time or later [ns].

        All that is later than this time by up to a second must have been added.

        Raises
        ------
        NeedsWhole
            Stamps repeat, and rows and vectors have the same stamps in a part of the file only.
        """
        rows = self._rows[self._rows_done :]
        stamps = self._stamps[self._stamps_done :]
        n, m = before(rows, cut_ns), before(stamps, cut_ns)
        self.vectors += m
        if self._values is None:
            self._values = np.empty((0, 3))
        if self._same and np.array_equal(rows[:n], stamps[:m]):
            found = self._values[self._stamps_done :][:m]
            self.placed += m
            times = np.concatenate([[self._last_ns], rows[:n]])
            self._repeats = self._repeats or bool((times[1:] <= times[:-1]).any())
            self._last_ns = int(times[-1])
        else:
            if self._same and self._repeats:
                raise NeedsWhole("rows and vectors with repeated stamps are not always the same")
            self._same = False
            values, placed = _on_nearest(self._rows, self._stamps, self._values, self._within_ns)
            found = values[self._rows_done :][:n]
            self.placed += int(placed[self._stamps_done :][:m].sum())
        self._forget(n, m, cut_ns)
        return found

    def _forget(self, n: int, m: int, cut_ns: int) -> None:
        """Keep what the rows of later blocks are compared with."""
        assert self._values is not None  # noqa: S101 (set before)
        waiting = self._rows[self._rows_done + n :]
        begin = min(cut_ns, int(waiting.min(initial=cut_ns))) - _AROUND_NS
        old_rows = before(self._rows[: self._rows_done + n], begin)
        old_stamps = before(self._stamps[: self._stamps_done + m], begin)
        self._rows_done += n - old_rows
        self._stamps_done += m - old_stamps
        self._rows, self._stamps = self._rows[old_rows:], self._stamps[old_stamps:]
        self._values = self._values[old_stamps:]


def before(t_ns: IntArray, cut_ns: int) -> int:
    """Return the number of stamps before the first that is not less than a time [ns]."""
    late = t_ns >= cut_ns
    return int(late.argmax()) if late.any() else len(t_ns)


def left_out(source: str, left: int, count: int, within_ns: int) -> str:
    """Return a line with the number of samples that were not assigned to a row."""
    return (
        f"{source}: {left} of {count} samples were left out: a later one took the row, or "
        f"none is within {within_ns // NS_PER_MS} ms"
    )
