"""Reading of ArduPilot's DataFlash logs (``.bin``) to series.

Messages and topics are those of :mod:`strapdown.formats.dataflash.series`, in every version that
the FMT messages of a log describe; units and multipliers are those of the log. Stamps count
from the start of the autopilot; ``Recording.clock_offset_ns`` converts them to time since 1970,
where a GNSS receiver had a fix. The format has no checksums: a number that damage changed is read
unchanged, and the notes name implausible values.

References
----------
``libraries/AP_Logger`` of ArduPilot; ``DFReader.py`` of pymavlink.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats._plausible import doubts
from strapdown.formats.dataflash.layouts import FMT, HEAD
from strapdown.formats.dataflash.records import Records
from strapdown.formats.dataflash.series import LATEST_US, Conversion
from strapdown.formats.recording import Recording
from strapdown.formats.reports import ReadReport
from strapdown.units import NS_PER_S, NS_PER_US

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read", "sniff"]

_MAGIC: Final = HEAD + bytes([FMT])
_FIX_3D: Final = 3
_WEEK_S: Final = 604_800
_GPS_EPOCH_S: Final = 315_964_800
"""6 January 1980, in seconds since 1970."""
_LEAP_SECONDS: Final = (
    (1_136_073_600, 14),
    (1_230_768_000, 15),
    (1_341_100_800, 16),
    (1_435_708_800, 17),
    (1_483_228_800, 18),
)
"""Seconds by which GPS time leads UTC, from a time since 1970 on (IERS Bulletin C)."""


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001 (one signature for all formats)
    """Return whether a file begins with a FMT message."""
    return head.startswith(_MAGIC)


def read(path: Path, *, salvage: bool) -> Recording:
    """Read a DataFlash log.

    Parameters
    ----------
    path : Path
        The file.
    salvage : bool
        Count damage and leave it out, instead of raising an error.

    Returns
    -------
    Recording
        Frames are NED and FRD.

    Raises
    ------
    TruncatedError
        The file ends inside a message.
    FormatError
        Bytes are no message, or a FMT message contradicts itself. Both carry the offset. In
        salvage, only where there is no message at all.
    """
    records = Records(path.read_bytes(), path=path, salvage=salvage)
    if not records.layouts:
        raise FormatError("expected messages of a DataFlash log, got no intact one", path=path)
    with np.errstate(all="ignore"):  # numbers that damage changed
        found = Conversion(records)
    notes = list(found.notes)
    for topic, series in found.imu.items():
        notes += doubts(topic, series)
    for topic, track in found.trajectories.items():
        notes += doubts(topic, track)
    report = ReadReport(
        "dataflash",
        messages=found.messages,
        lost_messages=found.lost_messages,
        lost_bytes=records.lost_bytes,
        skipped=dict(+found.skipped),
        notes=tuple(notes),
        damage=tuple(records.damage.lines()),
    )
    recording = Recording(path, report, found.imu, found.trajectories)
    return replace(recording, clock_offset_ns=_clock_offset_ns(records))


def _clock_offset_ns(records: Records) -> int | None:
    """Return the offset from stamps to time since 1970 [ns], by the first fix of a receiver."""
    for name in ("GPS", "GPS2"):
        layout = records.layouts.get(name)
        if layout is not None and layout.has("iu", "TimeUS", "Status", "GMS", "GWk"):
            rows = records.rows(name)
            fixed = (rows["Status"] >= _FIX_3D) & (rows["GWk"] > 0) & (rows["TimeUS"] <= LATEST_US)
            if fixed.any():
                first = rows[int(np.argmax(fixed))]
                since_1970_ns = _utc_ns(int(first["GWk"]), int(first["GMS"]))
                return since_1970_ns - int(first["TimeUS"]) * NS_PER_US
    return None


def _utc_ns(week: int, milliseconds: int) -> int:
    """Return the time since 1970 [ns] of a GPS week and the milliseconds in it.

    >>> _utc_ns(2084, 1_218_000) // 10**9  # 15 December 2019, 00:20:00 UTC
    1576369200
    """
    gps_s = _GPS_EPOCH_S + week * _WEEK_S + milliseconds // 1000
    leap_s = 13
    for since_s, seconds in _LEAP_SECONDS:
        if gps_s - seconds >= since_s:
            leap_s = seconds
    return (gps_s - leap_s) * NS_PER_S + milliseconds % 1000 * 1_000_000
