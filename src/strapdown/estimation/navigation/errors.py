"""Error states of an inertial navigator and their covariance.

The true values are the estimates corrected by the error: position, velocity and biases by
addition, orientation by a rotation about the axes of the world, R_true = Exp(phi) R (J. Sola,
"Quaternion kinematics for the error-state Kalman filter", arXiv:1711.02508, section 7).

The order of the errors is position, velocity, orientation (all in the world's axes), bias of
the accelerometer, bias of the gyro (both in the body's), and bias of a barometer's altitude.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Matrix, Record, Vector, filled, zeros
from strapdown.estimation.attitude import normalise, turn_world
from strapdown.estimation.error_state.update import project, sigma
from strapdown.estimation.navigation.state import (
    ACCEL_BIAS,
    ALTITUDE_BIAS,
    GYRO_BIAS,
    ORIENTATION,
    POSITION,
    SIZE,
    VELOCITY,
)
from strapdown.geometry.formulas import quaternion_exp
from strapdown.geometry.vectors import clear, copy, copy_rows, four

if TYPE_CHECKING:
    from strapdown._typing import Three
    from strapdown.estimation.navigation.params import NavigatorParams
    from strapdown.estimation.navigation.state import NavigatorMemory

    Rotation: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]

UPRIGHT: Final = 1e-6  # squared horizontal part; a smaller one has no heading


class Transition(Record):
    """Step over which the errors were propagated."""

    h: float = 0.0  # [s]
    rotation: Vector = filled(9)  # R_world_from_body in its middle, by rows
    force: Vector = filled(3)  # specific force there [m/s^2, world]


class Steps(Record):
    """Steps to a sample: none, one, or two across a gap between increments."""

    count: int = 0
    first: Transition = Transition()
    second: Transition = Transition()


class Correction(Record):
    """Work space of measurement updates; cleared for each sample."""

    slopes: Vector = filled(SIZE)  # h: derivatives of a measured number by the errors
    column: Vector = filled(SIZE)  # P h: covariance of the errors with that number
    gain: Vector = filled(SIZE)
    left: Vector = filled(SIZE)  # variance K - (I - K h) P h, for the second factor of the update
    innovation: float = 0.0  # of that number
    variance: float = 0.0  # of the innovation
    error: Vector = filled(SIZE)  # estimated so far; 0 after inject
    kept_error: Vector = filled(SIZE)  # backup before numbers that may be rejected
    kept_covariance: Matrix = zeros(SIZE, SIZE)
    steps: Steps = Steps()  # to the last sample


@kernel
def copy_steps(kept: Steps, steps: Steps) -> None:
    """Copy the steps to a sample."""
    kept.count = steps.count
    copy_step(kept.first, steps.first)
    copy_step(kept.second, steps.second)


@kernel
def copy_step(kept: Transition, step: Transition) -> None:
    """Copy a step."""
    kept.h = step.h
    copy(kept.rotation, step.rotation)
    copy(kept.force, step.force)


@kernel
def propagate(
    covariance: Matrix, dt: float, rotation: Rotation, force: Three, p: NavigatorParams
) -> None:
    """Propagate the covariance over a step of dt [s].

    ``rotation`` is R_world_from_body at the middle of the step, by rows, and ``force`` the
    specific force there, less its bias [m/s^2, world]. The derivative of the position's error
    is that of velocity, of the velocity's -[f]x phi - R b_a, of the orientation's -R b_g.
    """
    push = (dt * force[0], dt * force[1], dt * force[2])
    lead(covariance, SIZE, 0.5 * dt, push, rotation)
    transpose(covariance)
    lead(covariance, ACCEL_BIAS, 0.5 * dt, push, rotation)
    transpose(covariance)
    mirror(covariance)
    widen(covariance, VELOCITY, p.accel_noise * p.accel_noise * dt)
    widen(covariance, ORIENTATION, p.gyro_noise * p.gyro_noise * dt)
    widen(covariance, ACCEL_BIAS, p.accel_walk * p.accel_walk * dt)
    widen(covariance, GYRO_BIAS, p.gyro_walk * p.gyro_walk * dt)
    covariance[ALTITUDE_BIAS][ALTITUDE_BIAS] += p.altitude_walk * p.altitude_walk * dt


@kernel
def lead(matrix: Matrix, columns: int, half: float, push: Three, rotation: Rotation) -> None:
    """Multiply columns of errors by the transition over a step, to second order.

    ``half`` is half of the step [s]; ``push`` its integral of specific force [m/s, world].
    """
    u, v, w = push
    # derivative of the orientation by the gyro bias over half of the step
    a, b, c = -half * rotation[0], -half * rotation[1], -half * rotation[2]
    d, e, f = -half * rotation[3], -half * rotation[4], -half * rotation[5]
    g, h, i = -half * rotation[6], -half * rotation[7], -half * rotation[8]
    px, py, pz = matrix[0], matrix[1], matrix[2]
    vx, vy, vz = matrix[3], matrix[4], matrix[5]
    rx, ry, rz = matrix[6], matrix[7], matrix[8]
    ax, ay, az = matrix[9], matrix[10], matrix[11]
    gx, gy, gz = matrix[12], matrix[13], matrix[14]
    for k in range(columns):
        tx = a * gx[k] + b * gy[k] + c * gz[k]
        ty = d * gx[k] + e * gy[k] + f * gz[k]
        tz = g * gx[k] + h * gy[k] + i * gz[k]
        x, y, z = rx[k] + tx, ry[k] + ty, rz[k] + tz  # in the middle of the step
        more_x = y * w - z * v + 2.0 * (a * ax[k] + b * ay[k] + c * az[k])
        more_y = z * u - x * w + 2.0 * (d * ax[k] + e * ay[k] + f * az[k])
        more_z = x * v - y * u + 2.0 * (g * ax[k] + h * ay[k] + i * az[k])
        px[k] += half * (2.0 * vx[k] + more_x)
        py[k] += half * (2.0 * vy[k] + more_y)
        pz[k] += half * (2.0 * vz[k] + more_z)
        vx[k] += more_x
        vy[k] += more_y
        vz[k] += more_z
        rx[k], ry[k], rz[k] = x + tx, y + ty, z + tz


@kernel
def transpose(matrix: Matrix) -> None:
    """Swap rows and columns."""
    for j in range(1, SIZE):
        for k in range(j):
            matrix[j][k], matrix[k][j] = matrix[k][j], matrix[j][k]


@kernel
def mirror(covariance: Matrix) -> None:
    """Make the covariance symmetric by its upper triangle."""
    for j in range(1, SIZE):
        row = covariance[j]
        for k in range(j):
            row[k] = covariance[k][j]


@kernel
def widen(covariance: Matrix, at: int, variance: float) -> None:
    """Add a variance to three of the errors."""
    for k in range(at, at + 3):
        covariance[k][k] += variance


@kernel
def correct(s: NavigatorMemory, c: Correction, residual: float, variance: float) -> float:
    """Update with one measured number; return its normalised innovation squared.

    ``residual`` is measured less predicted before any correction since :func:`inject`;
    ``c.slopes`` holds its derivatives with respect to the errors. :func:`inject` makes the
    covariance symmetric to the last bit.
    """
    column = c.column
    clear(column)
    for k in range(SIZE):
        slope = c.slopes[k]
        if slope != 0.0:
            residual -= slope * c.error[k]
            project(s.error_covariance, column, k, slope)
    spread = variance
    for k in range(SIZE):
        spread += c.slopes[k] * column[k]
    c.innovation, c.variance = residual, spread
    if not spread > 0.0:
        return 0.0
    for k in range(SIZE):
        c.gain[k] = column[k] / spread
        c.error[k] += c.gain[k] * residual
    reduce(s, c, variance)
    return residual * residual / spread


@kernel
def reduce(s: NavigatorMemory, c: Correction, variance: float) -> None:
    """Reduce the covariance to (I - K h) P (I - K h)^T + variance K K^T."""
    gain, column, left = c.gain, c.column, c.left
    for j in range(SIZE):
        left[j] = variance * gain[j]
    for k in range(SIZE):
        slope, crossed, row = c.slopes[k], column[k], s.error_covariance[k]
        if slope != 0.0:
            for j in range(SIZE):
                left[j] -= slope * (row[j] - gain[j] * crossed)
    for j in range(SIZE):
        row = s.error_covariance[j]
        for k in range(SIZE):
            row[k] -= gain[k] * column[j] - left[k] * gain[j]


@kernel
def keep(s: NavigatorMemory, c: Correction) -> None:
    """Back up error and covariance before numbers that may be rejected."""
    copy(c.kept_error, c.error)
    copy_rows(c.kept_covariance, s.error_covariance)


@kernel
def refuse(s: NavigatorMemory, c: Correction) -> None:
    """Undo the updates since :func:`keep`."""
    copy(c.error, c.kept_error)
    copy_rows(s.error_covariance, c.kept_covariance)


@kernel
def heading_slopes(x: float, y: float, z: float) -> Three:
    """Return the derivatives of the heading of a forward axis x, y, z (world) by the orientation.

    A rotation phi moves the axis by phi x axis, and its heading atan2(y, x) with it. For a
    vertical axis, which has no heading, it is the rotation about the vertical.
    """
    level = x * x + y * y
    if level < UPRIGHT:
        return 0.0, 0.0, 1.0
    return -x * z / level, -y * z / level, 1.0


@kernel
def put_slopes(row: Vector, at: int, slopes: Three) -> None:
    """Write the derivatives of a number by three of the errors."""
    row[at], row[at + 1], row[at + 2] = slopes


@kernel
def inject(s: NavigatorMemory, c: Correction) -> None:
    """Correct the estimates by the estimated error, and set that to 0."""
    error = c.error
    for k in range(3):
        s.position[k] += error[POSITION + k]
        s.velocity[k] += error[VELOCITY + k]
        s.accel_bias[k] += error[ACCEL_BIAS + k]
        s.gyro_bias[k] += error[GYRO_BIAS + k]
    s.altitude_bias += error[ALTITUDE_BIAS]
    before = four(s.orientation)
    x, y, z = error[ORIENTATION], error[ORIENTATION + 1], error[ORIENTATION + 2]
    turn_world(s.orientation, quaternion_exp(0.5 * x, 0.5 * y, 0.5 * z))
    normalise(s.orientation, before)
    clear(error)
    mirror(s.error_covariance)


@kernel
def publish(s: NavigatorMemory) -> None:
    """Write the covariance to the fields common to all filters."""
    for j in range(3):
        s.gyro_bias_sigma[j] = sigma(s.error_covariance, GYRO_BIAS + j)
        for k in range(3):
            s.covariance[j][k] = s.error_covariance[ORIENTATION + j][ORIENTATION + k]
