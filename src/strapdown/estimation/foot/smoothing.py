"""Backward pass of the smoother of the foot-mounted navigator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Matrix, Record, Vector, filled, zeros
from strapdown.estimation.foot.filter import MOST, write
from strapdown.estimation.navigation.errors import inject, mirror, transpose
from strapdown.estimation.navigation.state import POSITION, SIZE
from strapdown.geometry.vectors import clear, copy, copy_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.estimation.foot.filter import FootMemory, FootRow, Passage, Tape
    from strapdown.estimation.navigation.errors import Correction


class Adjoint(Record):
    """Adjoint state: information of later measurements; no matrix is inverted."""

    vector: Matrix = zeros(SIZE, 1)  # lambda, a column
    matrix: Matrix = zeros(SIZE, SIZE)  # Lambda
    later: Vector = filled(SIZE)  # Lambda K of a number, or a row of P Lambda
    smoothed: Matrix = zeros(SIZE, SIZE)  # a covariance


@kernel
def back(
    adjoint: Sequence[Adjoint],
    correction: Sequence[Correction],
    passages: Sequence[Passage],
    rows: Sequence[FootRow],
) -> None:
    """Write the smoothed estimates, from the last sample to the first.

    The modified Bryson-Frazier smoother: a vector lambda and a matrix Lambda hold the
    information of later measurements; the smoothed error is -P lambda, its covariance
    P - P Lambda P.
    G. Bierman, "Factorization Methods for Discrete Sequential Estimation", 1977, chapter X.
    """
    a = adjoint[0]
    for i in range(len(passages) - 1, -1, -1):
        known, tape = passages[i].known, passages[i].tape
        if not known.aligned:
            continue
        smooth(a, correction[0], known)
        write(rows[i], known)
        if tape.new_floor:
            cut_floor(a)
            for k in range(SIZE):
                rows[i].lift -= tape.with_floor[k] * a.vector[k][0]
        for number in range(MOST - 1, -1, -1):
            if tape.variances[number] > 0.0:
                untake(a, tape, number)
        if tape.h > 0.0:
            step_back(a, tape)


@kernel
def smooth(a: Adjoint, c: Correction, known: FootMemory) -> None:
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
def cut_floor(a: Adjoint) -> None:
    """Clear the height in the adjoint, as heights before a new floor are independent."""
    up = POSITION + 2
    a.vector[up][0] = 0.0
    for k in range(SIZE):
        a.matrix[up][k] = a.matrix[k][up] = 0.0


@kernel
def untake(a: Adjoint, tape: Tape, number: int) -> None:
    """Propagate the adjoint backward over the update with a number."""
    slopes, column, spread = tape.slopes[number], tape.columns[number], tape.variances[number]
    told, square, later = tape.innovations[number], 1.0 / spread, a.later
    clear(later)
    for j in range(SIZE):
        told += column[j] * a.vector[j][0]
        for k in range(SIZE):
            later[k] += a.matrix[j][k] * column[j] / spread
    for j in range(SIZE):
        square += column[j] / spread * later[j]
    for j in range(SIZE):
        a.vector[j][0] -= slopes[j] * told / spread
        for k in range(SIZE):
            a.matrix[j][k] += (
                square * slopes[j] * slopes[k] - slopes[j] * later[k] - later[j] * slopes[k]
            )


@kernel
def step_back(a: Adjoint, tape: Tape) -> None:
    """Propagate the adjoint backward over a step, by the transpose of its transition."""
    lead_back(a.vector, 1, tape)
    lead_back(a.matrix, SIZE, tape)
    transpose(a.matrix)
    lead_back(a.matrix, SIZE, tape)
    transpose(a.matrix)
    mirror(a.matrix)


@kernel
def lead_back(matrix: Matrix, columns: int, tape: Tape) -> None:
    """Multiply columns of fifteen numbers by the transpose of the transition in ``lead``."""
    dt, rotation = tape.h, tape.rotation
    half, u, v, w = 0.5 * dt, dt * tape.force[0], dt * tape.force[1], dt * tape.force[2]
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
