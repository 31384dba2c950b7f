"""One file of a live recording: locked, never truncated, readable after any failure."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import math
import os
import resource
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, cast

from strapdown._version import __version__
from strapdown.formats.mcap.messages import channel_encoding, channel_metadata, schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Definition", "LivePart", "is_being_written"]


_KEEP_SIZE: Final = 1
"""FALLOC_FL_KEEP_SIZE of ``<linux/falloc.h>``."""
_STEP: Final = 2**18
"""Space that is allocated at once, if there is as much [bytes]."""


class Definition(NamedTuple):
    """A channel."""

    topic: str
    schema: str
    """Name of the type of its messages."""


def is_being_written(path: Path) -> bool:
    """Whether a process has a lock on a file."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


class _Room:
    """Disk space that is allocated beyond the end of a file.

    Space is not allocated on file systems that cannot do so, such as FAT or NFS before 4.2.

    Parameters
    ----------
    handle : int
        Of the open file.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._end: float = 0

    def reach(self, end: int) -> None:
        """Allocate up to an offset; raise OSError where disk, quota or a limit is exceeded."""
        limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        if limit != resource.RLIM_INFINITY and end > limit:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        if end > self._end:
            try:
                self._allocate(end + _STEP)
            except OSError:
                self._allocate(end)

    def _allocate(self, end: int) -> None:
        start, libc = int(self._end), ctypes.CDLL(None, use_errno=True)
        span = ctypes.c_int64(start), ctypes.c_int64(end - start)
        while libc.fallocate(self._handle, _KEEP_SIZE, *span):
            if (code := ctypes.get_errno()) in {errno.EOPNOTSUPP, errno.ENOSYS}:
                self._end = math.inf
                return
            if code != errno.EINTR:
                raise OSError(code, os.strerror(code))
        self._end = end


class LivePart:
    """One file and its output stream.

    Nothing is written that leaves no room for the summary: so a full disk leaves a complete file.
    """

    def __init__(self, path: Path, metadata: Mapping[str, str]) -> None:
        from strapdown.formats.mcap.bulk import Here, McapFile  # noqa: PLC0415 (it needs mcap)

        self.path = path
        self.channels = 0
        self._schemas: dict[str, int] = {}
        self._began = monotonic()
        self._whole: int | None = None
        """Size of the complete file so far, set once finishing begins."""
        self._room: _Room | None = None
        """For the summary, until it is written."""
        self.handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            library = f"strapdown/{__version__}"
            self.file = McapFile(cast("BinaryIO", self), Here(), profile="ros2", library=library)
            self._room = _Room(self.handle)
            self.file.add_metadata("strapdown", metadata)
        except OSError as error:
            os.close(self.handle)
            path.unlink(missing_ok=True)
            raise OSError(error.errno, error.strerror, str(path)) from None

    def write(self, data: bytes) -> int:
        """Write all bytes to the operating system, or none where the summary would not fit."""
        if self._room is not None:
            self._room.reach(self.file.size + len(data) + self.file.ending)
        left = memoryview(data)
        while left:
            left = left[os.write(self.handle, left) :]
        return len(data)

    def define(self, channel: Definition) -> None:
        """Write a definition before the messages that need it."""
        self.file.flush()
        if channel.schema not in self._schemas:
            number = self.file.add_schema(channel.schema, *schema_of(channel.schema))
            self._schemas[channel.schema] = number
        self.file.add_channel(
            channel.topic,
            channel_encoding(channel.schema),
            self._schemas[channel.schema],
            channel_metadata(channel.schema),
        )
        self.file.flush()
        self.channels += 1

    def is_over(self, size: float, age_s: float) -> bool:
        """Return whether the file holds messages and has reached a size or age."""
        reached = self.file.size >= size or monotonic() - self._began >= age_s
        return reached and self.file.messages > 0

    def is_in_place(self) -> bool:
        """Whether the file still has its name."""
        with suppress(OSError):
            return os.path.samestat(self.path.stat(), os.fstat(self.handle))
        return False

    def check_place(self) -> None:
        """Raise an error where the file no longer has its name."""
        if not self.is_in_place():
            raise FileNotFoundError(errno.ENOENT, "the file was moved, replaced or removed")

    def finish(self) -> None:
        """Write the summary, and synchronise with the disk."""
        self.file.flush()
        self._whole, self._room = self.file.size, None
        self.file.finish()
        os.ftruncate(self.handle, self.file.size)  # which frees the rest of the room
        os.fsync(self.handle)
        self._whole = self.file.size

    def rescue(self) -> int:
        """Keep complete records only, with the summary if it fits; return the size."""
        with suppress(OSError):
            if self._whole is None:
                self.file.abandon()
                self._cut(self.file.size)
                self.finish()
            else:
                self._cut(self._whole)
            return self._whole or 0
        with suppress(OSError):
            self._cut(self._whole or 0)
        return self._whole or 0

    def close(self) -> None:
        """Close the file and release its lock."""
        os.close(self.handle)

    def _cut(self, size: int) -> None:
        """Remove the written part of a record that did not fit."""
        if os.fstat(self.handle).st_size > size:  # else it would free the room for the summary
            os.ftruncate(self.handle, size)
        os.lseek(self.handle, size, os.SEEK_SET)
