"""Topics of a bag from its index; of the data, only the first chunk of each topic is read.

The index section of a ROS 1 bag names the chunks, and behind each chunk are time and place of its
messages.

References
----------
ROS bag format 2.0, http://wiki.ros.org/Bags/Format/2.0
"""

from __future__ import annotations

import io
import os
import re
from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats._series_from_messages import can_read
from strapdown.formats._topic_sample import ROWS, TopicSample
from strapdown.formats.bag.reader import mcap_parts
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
from strapdown.formats.mcap.index import add_index as add_mcap_index
from strapdown.formats.mcap.records import MAX_CHUNK, MAX_RATIO
from strapdown.formats.summary import Source, Summary
from strapdown.messages.cdr import Wire
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from pathlib import Path

    from strapdown._typing import IntArray
    from strapdown.formats.bag.records import Record

__all__ = ["summarize"]

_ENTRY: Final = np.dtype([("seconds", "<u4"), ("nanoseconds", "<u4"), ("at", "<u4")])


def summarize(path: Path) -> Summary | None:
    """Summarise a bag; None where it has no intact index."""
    sample = TopicSample(path)
    if parts := mcap_parts(path):
        whole = all(add_mcap_index(part, sample) for part in parts)
        return sample.summary("mcap", Source.INDEX) if whole else None
    if path.is_dir():
        return None
    with path.open("rb") as stream:
        if stream.read(len(MAGIC)) != MAGIC:
            return None
        try:
            _Index(stream, sample).read()
        except FormatError:  # the pass over the file reports it
            return None
    return sample.summary("rosbag1", Source.INDEX)


class _Index:
    """Reader of the index of an open ROS 1 bag."""

    def __init__(self, stream: BinaryIO, sample: TopicSample) -> None:
        self._stream, self._sample = stream, sample
        self._size = os.fstat(stream.fileno()).st_size
        self._connections: dict[int, Connection] = {}

    def read(self) -> None:
        """Add all times, and the first messages of each connection."""
        header = read_record(self._stream, len(MAGIC), self._size)
        at, chunks = header.number("index_pos", 8), []
        if not 0 < at < self._size:
            raise FormatError("expected an index, got none")
        while at < self._size:
            record = read_record(self._stream, at, self._size)
            if record.op is Op.CONNECTION:
                self._define(record)
            elif record.op is Op.CHUNK_INFO:
                chunks.append(record.number("chunk_pos", 8))
            at = record.stop
        missing = {
            number
            for number, connection in self._connections.items()
            if can_read(connection.kind, Wire.ROS1)
        }
        behind = 0
        for chunk in sorted(chunks):
            record = read_record(self._stream, chunk, self._size)
            if record.op is not Op.CHUNK or chunk < behind:
                raise FormatError(f"expected chunks one after the other, got none at {chunk}")
            behind = record.stop
            if here := self._times(record) & missing:
                missing -= here
                self._first(record, here)

    def _define(self, record: Record) -> None:
        topic = re.sub("//+", "/", text(record.fields, "topic"))
        kind = text(fields_of(content(self._stream, record, most=MAX_CHUNK)), "type")
        self._connections[record.number("conn", 4)] = Connection(topic, kind)

    def _connection(self, number: int) -> Connection:
        if number not in self._connections:
            raise FormatError(f"expected a connection that is defined, got {number}")
        return self._connections[number]

    def _times(self, chunk: Record) -> set[int]:
        """Add the times of the messages of a chunk; return its connections."""
        found, at = set(), chunk.stop
        while at < self._size:
            record = read_record(self._stream, at, self._size)
            if record.op is not Op.INDEX:
                break
            number, at = record.number("conn", 4), record.stop
            entries = content(self._stream, record, most=MAX_CHUNK)
            if len(entries) != _ENTRY.itemsize * record.number("count", 4):
                raise FormatError("expected an index of as many messages as it counts")
            topic, kind = self._connection(number)
            self._sample.add_times(topic, kind, Wire.ROS1, _in_order(entries))
            found.add(number)
        return found

    def _first(self, record: Record, connections: set[int]) -> None:
        """Decode the first messages of a chunk."""
        packing, packed = text(record.fields, "compression"), b""
        if packing not in PACKINGS:
            raise FormatError(f"expected a chunk in none, bz2 or lz4, got {packing[:40]!r}")
        packed = content(self._stream, record, most=MAX_CHUNK)
        data = packed
        if packing != "none":
            most = min(MAX_CHUNK, MAX_RATIO * len(packed))
            data, _ = unpack(packed, packing, most=most)
        stream, at = io.BytesIO(data), 0
        payloads: dict[int, list[bytes]] = {number: [] for number in connections}
        while at < len(data):
            each = read_record(stream, at, len(data))
            mine = payloads.get(each.number("conn", 4)) if each.op is Op.MESSAGE else None
            if mine is not None and len(mine) < ROWS:
                mine.append(content(stream, each, most=MAX_CHUNK))
            at = each.stop
        for number, found in payloads.items():
            topic, kind = self._connection(number)
            self._sample.add(topic, kind, Wire.ROS1, found)


def _in_order(entries: bytes) -> IntArray:
    """Return the times of index entries [ns]; rosbags too reads messages by their time."""
    index = np.frombuffer(entries, _ENTRY)
    return np.sort(index["seconds"].astype(np.int64) * NS_PER_S + index["nanoseconds"])
