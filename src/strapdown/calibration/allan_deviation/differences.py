"""Sums of squared differences of an integral, in a fixed order.

Squares are summed in units (:mod:`.kernels`), and the sums of the units are added at the end. The
result has the same bits with any number of threads, as machine code, and on whole arrays with any
size of the blocks.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown._kernels.compilation import quickest
from strapdown.calibration.allan_deviation import kernels
from strapdown.calibration.allan_deviation.kernels import LANES, UNIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import FloatArray, IntArray

__all__ = ["Spans", "square_sums", "units_of", "window_square_sums"]

BLOCK: Final = 16  # units that whole arrays process at once, in the cache of the processor
_UNITS_PER_ROW: Final = 5  # as fast on whole arrays as one sample of a filter in plain Python
_UNITS_PER_TASK: Final = 2_000


def units_of(counts: IntArray) -> IntArray:
    """Return the number of units of some numbers of terms."""
    return -(-counts // UNIT)


class Spans(NamedTuple):
    """Differences of an integral: first point, lag and number (T,) of each sum; all int64."""

    starts: IntArray
    lags: IntArray
    counts: IntArray


def square_sums(x: FloatArray, spans: Spans, order: int, *, work: int) -> FloatArray:
    """Return the sum (T,) of the squares of differences of second or third order at each lag.

    Parameters
    ----------
    x : (K,)
        Integral.
    spans : Spans
    order : int
        2 or 3.
    work : int
        Units of the whole calculation, which decides whether it uses machine code.
    """
    sums = np.zeros((len(spans.lags), int(units_of(spans.counts).max(initial=0))))
    run = quickest(kernels.square_sums, work // _UNITS_PER_ROW, _square_sums)

    def task(first: int, last: int) -> None:
        run(x, *spans, order, first, last, np.empty(LANES), sums)

    _in_threads(task, sums.shape[1], max(1, _UNITS_PER_TASK // len(spans.lags)))
    return _totals(sums, spans.counts)


def window_square_sums(x: FloatArray, lags: IntArray, counts: IntArray, *, work: int) -> FloatArray:
    """Return the sum (T,) of the squares of sums over windows of second differences.

    Each window is as long as the lag. Parameters as in :func:`square_sums`.
    """
    sums = np.zeros((len(lags), int(units_of(counts).max(initial=0))))
    run = quickest(kernels.window_square_sums, work // _UNITS_PER_ROW, _window_square_sums)

    def task(first: int, last: int) -> None:
        run(x, lags, counts, first, last, np.empty(2 * LANES), sums)

    _in_threads(task, len(lags), max(1, _UNITS_PER_TASK // sums.shape[1]))
    return _totals(sums, counts)


def _totals(sums: FloatArray, counts: IntArray) -> FloatArray:
    """Return the total of each row, over the units that it has."""
    if sums.shape[1] == 1:
        return sums[:, 0]
    return np.array([row[:used].sum() for row, used in zip(sums, units_of(counts), strict=True)])


def _in_threads(task: Callable[[int, int], None], count: int, step: int) -> None:
    """Call a task for consecutive ranges, in as many threads as this process has processors."""
    firsts = range(0, count, step)
    threads = min(_processors(), len(firsts))
    if threads < 2:
        task(0, count)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda first: task(first, min(first + step, count)), firsts))


def _processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def _square_sums(  # noqa: PLR0913, PLR0917 (the arguments of the kernel)
    x: FloatArray, starts: IntArray, lags: IntArray, counts: IntArray, order: int,
    first: int, last: int, _lanes: FloatArray, sums: FloatArray,
) -> None:  # fmt: skip
    """Compute as :func:`kernels.square_sums`."""
    for block in range(first, last, BLOCK):
        end = min(block + BLOCK, last)
        for t in range(len(lags)):
            begin, stop = block * UNIT, min(end * UNIT, int(counts[t]))
            if begin < stop:
                terms = _differences(x[starts[t] :], int(lags[t]), order, begin, stop)
                sums[t, block : -(-stop // UNIT)] = _unit_sums(terms)


def _window_square_sums(  # noqa: PLR0913, PLR0917 (the arguments of the kernel)
    x: FloatArray, lags: IntArray, counts: IntArray,
    first: int, last: int, _lanes: FloatArray, sums: FloatArray,
) -> None:  # fmt: skip
    """Compute as :func:`kernels.window_square_sums`."""
    for t in range(first, last):
        m, count = int(lags[t]), int(counts[t])
        window = np.cumsum(_differences(x, m, 2, 0, m))[-1:]
        for start in range(0, count, BLOCK * UNIT):
            stop = min(start + BLOCK * UNIT, count)
            steps = _differences(x, m, 3, max(start - 1, 0), stop - 1)
            windows = np.cumsum(np.concatenate([window, steps]))
            window = windows[-1:]
            units = slice(start // UNIT, -(-stop // UNIT))
            sums[t, units] = _unit_sums(windows[min(start, 1) :])


def _differences(x: FloatArray, m: int, order: int, first: int, last: int) -> FloatArray:
    """Return the differences of second or third order that begin in a range."""
    points = [x[first + k * m : last + k * m] for k in range(order + 1)]
    if order == 2:
        a, b, c = points
        return (c - b) - (b - a)
    a, b, c, d = points
    return (d - a) - 3.0 * (c - b)


def _unit_sums(terms: FloatArray) -> FloatArray:
    """Return the sum of the squares of each unit; the last one may be shorter."""
    squares = np.zeros((-(-len(terms) // UNIT), UNIT // LANES, LANES))
    np.multiply(terms, terms, out=squares.reshape(-1)[: len(terms)])
    sums: FloatArray = squares.sum(axis=1)
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    return sums[:, 0]
