"""Degrees of freedom of modified, Hadamard and non-overlapping variances.

They follow from the covariance of the terms: the structure function of power-law noise,
differenced as the estimator does. White noise and its integrals are those of samples, so that
short clusters are exact as well.

References
----------
C. A. Greenhall, W. J. Riley, "Uncertainty of stability variances based on finite differences",
35th Annual Precise Time and Time Interval Meeting, 2003.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.allan_deviation.estimators import term_counts

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.calibration.allan_deviation.estimators import DeviationKind

__all__ = ["combined_edf"]

_FINE: Final = 64  # steps of a cluster above which the sums are those of continuous time
_FINE_FLICKER_PHASE: Final = 4096  # its covariance is narrow at short lags


def combined_edf(kind: DeviationKind, exponent: int, points: int, m: int) -> float:
    """Return the equivalent degrees of freedom of a variance.

    Parameters
    ----------
    kind : DeviationKind
        Not ``totdev``.
    exponent : int
        Exponent of the density of the rate: 2 (quantisation) to -2 (random walk).
    points : int
        Points K of the integral; the variance has at least one term.
    m : int
        Cluster size.
    """
    order, terms = kind.order, int(term_counts(kind, points, np.array(m)))
    steps = m if kind.overlaps else 1
    modified = kind.is_modified and m > 1
    if exponent == 2 and not modified:
        a = math.comb(4 * order, 2 * order) / math.comb(2 * order, order) ** 2
        return terms / max(a - 0.5 * order * steps / terms, a / terms)
    fine = _FINE_FLICKER_PHASE if exponent == 1 and not modified else _FINE
    if steps > fine:  # the ratio of terms to steps counts
        terms, steps = max(1, round(terms * fine / steps)), fine
    lags = np.arange(min(terms, (order + 1) * steps) + 1)
    covariance = np.zeros(len(lags))
    for k in range(-order, order + 1):
        weight = (-1) ** k * math.comb(2 * order, order + k)
        covariance += weight * _averaged(lags / steps + k, exponent, min(m, fine), modified)
    weights = 2.0 * (1.0 - lags / terms)
    weights[0], weights[-1] = 1.0, 0.5 * weights[-1]
    return terms * float(covariance[0] ** 2 / np.sum(weights * covariance**2))


def _averaged(t: FloatArray, exponent: int, m: int, modified: bool) -> FloatArray:  # noqa: FBT001 (one of the two estimators)
    """Return the structure function of the integral, as the estimator averages it."""
    if exponent <= 0 and not modified:
        return _structure(t, exponent + 2)
    if exponent <= 0 and m < _FINE:
        k = np.arange(1 - m, m)
        return np.asarray(_structure(t[:, None] + k / m, exponent + 2) @ (m - np.abs(k)))
    step = 1.0 if modified else 1.0 / m
    around = _structure(t - step, exponent) + _structure(t + step, exponent)
    return 2.0 * _structure(t, exponent) - around


def _structure(t: FloatArray, exponent: int) -> FloatArray:
    """Return the generalised autocovariance of the integral of power-law noise."""
    distance = np.abs(t)
    power = 3 - exponent
    if exponent % 2 == 0:
        return (-1.0) ** (exponent // 2) * distance**power
    logs = np.log(np.where(distance > 0.0, distance, 1.0))
    return (-1.0) ** ((exponent - 1) // 2) * distance**power * logs
