"""Adapter through which every third-party reader is called."""

from __future__ import annotations

import errno
import io
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from strapdown.errors import FormatError, StrapdownError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["BoundedPath", "foreign_reader"]


@contextmanager
def foreign_reader(path: Path, kind: str) -> Iterator[None]:
    """Convert any error of a third-party reader to a :class:`FormatError` with the path.

    Errors of strapdown, of the operating system and of memory pass unchanged. An ``OSError``
    without a number, or with "invalid argument", comes from a decoder or from a seek to a damaged
    offset, and counts as damage.
    """
    try:
        yield
    except (StrapdownError, MemoryError):
        raise
    except Exception as error:
        numbered = isinstance(error, OSError) and error.errno not in {None, errno.EINVAL}
        if numbered or isinstance(error, FileNotFoundError):
            raise
        detail = str(error).strip().splitlines()
        reason = f"{type(error).__name__}: {detail[0][:120]}" if detail else type(error).__name__
        raise FormatError(
            f"expected a readable {kind}, got damage ({reason})", path=path
        ) from error


class BoundedPath:
    """A path for a third-party reader that reads as many bytes as the file claims.

    A read beyond the end of the file allocates the bytes up to there, and not those of the claim.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def exists(self) -> bool:
        """Return whether the file exists."""
        return self._path.exists()

    def open(self, mode: str) -> io.BufferedReader:
        """Open the file for reading of bytes."""
        return _BoundedReader(io.FileIO(self._path, mode))


class _BoundedReader(io.BufferedReader):
    def __init__(self, raw: io.FileIO) -> None:
        super().__init__(raw)
        self._size = os.fstat(raw.fileno()).st_size

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(self._size - self.tell(), 0)
        return super().read(left if size is None or size < 0 else min(size, left))
