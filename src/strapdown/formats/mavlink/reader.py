"""Reading of MAVLink telemetry logs (``.tlog``) to series: a time stamp before every frame.

HIL_SENSOR, HIGHRES_IMU, SCALED_IMU and RAW_IMU become IMU series, ATTITUDE and
ATTITUDE_QUATERNION trajectories, by sender: ``sys1/comp1/scaled_imu``. Stamps are those of the
messages, which usually count from the start of the autopilot; ``Recording.clock_offset_ns``
converts them to time since 1970, by SYSTEM_TIME, or else by the stamps of the log, which a ground
station writes on reception. Checksums are verified by pymavlink (extra ``mavlink``).

References
----------
https://mavlink.io/en/guide/serialization.html; ``mavlogfile`` of pymavlink.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from strapdown.errors import ChecksumError, FormatError, TruncatedError
from strapdown.formats._guard import foreign_reader
from strapdown.formats.mavlink.clock import FIRST_US, LAST_US, Clock
from strapdown.formats.mavlink.collection import Collection
from strapdown.formats.mavlink.frames import Decoder, end_of_frame

if TYPE_CHECKING:
    from pathlib import Path

    from strapdown.formats.mavlink.conversion import RawScale
    from strapdown.formats.recording import Recording

__all__ = ["read", "sniff"]

_STAMP: Final = 8
"""Bytes before each frame: microseconds since 1970, big endian."""


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001 (one signature for all formats)
    """Return whether a file begins with a time stamp and a frame, and so continues."""
    end = _end_of_entry(head, 0)
    if end is None:
        return False
    return end >= len(head) - _STAMP or _end_of_entry(head, end) is not None


def _end_of_entry(data: bytes, at: int) -> int | None:
    """Return where a time stamp and a frame end; None where they do not begin."""
    stamp_us = int.from_bytes(data[at : at + _STAMP], "big")
    return end_of_frame(data, at + _STAMP) if FIRST_US <= stamp_us <= LAST_US else None


def read(path: Path, *, salvage: bool, scale: RawScale | None = None) -> Recording:
    """Read a telemetry log.

    Parameters
    ----------
    path : Path
        The file.
    salvage : bool
        Count bytes that are no frame, instead of raising an error. Messages that are missing by
        their sequence numbers are counted in both.
    scale : RawScale, optional
        Of RAW_IMU of any sender.

    Returns
    -------
    Recording
        By topic.

    Raises
    ------
    TruncatedError
        The file ends inside a frame.
    ChecksumError
        The checksum of a frame does not match.
    FormatError
        Bytes are no frame. All three carry the offset. In salvage, only where there is no frame
        at all.
    BackendMissingError
        pymavlink is not installed.
    """
    decoder, collection = Decoder(), Collection(scale=scale)
    clocks: defaultdict[int, Clock] = defaultdict(Clock)
    data = path.read_bytes()
    at, is_lost = 0, False
    with foreign_reader(path, "MAVLink telemetry log"):
        while at < len(data):
            taken = decoder.take(data, at + _STAMP, is_lost=is_lost)
            is_lost = taken is None
            if taken is not None:
                message, end = taken
                collection.add(message)
                received_us = int.from_bytes(data[at : at + _STAMP], "big")
                clocks[message.get_srcSystem()].take(message, received_us)
                at = end
            elif salvage:
                at += 1
            else:
                raise _no_frame(data, at, path)
        if not decoder.sources:
            raise FormatError("expected a time stamp and a MAVLink frame, got none", path=path)
        recording = collection.recording(decoder, name="tlog", path=path)
    vehicles = collection.systems
    offset_ns = clocks[vehicles.pop()].offset_ns if len(vehicles) == 1 else None
    return replace(recording, clock_offset_ns=offset_ns)


def _no_frame(data: bytes, at: int, path: Path) -> FormatError:
    """Return the error for bytes that are not a frame."""
    begin = at + _STAMP
    end = end_of_frame(data, begin)
    remedy = 'read with on_error="salvage" to go on'
    if begin + 3 > len(data) or (end is not None and end > len(data)):
        line = f"expected a time stamp and a whole frame, the file ends inside; {remedy}"
        return TruncatedError(line, path=path, offset=at)
    if end is None:
        line = f"expected a MAVLink frame, got {data[begin : begin + 4].hex()}; {remedy}"
        return FormatError(line, path=path, offset=begin)
    return ChecksumError(
        f"expected the checksum of a MAVLink frame, it differs; {remedy}", path=path, offset=begin
    )
