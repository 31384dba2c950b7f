"""Laws of motion, and the readings of a sensor on them: loops over rows, from one source.

A law fills the rows of a state at the instants ``t`` from its parameters; ``work`` is space for
its working rows. Compiled, a row is an array of floats, and the loops go from instant to instant.
As plain Python the loops run on rows of one element, which is the array of all instants. Both give
the same bits, for any number of instants at once: IEEE double, nothing but ``+ - * /``, square
roots and comparisons, in the written order. Loops with many sines have separate passes, which
the compiler turns into vector instructions.

=====  ============  ===========================================
rows   name          content
=====  ============  ===========================================
0-3    ATTITUDE      q_world_from_body, x y z w
4-6    RATE          angular velocity [rad/s, body]
7-9    TURN          angular acceleration [rad/s^2, body]
10-12  POSITION      [m, world]
13-15  VELOCITY      [m/s, world]
16-18  ACCELERATION  [m/s^2, world]
=====  ============  ===========================================

A row that a law does not fill is zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown._kernels.kernel import kernel
from strapdown.geometry.formulas import (
    quaternion_from_half_angles_zyx,
    quaternion_multiply,
    quaternion_rotate,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias, TypeVar

    from strapdown._typing import FloatArray

    Real = TypeVar("Real", float, FloatArray)
    Row: TypeAlias = Any  # of floats, or of one array
    Rows: TypeAlias = Any
    Parameters: TypeAlias = Any  # numbers and arrays, specific to each law
    Index: TypeAlias = Any  # a whole number, or an array of them

    law: Callable[..., None]  # those of the motion, bound when a loop is compiled

ATTITUDE: Final = 0
RATE: Final = 4
TURN: Final = 7
POSITION: Final = 10
VELOCITY: Final = 13
ACCELERATION: Final = 16
STATE: Final = 19
WORK: Final = 15  # rows: three angles, their two derivatives, sines and cosines
BLOCK: Final = 500  # instants; with a power of two, the rows would compete for the same cache lines

_HALF_EVEN = 6755399441055744.0  # added and taken away again, this rounds below 2^51
_PER_QUARTER = 0.6366197723675814
# a quarter turn in two parts; the products of the first are exact up to 2^23 quarters
_QUARTER, _QUARTER_REST = 1.570796325802803, 9.920935796805404e-10


# -- formulas --------------------------------------------------------------------------------


@kernel
def sine_cosine(angle: Real) -> tuple[Real, Real]:
    """Return sine and cosine, each within 2e-16 (of angles below 1e7 rad).

    The polynomials go through sin(x)/x and cos(x) at Chebyshev's points in x^2 up to an eighth
    of a turn, with errors below 2e-17.
    """
    quarters = (angle * _PER_QUARTER + _HALF_EVEN) - _HALF_EVEN
    x = (angle - quarters * _QUARTER) - quarters * _QUARTER_REST
    halves = (0.5 * quarters + _HALF_EVEN) - _HALF_EVEN
    odd = quarters - 2.0 * halves  # -1, 0 or 1
    flip = halves - 2.0 * ((0.5 * halves + _HALF_EVEN) - _HALF_EVEN)
    sign = 1.0 - 2.0 * (flip * flip)
    even, odd = sign * (1.0 - odd * odd), sign * odd
    z = x * x
    zz = z * z
    p = 2.755731610255244e-06 + z * -2.5051131845003624e-08 + zz * 1.5918129294866608e-10
    p = (0.008333333333330948 + z * -0.00019841269836758574) + zz * p
    sine = x + (x * z) * (-0.16666666666666666 + z * p)
    p = -2.7557317271729793e-07 + z * 2.08761462684032e-09 + zz * -1.1382632425521717e-11
    p = (-0.0013888888888887398 + z * 2.480158729876569e-05) + zz * p
    cosine = (1.0 - 0.5 * z) + zz * (0.041666666666666664 + z * p)
    return even * sine + odd * cosine, even * cosine - odd * sine


@kernel
def cross(ax: Real, ay: Real, az: Real, bx: Real, by: Real, bz: Real) -> tuple[Real, Real, Real]:
    """Return the vector product a x b."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@kernel
def lever_acceleration(
    rx: Real, ry: Real, rz: Real, tx: Real, ty: Real, tz: Real, ax: Real, ay: Real, az: Real
) -> tuple[Real, Real, Real]:
    """Return t x a + r x (r x a): the additional acceleration at the lever arm a.

    The body rotates at the rate r, with the angular acceleration t.
    """
    vx, vy, vz = cross(rx, ry, rz, ax, ay, az)
    tx, ty, tz = cross(tx, ty, tz, ax, ay, az)
    cx, cy, cz = cross(rx, ry, rz, vx, vy, vz)
    return tx + cx, ty + cy, tz + cz


@kernel
def polynomial(c: FloatArray, piece: Index, column: int, u: Real) -> tuple[Real, Real, Real]:
    """Return value, first and second derivative of one column of a quintic piece."""
    c0, c1, c2 = c[piece, 0, column], c[piece, 1, column], c[piece, 2, column]
    c3, c4, c5 = c[piece, 3, column], c[piece, 4, column], c[piece, 5, column]
    return (
        c0 + u * (c1 + u * (c2 + u * (c3 + u * (c4 + u * c5)))),
        c1 + u * (2.0 * c2 + u * (3.0 * c3 + u * (4.0 * c4 + u * (5.0 * c5)))),
        2.0 * c2 + u * (6.0 * c3 + u * (12.0 * c4 + u * (20.0 * c5))),
    )


# -- passes ----------------------------------------------------------------------------------


@kernel
def clear(row: Row, count: int) -> None:
    """Fill a row with zeros."""
    for i in range(count):
        row[i] = 0.0


@kernel
def waves(count: int, t: Row, rate: float, phase: float, sine: Row, cosine: Row) -> None:
    """Fill rows with sine and cosine of ``rate t + phase``."""
    for i in range(count):
        sine[i], cosine[i] = sine_cosine(rate * t[i] + phase)


@kernel
def add_sine(
    t: Row, amplitude: float, rate: float, phase: float, value: Row, first: Row, second: Row
) -> None:
    """Add a sine and its two derivatives to rows."""
    speed = amplitude * rate
    change = speed * rate
    for i in range(len(t)):
        sine, cosine = sine_cosine(rate * t[i] + phase)
        value[i] = value[i] + amplitude * sine
        first[i] = first[i] + speed * cosine
        second[i] = second[i] - change * sine


@kernel
def sum_sines(t: Row, sines: FloatArray, rows: Rows, at: int, at_1: int, at_2: int) -> None:
    """Fill three rows each with channels, their first and their second derivatives.

    ``sines`` (3, 3, M) are amplitudes, rates and phases of three channels.
    """
    for channel in range(3):
        value, first, second = rows[at + channel], rows[at_1 + channel], rows[at_2 + channel]
        clear(value, len(t))
        clear(first, len(t))
        clear(second, len(t))
        for m in range(sines.shape[2]):
            amplitude, rate, phase = (
                sines[0, channel, m],
                sines[1, channel, m],
                sines[2, channel, m],
            )
            add_sine(t, amplitude, rate, phase, value, first, second)


@kernel
def turn_by_angles(t: Row, work: Rows, state: Rows) -> None:
    """Fill attitude and its derivatives from roll, pitch and yaw (ZYX), and theirs, in ``work``.

    The angular velocity is the standard kinematic equation of the sequence yaw, pitch, roll; the
    angular acceleration is its time derivative term by term.
    """
    for angle in range(3):
        waves(len(t), work[angle], 0.5, 0.0, work[9 + angle], work[12 + angle])
    for i in range(len(t)):
        half_sin_roll, half_sin_pitch, half_sin_yaw = work[9][i], work[10][i], work[11][i]
        half_cos_roll, half_cos_pitch, half_cos_yaw = work[12][i], work[13][i], work[14][i]
        sin_roll = 2.0 * half_sin_roll * half_cos_roll
        sin_pitch = 2.0 * half_sin_pitch * half_cos_pitch
        cos_roll = 2.0 * (half_cos_roll * half_cos_roll) - 1.0
        cos_pitch = 2.0 * (half_cos_pitch * half_cos_pitch) - 1.0
        roll_1, pitch_1, yaw_1 = work[3][i], work[4][i], work[5][i]
        roll_2, pitch_2, yaw_2 = work[6][i], work[7][i], work[8][i]
        # the rate and acceleration of yaw about the axes that pitch has turned: -sine ahead,
        # cosine up
        ahead, up = -yaw_1 * sin_pitch, yaw_1 * cos_pitch
        ahead_1 = -yaw_2 * sin_pitch - up * pitch_1
        up_1 = yaw_2 * cos_pitch + ahead * pitch_1
        left = pitch_1 * cos_roll + up * sin_roll
        top = up * cos_roll - pitch_1 * sin_roll
        x, y, z, w = quaternion_from_half_angles_zyx(
            half_sin_roll, half_cos_roll, half_sin_pitch, half_cos_pitch, half_sin_yaw, half_cos_yaw
        )
        state[ATTITUDE][i] = x
        state[ATTITUDE + 1][i] = y
        state[ATTITUDE + 2][i] = z
        state[ATTITUDE + 3][i] = w
        state[RATE][i] = roll_1 + ahead
        state[RATE + 1][i] = left
        state[RATE + 2][i] = top
        state[TURN][i] = roll_2 + ahead_1
        state[TURN + 1][i] = pitch_2 * cos_roll + up_1 * sin_roll + top * roll_1
        state[TURN + 2][i] = up_1 * cos_roll - pitch_2 * sin_roll - left * roll_1


@kernel
def turn_about(
    i: int, q: Rows, axis: Rows, angle: Real, rate: Real, acceleration: Real, state: Rows
) -> None:
    """Fill attitude and its derivatives from a turn about an axis of the body that is fixed."""
    sine, cosine = sine_cosine(0.5 * angle)
    x, y, z, w = quaternion_multiply(
        q[0], q[1], q[2], q[3], axis[0] * sine, axis[1] * sine, axis[2] * sine, cosine
    )
    state[ATTITUDE][i] = x
    state[ATTITUDE + 1][i] = y
    state[ATTITUDE + 2][i] = z
    state[ATTITUDE + 3][i] = w
    for k in range(3):
        state[RATE + k][i] = axis[k] * rate
        state[TURN + k][i] = axis[k] * acceleration


# -- laws ------------------------------------------------------------------------------------


@kernel
def static(t: Row, parameters: Parameters, work: Rows, state: Rows) -> None:  # noqa: ARG001 (as every law)
    (q,) = parameters
    for i in range(len(t)):
        for k in range(4):
            state[ATTITUDE + k][i] = q[k]


@kernel
def free_fall(t: Row, parameters: Parameters, work: Rows, state: Rows) -> None:  # noqa: ARG001 (as every law)
    start, gravity = parameters
    for i in range(len(t)):
        state[ATTITUDE + 3][i] = 1.0
        for k in range(3):
            state[POSITION + k][i] = (start[k] + 0.5 * gravity[k] * t[i]) * t[i]
            state[VELOCITY + k][i] = start[k] + gravity[k] * t[i]
            state[ACCELERATION + k][i] = gravity[k]


@kernel
def spin(t: Row, parameters: Parameters, work: Rows, state: Rows) -> None:  # noqa: ARG001 (as every law)
    q, axis, rate = parameters
    for i in range(len(t)):
        turn_about(i, q, axis, rate * t[i], rate, 0.0, state)


@kernel
def circle(t: Row, parameters: Parameters, work: Rows, state: Rows) -> None:
    radius, speed, climb, rate = parameters
    waves(len(t), t, rate, 0.0, work[0], work[1])
    waves(len(t), t, 0.5 * rate, math.pi / 4.0, work[2], work[3])
    inward = -speed * rate
    for i in range(len(t)):
        sine, cosine = work[0][i], work[1][i]
        state[ATTITUDE + 2][i] = work[2][i]
        state[ATTITUDE + 3][i] = work[3][i]
        state[RATE + 2][i] = rate
        state[POSITION][i] = radius * cosine
        state[POSITION + 1][i] = radius * sine
        state[POSITION + 2][i] = climb * t[i]
        state[VELOCITY][i] = -speed * sine
        state[VELOCITY + 1][i] = speed * cosine
        state[VELOCITY + 2][i] = climb
        state[ACCELERATION][i] = inward * cosine
        state[ACCELERATION + 1][i] = inward * sine


@kernel
def coning(t: Row, parameters: Parameters, work: Rows, state: Rows) -> None:
    half_sine, half_cosine, rate, tilt_rate, spin_rate = parameters
    waves(len(t), t, rate, 0.0, work[0], work[1])
    turn = -rate * tilt_rate
    for i in range(len(t)):
        sine, cosine = work[0][i], work[1][i]
        state[ATTITUDE][i] = half_sine * cosine
        state[ATTITUDE + 1][i] = half_sine * sine
        state[ATTITUDE + 3][i] = half_cosine
        state[RATE][i] = -tilt_rate * sine
        state[RATE + 1][i] = tilt_rate * cosine
        state[RATE + 2][i] = spin_rate
        state[TURN][i] = turn * cosine
        state[TURN + 1][i] = turn * sine


@kernel
def multi_sine(t: Row, parameters: Parameters, work: Rows, state: Rows) -> None:
    position, roll_pitch_yaw = parameters
    sum_sines(t, position, state, POSITION, VELOCITY, ACCELERATION)
    sum_sines(t, roll_pitch_yaw, work, 0, 3, 6)
    turn_by_angles(t, work, state)


@kernel
def chirp(t: Row, parameters: Parameters, work: Rows, state: Rows) -> None:
    displacement, tilt, start, growth = parameters
    for i in range(len(t)):
        work[0][i] = (start + 0.5 * growth * t[i]) * t[i]
    waves(len(t), work[0], 1.0, 0.0, work[9], work[10])
    for i in range(len(t)):
        sine, cosine, rate = work[9][i], work[10][i], start + growth * t[i]
        first, second = rate * cosine, growth * cosine - (rate * rate) * sine
        for k in range(3):
            state[POSITION + k][i] = displacement[k] * sine
            state[VELOCITY + k][i] = displacement[k] * first
            state[ACCELERATION + k][i] = displacement[k] * second
            work[k][i] = tilt[k] * sine
            work[3 + k][i] = tilt[k] * first
            work[6 + k][i] = tilt[k] * second
    turn_by_angles(t, work, state)


@kernel
def sculling(t: Row, parameters: Parameters, work: Rows, state: Rows) -> None:
    shake, axis, swing, rate, rise = parameters
    sum_sines(t, shake, state, POSITION, VELOCITY, ACCELERATION)
    waves(len(t), t, rate, 0.0, work[0], work[1])
    for i in range(len(t)):
        state[POSITION + 2][i] = state[POSITION + 2][i] + 0.5 * rise * (t[i] * t[i])
        state[VELOCITY + 2][i] = state[VELOCITY + 2][i] + rise * t[i]
        state[ACCELERATION + 2][i] = state[ACCELERATION + 2][i] + rise
        roll, roll_1 = swing * work[0][i], swing * rate * work[1][i]
        roll_2 = -swing * (rate * rate) * work[0][i]
        turn_about(i, (0.0, 0.0, 0.0, 1.0), axis, roll, roll_1, roll_2, state)


@kernel
def turns(t: Row, parameters: Parameters, work: Rows, state: Rows) -> None:  # noqa: ARG001 (as every law)
    """Turn about one axis in each piece: ``per_turn`` pieces share attitude at zero and axis."""
    starts, coefficients, q, axes, per_turn = parameters
    changes = starts[1:]
    for i in range(len(t)):
        piece = np.searchsorted(changes, t[i], side="right")
        time = t[i] - starts[piece]
        half_second, first, value = 0.0 * time, 0.0 * time, 0.0 * time
        for k in range(coefficients.shape[1] - 1, -1, -1):  # Horner's rule, differentiated
            half_second = half_second * time + first
            first = first * time + value
            value = value * time + coefficients[piece, k]
        row = piece // per_turn
        start = q[0, row], q[1, row], q[2, row], q[3, row]
        axis = axes[0, row], axes[1, row], axes[2, row]
        turn_about(i, start, axis, value, first, 2.0 * half_second, state)


@kernel
def pose_spline(t: Row, parameters: Parameters, work: Rows, state: Rows) -> None:  # noqa: ARG001 (as every law)
    """Follow pieces (B, 6, 7): coefficients of u^0 to u^5 for x y z and a quaternion Q.

    With q = Q/|Q|, rates follow from Q* Q' and Q* Q''.
    """
    breaks, c = parameters
    changes = breaks[1:-1]
    for i in range(len(t)):
        piece = np.searchsorted(changes, t[i], side="right")
        u = t[i] - breaks[piece]
        for axis in range(3):
            value, first, second = polynomial(c, piece, axis, u)
            state[POSITION + axis][i] = value
            state[VELOCITY + axis][i] = first
            state[ACCELERATION + axis][i] = second
        x, x1, x2 = polynomial(c, piece, 3, u)
        y, y1, y2 = polynomial(c, piece, 4, u)
        z, z1, z2 = polynomial(c, piece, 5, u)
        w, w1, w2 = polynomial(c, piece, 6, u)
        square = x * x + y * y + z * z + w * w
        twice, length = 2.0 / square, np.sqrt(square)
        state[ATTITUDE][i] = x / length
        state[ATTITUDE + 1][i] = y / length
        state[ATTITUDE + 2][i] = z / length
        state[ATTITUDE + 3][i] = w / length
        ax, ay, az, growth = quaternion_multiply(-x, -y, -z, w, x1, y1, z1, w1)
        bx, by, bz, _ = quaternion_multiply(-x, -y, -z, w, x2, y2, z2, w2)
        for axis, a, b in ((0, ax, bx), (1, ay, by), (2, az, bz)):
            rate = twice * a
            state[RATE + axis][i] = rate
            state[TURN + axis][i] = twice * b - rate * (twice * growth)


# -- readings of a sensor --------------------------------------------------------------------


@kernel
def turned_back(q: Row, x: Real, y: Real, z: Real) -> tuple[Real, Real, Real]:
    """Return a vector in the axes of a sensor from those of its mounting."""
    return quaternion_rotate(-q[0], -q[1], -q[2], q[3], x, y, z)


@kernel
def feel(count: int, mount: Parameters, state: Rows, rates: Rows, forces: Rows) -> None:
    """Fill the readings of gyro and accelerometer, in the axes of each; the world does not rotate.

    ``mount`` holds the lever arms of the axes of the accelerometer (1 or 3, 3), the attitudes of
    gyro and accelerometer, and gravity.
    """
    arms, q_gyro, q_accel, gravity = mount
    for i in range(count):
        rx, ry, rz = state[RATE][i], state[RATE + 1][i], state[RATE + 2][i]
        rates[0][i], rates[1][i], rates[2][i] = turned_back(q_gyro, rx, ry, rz)
        qx, qy, qz, qw = state[0][i], state[1][i], state[2][i], state[3][i]
        for place in range(len(arms)):
            x, y, z = state[ACCELERATION][i], state[ACCELERATION + 1][i], state[ACCELERATION + 2][i]
            ax, ay, az = arms[place, 0], arms[place, 1], arms[place, 2]
            if ax != 0.0 or ay != 0.0 or az != 0.0:
                tx, ty, tz = state[TURN][i], state[TURN + 1][i], state[TURN + 2][i]
                cx, cy, cz = lever_acceleration(rx, ry, rz, tx, ty, tz, ax, ay, az)
                cx, cy, cz = quaternion_rotate(qx, qy, qz, qw, cx, cy, cz)
                x, y, z = x + cx, y + cy, z + cz
            x, y, z = quaternion_rotate(
                -qx, -qy, -qz, qw, x - gravity[0], y - gravity[1], z - gravity[2]
            )
            x, y, z = turned_back(q_accel, x, y, z)
            if place == 0:
                forces[0][i], forces[1][i], forces[2][i] = x, y, z
            elif place == 1:
                forces[1][i] = y
            else:
                forces[2][i] = z


@kernel
def carry(count: int, place: Parameters, state: Rows, out: Rows) -> None:
    """Fill attitude, position and velocity (10 rows) of a sensor.

    ``place`` is its lever arm and its attitude on the body.
    """
    arm, q_body_from_sensor = place
    ax, ay, az = arm[0], arm[1], arm[2]
    for i in range(count):
        qx, qy, qz, qw = state[0][i], state[1][i], state[2][i], state[3][i]
        out[0][i], out[1][i], out[2][i], out[3][i] = quaternion_multiply(
            qx,
            qy,
            qz,
            qw,
            q_body_from_sensor[0],
            q_body_from_sensor[1],
            q_body_from_sensor[2],
            q_body_from_sensor[3],
        )
        px, py, pz = state[POSITION][i], state[POSITION + 1][i], state[POSITION + 2][i]
        vx, vy, vz = state[VELOCITY][i], state[VELOCITY + 1][i], state[VELOCITY + 2][i]
        if ax != 0.0 or ay != 0.0 or az != 0.0:
            dx, dy, dz = quaternion_rotate(qx, qy, qz, qw, ax, ay, az)
            px, py, pz = px + dx, py + dy, pz + dz
            dx, dy, dz = cross(state[RATE][i], state[RATE + 1][i], state[RATE + 2][i], ax, ay, az)
            dx, dy, dz = quaternion_rotate(qx, qy, qz, qw, dx, dy, dz)
            vx, vy, vz = vx + dx, vy + dy, vz + dz
        out[4][i], out[5][i], out[6][i] = px, py, pz
        out[7][i], out[8][i], out[9][i] = vx, vy, vz


# -- loops, meant to be compiled -------------------------------------------------------------


@kernel
def evaluate(
    t_s: FloatArray, parameters: Parameters, work: FloatArray, state: FloatArray, out: FloatArray
) -> None:
    """Fill a state (19, N), block by block; ``work`` and ``state`` are buffers for a block."""
    for first in range(0, len(t_s), BLOCK):
        t = t_s[first : first + BLOCK]
        law(t, parameters, work, state)  # noqa: F821 (bound when the loop is compiled)
        for k in range(STATE):
            copy(state[k], out[k], first, len(t))


@kernel
def evaluate_inputs(
    t_s: FloatArray,
    parameters: Parameters,
    mount: Parameters,
    work: FloatArray,
    state: FloatArray,
    out: FloatArray,
) -> None:
    """Fill the readings of gyro and accelerometer (6, N), block by block."""
    for first in range(0, len(t_s), BLOCK):
        t = t_s[first : first + BLOCK]
        law(t, parameters, work, state)  # noqa: F821 (bound when the loop is compiled)
        feel(len(t), mount, state, work[:3], work[3:6])
        for k in range(6):
            copy(work[k], out[k], first, len(t))


@kernel
def evaluate_poses(
    t_s: FloatArray,
    parameters: Parameters,
    place: Parameters,
    work: FloatArray,
    state: FloatArray,
    out: FloatArray,
) -> None:
    """Fill attitude, position and velocity of a sensor (10, N), block by block."""
    for first in range(0, len(t_s), BLOCK):
        t = t_s[first : first + BLOCK]
        law(t, parameters, work, state)  # noqa: F821 (bound when the loop is compiled)
        carry(len(t), place, state, work)
        for k in range(10):
            copy(work[k], out[k], first, len(t))


@kernel
def copy(row: FloatArray, out: FloatArray, first: int, count: int) -> None:
    """Store a row in the result."""
    for i in range(count):
        out[first + i] = row[i]
