"""Time stamps of other programs as whole nanoseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.formats.foreign.units import CLOCK
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from strapdown._typing import AnyArray, FloatArray, IntArray

__all__ = [
    "DAY_NS",
    "WRITTEN",
    "is_instant",
    "ns_from_counts",
    "ns_from_iso8601",
    "ns_from_values",
    "order_of_days",
    "reader",
    "unwrapped",
    "written_as",
]

DAY_NS: Final = 86_400 * NS_PER_S
WRITTEN: Final = ("iso8601", "time_of_day", "day_first", "month_first")
"""Units of times that are written out: date and time by ISO 8601, a time of day without a date,
and dates such as 01.05.2024 or 5/1/2024 with a time."""

_FRACTION: Final = re.compile(r"[.,](\d+)")
_DAYS: Final = ("one", "two")
"""Groups of the day and the month in a date."""
_CLOCK: Final = (
    r"(?P<h>\d{1,2}):(?P<m>\d\d)(?::(?P<s>\d\d)(?:[.,](?P<f>\d+))?)?\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
)
_TIME_OF_DAY: Final = re.compile(_CLOCK)
_DATE: Final = re.compile(
    rf"(?P<one>\d{{1,2}})(?P<sign>[./-])(?P<two>\d{{1,2}})(?P=sign)(?P<year>\d{{4}})[ T,]+{_CLOCK}"
)
_WIDTHS: Final = (2**8, 2**16, 2**32)


def reader(unit: str) -> Callable[[str], int]:
    """Return an exact reader of one cell: to nanoseconds, or to whole counts of samples.

    It raises ``ValueError`` where the cell is no time.
    """
    if unit == "iso8601":
        return ns_from_iso8601
    if unit == "time_of_day":
        return _ns_of_day
    if unit in WRITTEN:
        return partial(_ns_from_date, day_first=unit == "day_first")
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


def is_instant(text: str) -> bool:
    """Return whether a text is a date with a time, or a time of day."""
    return written_as(text) is not None


def written_as(text: str) -> str | None:
    """Return how a time is written: ``iso8601``, ``time_of_day`` or ``date``; None if it is none.

    Examples
    --------
    >>> written_as("12:00:00.1"), written_as("01.05.2024 12:00:00"), written_as("12.5")
    ('time_of_day', 'date', None)
    """
    text = text.strip()
    for form, how in ((_TIME_OF_DAY, "time_of_day"), (_DATE, "date")):
        if (found := form.fullmatch(text)) is not None:
            return how if _is_possible(found) else None
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if text.isdigit() else "iso8601"


def _is_possible(found: re.Match[str]) -> bool:
    """Return whether there is such a time of day, and such a day in some month."""
    try:
        _ns_since_midnight(found)
    except ValueError:
        return False
    numbers = sorted(int(number) for name, number in found.groupdict().items() if name in _DAYS)
    return not numbers or (1 <= numbers[0] <= 12 and numbers[1] <= 31)


def order_of_days(texts: Iterable[str]) -> str | None:
    """Return ``day_first`` or ``month_first`` for dates (``date``); None where both are possible.

    Dates with dots have the day first; in others a number above 12 decides.
    """
    for text in texts:
        if (found := _DATE.fullmatch(text.strip())) is None:
            continue
        if found["sign"] == "." or int(found["one"]) > 12:
            return "day_first"
        if int(found["two"]) > 12:
            return "month_first"
    return None


def _ns_of_day(text: str) -> int:
    """Return nanoseconds since midnight."""
    found = _TIME_OF_DAY.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    return _ns_since_midnight(found)


def _ns_from_date(text: str, *, day_first: bool) -> int:
    """Return nanoseconds since 1970 of a date and time, in UTC."""
    found = _DATE.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    day, month = (found["one"], found["two"]) if day_first else (found["two"], found["one"])
    date = datetime(int(found["year"]), int(month), int(day), tzinfo=UTC)
    return (date - datetime(1970, 1, 1, tzinfo=UTC)).days * DAY_NS + _ns_since_midnight(found)


def _ns_since_midnight(found: re.Match[str]) -> int:
    """Return nanoseconds since midnight of a match; ``ValueError`` where there is no such time."""
    hours, minutes, seconds = int(found["h"]), int(found["m"]), int(found["s"] or 0)
    if found["half"]:
        if not 1 <= hours <= 12:
            raise ValueError(found[0])
        hours = hours % 12 + 12 * (found["half"][0] in "pP")
    if hours > 23 or minutes > 59 or seconds > 60:
        raise ValueError(found[0])
    whole = (60 * hours + minutes) * 60 + seconds
    return whole * NS_PER_S + int(f"{found['f'] or '':0<9.9}")


def ns_from_values(values: AnyArray, unit: str) -> IntArray:
    """Return the times of an array (N,) as nanoseconds, exact for integers and datetimes."""
    if np.issubdtype(values.dtype, np.datetime64):
        return values.astype("datetime64[ns]").astype(np.int64)
    if unit in WRITTEN:
        read = reader(unit)
        return np.array([read(str(each)) for each in values.tolist()], np.int64)
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
