"""Polynomials in temperature, of a degree chosen by cross-validation over bins of 1 K."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

__all__ = ["MAX_DEGREE", "TriadPolynomials", "bins_of", "fit_polynomials", "misfit"]

MAX_DEGREE: Final = 3


@dataclass(frozen=True, eq=False)
class TriadPolynomials:
    """Polynomials of three axes in ``T - reference``.

    Parameters
    ----------
    coefficients : (4, 3)
        By power from 0 [unit / K^power]; 0 above the degree of an axis.
    degree : (3,) int
        Degree of each axis.
    left_out_rms : (3,)
        Root mean square error at bins that were left out of the fit [unit].
    sigma_constant : (3,)
        Standard deviation of the coefficients of power 0 [unit].
    """

    coefficients: FloatArray
    degree: IntArray
    left_out_rms: FloatArray
    sigma_constant: FloatArray

    def at(self, above_reference: FloatArray) -> FloatArray:
        """Return the values (N, 3) at ``T - reference`` (N,) [K]."""
        return powers(above_reference) @ self.coefficients


def bins_of(temperature_c: FloatArray) -> IntArray:
    """Return the number (N,) of the bin of 1 K of each temperature, from 0."""
    _, bins = np.unique(np.floor(temperature_c), return_inverse=True)
    return bins


def powers(x: FloatArray) -> FloatArray:
    """Return the powers (N, 4) of x from 0 to 3."""
    return x[:, None] ** np.arange(MAX_DEGREE + 1)


def misfit(x: FloatArray, values: FloatArray, bins: IntArray) -> FloatArray:
    """Return the weighted mean square residual (axes,) of polynomials of degree 3."""
    weight = np.sqrt(_weights(bins))[:, None]
    basis, _ = np.linalg.qr(weight * powers(x))
    weighted = weight * values
    residual: FloatArray = np.square(weighted - basis @ (basis.T @ weighted)).mean(axis=0)
    return residual


def fit_polynomials(x: FloatArray, values: FloatArray, bins: IntArray) -> TriadPolynomials:
    """Fit a polynomial to each axis; every bin has the same weight.

    A higher degree is chosen where it lowers the squared error at bins that were left out by
    more than the standard error of the difference.

    Parameters
    ----------
    x : (N,)
        Temperature above the reference [K].
    values : (N, 3)
        Biases.
    bins : (N,) int
        From :func:`bins_of`; at least 3.
    """
    count = int(bins.max()) + 1
    scale = float(np.abs(x).max())
    design, weight = powers(x / scale), _weights(bins)
    grams = np.array([_gram(design, weight, bins == k) for k in range(count)])
    moments = np.array([_moment(design, values, weight, bins == k) for k in range(count)])
    centres = np.array([design[bins == k].mean(axis=0) for k in range(count)])
    means = np.array([values[bins == k].mean(axis=0) for k in range(count)])
    errors = [
        _left_out(grams, moments, centres, means, degree)
        for degree in range(min(MAX_DEGREE, count - 2) + 1)
    ]
    degree = np.array([_degree([error[:, axis] for error in errors]) for axis in range(3)])
    rms = np.array([np.sqrt((errors[degree[k]][:, k] ** 2).mean()) for k in range(3)])
    coefficients, sigma = np.zeros((MAX_DEGREE + 1, 3)), np.zeros(3)
    for axis, d in enumerate(degree):
        gram = grams.sum(axis=0)[: d + 1, : d + 1]
        solved = np.linalg.solve(gram, moments.sum(axis=0)[: d + 1, axis])
        coefficients[: d + 1, axis] = solved / scale ** np.arange(d + 1)
        sigma[axis] = rms[axis] * np.sqrt(np.linalg.inv(gram)[0, 0])
    return TriadPolynomials(coefficients, degree, rms, sigma)


def _weights(bins: IntArray) -> FloatArray:
    """Return weights whose sum over each bin is 1."""
    weights: FloatArray = 1.0 / np.bincount(bins)[bins]
    return weights


def _gram(design: FloatArray, weight: FloatArray, rows: IntArray) -> FloatArray:
    return (design[rows] * weight[rows, None]).T @ design[rows]


def _moment(
    design: FloatArray, values: FloatArray, weight: FloatArray, rows: IntArray
) -> FloatArray:
    return (design[rows] * weight[rows, None]).T @ values[rows]


def _left_out(
    grams: FloatArray, moments: FloatArray, centres: FloatArray, means: FloatArray, degree: int
) -> FloatArray:
    """Return the errors (B, 3) at each bin of a fit to all others."""
    d = degree + 1
    others = (grams.sum(axis=0) - grams)[:, :d, :d]
    fitted = np.linalg.solve(others, (moments.sum(axis=0) - moments)[:, :d])
    errors: FloatArray = np.einsum("bi,bia->ba", centres[:, :d], fitted) - means
    return errors


def _degree(errors: list[FloatArray]) -> int:
    """Return the degree by the errors (B,) of each at the bins that were left out."""
    best = 0
    for degree, error in enumerate(errors):
        gain = errors[best] ** 2 - error**2
        if gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)):
            best = degree
    return best
