"""Standard input and output as files: ``-`` in place of a path."""

from __future__ import annotations

import shutil
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from strapdown.cli._outcome import reserve_output, until_unread
from strapdown.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from tempfile import TemporaryDirectory

__all__ = ["DASH", "as_file", "naming", "spooling", "standard_output"]

DASH: Final = Path("-")
_NAME: Final = "standard input"
_TEXTS: Final = {"csv", "tum"}
_folders: list[TemporaryDirectory[str]] = []
"""Folder with the copy of standard input, while the verb that reads it runs."""


@contextmanager
def spooling() -> Iterator[None]:
    """Remove the copy of standard input when the verb ends."""
    try:
        yield
    finally:
        while _folders:
            with suppress(OSError):  # a file that is still mapped cannot be removed everywhere
                _folders.pop().cleanup()


def as_file(path: Path) -> Path:
    """Return a path that can be opened: for ``-`` a copy of standard input.

    Raises
    ------
    typer.BadParameter
        Standard input is a terminal.
    """
    if path != DASH:
        return path
    if not _folders:
        if sys.stdin is None or sys.stdin.isatty():
            raise typer.BadParameter(
                "expected a recording on standard input, got a terminal; pipe a file into it, or "
                "name one"
            )
        _folders.append(_folder())
        with (Path(_folders[0].name) / _NAME).open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
    return Path(_folders[0].name) / _NAME


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name standard input, and not its copy, in the errors of reading ``-``."""
    try:
        yield
    except FormatError as error:
        if path != DASH or error.path is None or error.path.name != _NAME:
            raise
        raise type(error)(
            error.message, path=_NAME, offset=error.offset, topic=error.topic
        ) from error


@contextmanager
def standard_output(form: str) -> Iterator[Path]:
    """Yield a file of a format, and copy it to standard output at the end.

    Everything else that the verb prints goes to standard error.

    Raises
    ------
    typer.BadParameter
        Standard output is a terminal, and the format is no text.
    """
    if form not in _TEXTS and sys.stdout.isatty():
        raise typer.BadParameter(
            f"expected a file or a pipe as standard output for {form}, got a terminal; add "
            f"> FILE.{form}"
        )
    reserve_output()
    with _folder() as folder:
        file = Path(folder) / f"output.{form}"
        yield file
        with until_unread(), file.open("rb") as written:
            sys.stdout.flush()
            shutil.copyfileobj(written, sys.stdout.buffer)
            sys.stdout.buffer.flush()


def _folder() -> TemporaryDirectory[str]:
    from tempfile import TemporaryDirectory  # noqa: PLC0415 (few verbs need it)

    return TemporaryDirectory(prefix="strapdown-")
