"""Text tables of other programs: any separator, preamble, decimal comma, time format."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats.foreign.importing import Content, import_table
from strapdown.formats.foreign.long_table import long_layout, pivoted
from strapdown.formats.foreign.sheet import dialect_of, heading_of, sheet_of
from strapdown.formats.foreign.stamps import reader
from strapdown.formats.text.lines import open_text, utf8
from strapdown.formats.text.rows import Column, Layout
from strapdown.formats.text.table import read_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from strapdown.formats.foreign.array_table import ArrayTable
    from strapdown.formats.foreign.long_table import LongLayout
    from strapdown.formats.foreign.plan import ImportPlan, TimeColumn
    from strapdown.formats.foreign.sheet import Dialect, Sheet
    from strapdown.formats.recording import Recording

__all__ = ["content", "lack_of_rows", "read", "sheet", "sniff"]

_SEEN: Final = 1 << 20
"""Bytes from which columns are recognised."""


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001 (one signature for all formats)
    """Return whether a file begins with a table of numbers."""
    return _dialect(head) is not None


def sheet(path: Path) -> Sheet:
    """Return names, units and first values of a text table.

    Raises
    ------
    FormatError
        It is no table.
    """
    seen = _wide_or_long(path)
    long = long_layout(seen)
    return seen if long is None else _pivoted(path, long, salvage=True).sheet()


def read(path: Path, *, salvage: bool, plan: ImportPlan | None = None) -> Recording:
    """Read a text table of another program.

    Parameters
    ----------
    path : Path
        The file.
    salvage : bool
        Count damaged rows and leave them out, instead of raising an error.
    plan : ImportPlan, optional
        Meaning of its columns; by default they are recognised.

    Raises
    ------
    FormatError
        It is no table, a row is damaged, or columns are missing or ambiguous.
    """
    seen = _wide_or_long(path)
    if (long := long_layout(seen)) is not None:
        return _pivoted(path, long, salvage=salvage).read(path, plan)

    def rows(time: TimeColumn, names: Sequence[str]) -> Content:
        return content(path, time, names, salvage=salvage)

    return import_table(path, seen, plan, rows)


def _wide_or_long(path: Path) -> Sheet:
    """Return names and first values as they are in the file."""
    lines, dialect = _opened(path, _head(path))
    return sheet_of(dialect, lines)


def _pivoted(path: Path, layout: LongLayout, *, salvage: bool) -> ArrayTable:
    """Return all rows of a long table as columns side by side."""
    head = _head(path)
    _, dialect = _opened(path, head)

    def rows() -> Iterator[tuple[int, list[str]]]:
        with open_text(path) as file:
            for number, line in enumerate(file):
                text = line.decode(_encoding(head)).rstrip("\r\n")
                if number >= dialect.first_row and text.strip():
                    yield number + 1, dialect.cells(text)

    return pivoted(path, rows(), dialect.names, layout, salvage=salvage)


def content(path: Path, time: TimeColumn, names: Sequence[str], *, salvage: bool) -> Content:
    """Return columns of a text table, with times in nanoseconds or counts of samples.

    Raises
    ------
    FormatError
        It is no table, or a row is damaged.
    """
    layout = _layout(path, time, names)
    table = read_table(path, layout, salvage=salvage)
    counts = np.arange(len(table.t_ns)) if time.column is None else table.t_ns
    values = dict(zip(names, table.values.T, strict=True))
    return Content(counts, values, table.lost, table.notes)


def _head(path: Path) -> bytes:
    with open_text(path) as file:
        return file.read(_SEEN)


def lack_of_rows(head: bytes) -> str | None:
    """Return a line about a table that has names of columns and no rows; None of other text."""
    names = None if b"\0" in head else heading_of(_lines(utf8(head), whole=True))
    if names is None:
        return None
    return f"expected rows of numbers below the names {', '.join(names)[:200]}, got none"


def _opened(path: Path, head: bytes) -> tuple[list[str], Dialect]:
    found = _dialect(head)
    if found is None:
        what = lack_of_rows(head) or "expected rows of numbers in columns, got other text"
        raise FormatError(what, path=path)
    return found


def _encoding(head: bytes) -> str:
    """Return the encoding of a file: UTF-8, else the one that reads any byte."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _dialect(head: bytes) -> tuple[list[str], Dialect] | None:
    head = utf8(head)
    if b"\0" in head:
        return None
    lines = _lines(head)
    dialect = dialect_of(lines)
    return None if dialect is None else (lines, dialect)


def _lines(head: bytes, *, whole: bool = False) -> list[str]:
    """Return the lines of a text; the last one may be cut, unless the text is whole."""
    text = head.removeprefix(codecs.BOM_UTF8).decode(_encoding(head), "ignore")
    lines = text.split("\n")
    return [line.rstrip("\r") for line in (lines if whole or len(lines) == 1 else lines[:-1])]


def _layout(path: Path, time: TimeColumn, names: Sequence[str]) -> Layout:
    """Return the layout by which rows are read."""
    head = _head(path)
    lines, dialect = _opened(path, head)
    opening = next(i for i, line in enumerate(lines) if line.strip() and line[0] != "#")
    cell = {name: number for number, name in enumerate(dialect.names)}
    counted = time.column is None
    comma_in_quotes = dialect.decimal_comma and dialect.separator == ","
    return Layout(
        separator=dialect.separator,
        width=len(dialect.names),
        stamp=Column(time.column or "row", 0 if time.column is None else cell[time.column]),
        read_stamp=(lambda _: 0) if counted else reader(time.unit),
        columns=[Column(name, cell[name]) for name in names],
        header=dialect.first_row - opening,
        ended=False,
        decimals_in_quotes=comma_in_quotes,
        replacements=[]
        if comma_in_quotes
        else [('"', "")] * dialect.quoted + [(",", ".")] * dialect.decimal_comma,
        encoding=_encoding(head),
    )
