"""ULog as records: which of them are whole, and where a file is damaged.

A ULog is a header of 16 bytes and then records ``u16 size, u8 type, payload``. It carries no
checksum, and pyulog reads on over most damage in silence. So the records are walked here
first: a size is compared with what is there and with what the type and the format of the
topic allow, and only whole records of the wanted topics are handed on.

References
----------
PX4 ULog file format, https://docs.px4.io/main/en/dev_log/ulog_file_format.html
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown.errors import FormatError, TruncatedError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

__all__ = ["MAGIC", "Selection", "select"]

MAGIC: Final = b"ULog\x01\x12\x35"
_SYNC: Final = b"\x2f\x73\x13\x20\x25\x0c\xbb\x12"
_HEADER_SIZE: Final = 16
_RECORD: Final = struct.Struct("<HB")
_FLAGS: Final = struct.Struct("<8s8s3Q")
_SUBSCRIPTION: Final = struct.Struct("<BH")

_LEAST_SIZE: Final = dict(zip(b"FIMPQARDLCSO", (3, 3, 4, 3, 4, 4, 2, 10, 9, 11, 8, 2), strict=True))
_DATA: Final = ord("D")
_EXACT_SIZES: Final = frozenset(b"RSO")
_HEAD: Final = re.compile(b"[\\x00-\\x0f][FIMPQARDLCSO]")  # of a record below 4 KiB

_BASIC_SIZE: Final = {
    **dict.fromkeys(("int8_t", "uint8_t", "bool", "char"), 1),
    **dict.fromkeys(("int16_t", "uint16_t"), 2),
    **dict.fromkeys(("int32_t", "uint32_t", "float"), 4),
    **dict.fromkeys(("int64_t", "uint64_t", "double"), 8),
}
_FORMAT: Final = re.compile(r"([\w/-]+):((?:[^;]+;)+)", re.ASCII)
_FIELD: Final = re.compile(r"([\w/-]+)(?:\[(\d{1,5})\])? (\w+)", re.ASCII)
_KEY: Final = re.compile(r"(\w+)(?:\[(\d{1,5})\])? ([!-~]+)", re.ASCII)
_DEEPEST_NESTING: Final = 16
_LARGEST_FORMAT: Final = 65_535
_LARGEST_WANTED: Final = 1024  # pyulog makes an object of every field
_CUT: Final = "the file ends inside this record"
_CHAIN: Final = 3
_NOTES_KEPT: Final = 20


@dataclass(frozen=True)
class Selection:
    """The whole records of the wanted topics.

    Parameters
    ----------
    ulog : bytes
        A ULog of one part that holds their formats, subscriptions, data, and the dropouts.
    rows : int
        Data records in it.
    lost_bytes : int
        Bytes of the file that belong to no whole record.
    skipped : mapping of str to int
        Data records of other topics, by topic, and records of unknown type.
    notes : tuple of str
        Where the file is damaged.
    """

    ulog: bytes
    rows: int
    lost_bytes: int
    skipped: dict[str, int]
    notes: tuple[str, ...]


class _Field(NamedTuple):
    kind: str
    times: int
    name: str


class _Topic(NamedTuple):
    """A subscription; data has ``least`` to ``most`` bytes (PX4 leaves trailing padding out)."""

    name: str
    multi_id: int
    least: int
    most: int
    wanted: bool


def select(data: bytes, topics: Collection[str], *, path: Path, salvage: bool) -> Selection:
    """Walk the records of a ULog and select those of some topics.

    Parameters
    ----------
    data : bytes
        The file.
    topics : collection of str
        Names of the wanted topics.
    path : Path
        For messages.
    salvage : bool
        Whether damaged records are counted and left out, rather than raised.

    Raises
    ------
    TruncatedError
        The file ends inside a record.
    UnsupportedError
        The file says that it cannot be read without a feature that is unknown.
    FormatError
        This is no ULog, or a record is damaged: the offset is that of the record.
    """
    if not data.startswith(MAGIC[: len(data)]) or not data:
        raise FormatError(f"expected a ULog, got a file that begins with {data[:7]!r}", path=path)
    if len(data) < _HEADER_SIZE:
        raise TruncatedError("the file ends inside its header", path=path, offset=0)
    walk = _Walk(data, topics, path=path, salvage=salvage)
    walk.run()
    return walk.selection()


def _is_setting(payload: bytes) -> bool:
    """Tell whether this is a length, a key ``type name`` and a value that has its type's size."""
    key, value = payload[1 : 1 + payload[0]], payload[1 + payload[0] :]
    match = _KEY.fullmatch(key.decode("ascii", "replace"))
    if match is None:
        return False
    return len(value) == _BASIC_SIZE.get(match[1], 0) * int(match[2] or 1)


def _topic_name(subscription: bytes) -> str:
    return subscription[_SUBSCRIPTION.size :].decode("ascii", "replace")


class _Walk:
    """One walk over the records."""

    def __init__(self, data: bytes, topics: Collection[str], *, path: Path, salvage: bool) -> None:
        self._data = data
        self._wanted = topics
        self._path = path
        self._salvage = salvage
        self._formats: dict[str, list[_Field]] = {}
        self._topics: dict[int, _Topic] = {}
        self._instances: set[tuple[str, int]] = set()
        self._sizes = dict(_BASIC_SIZE)
        self._format_records: list[bytes] = []
        self._records: list[bytes] = []
        self._rows = 0
        self._skipped: Counter[str] = Counter()
        self._lost_bytes = 0
        self._damages = 0
        self._notes: list[str] = []

    def selection(self) -> Selection:
        header = self._data[:_HEADER_SIZE]
        ulog = b"".join([header, *self._format_records, *self._records])
        more = self._damages - len(self._notes)
        notes = (*self._notes, *([f"and {more} more places"] if more else []))
        return Selection(ulog, self._rows, self._lost_bytes, dict(self._skipped), notes)

    def run(self) -> None:
        for begin, end in pairwise(self._bounds()):
            pos = begin
            while pos < end:
                stop = self._stop(pos, end)
                wrong = _CUT if stop is None else self._take(pos, stop, end)
                pos = self._leave_out(pos, stop, end, wrong) if stop is None or wrong else stop

    def _bounds(self) -> list[int]:
        """Return where the parts of the file begin and end; appended parts are rare."""
        data, start = self._data, _HEADER_SIZE
        whole = [start, len(data)]
        stop = self._stop(start, len(data))
        if stop is None or data[start + 2] != ord("B"):
            return whole
        if stop - start - _RECORD.size < _FLAGS.size:
            self._report(start, stop, "expected flags of 40 bytes")
            return [stop, len(data)]
        _, incompatible, *offsets = _FLAGS.unpack_from(data, start + _RECORD.size)
        if incompatible[0] & ~1 or any(incompatible[1:]):
            raise UnsupportedError(
                f"expected no flags that forbid reading, got {incompatible.hex()}",
                path=self._path,
                offset=start,
            )
        parts = [offset for offset in offsets if offset]
        bounds = [stop, *parts, len(data)]
        if bool(parts) != bool(incompatible[0]) or bounds != sorted(bounds):
            wrong = f"expected offsets of appended parts in {len(data)} bytes, got {parts}"
            self._report(start, stop, wrong, cut=bool(parts) and parts[-1] > len(data))
            return [stop, len(data)]
        return bounds

    def _stop(self, pos: int, end: int) -> int | None:
        """Return the offset after the record at ``pos``; None where that is beyond ``end``."""
        if pos + _RECORD.size > end:
            return None
        stop = pos + _RECORD.size + int.from_bytes(self._data[pos : pos + 2], "little")
        return stop if stop <= end else None

    def _objection(self, pos: int, stop: int) -> str | None:
        """Say what is wrong with a record, as far as it can be told from the record alone."""
        start, kind = pos + _RECORD.size, self._data[pos + 2]
        size, least = stop - start, _LEAST_SIZE.get(kind)
        if least is None:
            return f"expected a record type, got byte {kind}"
        if size < least or (size > least and kind in _EXACT_SIZES):
            return f"expected {least} bytes in a record of type {chr(kind)}, got {size}"
        if kind != _DATA:
            return self._objection_to(kind, self._data[start:stop])
        topic = self._topics.get(int.from_bytes(self._data[start : start + 2], "little"))
        if topic and not topic.least <= size - 2 <= topic.most:
            return f"expected {topic.least} bytes of {topic.name}, got {size - 2}"
        if not topic and size - 2 not in self._row_sizes:
            return "expected data of a subscribed topic"
        return None

    def _objection_to(self, kind: int, payload: bytes) -> str | None:
        """Say what is wrong with the payload of a record that is no data."""
        sound, expected = True, ""
        if kind == ord("S"):
            sound, expected = payload == _SYNC, "the bytes of a sync record"
        elif kind in b"LC":
            sound, expected = payload[0] in b"01234567", "a level of 0 to 7 in a text"
        elif kind in b"IMPQ":
            sound = _is_setting(payload[kind in b"MQ" :])
            expected = "'type name' and a value of that type"
        elif kind == ord("F"):
            sound = bool(_FORMAT.fullmatch(payload.decode("ascii", "replace")))
            expected = "a format 'name:type field;...'"
        elif kind == ord("A"):
            name = _topic_name(payload)
            sound, expected = name in self._formats, f"a topic with a format, got {name[:40]!r}"
        return None if sound else f"expected {expected}"

    def _chain(self, pos: int, end: int, *, may_end: bool) -> bool:
        """Tell whether records follow each other from ``pos``, so that it is no chance."""
        for _ in range(_CHAIN):
            if pos == end:
                return may_end
            stop = self._stop(pos, end)
            if stop is None or self._objection(pos, stop):
                return False
            pos = stop
        return True

    def _take(self, pos: int, stop: int, end: int) -> str | None:
        """Take a record in; return what is wrong with it, or None."""
        kind = self._data[pos + 2]
        if kind not in _LEAST_SIZE and self._chain(stop, end, may_end=True):
            self._skipped[f"records of type {kind}"] += 1  # of a newer writer
            return None
        wrong = self._objection(pos, stop)
        if wrong:
            return wrong
        if kind == _DATA:
            return self._take_row(pos)
        if kind == ord("F"):
            return self._take_format(self._data[pos:stop])
        if kind == ord("A"):
            return self._take_subscription(self._data[pos:stop])
        if kind == ord("O"):
            self._records.append(self._data[pos:stop])
        return None

    def _take_row(self, pos: int) -> str | None:
        start = pos + _RECORD.size
        topic = self._topics.get(int.from_bytes(self._data[start : start + 2], "little"))
        if topic is None:
            return "expected data of a subscribed topic"
        if topic.wanted:
            self._rows += 1
            size = 2 + topic.least
            self._records.append(_RECORD.pack(size, _DATA) + self._data[start : start + size])
        else:
            self._skipped[topic.name] += 1
        return None

    def _take_format(self, record: bytes) -> str | None:
        match = _FORMAT.fullmatch(record[_RECORD.size :].decode("ascii", "replace"))
        found = [_FIELD.fullmatch(text) for text in match[2].split(";")[:-1]] if match else []
        fields = [_Field(each[1], int(each[2] or 1), each[3]) for each in found if each]
        names = {each.name for each in fields if each.times}
        if not match or len(names) < len(found):
            return "expected a format of different fields"
        if self._topics or self._formats.setdefault(match[1], fields) != fields:
            return f"expected one format of {match[1]}, before all subscriptions"
        self._format_records.append(record)
        return None

    def _take_subscription(self, record: bytes) -> str | None:
        multi_id, msg_id = _SUBSCRIPTION.unpack_from(record, _RECORD.size)
        name = _topic_name(record[_RECORD.size :])
        size = self._size(name)
        if not size:
            return f"expected a format of {name[:40]!r} without loops, below 64 KiB"
        topic = _Topic(name, multi_id, size - self._padding(name), size, name in self._wanted)
        if msg_id in self._topics or (name, multi_id) in self._instances:
            return f"expected a new subscription, got {name} {multi_id} as message {msg_id} again"
        stamped = _Field("uint64_t", 1, "timestamp") in self._formats[name]
        if topic.wanted and (size > _LARGEST_WANTED or not stamped):
            return f"expected a format of {name} with a timestamp, and below 1 KiB"
        self._topics[msg_id] = topic
        self._instances.add((name, multi_id))
        if topic.wanted:
            self._records.append(record)
        return None

    def _size(self, kind: str, depth: int = 0) -> int:
        """Return the size of a type [bytes]; 0 where it is unknown, endless or huge."""
        if kind in self._sizes:
            return self._sizes[kind]
        if depth > _DEEPEST_NESTING or kind not in self._formats:
            return 0
        total = 0
        for each in self._formats[kind]:
            size = self._size(each.kind, depth + 1)
            total += each.times * size
            if not size or total > _LARGEST_FORMAT:
                total = 0
                break
        self._sizes[kind] = total
        return total

    def _padding(self, name: str) -> int:
        """Return the bytes at the end of a format that a row may leave out."""
        trailing = takewhile(
            lambda each: each.name.startswith("_padding"), reversed(self._formats[name])
        )
        return sum(each.times * self._size(each.kind) for each in trailing)

    @cached_property
    def _row_sizes(self) -> frozenset[int]:
        """Bytes that a row of any topic may have; asked for after the formats."""
        sizes = {name: self._size(name) for name in self._formats}
        whole = {size for size in sizes.values() if size}
        return frozenset(
            whole | {size - self._padding(name) for name, size in sizes.items() if size}
        )

    def _leave_out(self, pos: int, stop: int | None, end: int, reason: str | None) -> int:
        """Report damage at ``pos``; return where sound records go on."""
        onward = self._search(pos + 1, end)
        if onward is None and stop is not None and self._chain(stop, end, may_end=True):
            onward = stop
        if onward is None and stop is None and end < len(self._data):
            return end  # a part that was appended later may cut the record before it
        self._report(pos, onward or end, reason or "", cut=onward is None and stop is None)
        return onward or end

    def _search(self, pos: int, end: int) -> int | None:
        """Return the first offset from which a chain of sound records leads on."""
        while match := _HEAD.search(self._data, pos + 1, end):
            pos = match.start() - 1
            if self._chain(pos, end, may_end=False):
                return pos
            pos += 1
        return None

    def _report(self, pos: int, onward: int, reason: str, *, cut: bool = False) -> None:
        """Raise damage, or count it."""
        if not self._salvage:
            kind = TruncatedError if cut else FormatError
            raise kind(
                f'byte {pos}: {reason}; on_error="salvage" reads what is whole',
                path=self._path,
                offset=pos,
            )
        self._lost_bytes += onward - pos
        self._damages += 1
        if self._damages <= _NOTES_KEPT:
            self._notes.append(f"byte {pos}: {reason}; {onward - pos} bytes left out")
