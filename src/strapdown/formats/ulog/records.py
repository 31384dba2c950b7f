"""ULog records: finding intact ones and places of damage.

A ULog is a header of 16 bytes and then records ``u16 size, u8 type, payload``. It has no checksum,
so every size is compared with the bytes available and with the sizes that the type and the format
of the topic allow.

References
----------
PX4 ULog file format, https://docs.px4.io/main/en/dev_log/ulog_file_format.html
"""

from __future__ import annotations

import mmap
import re
import struct
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from strapdown.errors import FormatError, TruncatedError, UnsupportedError
from strapdown.formats._salvage import Places
from strapdown.formats.ulog.data_rows import MESSAGES, RowWalk
from strapdown.formats.ulog.message_formats import Formats
from strapdown.formats.ulog.payload_checks import FLAGS, KINDS, SUBSCRIPTION, objection, topic_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from strapdown._typing import IntArray

__all__ = [
    "BLOCK",
    "HEADER_SIZE",
    "MAGIC",
    "ROW_HEAD",
    "Chunk",
    "Record",
    "Records",
    "Topic",
    "load_bytes",
]

Bytes: TypeAlias = "bytes | mmap.mmap"

MAGIC: Final = b"ULog\x01\x12\x35"
HEADER_SIZE: Final = 16
BLOCK: Final = 2**24
"""Bytes of a file read as one chunk."""
_RECORD: Final = struct.Struct("<HB")

_DATA: Final = ord("D")
_FLAG_BITS: Final = ord("B")
_UNMISTAKABLE: Final = b"AFS"
"""Types of records whose payload has a form that cannot occur by chance."""
_HEAD: Final = re.compile(b"[\\x00-\\x0f][FIMPQARDLCSO]")  # of a record below 4 KiB
_CUT: Final = "the file ends inside this record"
_NO_TOPIC: Final = "expected data of a subscribed topic, got message {}"
_UNSOUND: Final = "expected a format of {} of known types, without loops, below 64 KiB"
ROW_HEAD: Final = _RECORD.size + 2
"""Size of a data record before its row [bytes]."""
_LEAST_ROW: Final = 10


class Topic(NamedTuple):
    """One instance of a topic."""

    name: str
    multi_id: int


class _Message(NamedTuple):
    """Topic of a message id; a row has ``least`` to ``most`` bytes."""

    topic: Topic
    least: int
    most: int


class Record(NamedTuple):
    """A record of the data section other than a row."""

    offset: int
    kind: str
    payload: bytes


class Chunk(NamedTuple):
    """Content between two offsets of a file, in order."""

    stop: int
    """End of the chunk."""
    offsets: IntArray
    """(R,) starts of rows, after their message id."""
    slots: NDArray[np.uint16]
    """(R,) topics of the rows, as indices into ``Records.topics``."""
    records: list[Record]
    """Other records: settings, parameters, texts, sync and dropouts."""


def load_bytes(path: Path) -> Bytes:
    """Return a file as bytes that are read on access."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class Records:
    """The records of a ULog, and the definitions in those read so far.

    Parameters
    ----------
    data : bytes-like
        The file.
    path : Path
        For error messages.
    salvage : bool
        Count damaged records and leave them out, instead of raising an error.

    Attributes
    ----------
    formats : Formats
        Formats defined so far.
    topics : list of Topic
        By slot.
    counts : Counter
        Intact records by type.
    timestamps_at : list of int
        Offset of the stamp in a row, by slot.
    parts : list of (int, int)
        Ranges of the whole file, or of its appended parts, each to the end of its last record.
    skipped : Counter
        Records of unknown type.
    lost_bytes : int
        Bytes of the file outside intact records.
    places : Places
        Places of damage or of unknown records.
    complaints : Places
        Places of intact records with inconsistent content.

    Raises
    ------
    TruncatedError
        The file ends inside its header.
    UnsupportedError
        The flags of the file require an unknown feature.
    FormatError
        The file is not a ULog. All three are raised in salvage too; in strict mode :meth:`chunks`
        also raises them, with the offset of the record.
    """

    def __init__(self, data: Bytes, *, path: Path, salvage: bool) -> None:
        if not data[: len(MAGIC)] or not MAGIC.startswith(data[: len(MAGIC)]):
            raise FormatError(
                f"expected a ULog, got a file that begins with {data[:7]!r}", path=path
            )
        if len(data) < HEADER_SIZE:
            raise TruncatedError("the file ends inside its header", path=path, offset=0)
        self.formats = Formats()
        self.topics: list[Topic] = []
        self.timestamps_at: list[int] = []
        self.counts: Counter[str] = Counter()
        self.parts: list[tuple[int, int]] = []
        self.skipped: Counter[str] = Counter()
        self.lost_bytes = 0
        self.places = Places()
        self.complaints = Places()
        self._data, self._path, self._salvage = data, path, salvage
        self._slots: dict[Topic, int] = {}
        self._messages: dict[int, _Message] = {}
        self._defined_at: dict[str, int] = {}
        self._row_sizes: frozenset[int] = frozenset()
        self._found: list[Record] = []
        self._defined = False
        self._part_end = 0
        self._walk = RowWalk(data)

    def chunks(self, size: int = BLOCK) -> Iterator[Chunk]:
        """Walk over the file once; yield chunks of about ``size`` bytes."""
        for begin, end in pairwise(self._bounds()):
            pos, self._part_end = begin, end
            while pos < end:
                chunk = self._chunk(pos, min(pos + size, end), end)
                pos = chunk.stop
                yield chunk
            self.parts.append((begin, self._part_end))

    def _chunk(self, pos: int, until: int, end: int) -> Chunk:
        """Walk to the first record that begins at or after ``until``."""
        rows = []
        while pos < until:
            pos = self._walk.follow(pos, until, end)
            if self._walk.is_full:
                rows.append(self._walk.take())
            elif pos < until:
                stop = self._stop(pos, end)
                wrong = _CUT if stop is None else self._take(pos, stop, end)
                pos = self._leave_out(pos, stop, end, wrong) if stop is None or wrong else stop
        rows.append(self._walk.take())
        offsets, slots = map(np.concatenate, zip(*rows, strict=True))
        if len(offsets):
            self.counts["D"] += len(offsets)
        found, self._found = self._found, []
        return Chunk(pos, offsets, slots, found)

    def _bounds(self) -> list[int]:
        """Return the bounds of the parts of the file; appended parts are rare."""
        data, start = self._data, HEADER_SIZE
        stop = self._stop(start, len(data))
        if stop is None or data[start + 2] != _FLAG_BITS:
            return [start, len(data)]
        if (size := stop - start - _RECORD.size) < FLAGS.size:
            self._lose(start, stop, f"expected flags of {FLAGS.size} bytes, got {size}")
            return [stop, len(data)]
        _, incompatible, *offsets = FLAGS.unpack_from(data, start + _RECORD.size)
        if incompatible[0] & ~1 or any(incompatible[1:]):
            raise UnsupportedError(
                f"expected no flags that forbid reading, got {incompatible.hex()}",
                path=self._path,
                offset=start,
            )
        parts = [offset for offset in offsets if offset]
        wrong = f"expected offsets of appended parts in {len(data)} bytes, got {parts}"
        if bool(parts) != bool(incompatible[0]) or [stop, *parts] != sorted({stop, *parts}):
            self._lose(start, stop, wrong)
            return [stop, len(data)]
        if parts and parts[-1] > len(data):  # the file was cut, the flags are intact
            self._raise_if_strict(start, wrong, TruncatedError)
            self.complaints.note(f"byte {start}: {wrong}")
        bounds = [stop, *(offset for offset in parts if offset < len(data)), len(data)]
        self.counts["B"] = 1
        return bounds

    def _stop(self, pos: int, end: int) -> int | None:
        """Return the offset after the record at ``pos``; None where that is beyond ``end``."""
        if pos + _RECORD.size > end:
            return None
        stop = pos + _RECORD.size + int.from_bytes(self._data[pos : pos + 2], "little")
        return stop if stop <= end else None

    def _objection(self, pos: int, stop: int, *, ahead: bool = False) -> str | None:
        """Return why a record is invalid, or None; with ``ahead`` formats may be missing."""
        start, kind = pos + _RECORD.size, self._data[pos + 2]
        size = stop - start
        if kind != _DATA or size < _LEAST_ROW:
            return objection(kind, self._data[start:stop], None if ahead else self.formats)
        msg_id = int.from_bytes(self._data[start : start + 2], "little")
        message = self._messages.get(msg_id)
        if message and not message.least <= size - 2 <= message.most:
            return f"expected {message.least} bytes of {message.topic.name}, got {size - 2}"
        if not message and size - 2 not in self._sizes():
            return _NO_TOPIC.format(msg_id)
        return None

    def _chain(
        self, pos: int, end: int, *, may_end: bool, may_be_cut: bool = False, length: int = 3
    ) -> bool:
        """Return whether enough valid records follow from ``pos`` to exclude chance."""
        for _ in range(length):
            if pos == end:
                return may_end
            stop = self._stop(pos, end)
            if stop is None:
                return may_be_cut and (pos + _RECORD.size > end or self._data[pos + 2] in KINDS)
            if self._objection(pos, stop, ahead=True):
                return False
            pos = stop
        return True

    def _take(self, pos: int, stop: int, end: int) -> str | None:
        """Add a record other than a row; return the reason where it is invalid, otherwise None."""
        kind = self._data[pos + 2]
        if kind not in KINDS and self._chain(stop, end, may_end=True, length=2):
            self._pass_over(pos)
            return None
        wrong = self._objection(pos, stop)
        if wrong:
            return wrong
        payload = self._data[pos + _RECORD.size : stop]
        if kind == _DATA:
            return _NO_TOPIC.format(int.from_bytes(payload[:2], "little"))
        if kind in b"ALC" and not self._defined:
            self._close_definitions()
        if kind == ord("F"):
            wrong = self._take_format(pos, payload)
        elif kind == ord("A"):
            wrong = self._take_subscription(pos, payload)
        if not wrong:
            self.counts[chr(kind)] += 1
            self._found.append(Record(pos, chr(kind), payload))
        return wrong

    def _take_format(self, pos: int, payload: bytes) -> str | None:
        name = payload.decode("ascii", "replace").partition(":")[0]
        wrong = self.formats.add(payload) if not self.topics else f"expected one format of {name}"
        if wrong:
            return f"{wrong}, before all subscriptions"
        self._defined_at.setdefault(name, pos)
        self._row_sizes = frozenset()
        return None

    def _close_definitions(self) -> None:
        """Report formats that contain unknown ones or themselves, or that are too large."""
        self._defined = True
        for name, pos in self._defined_at.items():
            if not self.formats.size(name):
                self.complain(pos, _UNSOUND.format(name[:40]))

    def _take_subscription(self, pos: int, payload: bytes) -> str | None:
        multi_id, msg_id = SUBSCRIPTION.unpack_from(payload)
        topic = Topic(topic_name(payload), multi_id)
        if not self.formats.size(topic.name):
            return _UNSOUND.format(topic.name[:40])
        timestamp_at = self.formats.timestamp_at(topic.name)
        if timestamp_at is None:
            return f"expected a format of {topic.name} with a timestamp"
        if msg_id in self._messages or topic in self._slots:
            taken = f"got {topic.name} {multi_id} as message {msg_id} again"
            self.complain(pos, f"expected a new subscription, {taken}")
        if topic not in self._slots:
            if len(self.topics) == MESSAGES:
                return f"expected at most {MESSAGES} topics"
            self._slots[topic] = len(self.topics)
            self.topics.append(topic)
            self.timestamps_at.append(timestamp_at)
        least, most = self.formats.least(topic.name), self.formats.size(topic.name)
        self._messages[msg_id] = _Message(topic, least, most)
        self._walk.subscribe(msg_id, least, most, self._slots[topic])
        return None

    def _sizes(self) -> frozenset[int]:
        """Return all sizes that a row of any format may have [bytes]."""
        if not self._row_sizes:
            sound = [name for name in self.formats.text if self.formats.size(name)]
            self._row_sizes = frozenset(
                {size(name) for name in sound for size in (self.formats.size, self.formats.least)}
            )
        return self._row_sizes

    def _leave_out(self, pos: int, stop: int | None, end: int, reason: str | None) -> int:
        """Report damage at ``pos``; return the offset at which valid records continue."""
        onward = self._search(pos + 1, end)
        goes_on = stop is not None and self._chain(stop, end, may_end=True, may_be_cut=True)
        if stop is not None and goes_on and onward in {None, stop}:
            if self._data[pos + 2] not in KINDS:
                self._pass_over(pos)
                return stop
            onward = stop
        if onward is None and stop is None and end < len(self._data):
            self._part_end = pos
            return end  # a part that was appended later may cut the previous record
        cut = onward is None and stop is None
        wrong = f"{reason}, which leaves {end - pos} bytes" if cut else reason or ""
        self._lose(pos, onward or end, wrong, cut=cut)
        return onward or end

    def _is_unmistakable(self, pos: int, end: int) -> bool:
        """Return whether the form of a valid record alone excludes chance."""
        stop = self._stop(pos, end) if self._data[pos + 2] in _UNMISTAKABLE else None
        return stop is not None and not self._objection(pos, stop)

    def _pass_over(self, pos: int) -> None:
        """Count a record of a newer writer."""
        kind = self._data[pos + 2]
        self.skipped[f"records of type {kind}"] += 1
        self.places.note(f"byte {pos}: a record of unknown type {kind} was skipped")

    def _search(self, pos: int, end: int) -> int | None:
        """Return the first offset of a valid record whose form or followers exclude chance."""
        while match := _HEAD.search(self._data, pos + 1, end):
            pos = match.start() - 1
            if self._is_unmistakable(pos, end) or self._chain(pos, end, may_end=False):
                return pos
            pos += 1
        return None

    def _lose(self, pos: int, onward: int, reason: str, *, cut: bool = False) -> None:
        """Raise an error for damage, or count it in salvage."""
        self._raise_if_strict(pos, reason, TruncatedError if cut else FormatError)
        self.lost_bytes += onward - pos
        self.places.note(f"byte {pos}: {reason}; {onward - pos} bytes left out")

    def complain(self, pos: int, reason: str) -> None:
        """Raise an error for an intact but inconsistent record, or note it in salvage."""
        self._raise_if_strict(pos, reason, FormatError)
        self.complaints.note(f"byte {pos}: {reason}")

    def _raise_if_strict(self, pos: int, reason: str, kind: type[FormatError]) -> None:
        if not self._salvage:
            raise kind(
                f'byte {pos}: {reason}; on_error="salvage" reads the rest',
                path=self._path,
                offset=pos,
            )
