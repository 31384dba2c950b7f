"""Tables of numbers in text: common reader and writer of CSV, TUM and EuRoC."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
import orjson

from strapdown.errors import FormatError
from strapdown.formats.text.lines import split_opening
from strapdown.formats.text.rows import Rows, as_arrays
from strapdown.series.timebase import TimeTally

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from strapdown._typing import AnyArray, FloatArray, IntArray
    from strapdown.formats.text.rows import Layout

__all__ = ["Table", "read_stamps", "read_table", "read_tables", "write_table"]

_TOGETHER: Final = 16
"""Blocks that are converted at one time."""
_ROWS_PER_WRITE: Final = 1 << 16


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
    _, lines = split_opening(path, layout.encoding)
    reader = Rows(path, layout, salvage=salvage)
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
    _, lines = split_opening(path, layout.encoding)
    reader = Rows(path, layout, salvage=salvage)
    while parts := [reader.read(each) for each in islice(lines, _TOGETHER)]:
        yield _table(layout, reader, parts)
    yield _table(layout, reader, [])


def _table(layout: Layout, reader: Rows, parts: list[tuple[IntArray, FloatArray]]) -> Table:
    """Return the rows of some blocks."""
    parts = [as_arrays(layout, [], []), *parts]
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
    _, lines = split_opening(path, layout.encoding)
    reader = Rows(path, replace(layout, columns=(), spans=()), salvage=True)
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
