"""Error-state model: preintegration of samples over a window, and prediction over it.

The nominal state is R (world from body), v (world), gyro bias b, accelerometer bias a and the
gyro's matrix of scale and misalignment M; the readings of the gyro are w, those of the
accelerometer f::

    rate = (I + M) w - b        acceleration = R (f - a) + g        g = (0, 0, -gravity)

Its error has the *right-invariant* form (A. Barrau, S. Bonnabel, "The invariant extended Kalman
filter as a stable observer", IEEE TAC 62(4), 2017), in world axes::

    R_true = Exp(phi) R         v_true = Exp(phi) v + xi

In this form the transition over a window needs no attitude, gravity couples tilt to velocity by
a constant, and heading stays exactly unobservable without a magnetometer. The error vector of
an estimator starts with these errors; further ones of the estimator follow, which are constant
over a window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Matrix, Record, Vector, filled, zeros
from strapdown.geometry.formulas import quaternion_exp, quaternion_multiply, quaternion_to_matrix
from strapdown.geometry.triples import scaled
from strapdown.geometry.vectors import add_to, clear, four, matrix_times, put_four, square, three
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import Four, Three

# Indices of the errors in the vector.
PHI: Final = 0  # of the attitude [rad, world]; heading is its z
XI: Final = 3  # of the velocity [m/s, world]
BIAS_ERROR: Final = 6  # of the gyro bias [rad/s, body]
ACCEL_ERROR: Final = 9  # of the accelerometer bias [m/s^2, body]
MATRIX_ERROR: Final = 12  # of the gyro matrix, row by row [-]
OWN_ERRORS: Final = 21  # first index of further errors of the estimator


# strapdown.inertial.preintegration is exact for readings that are constant between samples, but
# takes 1.2 us a sample. The attitude at the middle of the step takes 0.08 us. Over 20 samples in
# 0.1 s at 5 rad/s its errors are 3e-5 m/s, and 4e-4 of the derivative by the bias, far below the
# assumed noise of the accelerometer, 1.6e-2 m/s.
class Window(Record):
    """Samples preintegrated in world axes along the nominal attitude.

    The Jacobians of the velocity are those of dv until :func:`finish_window`, then those of xi.
    """

    span: float = 0.0  # length [s]
    turned: float = 0.0  # integral of the squared rate [rad^2/s]
    speed: Vector = filled(3)  # dv, integral of R (f - a) [m/s]
    j_bias: Matrix = zeros(3, 3)  # d phi / d b = d xi / d a = - integral of R [s]
    j_matrix: Matrix = zeros(3, 9)  # d phi / d M [rad]
    v_bias: Matrix = zeros(3, 3)  # d dv / d b, or d xi / d b [m]
    v_matrix: Matrix = zeros(3, 9)  # d dv / d M, or d xi / d M [m/s]


@kernel
def clear_window(window: Window) -> None:
    """Clear a window."""
    window.span = window.turned = 0.0
    clear(window.speed)
    for i in range(3):
        clear(window.j_bias[i])
        clear(window.j_matrix[i])
        clear(window.v_bias[i])
        clear(window.v_matrix[i])


@kernel
def corrected_turn(bias: Vector, matrix: Matrix, turn: Sequence[float], dt: float) -> Three:
    """Return (I + M) turn - b dt, the rotation corrected for the errors of the gyro."""
    x, y, z = turn[0], turn[1], turn[2]
    mx, my, mz = matrix[0], matrix[1], matrix[2]
    return (
        x + mx[0] * x + mx[1] * y + mx[2] * z - dt * bias[0],
        y + my[0] * x + my[1] * y + my[2] * z - dt * bias[1],
        z + mz[0] * x + mz[1] * y + mz[2] * z - dt * bias[2],
    )


@kernel
def extend_window(
    window: Window, orientation: Vector, turn: Three, reading: Three, force: Three, dt: float
) -> None:
    """Integrate one interval into the window, and turn the attitude by it.

    ``turn`` is the corrected rotation of the body [rad], ``reading`` the measured one,
    ``force`` the mean of f - a [m/s^2, body]. The attitude at the middle is used for the whole
    interval.
    """
    extend_by(window, orientation, turn, half_of(turn), reading, force, dt)


@kernel
def half_of(turn: Three) -> Four:
    """Return the quaternion of half a turn."""
    return quaternion_exp(0.25 * turn[0], 0.25 * turn[1], 0.25 * turn[2])


@kernel
def extend_by(
    window: Window,
    orientation: Vector,
    turn: Three,
    half: Four,
    reading: Three,
    force: Three,
    dt: float,
) -> None:
    """Integrate one interval, given the quaternion of half its rotation."""
    mid = quaternion_multiply(*four(orientation), *half)
    put_four(orientation, quaternion_multiply(*mid, *half))
    r = quaternion_to_matrix(*mid)
    u = matrix_times(r, scaled(force, dt))
    window.span += dt
    if dt > 0.0:
        window.turned += square(turn) / dt
    add_to(window.speed, u)
    extend_jacobians(window.j_bias, window.v_bias, 0, 1, -dt, r, u)
    for c in range(3):
        extend_jacobians(window.j_matrix, window.v_matrix, c, 3, reading[c], r, u)


@kernel
def extend_jacobians(
    j: Matrix, v: Matrix, first: int, apart: int, scale: float, r: Sequence[float], u: Three
) -> None:
    """Add to three columns: a scaled R to d phi, and d phi at the middle times u to d dv."""
    ux, uy, uz = u
    jx, jy, jz = j[0], j[1], j[2]
    vx, vy, vz = v[0], v[1], v[2]
    for i in range(3):
        k = first + apart * i
        dx, dy, dz = scale * r[i], scale * r[3 + i], scale * r[6 + i]
        px, py, pz = jx[k] + 0.5 * dx, jy[k] + 0.5 * dy, jz[k] + 0.5 * dz
        jx[k] += dx
        jy[k] += dy
        jz[k] += dz
        vx[k] += py * uz - pz * uy
        vy[k] += pz * ux - px * uz
        vz[k] += px * uy - py * ux


@kernel
def finish_window(window: Window, velocity: Vector) -> None:
    """Predict the velocity over the window, and convert the Jacobians of dv to those of xi.

    xi' = xi + gravity span (phi_y, -phi_x, 0) + v_bias db + j_bias da + v_matrix dM.
    """
    add_to(velocity, three(window.speed))
    velocity[2] -= STANDARD_GRAVITY * window.span
    v = three(velocity)
    relate_jacobian(window.j_bias, window.v_bias, v)
    relate_jacobian(window.j_matrix, window.v_matrix, v)


@kernel
def relate_jacobian(j: Matrix, v: Matrix, velocity: Three) -> None:
    """Subtract from d dv the rotation of the velocity itself: d phi times velocity."""
    x, y, z = velocity
    jx, jy, jz = j[0], j[1], j[2]
    vx, vy, vz = v[0], v[1], v[2]
    for k in range(len(jx)):
        px, py, pz = jx[k], jy[k], jz[k]
        vx[k] -= py * z - pz * y
        vy[k] -= pz * x - px * z
        vz[k] -= px * y - py * x


@kernel
def predict_covariance(covariance: Matrix, window: Window) -> None:
    """Replace P by F P F^T for a finished window.

    Only the first six rows of F differ from those of the identity.
    """
    multiply_rows(covariance, window)
    for i in range(6):
        row = covariance[i]
        carry(row, window)
        for k in range(i):
            row[k] = covariance[k][i]
    for i in range(6, len(covariance)):
        row = covariance[i]
        for k in range(6):
            row[k] = covariance[k][i]


@kernel
def multiply_rows(matrix: Matrix, window: Window) -> None:
    """Multiply a matrix by F from the left; it has a row for each error, of any length."""
    columns = range(len(matrix[0]))
    tilt = STANDARD_GRAVITY * window.span
    east, north = matrix[PHI], matrix[PHI + 1]
    xi_east, xi_north = matrix[XI], matrix[XI + 1]
    for k in columns:
        xi_east[k] += tilt * north[k]
        xi_north[k] -= tilt * east[k]
    for i in range(3):
        phi, xi = matrix[PHI + i], matrix[XI + i]
        j_bias, v_bias = window.j_bias[i], window.v_bias[i]
        for j in range(3):
            a, b = j_bias[j], v_bias[j]
            bias, accel = matrix[BIAS_ERROR + j], matrix[ACCEL_ERROR + j]
            for k in columns:
                phi[k] += a * bias[k]
                xi[k] += b * bias[k] + a * accel[k]
        j_matrix, v_matrix = window.j_matrix[i], window.v_matrix[i]
        for j in range(9):
            a, b = j_matrix[j], v_matrix[j]
            row = matrix[MATRIX_ERROR + j]
            for k in columns:
                phi[k] += a * row[k]
                xi[k] += b * row[k]


@kernel
def carry(error: Vector, window: Window) -> None:
    """Multiply a vector of errors by F."""
    tilt = STANDARD_GRAVITY * window.span
    error[XI] += tilt * error[PHI + 1]
    error[XI + 1] -= tilt * error[PHI]
    for i in range(3):
        phi, xi = 0.0, 0.0
        j_bias, v_bias = window.j_bias[i], window.v_bias[i]
        for j in range(3):
            a, bias = j_bias[j], error[BIAS_ERROR + j]
            phi += a * bias
            xi += v_bias[j] * bias + a * error[ACCEL_ERROR + j]
        j_matrix, v_matrix = window.j_matrix[i], window.v_matrix[i]
        for j in range(9):
            element = error[MATRIX_ERROR + j]
            phi += j_matrix[j] * element
            xi += v_matrix[j] * element
        error[PHI + i] += phi
        error[XI + i] += xi
