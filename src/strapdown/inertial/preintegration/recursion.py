"""Kernels of preintegration, one sample at a time.

Each sample ends a step with a turn (rotation vector) and a push (integral of the specific force
in the rotating axes of the body). The motion since the start is expressed in the body axes at the
start, with its derivatives by biases, scale and misalignment, and the covariance of its error (C.
Forster, L. Carlone, F. Dellaert, D. Scaramuzza, "On-manifold preintegration for real-time
visual-inertial odometry", IEEE Transactions on Robotics 33(1), 2017). Errors are a rotation,
then velocity and position; all are in the axes of the start (true = Exp(error) estimate), in
which a step does not change the error of the rotation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Matrix, Record, Vector, filled, vector, zeros
from strapdown.geometry.formulas import quaternion_multiply
from strapdown.geometry.triples import ZERO, add, cross, plus, scaled
from strapdown.geometry.vectors import add_to, dot, four, put, put_four, square, three
from strapdown.inertial.coning_sculling import NEVER, POINT, integral, is_uneven, quadrature_weights
from strapdown.inertial.preintegration.step import InputJacobian, Step, by_input, step_of, times
from strapdown.samples.sample import MAX_FORCE, MAX_RATE, usable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import Three
    from strapdown.samples.sample import Sample

TRAPEZOID, AM4, MEAN, EULER = range(4)  # rules of integration, in the order of Quadrature

# Columns of the Jacobian.
BY_GYRO_BIAS, BY_ACCEL_BIAS, BY_SCALE = 0, 3, 6
GYRO_WALKS, ACCEL_WALKS = 9, 12  # indices in the covariance, after the nine errors


class Preintegrated(Record):
    """Motion since the start, and the last samples."""

    orientation: Vector = vector(0.0, 0.0, 0.0, 1.0)  # x y z w
    velocity: Vector = filled(3)  # integral of the specific force [m/s]
    position: Vector = filled(3)  # its double integral [m]
    rates: Matrix = zeros(3, 3)  # the last three angular velocities, newest first [rad/s]
    forces: Matrix = zeros(3, 3)  # the last three specific forces [m/s^2]
    jacobian: Matrix = zeros(9, 15)  # of the errors by gyro bias, accelerometer bias and M
    covariance: Matrix = zeros(15, 15)  # of the errors, gyro bias walk, accelerometer bias walk


class PreintegrationCounts(Record):
    """Stamps and spacings [ns], and counts of samples as in PreintegrationReport."""

    now_ns: int = 0
    start_ns: int = NEVER
    h1_ns: int = 0  # the last two spacings; 0 before the start of the history
    h2_ns: int = 0
    steps: int = 0
    unusable: int = 0
    repeated: int = 0
    backward: int = 0
    gaps: int = 0
    longest_gap_ns: int = 0
    bridged_ns: int = 0


class PreintegrationSettings(Record):
    """Error model of the sensor, and rule of integration."""

    correction: Matrix = zeros(3, 3)  # I + M
    gyro_bias: Vector = filled(3)
    accel_bias: Vector = filled(3)
    gyro_noise: Vector = filled(3)  # spectral density [rad^2/s]
    accel_noise: Vector = filled(3)  # [m^2/s^3]
    gyro_walk: Vector = filled(3)  # [rad^2/s^3]
    accel_walk: Vector = filled(3)  # [m^2/s^5]
    quadrature: int = TRAPEZOID
    max_gap_ns: int = 0


class SampleOutcome(Record):
    """Outcome of a sample."""

    ends_step: bool = False


class StepEnds(NamedTuple):
    """Samples at both ends of a step, and the weight of their products (0: not linear)."""

    raw0: Three
    raw1: Three
    w0: Three
    w1: Three
    f0: Three
    f1: Three
    weight: float


@kernel
def take_samples(
    motion: Sequence[Preintegrated],
    counts: Sequence[PreintegrationCounts],
    settings: Sequence[PreintegrationSettings],
    samples: Sequence[Sample],
    rows: Sequence[SampleOutcome],
) -> None:
    """Process every sample."""
    for i in range(len(samples)):
        rows[i].ends_step = take_sample(motion[0], counts[0], settings[0], samples[i])


@kernel
def take_sample(
    s: Preintegrated, counts: PreintegrationCounts, p: PreintegrationSettings, sample: Sample
) -> bool:
    """Process a sample; one that is unusable or not later than the last is only counted."""
    t_ns, w, f = sample.t_ns, three(sample.angular_velocity), three(sample.specific_force)
    if not (usable(w, MAX_RATE) and usable(f, MAX_FORCE)):
        counts.unusable += 1
        return False
    if counts.start_ns == NEVER:
        counts.start_ns = counts.now_ns = t_ns
        remember(s, counts, w, f, 0)
        return False
    h_ns = t_ns - counts.now_ns
    if h_ns <= 0:
        counts.repeated += h_ns == 0
        counts.backward += h_ns < 0
        return False
    is_gap = h_ns > p.max_gap_ns
    add_step(s, counts, p, w, f, h_ns, is_gap)
    counts.steps += 1
    counts.now_ns = t_ns
    if is_gap:
        counts.gaps += 1
        counts.longest_gap_ns = max(counts.longest_gap_ns, h_ns)
        counts.bridged_ns += h_ns
    remember(s, counts, w, f, 0 if is_gap else h_ns)
    return True


@kernel
def add_step(
    s: Preintegrated,
    counts: PreintegrationCounts,
    p: PreintegrationSettings,
    w: Three,
    f: Three,
    h_ns: int,
    is_gap: bool,
) -> None:
    """Add the step up to a sample."""
    h = h_ns * 1e-9
    raw_w, raw_f = three(s.rates[0]), three(s.forces[0])
    w0, f0 = corrected(p, raw_w, raw_f, 1.0)
    w1, f1 = corrected(p, w, f, 1.0)
    raw_turn, push = integrals(s, counts, p.quadrature, w, f, h_ns)
    turn, push = corrected(p, raw_turn, push, h)
    line, change = 0.0, ZERO
    if p.quadrature <= AM4 and not is_gap:
        # coning and sculling of samples that are linear over the step
        line = h * h / 12.0
        turn = plus(turn, cross(w0, w1), line)
        push = plus(push, add(cross(w0, f1), cross(f0, w1)), line)
        change = scaled(plus(f1, f0, -1.0), h)
    step = step_of(four(s.orientation), turn, push, change, h, p.quadrature == EULER)
    ends = StepEnds(raw_w, w, w0, w1, f0, f1, line)
    gyro, accel = by_biases(step, ends)
    lead_jacobian(s.jacobian, step, gyro, accel)
    add_scales(s.jacobian, step, raw_turn, ends)
    lead_covariance(s.covariance, p, step, gyro, accel)
    angle_noise, push_noise = 0.0, 0.0
    if is_gap:
        # the motion in a gap is unknown
        angle_noise = size(turn)
        push_noise = 0.5 * (size(push) * min(1.0, angle_noise) + h * size(plus(f1, f0, -1.0)))
    add_noise(s.covariance, p, step, angle_noise * angle_noise, push_noise * push_noise)
    move(s, step)


@kernel
def integrals(
    s: Preintegrated, counts: PreintegrationCounts, kind: int, w: Three, f: Three, h_ns: int
) -> tuple[Three, Three]:
    """Return the integrals of rate and specific force over the step up to a sample."""
    h = h_ns * 1e-9
    if kind >= MEAN:
        return scaled(w, h), scaled(f, h)
    h1, h2 = counts.h1_ns, counts.h2_ns
    if kind == TRAPEZOID or is_uneven(h_ns, h1, h2):
        h1, h2 = 0, 0
    weights = quadrature_weights(h, h1 * 1e-9, h2 * 1e-9)
    w1, w2, w3 = three(s.rates[0]), three(s.rates[1]), three(s.rates[2])
    f1, f2, f3 = three(s.forces[0]), three(s.forces[1]), three(s.forces[2])
    return integral(POINT, h, weights, w, w1, w2, w3), integral(POINT, h, weights, f, f1, f2, f3)


@kernel
def corrected(p: PreintegrationSettings, w: Three, f: Three, h: float) -> tuple[Three, Three]:
    """Return integrals over h corrected for biases, scale and misalignment."""
    c = p.correction
    turn = (dot(three(c[0]), w), dot(three(c[1]), w), dot(three(c[2]), w))
    return plus(turn, three(p.gyro_bias), -h), plus(f, three(p.accel_bias), -h)


@kernel
def remember(s: Preintegrated, counts: PreintegrationCounts, w: Three, f: Three, h_ns: int) -> None:
    """Insert samples at the front of the history; a spacing of 0 ends it there."""
    for newest, history in ((w, s.rates), (f, s.forces)):
        put(history[2], three(history[1]))
        put(history[1], three(history[0]))
        put(history[0], newest)
    counts.h2_ns = counts.h1_ns if h_ns > 0 else 0
    counts.h1_ns = h_ns


@kernel
def lead_jacobian(jacobian: Matrix, step: Step, gyro: InputJacobian, accel: InputJacobian) -> None:
    """Propagate the derivatives over a step, and add those of the step by the biases."""
    for column in range(15):
        lead_column(jacobian, column, step)
    add_input(jacobian, BY_GYRO_BIAS, 1, gyro)
    add_input(jacobian, BY_ACCEL_BIAS, 1, accel)


@kernel
def add_scales(jacobian: Matrix, step: Step, raw_turn: Three, ends: StepEnds) -> None:
    """Add the derivatives of a step by M, through the readings and their coning and sculling."""
    for i in range(3):
        first, second = ends.weight * ends.raw0[i], ends.weight * ends.raw1[i]
        turn = plus(scaled(ends.w0, second), ends.w1, -first)
        push = plus(scaled(ends.f0, second), ends.f1, -first)
        add_input(jacobian, BY_SCALE + i, 3, by_input(step, raw_turn[i], turn, push))


@kernel
def by_biases(step: Step, ends: StepEnds) -> tuple[InputJacobian, InputJacobian]:
    """Return the derivatives of a step by the biases of gyro and accelerometer."""
    turn = scaled(plus(ends.w1, ends.w0, -1.0), ends.weight)
    push = scaled(plus(ends.f1, ends.f0, -1.0), ends.weight)
    faster = times(step.velocity_by_push, -step.h, turn)
    accel = InputJacobian((ZERO, ZERO, ZERO), faster, times(step.path_by_push, -step.h, turn))
    return by_input(step, -step.h, turn, push), accel


@kernel
def add_input(jacobian: Matrix, first: int, apart: int, more: InputJacobian) -> None:
    """Add to three columns of the Jacobian."""
    for row in range(3):
        for k in range(3):
            column = first + apart * k
            jacobian[row][column] += more.rotation[row][k]
            jacobian[3 + row][column] += more.velocity[row][k]
            jacobian[6 + row][column] += more.path[row][k]


@kernel
def lead_covariance(
    covariance: Matrix,
    p: PreintegrationSettings,
    step: Step,
    gyro: InputJacobian,
    accel: InputJacobian,
) -> None:
    """Propagate the covariance over a step: F P, then its product with F transposed."""
    walks = 0.0
    for k in range(3):
        walks += p.gyro_walk[k] + p.accel_walk[k]
    for column in range(15 if walks > 0.0 else 9):
        lead_column(covariance, column, step)
    if walks > 0.0:
        for column in range(15):
            add_biases_to_column(covariance, column, gyro, accel)
    for i in range(9):
        lead_row(covariance[i], step)
        if walks > 0.0:
            add_biases_to_row(covariance[i], gyro, accel)
            for j in range(9, 15):
                covariance[j][i] = covariance[i][j]


@kernel
def lead_column(m: Matrix, c: int, step: Step) -> None:
    """Propagate nine errors, a column of a matrix, over a step."""
    r, v = (m[0][c], m[1][c], m[2][c]), (m[3][c], m[4][c], m[5][c])
    faster, farther = cross(r, step.velocity), plus(cross(r, step.path), v, step.h)
    for k in range(3):
        m[3 + k][c] += faster[k]
        m[6 + k][c] += farther[k]


@kernel
def lead_row(row: Vector, step: Step) -> None:
    """Propagate nine errors, a row of a matrix, over a step."""
    r, v = (row[0], row[1], row[2]), (row[3], row[4], row[5])
    faster, farther = cross(r, step.velocity), plus(cross(r, step.path), v, step.h)
    for k in range(3):
        row[3 + k] += faster[k]
        row[6 + k] += farther[k]


@kernel
def add_biases_to_column(m: Matrix, c: int, gyro: InputJacobian, accel: InputJacobian) -> None:
    """Add the effect of the bias errors below to nine errors, a column."""
    g, a = (m[9][c], m[10][c], m[11][c]), (m[12][c], m[13][c], m[14][c])
    for k in range(3):
        m[k][c] += dot(gyro.rotation[k], g)
        m[3 + k][c] += dot(gyro.velocity[k], g) + dot(accel.velocity[k], a)
        m[6 + k][c] += dot(gyro.path[k], g) + dot(accel.path[k], a)


@kernel
def add_biases_to_row(row: Vector, gyro: InputJacobian, accel: InputJacobian) -> None:
    """Add the effect of the bias errors after them to nine errors, a row."""
    g, a = (row[9], row[10], row[11]), (row[12], row[13], row[14])
    for k in range(3):
        row[k] += dot(gyro.rotation[k], g)
        row[3 + k] += dot(gyro.velocity[k], g) + dot(accel.velocity[k], a)
        row[6 + k] += dot(gyro.path[k], g) + dot(accel.path[k], a)


@kernel
def add_noise(
    covariance: Matrix, p: PreintegrationSettings, step: Step, angle: float, push: float
) -> None:
    """Add white noise, that of a gap (``angle`` [rad^2], ``push`` [m^2/s^2]) and random walks."""
    for axis in range(3):
        gyro = p.gyro_noise[axis] * step.h + angle
        accel = p.accel_noise[axis] * step.h + push
        a, b, c = step.rotation_by_turn, step.velocity_by_turn, step.path_by_turn
        turn = (
            a[0][axis], a[1][axis], a[2][axis],
            b[0][axis], b[1][axis], b[2][axis],
            c[0][axis], c[1][axis], c[2][axis],
        )  # fmt: skip
        d, e = step.velocity_by_push, step.path_by_push
        pushed = (
            0.0, 0.0, 0.0,
            d[0][axis], d[1][axis], d[2][axis],
            e[0][axis], e[1][axis], e[2][axis],
        )  # fmt: skip
        for i in range(9):
            first, second, row = gyro * turn[i], accel * pushed[i], covariance[i]
            for j in range(9):
                row[j] += first * turn[j] + second * pushed[j]
        covariance[GYRO_WALKS + axis][GYRO_WALKS + axis] += p.gyro_walk[axis] * step.h
        covariance[ACCEL_WALKS + axis][ACCEL_WALKS + axis] += p.accel_walk[axis] * step.h


@kernel
def move(s: Preintegrated, step: Step) -> None:
    """Add a step to rotation, velocity and position."""
    x, y, z, w = quaternion_multiply(*four(s.orientation), *step.turn)
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    put_four(s.orientation, (x / norm, y / norm, z / norm, w / norm))
    for i in range(3):
        s.position[i] += s.velocity[i] * step.h + step.path[i]
    add_to(s.velocity, step.velocity)


@kernel
def size(v: Three) -> float:
    """Return the length of a vector."""
    return math.sqrt(square(v))
