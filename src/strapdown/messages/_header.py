"""Headers of serialised messages: ``std_msgs/Header`` in front of float64.

:mod:`strapdown.messages.cdr` describes both forms.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import FormatError, TruncatedError, ValueRangeError
from strapdown.messages.wire import ENCAPSULATION, Wire, byte_order
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown.messages.wire import Order, Payload

__all__ = [
    "CDR_LITTLE_ENDIAN",
    "HEAD",
    "HEAD_FORMAT",
    "bad_time",
    "check_range",
    "check_stamps",
    "frame_bytes",
    "read_header",
    "record_dtype",
]

CDR_LITTLE_ENDIAN: Final = int.from_bytes(ENCAPSULATION, "little")
"""The encapsulation as the first u32."""
HEAD: Final = struct.Struct("<3I")
"""The 12 bytes before the frame name; no negative seconds are written."""
HEAD_FORMAT: Final = {Wire.CDR: "IiI", Wire.ROS1: "III"}


def read_header(data: Payload, floats: int, wire: Wire) -> tuple[Order, str, int]:
    """Check everything before the numbers; return byte order, frame name and their offset."""
    if len(data) < 16:
        raise TruncatedError(
            f"expected a header of at least 16 bytes, got {len(data)}", offset=len(data)
        )
    order, alignment = byte_order(data) if wire is Wire.CDR else ("<", 1)
    (length,) = struct.unpack_from(order + "I", data, 12)
    start = 16 + length + -(12 + length) % alignment
    expected = start + 8 * floats
    if len(data) != expected:
        raise (TruncatedError if len(data) < expected else FormatError)(
            f"expected {expected} bytes with a frame_id of {length} bytes and {floats} numbers, "
            f"got {len(data)}",
            offset=min(len(data), expected),
        )
    name = bytes(data[16 : 16 + length])
    if wire is Wire.CDR:
        if name.find(0) != length - 1 or not length:
            raise FormatError(
                f"expected a frame_id that ends in its only NUL, got {name[-8:]!r}", offset=16
            )
        name = name[:-1]
    try:
        return order, name.decode(), start
    except UnicodeDecodeError as error:
        raise FormatError(
            f"expected a frame_id in UTF-8, got {name[:40]!r}", offset=16 + error.start
        ) from None


def record_dtype(order: Order, wire: Wire, frame: int, floats: int) -> np.dtype[np.void]:
    """Layout of one payload whose frame name, with length and padding, takes ``frame`` bytes."""
    first, seconds, nanoseconds = (order + code for code in HEAD_FORMAT[wire])
    return np.dtype(
        [
            ("first", first),
            ("sec", seconds),
            ("nanosec", nanoseconds),
            ("frame", f"V{frame}"),
            ("values", order + "f8", (floats,)),
        ]
    )


@lru_cache(maxsize=64)
def frame_bytes(frame_id: str, wire: Wire) -> bytes:
    """Length, text and padding of a frame name."""
    try:
        name = frame_id.encode()
    except UnicodeEncodeError:
        raise ValueRangeError(f"expected a frame_id of valid text, got {frame_id!r}") from None
    if wire is Wire.ROS1:
        return struct.pack("<I", len(name)) + name
    if 0 in name:
        raise ValueRangeError(f"expected a frame_id without NUL, got {frame_id!r}")
    padding = -(12 + len(name) + 1) % 8
    return struct.pack("<I", len(name) + 1) + name + bytes(1 + padding)


def check_stamps(least: int, greatest: int, wire: Wire) -> None:
    """Refuse stamps beyond the seconds of the header: int32 in ROS 2, uint32 in ROS 1."""
    limit = 2**31 if wire is Wire.CDR else 2**32
    check_range("stamp_ns", least, greatest, limit * NS_PER_S)


def check_range(name: str, least: int, greatest: int, limit: int) -> None:
    if least < 0 or greatest >= limit:
        offending = least if least < 0 else greatest
        raise ValueRangeError(f"expected {name} from 0 to {limit - 1}, got {offending}")


def bad_time(seconds: int, nanoseconds: int) -> FormatError:
    return FormatError(
        f"expected seconds from 0 and nanoseconds below 1000000000, got {seconds} s "
        f"{nanoseconds} ns; read leniently to normalise",
        offset=4 if seconds < 0 else 8,
    )
