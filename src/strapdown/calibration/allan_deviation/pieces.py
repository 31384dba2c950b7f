"""Input of the estimators: channels of rates, cut where samples are missing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from strapdown._checks import as_floats
from strapdown._scratch import any_finite, median_step, parts, scratch
from strapdown._words import counted
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.series import ImuSeries, timebase
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import ArrayLike, BoolArray, FloatArray, IntArray
    from strapdown.series import Increments

__all__ = ["Gap", "RateLog", "read_log", "samples_of"]

Gap: TypeAlias = Literal["cut", "bridge"]
"""Treatment of missing samples: cut there, or interpolate where a single one is missing."""

_TRIADS: Final = {"angular_velocity": "rad/s", "specific_force": "m/s^2"}
_LONGEST_STEP: Final = 1.5
_LARGE_JITTER: Final = 0.1
_ROUNDING: Final = 1e-4  # smaller jitter is that of rounded stamps
_FEWEST: Final = 3  # samples of a piece; two have a difference, but no degrees of freedom


@dataclass(frozen=True, eq=False)
class RateLog:
    """Rates at equal intervals, in pieces without missing samples.

    Parameters
    ----------
    columns : sequence of (N,)
        One for each channel.
    channels, units : tuple of str
        Name and unit of each channel.
    rate_hz : float
        Mean rate within the pieces [Hz].
    pieces : list of slice
        Rows of each piece.
    duration_s : float
        Time covered, with the missing samples [s].
    notes, warnings : tuple of str
        Properties of the stamps.
    """

    columns: Sequence[FloatArray]
    channels: tuple[str, ...]
    units: tuple[str, ...]
    rate_hz: float
    pieces: list[slice]
    duration_s: float
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def lengths(self) -> IntArray:
        """Number of samples (P,) in each piece."""
        return np.array([piece.stop - piece.start for piece in self.pieces], np.int64)

    @property
    def coverage(self) -> float:
        """Share of the duration in pieces."""
        return min(1.0, int(self.lengths.sum()) / self.rate_hz / self.duration_s)


def read_log(data: ImuSeries | ArrayLike, rate_hz: float | None, gap: Gap) -> RateLog:
    """Return the channels of a series or an array, cut at gaps and invalid samples.

    Raises
    ------
    TypeError
        An array without a rate.
    ShapeError
        An array is not (N,) or (N, C).
    ValueRangeError
        The rate is not positive, or no piece has three samples.
    TimeOrderError
        The stamps repeat or go back.
    UnknownNameError
        There is no such treatment of gaps.
    """
    if gap not in get_args(Gap):
        raise UnknownNameError("treatment of gaps", str(gap), get_args(Gap))
    if rate_hz is not None and not 0.0 < rate_hz < np.inf:
        raise ValueRangeError(f"expected rate_hz above 0, got {rate_hz}")
    if isinstance(data, ImuSeries):
        return _of_series(data, rate_hz, gap)
    values = as_floats(data, "data", ())
    if values.ndim not in {1, 2} or not values.size:
        raise ShapeError(
            f"expected an ImuSeries, Increments or an array (N,) or (N, C), got {values.shape}"
        )
    if rate_hz is None:
        raise TypeError("expected rate_hz with an array, got none; pass the sampling rate in Hz")
    return _of_array(values.reshape(len(values), -1), rate_hz, gap)


def _of_array(values: FloatArray, rate_hz: float, gap: Gap) -> RateLog:
    """Return the columns of an array as channels."""
    cut = _cut(list(values.T), None, gap)
    channels = tuple(map(str, range(values.shape[1])))
    units = ("",) * len(channels)
    duration_s = len(values) / rate_hz
    return RateLog(cut.columns, channels, units, rate_hz, cut.pieces, duration_s, tuple(cut.notes))


def _of_series(series: ImuSeries, nominal_hz: float | None, gap: Gap) -> RateLog:
    """Return the channels of a series, with the rate of its stamps."""
    timebase.ordered(series)
    named = _channels_of(series)
    cut = _cut(list(named.values()), series.t_ns, gap)
    step_ns = float(cut.steps_ns.mean())
    rate_hz = NS_PER_S / step_ns
    notes, warnings = cut.notes, []
    if nominal_hz is not None:
        notes.append(
            f"rate of the stamps {rate_hz:.9g} Hz, {(rate_hz / nominal_hz - 1.0) * 1e6:+.0f} ppm "
            "from the nominal one; cluster times follow the stamps"
        )
    jitter = _spread(cut.steps_ns, step_ns) / step_ns
    words = f"jitter of the stamps {jitter:.2%} of the sampling interval"
    if jitter >= _LARGE_JITTER:
        warnings.append(f"{words}: cluster times are uncertain")
    elif jitter > _ROUNDING:
        notes.append(f"{words}, ignored")
    return RateLog(
        columns=cut.columns,
        channels=tuple(named),
        units=tuple(_TRIADS[name.partition(".")[0]] for name in named),
        rate_hz=rate_hz,
        pieces=cut.pieces,
        duration_s=int(series.t_ns[-1] - series.t_ns[0]) / NS_PER_S + 1.0 / rate_hz,
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


def samples_of(increments: Increments) -> ImuSeries:
    """Return increments as samples of the mean rates; NaN where the interval is empty."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rate, force = (
            delta / (dt_ns[:, None] / NS_PER_S)
            for delta, dt_ns in (
                (increments.delta_angle, increments.delta_angle_dt_ns),
                (increments.delta_velocity, increments.delta_velocity_dt_ns),
            )
        )
    return ImuSeries(increments.t_ns, rate, force, body=increments.body)


def _channels_of(series: ImuSeries) -> dict[str, FloatArray]:
    """Return the channels that have a finite value."""
    named = {
        f"{name}.{axis}": column
        for name in _TRIADS
        for axis, column in zip("xyz", getattr(series, name).T, strict=True)
        if any_finite(column)
    }
    if not named:
        raise ValueRangeError(f"expected finite samples, got none in {series!r}")
    return named


class _Cut(NamedTuple):
    """Columns with their pieces, and the intervals within the pieces."""

    columns: list[FloatArray]
    pieces: list[slice]
    steps_ns: FloatArray
    notes: list[str]


def _cut(columns: list[FloatArray], t_ns: IntArray | None, gap: Gap) -> _Cut:
    """Cut at missing and invalid samples; without stamps rows are equally spaced."""
    valid = _all_finite(columns)
    if t_ns is None and valid.all() and len(valid) >= _FEWEST:
        return _Cut(columns, [slice(0, len(valid))], np.ones(1), [])
    rows = _true_rows(valid)
    steps = _steps(rows, t_ns)
    interval = 1.0 if t_ns is None or len(t_ns) < 2 else median_step(t_ns)
    longest = _LONGEST_STEP * interval
    gaps = _above(steps, longest)
    single = gaps[steps[gaps] < longest + interval]
    notes, invalid = [], len(valid) - len(rows)
    if invalid:
        notes.append(f"{counted(invalid, 'sample')} not finite")
    if gap == "bridge" and single.size:
        columns = [_bridged(column[rows], single) for column in columns]
        rows = np.arange(len(columns[0]))
        steps = np.insert(steps, single, 0.5 * steps[single])
        steps[single + np.arange(1, len(single) + 1)] *= 0.5
        gaps = _above(steps, longest)
        notes.append(f"{counted(len(single), 'single missing sample')} interpolated")
    pieces = _pieces(rows, gaps)
    if not pieces:
        raise ValueRangeError(
            f"expected at least {_FEWEST} samples in a row, got none among {len(valid)}, of which "
            f"{invalid} are not finite"
        )
    return _Cut(columns, pieces, _up_to(steps, longest), notes)


def _all_finite(columns: Sequence[FloatArray]) -> BoolArray:
    """Return a mask of the rows in which every channel is finite."""
    valid = scratch(columns[0], len(columns[0]), np.bool_)
    for part in parts(len(valid)):
        valid[part] = np.isfinite(columns[0][part])
        for column in columns[1:]:
            valid[part] &= np.isfinite(column[part])
    return valid


def _true_rows(mask: BoolArray) -> IntArray:
    """Return the numbers of the rows in a mask."""
    rows, filled = scratch(mask, int(np.count_nonzero(mask)), np.int64), 0
    for part in parts(len(mask)):
        found = np.flatnonzero(mask[part])
        rows[filled : filled + len(found)] = found + part.start
        filled += len(found)
    return rows


def _steps(rows: IntArray, t_ns: IntArray | None) -> FloatArray:
    """Return the differences of the stamps of neighbouring rows."""
    steps = scratch(rows, max(len(rows) - 1, 0))
    for part in parts(len(steps)):
        some = rows[part.start : part.stop + 1]
        steps[part] = np.diff(some if t_ns is None else t_ns[some])
    return steps


def _above(steps: FloatArray, longest: float) -> IntArray:
    """Return the numbers of the steps that are longer."""
    found = [part.start + np.flatnonzero(steps[part] > longest) for part in parts(len(steps))]
    return np.concatenate(found)


def _up_to(steps: FloatArray, longest: float) -> FloatArray:
    """Return the steps that are not longer, in the place of all."""
    kept = 0
    for part in parts(len(steps)):
        some = steps[part][steps[part] <= longest]
        steps[kept : kept + len(some)] = some
        kept += len(some)
    return steps[:kept]


def _bridged(column: FloatArray, single: IntArray) -> FloatArray:
    """Return a channel with the mean of its neighbours inserted after each of some rows."""
    return np.insert(column, single + 1, 0.5 * (column[single] + column[single + 1]))


def _spread(steps: FloatArray, mean: float) -> float:
    """Return the standard deviation of steps, whose place it uses."""
    steps -= mean
    steps *= steps
    return math.sqrt(steps.mean())


def _pieces(rows: IntArray, gaps: IntArray) -> list[slice]:
    """Return the runs of at least three rows without a gap."""
    last = np.append(gaps, len(rows) - 1)
    first = np.append(0, last[:-1] + 1)
    return [
        slice(int(rows[a]), int(rows[b]) + 1)
        for a, b in zip(first, last, strict=True)
        if b - a >= _FEWEST - 1
    ]
