"""Preintegration, one sample at a time.

Each sample ends a step with a turn (rotation vector) and a push (integral of the specific force
in the turning axes of the body). The motion since the start is kept in the body axes there, with
how it changes with biases, scale and misalignment, and with the covariance of its error (C.
Forster, L. Carlone, F. Dellaert, D. Scaramuzza, "On-manifold preintegration for real-time
visual-inertial odometry", IEEE Transactions on Robotics 33(1), 2017). Errors are a rotation
about body axes at the end (true = estimate Exp(error)), then velocity and position in the axes of
the start.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from strapdown.geometry._kernels import quaternion_exp, quaternion_multiply, quaternion_rotate
from strapdown.integration._kernels import (
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
    increments,
    plus,
    scaled,
)

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

# How samples become steps.
TRAPEZOID = 0
AM4 = 1
MEAN = 2
EULER = 3

FASTEST, STRONGEST = 1e4, 1e5  # [rad/s], [m/s^2]: what is beyond measured nothing

# The state: orientation, velocity and position since the start, and the last three samples.
Q, V, P = 0, 4, 7
RATES, FORCES = 10, 19  # newest first
STATE = 28

# The account: stamps and spacings [ns], and what became of samples.
NOW, START, H1, H2, STEPS, UNUSABLE, REPEATED, BACKWARD, GAPS, LONGEST, BRIDGED = range(11)
ACCOUNT = 11
NEVER = -(2**63)

# The settings.
CORRECTION = 0  # I + M, row by row
GYRO_BIAS, ACCEL_BIAS = 9, 12
GYRO_NOISE, ACCEL_NOISE = 15, 18  # spectral densities [rad^2/s], [m^2/s^3]
GYRO_WALK, ACCEL_WALK = 21, 24  # [rad^2/s^3], [m^2/s^5]
QUADRATURE, MAX_GAP_NS = 27, 28
SETTINGS = 29

# Columns of the Jacobian; the first two are rows of the covariance after the nine errors, too.
BY_GYRO_BIAS, BY_ACCEL_BIAS, BY_SCALE = 0, 3, 6


class Memory(NamedTuple):
    """All that a preintegration remembers; kernels write into these arrays."""

    state: FloatArray  # (28,)
    account: IntArray  # (11,)
    jacobian: FloatArray  # (9, 15): of the deltas by gyro bias, accel bias and I + M (row by row)
    covariance: FloatArray  # (15, 15): of rotation, velocity, position, gyro bias, accel bias
    gain: FloatArray  # (9, 6): what errors of turn and push did to the deltas in the last step
    inputs: FloatArray  # (9, 15): what the last step alone added to the Jacobian
    settings: FloatArray  # (29,)


class Transition(NamedTuple):
    """A step: orientation before it, its turn, and its increments in the axes of the start."""

    q: Quaternion
    turn: Quaternion
    velocity: Vector
    path: Vector
    h: float


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
    m: Memory, t_ns: IntArray, angular_velocity: FloatArray, specific_force: FloatArray
) -> None:
    """Take every sample."""
    w, f = angular_velocity, specific_force
    for i in range(len(t_ns)):
        step(m, t_ns[i], w[i, 0], w[i, 1], w[i, 2], f[i, 0], f[i, 1], f[i, 2])


def step(
    m: Memory, t_ns: int, wx: float, wy: float, wz: float, fx: float, fy: float, fz: float
) -> None:
    """Take one sample: what is unusable or not later than the last is counted and left out."""
    state, account, settings = m.state, m.account, m.settings
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
    take(m, w, f, h_ns, 1 if is_gap else 0)
    account[STEPS] += 1
    account[NOW] = t_ns
    if is_gap:
        account[GAPS] += 1
        account[LONGEST] = max(account[LONGEST], h_ns)
        account[BRIDGED] += h_ns
    remember(state, account, w, f, 0 if is_gap else h_ns)


def take(m: Memory, w: Vector, f: Vector, h_ns: int, is_gap: int) -> None:
    """Add the step that a sample ends."""
    h, settings = h_ns * 1e-9, m.settings
    raw_w, raw_f = last(m.state, RATES), last(m.state, FORCES)
    w0, f0 = corrected(settings, raw_w, raw_f, 1.0)
    w1, f1 = corrected(settings, w, f, 1.0)
    raw_turn, push = integrals(m.state, m.account, settings[QUADRATURE], w, f, h_ns)
    turn, push = corrected(settings, raw_turn, push, h)
    line, change = 0.0, ZERO
    if settings[QUADRATURE] <= AM4 and not is_gap:
        # what a straight line between samples adds to the integrals: coning and sculling
        line = h * h / 12.0
        turn = plus(turn, cross(w0, w1), line)
        push = plus(push, add(cross(w0, f1), cross(f0, w1)), line)
        change = scaled(plus(f1, f0, -1.0), h)
    set_gain(m, turn, push, h)
    s = transition(m, turn, push, change, h)
    set_inputs(m, raw_turn, h, Line(raw_w, w, w0, w1, f0, f1, line))
    lead(m.jacobian, 15, s)
    for row in range(9):
        for column in range(15):
            m.jacobian[row, column] += m.inputs[row, column]
    walks = 1 if trace_of_biases(m.covariance) > 0.0 else 0
    lead_covariance(m.covariance, s, m.inputs, walks)
    lead_covariance(m.covariance.T, s, m.inputs, walks)
    angle_noise, push_noise = 0.0, 0.0
    if is_gap:
        # a gap is lost information, not a known rotation
        angle_noise = length(turn)
        push_noise = 0.5 * (length(push) * min(1.0, angle_noise) + h * length(plus(f1, f0, -1.0)))
    add_noise(m, h, angle_noise * angle_noise, push_noise * push_noise)
    move(m.state, s)


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
        integral(0, h, weights, w, last(state, RATES), last(state, RATES + 3),
                 last(state, RATES + 6)),
        integral(0, h, weights, f, last(state, FORCES), last(state, FORCES + 3),
                 last(state, FORCES + 6)),
    )  # fmt: skip


def corrected(settings: FloatArray, w: Vector, f: Vector, h: float) -> tuple[Vector, Vector]:
    """Return rates and specific force times h less biases, and with scale and misalignment."""
    x, y, z = w
    c, g, a = CORRECTION, GYRO_BIAS, ACCEL_BIAS
    return (
        (
            settings[c] * x + settings[c + 1] * y + settings[c + 2] * z - h * settings[g],
            settings[c + 3] * x + settings[c + 4] * y + settings[c + 5] * z - h * settings[g + 1],
            settings[c + 6] * x + settings[c + 7] * y + settings[c + 8] * z - h * settings[g + 2],
        ),
        (f[0] - h * settings[a], f[1] - h * settings[a + 1], f[2] - h * settings[a + 2]),
    )


def remember(state: FloatArray, account: IntArray, w: Vector, f: Vector, h_ns: int) -> None:
    """Put samples in front of the history; a spacing of 0 forgets what lies before it."""
    for i in range(5, -1, -1):
        state[RATES + 3 + i] = state[RATES + i]
        state[FORCES + 3 + i] = state[FORCES + i]
    for i in range(3):
        state[RATES + i], state[FORCES + i] = w[i], f[i]
    account[H2] = account[H1] if h_ns > 0 else 0
    account[H1] = h_ns


def is_within(v: Vector, most: float) -> bool:
    """Tell whether no component is larger, or NaN."""
    return abs(v[0]) <= most and abs(v[1]) <= most and abs(v[2]) <= most


def last(state: FloatArray, at: int) -> Vector:
    return state[at], state[at + 1], state[at + 2]


def length(v: Vector) -> float:
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


def set_gain(m: Memory, turn: Vector, push: Vector, h: float) -> None:
    """Write what small errors of turn and push do to rotation, velocity and position."""
    q = orientation(m)
    for axis in range(3):
        unit = (1.0 * (axis == 0), 1.0 * (axis == 1), 1.0 * (axis == 2))
        rotation, _ = increments(scaled(turn, -1.0), unit, ZERO, h)  # right Jacobian of SO(3)
        turn_v, turn_p, push_v, push_p = ZERO, ZERO, unit, scaled(unit, 0.5 * h)
        if m.settings[QUADRATURE] != EULER:
            once = cross(unit, push)
            twice = add(cross(unit, cross(turn, push)), cross(turn, once))
            turn_v = plus(scaled(once, 1 / 2), twice, 1 / 6)
            turn_p = plus(scaled(once, h / 6), twice, h / 24)
            push_v, push_p = increments(turn, unit, ZERO, h)
        write(m.gain, 0, axis, rotation)
        write(m.gain, 3, axis, quaternion_rotate(*q, *turn_v))
        write(m.gain, 6, axis, quaternion_rotate(*q, *turn_p))
        write(m.gain, 0, axis + 3, ZERO)
        write(m.gain, 3, axis + 3, quaternion_rotate(*q, *push_v))
        write(m.gain, 6, axis + 3, quaternion_rotate(*q, *push_p))


def transition(m: Memory, turn: Vector, push: Vector, change: Vector, h: float) -> Transition:
    """Return what a step does, in the axes at the start of the whole."""
    q = orientation(m)
    velocity, path = push, scaled(push, 0.5 * h)
    if m.settings[QUADRATURE] != EULER:
        velocity, path = increments(turn, push, change, h)
    return Transition(
        q,
        quaternion_exp(0.5 * turn[0], 0.5 * turn[1], 0.5 * turn[2]),
        quaternion_rotate(*q, *velocity),
        quaternion_rotate(*q, *path),
        h,
    )


def set_inputs(m: Memory, raw_turn: Vector, h: float, line: Line) -> None:
    """Write what the step alone owes to biases, scale and misalignment."""
    part = line.weight
    more_w, more_f = plus(line.w1, line.w0, -1.0), plus(line.f1, line.f0, -1.0)
    for axis in range(3):
        unit = (1.0 * (axis == 0), 1.0 * (axis == 1), 1.0 * (axis == 2))
        by_bias = plus(scaled(unit, -h), cross(unit, more_w), -part)
        set_input(m, BY_GYRO_BIAS + axis, by_bias, scaled(cross(unit, more_f), -part))
        set_input(m, BY_ACCEL_BIAS + axis, ZERO, by_bias)
        w1, w0 = cross(unit, line.w1), cross(unit, line.w0)
        f1, f0 = cross(unit, line.f1), cross(unit, line.f0)
        for i in range(3):
            first, second = part * line.raw0[i], part * line.raw1[i]
            turn = plus(scaled(unit, raw_turn[i]), plus(scaled(w1, first), w0, -second), 1.0)
            set_input(m, BY_SCALE + 3 * axis + i, turn, plus(scaled(f1, first), f0, -second))


def set_input(m: Memory, column: int, turn: Vector, push: Vector) -> None:
    for row in range(9):
        m.inputs[row, column] = (
            m.gain[row, 0] * turn[0]
            + m.gain[row, 1] * turn[1]
            + m.gain[row, 2] * turn[2]
            + m.gain[row, 3] * push[0]
            + m.gain[row, 4] * push[1]
            + m.gain[row, 5] * push[2]
        )


def lead_covariance(matrix: FloatArray, s: Transition, inputs: FloatArray, walks: int) -> None:
    """Multiply the transition matrix, with the walk of biases or without, by a matrix."""
    lead(matrix, 15 if walks else 9, s)
    if walks:
        for column in range(15):
            for row in range(9):
                total = 0.0
                for k in range(6):
                    total += inputs[row, k] * matrix[9 + k, column]
                matrix[row, column] += total


def lead(matrix: FloatArray, columns: int, s: Transition) -> None:
    """Lead columns of errors of rotation, velocity and position over a step."""
    x, y, z, w = s.turn
    back = (-x, -y, -z, w)
    for c in range(columns):
        rotation = (matrix[0, c], matrix[1, c], matrix[2, c])
        v = (matrix[3, c], matrix[4, c], matrix[5, c])
        p = (matrix[6, c], matrix[7, c], matrix[8, c])
        before = quaternion_rotate(*s.q, *rotation)
        write(matrix, 0, c, quaternion_rotate(*back, *rotation))
        write(matrix, 3, c, add(v, cross(before, s.velocity)))
        write(matrix, 6, c, add(plus(p, v, s.h), cross(before, s.path)))


def move(state: FloatArray, s: Transition) -> None:
    """Add a step to rotation, velocity and position."""
    q = quaternion_multiply(*s.q, *s.turn)
    size = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    for i in range(4):
        state[Q + i] = q[i] / size
    for i in range(3):
        state[P + i] += state[V + i] * s.h + s.path[i]
        state[V + i] += s.velocity[i]


def add_noise(m: Memory, h: float, angle: float, push: float) -> None:
    """Add the white noise of a step, more of turn and push [rad^2, m^2/s^2], and the walks."""
    for row in range(9):
        for column in range(9):
            total = 0.0
            for axis in range(3):
                total += m.gain[row, axis] * m.gain[column, axis] * (
                    m.settings[GYRO_NOISE + axis] * h + angle
                ) + m.gain[row, 3 + axis] * m.gain[column, 3 + axis] * (
                    m.settings[ACCEL_NOISE + axis] * h + push
                )
            m.covariance[row, column] += total
    for axis in range(3):
        m.covariance[9 + axis, 9 + axis] += m.settings[GYRO_WALK + axis] * h
        m.covariance[12 + axis, 12 + axis] += m.settings[ACCEL_WALK + axis] * h


def trace_of_biases(covariance: FloatArray) -> float:
    total = 0.0
    for i in range(9, 15):
        total += covariance[i, i]
    return total


def orientation(m: Memory) -> Quaternion:
    return m.state[Q], m.state[Q + 1], m.state[Q + 2], m.state[Q + 3]


def write(matrix: FloatArray, row: int, column: int, v: Vector) -> None:
    matrix[row, column], matrix[row + 1, column], matrix[row + 2, column] = v
