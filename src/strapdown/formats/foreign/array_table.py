"""Tables of arrays of other programs: data frames, Parquet, npz."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats.foreign.importing import Content, import_table
from strapdown.formats.foreign.sheet import Sheet
from strapdown.formats.foreign.stamps import ns_from_values, reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from strapdown._typing import AnyArray, BoolArray, FloatArray, IntArray
    from strapdown.formats.foreign.plan import ImportPlan, TimeColumn
    from strapdown.formats.recording import Recording

__all__ = ["ArrayTable", "at_instants", "columns_of_frame", "columns_of_npz"]

_SEEN: Final = 20_000
"""Rows from which columns are recognised."""


@dataclass(frozen=True)
class ArrayTable:
    """Columns (N,) of one length, by name: numbers, or dates and times.

    ``lost`` counts damaged rows that they do not hold.
    """

    columns: Mapping[str, AnyArray]
    lost: int = 0

    def sheet(self) -> Sheet:
        """Return the names and the first values."""
        values, texts = {}, {}
        for name, column in self.columns.items():
            values[name] = _floats(column[:_SEEN])
            if column.dtype.kind in "OUM":
                texts[name] = [str(each) for each in column[:_SEEN]]
        return Sheet(tuple(self.columns), ("",) * len(self.columns), values, texts)

    def read(self, path: Path, plan: ImportPlan | None = None) -> Recording:
        """Return the table as a recording; rows without a time are left out and counted.

        Raises
        ------
        FormatError
            Columns are missing or ambiguous.
        """

        def content(time: TimeColumn, names: Sequence[str]) -> Content:
            values = {name: _floats(self.columns[name]) for name in names}
            if time.column is None:
                rows = len(next(iter(self.columns.values())))
                return Content(np.arange(rows), values, self.lost)
            stamps = self.columns[time.column]
            known = _has_time(stamps, time.unit)
            counts = ns_from_values(stamps[known], time.unit)
            values = {name: column[known] for name, column in values.items()}
            return Content(counts, values, lost=self.lost + int(np.sum(~known)))

        if not self.columns:
            raise FormatError("expected a table with columns, got none", path=path)
        return import_table(path, self.sheet(), plan, content)


def columns_of_frame(frame: Any) -> dict[str, AnyArray]:  # noqa: ANN401 (pandas, Polars or Arrow)
    """Return the columns of a data frame or an Arrow table, and its index of time."""
    names = getattr(frame, "column_names", None) or list(frame.columns)
    columns = {}
    index = getattr(frame, "index", None)
    if str(getattr(index, "dtype", "")).startswith("datetime64"):
        columns["time"] = _array(index)
    for name in names:
        columns[str(name)] = _array(frame[name])
    return columns


def _array(column: Any) -> AnyArray:  # noqa: ANN401 (of pandas, Polars or Arrow)
    """Return a column as an array; dates and times in a zone are those of UTC."""
    if str(getattr(column, "dtype", "")).startswith("datetime64"):
        return np.asarray(column, "datetime64[ns]")
    return np.asarray(column.to_numpy())


def columns_of_npz(path: Path, arrays: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Return the columns of arrays (N,) and (N, 3), whose columns are named x, y, z.

    Raises
    ------
    FormatError
        The arrays have no common length.
    """
    lengths = [len(array) for array in arrays.values() if array.ndim]
    rows = max(lengths, default=0, key=lengths.count)
    columns = {}
    for name, array in arrays.items():
        if array.ndim == 1 and len(array) == rows:
            columns[name] = array
        elif array.ndim == 2 and len(array) == rows and array.shape[1] in {3, 4}:
            axes = "xyz" if array.shape[1] == 3 else "0123"
            columns |= {f"{name} {axis}": array[:, i] for i, axis in enumerate(axes)}
    if not columns:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise FormatError(
            f"expected arrays (N,) or (N, 3) of one length, got {shapes[:200]}", path=path
        )
    return columns


def at_instants(
    t: IntArray | FloatArray, own_t: IntArray | FloatArray, values: FloatArray
) -> FloatArray:
    """Return values (N,) at times ``own_t`` interpolated to (M,) others; NaN outside their time."""
    order = np.argsort(own_t, kind="stable")
    origin = t[0] if len(t) else 0
    return np.interp(t - origin, own_t[order] - origin, values[order], left=np.nan, right=np.nan)


def _has_time(column: AnyArray, unit: str) -> BoolArray:
    """Return which cells of a column hold a number, or a time in a unit that is written out."""
    if column.dtype.kind == "M":
        return ~np.isnat(column)
    if column.dtype.kind in "OU":
        return np.array([_is_time(str(each), unit) for each in column.tolist()], bool)
    return np.isfinite(column)


def _is_time(text: str, unit: str) -> bool:
    try:
        reader(unit)(text)
    except ValueError:
        return False
    return True


def _floats(column: AnyArray) -> FloatArray:
    """Return a column as numbers; NaN where it holds something else."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    if column.dtype.kind == "M":
        return column.astype("datetime64[ns]").astype(np.float64)
    return np.full(len(column), np.nan)
