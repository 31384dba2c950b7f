"""Writing of ULog, the log of PX4, from arrays or single messages, also live.

The file has the order that readers rely on: header, flags, formats, infos, parameters, then data,
each topic subscribed immediately before its first row. Stamps of one message id never decrease;
a sync record precedes each half second of log time.

References
----------
PX4 ULog file format, https://docs.px4.io/main/en/dev_log/ulog_file_format.html
"""

from __future__ import annotations

import struct
from contextlib import ExitStack, suppress
from os import PathLike, fsync
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.formats._output import replacing
from strapdown.formats.ulog.header import NewFront, OldFront
from strapdown.formats.ulog.ordered_output import LiveQueue, OrderedStream
from strapdown.formats.ulog.record_encoding import SYNC, data, form_of, record, setting, single
from strapdown.messages._by_column import as_records

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import BinaryIO, Self

    from numpy.typing import NDArray

    from strapdown.formats.ulog.record_encoding import Form, Rows
    from strapdown.messages.uorb import UorbMessage

    Kind: TypeAlias = type[UorbMessage] | str

__all__ = ["LoggedRows", "UlogWriter"]

_REORDER_US: Final = 100_000
_LONGEST_DROPOUT_MS: Final = 65_535
_US_PER_MS: Final = 1000


class LoggedRows(NamedTuple):
    """Rows of one instance of a topic.

    Parameters
    ----------
    kind : type of UorbMessage, or str
        A message class, or the name of a topic, whose format then follows from the records.
    multi_id : int
        Number of the instance, 0 to 255.
    records : (N,) structured array, or one message
        Of ``kind.dtype``, or of any type with a field ``timestamp`` of uint64 [us].
    topic : str, optional
        Name of the topic, if it differs from that of the class.
    """

    kind: Kind
    multi_id: int
    records: NDArray[np.void] | UorbMessage
    topic: str | None = None


class UlogWriter:
    """Writer of one ULog.

    A context manager. A file is ``NAME.partial`` until it is closed; where the block ends with an
    exception, it is removed. A stream is flushed and stays open.

    Formats, infos and parameters precede all data: declare topics that are not passed to
    :meth:`write` before the first rows are written (rows wait for ``reorder_us``).

    Parameters
    ----------
    target : path-like or BinaryIO
        The file, or a stream for its bytes.
    start_us : int, optional
        Time in the header [us]; by default the first stamp.
    reorder_us : int
        Longest time by which a record may be earlier than the latest one before it [us]. Rows that
        are later than that and would make stamps decrease are counted and left out.
    queue_bytes : int, optional
        Size of a queue to a writing thread [bytes], so that logging never waits for the disk. Rows
        that do not fit are counted, and a dropout marks their place. By default writing waits, and
        nothing is dropped.
    force : bool
        Replace a file that exists.
    append : bool
        Append to an existing file, three times at most. Its formats apply; data written before an
        exception stay in the file.

    Attributes
    ----------
    dropped_rows : int
        Rows that did not fit into the queue.

    Raises
    ------
    FileExistsError
        The file exists, or is being written, and neither ``force`` nor ``append``.
    FormatError
        The file to append to is not a ULog; UnsupportedError where its flags have no free entry.

    Examples
    --------
    >>> with UlogWriter("run.ulg", start_us=0) as log:  # doctest: +SKIP
    ...     log.add_info("sys_name", "PX4")
    ...     log.write(VehicleImu, 0, records)
    """

    def __init__(  # noqa: PLR0913 (keyword options)
        self,
        target: str | PathLike[str] | BinaryIO,
        *,
        start_us: int | None = None,
        reorder_us: int = _REORDER_US,
        queue_bytes: int | None = None,
        force: bool = False,
        append: bool = False,
    ) -> None:
        self.dropped_rows = 0
        self._keys: set[tuple[str, str]] = set()
        self._forms: dict[str, Form] = {}
        self._subscriptions: dict[int, bytes] = {}
        self._logging, self._closed = append, False
        self._dropped_us: int | None = None
        with ExitStack() as stack:
            self._front: NewFront | OldFront = NewFront(start_us)
            if isinstance(target, str | PathLike) and append:
                path = Path(target)
                target = stack.enter_context(path.open("r+b"))
                self._front = OldFront(path, target)
            elif isinstance(target, str | PathLike):
                partial = stack.enter_context(replacing(Path(target), force=force))
                target = stack.enter_context(partial.open("wb"))
            self._target = target
            self._ids = self._front.message_ids
            self._newest_us = max(self._front.written_us.values(), default=start_us or 0)
            self._stream = OrderedStream(
                target, reorder_us, self._front.head, self._subscriptions, self._front.written_us
            )
            self._queue = LiveQueue(self._stream.take, queue_bytes) if queue_bytes else None
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
            return
        self._closed = True
        if self._queue is not None:
            with suppress(OSError):
                self._queue.close()
        self._stack.__exit__(kind, error, traceback)

    @property
    def rows(self) -> int:
        """Number of accepted rows."""
        return self._stream.rows

    @property
    def late_rows(self) -> int:
        """Number of rows that were too late."""
        return self._stream.late_rows

    def close(self) -> None:
        """Write waiting rows, synchronise with the disk, and give the file its name.

        Closing twice has no effect.
        """
        if self._closed:
            return
        self._closed = True
        with self._stack:
            if self._queue is not None:
                self._queue.close()
            if self._dropped_us is not None:
                self._stream.take([_dropout(self._newest_us, self._dropped_us)])
            self._stream.take([])
            if not self._front.is_written:
                self._target.write(self._front.head(0))
            self._target.flush()
            if not isinstance(self._front, NewFront):
                fsync(self._target.fileno())

    # Definitions before the data

    def declare(
        self,
        kind: type[UorbMessage] | np.dtype[np.void],
        topic: str | None = None,
    ) -> None:
        """Write the format of a topic before its first rows.

        Parameters
        ----------
        kind : type of UorbMessage, or numpy dtype
            A message class, or the type of the records.
        topic : str, optional
            Name of the topic, if it differs from that of the class.

        Raises
        ------
        ValueRangeError
            The format has no ``timestamp``, is not allowed in a ULog, differs from an earlier one,
            or the file contains rows already.
        """
        own = "" if isinstance(kind, np.dtype) else kind.topic
        self._form(kind, topic or own)

    def add_info(self, key: str, value: str | bytes | float, kind: str | None = None) -> None:
        """Write an information, such as ``sys_name`` or ``ver_sw_release``.

        Parameters
        ----------
        key : str
            Its name, unique in the file.
        value : str, bytes, int or float
            The value.
        kind : str, optional
            Type of a number, such as ``"uint64_t"``; by default the first of uint32_t, int32_t,
            uint64_t and int64_t that holds it, or float.

        Raises
        ------
        ValueRangeError
            The key or the value does not fit, or the key exists already.
        """
        self._unique("I", key)
        self._set("I", setting(key, value, kind))

    def add_multi_info(
        self, key: str, value: str | bytes | float, kind: str | None = None, *, more: bool = False
    ) -> None:
        """Write one of several values of a key; with ``more``, the next piece of the last one.

        Raises
        ------
        ValueRangeError
            The key or the value does not fit.
        """
        self._set("M", bytes([more]) + setting(key, value, kind))

    def add_parameter(self, name: str, value: float, *, t_us: int | None = None) -> None:
        """Write a parameter: its first value, or after the first rows, a change.

        Parameters
        ----------
        name : str
            Such as ``"IMU_INTEG_RATE"``.
        value : int or float
            An ``int32_t`` or a ``float``.
        t_us : int, optional
            Time of the change [us]; by default that of the latest record.

        Raises
        ------
        ValueRangeError
            The name or the value does not fit, or the parameter has a first value already.
        """
        if not self._logging:
            self._unique("P", name)
        self._set("P", _parameter(name, value), t_us)

    def add_default_parameter(
        self, name: str, value: float, *, system: bool = True, setup: bool = False
    ) -> None:
        """Write the default of a parameter: of the system, of the current setup, or both.

        Raises
        ------
        ValueRangeError
            The name or the value does not fit, or the file contains rows already.
        """
        self._front.define("Q", bytes([system | setup << 1]) + _parameter(name, value))

    # Data

    def write(
        self,
        kind: Kind,
        multi_id: int,
        records: NDArray[np.void] | UorbMessage,
        *,
        topic: str | None = None,
    ) -> None:
        """Write rows of one topic; see :class:`LoggedRows` and :meth:`write_many`."""
        self.write_many([LoggedRows(kind, multi_id, records, topic)])

    def write_many(self, rows: Iterable[LoggedRows]) -> None:
        """Write rows of several topics, in the order of their stamps.

        Raises
        ------
        ValueRangeError
            A topic is new and was not declared before the first rows were written, has another
            format than before, or no ``timestamp``; or a stamp or an instance does not fit.
        ShapeError
            Records are not of the type of their class.
        OSError
            The file cannot be written; with a queue, this concerns earlier rows.
        """
        parts = []
        for kind, multi_id, records, topic in rows:
            name = topic or (kind if isinstance(kind, str) else kind.topic)
            array = records if isinstance(kind, str) else as_records(records, kind)
            form = self._form(array.dtype if isinstance(kind, str) else kind, name)
            packed = array.reshape(-1).astype(form.packed, copy=False)
            parts.append(data(self._msg_id(name, multi_id), packed, form.size))
        self._submit(parts)

    def log(self, level: int, t_us: int, text: str, *, tag: int | None = None) -> None:
        """Write a line of text.

        Parameters
        ----------
        level : int
            From 0, emergency, to 7, debug.
        t_us : int
            Time of the text [us].
        text : str
            The line.
        tag : int, optional
            Number of the process, 0 to 65535.

        Raises
        ------
        ValueRangeError
            A number or the text does not fit.
        """
        if not (0 <= level <= 7 and 0 <= t_us < 2**63 and 0 <= (tag or 0) < 2**16):
            raise ValueRangeError(
                f"expected a level of 0 to 7, a time [us] and a tag of 16 bits, got {level}, "
                f"{t_us} and {tag}"
            )
        head = b"" if tag is None else struct.pack("<H", tag)
        payload = str(level).encode() + head + struct.pack("<Q", t_us) + text.encode()
        self._submit([single(t_us, record("L" if tag is None else "C", payload))])

    def sync(self) -> None:
        """Write a sync record after the latest record, in addition to those of each half second."""
        self._submit([single(self._newest_us, SYNC)])

    def dropout(self, duration_ms: int, *, t_us: int | None = None) -> None:
        """Record a loss of data [ms] after the latest record or a stamp [us].

        Raises
        ------
        ValueRangeError
            The duration is not positive.
        """
        if duration_ms <= 0:
            raise ValueRangeError(f"expected a duration_ms above 0, got {duration_ms}")
        self._submit([single(self._newest_us if t_us is None else t_us, _dropouts(duration_ms))])

    def _submit(self, parts: list[Rows]) -> None:
        """Pass records on; mark the place of those that do not fit into the queue."""
        if self._closed:
            raise ValueError("expected an open writer, got one that is closed")
        parts = [part for part in parts if len(part)]
        if not parts:
            return
        self._logging = True
        first_us = min(int(part.t_us[0]) for part in parts)
        self._newest_us = max(self._newest_us, *(int(part.t_us[-1]) for part in parts))
        if self._queue is None:
            self._stream.take(parts)
            return
        if self._dropped_us is not None:
            parts.insert(0, _dropout(first_us, self._dropped_us))
        if self._queue.put(parts):
            self._dropped_us = None
        else:
            self.dropped_rows += sum(len(part) for part in parts if part.msg_id is not None)
            self._dropped_us = first_us if self._dropped_us is None else self._dropped_us

    def _form(self, kind: type[UorbMessage] | np.dtype[np.void], name: str) -> Form:
        """Return the form of the rows of a topic; declare it if it is new."""
        given = kind if isinstance(kind, np.dtype) else kind.dtype
        known = self._forms.get(name)
        if known is None:
            known = form_of(kind, name)
            for text in known.texts:
                self._unique("F", text.partition(":")[0])
                self._front.define("F", text.encode())
            self._forms[name] = known
        elif known.given != given:
            raise ValueRangeError(f"expected {name} of type {known.given}, as before, got {given}")
        return known

    def _msg_id(self, name: str, multi_id: int) -> int:
        """Return the message id of an instance of a topic."""
        if (name, multi_id) not in self._ids:
            msg_id = max(self._ids.values(), default=-1) + 1
            if not (0 <= multi_id < 2**8 and msg_id < 2**16):
                raise ValueRangeError(f"expected a multi_id of 0 to 255, got {multi_id}")
            payload = struct.pack("<BH", multi_id, msg_id) + name.encode()
            self._subscriptions[msg_id] = record("A", payload)
            self._ids[name, multi_id] = msg_id
        return self._ids[name, multi_id]

    def _unique(self, kind: str, key: str) -> None:
        if (kind, key) in self._keys:
            raise ValueRangeError(f"expected {key} once, got it again")
        self._keys.add((kind, key))

    def _set(self, kind: str, payload: bytes, t_us: int | None = None) -> None:
        """Write a setting before the data, or at a stamp; by default at the current position."""
        if self._logging:
            self._submit([single(self._newest_us if t_us is None else t_us, record(kind, payload))])
        else:
            self._front.define(kind, payload)


def _parameter(name: str, value: float) -> bytes:
    return setting(name, value, "float" if isinstance(value, float | np.floating) else "int32_t")


def _dropout(to_us: int, from_us: int) -> Rows:
    """Return dropout records for rows lost between two stamps."""
    return single(to_us, _dropouts(max(1, -(-(to_us - from_us) // _US_PER_MS))))


def _dropouts(duration_ms: int) -> bytes:
    """Return the dropout records of a duration."""
    whole, rest = divmod(duration_ms, _LONGEST_DROPOUT_MS)
    durations = [_LONGEST_DROPOUT_MS] * whole + [rest] * bool(rest)
    return b"".join(record("O", struct.pack("<H", each)) for each in durations)
