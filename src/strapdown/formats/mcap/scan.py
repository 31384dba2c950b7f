"""One forward pass over an MCAP file: messages, checksums and damage.

A file is ``magic, header, data section, data end, summary section, footer, magic``. Messages are
in the data section, usually inside chunks. Checksums (CRC-32, 0 = not available) cover each
chunk, the data section and the summary. A forward pass needs no index.

References
----------
MCAP Format Specification, https://mcap.dev/spec
"""

from __future__ import annotations

import os
import zlib
from collections import defaultdict
from typing import TYPE_CHECKING, BinaryIO, Final

from strapdown.errors import ChecksumError, FormatError, TruncatedError
from strapdown.formats._salvage import WINDOW, Places, search
from strapdown.formats.mcap.records import (
    CHUNK_START,
    CHUNK_START_SIZE,
    MAGIC,
    MAX_CHUNK,
    RECORD,
    Channel,
    Fields,
    Opcode,
    Schema,
    chunk_length,
    name_of,
    split,
    unpack_chunk,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = ["MESSAGE_HEAD", "McapScan", "summary_section"]

MESSAGE_HEAD: Final = 22
"""Size of channel, sequence, log time and publish time before the payload [bytes]."""
_TAIL: Final = RECORD.size + 20 + len(MAGIC)
"""Size of footer and magic [bytes]."""
_BUFFER: Final = 2**18
"""Bytes that are read at once, several small chunks."""
_PASSED_OVER: Final = {
    Opcode.CHUNK_INDEX,
    Opcode.ATTACHMENT,
    Opcode.ATTACHMENT_INDEX,
    Opcode.METADATA_INDEX,
    Opcode.SUMMARY_OFFSET,
}
"""Kinds of records that are skipped, like unknown ones."""


class McapScan:
    """One pass over a file; its attributes are complete when :meth:`batches` ends.

    Parameters
    ----------
    path : Path
        The file.
    salvage : bool
        Count damage and continue after it, instead of raising an error.
    wanted : callable
        Whether messages of a topic, type and encoding are returned, or only counted.

    Attributes
    ----------
    schemas, channels : dict
        By number.
    metadata : list of (str, dict)
        Names and entries of the metadata records, in order.
    passed_over : dict
        Messages that are not wanted, by channel number.
    messages, lost_messages, lost_bytes : int
        Intact messages, wanted or not; messages known to be lost; bytes outside readable records.
    damage : list of str
        Damage, one line each.
    position : int
        Bytes of the file that are read.
    times_ns : tuple of int, optional
        Log times of the first and the last message, where the summary was read first [ns].
    """

    batch_bytes = 16 * 2**20
    """Payload bytes after which messages are returned."""
    passed_over_kinds: Collection[int] = _PASSED_OVER

    def __init__(
        self, path: Path, *, salvage: bool, wanted: Callable[[str, str, str], bool]
    ) -> None:
        self.schemas: dict[int, Schema] = {}
        self.channels: dict[int, Channel] = {}
        self.metadata: list[tuple[str, dict[str, str]]] = []
        self.passed_over: dict[int, int] = {}
        self.messages = 0
        self.lost_messages = 0
        self.lost_bytes = 0
        self.position = 0
        self.times_ns: tuple[int, int] | None = None
        self._places = Places()
        self._path = path
        self._salvage = salvage
        self._wanted = wanted
        self._numbers: dict[Channel, int] = {}
        self._same: dict[int, int] = {}
        self._chosen: set[int] = set()
        self._ready: dict[int, list[bytes]] = {}
        self._ready_bytes = 0
        self._crc = 0
        self._data_ended: int | None = None
        self._chunked = False
        self._finished = False
        self._counted: int | None = None
        self._expected: int | None = None
        self._resume: int | None = None
        self._search_from = 0
        self._behind_lost_chunk = False

    def batches(self) -> Iterator[dict[int, list[bytes]]]:
        """Yield payloads by channel number, in the order of the file.

        Yields
        ------
        dict
            About 16 MiB at a time.

        Raises
        ------
        TruncatedError
            The file ends early. This and the following carry path and offset.
        ChecksumError
            A checksum does not match, or a chunk cannot be decompressed.
        UnsupportedError
            A chunk has an unsupported compression.
        FormatError
            The file violates the specification otherwise. In salvage, only where it does not begin
            like MCAP.
        """
        with self._path.open("rb", _BUFFER) as stream:
            self._stream: BinaryIO = stream
            self._size = os.fstat(stream.fileno()).st_size
            self._start()
            self.position = len(MAGIC)
            while not self._finished:
                self.position = self._step(self.position)
                if self._ready_bytes >= self.batch_bytes:
                    yield self._hand_over()
        yield self._hand_over()
        self._compare_count()

    @property
    def damage(self) -> list[str]:
        """Damage, one line each."""
        return self._places.lines()

    def _hand_over(self) -> dict[int, list[bytes]]:
        ready, self._ready, self._ready_bytes = self._ready, {}, 0
        return ready

    def _start(self) -> None:
        magic = self._stream.read(len(MAGIC))
        if magic != MAGIC:
            kind = TruncatedError if MAGIC.startswith(magic) else FormatError
            raise kind(f"expected MCAP, got {magic!r} at its start", path=self._path, offset=0)
        self._crc = zlib.crc32(magic)
        self._search_from = len(MAGIC)
        if self._salvage:
            self._look_ahead()
            self._stream.seek(len(MAGIC))

    def _step(self, position: int) -> int:
        """Read one record; return the offset of the next."""
        self._resume = None
        try:
            return self._record(position)
        except FormatError as error:
            what = f"at byte {position}: {error.message}"
            if not self._salvage:
                hint = f'; on_error="salvage" gives at least {self.messages} messages'
                raise type(error)(what + hint, path=self._path, offset=position) from error
            self._places.note(what)
        resume = self._next_chunk() if self._resume is None else self._resume
        self.lost_bytes += max(min(resume, self._size) - position, 0)
        self._finished = resume >= self._size
        self._stream.seek(resume)
        return resume

    def _record(self, position: int) -> int:
        head = self._stream.read(RECORD.size)
        if len(head) < RECORD.size:
            raise TruncatedError(f"expected a record, got the end of the file ({len(head)} bytes)")
        opcode, length = RECORD.unpack(head)
        left = self._size - position - RECORD.size
        if length > left:
            raise TruncatedError(f"{name_of(opcode)} record ends after {left} of {length} bytes")
        if opcode == 0 or (position == len(MAGIC) and opcode != Opcode.HEADER):
            raise FormatError(f"expected a header and records, got {name_of(opcode)}")
        end: int = position + RECORD.size + length
        if opcode in self.passed_over_kinds or opcode > Opcode.DATA_END:
            self._crc = zlib.crc32(head, self._crc)
            self._pass_over(length)
            return end
        if length > MAX_CHUNK:
            raise FormatError(f"expected at most {MAX_CHUNK} bytes, got a record of {length}")
        content = self._stream.read(length)
        if len(content) < length:
            raise TruncatedError(f"{name_of(opcode)} record ends after {len(content)} bytes")
        if opcode == Opcode.DATA_END:
            self._end_data(content, end)
        elif opcode == Opcode.FOOTER:
            self._finish(head, content)
        else:
            self._crc = zlib.crc32(content, zlib.crc32(head, self._crc))
            self._take(opcode, head, content, end)
        return end

    def _pass_over(self, length: int) -> None:
        """Skip content, updating only the checksum."""
        while length:
            piece = self._stream.read(min(length, WINDOW))
            if not piece:
                raise TruncatedError(f"record ends {length} bytes early")
            self._crc = zlib.crc32(piece, self._crc)
            length -= len(piece)

    # Content of records

    def _take(self, opcode: int, head: bytes, content: bytes, end: int) -> None:
        if opcode == Opcode.CHUNK:
            self._take_chunk(head, content, end)
        elif opcode == Opcode.MESSAGE:
            if self._chunked or self._data_ended is not None:
                raise FormatError("expected messages in chunks, as before, got one outside")
            self._take_messages(head + content, [(opcode, len(head), len(head) + len(content))])
            self._search_from = end
        elif opcode == Opcode.MESSAGE_INDEX:
            self._take_index(content)
        elif opcode == Opcode.METADATA:
            fields = Fields(content)
            name = fields.text()
            self.metadata.append((name, fields.entries()))
        elif opcode == Opcode.STATISTICS:
            self._counted = Fields(content).number(8)
        elif opcode in {Opcode.SCHEMA, Opcode.CHANNEL}:
            self._define(opcode, Fields(content))

    def _take_chunk(self, head: bytes, content: bytes, end: int) -> None:
        self._search_from = end - len(content)
        self._chunked = True
        if self._data_ended is not None:
            raise FormatError("expected no chunk after the data section, got one")
        if chunk_length(head + content[:CHUNK_START_SIZE]) is None:
            raise FormatError("expected a chunk whose two lengths agree")
        self._search_from = self._resume = (
            end  # its frame is valid: damage inside does not affect the rest
        )
        self._behind_lost_chunk = True
        data = unpack_chunk(content)
        self._take_messages(data, split(data))
        self._behind_lost_chunk = False

    def _take_messages(self, data: bytes, records: Iterable[tuple[int, int, int]]) -> None:
        """Read messages and definitions: all, or none where a record is damaged."""
        found: defaultdict[int, list[bytes]] = defaultdict(list)
        counted: defaultdict[int, int] = defaultdict(int)
        message = int(Opcode.MESSAGE)  # compared for every message: a plain int is faster
        for opcode, start, stop in records:
            if opcode == message:
                if stop - start < MESSAGE_HEAD:
                    raise FormatError(f"expected a message, got {stop - start} bytes")
                channel = self._same.get(data[start] | data[start + 1] << 8, -1)
                counted[channel] += 1
                if channel in self._chosen:
                    found[channel].append(data[start + MESSAGE_HEAD : stop])
            elif opcode in {Opcode.SCHEMA, Opcode.CHANNEL}:
                self._define(opcode, Fields(data[start:stop]))
        self._deliver(found, counted)

    def _deliver(self, found: Mapping[int, list[bytes]], counted: dict[int, int]) -> None:
        if unknown := counted.pop(-1, 0):
            what = f"expected messages of defined channels, got {unknown} of others"
            if not self._salvage:
                raise FormatError(what)
            self._places.note(what)
            self.lost_messages += unknown
        self.messages += sum(counted.values())
        for channel, count in counted.items():
            if channel not in self._chosen:
                self.passed_over[channel] = self.passed_over.get(channel, 0) + count
        for channel, payloads in found.items():
            self._ready.setdefault(channel, []).extend(payloads)
            self._ready_bytes += sum(map(len, payloads))

    def _take_index(self, content: bytes) -> None:
        fields = Fields(content)
        fields.take(2)
        size = fields.number(4)
        if size % 16 or 6 + size != len(content):
            raise FormatError(f"expected an index of {len(content) - 6} bytes, got {size}")
        if self._behind_lost_chunk:
            self.lost_messages += size // 16

    def _define(self, opcode: int, fields: Fields) -> None:
        number = fields.number(2)
        if opcode == Opcode.SCHEMA:
            schema = Schema(name=fields.text(), encoding=fields.text())
            same = self.schemas.setdefault(number, schema) == schema
        else:
            schema_id = fields.number(2)
            channel = Channel(fields.text(), fields.text(), schema_id)
            same = self.channels.setdefault(number, channel) == channel
            self._same[number] = self._numbers.setdefault(channel, number)
            kind = self.schemas[schema_id].name if schema_id in self.schemas else ""
            if self._wanted(channel.topic, kind, channel.encoding):
                self._chosen.add(number)
        if not same:
            raise FormatError(f"expected one {name_of(opcode)} number {number}, got two")

    # End of the file

    def _end_data(self, content: bytes, end: int) -> None:
        self._resume, self._data_ended = end, end
        expected, actual, self._crc = Fields(content).number(4), self._crc, 0
        if expected not in {0, actual} and not self.damage:
            raise ChecksumError(
                f"expected a data section with checksum {expected:08x}, got {actual:08x}"
            )

    def _finish(self, head: bytes, content: bytes) -> None:
        """Read the footer and the bytes after it."""
        fields = Fields(content)
        summary_start, _, expected = fields.number(8), fields.number(8), fields.number(4)
        if summary_start not in {0, self._data_ended}:
            raise FormatError(
                f"expected a summary at byte {self._data_ended}, got a footer with {summary_start}"
            )
        actual = zlib.crc32(content[:-4], zlib.crc32(head, self._crc))
        if expected not in {0, actual}:
            raise ChecksumError(
                f"expected a summary with checksum {expected:08x}, got {actual:08x}"
            )
        magic = self._stream.read(len(MAGIC) + 1)
        if magic != MAGIC:
            kind = TruncatedError if MAGIC.startswith(magic) else FormatError
            raise kind(f"expected the file to end with {MAGIC!r}, got {magic!r}")
        self._finished = True
        self._expected = self._counted

    def _compare_count(self) -> None:
        if self._expected is None or self._expected == self.messages:
            return
        what = f"expected {self._expected} messages by the statistics, got {self.messages}"
        if not self._salvage:
            raise FormatError(what, path=self._path)
        self._places.note(what)
        self.lost_messages = max(self._expected - self.messages, 0)

    # Treatment of damage

    def _next_chunk(self) -> int:
        """Return the offset of the next unread chunk; the size of the file without one."""
        places = search(
            self._stream, CHUNK_START, self._search_from, self._size, reach=CHUNK_START_SIZE
        )
        for begin in places:
            self._stream.seek(begin)
            length = chunk_length(self._stream.read(CHUNK_START_SIZE))
            if length is not None and begin + RECORD.size + length <= self._size:
                return begin
        return self._size

    def _look_ahead(self) -> None:
        """Read types, topics and the message count from the summary, if it is intact.

        They are in the data section too, but damage may have destroyed them there.
        """
        summary = summary_section(self._stream, self._size)
        if summary is None:
            return
        try:
            for kind, at, stop in split(summary):
                fields = Fields(summary[at:stop])
                if kind in {Opcode.SCHEMA, Opcode.CHANNEL}:
                    self._define(kind, fields)
                elif kind == Opcode.STATISTICS:
                    self._expected = fields.number(8)
                    fields.take(18)
                    self.times_ns = fields.number(8), fields.number(8)
        except FormatError:
            return  # a summary without checksum; the pass over the file reports its damage


def summary_section(stream: BinaryIO, size: int) -> bytes | None:
    """Return the records of the summary of a file of ``size`` bytes, if it is intact."""
    if size < _TAIL + len(MAGIC):
        return None
    stream.seek(size - _TAIL)
    tail = stream.read(_TAIL)
    opcode, length = RECORD.unpack_from(tail)
    fields = Fields(tail[RECORD.size :])
    start, _, crc = fields.number(8), fields.number(8), fields.number(4)
    length_of_summary = size - _TAIL - start
    known = opcode == Opcode.FOOTER and length == 20 and tail.endswith(MAGIC)
    if not (known and start and 0 <= length_of_summary <= MAX_CHUNK):
        return None
    stream.seek(start)
    summary = stream.read(length_of_summary)
    intact = crc in {0, zlib.crc32(tail[: RECORD.size + 16], zlib.crc32(summary))}
    return summary if intact else None
