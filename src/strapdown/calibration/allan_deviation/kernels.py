"""Loops over the differences of an integral: squares, summed in units.

``UNIT`` terms are summed by ``LANES`` interleaved sums, which are then added in pairs. The
loops are meant to be compiled; :mod:`.differences` contains the same sums on whole arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown._kernels.kernel import kernel

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

UNIT = 4096
LANES = 64


@kernel
def square_sums(  # noqa: PLR0913, PLR0917 (a kernel takes plain numbers and arrays)
    x: FloatArray, starts: IntArray, lags: IntArray, counts: IntArray, order: int,
    first: int, last: int, lanes: FloatArray, sums: FloatArray,
) -> None:  # fmt: skip
    """Sum the squared differences of second or third order in a range of units, for each lag."""
    for unit in range(first, last):
        for t in range(len(lags)):
            size = min(UNIT, counts[t] - unit * UNIT)
            if size > 0:
                clear(lanes)
                start = starts[t] + unit * UNIT
                if order == 2:
                    add_second(x, start, lags[t], size, lanes)
                else:
                    add_third(x, start, lags[t], size, lanes)
                sums[t, unit] = total(lanes)


@kernel
def window_square_sums(  # noqa: PLR0913, PLR0917 (as above)
    x: FloatArray, lags: IntArray, counts: IntArray,
    first: int, last: int, lanes: FloatArray, sums: FloatArray,
) -> None:  # fmt: skip
    """Sum the squares of sums over windows of second differences, for a range of lags.

    A window is as long as the lag; moving it by one adds a third difference.
    """
    for t in range(first, last):
        m = lags[t]
        window = 0.0
        for i in range(m):
            window += (x[i + 2 * m] - x[i + m]) - (x[i + m] - x[i])
        for unit in range(-(-counts[t] // UNIT)):
            start = unit * UNIT
            size = min(UNIT, counts[t] - start)
            clear(lanes)
            for i in range(size):
                if start + i > 0:
                    k = start + i - 1
                    window += (x[k + 3 * m] - x[k]) - 3.0 * (x[k + 2 * m] - x[k + m])
                lanes[i % LANES] += window * window
            sums[t, unit] = total(lanes)


@kernel
def clear(lanes: FloatArray) -> None:
    """Set the interleaved sums to 0."""
    for j in range(LANES):
        lanes[j] = 0.0


@kernel
def total(lanes: FloatArray) -> float:
    """Return the total of the interleaved sums, added in pairs."""
    half = LANES // 2
    while half > 0:
        for j in range(half):
            lanes[j] += lanes[j + half]
        half //= 2
    return float(lanes[0])


@kernel
def add_second(x: FloatArray, start: int, m: int, size: int, lanes: FloatArray) -> None:
    """Add the squares of second differences to the interleaved sums."""
    for row in range(0, size, LANES):
        i = start + row
        n = min(LANES, size - row)
        a, b, c = x[i : i + n], x[i + m : i + m + n], x[i + 2 * m : i + 2 * m + n]
        for j in range(n):
            d = (c[j] - b[j]) - (b[j] - a[j])
            lanes[j] += d * d


@kernel
def add_third(x: FloatArray, start: int, m: int, size: int, lanes: FloatArray) -> None:
    """Add the squares of third differences to the interleaved sums."""
    for row in range(0, size, LANES):
        i = start + row
        n = min(LANES, size - row)
        a, b = x[i : i + n], x[i + m : i + m + n]
        c, d = x[i + 2 * m : i + 2 * m + n], x[i + 3 * m : i + 3 * m + n]
        for j in range(n):
            e = (d[j] - a[j]) - 3.0 * (c[j] - b[j])
            lanes[j] += e * e
