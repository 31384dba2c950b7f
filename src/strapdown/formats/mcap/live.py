"""Live MCAP recording that survives a crash of the recording process.

Producers pass bytes through a bounded queue and never wait. Ten times a second a thread empties the
queue and writes the messages as one complete chunk to the operating system. If the process is
killed, only the messages that arrived after the last chunk are lost. Once a second the file is
synchronised with the disk, so that a failure of the machine loses about a second. Schemas and
channels precede the first message. The summary is written at the end; without it the file can still
be read from start to end.

A file is locked while it is written, is never truncated, and keeps its name. Space for the summary
is reserved beyond its end, so that a full disk leaves a complete file.
"""

from __future__ import annotations

import atexit
import errno
import math
import os
import re
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown._version import __version__
from strapdown._words import wording
from strapdown.errors import RecordError, ValueRangeError
from strapdown.formats._output import refuse
from strapdown.formats.mcap.live_file import Definition, LivePart, is_being_written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike
    from types import TracebackType
    from typing import Self

__all__ = ["LiveMcap", "LiveOptions"]

QUEUE: Final = 16_384
"""Messages that may wait to be written."""
FLUSH_S: Final = 0.1
"""Interval at which messages are written to the operating system [s]."""
SYNC_S: Final = 1.0
"""Interval at which the file is synchronised with the disk [s]."""
_EARLY: Final = QUEUE // 4
"""Number of waiting messages that triggers an immediate write."""


@dataclass(frozen=True)
class LiveOptions:
    """Limits of a recording: when to begin another file, and when to end.

    Parameters
    ----------
    split_bytes : int, optional
        Begin another file when the current one has this size.
    split_s : float, optional
        Begin another file when the current one has this age [s, monotonic clock].
    min_free_bytes : int
        End when the disk has less free space.
    flush_s, sync_s : float
        Intervals of writing to the operating system, and of synchronising with the disk [s].

    Raises
    ------
    ValueRangeError
        A value is not above 0; ``min_free_bytes`` may be 0.
    """

    split_bytes: int | None = None
    split_s: float | None = None
    min_free_bytes: int = 200_000_000
    flush_s: float = FLUSH_S
    sync_s: float = SYNC_S

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("split_bytes", "split_s", "flush_s", "sync_s"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueRangeError(f"expected {name} above 0, got {value}")
        if not self.min_free_bytes >= 0:
            raise ValueRangeError(
                f"expected min_free_bytes of 0 or more, got {self.min_free_bytes}"
            )

    @property
    def splits(self) -> bool:
        """Whether there may be more than one file."""
        return self.split_bytes is not None or self.split_s is not None


class _Message(NamedTuple):
    channel: int
    log_ns: int
    publish_ns: int
    payload: bytes


class LiveMcap:
    """Recorder that writes messages to a file, or a series of files, in a separate thread.

    A context manager; every method is thread-safe.

    Parameters
    ----------
    path : path-like
        The file; for a series, ``run.mcap`` means ``run_000.mcap``, ``run_001.mcap``, ...
    force : bool
        Replace files that exist, except those that are being written.
    options : LiveOptions
        Limits of the files.
    metadata : mapping of str to str, optional
        Entries of the record ``strapdown`` in addition to the version.
    failed : callable, optional
        Called by the writing thread when writing ends with an error.

    Raises
    ------
    FileExistsError
        A file exists, and not ``force``; or is being written by another process.
    OSError
        Another error of the operating system about the first file.

    Examples
    --------
    >>> with LiveMcap("run.mcap") as file:  # doctest: +SKIP
    ...     channel = file.add_channel("imu", "horus/Imu")
    ...     file.write(channel, bytes(imu), publish_ns=imu.timestamp_ns, log_ns=time.time_ns())
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        force: bool = False,
        options: LiveOptions = LiveOptions(),
        metadata: Mapping[str, str] | None = None,
        failed: Callable[[], object] = lambda: None,
    ) -> None:
        self._path = Path(path)
        self._failed = failed
        self._force = force
        self._options = options
        self._metadata = {"version": __version__, **(metadata or {})}
        self._queue: deque[_Message | Definition] = deque()
        self._channels: list[Definition] = []
        self._wake, self._closing, self._ended = Event(), Event(), Event()
        self._lock = Lock()
        self._error: RecordError | None = None
        self._sync_error: OSError | None = None
        self._taken = self._dropped = 0
        self._bytes = self._messages = 0
        self._parts: list[Path] = []
        if shortage := self._shortage():
            raise shortage
        self._clear_the_way()
        self._part = self._open_part()
        self._thread = Thread(target=self._run, name=f"record {self._path.name}", daemon=True)
        self._syncing = Thread(target=self._sync_on, name="record, synchronise", daemon=True)
        self._thread.start()
        self._syncing.start()
        atexit.register(self._end)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files so far."""
        return tuple(self._parts)

    @property
    def messages(self) -> int:
        """Number of messages written to the operating system."""
        return self._messages + self._part.file.messages

    @property
    def size(self) -> int:
        """Bytes written to the operating system, in all files."""
        return self._bytes + self._part.file.size

    @property
    def dropped(self) -> int:
        """Number of messages dropped because the queue was full."""
        return self._dropped

    @property
    def is_busy(self) -> bool:
        """Whether the queue is so full that a producer that can wait should do so."""
        return self._error is None and len(self._queue) >= QUEUE // 2

    @property
    def error(self) -> RecordError | None:
        """The error that ended writing, if any."""
        return self._error

    def add_channel(self, topic: str, schema: str) -> int:
        """Define a channel.

        Parameters
        ----------
        topic : str
            Its name.
        schema : str
            Type of its messages, as in :mod:`strapdown.formats.mcap.messages`.

        Returns
        -------
        int
            Its number.
        """
        with self._lock:
            self._channels.append(Definition(topic, schema))
            self._queue.append(self._channels[-1])
            return len(self._channels)

    def write(self, channel: int, payload: bytes, *, publish_ns: int, log_ns: int) -> bool:
        """Queue a message, without waiting.

        Parameters
        ----------
        channel : int
            Its number.
        payload : bytes
            The message.
        publish_ns, log_ns : int
            Its stamp, and the time of reception [ns].

        Returns
        -------
        bool
            False where the queue is full: the message is dropped, and counted.

        Raises
        ------
        RecordError
            Writing has ended: the disk is full, the file was removed, or the recorder closed.
        ValueRangeError
            A time does not fit 64 bits.
        """
        if not (0 <= publish_ns < 2**64 and 0 <= log_ns < 2**64):
            raise ValueRangeError(
                f"expected times from 0 to 2^64 - 1 ns, got {publish_ns} and {log_ns}"
            )
        with self._lock:  # so that the end of the recording counts every accepted message
            if self._error is not None:
                raise self._error
            if self._closing.is_set():
                raise self._closed_error()
            waiting = len(self._queue)
            if waiting >= QUEUE:
                self._dropped += 1
                return False
            self._queue.append(_Message(channel, log_ns, publish_ns, payload))
        if waiting == _EARLY:
            self._wake.set()
        return True

    def close(self) -> None:
        """Write pending messages and the summary, and synchronise with the disk; may be repeated.

        Raises
        ------
        RecordError
            Writing had ended with an error.
        """
        self._end()
        if self._error is not None:
            raise self._error

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
        else:
            self._end()

    def _closed_error(self) -> RecordError:
        return RecordError(
            f"{self._path}: expected an open recording, this one was closed; begin another",
            bytes_safe=self.size,
            messages_safe=self.messages,
        )

    def _end(self) -> None:
        with self._lock:
            self._closing.set()
        self._wake.set()
        self._thread.join()
        self._syncing.join()
        atexit.unregister(self._end)

    # Writing thread

    def _run(self) -> None:
        options, due = self._options, monotonic()
        try:
            while not self._closing.is_set():
                due = max(due + options.flush_s, monotonic())
                if len(self._queue) < _EARLY:
                    self._wake.wait(due - monotonic())
                self._wake.clear()
                self._turn()
            self._take()
            self._part.finish()
        except Exception as error:  # noqa: BLE001 (a thread has nobody to raise to)
            self._fail(error)
        finally:
            with self._lock:
                self._ended.set()
                self._part.close()

    def _turn(self) -> None:
        """Write pending messages, and check the limits."""
        self._take()
        if self._sync_error is not None:
            raise self._sync_error
        self._part.check_place()
        if shortage := self._shortage():
            raise shortage

    def _shortage(self) -> OSError | None:
        """Return an error where the disk has too little free space."""
        least, disk = self._options.min_free_bytes, os.statvfs(self._path.parent)
        free = disk.f_bavail * disk.f_frsize
        text = f"the disk has {free} bytes left, at least {least} are to stay free"
        return OSError(errno.ENOSPC, text, str(self._path)) if free < least else None

    def _take(self) -> None:
        part, options = self._part, self._options
        size = math.inf if options.split_bytes is None else options.split_bytes
        age_s = math.inf if options.split_s is None else options.split_s
        for _ in range(len(self._queue)):
            item = self._queue.popleft()
            if isinstance(item, Definition):
                part.define(item)
                continue
            self._taken += 1
            if part.is_over(size, age_s):
                part = self._next_part()
            part.file.add_message(*item)
        part.file.flush()

    def _next_part(self) -> LivePart:
        """Finish a file, and begin the next with the same channels."""
        before = self._part
        before.finish()
        after = self._open_part()
        for channel in self._channels[: before.channels]:
            after.define(channel)
        with self._lock:
            self._bytes += before.file.size
            self._messages += before.file.messages
            self._part = after
            before.close()
        return after

    def _fail(self, error: Exception) -> None:
        """Keep the intact part of the file, and store the error with its size."""
        part = self._part
        messages, size, rescued = self._messages, self._bytes, part.rescue()
        if part.is_in_place():
            messages, size = messages + part.file.messages, size + rescued
        what = (isinstance(error, OSError) and error.strerror) or wording(error)
        with self._lock:
            waiting = sum(isinstance(item, _Message) for item in self._queue)
            lost = self._taken + waiting - messages
            self._error = RecordError(
                f"{part.path}: recording ended: {what}; {messages} messages are safe "
                f"({size} bytes), {lost} are lost",
                bytes_safe=size,
                messages_safe=messages,
            )
            self._error.__cause__ = error
        self._failed()

    def _sync_on(self) -> None:
        """Synchronise periodically, in a separate thread, as the disk may be slow."""
        while not self._ended.wait(self._options.sync_s):
            with self._lock:
                if self._ended.is_set():
                    return
                handle = os.dup(self._part.handle)
            try:
                os.fsync(handle)
            except OSError as error:
                self._sync_error = error
            finally:
                os.close(handle)

    # Files

    def _open_part(self) -> LivePart:
        path = self._path
        if self._options.splits:
            path = path.with_name(f"{path.stem}_{len(self._parts):03d}{path.suffix}")
        part = LivePart(path, self._metadata)
        self._parts.append(path)
        return part

    def _clear_the_way(self) -> None:
        """Remove files to be replaced; raise an error where one must not be."""
        existing = [self._path] if self._path.exists() else []
        if self._options.splits:
            own = re.compile(re.escape(self._path.stem) + r"_\d{3,}" + re.escape(self._path.suffix))
            existing = [each for each in self._path.parent.iterdir() if own.fullmatch(each.name)]
        for each in sorted(existing):
            if not each.is_file():  # a folder, a pipe, a device
                text = "is not a file and is not replaced; choose another name"
                raise FileExistsError(errno.EEXIST, text, str(each))
            if is_being_written(each):
                text = "is being written by another recorder; choose another name"
                raise FileExistsError(errno.EEXIST, text, str(each))
            refuse(each, force=self._force)
        for each in existing:
            each.unlink()
