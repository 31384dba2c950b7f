"""Flicker noise as a sum of Gauss-Markov processes, and Allan variances in closed form.

Flicker noise of size B has the two-sided power spectral density B^2 / (2 pi f), as IEEE Std
952-1997, annex C, defines it, and a flat Allan deviation, ``ALLAN_FLOOR`` B. No Markov process of
finite order has an unlimited flat floor, but a sum of a few has one within a band of cluster times.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from strapdown.errors import ValueRangeError

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = [
    "ALLAN_FLOOR",
    "flicker_avar",
    "flicker_terms",
    "gauss_markov_avar",
    "sampled_ou_avar",
]

ALLAN_FLOOR = math.sqrt(2.0 * math.log(2.0) / math.pi)
"""Allan deviation of flicker noise with B = 1; 0.66428."""

_PEAK = 1.89  # cluster time of the Allan peak of a Gauss-Markov process, in correlation times
_TERMS_PER_DECADE = 1.5
_PADDING_DECADES = 0.5
_FITTED = 200  # cluster times in the band
_SERIES_BELOW = 0.02
# (2 - 2^(n-1)) (-1)^n / n! for n = 3, 4, ...
_SERIES = 1 / 3, -1 / 4, 7 / 60, -1 / 24, 31 / 2520, -1 / 320


@cache
def flicker_terms(band_s: tuple[float, float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the Gauss-Markov processes whose sum is flicker noise in a band.

    One and a half processes a decade, with half a decade more on each side of the band, and the
    weights that fit the Allan variance best. The floor is flat to 0.13 % over three, four or
    five decades, and to 0.43 % over any band; at a third of the shortest and at three times the
    longest cluster time it has fallen by 6 %. A stationary start has the steady deviation of the
    sum, 1.948 B over three decades, and looks like a bias.

    Parameters
    ----------
    band_s : (float, float)
        Shortest and longest cluster time of the flat floor [s].

    Returns
    -------
    correlation_time_s : (n,)
        Ascending [s].
    weight : (n,)
        Process j has the standard deviation ``B sqrt(weight[j])``.

    Raises
    ------
    ValueRangeError
        The band is not ascending, positive and finite, or wider than ten decades.
    """
    low, high = band_s
    if not (0.0 < low < high < math.inf and high <= 1e10 * low):
        raise ValueRangeError(
            f"expected flicker_band_s of two ascending times up to ten decades apart, got {band_s}"
        )
    decades = math.log10(high / low)
    terms = round((decades + 2 * _PADDING_DECADES) * _TERMS_PER_DECADE) + 1
    # In units of the shortest time; rounded so that all linear algebra libraries agree.
    times = np.logspace(-_PADDING_DECADES, decades + _PADDING_DECADES, terms) / _PEAK
    clusters = np.logspace(0.0, decades, _FITTED)
    shares = gauss_markov_avar(clusters[:, np.newaxis], times)
    weights = np.linalg.lstsq(shares, np.full(_FITTED, ALLAN_FLOOR**2), rcond=None)[0]
    return tuple((low * times).tolist()), tuple(weights.round(12).tolist())


def gauss_markov_avar(tau: ArrayLike, correlation_time: ArrayLike) -> FloatArray:
    """Return the Allan variance of a Gauss-Markov process of unit standard deviation.

    It has its peak, 0.61736 squared, at 1.8926 correlation times (IEEE Std 952-1997, annex C).

    Parameters
    ----------
    tau : (...)
        Cluster time [s].
    correlation_time : (...)
        [s]; broadcasts with ``tau``.

    Returns
    -------
    (...)
        [1].
    """
    x = np.asarray(tau, np.float64) / np.asarray(correlation_time, np.float64)
    short = np.minimum(x, _SERIES_BELOW)
    long = np.maximum(x, _SERIES_BELOW)
    a = -np.expm1(-long)
    series = np.polynomial.polynomial.polyval(short, _SERIES)
    closed = 2.0 * (long - a - a * a / 2.0) / (long * long)
    return np.asarray(np.where(x < _SERIES_BELOW, 2.0 * short * series, closed))


def flicker_avar(tau: ArrayLike, band_s: tuple[float, float]) -> FloatArray:
    """Return the Allan variance of the processes of :func:`flicker_terms` with B = 1.

    Parameters
    ----------
    tau : (...)
        Cluster time [s].
    band_s : (float, float)
        As in :func:`flicker_terms`.

    Returns
    -------
    (...)
        [1].
    """
    times, weights = flicker_terms(band_s)
    shares = gauss_markov_avar(np.asarray(tau)[..., np.newaxis], times)
    return np.asarray(shares @ np.array(weights))


def sampled_ou_avar(m: ArrayLike, phi: float) -> FloatArray:
    """Return the Allan variance of a sampled Gauss-Markov process of unit standard deviation.

    Exact for ``x_k = phi x_{k-1} + noise`` and clusters of ``m`` samples: with the variance V(m)
    of a sum of m samples it is (4 V(m) - V(2 m)) / (2 m^2).

    Parameters
    ----------
    m : (...)
        Samples in a cluster.
    phi : float
        Correlation of neighbouring samples, below 1.

    Returns
    -------
    (...)
        [1].
    """
    m = np.asarray(m, np.float64)
    one, two = (
        n * (1.0 + phi) / (1.0 - phi) - 2.0 * phi * (1.0 - phi**n) / (1.0 - phi) ** 2
        for n in (m, 2.0 * m)
    )
    return np.asarray((4.0 * one - two) / (2.0 * m * m))
