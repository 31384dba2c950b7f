"""The 33 bytes that travel with each message over zenoh, as ROS 2 has them too.

==========  ==========================================
bytes       content, little-endian
==========  ==========================================
0           i64 number of the message
8           i64 wall clock of the sender [ns since 1970]
16          u8 16, the length of what follows
17          gid: 16 bytes that no other publisher has
==========  ==========================================

This is how zenoh's serialiser writes two integers and a sequence of 16 bytes.
"""

from __future__ import annotations

import struct
from typing import Final

from strapdown.errors import FormatError, UnsupportedError

__all__ = ["GID_SIZE", "SIZE", "pack", "parse"]

_LAYOUT: Final = struct.Struct("<qqB16s")
SIZE: Final = _LAYOUT.size
GID_SIZE: Final = 16


def pack(seq: int, sent_ns: int, gid: bytes) -> bytes:
    """Write an attachment."""
    return _LAYOUT.pack(seq, sent_ns, GID_SIZE, gid)


def parse(data: bytes) -> tuple[int, int, bytes]:
    """Read an attachment.

    Returns
    -------
    seq, sent_ns, gid : int, int, bytes

    Raises
    ------
    UnsupportedError
        It is of the form that ``rmw_zenoh`` had before its first release.
    FormatError
        It is none.
    """
    if len(data) != SIZE or data[16] != GID_SIZE:
        if b"sequence_number" in data:
            raise UnsupportedError(
                "an attachment with names in it, as rmw_zenoh wrote before its first release: "
                "update rmw_zenoh at the other end"
            )
        raise FormatError(
            f"expected an attachment of {SIZE} bytes: two numbers and a gid of {GID_SIZE} "
            f"bytes, got {len(data)} bytes"
        )
    seq, sent_ns, _, gid = _LAYOUT.unpack(data)
    if seq < 0:
        raise FormatError(f"expected an attachment with a number from 0, got {seq}")
    return seq, sent_ns, gid
