"""A PX4 log in full: every topic, parameter and text of a ULog.

:func:`strapdown.formats.open` returns the motion in a log as series; this module reads the log
itself. Its rows are decoded from the offsets that our own scan of the file found.

ULog has no checksum. Damage to the framing is detected; a flipped bit in a value only where the
value becomes implausible, which is noted.

References
----------
PX4 ULog file format, https://docs.px4.io/main/en/dev_log/ulog_file_format.html
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from strapdown.errors import FormatError, UnknownNameError
from strapdown.formats._rows import rows_at
from strapdown.formats.reports import ReadReport
from strapdown.formats.ulog.metadata import Contents, Dropout, LogText, ParameterChange
from strapdown.formats.ulog.pyulog_check import second_opinion
from strapdown.formats.ulog.records import Records, Topic, load_bytes
from strapdown.messages.px4_versions import upgrade

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from numpy.typing import NDArray

    from strapdown._typing import IntArray
    from strapdown.formats.ulog.message_formats import Formats, Value
    from strapdown.messages.px4_versions import Upgraded
    from strapdown.messages.uorb import UorbMessage

__all__ = [
    "Dropout",
    "LogText",
    "ParameterChange",
    "Px4Log",
    "Topic",
    "TopicSummary",
    "load",
    "scan_ulog",
]


class TopicSummary(NamedTuple):
    """One instance of a topic."""

    rows: int
    first_us: int
    """Its first and last stamp; 0 where it has no rows."""
    last_us: int
    format: str
    """Its fields, as text of the FORMAT record."""


@dataclass(frozen=True, eq=False)
class Px4Log:
    """The content of a ULog; rows are read from the file on request.

    Parameters
    ----------
    path : Path
        The file.
    version : int
        Of the file format: 0 in 2016, later 1.
    start_us : int
        Start of the log, on the clock of its stamps [us].
    info : mapping of str to value
        Text for char, bytes for uint8_t[n], a tuple for other arrays, else a number.
    multi_info : mapping of str to tuple of values
        Information with several values; continued pieces are joined.
    parameters : mapping of str to int or float
        Values at the start.
    parameter_changes : tuple of ParameterChange
        ``(t_us, name, value)``, in the order of the file.
    default_parameters : mapping of str to mapping
        Defaults that differ from the values, by ``"system"`` and ``"setup"``.
    texts : tuple of LogText
        ``(t_us, level, text, tag)``.
    dropouts : tuple of Dropout
        ``(t_us, duration_ms)``.
    topics : mapping of (str, int) to TopicSummary
        By name and instance, every subscription.
    counts : mapping of str to int
        Whole records by the letter of their type.
    report : ReadReport
        Damage and notes.
    """

    path: Path
    version: int
    start_us: int
    info: Mapping[str, Value]
    multi_info: Mapping[str, tuple[Value, ...]]
    parameters: Mapping[str, int | float]
    parameter_changes: tuple[ParameterChange, ...]
    default_parameters: Mapping[str, Mapping[str, int | float]]
    texts: tuple[LogText, ...]
    dropouts: tuple[Dropout, ...]
    topics: Mapping[tuple[str, int], TopicSummary]
    counts: Mapping[str, int]
    report: ReadReport
    _formats: Formats = field(repr=False)
    _offsets: Mapping[Topic, IntArray] = field(repr=False)
    _state: tuple[int, int] = field(repr=False)

    def instances(self, topic: str) -> list[int]:
        """Return the instances of a topic that have rows."""
        return sorted(
            multi_id
            for (name, multi_id), found in self.topics.items()
            if name == topic and found.rows
        )

    def rows(self, name: str, multi_id: int = 0) -> NDArray[np.void]:
        """Read the rows of one topic in the format of the file.

        Parameters
        ----------
        name : str
            Such as ``"sensor_combined"``.
        multi_id : int
            Instance.

        Returns
        -------
        (N,) structured array
            With the fields of the format: arrays as subarrays, char[n] as bytes, nested formats
            as nested records; padding has no name.

        Raises
        ------
        UnknownNameError
            The log has no such topic; the message gives the nearest.
        FormatError
            The file changed since it was read.
        """
        if (name, multi_id) not in self.topics:
            known = [f"{known} {instance}" for known, instance in self.topics]
            raise UnknownNameError("topic", f"{name} {multi_id}", known)
        if _state(self.path) != self._state:
            raise FormatError("expected the file that was read, it was changed", path=self.path)
        topic = Topic(name, multi_id)
        offsets = self._offsets.get(topic, np.empty(0, np.int64))
        return rows_at(load_bytes(self.path), offsets, self._formats.dtype(name))

    def records(
        self, kind: type[UorbMessage], multi_id: int = 0, *, topic: str | None = None
    ) -> Upgraded:
        """Read the rows of one topic as current messages.

        Parameters
        ----------
        kind : type of UorbMessage
            Such as :class:`~strapdown.messages.px4.VehicleImu`.
        multi_id : int
            Instance.
        topic : str, optional
            Another topic of the same form, such as ``"vehicle_attitude_groundtruth"``.

        Returns
        -------
        Upgraded
            The messages as an array of ``kind.dtype``, and the fields that this log lacks.

        Raises
        ------
        UnknownNameError, FormatError
            As :meth:`rows`; FormatError also where a field has another type.
        """
        try:
            return upgrade(self.rows(topic or kind.topic, multi_id), kind)
        except FormatError as error:
            raise FormatError(error.message, path=self.path, topic=topic or kind.topic) from error


def load(path: str | PathLike[str], *, salvage: bool = False) -> Px4Log:
    """Read a ULog, and check the count of rows against pyulog.

    Parameters
    ----------
    path : path-like
        The file. Those above 256 MB are only scanned.
    salvage : bool
        Count damaged records and leave them out, instead of raising an error.

    Returns
    -------
    Px4Log

    Raises
    ------
    TruncatedError
        The file ends inside a record.
    UnsupportedError
        The flags of the file require an unknown feature.
    FormatError
        The file is not a ULog, a record is damaged (``offset`` is that of the record), or pyulog
        disagrees.
    """
    return _load(Path(path), salvage=salvage, confirm=True)


def scan_ulog(path: str | PathLike[str], *, salvage: bool = False) -> Px4Log:
    """Read a ULog like :func:`load`, but without the check against pyulog.

    Parameters
    ----------
    path : path-like
        The file.
    salvage : bool
        Count damaged records and leave them out, instead of raising an error.

    Returns
    -------
    Px4Log

    Raises
    ------
    TruncatedError, UnsupportedError, FormatError
        As :func:`load`.
    """
    return _load(Path(path), salvage=salvage, confirm=False)


def _load(path: Path, *, salvage: bool, confirm: bool) -> Px4Log:
    state, data = _state(path), load_bytes(path)
    records = Records(data, path=path, salvage=salvage)
    contents = Contents(data, records)
    found: dict[Topic, list[IntArray]] = {}
    for chunk in records.chunks():
        for topic, offsets in contents.take(chunk).items():
            found.setdefault(topic, []).append(offsets)
    offsets_by_topic = {topic: np.concatenate(parts) for topic, parts in found.items()}
    report = read_report(records, contents)
    if confirm and report.lossless:
        try:
            said = second_opinion(data, records, offsets_by_topic, path=path)
            report = replace(report, notes=(*report.notes, *said))
        except FormatError as error:
            if not salvage:
                raise
            report = replace(report, damage=(error.message,))
    return Px4Log(
        path=path,
        version=contents.version,
        start_us=contents.start_us,
        info=MappingProxyType(contents.info),
        multi_info=MappingProxyType({k: tuple(held) for k, held in contents.multi_info.items()}),
        parameters=MappingProxyType(contents.parameters),
        parameter_changes=tuple(contents.parameter_changes),
        default_parameters=MappingProxyType(contents.default_parameters),
        texts=tuple(contents.texts),
        dropouts=tuple(contents.dropouts),
        topics=MappingProxyType({k: _summary(k, records, contents) for k in records.topics}),
        counts=MappingProxyType(dict(records.counts)),
        report=report,
        _formats=records.formats,
        _offsets=offsets_by_topic,
        _state=state,
    )


def read_report(records: Records, contents: Contents) -> ReadReport:
    """Return the report of a completed walk."""
    return ReadReport(
        "ulog",
        messages=records.counts["D"],
        lost_bytes=records.lost_bytes,
        skipped=dict(records.skipped),
        notes=(*records.places.lines(), *contents.notes()),
        damage=tuple(records.complaints.lines()),
    )


def _summary(topic: Topic, records: Records, contents: Contents) -> TopicSummary:
    text, seen = records.formats.text[topic.name], contents.seen.get(topic)
    if seen is None:
        return TopicSummary(0, 0, 0, text)
    return TopicSummary(seen.rows, seen.first_us, seen.last_us, text)


def _state(path: Path) -> tuple[int, int]:
    """Return size and modification time, by which a changed file is detected."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns
