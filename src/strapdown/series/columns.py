"""Base of the series: frozen structs of arrays with named frames.

A class declares its columns as dataclass fields whose metadata is one of the constants below.
Checks, slicing, joining, comparison, frame conversion and printing follow from the declaration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from strapdown._checks import as_floats
from strapdown._html import html_table
from strapdown._scratch import median_step
from strapdown._words import counted
from strapdown.errors import FrameError, ShapeError, ValueRangeError
from strapdown.geometry.frames import (
    BodyFrame,
    Frame,
    WorldFrame,
    convert_covariance,
    convert_quaternion,
    convert_vector,
)
from strapdown.series.tabular import Tabular
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Self

    from numpy.typing import DTypeLike

    from strapdown._typing import AnyArray, ArrayLike, BoolArray, ByteArray, IntArray

__all__ = [
    "ANGLE",
    "AXIS_BITS",
    "BODY_COVARIANCE",
    "BODY_DELTA",
    "BODY_MAGNITUDES",
    "BODY_VECTOR",
    "COUNTER",
    "DURATION",
    "FLAG",
    "QUATERNION",
    "SCALAR",
    "STAMP",
    "WORLD_COVARIANCE",
    "WORLD_VECTOR",
    "Between",
    "BodyColumns",
    "Column",
    "Columns",
    "as_stamps",
    "present",
]

Between = Literal["linear", "angle", "slerp", "union", "previous", "undefined"]
"""Interpolation of a column between two rows: an angle takes the shorter arc, an integral over an
interval has none (undefined)."""


@dataclass(frozen=True)
class Column:
    """Declaration of a column: shape of a row, type, frame of its axes, and interpolation."""

    tail: tuple[int, ...]
    dtype: DTypeLike
    axes: Literal["body", "world", "both", "none"]
    between: Between
    is_signed: bool = True  # False: a magnitude per axis, without direction


def _declare(
    tail: tuple[int, ...],
    dtype: DTypeLike,
    axes: Literal["body", "world", "both", "none"],
    between: Between,
    *,
    is_signed: bool = True,
) -> Mapping[str, Column]:
    return {"column": Column(tail, dtype, axes, between, is_signed)}


STAMP: Final = _declare((), np.int64, "none", "previous")
DURATION: Final = _declare((), np.int64, "none", "undefined")
COUNTER: Final = _declare((), np.uint8, "none", "previous")
FLAG: Final = _declare((), np.bool_, "none", "previous")
AXIS_BITS: Final = _declare((), np.uint8, "body", "union")
BODY_VECTOR: Final = _declare((3,), np.float64, "body", "linear")
BODY_MAGNITUDES: Final = _declare((3,), np.float64, "body", "linear", is_signed=False)
BODY_DELTA: Final = _declare((3,), np.float64, "body", "undefined")
WORLD_VECTOR: Final = _declare((3,), np.float64, "world", "linear")
BODY_COVARIANCE: Final = _declare((3, 3), np.float64, "body", "linear")
WORLD_COVARIANCE: Final = _declare((3, 3), np.float64, "world", "linear")
QUATERNION: Final = _declare((4,), np.float64, "both", "slerp")
SCALAR: Final = _declare((), np.float64, "none", "linear")
ANGLE: Final = _declare((), np.float64, "none", "angle")

_FRAMES: Final[dict[str, type[BodyFrame | WorldFrame]]] = {
    "body": BodyFrame,
    "world": WorldFrame,
}


@dataclass(frozen=True, eq=False, repr=False)
class Columns(Tabular):  # noqa: PLW1641 (what holds arrays has no hash)
    """Base of the series: stamped rows of equal number in named frames."""

    t_ns: IntArray = field(metadata=STAMP)

    def __post_init__(self) -> None:
        rows: int | None = None
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name in _FRAMES:
                value = _as_frame(entry.name, value)
            elif "column" in entry.metadata and not (value is None and entry.default is None):
                value = _as_column(value, entry.name, entry.metadata["column"], rows)
                rows = len(value)
            object.__setattr__(self, entry.name, value)

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __len__(self) -> int:
        return len(self.t_ns)

    def __getitem__(self, rows: slice | BoolArray | IntArray | list[int] | list[bool]) -> Self:
        if isinstance(rows, int | np.integer):
            raise TypeError(
                f"expected a slice, a mask or an array of row numbers, got {rows}; "
                f"the series of one row is series[{rows}:{rows + 1}]"
            )
        return self.replace(**{name: array[rows] for name, _, array in present(self)})

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            _equal(getattr(self, entry.name), getattr(other, entry.name)) for entry in fields(self)
        )

    def __repr__(self) -> str:
        parts = self._extent()
        for name in _labels(self):
            text = str(getattr(self, name))
            if text:
                parts.append(f"{name}={text}" if name in _FRAMES else f"{name}={text!r}")
        if self.optional_columns:
            parts.append("with " + " ".join(self.optional_columns))
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        units, frames = self.units, {name: getattr(self, name, "") for name in _FRAMES}
        frames |= {"both": f"{frames['world']} from {frames['body']}", "none": ""}
        rows = [
            (name, " x ".join(map(str, array.shape)), units.get(name, ""), frames[column.axes])
            for name, column, array in present(self)
        ]
        caption = f"{type(self).__name__}: {', '.join(self._extent())}"
        return html_table(caption, ("column", "shape", "unit", "frame"), rows)

    def view(self) -> Any:  # noqa: ANN401 (a page of a layer above)
        """Return interactive charts of this series, for a notebook or a file.

        Returns
        -------
        ChartPage
            Shown by a notebook; ``save(path)`` writes one HTML document that loads nothing.

        Raises
        ------
        BackendMissingError
            The extra ``viewer`` is not installed.
        """
        # By name: charts belong to a layer that series must not import.
        return import_module("strapdown.viewer").chart_page(self)

    def _extent(self) -> list[str]:
        """Return number of samples, span and rate in words."""
        samples = counted(len(self), "sample")
        if len(self) < 2:
            return [samples]
        return [samples, f"{_short(self.duration_s)} s", f"{_short(self.rate_hz)} Hz"]

    @property
    def duration_s(self) -> float:
        """Time from the earliest to the latest stamp [s]; 0 without samples."""
        if not len(self):
            return 0.0
        return (int(self.t_ns.max()) - int(self.t_ns.min())) / NS_PER_S

    @property
    def rate_hz(self) -> float:
        """One over the median interval between neighbours [Hz]; NaN where there is none."""
        median = median_step(self.t_ns) if len(self) > 1 else 0.0
        return NS_PER_S / median if median > 0.0 else float("nan")

    @property
    def optional_columns(self) -> tuple[str, ...]:
        """Names of the optional columns that are present."""
        optional = {entry.name for entry in fields(self) if entry.default is None}
        return tuple(name for name, _, _ in present(self) if name in optional)

    def between(self, *, start_s: float = 0.0, stop_s: float = math.inf) -> Self:
        """Return the samples of a time span that is counted from the earliest stamp.

        Parameters
        ----------
        start_s, stop_s : float, optional
            Begin (inclusive) and end (exclusive) of the span [s]; by default the whole series.

        Returns
        -------
        same type
            In the order of this series.

        Raises
        ------
        ValueRangeError
            No sample lies in the span.
        """
        since_ns = self.t_ns - self.t_ns.min(initial=np.iinfo(np.int64).max)
        start_ns, stop_ns = np.rint(NS_PER_S * np.array([start_s, stop_s]))
        return self._where(
            (since_ns >= start_ns) & (since_ns < stop_ns),
            f"from {start_s:g} to {stop_s:g} s after the first, got none: {self!r}",
        )

    def between_ns(self, start_ns: int, stop_ns: int) -> Self:
        """Return the samples with ``start_ns <= t_ns < stop_ns``, in the order of this series.

        Raises
        ------
        ValueRangeError
            There is none.
        """
        covered = f"{self.t_ns.min()} to {self.t_ns.max()} ns" if len(self) else "no time"
        return self._where(
            (self.t_ns >= start_ns) & (self.t_ns < stop_ns),
            f"with stamps from {start_ns} to {stop_ns} ns, got none: the series covers {covered}",
        )

    def _where(self, inside: BoolArray, expected: str) -> Self:
        if not inside.any():
            raise ValueRangeError(f"expected samples {expected}")
        return self[inside]

    def replace(self, **changes: Any) -> Self:  # noqa: ANN401 (any field; checked)
        """Return a copy with some fields changed, with the checks of the constructor.

        Raises
        ------
        TypeError
            There is no such field.
        ShapeError, FrameError, ValueRangeError
            As from the constructor.
        """
        return replace(self, **changes)

    def in_frames(
        self, *, world: WorldFrame | str | None = None, body: BodyFrame | str | None = None
    ) -> Self:
        """Return the same motion in other axes.

        Vectors, covariances and clipping bits change by signs and permutations, without
        rounding; attitude changes on each side that is converted, exact to the last digit. A
        covariance with a negative first element marks its quantity as absent; it has no axes
        and is not changed.

        Parameters
        ----------
        world, body : frame or name, optional
            Target frames; a side that is not given is not converted.

        Returns
        -------
        same type

        Raises
        ------
        FrameError
            There is no such frame, or these samples have no world frame.
        """
        moves: dict[str, tuple[Frame, Frame]] = {}
        for name, target in (("world", world), ("body", body)):
            if target is None:
                continue
            if name not in _labels(self):
                raise FrameError(
                    f"expected no {name} frame, got {target}: {type(self).__name__} have no "
                    f"{name} axes; leave {name}= out"
                )
            move = getattr(self, name), _as_frame(name, target)
            if move[0] != move[1]:
                moves[name] = move
        if not moves:
            return self
        frames = {name: target for name, (_, target) in moves.items()}
        columns = {name: _relabel(column, array, moves) for name, column, array in present(self)}
        return self.replace(**frames, **columns)

    @classmethod
    def concatenate(cls, parts: Iterable[Self]) -> Self:
        """Join series of one sensor in the order given, with unchanged stamps.

        Raises
        ------
        FrameError
            The parts have different frames.
        ShapeError
            There is no part, or a column is in some parts only.
        ValueRangeError
            The parts come from different sensors.
        TypeError
            A part is not of this class.
        """
        parts = list(parts)
        if not parts:
            raise ShapeError(f"expected at least one {cls.__name__} to concatenate, got none")
        for number, part in enumerate(parts):
            if not isinstance(part, cls):
                raise TypeError(f"expected {cls.__name__}, got {type(part).__name__} {number}")
            _check_alike(parts[0], part, number)
        names = [name for name, _, _ in present(parts[0])]
        joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return parts[0].replace(**joined)


@dataclass(frozen=True, eq=False, repr=False)
class BodyColumns(Columns):
    """Base of the series with columns in the axes of a body."""

    body: BodyFrame = field(default=BodyFrame.FLU, kw_only=True)


def present(series: Columns) -> Iterator[tuple[str, Column, AnyArray]]:
    """Yield name, declaration and array of every present column."""
    for entry in fields(series):
        value = getattr(series, entry.name)
        if "column" in entry.metadata and value is not None:
            yield entry.name, entry.metadata["column"], value


def _labels(series: Columns) -> list[str]:
    """Return the names of the fields that are not columns: frames and identity."""
    return [entry.name for entry in fields(series) if "column" not in entry.metadata]


def _as_frame(name: str, value: str) -> BodyFrame | WorldFrame:
    kind = _FRAMES[name]
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise FrameError(f"expected {name} as one of {known}, got {value!r}") from None


def as_stamps(t_ns: ArrayLike) -> IntArray:
    """Return time stamps as a read-only (N,) array; floats are refused."""
    return _as_column(t_ns, "t_ns", STAMP["column"], None)


def _as_column(value: ArrayLike, name: str, column: Column, rows: int | None) -> AnyArray:
    """Return a read-only view; the first column (``rows`` None) sets the number of rows."""
    if column.dtype is np.float64:
        array: AnyArray = as_floats(value, name, ())
    else:
        array = _as_whole(value, name, np.dtype(column.dtype))
    rows = array.size if rows is None else rows
    if array.ndim == 0 and not column.tail:
        array = np.broadcast_to(array, (rows,))
    if array.shape != (rows, *column.tail):
        raise ShapeError(f"expected {name} of shape {(rows, *column.tail)}, got {array.shape}")
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _as_whole(value: ArrayLike, name: str, dtype: np.dtype[Any]) -> AnyArray:
    """Return integers or flags as ``dtype``; refuse values that it cannot represent."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ShapeError(f"expected {name} as one row of numbers: {error}") from error
    if array.dtype == dtype:
        return array
    if array.size and array.dtype.kind not in "biu":
        why = " (float64 cannot hold nanoseconds: today's come in steps of 256)"
        raise TypeError(
            f"expected {name} as whole numbers, got {array.dtype}"
            f"{why if dtype == np.int64 else ''}; convert to {dtype} where the values arise"
        )
    whole = array.astype(dtype)
    if not np.array_equal(whole, array):
        raise ValueRangeError(
            f"expected {name} in the range of {dtype}, got {array.min()} to {array.max()}"
        )
    return whole


def _relabel(column: Column, array: AnyArray, moves: Mapping[str, tuple[Frame, Frame]]) -> AnyArray:
    """Return a column converted to the target frames of ``moves``."""
    if column.axes == "both" and moves:
        with np.errstate(invalid="ignore"):  # an infinite component makes its row NaN
            return convert_quaternion(array, world=moves.get("world"), body=moves.get("body"))
    if column.axes not in moves:
        return array
    source, target = moves[column.axes]
    if column.tail == (3,):
        moved = convert_vector(array, source, target)
        return moved if column.is_signed else np.abs(moved)
    if column.tail == (3, 3):
        absent = array[:, :1, :1] < 0.0
        return np.where(absent, array, convert_covariance(array, source, target))
    return _relabel_bits(array, source, target)


def _relabel_bits(bits: ByteArray, source: Frame, target: Frame) -> ByteArray:
    """Move bit i to the bit of the target axis that is parallel to axis i of the source."""
    target_axis = np.abs(convert_vector(np.eye(3), source, target)).argmax(axis=-1)
    moved = bits & np.uint8(0xF8)
    for axis in range(3):
        moved |= ((bits >> axis) & 1) << np.uint8(target_axis[axis])
    return moved


def _check_alike(first: Columns, part: Columns, number: int) -> None:
    """Raise if frames, identity or columns of a part differ from those of the first."""
    for name in _labels(first):
        expected, got = getattr(first, name), getattr(part, name)
        if expected != got:
            error, remedy = (
                (FrameError, "convert it with in_frames()")
                if name in _FRAMES
                else (ValueRangeError, f"name it with replace({name}=...)")
            )
            raise error(
                f"expected {name} {str(expected)!r} in every part, got {str(got)!r} "
                f"in part {number}; {remedy}"
            )
    names, others = ({name for name, _, _ in present(series)} for series in (first, part))
    for name in sorted(names ^ others):
        here, there = (0, number) if name in names else (number, 0)
        raise ShapeError(
            f"expected {name} in every part or in none, got it in part {here} and not in "
            f"part {there}; drop it with replace({name}=None)"
        )


def _equal(a: Any, b: Any) -> bool:  # noqa: ANN401 (a column, no column, or a label)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b, equal_nan=True)
    return bool(a == b)


def _short(value: float) -> str:
    return f"{value:.1f}" if value >= 1.0 else f"{value:.3g}"
