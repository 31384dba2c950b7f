"""Conversion of the series to and from the tables of pandas, Polars and Arrow.

A table has the column ``time``, in UTC, and one column for each number of a row:
``angular_velocity_x``, ``orientation_covariance_xy``, ``q_world_from_body_w``. Values are those of
the series, in SI units.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.errors import BackendMissingError, ShapeError, ValueRangeError
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from dataclasses import Field
    from typing import Self

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from strapdown._typing import AnyArray, IntArray

__all__ = ["UNITS", "Tabular", "endings"]

UNITS: Final[Mapping[str, str]] = {
    "t_ns": "ns",
    "angular_velocity": "rad/s",
    "specific_force": "m/s^2",
    "magnetic_field": "T",
    "orientation_covariance": "rad^2",
    "angular_velocity_covariance": "rad^2/s^2",
    "specific_force_covariance": "m^2/s^4",
    "position_world": "m",
    "velocity_world": "m/s",
    "delta_angle": "rad",
    "delta_velocity": "m/s",
    "delta_angle_dt_ns": "ns",
    "delta_velocity_dt_ns": "ns",
    "gyro_bias": "rad/s",
    "gyro_bias_sigma": "rad/s",
    "accel_bias": "m/s^2",
    "accel_bias_sigma": "m/s^2",
    "heading_offset": "rad",
    "latitude": "rad",
    "longitude": "rad",
    "altitude": "m",
    "position_covariance": "m^2",
    "velocity_covariance": "m^2/s^2",
    "heading": "rad",
    "heading_sigma": "rad",
    "pressure": "Pa",
    "temperature": "degC",
}
"""Units by column; quaternions, flags, bits and counters have none."""

_AXES: Final[Mapping[int, str]] = {3: "xyz", 4: "xyzw"}
_TIME: Final = "time"


class Tabular:
    """Base of the series: conversion to and from tables."""

    if TYPE_CHECKING:
        t_ns: IntArray

    @property
    def units(self) -> dict[str, str]:
        """Units of the columns that have one."""
        return {name: UNITS[name] for name, _ in _arrays(self) if name in UNITS}

    def to_pandas(self) -> pd.DataFrame:
        """Return the series as a pandas data frame; its ``attrs`` hold units and frames.

        Raises
        ------
        BackendMissingError
            The extra ``pandas`` is not installed.
        """
        pandas = _library("pandas", "to_pandas", "pandas")
        columns = list(_numbers(self))
        table = pandas.DataFrame(
            {_TIME: pandas.to_datetime(self.t_ns, unit="ns", utc=True)}
            | {name: values for name, _, values in columns}
        )
        units = {name: unit for name, unit, _ in columns if unit}
        table.attrs = {**_frames(self), "units": units}
        return table

    def to_polars(self) -> pl.DataFrame:
        """Return the series as a Polars data frame, which cannot hold :attr:`units` and frames.

        Raises
        ------
        BackendMissingError
            The extra ``polars`` is not installed.
        """
        polars = _library("polars", "to_polars", "polars")
        time = polars.Series(_TIME, self.t_ns).cast(polars.Datetime("ns", "UTC"))
        columns = [polars.Series(name, values) for name, _, values in _numbers(self)]
        table: pl.DataFrame = polars.DataFrame([time, *columns])
        return table

    def to_arrow(self) -> pa.Table:
        """Return the series as an Arrow table; its fields hold units, its schema holds frames.

        Raises
        ------
        BackendMissingError
            The extra ``parquet`` is not installed.
        """
        arrow = _library("pyarrow", "to_arrow", "parquet")
        arrays = [arrow.array(self.t_ns).cast(arrow.timestamp("ns", "UTC"))]
        entries = [arrow.field(_TIME, arrays[0].type)]
        for name, unit, values in _numbers(self):
            arrays.append(arrow.array(values))
            entries.append(
                arrow.field(name, arrays[-1].type, metadata={"unit": unit} if unit else None)
            )
        return arrow.table(arrays, schema=arrow.schema(entries, metadata=_frames(self)))

    @classmethod
    def from_frame(cls, data_frame: pd.DataFrame | pl.DataFrame, **labels: Any) -> Self:  # noqa: ANN401 (fields of several types, checked by the constructor)
        """Return the series in a data frame of pandas or Polars.

        Columns are named as by :meth:`to_pandas`; others are ignored.

        Parameters
        ----------
        data_frame : DataFrame
            Time is the column ``t_ns`` (whole nanoseconds), else ``t_s`` (seconds), else the only
            column of date and time, or a pandas index of that type; without a zone it is UTC.
        **labels
            Fields that are no columns, such as ``body="FRD"``. Frames are by default those in
            ``attrs`` of a pandas data frame.

        Raises
        ------
        ShapeError
            A column is missing, or there is no column of time, or several.
        ValueRangeError
            A row has no time.
        TypeError, FrameError
            The argument is no data frame; or as from the constructor.
        """
        if not hasattr(data_frame, "columns"):
            raise TypeError(
                f"expected a data frame of pandas or Polars, got {type(data_frame).__name__}"
            )
        values: dict[str, Any] = {"t_ns": _stamps(data_frame)}
        attributes = getattr(data_frame, "attrs", {})
        for entry in _fields(cls):
            if "column" not in entry.metadata:
                if entry.name in {"body", "world"} and entry.name in attributes:
                    values[entry.name] = attributes[entry.name]
            elif entry.name != "t_ns":
                values |= _column(data_frame, entry)
        return cls(**values | labels)


def _library(name: str, method: str, extra: str) -> Any:  # noqa: ANN401 (a module)
    """Import an optional library."""
    try:
        return import_module(name)
    except ImportError:
        raise BackendMissingError(method, extra=extra) from None


def _fields(series: object) -> tuple[Field[Any], ...]:
    """Return the fields of a series or of its class."""
    return fields(series)  # type: ignore[arg-type]  # every subclass of Tabular is a data class


def _arrays(series: Tabular) -> Iterator[tuple[str, AnyArray]]:
    """Yield every column that is there, by name."""
    for entry in _fields(series):
        array = getattr(series, entry.name)
        if "column" in entry.metadata and array is not None:
            yield entry.name, array


def _numbers(series: Tabular) -> Iterator[tuple[str, str, AnyArray]]:
    """Yield name, unit and (N,) values of each number of a row, except for the stamp."""
    for name, array in _arrays(series):
        if name == "t_ns":
            continue
        names = endings(array.shape[1:])
        flat = array.reshape(len(array), len(names))
        for ending, values in zip(names, flat.T, strict=True):
            yield name + ending, UNITS.get(name, ""), np.ascontiguousarray(values)


def endings(tail: tuple[int, ...]) -> list[str]:
    """Return the endings of the names of the table columns for a row of this shape.

    Examples
    --------
    >>> endings((3,)), endings(())
    (['_x', '_y', '_z'], [''])
    """
    if not tail:
        return [""]
    axes = (_AXES.get(size) or map(str, range(size)) for size in tail)
    return ["_" + "".join(place) for place in product(*axes)]


def _frames(series: Tabular) -> dict[str, str]:
    """Return the frames of a series by the names of their fields."""
    names = (entry.name for entry in _fields(series) if entry.name in {"body", "world"})
    return {name: str(getattr(series, name)) for name in names}


def _stamps(data_frame: Any) -> AnyArray:  # noqa: ANN401 (of a library that may be missing)
    """Return the time of each row [ns]."""
    if "t_ns" in data_frame.columns:
        return np.asarray(data_frame["t_ns"])
    if "t_s" in data_frame.columns:
        seconds = np.asarray(data_frame["t_s"], np.float64)
        if not np.isfinite(seconds).all():
            raise ValueRangeError("expected a time in every row, got none in some of column t_s")
        return np.rint(seconds * NS_PER_S).astype(np.int64)
    index = getattr(data_frame, "index", None)
    typed = [data_frame[name] for name in data_frame.columns if _is_time(data_frame[name].dtype)]
    if not typed and _is_time(getattr(index, "dtype", "")):
        typed = [index]
    if len(typed) != 1:
        raise ShapeError(
            f"expected a column t_ns, t_s or one of date and time, got {len(typed)} of date and "
            f"time among {_listed(data_frame)}; name the column of time t_ns or t_s"
        )
    stamps = np.asarray(typed[0], "datetime64[ns]")
    if np.isnat(stamps).any():
        raise ValueRangeError("expected a time in every row, got none in some")
    return stamps.astype(np.int64)


def _is_time(dtype: object) -> bool:
    """Whether a type of pandas or Polars is date and time."""
    return str(dtype).lower().startswith(("datetime", "timestamp"))


def _column(data_frame: Any, entry: Field[Any]) -> dict[str, AnyArray]:  # noqa: ANN401 (as above)
    """Return one column of a series by name, or nothing where it is absent and may be."""
    tail, dtype = entry.metadata["column"].tail, entry.metadata["column"].dtype
    names = [entry.name + ending for ending in endings(tail)]
    missing = [name for name in names if name not in data_frame.columns]
    is_optional = entry.default is not MISSING or entry.default_factory is not MISSING
    if is_optional and len(missing) == len(names):
        return {}
    if missing:
        raise ShapeError(f"expected columns {', '.join(missing)}, got {_listed(data_frame)}")
    kept = dtype if dtype is np.float64 else None  # whole numbers are checked as they are
    parts = [np.asarray(data_frame[name], kept) for name in names]
    return {entry.name: np.stack(parts, axis=-1).reshape(-1, *tail)}


def _listed(data_frame: Any) -> str:  # noqa: ANN401 (as above)
    return ", ".join(map(str, data_frame.columns)) or "no column"
