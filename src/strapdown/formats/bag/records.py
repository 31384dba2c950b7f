"""ROS 1 bags as records: framing, fields, chunks.

A record is ``u32 length, header, u32 length, data``; a header is a sequence of fields
``u32 length, name=value``, and its field ``op`` gives the kind of the record. Every length is
compared with the bytes available before it is used.

References
----------
ROS bag format 2.0, http://wiki.ros.org/Bags/Format/2.0
"""

from __future__ import annotations

import bz2
import re
from enum import IntEnum
from typing import BinaryIO, Final, NamedTuple

from strapdown.errors import ChecksumError, FormatError, TruncatedError, UnsupportedError

__all__ = [
    "CHUNK_START",
    "CHUNK_START_SIZE",
    "MAGIC",
    "PACKINGS",
    "Connection",
    "Op",
    "Record",
    "content",
    "fields_of",
    "read_record",
    "text",
    "unpack",
]

MAGIC: Final = b"#ROSBAG V2.0\n"
PACKINGS: Final = frozenset({"none", "bz2", "lz4"})
CHUNK_START: Final = re.compile(rb"[()]\0\0\0(?=.{0,33}\x04\0\0\0op=\x05)", re.DOTALL)
"""Pattern by which a search after damage finds a chunk record: a header of 40 or 41 bytes."""
CHUNK_START_SIZE: Final = 4 + 33 + 8
_LARGEST_HEADER: Final = 2**16
_PIECE: Final = 2**20
"""Bytes that are decompressed at once."""


class Op(IntEnum):
    """Kinds of records."""

    MESSAGE = 2
    BAG_HEADER = 3
    INDEX = 4
    CHUNK = 5
    CHUNK_INFO = 6
    CONNECTION = 7


class Connection(NamedTuple):
    """A topic with one type of messages."""

    topic: str
    kind: str


class Record(NamedTuple):
    """A record with an intact header; its data are the bytes from start to stop."""

    op: Op
    fields: dict[bytes, bytes]
    start: int
    stop: int

    def number(self, name: str, size: int) -> int:
        """Return a field as an unsigned integer."""
        value = self.fields.get(name.encode(), b"")
        if len(value) != size:
            raise FormatError(f"expected a field {name} of {size} bytes, got {len(value)}")
        return int.from_bytes(value, "little")


def read_record(stream: BinaryIO, at: int, stop: int) -> Record:
    """Read the header of the record at an offset; data of a chunk may extend beyond ``stop``.

    Raises
    ------
    TruncatedError
        The record does not end before ``stop``.
    FormatError
        This is no record.
    """
    stream.seek(at)
    size = int.from_bytes(stream.read(4), "little")
    start = at + 4 + size + 4
    if size > _LARGEST_HEADER and at + 4 <= stop:
        raise FormatError(f"expected a record, got {size} bytes of header")
    if start > stop:
        raise TruncatedError(f"expected a record, got the last {stop - at} bytes")
    fields = fields_of(stream.read(size))
    op = fields.get(b"op", b"")
    if len(op) != 1 or op[0] not in list(Op):
        raise FormatError(f"expected a record of a known kind, got {op[:8]!r}")
    record = Record(Op(op[0]), fields, start, start + int.from_bytes(stream.read(4), "little"))
    if record.stop > stop and record.op is not Op.CHUNK:
        name = record.op.name.lower().replace("_", " ")
        raise TruncatedError(
            f"{name} record ends after {stop - start} of {record.stop - start} bytes"
        )
    return record


def content(stream: BinaryIO, record: Record, *, most: int) -> bytes:
    """Return the data of a record of at most ``most`` bytes."""
    size = record.stop - record.start
    if size > most:
        raise UnsupportedError(f"expected at most {most} bytes in a record, got {size}")
    stream.seek(record.start)
    return stream.read(size)


def fields_of(header: bytes) -> dict[bytes, bytes]:
    """Return the fields of a header by name."""
    fields, at = {}, 0
    while at < len(header):
        start = at + 4
        at = start + int.from_bytes(header[at:start], "little")
        name, equals, value = header[start:at].partition(b"=")
        if at > len(header) or not (name and equals):
            raise FormatError(f"expected a field name=value, got {header[start:at][:40]!r}")
        fields[name] = value
    return fields


def text(fields: dict[bytes, bytes], name: str) -> str:
    """Return a field as non-empty text."""
    raw = fields.get(name.encode(), b"")
    try:
        decoded = raw.decode()
    except UnicodeDecodeError:
        decoded = ""
    if not decoded:
        raise FormatError(f"expected a field {name} of text in UTF-8, got {raw[:40]!r}")
    return decoded


def unpack(packed: bytes, packing: str, *, most: int) -> tuple[bytes, bytes | None]:
    """Decompress bz2 or lz4, up to ``most`` bytes; memory is allocated as it is filled.

    Returns
    -------
    data : bytes
        The decompressed bytes.
    behind : bytes or None
        Bytes after the compressed data; None if its end was not reached.

    Raises
    ------
    ChecksumError
        The compressed data are damaged.
    """
    from lz4.frame import LZ4FrameDecompressor  # noqa: PLC0415 (only packed files need it)

    unpacker = bz2.BZ2Decompressor() if packing == "bz2" else LZ4FrameDecompressor()
    pieces: list[bytes] = []
    left = most
    try:
        while left and not unpacker.eof and (not pieces or not unpacker.needs_input):
            pieces.append(unpacker.decompress(b"" if pieces else packed, min(left, _PIECE)))
            left -= len(pieces[-1])
    except (OSError, RuntimeError) as error:
        raise ChecksumError(f"expected a chunk in {packing}, got damage ({error})") from error
    return b"".join(pieces), (unpacker.unused_data or b"") if unpacker.eof else None
