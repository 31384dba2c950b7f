"""Rotation in a gap of the gyro, from the motion before it and the first rate after it.

Angular velocity is modelled as a random process that is alike about all axes. Its
autocovariance is learnt from the last minutes, and gives the best linear estimate of the integral
over a gap; :mod:`strapdown.estimation.error_state.bridging` is the same with both sides.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Matrix, Record, Vector, filled, zeros
from strapdown.geometry.vectors import add_to, clear, copy, three

if TYPE_CHECKING:
    from strapdown._typing import Three

BIN_S: Final = 0.02  # of the history and of the autocovariance
BINS: Final = 64
KNOWN: Final = 7  # rates that are used: those of the last bins, and the one after the gap
LEARNT_S: Final = 100.0  # time constant of the autocovariance, ...
LEAST_S: Final = 10.0  # ... and the time after which it is used
ALIKE_S: Final = 2.0  # standard deviation of the lags over which a motion resembles itself
NOISE: Final = 0.01  # of the mean square: variance of a known rate
LEAST_PIVOT: Final = 1e-3  # likewise; a smaller one is due to rounding


class RateHistory(Record):
    """Mean angular velocities of the last bins, latest first, and their autocovariance."""

    learnt: float = 0.0  # time in the autocovariance [s]
    span: float = 0.0  # time in the present bin [s]
    turn: Vector = filled(3)  # rotation in it [rad, body]
    count: int = 0  # bins since the last gap
    rates: Matrix = zeros(BINS, 3)  # [rad/s, body]
    alike: Vector = filled(BINS)  # mean product of the rates at a lag [rad^2/s^2]
    factor: Matrix = zeros(KNOWN, KNOWN)  # work space: Cholesky factor of their covariance
    weights: Vector = filled(KNOWN)  # of the known rates in the rotation [s]


@kernel
def remember(history: RateHistory, turn: Three, dt: float) -> None:
    """Add a measured rotation; at the end of a bin update the autocovariance."""
    add_to(history.turn, turn)
    history.span += dt
    if history.span + 0.5 * dt < BIN_S:
        return
    rates = history.rates
    for i in range(BINS - 1, 0, -1):
        copy(rates[i], rates[i - 1])
    for k in range(3):
        rates[0][k] = history.turn[k] / history.span
    history.count = min(history.count + 1, BINS)
    history.learnt = min(history.learnt + history.span, LEARNT_S)
    part = history.span / history.learnt
    x, y, z = three(rates[0])
    for i in range(history.count):
        product = x * rates[i][0] + y * rates[i][1] + z * rates[i][2]
        history.alike[i] += part * (product - history.alike[i])
    begin_bin(history)


@kernel
def begin_bin(history: RateHistory) -> None:
    """Begin a bin."""
    clear(history.turn)
    history.span = 0.0


@kernel
def forget_rates(history: RateHistory) -> None:
    """Begin the history again after a gap; keep the autocovariance."""
    begin_bin(history)
    history.count = 0


@kernel
def likeness(history: RateHistory, lag_s: float) -> float:
    """Return the autocovariance at a lag, faded and interpolated linearly."""
    place = abs(lag_s) / BIN_S
    i = int(place)
    if i >= BINS - 1:
        return 0.0
    part = place - i
    between = (1.0 - part) * history.alike[i] + part * history.alike[i + 1]
    return between * math.exp(-0.5 * (lag_s / ALIKE_S) * (lag_s / ALIKE_S))


@kernel
def time_of(j: int, span: float) -> float:
    """Return the time of a known rate after the start of a gap; the first is after the gap."""
    return span if j == 0 else (0.5 - j) * BIN_S


@kernel
def weigh(history: RateHistory, span: float) -> bool:
    """Compute the weights of the known rates; return whether they can be used."""
    if history.count < KNOWN - 1 or history.learnt < LEAST_S:
        return False
    relate(history, span)
    if not factorise(history.factor, LEAST_PIVOT * history.alike[0]):
        return False
    solve(history.factor, history.weights)
    return True


@kernel
def relate(history: RateHistory, span: float) -> None:
    """Write the covariance of the known rates, and theirs with the rotation in the gap."""
    factor, weights = history.factor, history.weights
    parts = math.ceil(span / BIN_S)
    step = span / parts
    for j in range(KNOWN):
        at = time_of(j, span)
        weights[j] = 0.0
        for m in range(parts):
            weights[j] += step * likeness(history, (m + 0.5) * step - at)
        for i in range(j):
            factor[j][i] = likeness(history, at - time_of(i, span))
        factor[j][j] = (1.0 + NOISE) * history.alike[0]


@kernel
def factorise(matrix: Matrix, least: float) -> bool:
    """Replace the lower triangle by its Cholesky factor; return whether no pivot is too small."""
    for j in range(len(matrix)):
        row = matrix[j]
        for i in range(j + 1):
            left = row[i]
            for k in range(i):
                left -= row[k] * matrix[i][k]
            if i < j:
                row[i] = left / matrix[i][i]
            elif left <= least:
                return False
            else:
                row[i] = math.sqrt(left)
    return True


@kernel
def solve(factor: Matrix, x: Vector) -> None:
    """Divide a vector by the matrix of a Cholesky factor."""
    n = len(x)
    for j in range(n):
        for k in range(j):
            x[j] -= factor[j][k] * x[k]
        x[j] /= factor[j][j]
    for j in range(n - 1, -1, -1):
        for k in range(j + 1, n):
            x[j] -= factor[k][j] * x[k]
        x[j] /= factor[j][j]


@kernel
def rotation_across(history: RateHistory, after: Three) -> Three:
    """Return the rotation in a gap by the weights [rad, body]."""
    weights = history.weights
    x, y, z = weights[0] * after[0], weights[0] * after[1], weights[0] * after[2]
    for j in range(1, KNOWN):
        rate = history.rates[j - 1]
        x += weights[j] * rate[0]
        y += weights[j] * rate[1]
        z += weights[j] * rate[2]
    return x, y, z
