"""The index of a ROS 1 bag: its connections, and time and place of the messages of each chunk.

References
----------
ROS bag format 2.0, http://wiki.ros.org/Bags/Format/2.0
"""

from __future__ import annotations

import io
import os
import re
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats.bag.records import (
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
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from strapdown._typing import IntArray
    from strapdown.formats.bag.records import Record

    Entries: TypeAlias = NDArray[np.void]

__all__ = ["ChunkIndex", "Entries", "times_of"]

_ENTRY: Final = np.dtype([("seconds", "<u4"), ("nanoseconds", "<u4"), ("at", "<u4")])


class ChunkIndex:
    """Reader of the index of an open bag.

    Parameters
    ----------
    stream : binary file
        The bag.

    Attributes
    ----------
    connections : dict of int to Connection
        By number.

    Raises
    ------
    FormatError
        The bag has no index, or it is damaged; other methods raise it too.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.connections: dict[int, Connection] = {}
        self._stream, self._chunks = stream, set[int]()
        self._size = os.fstat(stream.fileno()).st_size
        header = read_record(stream, len(MAGIC), self._size)
        at = header.number("index_pos", 8)
        if not 0 < at < self._size:
            raise FormatError("expected an index, got none")
        while at < self._size:
            record = read_record(stream, at, self._size)
            if record.op is Op.CONNECTION:
                self._define(record)
            elif record.op is Op.CHUNK_INFO:
                self._chunks.add(record.number("chunk_pos", 8))
            at = record.stop

    def chunks(self) -> Iterator[tuple[Record, dict[int, Entries]]]:
        """Yield each chunk, with the entries of its messages by connection, ordered by time."""
        behind = 0
        for at in sorted(self._chunks):
            chunk = read_record(self._stream, at, self._size)
            if chunk.op is not Op.CHUNK or at < behind:
                raise FormatError(f"expected chunks one after the other, got none at {at}")
            behind = chunk.stop
            yield chunk, self._entries(chunk)

    def messages(self, chunk: Record, entries: Entries) -> list[bytes]:
        """Return the messages of a chunk at some entries."""
        packing = text(chunk.fields, "compression")
        if packing not in PACKINGS:
            raise FormatError(f"expected a chunk in none, bz2 or lz4, got {packing[:40]!r}")
        data = content(self._stream, chunk, most=MAX_CHUNK)
        if packing != "none":
            data, _ = unpack(data, packing, most=min(MAX_CHUNK, MAX_RATIO * len(data)))
        stream, found = io.BytesIO(data), []
        for at in entries["at"].tolist():
            record = read_record(stream, at, len(data))
            if record.op is not Op.MESSAGE:
                raise FormatError(f"expected a message at {at} of a chunk, got op {record.op}")
            found.append(content(stream, record, most=MAX_CHUNK))
        return found

    def _define(self, record: Record) -> None:
        topic = re.sub("//+", "/", text(record.fields, "topic"))
        kind = text(fields_of(content(self._stream, record, most=MAX_CHUNK)), "type")
        self.connections[record.number("conn", 4)] = Connection(topic, kind)

    def _entries(self, chunk: Record) -> dict[int, Entries]:
        """Return the entries of the index records behind a chunk."""
        found: dict[int, Entries] = {}
        at = chunk.stop
        while at < self._size:
            record = read_record(self._stream, at, self._size)
            if record.op is not Op.INDEX:
                break
            number, at = record.number("conn", 4), record.stop
            data = content(self._stream, record, most=MAX_CHUNK)
            if len(data) != _ENTRY.itemsize * record.number("count", 4):
                raise FormatError("expected an index of as many messages as it counts")
            if number not in self.connections or number in found:
                raise FormatError(f"expected one index of a connection, got another of {number}")
            entries = np.frombuffer(data, _ENTRY)
            found[number] = entries[np.argsort(times_of(entries), kind="stable")]
        return found


def times_of(entries: Entries) -> IntArray:
    """Return the times of messages [ns]."""
    return np.asarray(entries["seconds"].astype(np.int64) * NS_PER_S + entries["nanoseconds"])
