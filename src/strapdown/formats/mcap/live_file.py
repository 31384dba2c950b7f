"""One file of a live recording: locked, never truncated, readable after any failure."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

from strapdown._version import __version__
from strapdown.formats.mcap.messages import channel_encoding, channel_metadata, schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Definition", "LivePart", "is_being_written"]


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


class LivePart:
    """One file and its output stream."""

    def __init__(self, path: Path, metadata: Mapping[str, str]) -> None:
        from strapdown.formats.mcap.bulk import Here, McapFile  # noqa: PLC0415 (it needs mcap)

        self.path = path
        self.channels = 0
        self._schemas: dict[str, int] = {}
        self._began = monotonic()
        self._whole: int | None = None
        """Size of the complete file so far, set once finishing begins."""
        self.handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            library = f"strapdown/{__version__}"
            self.file = McapFile(cast("BinaryIO", self), Here(), profile="ros2", library=library)
            self.file.add_metadata("strapdown", metadata)
        except OSError as error:
            os.close(self.handle)
            path.unlink(missing_ok=True)
            raise OSError(error.errno, error.strerror, str(path)) from None

    def write(self, data: bytes) -> int:
        """Write all bytes to the operating system."""
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
        self._whole = self.file.size
        self.file.finish()
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
        os.ftruncate(self.handle, size)
        os.lseek(self.handle, size, os.SEEK_SET)
