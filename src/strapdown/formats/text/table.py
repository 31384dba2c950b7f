"""Tables of numbers in text: common reader and writer of CSV, TUM and EuRoC.

A file is read in blocks and long lines are clipped, so that memory depends on the number of rows
and not on the length of a hostile line. A block of well formed rows is converted column by
column; any other block row by row, which finds the line and the column for the error message.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import chain, islice
from typing import TYPE_CHECKING, BinaryIO, Final, TypeVar

import numpy as np
import orjson

from strapdown.errors import FormatError, TruncatedError
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.series.timebase import TimeTally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from strapdown._typing import AnyArray, FloatArray, IntArray

__all__ = [
    "Column",
    "Layout",
    "Opening",
    "Table",
    "open_text",
    "opening_of",
    "read_opening",
    "read_stamps",
    "read_table",
    "read_tables",
    "utf8",
    "write_table",
]

Number = TypeVar("Number", int, float)

_BLOCK: Final = 1 << 18
_TOGETHER: Final = 16
"""Blocks that are converted at one time."""
_LONGEST_LINE: Final = 1 << 16
_COMMENTS_KEPT: Final = 64
_ROWS_PER_WRITE: Final = 1 << 16
_QUOTED: Final = re.compile(r'"([^"]*)"')
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Opening:
    """Comments and first line of a file.

    Parameters
    ----------
    comments : tuple of str
        The comment lines at the top, with their ``#``.
    line : str
        The first line that is neither comment nor blank; empty without one.
    """

    comments: tuple[str, ...] = ()
    line: str = ""

    @property
    def tags(self) -> dict[str, str] | None:
        """``key=value`` pairs of the line ``# strapdown ...``; None in files of other programs."""
        for comment in self.comments:
            words = comment.lstrip("#").split()
            if words[:1] == ["strapdown"]:
                return dict(word.split("=", 1) for word in words[1:] if "=" in word)
        return None

    def frames(self, path: Path) -> tuple[BodyFrame, WorldFrame, tuple[str, ...]]:
        """Return the frames from the tags, and a note where they are assumed."""
        tags = self.tags
        if tags is None:
            return BodyFrame.FLU, WorldFrame.ENU, ("frames are not named: FLU, ENU assumed",)
        try:
            return BodyFrame(tags.get("body", "FLU")), WorldFrame(tags.get("world", "ENU")), ()
        except ValueError as error:
            raise FormatError(f"expected the names of known frames: {error}", path=path) from error


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


@dataclass(frozen=True)
class Table:
    """Rows: ``values`` (N, columns), ``spans_ns`` (N, spans); ``lost`` counts damaged ones.

    They end before byte ``stop`` of the file.
    """

    t_ns: IntArray
    values: FloatArray
    spans_ns: IntArray
    lost: int
    notes: tuple[str, ...]
    stop: int


@dataclass(frozen=True)
class _Block:
    """Lines from ``number``, counted from 1, which end before byte ``stop``.

    ``open_at`` is the offset of a line without end.
    """

    number: int
    lines: list[bytes]
    stop: int
    open_at: int | None = None


def open_text(path: Path) -> BinaryIO:
    """Open a text file as bytes in UTF-8 or another superset of ASCII; UTF-16 is converted."""
    with path.open("rb") as file:
        if file.read(2) not in _UTF_16:
            return path.open("rb")
    return BytesIO(utf8(path.read_bytes()))


def utf8(text: bytes) -> bytes:
    """Return bytes that begin with the byte order mark of UTF-16 in UTF-8; others unchanged."""
    if not text.startswith(_UTF_16):
        return text
    return text.decode("utf-16", "replace").encode("utf-8")


def opening_of(head: bytes) -> Opening | None:
    """Return the opening of a file from its first bytes; None where they are not text."""
    if b"\0" in head:
        return None
    lines = head.decode("utf-8-sig", "replace").split("\n")
    comments = [line for line in lines if line.startswith("#")]
    content = [line for line in lines if line.strip() and not line.startswith("#")]
    return Opening(tuple(comments[:_COMMENTS_KEPT]), content[0] if content else "")


def read_opening(path: Path) -> Opening:
    """Return the opening of a file.

    Raises
    ------
    FormatError
        The file is not UTF-8.
    """
    return _split_opening(path, _blocks(path))[0]


def read_table(path: Path, layout: Layout, *, salvage: bool, blocks: int | None = None) -> Table:
    """Read the rows of a text file.

    Parameters
    ----------
    path : Path
        The file.
    layout : Layout
        Layout of a row.
    salvage : bool
        Count damaged rows and leave them out, instead of raising an error.
    blocks : int, optional
        Read the rows of so many blocks of 256 KiB; by default all.

    Raises
    ------
    TruncatedError
        The file ends inside a row.
    FormatError
        A row is damaged (the message names line and column), or no row can be read.
    """
    _, lines = _split_opening(path, _blocks(path), layout.encoding)
    reader = _Rows(path, layout, salvage=salvage)
    table = _table(layout, reader, list(map(reader.read, islice(lines, blocks))))
    if reader.lost and not len(table.t_ns):
        raise FormatError(f"expected rows of numbers, got {reader.lost} damaged lines", path=path)
    return table


def read_tables(path: Path, layout: Layout, *, salvage: bool) -> Iterator[Table]:
    """Read the rows of a text file, 4 MiB at a time.

    Parameters
    ----------
    path, layout, salvage
        As of :func:`read_table`.

    Yields
    ------
    Table
        Rows; ``lost`` and ``notes`` are those so far. The last one may be empty.
    """
    _, lines = _split_opening(path, _blocks(path), layout.encoding)
    reader = _Rows(path, layout, salvage=salvage)
    while parts := [reader.read(each) for each in islice(lines, _TOGETHER)]:
        yield _table(layout, reader, parts)
    yield _table(layout, reader, [])


def _table(layout: Layout, reader: _Rows, parts: list[tuple[IntArray, FloatArray]]) -> Table:
    """Return the rows of some blocks."""
    parts = [_arrays(layout, [], []), *parts]
    times, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = values * [column.factor for column in layout.columns]
    return Table(times[:, 0], scaled, times[:, 1:], reader.lost, tuple(reader.notes), reader.stop)


def read_stamps(path: Path, layout: Layout) -> tuple[TimeTally, int]:
    """Read the stamps of all rows of a text file, in bounded memory.

    Parameters
    ----------
    path : Path
        The file.
    layout : Layout
        Layout of a row.

    Returns
    -------
    stamps : TimeTally
        Their statistics.
    lost : int
        Rows that are left out, because their stamp or their number of columns is damaged.

    Raises
    ------
    FormatError
        The file is not in its encoding.
    """
    _, lines = _split_opening(path, _blocks(path), layout.encoding)
    reader = _Rows(path, replace(layout, columns=(), spans=()), salvage=True)
    stamps = TimeTally()
    for block in lines:
        plain = _plain_stamps(layout, block.lines) if block.open_at is None else None
        stamps.add(reader.read(block)[0][:, 0] if plain is None else plain)
    return stamps, reader.lost


def _plain_stamps(layout: Layout, lines: list[bytes]) -> IntArray | None:
    """Return the stamps of lines that are rows and begin with them; None of any others."""
    separator = (layout.separator or "").encode()
    if not separator or layout.stamp.cell or layout.replacements:
        return None
    if any(line.count(separator) != layout.width - 1 for line in lines):
        return None
    text = b"\n".join([line.partition(separator)[0] for line in lines])
    try:
        if b"_" in text or b"#" in text:
            return None
        return np.array(list(map(layout.read_stamp, text.decode("ascii").split("\n"))), np.int64)
    except (ValueError, OverflowError):  # the header, or a damaged row
        return None


def write_table(
    path: Path,
    heading: Iterable[str],
    columns: Sequence[AnyArray],
    separator: str,
    *,
    append: bool = False,
) -> None:
    """Write heading lines and rows; floats as the shortest decimals that read back exactly.

    Parameters
    ----------
    path : Path
        The file; one that exists is replaced.
    heading : iterable of str
        Lines before the rows.
    columns : sequence of (N,) arrays
        Whole numbers, floats or text.
    separator : str
        Between cells.
    append : bool
        Append to the content of the file.
    """
    with path.open("a" if append else "w", encoding="utf-8", newline="") as file:
        file.writelines(f"{line}\n" for line in heading)
        for start in range(0, len(columns[0]), _ROWS_PER_WRITE):
            rows = slice(start, start + _ROWS_PER_WRITE)
            cells = zip(*(_texts(column[rows]) for column in columns), strict=True)
            file.writelines(f"{separator.join(row)}\n" for row in cells)


def _texts(column: AnyArray) -> list[str]:
    """Return the cells of a column: numbers as orjson writes them, which is quick."""
    if not np.issubdtype(column.dtype, np.number) or not np.isfinite(column).all():
        return list(map(str, column.tolist()))
    wide = np.ascontiguousarray(column, float if column.dtype.kind == "f" else None)
    return orjson.dumps(wide, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].decode().split(",")


def _blocks(path: Path) -> Iterator[_Block]:
    """Yield the lines of a file without their ends; a long line is clipped."""
    number, offset, rest = 1, 0, b""
    with open_text(path) as file:
        while data := file.read(_BLOCK):
            if file.tell() == len(data):
                data = data.removeprefix(codecs.BOM_UTF8)
            *lines, tail = data.split(b"\n")
            if lines:
                lines[0] = rest + lines[0]
                offset = file.tell() - len(tail)
                yield _Block(number, lines, offset)
                number += len(lines)
                rest = b""
            rest = (rest + tail)[: _LONGEST_LINE + 1]
    if rest:
        yield _Block(number, [rest], offset + len(rest), open_at=offset)


def _split_opening(
    path: Path, blocks: Iterator[_Block], encoding: str = "utf-8"
) -> tuple[Opening, Iterator[_Block]]:
    """Split off the comments at the top; the remaining blocks begin with ``Opening.line``."""
    comments: list[str] = []
    for block in blocks:
        for index, raw in enumerate(block.lines):
            number = block.number + index
            try:
                line = raw.decode(encoding).strip()
            except UnicodeDecodeError as error:
                raise FormatError(f"line {number}: expected UTF-8 text", path=path) from error
            if line.startswith("#"):
                comments += [line] if len(comments) < _COMMENTS_KEPT else []
            elif line:
                rest = replace(block, number=number, lines=block.lines[index:])
                return Opening(tuple(comments), line), chain([rest], blocks)
    return Opening(tuple(comments)), iter(())


class _Rows:
    """Converter of blocks to arrays that counts damaged rows."""

    def __init__(self, path: Path, layout: Layout, *, salvage: bool) -> None:
        self._path = path
        self._layout = layout
        self._salvage = salvage
        self._header_lines = layout.header
        self.stop = 0
        self.lost = 0
        self.notes: list[str] = []

    def read(self, block: _Block) -> tuple[IntArray, FloatArray]:
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
            block = _Block(block.number + skipped, block.lines[skipped:], block.stop)
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
            return _arrays(layout, [], [])
        cells = list(zip(*rows, strict=True))
        times = [list(map(read, cells[column.cell])) for column, read in layout.times]
        values = [_numbers(cells[column.cell]) for column in layout.columns]
        shape = len(values), len(rows)
        return np.array(times, np.int64).T, np.array(values, np.float64).reshape(shape).T

    def _by_row(self, block: _Block) -> tuple[IntArray, FloatArray]:
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
        return _arrays(self._layout, times, values)

    def _row(self, raw: bytes, *, cut: bool) -> tuple[list[int], list[float]] | None:
        """Return one row; None for a comment or a blank line."""
        if len(raw) > _LONGEST_LINE:
            raise ValueError(f"expected a row, got a line above {_LONGEST_LINE} bytes")
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


def _arrays(
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
