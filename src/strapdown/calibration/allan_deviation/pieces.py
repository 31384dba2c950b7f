"""Input of the estimators: channels of rates, cut where samples are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import numpy as np

from strapdown._checks import as_floats
from strapdown._words import counted
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.series import ImuSeries, Increments, timebase
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import ArrayLike, BoolArray, FloatArray, IntArray

__all__ = ["Gap", "RateLog", "read_log"]

Gap: TypeAlias = Literal["cut", "bridge"]
"""Treatment of missing samples: cut there, or interpolate where a single one is missing."""

_TRIADS: Final = {"angular_velocity": "rad/s", "specific_force": "m/s^2"}
_LONGEST_STEP: Final = 1.5
_LARGE_JITTER: Final = 0.1
_FEWEST: Final = 3  # samples of a piece; two have a difference, but no degrees of freedom


@dataclass(frozen=True, eq=False)
class _Channels:
    """Rates of some channels, one column (N,) for each, with their names and units."""

    columns: Sequence[FloatArray]
    channels: tuple[str, ...]
    units: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class RateLog(_Channels):
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
        Rows of each piece; at least 2.
    duration_s : float
        Time covered, with the missing samples [s].
    notes, warnings : tuple of str
        Properties of the stamps.
    """

    rate_hz: float
    pieces: list[slice]
    duration_s: float
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def lengths(self) -> IntArray:
        """Number of samples (P,) in each piece."""
        return np.array([piece.stop - piece.start for piece in self.pieces], np.int64)

    @property
    def coverage(self) -> float:
        """Share of the duration in pieces."""
        return min(1.0, int(self.lengths.sum()) / self.rate_hz / self.duration_s)


def read_log(data: ImuSeries | Increments | ArrayLike, rate_hz: float | None, gap: Gap) -> RateLog:
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
    if isinstance(data, ImuSeries | Increments):
        timebase.ordered(data)
        named = _rates(data)
        units = tuple(_TRIADS[name.partition(".")[0]] for name in named)
        return _cut(_Channels(list(named.values()), tuple(named), units), data.t_ns, rate_hz, gap)
    values = as_floats(data, "data", ())
    if values.ndim not in {1, 2} or not values.size:
        raise ShapeError(
            f"expected an ImuSeries, Increments or an array (N,) or (N, C), got {values.shape}"
        )
    if rate_hz is None:
        raise TypeError("expected rate_hz with an array, got none; pass the sampling rate in Hz")
    columns = list(values.reshape(len(values), -1).T)
    names = tuple(map(str, range(len(columns))))
    return _cut(_Channels(columns, names, ("",) * len(columns)), None, rate_hz, gap)


def _rates(series: ImuSeries | Increments) -> dict[str, FloatArray]:
    """Return the channels that have a finite value."""
    if isinstance(series, Increments):
        with np.errstate(divide="ignore", invalid="ignore"):
            dt_s = series.delta_angle_dt_ns / NS_PER_S, series.delta_velocity_dt_ns / NS_PER_S
            triads = series.delta_angle / dt_s[0][:, None], series.delta_velocity / dt_s[1][:, None]
    else:
        triads = series.angular_velocity, series.specific_force
    named = {
        f"{name}.{axis}": column
        for name, values in zip(_TRIADS, triads, strict=True)
        for axis, column in zip("xyz", values.T, strict=True)
        if np.isfinite(column).any()
    }
    if not named:
        raise ValueRangeError(f"expected finite samples, got none in {series!r}")
    return named


def _cut(channels: _Channels, t_ns: IntArray | None, rate_hz: float | None, gap: Gap) -> RateLog:
    """Cut at missing and invalid samples."""
    columns, names = channels.columns, (channels.channels, channels.units)
    valid = _all_finite(columns)
    rows = np.flatnonzero(valid)
    interval_ns = float(np.median(np.diff(t_ns))) if t_ns is not None and len(t_ns) > 1 else 1.0
    steps = np.diff(rows if t_ns is None else t_ns[rows]) / interval_ns
    notes, invalid = [], len(valid) - len(rows)
    if invalid:
        notes.append(f"{counted(invalid, 'sample')} not finite")
    single = np.flatnonzero((steps > _LONGEST_STEP) & (steps < _LONGEST_STEP + 1.0))
    if gap == "bridge" and single.size:
        columns = [_bridged(column[rows], single) for column in columns]
        rows = np.arange(len(columns[0]))
        steps = np.insert(steps, single, 0.5 * steps[single])
        steps[single + np.arange(1, len(single) + 1)] *= 0.5
        notes.append(f"{counted(len(single), 'single missing sample')} interpolated")
    pieces = _pieces(rows, steps)
    if not pieces:
        raise ValueRangeError(
            f"expected at least 3 samples in a row, got none among {len(valid)}, of which "
            f"{invalid} are not finite"
        )
    if t_ns is None:
        rate = float(rate_hz or 1.0)
        return RateLog(columns, *names, rate, pieces, len(valid) / rate, tuple(notes))
    regular = steps[steps <= _LONGEST_STEP]
    rate = NS_PER_S / interval_ns / float(regular.mean())
    duration_s = int(t_ns[-1] - t_ns[0]) / NS_PER_S + 1.0 / rate
    if rate_hz is not None:
        notes.append(
            f"rate of the stamps {rate:.9g} Hz, {(rate / rate_hz - 1.0) * 1e6:+.0f} ppm from the "
            "nominal one; cluster times follow the stamps"
        )
    jitter = float(regular.std())
    words = f"jitter of the stamps {jitter:.2%} of the sampling interval"
    warnings = (f"{words}: cluster times are uncertain",) if jitter >= _LARGE_JITTER else ()
    if 0.0 < jitter < _LARGE_JITTER:
        notes.append(f"{words}, ignored")
    return RateLog(columns, *names, rate, pieces, duration_s, tuple(notes), warnings)


def _all_finite(columns: Sequence[FloatArray]) -> BoolArray:
    """Return a mask of the rows in which every channel is finite."""
    valid = np.isfinite(columns[0])
    for column in columns[1:]:
        valid &= np.isfinite(column)
    return valid


def _bridged(column: FloatArray, single: IntArray) -> FloatArray:
    """Return a channel with the mean of its neighbours inserted after each of some rows."""
    return np.insert(column, single + 1, 0.5 * (column[single] + column[single + 1]))


def _pieces(rows: IntArray, steps: FloatArray) -> list[slice]:
    """Return the runs of at least three rows without a gap."""
    last = np.append(np.flatnonzero(steps > _LONGEST_STEP), len(rows) - 1)
    first = np.append(0, last[:-1] + 1)
    return [
        slice(int(rows[a]), int(rows[b]) + 1)
        for a, b in zip(first, last, strict=True)
        if b - a >= _FEWEST - 1
    ]
