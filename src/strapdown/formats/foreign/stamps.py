"""Time stamps of other programs as whole nanoseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.formats.foreign.units import CLOCK
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown._typing import AnyArray, FloatArray, IntArray

__all__ = ["ns_from_counts", "ns_from_iso8601", "ns_from_values", "reader", "unwrapped"]

_FRACTION: Final = re.compile(r"[.,](\d+)")
_WIDTHS: Final = (2**8, 2**16, 2**32)


def reader(unit: str) -> Callable[[str], int]:
    """Return an exact reader of one cell: to nanoseconds, or to whole counts of samples.

    It raises ``ValueError`` where the cell is no time.
    """
    if unit == "iso8601":
        return ns_from_iso8601
    ns = CLOCK.get(unit, 1)

    def read(text: str) -> int:
        try:
            return int((Decimal(text) * ns).to_integral_value())
        except ArithmeticError as error:
            raise ValueError(text) from error

    return read


def ns_from_iso8601(text: str) -> int:
    """Return nanoseconds since 1970 of a date and time; without a zone it is UTC.

    Raises
    ------
    ValueError
        It is no date and time by ISO 8601.

    Examples
    --------
    >>> ns_from_iso8601("2026-11-24T08:00:00.000000001+01:00") % 86_400_000_000_000
    25200000000001
    """
    fraction = _FRACTION.search(text)
    digits = fraction[1] if fraction else ""
    instant = datetime.fromisoformat(_FRACTION.sub("", text.strip(), count=1))
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    elapsed = instant - datetime(1970, 1, 1, tzinfo=UTC)
    return (elapsed.days * 86_400 + elapsed.seconds) * NS_PER_S + int(f"{digits:0<9.9}")


def ns_from_values(values: AnyArray, unit: str) -> IntArray:
    """Return the times of an array (N,) as nanoseconds, exact for integers and datetimes."""
    if np.issubdtype(values.dtype, np.datetime64):
        return values.astype("datetime64[ns]").astype(np.int64)
    if unit == "iso8601":
        return np.array([ns_from_iso8601(str(each)) for each in values.tolist()], np.int64)
    ns = CLOCK.get(unit, 1)
    if np.issubdtype(values.dtype, np.integer):
        return values.astype(np.int64) * ns
    return np.array(np.rint(values * ns), np.int64)


def unwrapped(counts: IntArray, widths: Sequence[int]) -> tuple[IntArray, int]:
    """Return counts (N,) without the wraps of their counter, and the number of wraps.

    Parameters
    ----------
    counts : (N,) int64
        Of a counter.
    widths : sequence of int
        Numbers of values that a counter may have, ascending; the first that fits is taken.

    Examples
    --------
    >>> unwrapped(np.array([254, 255, 0]), (256,))
    (array([254, 255, 256]), 1)
    """
    falls = np.flatnonzero(np.diff(counts) < 0)
    width = next((w for w in widths if len(falls) and counts.max() < w), 0)
    if not width:
        return counts, 0
    wrapped = falls[counts[falls] - counts[falls + 1] > width // 2]
    steps = np.zeros(len(counts), np.int64)
    steps[wrapped + 1] = width
    return counts + np.cumsum(steps), len(wrapped)


def ns_from_counts(counts: IntArray, rate_hz: float) -> tuple[IntArray, int]:
    """Return the times (N,) of sample counts, and how often the counter wrapped.

    Parameters
    ----------
    counts : (N,) int64
        Of a counter of 8, 16 or 32 bits, or row numbers.
    rate_hz : float
        Counts per second [Hz].
    """
    counts, wraps = unwrapped(counts, _WIDTHS)
    seconds: FloatArray = (counts - counts[0] if len(counts) else counts) / rate_hz
    return np.array(np.rint(seconds * NS_PER_S), np.int64), wraps
