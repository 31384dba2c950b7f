"""Atomic writing of a file: next to its target, then renamed."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from strapdown.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["check_ending", "refuse", "replacing"]

_REMEDY: Final = "pass --force (force=True) to replace it"


@contextmanager
def replacing(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield ``NAME.partial``; on success synchronise it and rename it to ``path``.

    On failure the partial file is removed and ``path`` is unchanged.

    Raises
    ------
    FileExistsError
        ``path`` exists, or another writer is writing it, and not ``force``.
    OSError
        Any other error of the operating system.
    """
    partial = path.with_name(path.name + ".partial")
    refuse(path, force=force)
    try:
        partial.open("wb" if force else "xb").close()
    except FileExistsError:
        text = f"is being written, or remains of a writer that was killed; {_REMEDY}"
        raise FileExistsError(errno.EEXIST, text, str(partial)) from None
    except OSError as error:  # name the requested file, not the partial one
        raise type(error)(error.errno, error.strerror, str(path)) from None
    try:
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        refuse(path, force=force)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def refuse(path: Path, *, force: bool) -> None:
    """Raise FileExistsError where a file exists, and not ``force``."""
    if path.exists() and not force:
        raise FileExistsError(errno.EEXIST, f"exists already; {_REMEDY}", str(path))


def check_ending(path: Path, endings: Sequence[str]) -> None:
    """Raise UnsupportedError where a path has none of the endings."""
    if path.suffix.lower() not in endings:
        raise UnsupportedError(
            f"expected an ending of {', '.join(endings)}, got {path.suffix!r}", path=path
        )
