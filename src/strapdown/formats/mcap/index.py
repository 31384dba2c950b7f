"""Topics of an MCAP file from its summary and the index behind each chunk.

The index has the time of recording and the place of every message; of the data, only the first
chunk of each topic is read. A file without an intact summary is read once, in bounded memory.

References
----------
MCAP Format Specification, https://mcap.dev/spec
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats.mcap.reader import DESCRIPTION, HISTORY
from strapdown.formats.mcap.records import (
    MAX_CHUNK,
    RECORD,
    Channel,
    Fields,
    Opcode,
    Schema,
    split,
    unpack_chunk,
)
from strapdown.formats.mcap.scan import MESSAGE_HEAD, McapScan, summary_section
from strapdown.formats.summary import Source, Summary
from strapdown.formats.topics.kinds import can_read
from strapdown.formats.topics.sample import ROWS, TopicSample

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from strapdown._typing import IntArray

__all__ = ["add_index", "summarize"]

_ENTRY: Final = 16
"""Size of time and offset of a message [bytes]."""


class _Chunk(NamedTuple):
    """Place of a chunk and of the index behind it."""

    start: int
    length: int
    index_length: int
    channels: frozenset[int]


class _Contents:
    """Records of the summary of a file."""

    def __init__(self, summary: bytes) -> None:
        self.schemas: dict[int, Schema] = {}
        self.channels: dict[int, Channel] = {}
        self.chunks: list[_Chunk] = []
        self.metadata: list[tuple[int, int]] = []
        self.messages: int | None = None
        for opcode, start, stop in split(summary):
            self._take(opcode, Fields(summary[start:stop]))
        self.chunks.sort(key=lambda chunk: chunk.start)
        for one, two in pairwise(self.chunks):
            if one.start + one.length + one.index_length > two.start:
                raise FormatError(f"expected chunks one after the other, got two at {two.start}")

    def _take(self, opcode: int, fields: Fields) -> None:
        if opcode == Opcode.SCHEMA:
            number = fields.number(2)
            self.schemas[number] = Schema(fields.text(), fields.text())
        elif opcode == Opcode.CHANNEL:
            number, schema = fields.number(2), fields.number(2)
            self.channels[number] = Channel(fields.text(), fields.text(), schema)
        elif opcode == Opcode.STATISTICS:
            self.messages = fields.number(8)
        elif opcode == Opcode.METADATA_INDEX:
            self.metadata.append((fields.number(8), fields.number(8)))
        elif opcode == Opcode.CHUNK_INDEX:
            fields.take(16)
            start, length = fields.number(8), fields.number(8)
            places = np.frombuffer(
                fields.take(fields.number(4)), [("channel", "<u2"), ("at", "<u8")]
            )
            channels = frozenset(places["channel"].tolist())
            self.chunks.append(_Chunk(start, length, fields.number(8), channels))

    def kind(self, channel: int) -> tuple[str, str, str]:
        """Return topic, type and encoding of a channel."""
        topic, encoding, schema = self.channels[channel]
        return topic, self.schemas[schema].name, encoding


def summarize(path: Path) -> Summary:
    """Summarise a file; damage is counted.

    Raises
    ------
    FormatError
        The file does not begin like MCAP.
    """
    sample = TopicSample(path)
    if add_index(path, sample):
        return sample.summary("mcap", Source.INDEX)
    sample, scan = TopicSample(path), McapScan(path, salvage=True, wanted=sample.wants)
    for batch in scan.batches():
        for number, payloads in batch.items():
            channel = scan.channels[number]
            kind = scan.schemas[channel.schema_id].name
            sample.add_stamps(channel.topic, kind, channel.encoding, payloads)
    for number, count in scan.passed_over.items():
        channel = scan.channels[number]
        sample.pass_over(channel.topic, "", channel.encoding, count)
    for name, entries in scan.metadata:
        _add_metadata(sample, name, entries)
    sample.damage += scan.damage
    return sample.summary("mcap", Source.STAMPS, lost=(scan.lost_messages, scan.lost_bytes))


def add_index(path: Path, sample: TopicSample) -> bool:
    """Add what the index of a file tells to a sample; false where it has no intact index."""
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        summary = summary_section(stream, size)
        try:
            if summary is None:
                return False
            contents = _Contents(summary)
            found = sum(_add_times(stream, chunk, contents, sample) for chunk in contents.chunks)
            for place in contents.metadata:
                for name, entries in _metadata(stream, place):
                    _add_metadata(sample, name, entries)
            _add_first(stream, contents, sample)
        except (FormatError, KeyError, ValueError):  # the pass over the file reports it
            return False
    return found == contents.messages


def _add_times(stream: BinaryIO, chunk: _Chunk, contents: _Contents, sample: TopicSample) -> int:
    """Add the times of the messages of a chunk; return their number."""
    index = _piece(stream, chunk.start + chunk.length, chunk.index_length)
    messages = 0
    for opcode, start, stop in split(index):
        if opcode == Opcode.MESSAGE_INDEX:
            fields = Fields(index[start:stop])
            channel = fields.number(2)
            times = _in_order(fields.take(fields.number(4)))
            sample.add_times(*contents.kind(channel), times)
            messages += len(times)
    return messages


def _in_order(entries: bytes) -> IntArray:
    """Return the times of index entries in the order of the messages [ns]."""
    if len(entries) % _ENTRY:
        raise FormatError(f"expected index entries of {_ENTRY} bytes, got {len(entries)} in sum")
    times, places = np.frombuffer(entries, "<i8").reshape(-1, 2).T
    if (times < 0).any():
        raise FormatError("expected times below 2^63 ns in an index")
    if (np.diff(places) < 0).any():
        times = times[np.argsort(places, kind="stable")]
    return np.ascontiguousarray(times)


def _add_metadata(sample: TopicSample, name: str, entries: Mapping[str, str]) -> None:
    """Add a metadata record that describes a topic, or the processing of the file."""
    if name == DESCRIPTION:
        sample.describe(entries)
    elif name == HISTORY:
        sample.history |= dict.fromkeys(step for _, step in sorted(entries.items()))


def _metadata(stream: BinaryIO, place: tuple[int, int]) -> Iterator[tuple[str, Mapping[str, str]]]:
    for opcode, start, stop in split(record := _piece(stream, *place)):
        if opcode == Opcode.METADATA:
            fields = Fields(record[start:stop])
            yield fields.text(), fields.entries()


def _add_first(stream: BinaryIO, contents: _Contents, sample: TopicSample) -> None:
    """Decode the first messages of each channel."""
    missing = {channel for channel in contents.channels if can_read(*contents.kind(channel)[1:])}
    for chunk in contents.chunks:
        if here := chunk.channels & missing:
            missing -= here
            record = _piece(stream, chunk.start, chunk.length)
            for channel, payloads in _first_of(record, here).items():
                sample.add(*contents.kind(channel), payloads)


def _first_of(record: bytes, channels: frozenset[int]) -> dict[int, list[bytes]]:
    data = unpack_chunk(record[RECORD.size :])
    found: dict[int, list[bytes]] = {channel: [] for channel in channels}
    for opcode, start, stop in split(data):
        if opcode == Opcode.MESSAGE and stop - start >= MESSAGE_HEAD:
            payloads = found.get(int.from_bytes(data[start : start + 2], "little"))
            if payloads is not None and len(payloads) < ROWS:
                payloads.append(data[start + MESSAGE_HEAD : stop])
    return found


def _piece(stream: BinaryIO, start: int, length: int) -> bytes:
    """Return bytes of a file; FormatError where it is shorter, or they are too many."""
    if length > MAX_CHUNK:
        raise FormatError(f"expected at most {MAX_CHUNK} bytes, got {length}")
    stream.seek(start)
    piece = stream.read(length)
    if len(piece) < length:
        raise FormatError(f"expected {length} bytes at {start}, got {len(piece)}")
    return piece
