"""A table of another program as names, units and its first values."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.formats.foreign.names import meaning_of
from strapdown.formats.foreign.stamps import is_instant
from strapdown.formats.foreign.units import MEASURED, unit_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from strapdown._typing import FloatArray

__all__ = ["Dialect", "Sheet", "dialect_of", "heading_of", "sheet_of"]

_SEPARATORS: Final = ("\t", ";", ",", "|", None)
_ROWS_SEEN: Final = 3
"""Rows of one width that make a table."""
_MOST_LINES: Final = 400
_WORDY: Final = 4
"""Cells of a row from which half of them may be words."""


@dataclass(frozen=True)
class Dialect:
    """Layout of a text table.

    Parameters
    ----------
    separator : str or None
        Between cells; None is white space.
    decimal_comma : bool
        Whether numbers have a decimal comma.
    quoted : bool
        Whether cells are quoted.
    first_row : int
        Index of the line of the first row.
    names, units : tuple of str
        Of the columns; ``column 1`` and so on where no line names them.
    """

    separator: str | None
    decimal_comma: bool
    quoted: bool
    first_row: int
    names: tuple[str, ...]
    units: tuple[str, ...]

    def cells(self, line: str) -> list[str]:
        """Return the cells of a line, with decimal points."""
        return _split(line, self.separator, decimal_comma=self.decimal_comma)


@dataclass(frozen=True)
class Sheet:
    """Names, units and first values of the columns of a table.

    Parameters
    ----------
    names, units : tuple of str
        By column.
    values : mapping of str to (N,) array
        First values by name; NaN where a cell is no number.
    texts : mapping of str to sequence of str
        First cells by name, of text tables.
    preamble : str
        Text above the names.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Mapping[str, FloatArray]
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    preamble: str = ""


def dialect_of(lines: Sequence[str]) -> Dialect | None:
    """Return the layout of a text table from its first lines; None where it is no table."""
    lines = lines[:_MOST_LINES]
    text = "\n".join(lines)
    styles = [
        (separator, comma)
        for separator in _SEPARATORS
        for comma in (False, True)
        if (separator is None or separator in text)
        and not (comma and separator == "," and '"' not in text)
    ]
    found = [
        (score, -order, separator, comma, row)
        for order, (separator, comma) in enumerate(styles)
        if (row := _first_row(lines, separator, decimal_comma=comma)) is not None
        and (score := _score(lines[row], separator, decimal_comma=comma)) is not None
    ]
    if not found:
        return None
    _, _, separator, comma, row = max(found, key=lambda each: each[:2])
    width = len(_split(lines[row], separator, decimal_comma=comma))
    heads = _heads(lines[:row], separator, width)
    names, units = _names(heads, width)
    quoted = '"' in lines[row]
    return Dialect(separator, comma, quoted, row, names, units)


def heading_of(lines: Sequence[str]) -> list[str] | None:
    """Return the names of the columns of a table without rows; None of other text."""
    written = [line.strip().lstrip("#%/ ") for line in lines if line.strip()]
    for line, separator in product(written[:-3:-1], _SEPARATORS):  # units may be below the names
        cells = _split(line, separator, decimal_comma=False)
        known = sum(meaning_of(cell) is not None for cell in cells)
        if known > 2 and 2 * known >= len(cells):  # the time and two axes
            return cells
    return None


def sheet_of(dialect: Dialect, lines: Sequence[str]) -> Sheet:
    """Return the first rows of a text table as a sheet."""
    rows = [dialect.cells(line) for line in lines[dialect.first_row :] if line.strip()]
    rows = [row for row in rows if len(row) == len(dialect.names)]
    columns = dict(zip(dialect.names, zip(*rows, strict=True), strict=True)) if rows else {}
    values = {name: np.array([_number(cell) for cell in cells]) for name, cells in columns.items()}
    preamble = "\n".join(lines[: dialect.first_row])
    return Sheet(dialect.names, dialect.units, values, columns, preamble)


def _split(line: str, separator: str | None, *, decimal_comma: bool) -> list[str]:
    if separator is not None and '"' in line:
        cells = next(csv.reader([line], delimiter=separator))
    else:
        cells = line.split(separator)
    if decimal_comma:
        cells = [cell.replace(",", ".") for cell in cells]
    return [cell.strip() for cell in cells]


def _number(text: str) -> float:
    try:
        return float(text) if "_" not in text else math.nan
    except ValueError:
        return math.nan


def _is_value(text: str) -> bool:
    return not text or text.lower() == "nan" or not math.isnan(_number(text)) or is_instant(text)


def _first_row(lines: Sequence[str], separator: str | None, *, decimal_comma: bool) -> int | None:
    """Return the index of the first of several rows of values of one width."""
    widths: list[tuple[int, int]] = []  # index and width of the rows of values up to here
    for index, line in enumerate(lines):
        if not line.strip():
            continue
        cells = _split(line, separator, decimal_comma=decimal_comma)
        if len(cells) < 2 or not _is_row(cells) or (widths and widths[-1][1] != len(cells)):
            widths = []
        if len(cells) > 1 and _is_row(cells):
            widths.append((index, len(cells)))
        if len(widths) == _ROWS_SEEN:
            break
    return widths[0][0] if widths else None


def _is_row(cells: Sequence[str]) -> bool:
    """Return whether most cells are values (of 4 and more, half), and one is a number."""
    values = sum(map(_is_value, cells))
    return 2 * values + (len(cells) >= _WORDY) > len(cells) and any(
        not math.isnan(_number(cell)) for cell in cells
    )


def _score(line: str, separator: str | None, *, decimal_comma: bool) -> tuple[float, int]:
    """Return the share and the number of values in a row."""
    cells = _split(line, separator, decimal_comma=decimal_comma)
    values = sum(map(_is_value, cells))
    return values / len(cells), values


def _heads(lines: Sequence[str], separator: str | None, width: int) -> list[list[str]]:
    """Return the lines directly above the rows that have their width, nearest first."""
    heads = []
    for line in reversed(lines):
        text = line.strip().lstrip("#%/ ")
        cells = _split(text, separator, decimal_comma=False)
        if len(cells) != width:
            if text:
                break
            continue
        heads.append(cells)
    return heads


def _names(heads: list[list[str]], width: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names and units of the columns from the lines above the rows."""
    if not heads:
        return tuple(f"column {number + 1}" for number in range(width)), ("",) * width
    names = max(heads, key=lambda cells: sum(meaning_of(cell) is not None for cell in cells))
    others = [cells for cells in heads if cells is not names]
    units = max(others, key=_units_in, default=[""] * width)
    if not _units_in(units):
        units = [""] * width
    return tuple(_unique(names)), tuple(units)


def _units_in(cells: Sequence[str]) -> int:
    quantities = "time", *MEASURED
    return sum(any(unit_named(cell, quantity) for quantity in quantities) for cell in cells)


def _unique(names: Sequence[str]) -> list[str]:
    """Return names, with the number of the column where they are empty or repeated."""
    return [
        name if name and names.count(name) == 1 else f"{name} column {number}".strip()
        for number, name in enumerate(names, 1)
    ]
