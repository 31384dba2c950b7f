"""MCAP files from arrays of messages, compressed and written by a second thread.

The library ``mcap`` encodes all records except messages, which it takes only one by one; here an
array of equally long messages is one piece of a chunk. A chunk contains the definitions of the
channels that are new in it, is compressed by zstd, and has an index by channel. Chunks, data
section and summary have checksums.

References
----------
MCAP Format Specification, https://mcap.dev/spec
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter, deque
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from itertools import starmap
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np
import zstandard
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    AttachmentIndex,
    Channel,
    Chunk,
    DataEnd,
    Footer,
    Header,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)

from strapdown.formats.mcap.records import MAGIC, RECORD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import BinaryIO

    from mcap.records import McapRecord
    from numpy.typing import NDArray

    from strapdown._typing import IntArray
    from strapdown.messages._payloads import Payloads

T = TypeVar("T")

__all__ = ["PLACE", "Here", "McapFile", "Rows"]

_CHUNK: Final = 256 * 2**10
"""A chunk ends with the message that makes it longer than this [bytes]."""
_AHEAD: Final = 128
"""Chunks that may wait for the second thread."""
_COMPRESSION: Final = "zstd"
_EFFORT: Final = zstandard.ZstdCompressionParameters(
    strategy=zstandard.STRATEGY_FAST,
    window_log=18,
    chain_log=6,
    hash_log=12,
    search_log=1,
    min_match=7,
    target_length=2,
)
"""Rows of float64 are 5 % larger than with the default of the library, in 0.4 of its time."""
_HEAD: Final = np.dtype(
    [
        ("opcode", "u1"),
        ("length", "<u8"),
        ("channel", "<u2"),
        ("sequence", "<u4"),
        ("log_and_publish_time", "<u8", (2,)),
    ]
)
"""Head of a message record, before the payload."""
_MESSAGE: Final = struct.Struct("<BQHIQQ")
"""The same, for a single message."""
_BEFORE_CONTENT: Final = 9
"""Size of opcode and length, which the length excludes [bytes]."""
PLACE: Final = np.dtype([("channel", "<u2"), ("entry", "<u8", (2,))])
"""A message in a chunk: channel, and the index entry of log time and offset."""
_INDEX_HEAD: Final = struct.Struct("<BQHI")
_INDEX_START: Final = struct.Struct("<4QI")
_INDEX_OFFSET: Final = struct.Struct("<HQ")
_INDEX_MIDDLE: Final = struct.Struct("<QI")
_INDEX_END: Final = struct.Struct("<2Q")
_FOOTER: Final = struct.Struct("<BQQQ")
_ENDING: Final = 512
"""More than the end of the data, statistics, offsets, footer and the index of one chunk [bytes]."""
_ENDING_OF_CHANNEL: Final = 20
"""Size of a channel in statistics and in the index of a chunk [bytes]."""


class Rows(NamedTuple):
    """Messages of one channel, all of one length."""

    channel: int
    """Number of the channel."""
    t_ns: IntArray
    """Log time and publish time, (N,) int64 [ns]."""
    payloads: Payloads


@dataclass
class _Chunk:
    """Content of the next chunk."""

    pieces: list[bytes | memoryview] = field(default_factory=list)
    size: int = 0
    places: list[NDArray[np.void]] = field(default_factory=list)
    """Messages added as arrays, of dtype ``PLACE``."""
    singles: list[tuple[int, tuple[int, int]]] = field(default_factory=list)
    """Messages added one by one."""

    @property
    def has_messages(self) -> bool:
        return bool(self.places or self.singles)

    def append(self, piece: bytes | memoryview) -> None:
        self.pieces.append(piece)
        self.size += len(piece)


class McapFile:
    """Writer of one file; the caller owns the stream and the thread.

    Parameters
    ----------
    stream : BinaryIO
        Target of the bytes.
    worker : Executor
        One thread, which compresses and writes chunks.
    profile, library : str
        For the header.
    """

    def __init__(self, stream: BinaryIO, worker: Executor, *, profile: str, library: str) -> None:
        self._stream = stream
        self._worker = worker
        self._packer = zstandard.ZstdCompressor(compression_params=_EFFORT)
        self._at = self._crc = 0
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        self._metadata: list[MetadataIndex] = []
        self._attachments: list[AttachmentIndex] = []
        self._chunks = bytearray()  # index records: the library takes eight times as long
        self._chunk_count = 0
        self._times: tuple[int, int] | None = None  # least and largest
        self._summary_size = 0  # of all but what _ENDING includes
        self._counts: Counter[int] = Counter()
        self._chunk = _Chunk()
        self._waiting: deque[Future[None]] = deque()
        self._emit(MAGIC + _bytes(Header(profile, library)))

    def add_schema(self, name: str, encoding: str, data: bytes) -> int:
        """Define a type and return its number."""
        schema = Schema(id=len(self._schemas) + 1, data=data, encoding=encoding, name=name)
        self.define(schema)
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
        self.define(channel)
        return channel.id

    def define(self, what: Schema | Channel) -> None:
        """Add a definition under its existing number."""
        if isinstance(what, Schema):
            self._schemas.append(what)
        else:
            self._channels.append(what)
        self._chunk.append(record := _bytes(what))
        self._summary_size += len(record)

    def add_metadata(self, name: str, entries: Mapping[str, str]) -> None:
        """Write a metadata record after the completed chunks."""
        self._drain(0)
        record = _bytes(Metadata(name, dict(entries)))
        self._metadata.append(MetadataIndex(offset=self._at, length=len(record), name=name))
        self._summary_size += len(_bytes(self._metadata[-1]))
        self._emit(record)

    def add_attachment(self, record: bytes, index: AttachmentIndex) -> None:
        """Write an attachment record; set its offset in the index."""
        self.flush()
        index.offset, index.length = self._at, len(record)
        self._attachments.append(index)
        self._summary_size += len(_bytes(index))
        self._emit(record)

    def add_chunk(self, record: bytes, places: NDArray[np.void], like: Chunk) -> None:
        """Write a chunk record of another file, with messages at ``places``, and its index.

        Parameters
        ----------
        record : bytes
            The whole record.
        places : (N,) array of PLACE
            Of its messages.
        like : Chunk
            The fields of the record; of ``data`` only the size is used.
        """
        self.flush()
        self._place_chunk(record, places, like)

    def add_message(self, channel: int, log_ns: int, publish_ns: int, payload: bytes) -> None:
        """Add one message."""
        length = _MESSAGE.size - _BEFORE_CONTENT + len(payload)
        head = _MESSAGE.pack(Opcode.MESSAGE, length, channel, 0, log_ns, publish_ns)
        self.add_record(channel, log_ns, head + payload)

    def add_record(self, channel: int, log_ns: int, record: bytes) -> None:
        """Add one message as a complete record."""
        self._chunk.singles.append((channel, (log_ns, self._chunk.size)))
        self._chunk.append(record)
        self._close_full()

    def add(self, parts: Sequence[Rows], turns: IntArray) -> None:
        """Add many messages.

        Parameters
        ----------
        parts : sequence of Rows
            Messages of one or several channels.
        turns : (M,) int64
            For each of the M messages, the part whose next row it is.
        """
        rows_of = [np.flatnonzero(turns == number) for number in range(len(parts))]
        starts, content = _in_order([_framed(part) for part in parts], rows_of)
        places = np.empty(len(turns), PLACE)
        for part, rows in zip(parts, rows_of, strict=True):
            places["channel"][rows] = part.channel
            places["entry"][rows, 0] = part.t_ns
        ends = starts[1:]
        row = begin = 0
        while row < len(turns):
            shift = self._chunk.size - begin
            last = min(int(np.searchsorted(ends, _CHUNK - shift, side="right")), len(turns) - 1)
            here = slice(row, last + 1)
            places["entry"][here, 1] = starts[here] + shift
            self._chunk.places.append(places[here])
            row, end = last + 1, int(ends[last])
            self._chunk.append(content[begin:end])
            begin = end
            self._close_full()

    @property
    def size(self) -> int:
        """Bytes written to the stream, always complete records."""
        return self._at

    @property
    def ending(self) -> int:
        """Most bytes that :meth:`finish` will write once the next chunk is written."""
        return self._summary_size + _ENDING + _ENDING_OF_CHANNEL * len(self._channels)

    @property
    def messages(self) -> int:
        """Number of messages written to the stream."""
        return self._counts.total()

    def flush(self) -> None:
        """Write pending messages as a chunk; pending definitions without messages as records."""
        if self._chunk.has_messages:
            self._close_chunk()
        elif self._chunk.pieces:
            pieces, self._chunk = self._chunk.pieces, _Chunk()
            self._emit(b"".join(pieces))
        self._drain(0)

    def abandon(self) -> None:
        """Discard pending data, such as a chunk that could not be written."""
        self._chunk = _Chunk()

    def finish(self) -> None:
        """Write pending data, the summary and the end of the file."""
        self._close_chunk()
        self._drain(0)
        self._emit(_bytes(DataEnd(self._crc)))
        start, summary, offsets = self._at, b"", b""
        for opcode, group in self._summary().items():
            if group:
                offsets += _bytes(SummaryOffset(opcode, start + len(summary), len(group)))
                summary += group
        places = start, start + len(summary)
        summary += offsets
        crc = zlib.crc32(_FOOTER.pack(Opcode.FOOTER, 20, *places), zlib.crc32(summary))
        self._emit(summary + _bytes(Footer(*places, crc)) + MAGIC)

    def _summary(self) -> dict[Opcode, bytes]:
        statistics = Statistics(
            attachment_count=len(self._attachments),
            channel_count=len(self._channels),
            channel_message_counts=dict(self._counts),
            chunk_count=self._chunk_count,
            message_count=self._counts.total(),
            message_start_time=self._times[0] if self._times else 0,
            message_end_time=self._times[1] if self._times else 0,
            metadata_count=len(self._metadata),
            schema_count=len(self._schemas),
        )
        return {
            Opcode.SCHEMA: _bytes(*self._schemas),
            Opcode.CHANNEL: _bytes(*self._channels),
            Opcode.STATISTICS: _bytes(statistics),
            Opcode.CHUNK_INDEX: bytes(self._chunks),
            Opcode.ATTACHMENT_INDEX: _bytes(*self._attachments),
            Opcode.METADATA_INDEX: _bytes(*self._metadata),
        }

    def _close_full(self) -> None:
        if self._chunk.size > _CHUNK:
            self._close_chunk()

    def _close_chunk(self) -> None:
        """Queue the chunk for writing; definitions without messages appear in the summary only."""
        if self._chunk.has_messages:
            self._waiting.append(self._worker.submit(self._write_chunk, self._chunk))
            self._chunk = _Chunk()
            self._drain(_AHEAD)

    def _drain(self, left: int) -> None:
        """Wait until at most ``left`` chunks are unwritten."""
        while len(self._waiting) > left:
            self._waiting.popleft().result()

    def _write_chunk(self, chunk: _Chunk) -> None:
        """Compress a chunk and write it with its index; runs in the second thread."""
        pieces = chunk.pieces
        content = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        packed = self._packer.compress(content)
        places = np.concatenate([*chunk.places, np.array(chunk.singles, PLACE)])
        record = Chunk(
            compression=_COMPRESSION,
            data=packed,
            message_start_time=int(places["entry"][:, 0].min()),
            message_end_time=int(places["entry"][:, 0].max()),
            uncompressed_crc=zlib.crc32(content),
            uncompressed_size=chunk.size,
        )
        self._place_chunk(_bytes(record), places, record)

    def _place_chunk(self, record: bytes, places: NDArray[np.void], like: Chunk) -> None:
        """Write a chunk record and its index, and store their offsets."""
        start, behind = self._at, self._at + len(record)
        pieces, indexes, end = [record], {}, behind
        counts = np.bincount(places["channel"])
        ends, entries = np.cumsum(counts), places["entry"]
        if counts[-1] < len(places):  # several channels
            entries = entries[np.argsort(places["channel"], kind="stable")]
        for channel in counts.nonzero()[0].tolist():
            own = entries[ends[channel] - counts[channel] : ends[channel]].tobytes()
            indexes[channel] = end
            head = _INDEX_HEAD.pack(Opcode.MESSAGE_INDEX, 6 + len(own), channel, len(own))
            pieces += [head, own]
            end += len(head) + len(own)
        # In one call, so that a full disk leaves complete records and correct counts.
        self._emit(b"".join(pieces))
        self._counts.update({channel: int(counts[channel]) for channel in indexes})
        first, last = int(places["entry"][:, 0].min()), int(places["entry"][:, 0].max())
        earliest, latest = self._times or (first, last)
        self._times = min(earliest, first), max(latest, last)
        offsets = b"".join(starmap(_INDEX_OFFSET.pack, indexes.items()))
        packing = like.compression.encode()
        content = (
            _INDEX_START.pack(first, last, start, behind - start, len(offsets))
            + offsets
            + _INDEX_MIDDLE.pack(self._at - behind, len(packing))
            + packing
            + _INDEX_END.pack(len(like.data), like.uncompressed_size)
        )
        self._chunks += RECORD.pack(Opcode.CHUNK_INDEX, len(content)) + content
        self._chunk_count += 1
        self._summary_size += RECORD.size + len(content)

    def _emit(self, data: bytes) -> None:
        self._stream.write(data)
        self._at += len(data)
        self._crc = zlib.crc32(data, self._crc)


class Here(Executor):
    """Executor that works in the calling thread, for a file with a dedicated thread."""

    def submit(self, work: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:  # noqa: ANN401 (signature of the library)
        """Call ``work`` immediately; its errors are raised here."""
        done: Future[T] = Future()
        done.set_result(work(*args, **kwargs))
        return done


def _bytes(*records: McapRecord) -> bytes:
    """Return the bytes of records, encoded by the library."""
    builder = RecordBuilder()
    for record in records:
        record.write(builder)
    return bytes(builder.end())  # type: ignore[no-untyped-call]


def _framed(part: Rows) -> Payloads:
    """Return complete message records."""
    length = _HEAD.itemsize - _BEFORE_CONTENT + part.payloads.bare.itemsize
    head = np.array((Opcode.MESSAGE, length, part.channel, 0, (0, 0)), _HEAD)
    times = np.repeat(part.t_ns, 2).reshape(-1, 2)
    return part.payloads.behind(head, {"log_and_publish_time": times})


def _in_order(
    parts: Sequence[Payloads], rows_of: Sequence[IntArray]
) -> tuple[IntArray, memoryview]:
    """Return the starts of the records and the end of the last, and all records as bytes."""
    starts = np.zeros(sum(map(len, rows_of)) + 1, np.int64)
    for part, rows in zip(parts, rows_of, strict=True):
        starts[rows + 1] = part.bare.itemsize
    np.cumsum(starts, out=starts)
    content = np.empty(starts[-1], np.uint8)
    for part, rows in zip(parts, rows_of, strict=True):
        part.scatter(content, starts[rows])
    return starts, memoryview(content)  # type: ignore[arg-type]
