"""Preintegration, one sample at a time.

Each sample ends a step with a turn (rotation vector) and a push (integral of the specific force
in the turning axes of the body). The motion since the start is kept in the body axes there, with
how it changes with biases, scale and misalignment, and with the covariance of its error (C.
Forster, L. Carlone, F. Dellaert, D. Scaramuzza, "On-manifold preintegration for real-time
visual-inertial odometry", IEEE Transactions on Robotics 33(1), 2017). Errors are a rotation,
then velocity and position; all are kept in the axes of the start (true = Exp(error) estimate), in
which a step leaves the error of the rotation as it is.

======  ==========  ======================================================================
state   name        holds
======  ==========  ======================================================================
0-3     Q           orientation since the start, x y z w
4-6     V           integral of the specific force [m/s]
7-9     P           its double integral [m]
10-18   RATES       the last three angular velocities, newest first [rad/s]
19-27   FORCES      the same of specific force [m/s^2]
28-162  JACOBIAN    9 x 15 by rows: of the errors by gyro bias, accelerometer bias and M
163...  COVARIANCE  15 x 15 by rows: of the errors, gyro bias, accelerometer bias
======  ==========  ======================================================================
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown.geometry._kernels import (
    quaternion_multiply,
)
from strapdown.integration._kernels import (
    RATE,
    ZERO,
    Vector,
    add,
    integral,
    is_uneven,
    quadrature_weights,
)
from strapdown.integration.navigation._kernels import (
    Quaternion,
    cross,
    plus,
    scaled,
)
from strapdown.integration.preintegration.way._kernels import Input, Way, by_input, dot, times, way

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

INLINE = True
BORROWS = True

# How samples become steps.
TRAPEZOID: Final = 0
AM4: Final = 1
MEAN: Final = 2
EULER: Final = 3

FASTEST: Final = 1e4  # rad/s: what is beyond measured nothing
STRONGEST: Final = 1e5  # m/s^2

Q: Final = 0
V: Final = 4
P: Final = 7
RATES: Final = 10
FORCES: Final = 19
JACOBIAN: Final = 28
COVARIANCE: Final = 163
FRESH: Final = (0.0, 0.0, 0.0, 1.0, *[0.0] * (COVARIANCE + 225 - 4))

# The account: stamps and spacings [ns], and what became of samples.
NOW: Final = 0
START: Final = 1
H1: Final = 2
H2: Final = 3
STEPS: Final = 4
UNUSABLE: Final = 5
REPEATED: Final = 6
BACKWARD: Final = 7
GAPS: Final = 8
LONGEST: Final = 9
BRIDGED: Final = 10
NEVER: Final = -(2**63)
FRESH_ACCOUNT: Final = (0, NEVER, *[0] * (BRIDGED - START))

# The settings.
CORRECTION: Final = 0  # I + M, row by row
GYRO_BIAS: Final = 9
ACCEL_BIAS: Final = 12
GYRO_NOISE: Final = 15  # spectral densities [rad^2/s], [m^2/s^3]
ACCEL_NOISE: Final = 18
GYRO_WALK: Final = 21  # [rad^2/s^3], [m^2/s^5]
ACCEL_WALK: Final = 24
QUADRATURE: Final = 27
MAX_GAP_NS: Final = 28

WIDTH: Final = 15  # columns of Jacobian and covariance
BY_GYRO_BIAS: Final = 0  # columns of the Jacobian; of the first two, nine on, rows of covariance
BY_ACCEL_BIAS: Final = 3
BY_SCALE: Final = 6


class Line(NamedTuple):
    """The samples at both ends of a step, and the weight of their products (0: no line)."""

    raw0: Vector
    raw1: Vector
    w0: Vector
    w1: Vector
    f0: Vector
    f1: Vector
    weight: float


def run(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    t_ns: IntArray,
    w: FloatArray,
    f: FloatArray,
) -> None:
    """Take every sample."""
    for i in range(len(t_ns)):
        step(
            state, account, settings, t_ns[i],
            w[i, 0], w[i, 1], w[i, 2], f[i, 0], f[i, 1], f[i, 2],
        )  # fmt: skip


def step(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    t_ns: int,
    wx: float,
    wy: float,
    wz: float,
    fx: float,
    fy: float,
    fz: float,
) -> None:
    """Take one sample: what is unusable or not later than the last is counted and left out."""
    w, f = (wx, wy, wz), (fx, fy, fz)
    if not (is_within(w, FASTEST) and is_within(f, STRONGEST)):
        account[UNUSABLE] += 1
        return
    if account[START] == NEVER:
        account[START] = account[NOW] = t_ns
        remember(state, account, w, f, 0)
        return
    h_ns = t_ns - account[NOW]
    if h_ns <= 0:
        account[REPEATED if h_ns == 0 else BACKWARD] += 1
        return
    is_gap = h_ns > settings[MAX_GAP_NS]
    take(state, account, settings, w, f, h_ns, is_gap)
    account[STEPS] += 1
    account[NOW] = t_ns
    if is_gap:
        account[GAPS] += 1
        account[LONGEST] = max(account[LONGEST], h_ns)
        account[BRIDGED] += h_ns
    remember(state, account, w, f, 0 if is_gap else h_ns)


def take(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    w: Vector,
    f: Vector,
    h_ns: int,
    is_gap: bool,
) -> None:
    """Add the step that a sample ends."""
    h, kind = h_ns * 1e-9, settings[QUADRATURE]
    raw_w, raw_f = three(state, RATES), three(state, FORCES)
    w0, f0 = corrected(settings, raw_w, raw_f, 1.0)
    w1, f1 = corrected(settings, w, f, 1.0)
    raw_turn, push = integrals(state, account, kind, w, f, h_ns)
    turn, push = corrected(settings, raw_turn, push, h)
    line, change = 0.0, ZERO
    if kind <= AM4 and not is_gap:
        # what a straight line between samples adds to the integrals: coning and sculling
        line = h * h / 12.0
        turn = plus(turn, cross(w0, w1), line)
        push = plus(push, add(cross(w0, f1), cross(f0, w1)), line)
        change = scaled(plus(f1, f0, -1.0), h)
    s = way(orientation(state), turn, push, change, h, kind == EULER)
    ends = Line(raw_w, w, w0, w1, f0, f1, line)
    gyro, accel = by_biases(s, ends)
    lead_jacobian(state, s, gyro, accel)
    add_scales(state, s, raw_turn, ends)
    lead_covariance(state, settings, s, gyro, accel)
    angle_noise, push_noise = 0.0, 0.0
    if is_gap:
        # a gap is lost information, not a known rotation
        angle_noise = length(turn)
        push_noise = 0.5 * (length(push) * min(1.0, angle_noise) + h * length(plus(f1, f0, -1.0)))
    add_noise(state, settings, s, angle_noise * angle_noise, push_noise * push_noise)
    move(state, s)


def integrals(
    state: FloatArray, account: IntArray, kind: float, w: Vector, f: Vector, h_ns: int
) -> tuple[Vector, Vector]:
    """Return the integrals of rate and specific force over the step that samples end."""
    h = h_ns * 1e-9
    if kind >= MEAN:
        return scaled(w, h), scaled(f, h)
    h1, h2 = account[H1], account[H2]
    if kind == TRAPEZOID or is_uneven(h_ns, h1, h2):
        h1, h2 = 0, 0
    weights = quadrature_weights(h, h1 * 1e-9, h2 * 1e-9)
    return (
        integral(RATE, h, weights, w, three(state, RATES), three(state, RATES + 3),
                 three(state, RATES + 6)),
        integral(RATE, h, weights, f, three(state, FORCES), three(state, FORCES + 3),
                 three(state, FORCES + 6)),
    )  # fmt: skip


def corrected(settings: FloatArray, w: Vector, f: Vector, h: float) -> tuple[Vector, Vector]:
    """Return rates and specific force times h less biases, and with scale and misalignment."""
    c = CORRECTION
    turn = (
        dot(three(settings, c), w), dot(three(settings, c + 3), w), dot(three(settings, c + 6), w)
    )  # fmt: skip
    return plus(turn, three(settings, GYRO_BIAS), -h), plus(f, three(settings, ACCEL_BIAS), -h)


def remember(state: FloatArray, account: IntArray, w: Vector, f: Vector, h_ns: int) -> None:
    """Put samples in front of the history; a spacing of 0 forgets what lies before it."""
    for i in range(5, -1, -1):
        state[RATES + 3 + i] = state[RATES + i]
        state[FORCES + 3 + i] = state[FORCES + i]
    for i in range(3):
        state[RATES + i], state[FORCES + i] = w[i], f[i]
    account[H2] = account[H1] if h_ns > 0 else 0
    account[H1] = h_ns


def lead_jacobian(state: FloatArray, s: Way, gyro: Input, accel: Input) -> None:
    """Take the derivatives over a step, and add those of the step alone by biases."""
    for column in range(JACOBIAN, JACOBIAN + WIDTH):
        lead(state, column, WIDTH, s)
    add_input(state, BY_GYRO_BIAS, 1, gyro)
    add_input(state, BY_ACCEL_BIAS, 1, accel)


def add_scales(state: FloatArray, s: Way, raw_turn: Vector, ends: Line) -> None:
    """Add what a step alone owes to M: readings turn, and so does the line between them."""
    for i in range(3):
        first, second = ends.weight * ends.raw0[i], ends.weight * ends.raw1[i]
        turn = plus(scaled(ends.w0, second), ends.w1, -first)
        push = plus(scaled(ends.f0, second), ends.f1, -first)
        add_input(state, BY_SCALE + i, 3, by_input(s, raw_turn[i], turn, push))


def by_biases(s: Way, ends: Line) -> tuple[Input, Input]:
    """Return what a step alone owes to the biases of gyro and accelerometer."""
    turn = scaled(plus(ends.w1, ends.w0, -1.0), ends.weight)
    push = scaled(plus(ends.f1, ends.f0, -1.0), ends.weight)
    none = (ZERO, ZERO, ZERO)
    accel = Input(
        none, times(s.velocity_by_push, -s.h, turn), times(s.path_by_push, -s.h, turn)
    )  # fmt: skip
    return by_input(s, -s.h, turn, push), accel


def add_input(state: FloatArray, column: int, apart: int, more: Input) -> None:
    """Add to three columns of the Jacobian."""
    for k in range(3):
        at = JACOBIAN + column + apart * k
        for row in range(3):
            state[at + WIDTH * row] += more.rotation[row][k]
            state[at + WIDTH * (3 + row)] += more.velocity[row][k]
            state[at + WIDTH * (6 + row)] += more.path[row][k]


def lead_covariance(
    state: FloatArray, settings: FloatArray, s: Way, gyro: Input, accel: Input
) -> None:
    """Take the covariance over a step: F P, and then its product with F transposed."""
    walks = 0.0
    for k in range(GYRO_WALK, GYRO_WALK + 6):
        walks += settings[k]
    for column in range(9):
        lead(state, COVARIANCE + column, WIDTH, s)
    if walks > 0.0:
        for column in range(9, WIDTH):
            lead(state, COVARIANCE + column, WIDTH, s)
        for column in range(WIDTH):
            lead_biases(state, COVARIANCE + column, WIDTH, gyro, accel)
    for row in range(9):
        lead(state, COVARIANCE + WIDTH * row, 1, s)
        if walks > 0.0:
            lead_biases(state, COVARIANCE + WIDTH * row, 1, gyro, accel)
            for column in range(9, WIDTH):
                mirrored = state[COVARIANCE + WIDTH * row + column]
                state[COVARIANCE + WIDTH * column + row] = mirrored


def lead(state: FloatArray, at: int, apart: int, s: Way) -> None:
    """Take nine errors over a step; they stand so far apart."""
    r = (state[at], state[at + apart], state[at + 2 * apart])
    v = (state[at + 3 * apart], state[at + 4 * apart], state[at + 5 * apart])
    faster, farther = cross(r, s.velocity), plus(cross(r, s.path), v, s.h)
    for k in range(3):
        state[at + (3 + k) * apart] += faster[k]
        state[at + (6 + k) * apart] += farther[k]


def lead_biases(state: FloatArray, at: int, apart: int, gyro: Input, accel: Input) -> None:
    """Add to nine errors what those of the biases after them do in a step."""
    g = (state[at + 9 * apart], state[at + 10 * apart], state[at + 11 * apart])
    a = (state[at + 12 * apart], state[at + 13 * apart], state[at + 14 * apart])
    for k in range(3):
        state[at + k * apart] += dot(gyro.rotation[k], g)
        state[at + (3 + k) * apart] += dot(gyro.velocity[k], g) + dot(accel.velocity[k], a)
        state[at + (6 + k) * apart] += dot(gyro.path[k], g) + dot(accel.path[k], a)


def add_noise(state: FloatArray, settings: FloatArray, s: Way, angle: float, push: float) -> None:
    """Add the white noise of a step, more of turn and push [rad^2, m^2/s^2], and the walks."""
    for axis in range(3):
        gyro = settings[GYRO_NOISE + axis] * s.h + angle
        accel = settings[ACCEL_NOISE + axis] * s.h + push
        turn = (
            s.rotation_by_turn[0][axis], s.rotation_by_turn[1][axis], s.rotation_by_turn[2][axis],
            s.velocity_by_turn[0][axis], s.velocity_by_turn[1][axis], s.velocity_by_turn[2][axis],
            s.path_by_turn[0][axis], s.path_by_turn[1][axis], s.path_by_turn[2][axis],
        )  # fmt: skip
        pushed = (
            0.0, 0.0, 0.0,
            s.velocity_by_push[0][axis], s.velocity_by_push[1][axis], s.velocity_by_push[2][axis],
            s.path_by_push[0][axis], s.path_by_push[1][axis], s.path_by_push[2][axis],
        )  # fmt: skip
        for row in range(9):
            first, second = gyro * turn[row], accel * pushed[row]
            for column in range(9):
                at = COVARIANCE + WIDTH * row + column
                state[at] += first * turn[column] + second * pushed[column]
        at = COVARIANCE + (WIDTH + 1) * (9 + axis)
        state[at] += settings[GYRO_WALK + axis] * s.h
        state[at + 3 * (WIDTH + 1)] += settings[ACCEL_WALK + axis] * s.h


def move(state: FloatArray, s: Way) -> None:
    """Add a step to rotation, velocity and position."""
    x, y, z, w = quaternion_multiply(*orientation(state), *s.turn)
    size = math.sqrt(x * x + y * y + z * z + w * w)
    state[Q], state[Q + 1], state[Q + 2], state[Q + 3] = x / size, y / size, z / size, w / size
    for i in range(3):
        state[P + i] += state[V + i] * s.h + s.path[i]
        state[V + i] += s.velocity[i]


def length(v: Vector) -> float:
    return math.sqrt(dot(v, v))


def three(array: FloatArray, at: int) -> Vector:
    return array[at], array[at + 1], array[at + 2]


def is_within(v: Vector, most: float) -> bool:
    """Tell whether no component is larger, or NaN."""
    return abs(v[0]) <= most and abs(v[1]) <= most and abs(v[2]) <= most


def orientation(state: FloatArray) -> Quaternion:
    return state[Q], state[Q + 1], state[Q + 2], state[Q + 3]
