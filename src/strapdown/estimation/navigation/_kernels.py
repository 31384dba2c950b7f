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
38-52    ROW              how a measured number grows with the errors (:func:`correct`)
53-67    CROSSED          covariance of the errors with that number
68-82    GAINS            of the correction
83-97    LEFT             what (I - K h) P leaves of CROSSED, less than noise adds
98-99    INNOVATION       of that number, and its variance
100-114  ERROR            estimated error, 0 but within a correction
115-339  SPREAD           its covariance, 15 x 15 by rows
340...   NAVIGATOR        what else the navigator remembers
=======  ===============  ================================================================

The order of the fifteen is position, velocity, orientation (all in the world's axes), bias of
the accelerometer, bias of the gyro (both in the body's).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

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
    from strapdown.integration._kernels import Vector

    Matrix: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]

VELOCITY: Final = OWN
POSITION: Final = VELOCITY + 3
ACCEL_BIAS: Final = POSITION + 3
SIZE: Final = 15
ROW: Final = ACCEL_BIAS + 3
CROSSED: Final = ROW + SIZE
GAINS: Final = CROSSED + SIZE
LEFT: Final = GAINS + SIZE
INNOVATION: Final = LEFT + SIZE
VARIANCE: Final = INNOVATION + 1  # of the innovation
ERROR: Final = VARIANCE + 1
SPREAD: Final = ERROR + SIZE
NAVIGATOR: Final = SPREAD + SIZE * SIZE

INLINE = True
BORROWS = True

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
    half = 0.5 * dt
    tilt = multiple(-half, rotation)
    push = (dt * fx, dt * fy, dt * fz)
    for k in range(SIZE):
        lead(state, SPREAD + k, SIZE, half, push, tilt)
    for k in range(D_ACCEL_BIAS):
        lead(state, SPREAD + SIZE * k, 1, half, push, tilt)
    mirror(state)
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


def lead(state: FloatArray, at: int, apart: int, half: float, push: Vector, tilt: Matrix) -> None:
    """Take fifteen errors, which stand so far apart, over a step: good to the second order.

    ``half`` the step [s]; ``push`` is its integral of specific force [m/s, world], ``tilt`` what
    a gyro bias does to the orientation in half of it.
    """
    rx, ry, rz = state[at + 6 * apart], state[at + 7 * apart], state[at + 8 * apart]
    ax, ay, az = state[at + 9 * apart], state[at + 10 * apart], state[at + 11 * apart]
    gx, gy, gz = state[at + 12 * apart], state[at + 13 * apart], state[at + 14 * apart]
    a, b, c, d, e, f, g, h, i = tilt
    tx, ty, tz = (
        a * gx + b * gy + c * gz, d * gx + e * gy + f * gz, g * gx + h * gy + i * gz
    )  # fmt: skip
    mx, my, mz = rx + tx, ry + ty, rz + tz  # in the middle of the step
    more = (
        my * push[2] - mz * push[1] + 2.0 * (a * ax + b * ay + c * az),
        mz * push[0] - mx * push[2] + 2.0 * (d * ax + e * ay + f * az),
        mx * push[1] - my * push[0] + 2.0 * (g * ax + h * ay + i * az),
    )
    for k in range(3):
        v = state[at + (3 + k) * apart]
        state[at + k * apart] += half * (2.0 * v + more[k])
        state[at + (3 + k) * apart] = v + more[k]
    state[at + 6 * apart], state[at + 7 * apart] = mx + tx, my + ty
    state[at + 8 * apart] = mz + tz


def mirror(state: FloatArray) -> None:
    """Make the covariance symmetric by its upper triangle."""
    for j in range(SIZE):
        for k in range(j):
            state[SPREAD + SIZE * j + k] = state[SPREAD + SIZE * k + j]


def widen(state: FloatArray, at: int, variance: float) -> None:
    """Add a variance to three of the errors."""
    for k in range(at, at + 3):
        state[SPREAD + (SIZE + 1) * k] += variance


def begin_row(state: FloatArray) -> None:
    """Empty the row of a measured number."""
    for k in range(ROW, ROW + SIZE):
        state[k] = 0.0


def correct(state: FloatArray, residual: float, variance: float) -> float:
    """Take one number that was measured; return its normalised innovation squared.

    ``residual`` is measured less predicted before any correction since :func:`inject`; ROW
    holds its derivatives with respect to the errors. The covariance is updated in Joseph's
    form; :func:`inject` makes it symmetric to the last bit.
    """
    innovate(state, residual, variance)
    innovation: float = state[INNOVATION]
    spread: float = state[VARIANCE]
    if not spread > 0.0:
        return 0.0
    for j in range(SIZE):
        state[GAINS + j] = state[CROSSED + j] / spread
        state[ERROR + j] += state[GAINS + j] * innovation
    reduce(state, variance)
    return innovation * innovation / spread


def innovate(state: FloatArray, residual: float, variance: float) -> None:
    """Compute the innovation, its variance, and P h, its covariance with the errors."""
    for j in range(SIZE):
        state[CROSSED + j] = 0.0
    for k in range(SIZE):
        slope = state[ROW + k]
        if slope != 0.0:
            residual -= slope * state[ERROR + k]
            for j in range(SIZE):
                state[CROSSED + j] += slope * state[SPREAD + SIZE * k + j]
    for k in range(SIZE):
        variance += state[ROW + k] * state[CROSSED + k]
    state[INNOVATION], state[VARIANCE] = residual, variance


def reduce(state: FloatArray, variance: float) -> None:
    """Reduce the covariance to (I - K h) P (I - K h)^T + variance K K^T."""
    for j in range(SIZE):
        state[LEFT + j] = variance * state[GAINS + j]
    for k in range(SIZE):
        slope, crossed = state[ROW + k], state[CROSSED + k]
        if slope != 0.0:
            for j in range(SIZE):
                after = state[SPREAD + SIZE * k + j] - state[GAINS + j] * crossed
                state[LEFT + j] -= slope * after
    for j in range(SIZE):
        crossed, gain = state[CROSSED + j], state[GAINS + j]
        for k in range(SIZE):
            less = state[GAINS + k] * crossed - state[LEFT + k] * gain
            state[SPREAD + SIZE * j + k] -= less


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
    mirror(state)


def publish(state: FloatArray) -> None:
    """Write what the covariance says into the head of the state."""
    at = COVARIANCE
    for j in range(3):
        state[BIAS_SIGMA + j] = math.sqrt(max(state[SPREAD + (SIZE + 1) * (D_GYRO_BIAS + j)], 0.0))
        for k in range(j, 3):
            state[at] = state[SPREAD + SIZE * (D_ORIENTATION + j) + D_ORIENTATION + k]
            at += 1
