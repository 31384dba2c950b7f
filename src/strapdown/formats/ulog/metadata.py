"""Content of a ULog other than rows: settings, parameters, texts, dropouts and times."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.formats._plausible import Tally
from strapdown.formats._rows import rows_at
from strapdown.formats.ulog.message_formats import setting
from strapdown.formats.ulog.records import ROW_HEAD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import IntArray
    from strapdown.formats.ulog.message_formats import Value
    from strapdown.formats.ulog.records import Bytes, Chunk, Record, Records, Topic

__all__ = ["Contents", "Dropout", "LogText", "ParameterChange"]

_DEFAULTS: Final = {1: "system", 2: "setup"}
_TEXT: Final = struct.Struct("<BQ")
_TAGGED: Final = struct.Struct("<BHQ")
_RECENT: Final = 64
"""Number of preceding rows whose stamps give the time of a record."""
_LONGEST_JUMP_US: Final = 60_000_000
_LONGEST_WITHOUT_SYNC_US: Final = 5_000_000


class LogText(NamedTuple):
    """A text message of the firmware."""

    t_us: int
    level: int
    """From 0, emergency, to 7, debug."""
    text: str
    tag: int | None = None
    """Number of the process, where the record has one."""


class Dropout(NamedTuple):
    """A time span that the logger lost."""

    t_us: int
    """The last stamp before."""
    duration_ms: int


class ParameterChange(NamedTuple):
    """A change of a parameter during logging."""

    t_us: int
    """The last stamp before."""
    name: str
    value: int | float


class _Seen:
    """The rows of one topic so far."""

    def __init__(self) -> None:
        self.rows = 0
        self.first_us = 0
        self.last_us = 0


class Contents:
    """Settings, parameters, texts and times, collected chunk by chunk.

    Parameters
    ----------
    data : bytes-like
        The file.
    records : Records
        Source of the chunks; decreasing stamps are reported to it.

    Attributes
    ----------
    version, start_us : int
        Of the header.
    info, multi_info, parameters : dict
        By name: values; lists of values, with continued ones joined; initial values.
    default_parameters : dict of str to dict
        By origin, "system" or "setup".
    parameter_changes, texts, dropouts : list
        In the order of the file.
    seen : dict of Topic to _Seen
        Rows and times by topic.
    """

    def __init__(self, data: Bytes, records: Records) -> None:
        self.version = data[7]
        self.start_us = int.from_bytes(data[8:16], "little")
        self.info: dict[str, Value] = {}
        self.multi_info: dict[str, list[Value]] = {}
        self.parameters: dict[str, int | float] = {}
        self.parameter_changes: list[ParameterChange] = []
        self.default_parameters: dict[str, dict[str, int | float]] = {}
        self.texts: list[LogText] = []
        self.dropouts: list[Dropout] = []
        self.seen: dict[Topic, _Seen] = {}
        self._data, self._records = data, records
        self._recent = np.array([self.start_us], np.uint64)
        self._in_data = False
        self._synced_us: int | None = None
        self._longest_without_sync_us = 0
        self._tally = Tally()

    def take(self, chunk: Chunk) -> dict[Topic, IntArray]:
        """Add a chunk; return the offsets of the rows of each topic."""
        order, found = np.argsort(chunk.slots, kind="stable"), {}
        at = np.array(self._records.timestamps_at, np.int64)[chunk.slots]
        stamps = rows_at(self._data, chunk.offsets + at, np.dtype("<u8"))
        counts = np.bincount(chunk.slots)
        groups = np.split(order, np.cumsum(counts)[:-1])
        for slot in np.flatnonzero(counts).tolist():
            offsets, topic = chunk.offsets[groups[slot]], self._records.topics[slot]
            self._see(topic, stamps[groups[slot]], offsets)
            found[topic] = offsets
        stamps = np.concatenate([self._recent, stamps])
        places = np.searchsorted(chunk.offsets, [record.offset for record in chunk.records])
        for record, place in zip(chunk.records, (places + len(self._recent)).tolist(), strict=True):
            self._take_record(record, _latest(stamps[:place]))
        self._recent = stamps[-_RECENT:].copy()
        return found

    def notes(self) -> list[str]:
        """Return notes for the user, one line each."""
        lines = self._tally.lines()
        if self.version > 1:
            lines.insert(0, f"unknown file version {self.version}, read like version 1")
        longest_us = self._longest_without_sync_us
        if self._synced_us is not None:
            longest_us = max(longest_us, _latest(self._recent) - self._synced_us)
        if longest_us > _LONGEST_WITHOUT_SYNC_US:
            lines.append(f"no sync record for {longest_us / 1e6:.1f} s")
        if self.dropouts:
            lost_ms = sum(dropout.duration_ms for dropout in self.dropouts)
            lines.append(f"dropouts: {len(self.dropouts)}, together {lost_ms} ms")
        return lines

    def _see(self, topic: Topic, stamps: NDArray[np.uint64], offsets: IntArray) -> None:
        """Count rows, and report implausible times."""
        seen = self.seen.setdefault(topic, _Seen())
        if not seen.rows:
            seen.first_us = seen.last_us = int(stamps[0])
        before = np.append(np.uint64(seen.last_us), stamps[:-1])
        back = stamps < before
        if back.any():
            row = int(back.argmax())
            self._records.complain(
                int(offsets[row]) - ROW_HEAD,
                f"expected stamps of {topic.name} {topic.multi_id} that never go back, got "
                f"{stamps[row]} after {before[row]} us in row {seen.rows + row}",
            )
        odd = {
            "a stamp more than 60 s after the previous one": ~back
            & (stamps - before > _LONGEST_JUMP_US),
            "a stamp more than 60 s before the log": stamps
            < max(0, self.start_us - _LONGEST_JUMP_US),
        }
        self._tally.add(f"{topic.name} {topic.multi_id}", odd, start=seen.rows)
        seen.rows += len(stamps)
        seen.last_us = int(stamps[-1])

    def _sync(self, t_us: int) -> None:
        """Update the longest time between two sync records."""
        since = t_us - (self.start_us if self._synced_us is None else self._synced_us)
        self._longest_without_sync_us = max(self._longest_without_sync_us, since)
        self._synced_us = t_us

    def _take_record(self, record: Record, t_us: int) -> None:
        kind, payload = record.kind, record.payload
        if kind in "IMPQ":
            self._take_setting(kind, payload, t_us)
        elif kind == "S":
            self._sync(t_us)
        elif kind == "O":
            self.dropouts.append(Dropout(t_us, int.from_bytes(payload, "little")))
        elif kind == "L":
            level, stamp = _TEXT.unpack_from(payload)
            self.texts.append(LogText(stamp, level - ord("0"), _decoded(payload[_TEXT.size :])))
        elif kind == "C":
            level, tag, stamp = _TAGGED.unpack_from(payload)
            text = _decoded(payload[_TAGGED.size :])
            self.texts.append(LogText(stamp, level - ord("0"), text, tag))
        self._in_data |= kind in "ALC"

    def _take_setting(self, kind: str, payload: bytes, t_us: int) -> None:
        held = setting(payload[kind in "MQ" :])
        if held is None:
            return
        if kind == "I":
            self.info[held.name] = held.value
        elif kind == "M":
            values = self.multi_info.setdefault(held.name, [])
            joined = _joined(values[-1], held.value) if values and payload[0] else None
            if joined is None:
                values.append(held.value)
            else:
                values[-1] = joined
        elif isinstance(held.value, int | float):
            if kind == "Q":
                for bit, whose in _DEFAULTS.items():
                    if payload[0] & bit:
                        self.default_parameters.setdefault(whose, {})[held.name] = held.value
            elif self._in_data:
                self.parameter_changes.append(ParameterChange(t_us, held.name, held.value))
            else:
                self.parameters[held.name] = held.value


def _latest(stamps: NDArray[np.uint64]) -> int:
    """Return the latest of the last stamps, without implausible ones."""
    recent = stamps[-_RECENT:]
    latest = int(recent.max())
    if latest - int(recent.min()) > _LONGEST_JUMP_US:
        middle = int(np.sort(recent)[len(recent) // 2])
        latest = int(recent[recent <= middle + _LONGEST_JUMP_US].max())
    return latest


def _joined(first: Value, second: Value) -> Value | None:
    """Return a value joined with its continuation; None for numbers."""
    if isinstance(first, str) and isinstance(second, str):
        return first + second
    if isinstance(first, bytes) and isinstance(second, bytes):
        return first + second
    if isinstance(first, tuple) and isinstance(second, tuple):
        return first + second
    return None


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace")
