"""Rows of numbers in text: their layout, and their conversion to arrays.

A block of well formed rows is converted column by column; any other block row by row, which finds
the line and the column for the error message.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from strapdown.errors import FormatError, TruncatedError
from strapdown.formats.text.lines import LONGEST_LINE, Block

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from strapdown._typing import FloatArray, IntArray

__all__ = ["Column", "Layout", "Rows", "as_arrays"]

Number = TypeVar("Number", int, float)

_QUOTED: Final = re.compile(r'"([^"]*)"')


@dataclass(frozen=True)
class Column:
    """One column of numbers: its name for error messages, its cell, and the factor to SI."""

    name: str
    cell: int
    factor: float = 1.0


@dataclass(frozen=True)
class Layout:
    """Layout of the rows of a file.

    Parameters
    ----------
    separator : str or None
        Between cells; None is any white space.
    width : int
        Cells in a row.
    stamp : Column
        Column of the time stamp; its factor is not used.
    read_stamp : callable
        From the text of the stamp to nanoseconds; raises ``ValueError``.
    columns : sequence of Column
        Columns of numbers to read.
    header : int
        Number of lines before the first row, from the first that is neither comment nor blank.
    ended : bool
        Whether a last row without a line end counts as cut.
    replacements : sequence of (str, str), optional
        Texts to replace in every row, such as quotation marks and decimal commas.
    encoding : str, optional
        Of the file.
    decimals_in_quotes : bool, optional
        Whether commas within quotation marks are decimal; the marks are removed.
    spans : sequence of (Column, callable), optional
        Further times, each with its reader, like ``stamp`` and ``read_stamp``.
    """

    separator: str | None
    width: int
    stamp: Column
    read_stamp: Callable[[str], int]
    columns: Sequence[Column]
    header: int
    ended: bool
    spans: Sequence[tuple[Column, Callable[[str], int]]] = ()
    replacements: Sequence[tuple[str, str]] = ()
    encoding: str = "utf-8"
    decimals_in_quotes: bool = False

    def text(self, raw: bytes) -> str:
        """Return a line as text, with the replacements."""
        text = raw.decode(self.encoding)
        if self.decimals_in_quotes:
            text = _QUOTED.sub(lambda cell: cell[1].replace(",", "."), text)
        for old, new in self.replacements:
            text = text.replace(old, new)
        return text

    @property
    def times(self) -> list[tuple[Column, Callable[[str], int]]]:
        """The stamp and the spans."""
        return [(self.stamp, self.read_stamp), *self.spans]


class Rows:
    """Converter of blocks to arrays that counts damaged rows."""

    def __init__(self, path: Path, layout: Layout, *, salvage: bool) -> None:
        self._path = path
        self._layout = layout
        self._salvage = salvage
        self._header_lines = layout.header
        self.stop = 0
        self.lost = 0
        self.notes: list[str] = []

    def read(self, block: Block) -> tuple[IntArray, FloatArray]:
        """Return times (N, 1 + spans) and values (N, columns) of the rows of a block."""
        self.stop = block.stop
        if skipped := min(self._header_lines, len(block.lines)):
            self._header_lines -= skipped
            if block.open_at is not None:
                raise TruncatedError(
                    f"line {block.number}: the file ends inside the header line",
                    path=self._path,
                    offset=block.open_at,
                )
            block = Block(block.number + skipped, block.lines[skipped:], block.stop)
        if block.open_at is None:
            try:
                return self._by_column(block.lines)
            except (ValueError, OverflowError):
                pass  # a row is unusual: _by_row finds it
        return self._by_row(block)

    def _by_column(self, lines: list[bytes]) -> tuple[IntArray, FloatArray]:
        """Convert well formed rows at once."""
        layout = self._layout
        texts = [layout.text(line) for line in lines]
        rows = [text.split(layout.separator) for text in texts if text.strip() and text[0] != "#"]
        if not all(text.isascii() and "_" not in text for text in texts) or not all(
            len(row) == layout.width for row in rows
        ):
            raise ValueError("not well formed")
        if not rows:
            return as_arrays(layout, [], [])
        cells = list(zip(*rows, strict=True))
        times = [list(map(read, cells[column.cell])) for column, read in layout.times]
        values = [_numbers(cells[column.cell]) for column in layout.columns]
        shape = len(values), len(rows)
        return np.array(times, np.int64).T, np.array(values, np.float64).reshape(shape).T

    def _by_row(self, block: Block) -> tuple[IntArray, FloatArray]:
        """Convert row by row; raise or count damage."""
        times, values = [], []
        for number, raw in enumerate(block.lines, block.number):
            try:
                row = self._row(raw, cut=block.open_at is not None and self._layout.ended)
            except (ValueError, OverflowError) as error:
                if not self._salvage:
                    raise self._error(number, str(error), block.open_at) from error
                self.lost += 1
                continue
            if row is None:
                continue
            if block.open_at is not None:
                self.notes.append(f"line {number} has no line end; its last number may be cut")
            times.append(row[0])
            values.append(row[1])
        return as_arrays(self._layout, times, values)

    def _row(self, raw: bytes, *, cut: bool) -> tuple[list[int], list[float]] | None:
        """Return one row; None for a comment or a blank line."""
        if len(raw) > LONGEST_LINE:
            raise ValueError(f"expected a row, got a line above {LONGEST_LINE} bytes")
        try:
            text = self._layout.text(raw).strip(" \r")
        except UnicodeDecodeError:
            raise ValueError("expected UTF-8 text") from None
        if not text or text[0] == "#":
            return None
        if cut:
            raise ValueError("the file ends inside this row")
        layout = self._layout
        cells = [cell.strip(' \t"') for cell in text.split(layout.separator)]
        if len(cells) != layout.width:
            raise ValueError(f"expected {layout.width} columns, got {len(cells)}")
        times = [_time(cells, column, read) for column, read in layout.times]
        return times, [_cell(cells, column, _number) for column in layout.columns]

    def _error(self, number: int, reason: str, open_at: int | None) -> FormatError:
        kind = FormatError if open_at is None else TruncatedError
        return kind(
            f'line {number}: {reason}; on_error="salvage" leaves such rows out',
            path=self._path,
            offset=open_at,
        )


def as_arrays(
    layout: Layout, times: list[list[int]], values: list[list[float]]
) -> tuple[IntArray, FloatArray]:
    """Return rows as arrays, with all columns also where there is no row."""
    return (
        np.array(times, np.int64).reshape(len(times), len(layout.times)),
        np.array(values, np.float64).reshape(len(values), len(layout.columns)),
    )


def _time(cells: list[str], column: Column, read: Callable[[str], int]) -> int:
    """Convert one cell of a time; the error names the column."""
    time = _cell(cells, column, read)
    if not -(2**63) <= time < 2**63:
        raise ValueError(f"column {column.name!r}: expected 64 bits of ns, got {time}")
    return time


def _cell(cells: list[str], column: Column, convert: Callable[[str], Number]) -> Number:
    """Convert one cell; the error names the column."""
    text = cells[column.cell]
    with suppress(ValueError):
        if "_" not in text and text.isascii():  # int() and float() would accept these
            return convert(text)
    raise ValueError(f"column {column.name!r}: expected a number, got {text[:40]!r}")


def _number(text: str) -> float:
    """Read a number; an empty cell is NaN."""
    return float(text or "nan")


def _numbers(texts: Sequence[str]) -> list[float]:
    """Read numbers, in the usual case without a look at each cell."""
    try:
        return list(map(float, texts))
    except ValueError:
        return list(map(_number, texts))
