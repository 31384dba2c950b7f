"""Copying of a PX4 log's infos, parameters, texts and dropouts into another log."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.formats.ulog.series import AIDING, TOPICS
from strapdown.formats.ulog.source_rows import SourceRows
from strapdown.formats.ulog.writer import LoggedRows
from strapdown.messages.px4 import VehicleImu, VehicleImuStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from strapdown.formats.px4.log import Px4Log
    from strapdown.formats.ulog.message_formats import Value
    from strapdown.formats.ulog.writer import UlogWriter
    from strapdown.messages.uorb import UorbMessage

__all__ = ["LogCopy", "Part"]

_BOOT: Final = "boot_time_utc_us"
_STATUS: Final = VehicleImuStatus.topic
_CARRIED: Final = TOPICS - {"vehicle_magnetometer"} - AIDING | {_STATUS}
"""Topics whose rows are written again; magnetometers are already joined to their IMU."""


class Part(NamedTuple):
    """Rows of one instance of a topic, as LoggedRows, always an array."""

    kind: type[UorbMessage] | str
    multi_id: int
    records: NDArray[np.void]
    topic: str | None = None


class _Event(NamedTuple):
    """A record with a time."""

    t_us: int
    what: str
    write: Callable[..., None]


class LogCopy:
    """Writer of rows that adds infos, parameters, texts, dropouts and status of the source log.

    Parameters
    ----------
    log : Px4Log
        The source log.
    writer : UlogWriter
        The target, without rows so far.
    shift_us : int
        Offset added to all stamps [us].
    topic : str, optional
        The only selected topic; then the others do not count as lost.
    """

    def __init__(
        self, log: Px4Log, writer: UlogWriter, *, shift_us: int = 0, topic: str | None = None
    ) -> None:
        self._log, self._writer, self._shift_us = log, writer, shift_us
        self._rows = SourceRows(log, shift_us)
        self._refused: dict[str, None] = {}
        self._status: list[Part] = []
        self._events: list[_Event] | None = None
        names = {name for name, _ in log.topics if log.instances(name)}
        self._left = [] if topic else sorted(names - _CARRIED)
        self._write_settings()
        for instance in log.instances(_STATUS):
            if topic in {None, f"{VehicleImu.topic}.{instance}"}:
                self._take_status(instance)

    @property
    def lost(self) -> list[str]:
        """Content that is not in the file: a line for topics, and one for the rest."""
        lines = self._rows.lost
        if self._left:
            lines.append(f"topics that are not carried over: {', '.join(self._left)}")
        if self._refused:
            lines.append(f"not carried over, unfit for a ULog: {', '.join(self._refused)}")
        return lines

    def restored(self, source: str, part: Part) -> Part:
        """Return rows of a series, as in the log where they are unchanged."""
        kind, _, records, topic = part
        if isinstance(kind, str):
            return part
        return part._replace(
            records=self._rows.restored(source, kind, topic or kind.topic, records)
        )

    def write(self, rows: list[Part]) -> None:
        """Write rows, and the records of the source log up to the last of them, by time."""
        rows = [_in_order(each) for each in rows if len(each.records)]
        if not rows:
            return
        if self._events is None:
            first_us = min(int(_stamps(each)[0]) for each in rows)
            self._events = sorted(self._found(first_us), key=attrgetter("t_us"))
        last_us = max(int(_stamps(each)[-1]) for each in rows)
        rows += self._status
        while self._events and self._events[0].t_us <= last_us:
            event = self._events.pop(0)
            rows = self._write_until(event.t_us, rows)
            self._say(event)
        self._status = self._write_until(last_us, rows)

    def finish(self) -> None:
        """Write the remaining records after all rows."""
        self._writer.write_many(LoggedRows(*each) for each in self._status)
        for event in self._events or ():
            self._say(event)

    def _write_settings(self) -> None:
        """Write the infos and parameters before the data."""
        log, writer = self._log, self._writer
        for key, value in log.info.items():
            if not (key == _BOOT and self._shift_us):  # shifted stamps count from 1970 already
                with self._refusing(f"info {key}"):
                    writer.add_info(key, _single(value))
        for key, values in log.multi_info.items():
            for value in values:
                with self._refusing(f"info {key}"):
                    writer.add_multi_info(key, _single(value))
        for name, number in log.parameters.items():
            with self._refusing(f"parameter {name}"):
                writer.add_parameter(name, number)
        for whose, defaults in log.default_parameters.items():
            system = whose == "system"
            for name, number in defaults.items():
                with self._refusing(f"default of {name}"):
                    writer.add_default_parameter(name, number, system=system, setup=not system)

    def _take_status(self, instance: int) -> None:
        rows = self._log.rows(_STATUS, instance).copy()
        with self._refusing(_STATUS):
            self._writer.declare(rows.dtype, _STATUS)
            rows["timestamp"] += np.uint64(self._shift_us)
            self._status.append(_in_order(Part(_STATUS, instance, rows)))

    def _found(self, first_us: int) -> Iterator[_Event]:
        """Yield records other than rows; no parameter changes before the first row."""
        log, writer, shift_us = self._log, self._writer, self._shift_us
        for t_us, name, value in log.parameter_changes:
            write: Callable[..., None] = partial(writer.add_parameter, name, value)
            yield _Event(max(t_us + shift_us, first_us), f"change of {name}", write)
        for t_us, duration_ms in log.dropouts:
            yield _Event(t_us + shift_us, "a dropout", partial(writer.dropout, duration_ms))
        for t_us, level, text, tag in log.texts:
            write = partial(writer.log, level, text=text, tag=tag)
            yield _Event(t_us + shift_us, "a text", write)

    def _say(self, event: _Event) -> None:
        with self._refusing(event.what):
            event.write(t_us=event.t_us)

    def _write_until(self, t_us: int, rows: list[Part]) -> list[Part]:
        """Write rows up to a time; return the others."""
        cuts = [int(_stamps(each).searchsorted(np.uint64(t_us), "right")) for each in rows]
        both = list(zip(rows, cuts, strict=True))
        self._writer.write_many(
            LoggedRows(kind, multi_id, records[:cut], topic)
            for (kind, multi_id, records, topic), cut in both
        )
        return [
            each._replace(records=each.records[cut:])
            for each, cut in both
            if cut < len(each.records)
        ]

    @contextmanager
    def _refusing(self, what: str) -> Iterator[None]:
        """Store the name of an entry that a ULog cannot hold."""
        try:
            yield
        except ValueRangeError:
            self._refused[what] = None


def _single(value: Value) -> str | bytes | float:
    """Return a value; raise ValueRangeError for an array of numbers."""
    if isinstance(value, tuple):
        raise ValueRangeError(f"expected one number, got {len(value)}")
    return value


def _stamps(rows: Part) -> NDArray[np.uint64]:
    stamps: NDArray[np.uint64] = rows.records["timestamp"]
    return stamps


def _in_order(rows: Part) -> Part:
    return rows._replace(records=rows.records[np.argsort(_stamps(rows), kind="stable")])
