"""The covariance and the scalar update of an error-state Kalman filter, whatever its errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown._kernels.kernel import kernel

if TYPE_CHECKING:
    from strapdown._kernels.records import Matrix, Vector


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
    """Take in one scalar: the error moves by K residual, P shrinks.

    ``column`` is P H^T, ``gain`` K, ``s`` = H P H^T + R, and ``residual`` what the error so far
    does not explain. Joseph's form holds for any gain: an entry of K that was set to zero
    *considers* that state, uncertain but not moved (S. Schmidt, 1966).
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
    """Let P shrink by K K^T: a scalar with S = 1 and the optimal gain; P stays symmetric."""
    for i in range(len(gain)):
        k = gain[i]
        row = covariance[i]
        for j in range(len(gain)):
            row[j] -= k * gain[j]


@kernel
def consider(gain: Vector, first: int, count: int) -> None:
    """Leave states as they are in an update, uncertain as they may be."""
    for i in range(first, first + count):
        gain[i] = 0.0


@kernel
def set_variance(covariance: Matrix, i: int, sigma: float) -> None:
    """Make one error as large as ``sigma`` and independent of the others."""
    row = covariance[i]
    for j in range(len(row)):
        row[j] = 0.0
        covariance[j][i] = 0.0
    row[i] = sigma * sigma


@kernel
def symmetrise(covariance: Matrix) -> None:
    """Make P symmetric again after updates that round."""
    for i in range(len(covariance)):
        row = covariance[i]
        for j in range(i):
            other = covariance[j]
            row[j] = other[i] = 0.5 * (row[j] + other[i])
