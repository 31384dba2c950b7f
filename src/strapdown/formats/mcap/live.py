"""MCAP files of messages as they come, which outlive the process that writes them.

Producers hand over bytes through a bounded queue and never wait. One thread takes them out,
ten times a second, and gives them to the operating system as one whole chunk: a process that is
killed costs what came since. Once a second the file is synchronised with the disk, for the case
that the machine itself dies. Definitions stand in front, before the first message. The summary
is written at the end; without it a file is read all the same, from front to back.

A file is locked while it is written, is never truncated, and keeps its name. Where the disk is
full, what was written stays whole, and gets its summary if there is room for one.
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
"""How often they are given to the operating system [s]."""
SYNC_S: Final = 1.0
"""How often the file is synchronised with the disk [s]."""
_EARLY: Final = QUEUE // 4
"""As many waiting messages are written at once."""


@dataclass(frozen=True)
class LiveOptions:
    """When to begin another file, and when to end.

    Parameters
    ----------
    split_bytes : int, optional
        Begin another file when one has this size.
    split_s : float, optional
        Begin another file when one is this old [s, monotonic clock].
    min_free_bytes : int
        End when the disk has less room.
    flush_s, sync_s : float
        How often messages are given to the operating system, and the file to the disk [s].

    Raises
    ------
    ValueRangeError
        One is not above 0; ``min_free_bytes`` may be 0.
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
    """Writes messages to a file, or a series of files, in a thread of its own.

    A context manager; every method is safe among threads.

    Parameters
    ----------
    path : path-like
        The file; of a series, ``run.mcap`` stands for ``run_000.mcap``, ``run_001.mcap``, ...
    force : bool
        Replace files that exist; never one that somebody writes.
    options : LiveOptions
        When to begin another file, and when to end.
    metadata : mapping of str to str, optional
        What to put beside the version into the record ``strapdown``.
    failed : callable, optional
        Called when writing ends by itself, by the thread that writes.

    Raises
    ------
    FileExistsError
        A file exists, and not ``force``; or is being written by another process.
    OSError
        Whatever else the operating system says about the first file.

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
        """Messages that the operating system has."""
        return self._messages + self._part.file.messages

    @property
    def size(self) -> int:
        """Bytes that it has, of all files."""
        return self._bytes + self._part.file.size

    @property
    def dropped(self) -> int:
        """Messages that found the queue full."""
        return self._dropped

    @property
    def is_busy(self) -> bool:
        """Whether the queue is so full that who can wait had better do so."""
        return self._error is None and len(self._queue) >= QUEUE // 2

    @property
    def error(self) -> RecordError | None:
        """Why writing has ended by itself."""
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
        """Hand over a message, without waiting.

        Parameters
        ----------
        channel : int
            Its number.
        payload : bytes
            The message.
        publish_ns, log_ns : int
            Its stamp, and when it was received [ns].

        Returns
        -------
        bool
            False where the queue is full: the message is dropped, and counted.

        Raises
        ------
        RecordError
            Writing has ended: the disk is full, the file is gone, or this was closed.
        ValueRangeError
            A time does not fit 64 bits.
        """
        if not (0 <= publish_ns < 2**64 and 0 <= log_ns < 2**64):
            raise ValueRangeError(
                f"expected times from 0 to 2^64 - 1 ns, got {publish_ns} and {log_ns}"
            )
        with self._lock:  # whoever ends it knows of every message that was taken
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
        """Write what waits and the summary, and synchronise with the disk; again is the same.

        Raises
        ------
        RecordError
            Writing ended before.
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

    # The thread that writes

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
        """Write what waits, and see whether one may go on."""
        self._take()
        if self._sync_error is not None:
            raise self._sync_error
        self._part.check_place()
        if shortage := self._shortage():
            raise shortage

    def _shortage(self) -> OSError | None:
        """Return what is wrong where the disk has too little room left."""
        least, disk = self._options.min_free_bytes, os.statvfs(self._path.parent)
        free = disk.f_bavail * disk.f_frsize
        text = f"the disk has {free} bytes left, of {least} that are to stay free"
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
        """Finish a file and begin the next, with the same channels."""
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
        """Keep what is whole, and say how much that is."""
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
        """Synchronise now and then; in its own thread, as a slow disk takes its time."""
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
        """Remove what is to be replaced; raise where something must not be."""
        existing = [self._path] if self._path.exists() else []
        if self._options.splits:
            own = re.compile(re.escape(self._path.stem) + r"_\d{3,}" + re.escape(self._path.suffix))
            existing = [each for each in self._path.parent.iterdir() if own.fullmatch(each.name)]
        for each in sorted(existing):
            if not each.is_file():  # a folder, a pipe, a device
                text = "is no file and is not replaced; choose another name"
                raise FileExistsError(errno.EEXIST, text, str(each))
            if is_being_written(each):
                text = "is being written by another recorder; choose another name"
                raise FileExistsError(errno.EEXIST, text, str(each))
            refuse(each, force=self._force)
        for each in existing:
            each.unlink()
