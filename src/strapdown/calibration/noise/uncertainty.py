"""Uncertainty of fitted coefficients, with the data that neighbouring cluster times share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.noise.fit import Solution, refit

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.calibration.noise.curve import Curve

__all__ = ["bootstrap", "correlations", "covariance"]

_PER_DECADE: Final = 300  # frequencies of the integrals
_HALF_NORMAL: Final = 1.959964  # 97.5 % of the standard normal distribution


def correlations(curve: Curve, solution: Solution, interval_s: float) -> FloatArray:
    """Return the correlations (T, T) of the measured variances if the model is true.

    Over a log much longer than the cluster times, the covariance of two Allan variances is
    proportional to the integral of ``H_a(f) H_b(f) S(f)^2``, with the density S of the model and
    the power transfer functions H of the second differences of cluster means.

    Parameters
    ----------
    curve : Curve
    solution : Solution
    interval_s : float
        Sampling interval [s].

    References
    ----------
    D. B. Percival, P. Guttorp, "Long-memory processes, the Allan variance and wavelets", 1994.
    """
    low, high = 0.02 / curve.tau_s[-1], 0.5 / interval_s
    count = int(_PER_DECADE * np.log10(high / low))
    edges = np.geomspace(low, high, count + 1)
    f = np.sqrt(edges[1:] * edges[:-1])
    clusters = curve.tau_s[:, None]
    powers = np.sin(np.pi * f * clusters) ** 4 / (clusters * np.sin(np.pi * f * interval_s)) ** 2
    rows = powers * solution.model().density(f) * np.sqrt(np.diff(edges))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows @ rows.T)


def covariance(curve: Curve, solution: Solution, interval_s: float) -> FloatArray:
    """Return the covariance (P, P) of the logarithms of the solution, by linear propagation."""
    from scipy.special import polygamma  # noqa: PLC0415 (slow to import)

    sigma = np.sqrt(polygamma(1, curve.edf / 2.0))
    of_points = correlations(curve, solution, interval_s) * np.outer(sigma, sigma)
    jacobian = solution.jacobian(curve.tau_s)
    weighted = jacobian * curve.weights[:, None]
    gain = np.linalg.pinv(jacobian.T @ weighted, hermitian=True) @ weighted.T
    return np.asarray(gain @ of_points @ gain.T)


def half_widths(of_logs: FloatArray) -> FloatArray:
    """Return the half widths (P,) of the 95 % intervals for a covariance."""
    return _HALF_NORMAL * np.sqrt(np.diag(of_logs))


def bootstrap(
    curve: Curve, solution: Solution, interval_s: float, *, count: int, seed: int
) -> FloatArray:
    """Return the logarithms (count, P) of refits to curves drawn from the model.

    The variances of a drawn curve have the chi-square distributions of their degrees of freedom,
    and the correlations of the model.
    """
    from scipy.stats import chi2, norm  # noqa: PLC0415 (slow to import)

    values, vectors = np.linalg.eigh(correlations(curve, solution, interval_s))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = np.random.default_rng(seed).standard_normal((count, len(curve))) @ root.T
    scatter = chi2.ppf(norm.cdf(normal), curve.edf) / curve.edf
    model = solution.shares(curve.tau_s).sum(axis=1)
    return np.stack(
        [refit(replace(curve, variance=model * row), solution).logs for row in scatter]
    )
