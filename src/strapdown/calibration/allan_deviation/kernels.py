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
            end = min((unit + 1) * UNIT, counts[t])
            clear(lanes)
            for start in range(unit * UNIT, end, LANES):
                n = min(LANES, end - start)
                window = add_windows(x, start, m, n, start + n < counts[t], window, lanes)
            sums[t, unit] = total(lanes)


@kernel
def add_windows(  # noqa: PLR0913, PLR0917 (as above)
    x: FloatArray, i: int, m: int, n: int, goes_on: bool, window: float, lanes: FloatArray  # noqa: FBT001 (as above)
) -> float:  # fmt: skip
    """Add the squares of a row of windows to the interleaved sums, and return the next window.

    The second half of ``lanes`` is memory.
    """
    steps = n if goes_on else n - 1  # the last window has none after it
    row = lanes[LANES : LANES + n]
    a, b = x[i : i + steps], x[i + m : i + m + steps]
    c, d = x[i + 2 * m : i + 2 * m + steps], x[i + 3 * m : i + 3 * m + steps]
    for j in range(steps):
        row[j] = (d[j] - a[j]) - 3.0 * (c[j] - b[j])
    for j in range(steps):
        step = row[j]
        row[j] = window
        window += step
    if not goes_on:
        row[steps] = window
    for j in range(n):
        lanes[j] += row[j] * row[j]
    return window


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
