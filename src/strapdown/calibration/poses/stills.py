"""Still intervals of a session, from the variance of the accelerometer.

References
----------
D. Tedaldi, A. Pretto, E. Menegatti: A robust and easy to implement method for IMU calibration
without external equipments, ICRA 2014 (the detector, and its threshold from the initial rest).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.series.series import require_series
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.series import ImuSeries

__all__ = ["WINDOW_S", "Stills", "restlessness", "rolling_spread", "session", "still_rows"]

WINDOW_S: Final = 1.0
"""Length of the window of the detector, and of the shortest still interval [s]."""
_TRIMMED: Final = 0.25  # part of a window that is cut from both ends of an interval
_FINEST: Final = 1e-6  # spread that counts as none, as a part of the signal's
_RESTLESS: Final = 25.0  # spread of a window, in initial spreads, that is a movement
_OTHER: Final = 0.02  # change of the readings, in their range, that is another attitude
_DISTURBED: Final = 0.1  # part of the initial rest that may be disturbed
_GAP: Final = 5.0  # median steps
_FEWEST: Final = 5  # samples in a window


@dataclass(frozen=True, eq=False)
class Stills:
    """Still intervals, and the means of both sensors in them.

    Parameters
    ----------
    start, stop : (M,) int64
        Rows; the stop is exclusive.
    force, rate : (M, 3)
        Mean readings [units of the series, sensor axes].
    force_noise, rate_noise : (M, 3, 3)
        Covariance of the means, from the white noise of the samples.
    """

    start: IntArray
    stop: IntArray
    force: FloatArray
    rate: FloatArray
    force_noise: FloatArray
    rate_noise: FloatArray

    def __len__(self) -> int:
        return len(self.start)

    @classmethod
    def of(cls, series: ImuSeries, start: IntArray, stop: IntArray) -> Stills:
        """Return the intervals of rows with their means; the noise is that of all together."""
        force, force_noise = _means(series.specific_force, start, stop)
        rate, rate_noise = _means(series.angular_velocity, start, stop)
        return cls(start, stop, force, rate, force_noise, rate_noise)

    @property
    def attitudes(self) -> int:
        """Number of attitudes: an interval may follow another one without a movement."""
        if not len(self):
            return 0
        steps = np.linalg.norm(np.diff(self.force, axis=0), axis=1)
        return 1 + int(np.sum(steps > _OTHER * np.linalg.norm(np.ptp(self.force, axis=0))))

    def span_ns(self, series: ImuSeries) -> IntArray:
        """Return first and last stamp of each interval (M, 2) [ns]."""
        return np.column_stack([series.t_ns[self.start], series.t_ns[self.stop - 1]])

    def centre_ns(self, series: ImuSeries) -> IntArray:
        """Return the middle of each interval [ns]."""
        first, last = series.t_ns[self.start], series.t_ns[self.stop - 1]
        return first + (last - first) // 2


def _means(values: FloatArray, start: IntArray, stop: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the means of intervals (M, 3) and their covariances (M, 3, 3)."""
    means, scatter, freedom = [], np.zeros((3, 3)), 0
    for one, after in zip(start, stop, strict=True):
        rows = values[one:after]
        mean = rows.mean(axis=0)
        means.append(mean)
        scatter += (rows - mean).T @ (rows - mean)
        freedom += len(rows) - 1
    count = (stop - start)[:, None, None]
    covariance = scatter / max(freedom, 1) / count
    return np.array(means).reshape(-1, 3), covariance


def session(series: ImuSeries, doing: str) -> tuple[ImuSeries, IntArray]:
    """Return the finite samples of a session in order of time, and their rows.

    Raises
    ------
    ValueRangeError
        There are too few samples, or a sensor is missing.
    TypeError
        It is no series.
    """
    require_series(series)
    for name in ("specific_force", "angular_velocity"):
        if not np.isfinite(getattr(series, name)).any():
            raise ValueRangeError(f"expected {name} to {doing}, got none")
    finite = np.isfinite(series.specific_force).all(axis=1)
    finite &= np.isfinite(series.angular_velocity).all(axis=1)
    rows = np.flatnonzero(finite)
    rows = rows[np.unique(series.t_ns[rows], return_index=True)[1]]
    if len(rows) < 100:
        raise ValueRangeError(f"expected 100 samples or more to {doing}, got {len(rows)}")
    return series[rows], rows


def window_rows(t_ns: IntArray) -> int:
    """Return the number of samples in a window.

    Raises
    ------
    ValueRangeError
        The rate is too low.
    """
    rows = round(WINDOW_S * NS_PER_S / float(np.median(np.diff(t_ns))))
    if rows < _FEWEST:
        raise ValueRangeError(
            f"expected a rate of {_FEWEST / WINDOW_S:g} Hz or more to find still intervals, got "
            f"{rows / WINDOW_S:g} Hz"
        )
    return rows


def rolling_spread(values: FloatArray, size: int) -> FloatArray:
    """Return ``sqrt(var_x^2 + var_y^2 + var_z^2)`` of every window of ``size`` samples.

    Each window is the end of one block and the beginning of the next, whose sums are about the
    mean of the block: no digits are lost in long recordings or large offsets.

    Returns
    -------
    (N - size + 1,)
        By first sample of the window; the root [unit of the values squared].
    """
    count = len(values)
    padded = np.concatenate([values, np.repeat(values[-1:], -count % size + size, axis=0)])
    blocks = padded.reshape(-1, size, 3)
    centre = blocks.mean(axis=1, keepdims=True)
    zero = np.zeros((len(blocks), 1, 3))
    sums = np.concatenate([zero, np.cumsum(blocks - centre, axis=1)], axis=1)
    squares = np.concatenate([zero, np.cumsum((blocks - centre) ** 2, axis=1)], axis=1)
    ahead = np.arange(size + 1.0)[:, None]
    behind = size - ahead
    left_sum, left_square = sums[:-1, -1:] - sums[:-1], squares[:-1, -1:] - squares[:-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        left_mean = np.where(behind > 0, left_sum / behind, 0.0)
        right_mean = np.where(ahead > 0, sums[1:] / ahead, 0.0)
    between = left_mean + centre[:-1] - right_mean - centre[1:]
    scatter = left_square - left_mean**2 * behind + squares[1:] - right_mean**2 * ahead
    scatter = np.maximum(scatter, 0.0) + between**2 * (ahead * behind / size)
    variance = (scatter[:, :size] / size).reshape(-1, 3)
    return np.asarray(np.linalg.norm(variance, axis=1)[: count - size + 1])


def finest_spread(values: FloatArray) -> float:
    """Return the spread that counts as none: rounding, or a millionth of the signal."""
    low, high = np.percentile(values, [2.0, 98.0], axis=0)
    steps = np.abs(np.diff(values[:5000], axis=0))
    step = float(steps[steps > 0.0].min(initial=np.inf))
    smallest = _FINEST * float(np.linalg.norm(high - low))
    rounding = step / np.sqrt(12.0) if np.isfinite(step) else 0.0
    return max(smallest, rounding) ** 2


def restlessness(series: ImuSeries, initial_still_s: float | None) -> FloatArray:
    """Return the spread of every window in spreads of the rest.

    It is that of the accelerometer. Of the gyro a tenth counts, which shows a turn about the
    vertical.

    Parameters
    ----------
    series : ImuSeries
        N samples.
    initial_still_s : float, optional
        Length of the rest at the beginning [s]; None takes the quietest tenth of the windows.

    Returns
    -------
    (N - W + 1,)
        By first sample of a window of W samples.

    Raises
    ------
    ValueRangeError
        The recording is shorter than its rest, or the sensor moved during it.
    """
    size = window_rows(series.t_ns)
    rest = len(series)
    if initial_still_s is not None:
        rest = int(np.sum(series.t_ns - series.t_ns[0] <= initial_still_s * NS_PER_S))
        if rest < 2 * size or rest == len(series):
            raise ValueRangeError(
                f"expected a session that begins with {initial_still_s:g} s at rest, got "
                f"{series.duration_s:g} s; pass a shorter initial_still_s if the rest was shorter"
            )
    whole = np.zeros(len(series) - size + 1)
    for values, part in ((series.specific_force, 1.0), (series.angular_velocity, 0.1)):
        windows, floor = rolling_spread(values, size), finest_spread(values)
        if initial_still_s is None:
            quiet = float(np.quantile(windows, 0.1))
        else:
            quiet = float(np.median(windows[: rest - size + 1]))
            moved = part * windows[: rest - size + 1] > _RESTLESS * max(quiet, floor)
            if np.mean(moved) > _DISTURBED:
                at_s = (series.t_ns[np.argmax(moved) + size - 1] - series.t_ns[0]) / NS_PER_S
                raise ValueRangeError(
                    f"expected rest during the first {initial_still_s:g} s, got a movement after "
                    f"{at_s:.1f} s; leave the device alone for that long, or pass a shorter "
                    "initial_still_s"
                )
        whole = np.maximum(whole, part * windows / max(quiet, floor))
    return whole


def still_rows(
    series: ImuSeries, windows: FloatArray, threshold: float
) -> tuple[IntArray, IntArray]:
    """Return start and stop of the still intervals, the union of windows below a threshold.

    A quarter of a window is cut off at both ends, where a movement may begin unnoticed.
    """
    size = len(series) - len(windows) + 1
    steps = np.diff(series.t_ns)
    gap = np.concatenate([[0], np.cumsum(steps > _GAP * np.median(steps))])
    quiet = (windows <= threshold) & (gap[size - 1 :] == gap[: len(windows)])
    edges = np.zeros(len(series) + 1, np.int64)
    np.add.at(edges, np.flatnonzero(quiet), 1)
    np.add.at(edges, np.flatnonzero(quiet) + size, -1)
    covered: BoolArray = np.cumsum(edges[:-1]) > 0
    changes = np.flatnonzero(np.diff(np.concatenate([[0], covered.astype(np.int8), [0]])))
    start, stop = changes[::2], changes[1::2]
    trim = int(_TRIMMED * size)
    first = start == 0
    return np.where(first, start, start + trim), stop - trim
