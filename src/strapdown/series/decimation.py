"""Decimation of samples: a low-pass filter without phase shift, then every n-th row.

The filter is a symmetric FIR filter (Kaiser window) with a stop band of 60 dB from half the new
rate on, so that nothing above it is folded into the result; below 0.6 times that frequency the
response is flat. A symmetric filter centred on its row delays nothing, and it uses samples after
the row.

References
----------
A. V. Oppenheim, R. W. Schafer, Discrete-Time Signal Processing, 3rd ed., 2010, sections 4.6.1 and
7.6 (decimation; Kaiser window).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from strapdown._html import FieldsAsHtml
from strapdown.errors import ValueRangeError
from strapdown.series.columns import Columns, present
from strapdown.series.series import Trajectory, require_series
from strapdown.series.timebase import ordered, report

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray

    Series = TypeVar("Series", bound=Columns)

__all__ = ["DecimateReport", "decimate"]

LARGEST: Final = 1000
"""Largest factor; the filter has about 18 taps for each."""
_ATTENUATION_DB: Final = 60.0
_PASS, _STOP = 0.6, 1.0
"""Edges of the transition band, relative to half the new rate."""
_LEAST_WEIGHT: Final = 0.5
"""Least weight of the measured samples for a filtered value."""
_SPARSE: Final = 0.5
"""Share of measured rows below which a column is sampled and not filtered."""
_FILTERED: Final = {
    "angular_velocity": "angular_velocity_covariance",
    "specific_force": "specific_force_covariance",
    "magnetic_field": None,
}
"""Filtered columns, and the column of their covariance."""


@dataclass(frozen=True)
class DecimateReport(FieldsAsHtml):
    """Report of :func:`decimate`.

    Parameters
    ----------
    factor : int
        Input rows for each row of the result.
    taps : int
        Length of the filter [samples].
    cutoff_hz : float
        Frequency at which its amplitude is one half [Hz], from the median interval.
    noise_gain : float
        Standard deviation of white noise after the filter, relative to that before.
    pieces : int
        Parts between gaps, each filtered separately.
    rows, partial : int
        Rows of the result, and those whose filter reached beyond the begin or end of a piece, or
        over missing values; its weights are scaled to the measured samples there.
    """

    factor: int
    taps: int
    cutoff_hz: float
    noise_gain: float
    pieces: int
    rows: int
    partial: int

    @property
    def filter(self) -> str:
        """The filter in words."""
        return (
            f"zero-phase FIR low-pass (Kaiser, {self.taps} taps, "
            f"{_ATTENUATION_DB:.0f} dB), cut-off {self.cutoff_hz:.4g} Hz"
        )

    def __str__(self) -> str:
        return (
            f"decimated by {self.factor} to {self.rows} rows: {self.filter}; white noise "
            f"x {self.noise_gain:.3f}; {self.partial} rows at ends, gaps or missing values"
        )


def decimate(series: Series, factor: int) -> tuple[Series, DecimateReport]:
    """Low-pass filter the samples of an IMU and keep every n-th row.

    Angular velocity, specific force and magnetic field are filtered; a field that is measured at
    less than half of the rows takes its latest value since the previous row instead. Attitude is
    that of the kept row. Clipping bits are the union over the rows of the filter. Covariances
    become those of the filtered values, for noise that is independent from sample to sample.
    Nothing is filtered across a gap. A trajectory keeps every n-th row unchanged.

    Parameters
    ----------
    series : ImuSeries or Trajectory
        Strictly increasing stamps (:func:`~strapdown.series.timebase.ordered`), at a regular rate.
    factor : int
        From 2 to 1000.

    Returns
    -------
    series : same type
        The rows 0, ``factor``, 2 ``factor``, ... of each piece between gaps, with their stamps.
    report : DecimateReport

    Raises
    ------
    TypeError
        It is no such series, or ``factor`` is no whole number.
    TimeOrderError
        Stamps repeat or go back.
    ValueRangeError
        ``factor`` is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> rest = np.tile([0.0, 0.0, 9.80665], (400, 1))
    >>> fast = ImuSeries(np.arange(400) * 5_000_000, np.zeros((400, 3)), rest)
    >>> slow, done = decimate(fast, 4)
    >>> len(slow), slow.rate_hz, round(done.cutoff_hz, 3)
    (100, 50.0, 20.0)
    >>> bool(np.allclose(slow.specific_force, [0.0, 0.0, 9.80665]))
    True
    """
    require_series(series, Trajectory)
    if isinstance(factor, bool) or not isinstance(factor, int | np.integer):
        raise TypeError(f"expected factor as a whole number, got {factor!r}")
    if not 2 <= factor <= LARGEST:
        raise ValueRangeError(f"expected factor from 2 to {LARGEST}, got {factor}")
    series, _ = ordered(series)
    taps = _taps(int(factor))
    edges = _edges(series.t_ns)
    pieces = [series[slice(*edge)] for edge in edges]
    done = [_decimated(piece, int(factor), taps) for piece in pieces]
    result = type(series).concatenate([part for part, _ in done]) if done else series
    middle = (_PASS + _STOP) / 2.0
    return result, DecimateReport(
        int(factor),
        taps.size,
        middle * series.rate_hz / (2.0 * factor),
        float(np.sqrt(np.sum(taps**2))),
        len(pieces),
        len(result),
        sum(count for _, count in done),
    )


def _taps(factor: int) -> FloatArray:
    """Return the filter, with an odd number of taps whose sum is 1."""
    from scipy import signal  # noqa: PLC0415 (few need it)

    count, beta = signal.kaiserord(_ATTENUATION_DB, (_STOP - _PASS) / factor)
    middle = (_PASS + _STOP) / 2.0 / factor
    taps: FloatArray = signal.firwin(count | 1, middle, window=("kaiser", beta))
    return taps


def _edges(t_ns: IntArray) -> list[tuple[int, int]]:
    """Return first row and end of each piece between gaps."""
    if not t_ns.size:
        return []
    cuts = np.flatnonzero(np.diff(t_ns) > report(t_ns).gap_after_ns) + 1
    bounds = [0, *cuts.tolist(), t_ns.size]
    return list(pairwise(bounds))


def _decimated(piece: Series, factor: int, taps: FloatArray) -> tuple[Series, int]:
    """Return the rows of one piece, and the number of those with an incomplete filter."""
    columns: dict[str, Any] = {name: array[::factor] for name, _, array in present(piece)}
    partial = np.zeros(len(columns["t_ns"]), np.bool_)
    for name, covariance in _FILTERED.items():
        values = getattr(piece, name, None)
        if values is None:
            continue
        known = np.isfinite(values).all(axis=1)
        if known.mean() < _SPARSE:
            columns[name] = _latest(values, known, factor)
            continue
        weight = _convolved(known.astype(np.float64), taps)[::factor]
        filtered = _convolved(np.where(known[:, None], values, 0.0), taps)[::factor]
        weight[weight < _LEAST_WEIGHT] = np.nan
        columns[name] = filtered / weight[:, None]
        whole = _convolved(known.astype(np.float64), np.ones(taps.size))[::factor]
        partial |= np.rint(whole) < taps.size
        if covariance is not None and columns.get(covariance) is not None:
            gain = _convolved(known.astype(np.float64), taps**2)[::factor] / weight**2
            columns[covariance] = _scaled(columns[covariance], gain)
    for name in ("gyro_clipping", "accel_clipping"):
        if name in columns:
            columns[name] = _union(getattr(piece, name), taps.size)[::factor]
    return piece.replace(**columns), int(np.count_nonzero(partial))


def _convolved(values: FloatArray, taps: FloatArray) -> FloatArray:
    """Return rows filtered along the first axis, centred, with zeros outside."""
    from scipy import signal  # noqa: PLC0415 (few need it)

    half = taps.size // 2
    kernel = taps if values.ndim == 1 else taps[:, None]
    whole: FloatArray = signal.oaconvolve(values, kernel, axes=0)
    return whole[half : half + len(values)]


def _scaled(covariance: FloatArray, gain: FloatArray) -> FloatArray:
    """Return covariances times a gain; rows that are unknown or absent keep their mark."""
    marked = covariance[:, :1, :1] <= 0.0
    return np.where(marked, covariance, covariance * gain[:, None, None])


def _latest(values: FloatArray, known: BoolArray, factor: int) -> FloatArray:
    """Return for each kept row the latest value since the kept row before it, or NaN."""
    rows = np.arange(len(values))
    last = np.maximum.accumulate(np.where(known, rows, -factor))[::factor]
    fresh = rows[::factor] - last < factor
    return np.where(fresh[:, None], values[np.maximum(last, 0)], np.nan)


def _union(bits: Any, length: int) -> Any:  # noqa: ANN401 (bits of any integer type)
    """Return the bits that are set in any of ``length`` rows around each."""
    from scipy import ndimage  # noqa: PLC0415 (few need it)

    result = np.zeros_like(bits)
    for bit in np.unpackbits(
        np.bitwise_or.reduce(bits, initial=0)[None], bitorder="little"
    ).nonzero()[0]:
        mask = (bits >> bit) & 1
        spread = ndimage.maximum_filter1d(mask, length, mode="constant")
        result |= (spread << bit).astype(bits.dtype)
    return result
