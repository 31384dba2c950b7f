"""MCAP records in memory: framing, fields, chunks.

A record is ``u8 opcode, u64 length, content``; a text is ``u32 length, UTF-8``. Every length is
compared with the bytes available before it is used.

References
----------
MCAP Format Specification, https://mcap.dev/spec
"""

from __future__ import annotations

import re
import struct
import zlib
from enum import IntEnum
from threading import local
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from strapdown.errors import ChecksumError, FormatError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CHUNK_HEAD",
    "CHUNK_START",
    "CHUNK_START_SIZE",
    "MAGIC",
    "MAX_CHUNK",
    "RECORD",
    "Channel",
    "Fields",
    "Opcode",
    "Schema",
    "chunk_length",
    "name_of",
    "runs",
    "split",
    "unpack_chunk",
]

MAGIC: Final = b"\x89MCAP0\r\n"
RECORD: Final = struct.Struct("<BQ")
MAX_CHUNK: Final = 256 * 2**20
"""Largest chunk that is decompressed, and largest record that is read at once [bytes]."""
MAX_RATIO: Final = 1000
"""Largest ratio of decompressed to compressed size."""

CHUNK_HEAD: Final = struct.Struct("<QQQI")
"""Start and end time of a chunk, its unpacked size and its checksum."""
CHUNK_START: Final = re.compile(
    rb"\x06(?=.{36}(?:\x04\0\0\0zstd|\x03\0\0\0lz4|\0\0\0\0))", re.DOTALL
)
"""Pattern by which a search after damage finds a chunk record."""
CHUNK_START_SIZE: Final = RECORD.size + 28 + 4 + 32 + 8
"""Bytes that :func:`chunk_length` uses; the name of a compression has at most 32."""
_OF_THREAD: Final[Any] = local()
"""The decompressor of each thread; to make one takes ten times as long as a small chunk."""


class Opcode(IntEnum):
    """Kinds of records; unknown ones are skipped."""

    HEADER = 0x01
    FOOTER = 0x02
    SCHEMA = 0x03
    CHANNEL = 0x04
    MESSAGE = 0x05
    CHUNK = 0x06
    MESSAGE_INDEX = 0x07
    CHUNK_INDEX = 0x08
    ATTACHMENT = 0x09
    ATTACHMENT_INDEX = 0x0A
    STATISTICS = 0x0B
    METADATA = 0x0C
    METADATA_INDEX = 0x0D
    SUMMARY_OFFSET = 0x0E
    DATA_END = 0x0F


class Schema(NamedTuple):
    """A message type."""

    name: str
    encoding: str


class Channel(NamedTuple):
    """A topic with one type and one encoding of messages."""

    topic: str
    encoding: str
    schema_id: int


class Fields:
    """The fields of one record, read one after the other."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    @property
    def content(self) -> bytes:
        """All fields as bytes."""
        return self._content

    def take(self, size: int) -> bytes:
        """Return the next bytes; raise :class:`FormatError` where fewer remain."""
        stop = self._at + size
        if stop > len(self._content):
            raise FormatError(
                f"expected a field of {size} bytes, got {len(self._content) - self._at}"
            )
        field = self._content[self._at : stop]
        self._at = stop
        return field

    def number(self, size: int) -> int:
        """Return the next unsigned integer."""
        return int.from_bytes(self.take(size), "little")

    def text(self) -> str:
        """Return the next text."""
        raw = self.take(self.number(4))
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise FormatError(f"expected text in UTF-8, got {raw[:40]!r}") from None

    def entries(self) -> dict[str, str]:
        """Return the next mapping of texts."""
        inner = Fields(self.take(self.number(4)))
        found = {}
        while inner._at < len(inner._content):
            key = inner.text()
            found[key] = inner.text()
        return found


def name_of(opcode: int) -> str:
    """Return the name of a kind of record, for error messages."""
    try:
        return Opcode(opcode).name.lower().replace("_", " ")
    except ValueError:
        return f"opcode {opcode:#04x}"


def split(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Split a chunk into its records.

    Yields
    ------
    opcode : int
        Kind of the record.
    start, stop : int
        Range of its content.
    """
    for opcode, start, stride, count in runs(data):
        stop = start + stride - RECORD.size
        for at in range(0, count * stride, stride):
            yield opcode, start + at, stop + at


def runs(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Split a chunk into runs of records of one kind and one length.

    Yields
    ------
    opcode : int
        Kind of the records.
    start : int
        Where the content of the first begins.
    stride : int
        From one to the next [bytes].
    count : int
        Number of records; the next run may have the same kind and length.
    """
    at, size = 0, len(data)
    while at < size:
        start = at + RECORD.size
        if start > size:
            raise FormatError(f"expected a record, got the last {size - at} bytes of a chunk")
        opcode, length = RECORD.unpack_from(data, at)
        if opcode == 0:
            raise FormatError("expected a record, got zeros in a chunk")
        stride = RECORD.size + length
        if at + stride > size:
            raise FormatError(
                f"expected a {name_of(opcode)} record within its chunk, got one that is "
                f"{at + stride - size} bytes too long"
            )
        has_next = data.startswith(data[at:start], at + stride)
        count = _repeats(data, at, stride) if has_next else 1
        yield opcode, start, stride, count
        at += count * stride


def _repeats(data: bytes, at: int, stride: int) -> int:
    """Count the complete records from ``at`` on that begin with the same bytes as the first."""
    most = (len(data) - at) // stride
    heads = np.ndarray((most, RECORD.size), np.uint8, data, at, (stride, 1))
    count, ahead = 1, 64
    while count < most:
        differ = (heads[count : count + ahead] != heads[0]).any(axis=1)
        equal: int = differ.tobytes().find(1)
        if equal >= 0:
            return count + equal
        count += len(differ)
        ahead *= 4  # never much more than the run, so that many short ones stay cheap
    return count


def chunk_length(head: bytes) -> int | None:
    """Return the content length of the chunk record that starts with ``head``.

    None where the two lengths in a chunk contradict each other.
    """
    if len(head) < RECORD.size + 28 + 4:
        return None
    _, length = RECORD.unpack_from(head)
    named = int.from_bytes(head[RECORD.size + 28 : RECORD.size + 32], "little")
    at = RECORD.size + 32 + named
    packed = int.from_bytes(head[at : at + 8], "little")
    whole: bool = len(head) >= at + 8 and length == 40 + named + packed
    return length if whole else None


def unpack_chunk(content: bytes) -> bytes:
    """Decompress a chunk, verify its checksum, and return its records.

    Raises
    ------
    ChecksumError
        The checksum does not match, or the compressed data are damaged.
    UnsupportedError
        The compression is unknown, or the size exceeds 256 MiB or 1000 times the compressed size;
        this is checked before memory is allocated.
    """
    fields = Fields(content)
    _, _, size, crc = CHUNK_HEAD.unpack(fields.take(CHUNK_HEAD.size))
    packing = fields.text()
    packed = fields.take(fields.number(8))
    if size > min(MAX_CHUNK, MAX_RATIO * len(packed)):
        raise UnsupportedError(
            f"expected a chunk of at most {MAX_CHUNK} bytes and {MAX_RATIO} times its packed "
            f"size, got {len(packed)} bytes that claim to decompress to {size}"
        )
    data = _unpack(packed, packing, size)
    if len(data) != size:
        raise ChecksumError(f"expected a chunk that unpacks to {size} bytes, got {len(data)}")
    if crc not in {0, actual := zlib.crc32(data)}:
        raise ChecksumError(f"expected a chunk with checksum {crc:08x}, got {actual:08x}")
    return data


def _unpack(packed: bytes, packing: str, size: int) -> bytes:
    if packing == "":
        return packed
    if packing == "zstd":
        return _unpack_zstd(packed, size)
    if packing == "lz4":
        return _unpack_lz4(packed, size)
    raise UnsupportedError(f"expected a chunk packed by zstd, lz4 or not at all, got {packing!r}")


def _unpack_zstd(packed: bytes, size: int) -> bytes:
    import zstandard  # noqa: PLC0415 (only packed files need it)

    if not hasattr(_OF_THREAD, "zstd"):
        _OF_THREAD.zstd = zstandard.ZstdDecompressor()
    try:
        claimed = zstandard.frame_content_size(packed)  # the library allocates this size
        if claimed not in {-1, size}:
            raise ChecksumError(f"expected a zstd frame of {size} bytes, got one of {claimed}")
        data: bytes = _OF_THREAD.zstd.decompress(packed, max_output_size=size)
    except zstandard.ZstdError as error:
        raise ChecksumError(f"expected a chunk in zstd, got damage ({error})") from error
    return data


def _unpack_lz4(packed: bytes, size: int) -> bytes:
    from lz4.frame import LZ4FrameDecompressor  # noqa: PLC0415 (only packed files need it)

    try:
        data: bytes = LZ4FrameDecompressor().decompress(packed, max_length=size)
    except RuntimeError as error:
        raise ChecksumError(f"expected a chunk in lz4, got damage ({error})") from error
    return data
