"""The error-state model of the flagship estimators: a window of samples, prediction, update.

The nominal state is R (world from body), v (world), gyro bias b, accelerometer bias a and the
gyro's matrix of scale and misalignment M; what the gyro reads is w, what the accelerometer
reads f::

    rate = (I + M) w - b        acceleration = R (f - a) + g        g = (0, 0, -gravity)

Its error has the *right-invariant* form (A. Barrau, S. Bonnabel, "The invariant extended Kalman
filter as a stable observer", IEEE TAC 62(4), 2017), in world axes:

======  ==========  =====================================================================
error   name        meaning
======  ==========  =====================================================================
0-2     PHI         R_true = Exp(phi) R [rad, world]; heading is its z
3-5     XI          v_true = Exp(phi) v + xi [m/s, world]
6-8     BIAS_ERROR  b_true - b [rad/s, body]
9-11    ACCEL       a_true - a [m/s^2, body]
12-20   MATRIX      M_true - M, row by row [-]
21...   OTHERS      the estimator's own (magnetic field); constant in the prediction
======  ==========  =====================================================================

In this form the transition over a window needs no attitude, gravity couples tilt to velocity by
a constant, and heading stays exactly unobservable without a magnetometer.

Over a window the samples are preintegrated in world axes along the nominal attitude. All
vectors lie in one flat array; ``at``, ``p``, ... are the places where they begin:

======  =========  =======================================================================
window  name       holds
======  =========  =======================================================================
0       SPAN       length [s]
1       TURNED     integral of the squared rate [rad^2/s]
2-4     SPEED      dv, integral of R (f - a) [m/s, world]
5-13    J_BIAS     d phi / d b = d xi / d a = - integral of R, row by row [s]
14-40   J_MATRIX   d phi / d M, 3x9 row by row [rad]
41-49   V_BIAS     d dv / d b, 3x3 row by row [m]
50-76   V_MATRIX   d dv / d M, 3x9 row by row [m/s]
======  =========  =======================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown.geometry._kernels import quaternion_exp, quaternion_multiply, quaternion_to_matrix

if TYPE_CHECKING:
    from strapdown._typing import FloatArray

BORROWS = True

PHI: Final = 0
XI: Final = 3
BIAS_ERROR: Final = 6
ACCEL: Final = 9
MATRIX: Final = 12
OTHERS: Final = 21

SPAN: Final = 0
TURNED: Final = 1
SPEED: Final = 2
J_BIAS: Final = 5
J_MATRIX: Final = 14
V_BIAS: Final = 41
V_MATRIX: Final = 50
WINDOW: Final = 77


def clear_window(x: FloatArray, at: int) -> None:
    """Begin a window."""
    for i in range(at, at + WINDOW):
        x[i] = 0.0


def corrected_turn(
    x: FloatArray, bias: int, matrix: int, turn_x: float, turn_y: float, turn_z: float, dt: float
) -> tuple[float, float, float]:
    """Return (I + M) turn - b dt, the turn without what is known of the gyro's errors."""
    return (
        turn_x
        + x[matrix] * turn_x
        + x[matrix + 1] * turn_y
        + x[matrix + 2] * turn_z
        - dt * x[bias],
        turn_y
        + x[matrix + 3] * turn_x
        + x[matrix + 4] * turn_y
        + x[matrix + 5] * turn_z
        - dt * x[bias + 1],
        turn_z
        + x[matrix + 6] * turn_x
        + x[matrix + 7] * turn_y
        + x[matrix + 8] * turn_z
        - dt * x[bias + 2],
    )


def extend_window(
    x: FloatArray,
    at: int,
    q: int,
    turn: tuple[float, float, float],
    reading: tuple[float, float, float],
    force: tuple[float, float, float],
    dt: float,
) -> None:
    """Integrate one interval into the window, and turn the attitude at ``q`` by it.

    ``turn`` is the corrected turn of the body [rad], ``reading`` what the gyro read of it,
    ``force`` the mean of f - a [m/s^2, body]. The attitude half way stands for the interval.
    """
    tx, ty, tz = turn
    half = quaternion_exp(0.25 * tx, 0.25 * ty, 0.25 * tz)
    mid = quaternion_multiply(x[q], x[q + 1], x[q + 2], x[q + 3], *half)
    x[q], x[q + 1], x[q + 2], x[q + 3] = quaternion_multiply(*mid, *half)
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = quaternion_to_matrix(*mid)
    fx, fy, fz = force[0] * dt, force[1] * dt, force[2] * dt
    ux = r00 * fx + r01 * fy + r02 * fz
    uy = r10 * fx + r11 * fy + r12 * fz
    uz = r20 * fx + r21 * fy + r22 * fz
    x[at + SPAN] += dt
    if dt > 0.0:
        x[at + TURNED] += (tx * tx + ty * ty + tz * tz) / dt
    x[at + SPEED] += ux
    x[at + SPEED + 1] += uy
    x[at + SPEED + 2] += uz
    j, v = at + J_BIAS, at + V_BIAS
    extend_column(x, j, v, 3, -dt * r00, -dt * r10, -dt * r20, ux, uy, uz)
    extend_column(x, j + 1, v + 1, 3, -dt * r01, -dt * r11, -dt * r21, ux, uy, uz)
    extend_column(x, j + 2, v + 2, 3, -dt * r02, -dt * r12, -dt * r22, ux, uy, uz)
    j, v = at + J_MATRIX, at + V_MATRIX
    for c in range(3):
        g = reading[c]
        extend_column(x, j + c, v + c, 9, g * r00, g * r10, g * r20, ux, uy, uz)
        extend_column(x, j + 3 + c, v + 3 + c, 9, g * r01, g * r11, g * r21, ux, uy, uz)
        extend_column(x, j + 6 + c, v + 6 + c, 9, g * r02, g * r12, g * r22, ux, uy, uz)


def extend_column(
    x: FloatArray,
    j: int,
    v: int,
    stride: int,
    dx: float,
    dy: float,
    dz: float,
    ux: float,
    uy: float,
    uz: float,
) -> None:
    """Add to one column of the Jacobians: phi by d, dv by phi half way times u."""
    px, py, pz = x[j] + 0.5 * dx, x[j + stride] + 0.5 * dy, x[j + 2 * stride] + 0.5 * dz
    x[j] += dx
    x[j + stride] += dy
    x[j + 2 * stride] += dz
    x[v] += py * uz - pz * uy
    x[v + stride] += pz * ux - px * uz
    x[v + 2 * stride] += px * uy - py * ux


def finish_window(x: FloatArray, at: int, v: int, gravity: float) -> None:
    """Move the velocity at ``v`` on, and make V_BIAS and V_MATRIX those of xi.

    xi' = xi + gravity SPAN (phi_y, -phi_x, 0) + V_BIAS db + J_BIAS da + V_MATRIX dM.
    """
    vx = x[v] + x[at + SPEED]
    vy = x[v + 1] + x[at + SPEED + 1]
    vz = x[v + 2] + x[at + SPEED + 2] - gravity * x[at + SPAN]
    x[v], x[v + 1], x[v + 2] = vx, vy, vz
    for k in range(3):
        relate_column(x, at + J_BIAS + k, at + V_BIAS + k, 3, vx, vy, vz)
    for k in range(9):
        relate_column(x, at + J_MATRIX + k, at + V_MATRIX + k, 9, vx, vy, vz)


def relate_column(
    x: FloatArray, j: int, v: int, stride: int, vx: float, vy: float, vz: float
) -> None:
    """Take from d dv what the turn of the velocity itself explains: d phi times v."""
    px, py, pz = x[j], x[j + stride], x[j + 2 * stride]
    x[v] -= py * vz - pz * vy
    x[v + stride] -= pz * vx - px * vz
    x[v + 2 * stride] -= px * vy - py * vx


def predict_covariance(x: FloatArray, p: int, n: int, at: int, gravity: float) -> None:
    """P becomes F P F^T over a finished window; P is n x n at ``p``, row by row.

    Only the first six rows of F differ from those of the identity.
    """
    tilt = gravity * x[at + SPAN]
    multiply_rows(x, p, n, at, tilt)
    multiply_columns(x, p, n, at, tilt)
    for r in range(6):
        for k in range(r + 1, n):
            x[p + k * n + r] = x[p + r * n + k]


def multiply_rows(x: FloatArray, p: int, n: int, at: int, tilt: float) -> None:
    """Write F P to the first six rows of P."""
    for k in range(n):
        x[p + 3 * n + k] += tilt * x[p + n + k]
        x[p + 4 * n + k] -= tilt * x[p + k]
    for i in range(3):
        phi, xi = p + i * n, p + (XI + i) * n
        for j in range(3):
            a, b = x[at + J_BIAS + 3 * i + j], x[at + V_BIAS + 3 * i + j]
            bias, accel = p + (BIAS_ERROR + j) * n, p + (ACCEL + j) * n
            for k in range(n):
                x[phi + k] += a * x[bias + k]
                x[xi + k] += b * x[bias + k] + a * x[accel + k]
        for j in range(9):
            a, b = x[at + J_MATRIX + 9 * i + j], x[at + V_MATRIX + 9 * i + j]
            row = p + (MATRIX + j) * n
            for k in range(n):
                x[phi + k] += a * x[row + k]
                x[xi + k] += b * x[row + k]


def multiply_columns(x: FloatArray, p: int, n: int, at: int, tilt: float) -> None:
    """Write P F^T to the first six columns of the first six rows of P."""
    for r in range(6):
        row = p + r * n
        x[row + 3] += tilt * x[row + 1]
        x[row + 4] -= tilt * x[row]
        for i in range(3):
            phi, xi = 0.0, 0.0
            for j in range(3):
                a, bias = x[at + J_BIAS + 3 * i + j], x[row + BIAS_ERROR + j]
                phi += a * bias
                xi += x[at + V_BIAS + 3 * i + j] * bias + a * x[row + ACCEL + j]
            for j in range(9):
                phi += x[at + J_MATRIX + 9 * i + j] * x[row + MATRIX + j]
                xi += x[at + V_MATRIX + 9 * i + j] * x[row + MATRIX + j]
            x[row + i] += phi
            x[row + XI + i] += xi


def project(x: FloatArray, p: int, n: int, c: int, i: int, h: float) -> None:
    """Add h times row i of P to the vector at ``c``: one entry of P H^T for one of H."""
    row = p + i * n
    for k in range(n):
        x[c + k] += h * x[row + k]


def clear(x: FloatArray, at: int, n: int) -> None:
    for i in range(at, at + n):
        x[i] = 0.0


def update(
    x: FloatArray, p: int, n: int, e: int, c: int, k: int, residual: float, s: float
) -> None:
    """Take in one scalar: the error at ``e`` moves by K residual, P shrinks.

    The vector at ``c`` is P H^T, at ``k`` the gain K, ``s`` = H P H^T + R, and ``residual`` what
    the error so far does not explain. Joseph's form holds for any gain: an entry of K that was
    set to zero *considers* that state, uncertain but not moved (S. Schmidt, 1966).
    """
    for i in range(n):
        ki, ci = x[k + i], x[c + i]
        x[e + i] += ki * residual
        row = p + i * n
        for j in range(n):
            x[row + j] -= ki * (x[c + j] - s * x[k + j]) + ci * x[k + j]
