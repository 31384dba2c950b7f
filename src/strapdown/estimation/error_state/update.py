"""Covariance and scalar updates of an error-state Kalman filter."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from strapdown._kernels.kernel import kernel
from strapdown.estimation.error_state.model import MATRIX_ERROR
from strapdown.geometry.vectors import clear

if TYPE_CHECKING:
    from strapdown._kernels.records import Matrix, Vector
    from strapdown.estimation.error_state.state import ErrorStateMemory


@kernel
def project(covariance: Matrix, column: Vector, i: int, h: float) -> None:
    """Add h times row i of P to a vector: one entry of P H^T for one of H."""
    row = covariance[i]
    for k in range(len(column)):
        column[k] += h * row[k]


@kernel
def joseph(
    covariance: Matrix, error: Vector, column: Vector, gain: Vector, residual: float, s: float
) -> None:
    """Update error and covariance with one scalar measurement.

    ``column`` is P H^T, ``gain`` K, ``s`` = H P H^T + R, and ``residual`` the measurement less
    its prediction by the error so far. Joseph's form holds for any gain: an entry of K that was
    set to zero *considers* that state, which stays uncertain and is not corrected (S. Schmidt,
    1966).
    """
    n = len(error)
    for i in range(n):
        k, c = gain[i], column[i]
        error[i] += k * residual
        row = covariance[i]
        for j in range(n):
            row[j] -= k * (column[j] - s * gain[j]) + c * gain[j]


@kernel
def shrink(covariance: Matrix, gain: Vector) -> None:
    """Subtract K K^T from P: a scalar with S = 1 and the optimal gain; P stays symmetric.

    The number of errors is a multiple of four: LLVM unrolls a loop over the columns of one row,
    which then uses no vector registers, but not a loop over those of four rows.
    """
    for i in range(0, len(gain), 4):
        a, b, c, d = covariance[i], covariance[i + 1], covariance[i + 2], covariance[i + 3]
        p, q, r, s = gain[i], gain[i + 1], gain[i + 2], gain[i + 3]
        for k in range(len(gain)):
            a[k] -= p * gain[k]
            b[k] -= q * gain[k]
            c[k] -= r * gain[k]
            d[k] -= s * gain[k]


@kernel
def consider(gain: Vector, first: int, count: int) -> None:
    """Set the gains of ``count`` states to zero, so that an update only considers them."""
    for i in range(first, first + count):
        gain[i] = 0.0


@kernel
def take_error(
    s: ErrorStateMemory, i: int, measured: float, noise: float, keeps_matrix: bool
) -> None:
    """Update with a measurement of error ``i`` alone, without correcting M if ``keeps_matrix``."""
    covariance, c = s.error_covariance, s.correction
    clear(c.column)
    project(covariance, c.column, i, 1.0)
    variance = c.column[i] + noise
    for j in range(len(c.gain)):
        c.gain[j] = c.column[j] / variance
    if keeps_matrix:
        consider(c.gain, MATRIX_ERROR, 9)
    joseph(covariance, c.error, c.column, c.gain, measured - c.error[i], variance)


@kernel
def sigma(covariance: Matrix, i: int) -> float:
    """Return the standard deviation of one error."""
    return math.sqrt(max(covariance[i][i], 0.0))


@kernel
def set_variance(covariance: Matrix, i: int, sigma: float) -> None:
    """Set the standard deviation of one error, and its covariance with the others to zero."""
    row = covariance[i]
    for j in range(len(row)):
        row[j] = 0.0
        covariance[j][i] = 0.0
    row[i] = sigma * sigma


@kernel
def symmetrise(covariance: Matrix) -> None:
    """Make P symmetric again after rounding."""
    for i in range(len(covariance)):
        row = covariance[i]
        for j in range(i):
            other = covariance[j]
            row[j] = other[i] = 0.5 * (row[j] + other[i])
