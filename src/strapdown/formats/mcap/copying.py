"""Copying of the intact records of an MCAP file: chunks unchanged, definitions first."""

from __future__ import annotations

import zlib
from collections import Counter
from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np
from mcap.records import AttachmentIndex, Channel, Chunk, Schema

from strapdown._version import __version__
from strapdown.errors import ChecksumError, FormatError
from strapdown.formats.mcap.bulk import PLACE, Here, McapFile
from strapdown.formats.mcap.records import CHUNK_HEAD, RECORD, Fields, Opcode, runs
from strapdown.formats.mcap.scan import MESSAGE_HEAD, McapScan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from strapdown._typing import IntArray

__all__ = ["McapCopy"]

_LOG_TIME: Final = 6
"""Offset of the log time in a message [bytes]."""


class McapCopy(McapScan):
    """Pass over a file, in salvage, that writes the intact records to a new one.

    Parameters
    ----------
    source : Path
        The damaged file.
    stream : BinaryIO
        The new file.
    """

    passed_over_kinds = frozenset(McapScan.passed_over_kinds) - {Opcode.ATTACHMENT}

    def __init__(self, source: Path, stream: BinaryIO) -> None:
        super().__init__(source, salvage=True, wanted=lambda *_channel: False)
        self._target = stream
        self._made: McapFile | None = None
        self._definitions: dict[tuple[int, int], Schema | Channel] = {}
        self._written: set[tuple[int, int]] = set()
        self._data = b""
        self._knows_all = True
        self._found: NDArray[np.void] = np.empty(0, PLACE)

    def finish(self, account: tuple[str, Mapping[str, str]]) -> None:
        """Write the report of the copy, as a metadata record, and the summary."""
        self._file.add_metadata(*account)
        self._file.finish()

    @property
    def _file(self) -> McapFile:
        """The new file, with every definition known so far."""
        if self._made is None:
            self._made = self._begin("")
        for key in sorted(self._definitions.keys() - self._written):  # schemas come first
            self._made.define(self._definitions[key])
            self._written.add(key)
        return self._made

    def _begin(self, profile: str) -> McapFile:
        library = f"strapdown/{__version__}"
        return McapFile(self._target, Here(), profile=profile, library=library)

    def _take(self, opcode: int, head: bytes, content: bytes, end: int) -> None:
        super()._take(opcode, head, content, end)
        if opcode == Opcode.HEADER and self._made is None:
            self._made = self._begin(Fields(content).text())
        elif opcode == Opcode.MESSAGE:
            self._copy_messages()
        elif opcode == Opcode.METADATA:
            self._file.add_metadata(*self.metadata[-1])
        elif opcode == Opcode.ATTACHMENT:
            self._file.add_attachment(head + content, _attachment(content))

    def _take_chunk(self, head: bytes, content: bytes, end: int) -> None:
        super()._take_chunk(head, content, end)
        if not len(self._found):
            return
        if self._knows_all:
            fields = Fields(content)
            start, stop, size, crc = CHUNK_HEAD.unpack(fields.take(CHUNK_HEAD.size))
            like = Chunk(fields.text(), fields.take(fields.number(8)), stop, start, crc, size)
            self._file.add_chunk(head + content, self._found, like)
        else:
            self._copy_messages()

    def _take_messages(self, data: bytes, _records: Iterable[tuple[int, int, int]]) -> None:
        """Store the places of messages instead of their payloads: all, or none."""
        starts: list[int] = []
        for opcode, start, stride, count in runs(data):
            length = stride - RECORD.size
            if opcode == Opcode.MESSAGE:
                if length < MESSAGE_HEAD:
                    raise FormatError(f"expected a message, got {length} bytes")
                starts += range(start, start + count * stride, stride)
            elif opcode in {Opcode.SCHEMA, Opcode.CHANNEL}:
                for at in range(start, start + count * stride, stride):
                    self._define(opcode, Fields(data[at : at + length]))
        places = _places_of(data, np.array(starts, np.int64))
        counted: Counter[int] = Counter()
        for number, count in enumerate(np.bincount(places["channel"]).tolist()):
            if count:
                counted[self._same.get(number, -1)] += count
        self._knows_all = -1 not in counted
        self._deliver({}, counted)
        self._data, self._found = data, places

    def _copy_messages(self) -> None:
        """Copy the messages of known channels one by one."""
        data = self._data
        for number, (log_ns, at) in self._found.tolist():
            if number in self.channels:
                _, length = RECORD.unpack_from(data, at)
                self._file.add_record(number, log_ns, data[at : at + RECORD.size + length])

    def _define(self, opcode: int, fields: Fields) -> None:
        whole = Fields(fields.content)
        super()._define(opcode, fields)
        number = whole.number(2)
        made: Schema | Channel
        if opcode == Opcode.SCHEMA:
            name, encoding = whole.text(), whole.text()
            data = whole.take(whole.number(4))
            made = Schema(id=number, data=data, encoding=encoding, name=name)
        else:
            made = Channel(
                id=number,
                schema_id=whole.number(2),
                topic=whole.text(),
                message_encoding=whole.text(),
                metadata=whole.entries(),
            )
        self._definitions.setdefault((opcode, number), made)


def _attachment(content: bytes) -> AttachmentIndex:
    """Return the index entry of an attachment; raise an error where it is damaged."""
    fields = Fields(content)
    times = fields.number(8), fields.number(8)
    name, kind, size = fields.text(), fields.text(), fields.number(8)
    fields.take(size)
    expected, actual = fields.number(4), zlib.crc32(content[:-4])
    if expected not in {0, actual}:
        raise ChecksumError(f"expected an attachment with {expected:08x}, got {actual:08x}")
    return AttachmentIndex(
        offset=0,
        length=0,
        log_time=times[0],
        create_time=times[1],
        data_size=size,
        name=name,
        media_type=kind,
    )


def _places_of(data: bytes, starts: IntArray) -> NDArray[np.void]:
    """Return the places of messages whose content begins at ``starts``."""
    places = np.empty(len(starts), PLACE)
    places["channel"] = _numbers_at(data, "<u2", starts)
    places["entry"][:, 0] = _numbers_at(data, "<u8", starts + _LOG_TIME)
    places["entry"][:, 1] = starts - RECORD.size
    return places


def _numbers_at(data: bytes, dtype: str, offsets: IntArray) -> IntArray:
    """Return the numbers at offsets of any alignment, none of them beyond the end."""
    size = max(len(data) - np.dtype(dtype).itemsize + 1, 0)
    numbers: IntArray = np.ndarray((size,), dtype, data, strides=(1,))[offsets]
    return numbers
