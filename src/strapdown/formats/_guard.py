"""Adapter through which every third-party reader is called."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from strapdown.errors import FormatError, StrapdownError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["foreign_reader"]


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
