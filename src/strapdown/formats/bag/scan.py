"""One forward pass over a damaged ROS 1 bag: the readable messages.

A bag is ``magic, header, chunks, index section``. A chunk holds messages, and the connections
that name their topics; index records after it give the number of its messages by connection. The
index section repeats both for the whole file. A forward pass needs neither, so it also reads the
bag of a recorder that was killed, or a file that was cut.

References
----------
ROS bag format 2.0, http://wiki.ros.org/Bags/Format/2.0
"""

from __future__ import annotations

import io
import os
import re
import struct
from bisect import bisect_right
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from strapdown.errors import ChecksumError, FormatError, TruncatedError, UnsupportedError
from strapdown.formats._salvage import Places, search
from strapdown.formats.bag.records import (
    CHUNK_START,
    CHUNK_START_SIZE,
    MAGIC,
    PACKINGS,
    Connection,
    Op,
    content,
    fields_of,
    read_record,
    text,
    unpack,
)
from strapdown.formats.mcap.records import MAX_CHUNK, MAX_RATIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from strapdown.formats.bag.records import Record

__all__ = ["BagScan"]


class BagScan:
    """One pass over a file; its attributes are complete when :meth:`messages` ends.

    Parameters
    ----------
    path : Path
        The file.
    salvage : bool
        Count damage and continue after it, instead of raising an error.
    wanted : callable
        Whether messages of a topic and type are returned, or only counted.

    Attributes
    ----------
    skipped : Counter
        Intact messages that are not wanted, by topic and type.
    lost_bytes : int
        Bytes outside readable records.
    """

    def __init__(self, path: Path, *, salvage: bool, wanted: Callable[[str, str], bool]) -> None:
        self.skipped: Counter[Connection] = Counter()
        self.lost_bytes = 0
        self._places = Places()
        self._path = path
        self._salvage = salvage
        self._wanted = wanted
        self._connections: dict[int, Connection] = {}
        self._chosen: set[int] = set()
        self._unknown = 0
        self._index_at = 0
        self._to_come: Counter[Op] = Counter()  # records of the index
        self._at = len(MAGIC)
        self._chunk = self._chunk_ends = 0
        self._found: Counter[tuple[int, int]] = Counter()  # by chunk and connection
        self._promised: dict[tuple[int, int], int] = {}
        self._gaps: list[int] = []  # start, stop, start, stop, ...

    @property
    def damage(self) -> list[str]:
        """Damage, one line each."""
        return self._places.lines()

    @property
    def whole(self) -> int:
        """Number of intact messages with a topic, wanted or not."""
        return self._found.total() - self._unknown

    @property
    def lost_messages(self) -> int:
        """Number of messages that are in an index but in no readable record, or have no topic."""
        missing = (count - self._found[key] for key, count in self._promised.items())
        return self._unknown + sum(count for count in missing if count > 0)

    def messages(self) -> Iterator[tuple[Connection, bytes]]:
        """Yield the wanted messages in the order of the file.

        Raises
        ------
        TruncatedError
            The file ends early, or its recorder was stopped. This and the following carry path
            and offset.
        ChecksumError
            A chunk cannot be decompressed.
        UnsupportedError
            The bag has another version, or a chunk has an unsupported compression.
        FormatError
            The file violates the format otherwise. In salvage, only where it does not begin like a
            bag of version 2.0.
        """
        with self._path.open("rb") as stream:
            self._stream: BinaryIO = stream
            self._size = os.fstat(stream.fileno()).st_size
            self._start()
            while (at := self._at) < self._size:
                try:
                    yield from self._take(at)
                except FormatError as error:
                    self._go_on_behind(at, error)
            self._end()

    def _start(self) -> None:
        """Read the connections of the index section: the chunk that defines one may be lost."""
        magic = self._stream.read(len(MAGIC))
        if magic != MAGIC:
            kind = TruncatedError if MAGIC.startswith(magic) else UnsupportedError
            what = f"expected a bag of version 2.0, got {magic!r} at its start"
            raise kind(what, path=self._path, offset=0)
        with suppress(FormatError):
            header = read_record(self._stream, len(MAGIC), self._size)
            at = self._index_at = header.number("index_pos", 8)
            self._to_come[Op.CONNECTION] = header.number("conn_count", 4)
            self._to_come[Op.CHUNK_INFO] = header.number("chunk_count", 4)
            while 0 < at < self._size:
                record = read_record(self._stream, at, self._size)
                if record.op is not Op.CONNECTION:
                    break
                self._define(self._stream, record)
                at = record.stop

    def _end(self) -> None:
        if self._unknown:
            what = f"expected messages of defined connections, got {self._unknown} of others"
            self._report(FormatError(what), self._size)
        if not 0 < self._index_at < self._size:
            what = "expected an index, got none: the recorder was stopped, or the file is cut"
            self._report(TruncatedError(what), self._size)
        elif missing := (+self._to_come).total():
            what = f"expected {missing} more records in the index, got the end: the file is cut"
            self._report(TruncatedError(what), self._size)

    # Content of records

    def _take(self, at: int) -> Iterator[tuple[Connection, bytes]]:
        """Read one record; set the next position as soon as its end is known."""
        inside = at < self._chunk_ends
        try:
            record = read_record(self._stream, at, self._chunk_ends if inside else self._size)
        except TruncatedError as error:
            if not inside or self._chunk_ends == self._size:
                raise
            raise FormatError(f"{error.message} of its chunk") from error
        if (at == len(MAGIC)) != (record.op is Op.BAG_HEADER):
            raise FormatError(f"expected a bag header and then others, got op {record.op}")
        if record.op is Op.CHUNK:
            yield from self._take_chunk(at, record)
            return
        self._at = record.stop
        if at >= self._index_at:
            self._to_come[record.op] -= 1
        if record.op is Op.INDEX:
            self._take_index(record)
        elif record.op is Op.CHUNK_INFO:
            self._take_info(record)
        elif record.op is not Op.BAG_HEADER:
            yield from self._take_content(self._stream, record)
        elif record.fields.get(b"encryptor"):
            raise UnsupportedError("expected a bag that is not encrypted, got one that is")

    def _take_chunk(self, at: int, record: Record) -> Iterator[tuple[Connection, bytes]]:
        """Enter an uncompressed chunk, whose records follow in the file; decompress any other."""
        if at < self._chunk_ends:
            raise FormatError("expected no chunk within a chunk")
        packing, size = text(record.fields, "compression"), record.number("size", 4)
        sound = self._is_record(record.stop)
        if not sound:  # the length is wrong, or the file ends here
            record = record._replace(stop=self._next_chunk(record.start))
        self._chunk, self._chunk_ends = at, record.stop
        if packing == "none":
            self._at = record.start
            return
        self._at = record.stop
        if packing not in PACKINGS:
            raise UnsupportedError(f"expected a chunk in none, bz2 or lz4, got {packing[:40]!r}")
        packed = content(self._stream, record, most=MAX_CHUNK)
        most = min(MAX_CHUNK, MAX_RATIO * (len(packed) + 1))
        data, behind = unpack(packed, packing, most=min(size + 1, most) if size else most)
        wrong = _objection(data, behind, size, most)
        if isinstance(wrong, ChecksumError | UnsupportedError):
            raise wrong
        if not sound and behind is not None:
            self._at = self._chunk_ends = record.stop - len(behind)
        try:
            yield from self._unpacked(data)
        except FormatError as error:
            wrong = wrong or FormatError(f"{error.message} of its chunk")
        if wrong:
            raise wrong

    def _unpacked(self, data: bytes) -> Iterator[tuple[Connection, bytes]]:
        stream, at = io.BytesIO(data), 0
        while at < len(data):
            record = read_record(stream, at, len(data))
            if record.op not in {Op.MESSAGE, Op.CONNECTION}:
                raise FormatError(f"expected messages in a chunk, got op {record.op}")
            yield from self._take_content(stream, record)
            at = record.stop

    def _take_content(self, stream: BinaryIO, record: Record) -> Iterator[tuple[Connection, bytes]]:
        if record.op is Op.CONNECTION:
            self._define(stream, record)
            return
        number, _ = record.number("conn", 4), record.number("time", 8)
        connection, chosen = self._connections.get(number), number in self._chosen
        payload = content(stream, record, most=MAX_CHUNK) if chosen else b""
        self._found[self._chunk, number] += 1
        if connection is None:
            self._unknown += 1
        elif chosen:
            yield connection, payload
        else:
            self.skipped[connection] += 1

    def _define(self, stream: BinaryIO, record: Record) -> None:
        number = record.number("conn", 4)
        topic = re.sub("//+", "/", text(record.fields, "topic"))
        kind = text(fields_of(content(stream, record, most=MAX_CHUNK)), "type")
        connection = Connection(topic, kind)
        if self._connections.setdefault(number, connection) != connection:
            raise FormatError(f"expected one connection number {number}, got two")
        if self._wanted(topic, kind):
            self._chosen.add(number)

    def _take_index(self, record: Record) -> None:
        number, count = record.number("conn", 4), record.number("count", 4)
        if record.stop - record.start != 12 * count:
            raise FormatError(f"expected an index of {count} messages, got other bytes")
        self._promised[self._chunk, number] = count

    def _take_info(self, record: Record) -> None:
        """Read the counts of a chunk that was lost together with its index."""
        chunk, count = record.number("chunk_pos", 8), record.number("count", 4)
        data = content(self._stream, record, most=MAX_CHUNK)
        if len(data) != 8 * count:
            raise FormatError(f"expected counts of {count} connections, got other bytes")
        if bisect_right(self._gaps, chunk) % 2:
            for number, messages in struct.iter_unpack("<II", data):
                self._promised.setdefault((chunk, number), messages)

    # Treatment of damage

    def _go_on_behind(self, at: int, error: FormatError) -> None:
        """Report damage, and continue after its record or chunk, or at the next chunk."""
        inside = at < self._chunk_ends
        if self._at == at:
            self._at = self._chunk_ends if inside else self._next_chunk(at + 1)
        begin = self._chunk if inside else at
        self._gaps += [max([begin, *self._gaps[-1:]]), self._at]
        self.lost_bytes += self._at - at
        self._report(error, at)

    def _report(self, error: FormatError, at: int) -> None:
        what = f"at byte {at}: {error.message}"
        if not self._salvage:
            hint = f'; on_error="salvage" gives at least {self.whole} messages'
            raise type(error)(what + hint, path=self._path, offset=at) from error
        self._places.note(what)

    def _is_record(self, at: int) -> bool:
        """Return whether a record begins here, or the file ends."""
        with suppress(FormatError):
            return at == self._size or bool(read_record(self._stream, at, self._size))
        return False

    def _next_chunk(self, start: int) -> int:
        """Return the offset of the next chunk; the size of the file without one."""
        places = search(self._stream, CHUNK_START, start, self._size, reach=CHUNK_START_SIZE)
        for at in places:
            with suppress(FormatError):
                record = read_record(self._stream, at, self._size)
                if record.op is Op.CHUNK and text(record.fields, "compression") in PACKINGS:
                    return at
        return self._size


def _objection(data: bytes, behind: bytes | None, size: int, most: int) -> FormatError | None:
    """Return the error of a decompressed chunk; None for a valid one."""
    if len(data) > size > 0 or (behind is not None and len(data) < size):
        return ChecksumError(f"expected a chunk that unpacks to {size} bytes, got {len(data)}")
    if behind is not None:
        return None
    if len(data) >= most:
        return UnsupportedError(f"expected a chunk of at most {most} bytes, got a longer one")
    return TruncatedError(f"chunk ends after {len(data)} unpacked bytes")
