"""Backward pass of a smoother of the errors of a navigator.

The modified Bryson-Frazier smoother: a vector lambda and a matrix Lambda hold the information of
later measurements; the smoothed error is -P lambda, its covariance P - P Lambda P. The model is
linearised about the estimates of the filter.

References
----------
G. Bierman, "Factorization Methods for Discrete Sequential Estimation", 1977, chapter X.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Matrix, Record, Vector, filled, zeros
from strapdown.estimation.navigation.errors import Steps, copy_steps, inject, mirror, transpose
from strapdown.estimation.navigation.state import SIZE, NavigatorMemory, describe
from strapdown.geometry.vectors import clear, copy, copy_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from strapdown.estimation.navigation.errors import Correction, Transition
    from strapdown.estimation.navigation.prediction import AidingUpdate
    from strapdown.estimation.navigation.state import NavigatorRow

    class Innovations(Protocol):
        """Updates with measured numbers."""

        columns: Matrix
        innovations: Vector
        variances: Vector


class Passage(Record):
    """Input of the backward pass for a sample."""

    known: NavigatorMemory = NavigatorMemory()  # estimates of the filter after it
    steps: Steps = Steps()


class Adjoint(Record):
    """Adjoint state: information of later measurements; no matrix is inverted."""

    vector: Matrix = zeros(SIZE, 1)  # lambda, a column
    matrix: Matrix = zeros(SIZE, SIZE)  # Lambda
    later: Vector = filled(SIZE)  # Lambda K of a number, or a row of P Lambda
    smoothed: Matrix = zeros(SIZE, SIZE)  # a covariance


@kernel
def record(passage: Passage, s: NavigatorMemory, c: Correction) -> None:
    """Copy the estimates after a sample, before aiding at its stamp, and the steps to them."""
    copy_estimates(passage.known, s)
    copy_steps(passage.steps, c.steps)


@kernel
def copy_estimates(known: NavigatorMemory, s: NavigatorMemory) -> None:
    """Copy the estimates that the backward pass corrects or outputs."""
    copy(known.orientation, s.orientation)
    copy(known.velocity, s.velocity)
    copy(known.position, s.position)
    copy(known.gyro_bias, s.gyro_bias)
    copy(known.accel_bias, s.accel_bias)
    known.altitude_bias = s.altitude_bias
    copy_rows(known.error_covariance, s.error_covariance)
    copy(known.last_rate, s.last_rate)
    known.aligned = s.aligned


@kernel
def back(
    adjoint: Sequence[Adjoint],
    correction: Sequence[Correction],
    passages: Sequence[Passage],
    rows: Sequence[NavigatorRow],
    updates: Sequence[AidingUpdate],
) -> None:
    """Write the smoothed estimates, from the last sample to the first."""
    a, at = adjoint[0], len(updates)
    for i in range(len(passages), -1, -1):
        if i < len(passages):
            passage = passages[i]
            if passage.known.aligned:
                smooth(a, correction[0], passage.known)
                describe(rows[i], passage.known)
            steps_back(a, passage.steps)
        while at > 0 and updates[at - 1].reached == i:
            at -= 1
            if updates[at].accepted:
                for number in range(updates[at].count - 1, -1, -1):
                    untake(a, updates[at].slopes[number], updates[at], number)
            steps_back(a, updates[at].steps)


@kernel
def steps_back(a: Adjoint, steps: Steps) -> None:
    """Propagate the adjoint backward over the steps to a sample, or to an aiding."""
    if steps.count > 1:
        step_back(a, steps.second)
    if steps.count > 0:
        step_back(a, steps.first)


@kernel
def smooth(a: Adjoint, c: Correction, known: NavigatorMemory) -> None:
    """Correct the estimates by the adjoint."""
    covariance, later = known.error_covariance, a.later
    for j in range(SIZE):
        row = covariance[j]
        total = 0.0
        clear(later)
        for k in range(SIZE):
            total -= row[k] * a.vector[k][0]
        c.error[j] = total
        for i in range(SIZE):
            for k in range(SIZE):
                later[k] += row[i] * a.matrix[i][k]
        smoothed = a.smoothed[j]
        copy(smoothed, row)
        for i in range(SIZE):
            for k in range(SIZE):
                smoothed[k] -= later[i] * covariance[i][k]
    copy_rows(covariance, a.smoothed)
    for j in range(SIZE):
        covariance[j][j] = max(covariance[j][j], 0.0)
    inject(known, c)


@kernel
def untake(a: Adjoint, slopes: Vector, tape: Innovations, number: int) -> None:
    """Propagate the adjoint backward over the update with a number."""
    column, spread = tape.columns[number], tape.variances[number]
    innovation, square, later = tape.innovations[number], 1.0 / spread, a.later
    clear(later)
    for j in range(SIZE):
        innovation += column[j] * a.vector[j][0]
        for k in range(SIZE):
            later[k] += a.matrix[j][k] * column[j] / spread
    for j in range(SIZE):
        square += column[j] / spread * later[j]
    for j in range(SIZE):
        a.vector[j][0] -= slopes[j] * innovation / spread
        for k in range(SIZE):
            a.matrix[j][k] += (
                square * slopes[j] * slopes[k] - slopes[j] * later[k] - later[j] * slopes[k]
            )


@kernel
def step_back(a: Adjoint, there: Transition) -> None:
    """Propagate the adjoint backward over a step, by the transpose of its transition."""
    lead_back(a.vector, 1, there)
    lead_back(a.matrix, SIZE, there)
    transpose(a.matrix)
    lead_back(a.matrix, SIZE, there)
    transpose(a.matrix)
    mirror(a.matrix)


@kernel
def lead_back(matrix: Matrix, columns: int, there: Transition) -> None:
    """Multiply columns by the transpose of the transition in ``lead``."""
    dt, rotation = there.h, there.rotation
    half, u, v, w = 0.5 * dt, dt * there.force[0], dt * there.force[1], dt * there.force[2]
    a, b, c = -half * rotation[0], -half * rotation[1], -half * rotation[2]
    d, e, f = -half * rotation[3], -half * rotation[4], -half * rotation[5]
    g, h, i = -half * rotation[6], -half * rotation[7], -half * rotation[8]
    px, py, pz = matrix[0], matrix[1], matrix[2]
    vx, vy, vz = matrix[3], matrix[4], matrix[5]
    rx, ry, rz = matrix[6], matrix[7], matrix[8]
    ax, ay, az = matrix[9], matrix[10], matrix[11]
    gx, gy, gz = matrix[12], matrix[13], matrix[14]
    for k in range(columns):
        x, y, z = vx[k] + half * px[k], vy[k] + half * py[k], vz[k] + half * pz[k]
        sx = rx[k] + v * z - w * y
        sy = ry[k] + w * x - u * z
        sz = rz[k] + u * y - v * x
        vx[k], vy[k], vz[k] = x + half * px[k], y + half * py[k], z + half * pz[k]
        mx, my, mz = rx[k] + sx, ry[k] + sy, rz[k] + sz
        rx[k], ry[k], rz[k] = sx, sy, sz
        ax[k] += 2.0 * (a * x + d * y + g * z)
        ay[k] += 2.0 * (b * x + e * y + h * z)
        az[k] += 2.0 * (c * x + f * y + i * z)
        gx[k] += a * mx + d * my + g * mz
        gy[k] += b * mx + e * my + h * mz
        gz[k] += c * mx + f * my + i * mz
