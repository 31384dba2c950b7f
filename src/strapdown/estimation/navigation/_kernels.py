"""The error of an inertial navigator: fifteen states and their covariance.

The true values are the estimates corrected by the error: position, velocity and biases by
addition, orientation by a rotation about the axes of the world, R_true = Exp(phi) R (J. Sola,
"Quaternion kinematics for the error-state Kalman filter", arXiv:1711.02508, section 7). A
navigator keeps these places in its state, after the head that all filters share:

=======  ===============  ================================================================
state    name             holds
=======  ===============  ================================================================
0-3      ORIENTATION      q_world_from_body, x y z w (head)
4-6      BIAS             gyro bias [rad/s, body] (head)
7-9      BIAS_SIGMA       standard deviation of it [rad/s] (head; :func:`publish`)
10-15    COVARIANCE       of the orientation [rad^2, world] (head; :func:`publish`)
29-31    VELOCITY         [m/s, world]
32-34    POSITION         [m, world]
35-37    ACCEL_BIAS       [m/s^2, body]
38-52    ERROR            estimated error, 0 but within a correction
53-277   SPREAD           its covariance, 15 x 15 by rows
278...   NAVIGATOR        what else the navigator remembers
=======  ===============  ================================================================

The order of the fifteen is position, velocity, orientation (all in the world's axes), bias of
the accelerometer, bias of the gyro (both in the body's).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.estimation._kernels import (
    BIAS,
    BIAS_SIGMA,
    COVARIANCE,
    OWN,
    normalise,
    orientation,
    turn_world,
)
from strapdown.geometry._kernels import quaternion_exp

if TYPE_CHECKING:
    from typing import TypeAlias

    from strapdown._typing import FloatArray

    Matrix: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]

VELOCITY: Final = OWN
POSITION: Final = VELOCITY + 3
ACCEL_BIAS: Final = POSITION + 3
ERROR: Final = ACCEL_BIAS + 3
SPREAD: Final = ERROR + 15
NAVIGATOR: Final = SPREAD + 225

INLINE = True

SIZE: Final = 15
D_POSITION: Final = 0  # places of the fifteen
D_VELOCITY: Final = 3
D_ORIENTATION: Final = 6
D_ACCEL_BIAS: Final = 9
D_GYRO_BIAS: Final = 12

UPRIGHT: Final = 1e-6  # squared horizontal part of an axis that has no heading


def propagate(
    state: FloatArray,
    dt: float,
    rotation: Matrix,
    fx: float,
    fy: float,
    fz: float,
    accel_noise: float,
    gyro_noise: float,
    accel_walk: float,
    gyro_walk: float,
) -> None:
    """Let the covariance grow over a step of dt [s].

    ``rotation`` is R_world_from_body at the middle of the step, by rows, and fx, fy, fz the
    specific force there, less its bias [m/s^2, world]. The derivative of the position's error
    is that of velocity, of the velocity's -[f]x phi - R b_a, of the orientation's -R b_g. The
    noises are densities [m/s/sqrt(s)], [rad/sqrt(s)]; the biases walk [m/s^2/sqrt(s)],
    [rad/s/sqrt(s)].
    """
    # Position and orientation half before and half after: good to the second order.
    half = 0.5 * dt
    unit = (half, 0.0, 0.0, 0.0, half, 0.0, 0.0, 0.0, half)
    lean = (0.0, dt * fz, -dt * fy, -dt * fz, 0.0, dt * fx, dt * fy, -dt * fx, 0.0)
    tilt = multiple(-half, rotation)
    add_multiple(state, D_POSITION, D_VELOCITY, unit)
    add_multiple(state, D_ORIENTATION, D_GYRO_BIAS, tilt)
    add_multiple(state, D_VELOCITY, D_ORIENTATION, lean)
    add_multiple(state, D_VELOCITY, D_ACCEL_BIAS, multiple(2.0, tilt))
    add_multiple(state, D_ORIENTATION, D_GYRO_BIAS, tilt)
    add_multiple(state, D_POSITION, D_VELOCITY, unit)
    widen(state, D_VELOCITY, accel_noise * accel_noise * dt)
    widen(state, D_ORIENTATION, gyro_noise * gyro_noise * dt)
    widen(state, D_ACCEL_BIAS, accel_walk * accel_walk * dt)
    widen(state, D_GYRO_BIAS, gyro_walk * gyro_walk * dt)


def multiple(factor: float, matrix: Matrix) -> Matrix:
    a, b, c, d, e, f, g, h, i = matrix
    return (
        factor * a, factor * b, factor * c,
        factor * d, factor * e, factor * f,
        factor * g, factor * h, factor * i,
    )  # fmt: skip


def add_multiple(state: FloatArray, to: int, of: int, matrix: Matrix) -> None:
    """Add ``matrix`` times three of the errors to three others, in the covariance."""
    a, b, c, d, e, f, g, h, i = matrix
    row, source = SPREAD + SIZE * to, SPREAD + SIZE * of
    for k in range(SIZE):
        x, y, z = state[source + k], state[source + SIZE + k], state[source + 2 * SIZE + k]
        state[row + k] += a * x + b * y + c * z
        state[row + SIZE + k] += d * x + e * y + f * z
        state[row + 2 * SIZE + k] += g * x + h * y + i * z
    # The columns mirror the rows, but where both meet.
    for k in range(SIZE):
        if to <= k < to + 3:
            at = SPREAD + SIZE * k
            x, y, z = state[at + of], state[at + of + 1], state[at + of + 2]
            state[at + to] += a * x + b * y + c * z
            state[at + to + 1] += d * x + e * y + f * z
            state[at + to + 2] += g * x + h * y + i * z
        else:
            for j in range(3):
                state[SPREAD + SIZE * k + to + j] = state[row + SIZE * j + k]


def widen(state: FloatArray, at: int, variance: float) -> None:
    """Add a variance to three of the errors."""
    for k in range(at, at + 3):
        state[SPREAD + (SIZE + 1) * k] += variance


def correct(
    state: FloatArray, row: FloatArray, first: int, last: int, residual: float, variance: float
) -> float:
    """Take one number that was measured; return its normalised innovation squared.

    ``residual`` is measured less predicted before any correction since :func:`inject`;
    ``row`` (15,) its derivative with respect to the errors, 0 outside ``first`` to ``last``
    (not included). The covariance is updated in Joseph's form.
    """
    gains, crossed = np.empty(SIZE), np.empty(SIZE)
    innovation, spread = residual, variance
    for j in range(SIZE):
        gains[j] = product(state, j, row, first, last)
    for k in range(first, last):
        innovation -= row[k] * state[ERROR + k]
        spread += row[k] * gains[k]
    if not spread > 0.0:
        return 0.0
    for j in range(SIZE):
        crossed[j] = gains[j]
        gains[j] /= spread
        state[ERROR + j] += gains[j] * innovation
    # (I - K h) P, and then its product with (I - K h)^T
    for j in range(SIZE):
        for k in range(SIZE):
            state[SPREAD + SIZE * j + k] -= gains[j] * crossed[k]
    for j in range(SIZE):
        crossed[j] = product(state, j, row, first, last)
    for j in range(SIZE):
        for k in range(j + 1):
            value = state[SPREAD + SIZE * j + k]
            value += (variance * gains[j] - crossed[j]) * gains[k]
            state[SPREAD + SIZE * j + k] = value
            state[SPREAD + SIZE * k + j] = value
    return innovation * innovation / spread


def product(state: FloatArray, j: int, row: FloatArray, first: int, last: int) -> float:
    """Return the product of row ``j`` of the covariance with ``row``."""
    total = 0.0
    for k in range(first, last):
        total += state[SPREAD + SIZE * j + k] * row[k]
    return total


def heading_row(x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return how the heading of a forward axis x, y, z (world) grows with the orientation's error.

    A rotation phi moves the axis by phi x axis, and its heading atan2(y, x) with it. Upright,
    where there is no heading, it is taken to be the turn about the vertical.
    """
    level = x * x + y * y
    if level < UPRIGHT:
        return 0.0, 0.0, 1.0
    return -x * z / level, -y * z / level, 1.0


def inject(state: FloatArray) -> None:
    """Correct the estimates by the estimated error, which is 0 afterwards."""
    for k in range(3):
        state[POSITION + k] += state[ERROR + D_POSITION + k]
        state[VELOCITY + k] += state[ERROR + D_VELOCITY + k]
        state[ACCEL_BIAS + k] += state[ERROR + D_ACCEL_BIAS + k]
        state[BIAS + k] += state[ERROR + D_GYRO_BIAS + k]
    before = orientation(state)
    at = ERROR + D_ORIENTATION
    turn_world(state, *quaternion_exp(0.5 * state[at], 0.5 * state[at + 1], 0.5 * state[at + 2]))
    normalise(state, *before)
    for k in range(ERROR, ERROR + SIZE):
        state[k] = 0.0


def publish(state: FloatArray) -> None:
    """Write what the covariance says into the head of the state."""
    at = COVARIANCE
    for j in range(3):
        state[BIAS_SIGMA + j] = math.sqrt(max(state[SPREAD + (SIZE + 1) * (D_GYRO_BIAS + j)], 0.0))
        for k in range(j, 3):
            state[at] = state[SPREAD + SIZE * (D_ORIENTATION + j) + D_ORIENTATION + k]
            at += 1
