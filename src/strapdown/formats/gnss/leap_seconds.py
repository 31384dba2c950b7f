"""Leap seconds between GPS time and UTC.

The list is that of the IERS (Bulletin C, ``leap-seconds.list`` of 7 July 2025), which is valid
until 28 June 2026. Later times have the last offset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import IntArray

__all__ = ["VALID_UNTIL", "is_beyond", "utc_from_gps"]

VALID_UNTIL: Final = "2026-06-28"
"""Date from which on another leap second may exist that the list does not have."""

_DATES: Final = (
    "1981-07-01", "1982-07-01", "1983-07-01", "1985-07-01", "1988-01-01", "1990-01-01",
    "1991-01-01", "1992-07-01", "1993-07-01", "1994-07-01", "1996-01-01", "1997-07-01",
    "1999-01-01", "2006-01-01", "2009-01-01", "2012-07-01", "2015-07-01", "2017-01-01",
)  # fmt: skip
"""Days in UTC from whose beginning on GPS time is ahead by one more second; 0 before."""


def utc_from_gps(gps_ns: IntArray) -> IntArray:
    """Return UTC as time since 1970 [ns].

    Parameters
    ----------
    gps_ns : (N,) int64
        GPS time, its calendar counted from 1970 as if it were UTC [ns].

    Examples
    --------
    >>> import numpy as np
    >>> [int(ns) // 10**9 for ns in utc_from_gps(np.array([0, 1_756_402_239]) * 10**9)]
    [0, 1756402221]
    """
    days = np.array(_DATES, "datetime64[s]").astype(np.int64)
    ahead = np.arange(1, len(days) + 1)
    begins_ns = (days + ahead) * NS_PER_S
    return gps_ns - np.searchsorted(begins_ns, gps_ns, side="right") * NS_PER_S


def is_beyond(t_ns: IntArray) -> bool:
    """Return whether a time [ns since 1970] is beyond the validity of the list."""
    last_ns = int(np.datetime64(VALID_UNTIL, "s").astype(np.int64)) * NS_PER_S
    return bool(len(t_ns)) and int(t_ns.max()) >= last_ns
