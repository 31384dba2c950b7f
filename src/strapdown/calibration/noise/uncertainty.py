"""Uncertainty of fitted coefficients, with the data that neighbouring cluster times share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.noise.fit import Solution, refit

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.calibration.noise.curve import Curve

__all__ = [
    "bootstrap",
    "correlations",
    "covariance",
    "covariance_of_points",
    "discrepancy_of",
    "half_widths",
]

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


def covariance_of_points(
    curve: Curve, solution: Solution, interval_s: float, discrepancy: float
) -> FloatArray:
    """Return the covariance (T, T) of the logarithms of the measured variances.

    Parameters
    ----------
    curve : Curve
    solution : Solution
    interval_s : float
        Sampling interval [s].
    discrepancy : float
        Standard deviation of the logarithm by which the true variance differs from any model;
        it is correlated over about an octave.
    """
    from scipy.special import polygamma  # noqa: PLC0415 (slow to import)

    sigma = np.sqrt(polygamma(1, curve.edf / 2.0))
    octaves = np.log2(curve.tau_s)
    apart = np.abs(octaves[:, None] - octaves)
    scatter = correlations(curve, solution, interval_s) * np.outer(sigma, sigma)
    return np.asarray(scatter + discrepancy**2 * np.exp(-apart))


def discrepancy_of(curve: Curve, solution: Solution) -> float:
    """Return the standard deviation of the misfit of the logarithms beyond their scatter.

    It makes the reduced chi-square 1; 0 where that is below 1 without it (the estimator of J.
    Mandel and R. C. Paule, Analytical Chemistry 42(11), 1970).
    """
    from scipy.optimize import brentq  # noqa: PLC0415 (slow to import)

    model = np.log(solution.shares(curve.tau_s).sum(axis=1))
    squares, variances = (curve.log_variance - model) ** 2, 2.0 / curve.edf
    freedom = max(1, len(curve) - len(solution.logs))

    def excess(square: float) -> float:
        return float(np.sum(squares / (variances + square))) - freedom

    largest = float(np.sum(squares)) / freedom
    return 0.0 if excess(0.0) <= 0.0 else float(np.sqrt(brentq(excess, 0.0, largest)))


def covariance(curve: Curve, solution: Solution, of_points: FloatArray) -> FloatArray:
    """Return the covariance (P, P) of the logarithms of the solution, by linear propagation."""
    jacobian = solution.jacobian(curve.tau_s)
    weighted = jacobian * curve.weights[:, None]
    gain = np.linalg.pinv(jacobian.T @ weighted, hermitian=True) @ weighted.T
    return np.asarray(gain @ of_points @ gain.T)


def half_widths(of_logs: FloatArray) -> FloatArray:
    """Return the half widths (P,) of the 95 % intervals for a covariance."""
    return _HALF_NORMAL * np.sqrt(np.diag(of_logs))


def bootstrap(
    curve: Curve, solution: Solution, of_points: FloatArray, *, count: int, seed: int
) -> FloatArray:
    """Return the logarithms (count, P) of refits to curves drawn from the model.

    The variances of a drawn curve have chi-square distributions, and the given covariance of
    their logarithms.
    """
    from scipy.special import ndtr, polygamma  # noqa: PLC0415 (slow to import)

    sigma = np.sqrt(np.diag(of_points))
    values, vectors = np.linalg.eigh(of_points / np.outer(sigma, sigma))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = np.random.default_rng(seed).standard_normal((count, len(curve))) @ root.T
    stretch = sigma / np.sqrt(polygamma(1, curve.edf / 2.0))
    scatter = curve.scatter(ndtr(normal)) ** stretch
    model = solution.shares(curve.tau_s).sum(axis=1)
    return np.stack([refit(replace(curve, variance=model * row), solution).logs for row in scatter])
