"""Delay between gyro and accelerometer, from turns by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

__all__ = ["delay_of_gyro"]

LONGEST_S: Final = 0.2
"""Largest delay that is looked for [s]."""
_ALIKE: Final = 0.8  # correlation below which the delay is unknown


def delay_of_gyro(t_ns: IntArray, force: FloatArray, rate: FloatArray) -> float:
    """Return the delay of the gyro after the accelerometer [s], or NaN where it is not clear.

    Gravity turns in the body as ``df/dt = -w x f``, so the sizes of both sides are compared by
    cross-correlation, with a parabola through the largest three values.

    Parameters
    ----------
    t_ns : (N,) int64
        Stamps of both [ns].
    force, rate : (N, 3)
        Calibrated specific force [m/s^2] and angular velocity [rad/s].
    """
    step_ns = float(np.median(np.diff(t_ns)))
    most = max(round(LONGEST_S * NS_PER_S / step_ns), 3)
    if len(t_ns) < 20 * most:
        return np.nan
    half = max(round(0.02 * NS_PER_S / step_ns), 1)  # differences over 40 ms, which noise allows
    span_s = (t_ns[2 * half :] - t_ns[: -2 * half]) / NS_PER_S
    change = np.linalg.norm(force[2 * half :] - force[: -2 * half], axis=1) / span_s
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(rate, axis=0)])
    mean_rate = (sums[2 * half + 1 :] - sums[: -2 * half - 1]) / (2 * half + 1)
    turning = np.linalg.norm(np.cross(mean_rate, force[half : len(force) - half]), axis=1)
    change, turning = change - change.mean(), turning - turning.mean()
    size = np.sqrt((change @ change) * (turning @ turning))
    if not size > 0.0:
        return np.nan
    lags = np.arange(-most, most + 1)
    products = np.array([_product(change, turning, int(lag)) for lag in lags]) / size
    peak = int(np.argmax(products))
    if products[peak] < _ALIKE or not 0 < peak < 2 * most:
        return np.nan
    left, middle, right = products[peak - 1 : peak + 2]
    shift = 0.5 * (left - right) / (left - 2.0 * middle + right)
    return float((lags[peak] + shift) * step_ns / NS_PER_S)


def _product(one: FloatArray, other: FloatArray, lag: int) -> float:
    """Return the sum of products of one signal and another that comes ``lag`` samples later."""
    if lag < 0:
        return float(np.sum(one[-lag:] * other[: len(other) + lag]))
    return float(np.sum(one[: len(one) - lag] * other[lag:]))
