"""Sums of squared differences of an integral, in a fixed order.

Terms are summed in units of ``UNIT``: within a unit by ``LANES`` interleaved sums, which are
added in pairs; the sums of the units are added at the end. The order depends on neither the size
of the blocks, nor the number of threads, nor the execution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from strapdown._typing import FloatArray

__all__ = ["square_sum"]

UNIT: Final = 4096
LANES: Final = 64
_BLOCK: Final = 16 * UNIT


def square_sum(x: FloatArray, lag: int, order: int) -> float:
    """Return the sum of the squares of the differences of second or third order at a lag."""
    count = len(x) - order * lag
    units = np.empty(-(-count // UNIT))
    for start in range(0, count, _BLOCK):
        stop = min(start + _BLOCK, count)
        terms = differences(x, lag, order, start, stop)
        units[start // UNIT : -(-stop // UNIT)] = _unit_sums(terms * terms)
    return float(units.sum())


def differences(x: FloatArray, lag: int, order: int, start: int, stop: int) -> FloatArray:
    """Return the differences of second or third order that begin in a range."""
    points = [x[start + k * lag : stop + k * lag] for k in range(order + 1)]
    if order == 2:
        a, b, c = points
        return (c - b) - (b - a)
    a, b, c, d = points
    return (d - a) - 3.0 * (c - b)


def _unit_sums(squares: FloatArray) -> FloatArray:
    """Return the sum of each unit; the last one may be shorter."""
    whole = np.zeros((-(-len(squares) // UNIT), UNIT // LANES, LANES))
    whole.reshape(-1)[: len(squares)] = squares
    sums: FloatArray = whole.sum(axis=1)
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    return sums[:, 0]
