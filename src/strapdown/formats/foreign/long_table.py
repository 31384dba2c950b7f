"""Long tables: a row for each sensor, or for each axis, in place of columns side by side.

===========================  ======================================================
columns                      rows
===========================  ======================================================
``time, sensor, x, y, z``    ``0.01, accelerometer, 0.1, 0.2, 9.8``
``time, name, axis, value``  ``0.01, gyro, x, 0.02``
``time, name, value``        ``0.01, gyro_x, 0.02``
===========================  ======================================================

The words in the rows become part of the columns' names: ``accelerometer x``. All sensors are
interpolated to the instants of the gyro; outside its own time a sensor is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats.foreign.array_table import ArrayTable, at_instants
from strapdown.formats.foreign.names import meaning_of
from strapdown.formats.foreign.stamps import is_instant, order_of_days, reader, written_as

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from strapdown._typing import AnyArray, FloatArray
    from strapdown.formats.foreign.sheet import Sheet

__all__ = ["LongLayout", "long_layout", "pivoted"]

_MEASURED: Final = {"angular_velocity", "specific_force", "gravity_free", "magnetic_field"}
_AXES: Final = ("x", "y", "z")
_VALUES: Final = {"value", "val", "reading", "data", "measurement"}
_MOST_WORDS: Final = 30
"""Number of different words in a column of sensors."""


@dataclass(frozen=True)
class LongLayout:
    """Columns of a long table.

    Parameters
    ----------
    time, sensor : str
        Names of the columns of time and of the sensors' names.
    values : tuple of str
        Columns of x, y and z, or the only column of values.
    axis : str, optional
        Column that names the axis of a value.
    """

    time: str
    sensor: str
    values: tuple[str, ...]
    axis: str | None = None


def long_layout(sheet: Sheet) -> LongLayout | None:
    """Return the layout of a long table; None where a table is none."""
    lower = {name.lower().strip(): name for name in sheet.names}
    meanings = {name: meaning_of(name) for name in sheet.names}
    time = next((name for name, m in meanings.items() if m and m.quantity == "time"), None)
    words = {name: _words(sheet, name) for name in sheet.names if name != time}
    axis = next((name for name, each in words.items() if each and each <= {*_AXES}), None)
    value = next((lower[name] for name in lower if name in _VALUES), None)
    if time is None:
        return None
    for name, each in words.items():
        if name == axis or not each:
            continue
        if {*_AXES} <= {*lower} and _measures(f"{word} x" for word in each):
            return LongLayout(time, name, tuple(lower[each] for each in _AXES))
        if value is not None and axis is not None and _measures(f"{word} x" for word in each):
            return LongLayout(time, name, (value,), axis)
        if value is not None and axis is None and _measures(each):
            return LongLayout(time, name, (value,))
    return None


def _words(sheet: Sheet, name: str) -> set[str]:
    """Return the words of a column in lower case; none where it holds numbers or times."""
    texts = sheet.texts.get(name, ())
    words = {text.lower() for text in texts}
    if len(words) > _MOST_WORDS or np.isfinite(sheet.values[name]).any():
        return set()
    return set() if any(map(is_instant, words)) else words - {""}


def _measures(names: Iterable[str]) -> bool:
    """Return whether one of the names is that of a component of a measured vector."""
    return any((m := meaning_of(name)) is not None and m.quantity in _MEASURED for name in names)


def pivoted(
    path: Path,
    rows: Iterable[tuple[int, Sequence[str]]],
    names: Sequence[str],
    layout: LongLayout,
    *,
    salvage: bool,
) -> ArrayTable:
    """Return a long table as columns side by side, on the clock of the gyro or the first sensor.

    Parameters
    ----------
    path : Path
        For messages.
    rows : iterable of (int, sequence of str)
        Line number and cells of each row.
    names : sequence of str
        Of the columns.
    layout : LongLayout
        Meaning of the columns.
    salvage : bool
        Count damaged rows and leave them out, instead of raising an error.

    Raises
    ------
    FormatError
        A row is damaged.
    """
    place = {name: number for number, name in enumerate(names)}
    times: dict[str, list[str]] = {}
    values: dict[str, list[float]] = {}
    lost = 0
    for number, cells in rows:
        try:
            stamp, found = _checked(cells[place[layout.time]]), _entries(cells, place, layout)
        except (ValueError, IndexError) as error:
            if not salvage:
                raise FormatError(
                    f"line {number}: expected {len(names)} cells with numbers, got "
                    f"{','.join(cells)[:80]!r}",
                    path=path,
                ) from error
            lost += 1
            continue
        for name, value in found:
            times.setdefault(name, []).append(stamp)
            values.setdefault(name, []).append(value)
    base = next((name for name in values if _measures_rate(name)), next(iter(values), None))
    if base is None:
        raise FormatError("expected rows of numbers, got none", path=path)
    columns: dict[str, AnyArray] = {layout.time: _column(times[base])}
    instants = _instants(times[base])
    for name, each in values.items():
        column = np.asarray(each)
        if times[name] != times[base]:
            column = at_instants(instants, _instants(times[name]), column)
        columns[name] = column
    return ArrayTable(columns, lost)


def _checked(text: str) -> str:
    """Return the cell of a time; ``ValueError`` where it is neither a number nor a date."""
    if not is_instant(text):
        float(text)
    return text


def _column(cells: Sequence[str]) -> AnyArray:
    """Return times as whole numbers, numbers or texts, as the cells have them."""
    if is_instant(cells[0]):
        return np.array(cells, object)
    if all(cell.lstrip("+-").isdigit() for cell in cells):
        return np.array(list(map(int, cells)), np.int64)
    return np.array(list(map(float, cells)))


def _instants(cells: Sequence[str]) -> FloatArray:
    """Return times in any one unit, for interpolation."""
    how = written_as(cells[0])
    if how is None:
        return np.array(list(map(float, cells)))
    read = reader((order_of_days(cells) or "day_first") if how == "date" else how)
    return np.array(list(map(read, cells)), np.float64)


def _entries(
    cells: Sequence[str], place: dict[str, int], layout: LongLayout
) -> list[tuple[str, float]]:
    """Return name and value of each number of a row."""
    sensor = cells[place[layout.sensor]]
    if len(layout.values) == 3:
        return [
            (f"{sensor} {axis}", float(cells[place[name]]))
            for axis, name in zip(_AXES, layout.values, strict=True)
        ]
    axis = "" if layout.axis is None else f" {cells[place[layout.axis]].lower()}"
    return [(f"{sensor}{axis}", float(cells[place[layout.values[0]]]))]


def _measures_rate(name: str) -> bool:
    meaning = meaning_of(name)
    return meaning is not None and meaning.quantity == "angular_velocity"
