"""Options of every verb that reads recordings, and their values while it runs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from strapdown.cli._streams import spooling

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["READING", "merging", "options", "reading"]

READING: Final[Mapping[str, tuple[type, tuple[str, ...], str]]] = {
    "columns": (
        Path,
        ("--columns",),
        "Meaning of the columns of a table: a file of strapdown import.",
    ),
    "start": (
        str,
        ("--from",),
        "Begin: seconds since the first sample, or date and time (RFC 3339).",
    ),
    "stop": (str, ("--until", "--to"), "End, exclusive; as --from."),
}
"""Type, names and help of each option, by name of its argument."""


@dataclass
class ReadingOptions:
    """Options of the running verb; shared with its threads.

    ``merged`` are recordings that are read together with the one that the verb names.
    """

    columns: Path | None = None
    start: str | None = None
    stop: str | None = None
    merged: tuple[Path, ...] = ()

    @property
    def cuts(self) -> bool:
        """Whether a part of the recording is wanted."""
        return self.start is not None or self.stop is not None


options = ReadingOptions()


@contextmanager
def reading(columns: Path | None, start: str | None, stop: str | None) -> Iterator[None]:
    """Let a verb read by these options."""
    options.columns, options.start, options.stop = columns, start, stop
    try:
        with spooling():
            yield
    finally:
        options.columns = options.start = options.stop = None


@contextmanager
def merging(others: Sequence[Path]) -> Iterator[None]:
    """Join every recording that is read with others."""
    options.merged = tuple(others)
    try:
        yield
    finally:
        options.merged = ()
