"""Rotation across a gap of the gyro, from the motion on both sides, and its uncertainty.

Angular velocity is modelled as a stationary random process with the autocovariance of the whole
recording. Its best linear estimate inside a gap (N. Wiener, "Extrapolation, Interpolation, and
Smoothing of Stationary Time Series", 1949) continues the motion, where a straight line between
the two rates cuts the corners of all that swings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from strapdown._typing import FloatArray

__all__ = ["Rates"]

BIN_S: Final = 0.02  # of the autocovariance, and of the rates beside a gap
CONTEXT_S: Final = 0.5  # length of the motion that is used on each side of a gap
ALIKE_S: Final = 2.0  # standard deviation of the lags over which a motion resembles itself
LONGEST_LAG_S: Final = 4.0 * ALIKE_S
NOISE: Final = 1e-4  # of the mean square of the rate: its variance between bins
PLACES_S: Final = 0.01  # distance of the estimates in a gap
MOST_PLACES: Final = 100
UNSTEADY: Final = 8.0  # factor of the variance, as motion is neither stationary nor normal


@dataclass(frozen=True, eq=False)
class Rates:
    """Angular velocities of a recording, and their autocovariance.

    Parameters
    ----------
    t : (N,)
        Ascending [s].
    rate : (N, 3)
        [rad/s, body].
    autocovariance : (K, 3, 3)
        Of w(t + k BIN_S) and w(t) [rad^2/s^2].
    """

    t: FloatArray
    rate: FloatArray
    autocovariance: FloatArray

    @classmethod
    def of(cls, t: FloatArray, rate: FloatArray) -> Rates:
        """Return rates with their autocovariance; times without rates count as 0."""
        bins = np.floor((t - t[0]) / BIN_S).astype(np.int64)
        count = np.bincount(bins)
        sums = np.stack([np.bincount(bins, axis) for axis in rate.T], axis=1)
        mean = sums / np.maximum(count, 1)[:, None]
        n = len(mean)
        lags = min(round(LONGEST_LAG_S / BIN_S), n)
        products = np.array([mean[k:].T @ mean[: n - k] for k in range(lags)])
        fading = np.exp(-0.5 * (BIN_S / ALIKE_S * np.arange(lags)) ** 2)
        return cls(t, rate, fading[:, None, None] * products / np.count_nonzero(count))

    def across(self, start: float, end: float) -> tuple[FloatArray, FloatArray]:
        """Return the rates in a gap between two times, and the covariance of the rotation.

        Parameters
        ----------
        start, end : float
            Times of the last rate before the gap, and of the first one after it [s].

        Returns
        -------
        (M, 3), (3, 3)
            At the middles of M equal parts of the gap [rad/s], and [rad^2, body].
        """
        parts = int(np.clip((end - start) / PLACES_S, 2, MOST_PLACES))
        step = (end - start) / parts
        at = np.linspace(start + 0.5 * step, end - 0.5 * step, parts)
        t, rate = self._near(start, end)
        power = float(np.trace(self.autocovariance[0]))
        known = self._covariance(t, t)
        known[np.diag_indices_from(known)] += NOISE * power / 3.0 + 1e-12
        shared = self._covariance(at, t)
        weights = np.asarray(np.linalg.solve(known, shared.T).T, np.float64)
        whole: FloatArray = np.tile(step * np.eye(3), parts)  # of the rates in their integral
        prior = whole @ self._covariance(at, at) @ whole.T
        lost = prior - (whole @ weights) @ (whole @ shared).T
        lively = float(np.mean(np.sum(rate * rate, axis=1))) / max(power, 1e-12)
        lost *= UNSTEADY * np.sqrt(lively)
        return (weights @ rate.ravel()).reshape(-1, 3), 0.5 * (lost + lost.T)

    def _near(self, start: float, end: float) -> tuple[FloatArray, FloatArray]:
        """Return times and rates on both sides of a gap, as means over BIN_S."""
        first, before = np.searchsorted(self.t, [start - CONTEXT_S, start], side="right")
        after, last = np.searchsorted(self.t, [end, end + CONTEXT_S])
        rows = np.r_[first:before, after:last]
        t, rate = self.t[rows], self.rate[rows]
        bins = np.where(t <= start, -np.ceil((start - t) / BIN_S + 1e-9), (t - end) // BIN_S + 1.0)
        _, bins, count = np.unique(bins, return_inverse=True, return_counts=True)
        means = np.stack([np.bincount(bins, v) / count for v in (t, *rate.T)], axis=1)
        return means[:, 0], means[:, 1:]

    def _covariance(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Return the covariance of the rates at two lists of times, (3 A, 3 B)."""
        lag = (a[:, None] - b[None, :]) / BIN_S
        place = np.minimum(np.abs(lag), len(self.autocovariance))
        below = place.astype(np.int64)
        part = (place - below)[..., None, None]
        table = np.concatenate([self.autocovariance, np.zeros((2, 3, 3))])
        found = (1.0 - part) * table[below] + part * table[below + 1]
        found = np.where(lag[..., None, None] < 0.0, np.swapaxes(found, -1, -2), found)
        whole: FloatArray = found.transpose(0, 2, 1, 3).reshape(3 * len(a), 3 * len(b))
        return whole
