"""MCAP files from arrays of messages: a chunk at a time, packed and written in a second thread.

The records beside messages are written by the library ``mcap``, which takes messages only one
by one; here an array of equally long messages is one piece of a chunk. Chunks hold the
definitions of the channels that are new in them, are packed by zstd, and carry an index by
channel. Chunks, data section and summary have checksums.

References
----------
MCAP Format Specification, https://mcap.dev/spec
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import zstandard
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)

from strapdown.formats._mcap_records import MAGIC

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Executor, Future
    from typing import BinaryIO

    from mcap.records import McapRecord
    from numpy.typing import NDArray

    from strapdown._typing import ByteArray, IntArray

__all__ = ["McapFile", "Rows"]

_CHUNK: Final = 256 * 2**10
"""A chunk ends with the message that makes it longer than this."""
_AHEAD: Final = 4
"""Chunks that may wait for the second thread."""
_COMPRESSION: Final = "zstd"
_EFFORT: Final = zstandard.ZstdCompressionParameters(
    strategy=zstandard.STRATEGY_FAST,
    window_log=18,
    chain_log=6,
    hash_log=12,
    search_log=1,
    min_match=7,
    target_length=0,
)
"""For rows of float64 as small as the default of the library, in little more than half the time."""
_HEAD: Final = [
    ("opcode", "u1"),
    ("length", "<u8"),
    ("channel", "<u2"),
    ("sequence", "<u4"),
    ("log_time", "<u8"),
    ("publish_time", "<u8"),
]
_MESSAGE: Final = struct.Struct("<BQHIQQ")
"""The same, of one message."""
_BEFORE_CONTENT: Final = 9
"""Opcode and length are no part of the length."""
_PLACE: Final = np.dtype("<u8")
_INDEX_HEAD: Final = struct.Struct("<BQHI")
_FOOTER: Final = struct.Struct("<BQQQ")


class Rows(NamedTuple):
    """Messages of one channel, all of one length."""

    channel: int
    """Number of the channel."""
    t_ns: IntArray
    """Log time and publish time, (N,) int64 [ns]."""
    payloads: ByteArray
    """One message a row, (N, size) uint8."""


@dataclass
class _Chunk:
    """What the next chunk will hold."""

    pieces: list[bytes | memoryview] = field(default_factory=list)
    size: int = 0
    places: dict[int, list[NDArray[np.uint64]]] = field(default_factory=dict)
    """Log times and offsets by channel, as an index holds them."""

    def append(self, piece: bytes | memoryview) -> None:
        self.pieces.append(piece)
        self.size += len(piece)


class McapFile:
    """Writes one file; the stream and the thread belong to the caller.

    Parameters
    ----------
    stream : BinaryIO
        Where to write.
    worker : Executor
        One thread, which packs and writes chunks.
    profile, library : str
        For the header.
    """

    def __init__(self, stream: BinaryIO, worker: Executor, *, profile: str, library: str) -> None:
        self._stream = stream
        self._worker = worker
        self._at = self._crc = 0
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        self._metadata: list[MetadataIndex] = []
        self._chunks: list[ChunkIndex] = []
        self._counts: Counter[int] = Counter()
        self._chunk = _Chunk()
        self._waiting: deque[Future[None]] = deque()
        self._emit(MAGIC + _bytes(Header(profile, library)))

    def add_schema(self, name: str, encoding: str, data: bytes) -> int:
        """Define a type and return its number."""
        schema = Schema(id=len(self._schemas) + 1, data=data, encoding=encoding, name=name)
        self._schemas.append(schema)
        self._chunk.append(_bytes(schema))
        return schema.id

    def add_channel(self, topic: str, encoding: str, schema: int, metadata: dict[str, str]) -> int:
        """Define a channel and return its number."""
        channel = Channel(
            id=len(self._channels) + 1,
            topic=topic,
            message_encoding=encoding,
            metadata=metadata,
            schema_id=schema,
        )
        self._channels.append(channel)
        self._chunk.append(_bytes(channel))
        return channel.id

    def add_metadata(self, name: str, entries: Mapping[str, str]) -> None:
        """Write a metadata record, behind the chunks that are complete."""
        self._drain(0)
        record = _bytes(Metadata(name, dict(entries)))
        self._metadata.append(MetadataIndex(offset=self._at, length=len(record), name=name))
        self._emit(record)

    def add_message(self, channel: int, log_ns: int, publish_ns: int, payload: bytes) -> None:
        """Add one message."""
        length = _MESSAGE.size - _BEFORE_CONTENT + len(payload)
        place = np.array([[log_ns, self._chunk.size]], _PLACE)
        self._chunk.places.setdefault(channel, []).append(place)
        head = _MESSAGE.pack(Opcode.MESSAGE, length, channel, 0, log_ns, publish_ns)
        self._chunk.append(head + payload)
        self._close_full()

    def add(self, parts: Sequence[Rows], turns: IntArray) -> None:
        """Add many messages.

        Parameters
        ----------
        parts : sequence of Rows
            Messages of one or several channels.
        turns : (M,) int64
            Which part gives each of the M messages; each gives its rows in their order.
        """
        starts, content = _in_order([_framed(part) for part in parts], turns)
        places = np.empty((len(turns), 2), _PLACE)
        for number, part in enumerate(parts):
            places[turns == number, 0] = part.t_ns
        ends = starts[1:]
        row = begin = 0
        while row < len(turns):
            shift = self._chunk.size - begin
            last = min(int(np.searchsorted(ends, _CHUNK - shift, side="right")), len(turns) - 1)
            here = slice(row, last + 1)
            places[here, 1] = starts[here] + shift
            for number, part in enumerate(parts):
                own = places[here] if len(parts) == 1 else places[here][turns[here] == number]
                if len(own):
                    self._chunk.places.setdefault(part.channel, []).append(own)
            row, end = last + 1, int(ends[last])
            self._chunk.append(content[begin:end])
            begin = end
            self._close_full()

    def finish(self) -> None:
        """Write what waits, the summary and the end."""
        self._close_chunk()
        self._drain(0)
        self._emit(_bytes(DataEnd(self._crc)))
        start, summary, offsets = self._at, b"", b""
        for opcode, records in self._summary().items():
            group = b"".join(map(_bytes, records))
            if group:
                offsets += _bytes(SummaryOffset(opcode, start + len(summary), len(group)))
                summary += group
        places = start, start + len(summary)
        summary += offsets
        crc = zlib.crc32(_FOOTER.pack(Opcode.FOOTER, 20, *places), zlib.crc32(summary))
        self._emit(summary + _bytes(Footer(*places, crc)) + MAGIC)

    def _summary(self) -> dict[Opcode, Sequence[McapRecord]]:
        starts = [chunk.message_start_time for chunk in self._chunks]
        ends = [chunk.message_end_time for chunk in self._chunks]
        statistics = Statistics(
            attachment_count=0,
            channel_count=len(self._channels),
            channel_message_counts=dict(self._counts),
            chunk_count=len(self._chunks),
            message_count=self._counts.total(),
            message_start_time=min(starts, default=0),
            message_end_time=max(ends, default=0),
            metadata_count=len(self._metadata),
            schema_count=len(self._schemas),
        )
        return {
            Opcode.SCHEMA: self._schemas,
            Opcode.CHANNEL: self._channels,
            Opcode.STATISTICS: [statistics],
            Opcode.CHUNK_INDEX: self._chunks,
            Opcode.METADATA_INDEX: self._metadata,
        }

    def _close_full(self) -> None:
        if self._chunk.size > _CHUNK:
            self._close_chunk()

    def _close_chunk(self) -> None:
        """Have the chunk written; definitions without messages are left to the summary."""
        if self._chunk.places:
            self._waiting.append(self._worker.submit(self._write_chunk, self._chunk))
            self._chunk = _Chunk()
            self._drain(_AHEAD)

    def _drain(self, left: int) -> None:
        """Wait until so many chunks are left to write."""
        while len(self._waiting) > left:
            self._waiting.popleft().result()

    def _write_chunk(self, chunk: _Chunk) -> None:
        """Pack a chunk, and write it and its index: the work of the second thread."""
        pieces = chunk.pieces
        content = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        packed = zstandard.ZstdCompressor(compression_params=_EFFORT).compress(content)
        places = {channel: np.concatenate(own) for channel, own in chunk.places.items()}
        record = Chunk(
            compression=_COMPRESSION,
            data=packed,
            message_start_time=min(int(own[:, 0].min()) for own in places.values()),
            message_end_time=max(int(own[:, 0].max()) for own in places.values()),
            uncompressed_crc=zlib.crc32(content),
            uncompressed_size=chunk.size,
        )
        start = self._at
        self._emit(_bytes(record))
        behind, indexes = self._at, {}
        for channel, own in places.items():
            indexes[channel] = self._at
            self._counts[channel] += len(own)
            head = _INDEX_HEAD.pack(Opcode.MESSAGE_INDEX, 6 + own.nbytes, channel, own.nbytes)
            self._emit(head + own.tobytes())
        self._chunks.append(
            ChunkIndex(
                chunk_length=behind - start,
                chunk_start_offset=start,
                compression=_COMPRESSION,
                compressed_size=len(packed),
                message_end_time=record.message_end_time,
                message_index_length=self._at - behind,
                message_index_offsets=indexes,
                message_start_time=record.message_start_time,
                uncompressed_size=chunk.size,
            )
        )

    def _emit(self, data: bytes) -> None:
        self._stream.write(data)
        self._at += len(data)
        self._crc = zlib.crc32(data, self._crc)


def _bytes(record: McapRecord) -> bytes:
    """Return a record as the library writes it."""
    builder = RecordBuilder()
    record.write(builder)
    return bytes(builder.end())  # type: ignore[no-untyped-call]


def _framed(part: Rows) -> NDArray[np.void]:
    """Return whole message records."""
    rows, size = part.payloads.shape
    records = np.zeros(rows, [*_HEAD, ("payload", "u1", (size,))])
    records["opcode"] = Opcode.MESSAGE
    records["length"] = records.itemsize - _BEFORE_CONTENT
    records["channel"] = part.channel
    records["log_time"] = records["publish_time"] = part.t_ns
    records["payload"] = part.payloads
    return records


def _in_order(parts: Sequence[NDArray[np.void]], turns: IntArray) -> tuple[IntArray, memoryview]:
    """Return where each record begins and the last ends, and all of them as bytes."""
    sizes = np.array([part.itemsize for part in parts])
    starts = np.zeros(len(turns) + 1, np.int64)
    np.cumsum(sizes[turns], out=starts[1:])
    if len(parts) == 1:
        return starts, memoryview(parts[0].view(np.uint8))  # type: ignore[arg-type]
    content = np.empty(starts[-1], np.uint8)
    for number, part in enumerate(parts):
        size = part.itemsize
        # every place where a record of this size could begin, as one item of an array
        places = np.ndarray((len(content) - size + 1,), f"V{size}", content, strides=(1,))
        places[starts[:-1][turns == number]] = part.view(f"V{size}")
    return starts, memoryview(content)  # type: ignore[arg-type]
