"""Assignment of the samples of a slower sensor to the nearest rows of a faster one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.units import NS_PER_MS

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray

__all__ = ["MAGNETOMETER_WITHIN_NS", "on_nearest_rows", "unplaced"]

MAGNETOMETER_WITHIN_NS: Final = 20 * NS_PER_MS
"""Largest distance in time from a magnetometer sample to its row [ns]."""


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
    values = np.full((len(rows_ns), *vectors.shape[1:]), np.nan)
    placed = np.zeros(len(vectors), np.bool_)
    if not (len(rows_ns) and len(stamps_ns)):
        return values, placed
    order = np.argsort(rows_ns, kind="stable")
    ordered = rows_ns[order]
    after = np.searchsorted(ordered, stamps_ns).clip(max=len(ordered) - 1)
    before = (after - 1).clip(min=0)
    is_before = np.abs(stamps_ns - ordered[before]) <= np.abs(ordered[after] - stamps_ns)
    row = order[np.where(is_before, before, after)]
    near = np.flatnonzero(np.abs(rows_ns[row] - stamps_ns) <= within_ns)
    holder = np.full(len(rows_ns), -1)
    holder[row[near]] = near
    placed[holder[holder >= 0]] = True
    values[row[placed]] = vectors[placed]
    return values, placed


def unplaced(source: str, placed: BoolArray, within_ns: int) -> str:
    """Return a line with the number of samples that were not assigned to a row."""
    left = len(placed) - int(placed.sum())
    return (
        f"{source}: {left} of {len(placed)} samples were left out: a later one took the row, or "
        f"none is within {within_ns // NS_PER_MS} ms"
    )
