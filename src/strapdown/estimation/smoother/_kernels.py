"""Fixed-interval smoothing of the error-state model: forward filter, backward pass, output.

The errors go on from those that the online filter has, in world axes:

======  =========  =======================================================================
error   name       meaning
======  =========  =======================================================================
0-20               attitude, velocity, gyro bias, accelerometer bias, gyro matrix
21-23   POSITION   p_true = Exp(phi) p + pi [m, world]
24-25   FIELD      magnetic field, north and up [of its strength]
26      DELAY      how much later the magnetometer measures than the gyro [s]
======  =========  =======================================================================

Knots are the instants between windows. ``path`` holds a nominal state for each knot:
quaternion, velocity, gyro bias, position. ``constants`` holds accelerometer bias, gyro matrix,
field and delay.

The backward pass is that of Bierman ("Fixed interval smoothing with discrete measurements",
Int. J. Control 18, 1973): it carries the gradient and the Hessian of what later measurements
say, needs no inverse of a covariance, and leaves states of zero variance alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.estimation._kernels import OWN_SETTINGS, START, intake
from strapdown.estimation.error_state._kernels import (
    ACCEL,
    BIAS_ERROR,
    J_BIAS,
    J_MATRIX,
    MATRIX,
    OTHERS,
    SPAN,
    TURNED,
    V_BIAS,
    V_MATRIX,
    WINDOW,
    XI,
    clear,
    clear_window,
    corrected_turn,
    extend_window,
    finish_window,
    multiply_rows,
    predict_covariance,
    project,
    update,
)
from strapdown.geometry._kernels import quaternion_exp, quaternion_multiply, quaternion_rotate

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray

POSITION: Final = OTHERS
FIELD: Final = OTHERS + 3
DELAY: Final = OTHERS + 5
INERTIAL_ERRORS: Final = OTHERS + 3
MAGNETIC_ERRORS: Final = OTHERS + 6

# Columns of a path.
Q: Final = 0
VELOCITY: Final = 4
BIAS: Final = 7
PLACE: Final = 10
PATH: Final = 13

# Constants.
ACCEL_BIAS: Final = 0
GYRO_MATRIX: Final = 3
USUAL_FIELD: Final = 12
FIELD_DELAY: Final = 14
CONSTANTS: Final = 15

# Columns of a step between two samples: turn read over it, length, mean force, what clipped
# axes of the gyro may have turned beyond their readings; standard deviations of turn and speed
# that were lost, and of the turn along an axis [body].
TURN: Final = 0
DT: Final = 3
FORCE: Final = 4
CLIPPED: Final = 7
LOST: Final = 10
LOST_ALONG: Final = 12
STEP: Final = 15

# Columns of what a window lacks: by how much the path misses itself (phi, xi, bias, position),
# then noise of clipped and lost samples (phi xx xy xz yy yz zz, xi), and whether one is clipped.
GAP_BIAS: Final = 6
GAP_PLACE: Final = 9
LOST_TURN: Final = 12
LOST_SPEED: Final = 18
CLIPPED_AT: Final = 19
GAPS: Final = 20

# Columns of a field: its mean over a window [of its strength, body], its change with delay.
FIELD_SWING: Final = 3
FIELDS: Final = 6

# Places in the settings.
GYRO_NOISE: Final = OWN_SETTINGS
GYRO_SCALE_NOISE: Final = OWN_SETTINGS + 1
BIAS_WALK: Final = OWN_SETTINGS + 2
SPEED_NOISE: Final = OWN_SETTINGS + 3
SPEED_TURN_NOISE: Final = OWN_SETTINGS + 4
PLACE_NOISE: Final = OWN_SETTINGS + 5
REST_SPEED: Final = OWN_SETTINGS + 6
REST_RATE: Final = OWN_SETTINGS + 7
FIELD_NOISE: Final = OWN_SETTINGS + 8
WINDOW_S: Final = OWN_SETTINGS + 9

# The work of a window: a row of a path, the gyro matrix, the window.
WORK_MATRIX: Final = PATH
WORK_WINDOW: Final = PATH + 9
WORK: Final = WORK_WINDOW + WINDOW

# The work of the passes with n errors: a window, then n values each of error or gradient,
# P H^T, gain and H, then n x n of covariance or Hessian.
VECTORS: Final = 4

MOST_MEASURED: Final = 12  # scalars at a knot
GRAVITY: Final = 9.81


def cut(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    t_ns: IntArray,
    rate: FloatArray,
    force: FloatArray,
    field: FloatArray,
    clipped: IntArray,
    steps: FloatArray,
    events: IntArray,
    holes: FloatArray,
) -> None:
    """Judge every sample and write the steps between them (all but the force)."""
    for i in range(len(t_ns)):
        s = intake(
            state,
            account,
            settings,
            t_ns[i],
            rate[i, 0],
            rate[i, 1],
            rate[i, 2],
            force[i, 0],
            force[i, 1],
            force[i, 2],
            field[i, 0],
            field[i, 1],
            field[i, 2],
            clipped[i],
        )
        events[i] = s.event
        clipped[i] = s.clipped
        holes[i] = s.hole
        steps[i, TURN], steps[i, TURN + 1], steps[i, TURN + 2] = s.turn_x, s.turn_y, s.turn_z
        steps[i, DT] = 0.0 if s.event == START else s.dt


def preintegrate(
    x: FloatArray,
    steps: FloatArray,
    knots: IntArray,
    path: FloatArray,
    constants: FloatArray,
    windows: FloatArray,
    gaps: FloatArray,
) -> None:
    """Integrate every window along the path, and see by how much the path misses itself."""
    for k in range(9):
        x[WORK_MATRIX + k] = constants[GYRO_MATRIX + k]
    for j in range(len(knots) - 1):
        for k in range(PATH):
            x[k] = path[j, k]
        clear_window(x, WORK_WINDOW)
        clear(gaps[j], 0, GAPS)
        for i in range(knots[j] + 1, knots[j + 1] + 1):
            if steps[i, DT] > 0.0:
                integrate(x, steps[i], constants)
                lose(x, steps[i], gaps[j])
        if gaps[j, CLIPPED_AT] > 0.0:  # a reading at its limit says nothing of the scale
            clear(x, WORK_WINDOW + J_MATRIX, 27)
            clear(x, WORK_WINDOW + V_MATRIX, 27)
        finish(x)
        for k in range(WINDOW):
            windows[j, k] = x[WORK_WINDOW + k]
        miss(x, path[j + 1], gaps[j])


def finish(x: FloatArray) -> None:
    """Move velocity and position of the work over its window."""
    half = 0.5 * x[WORK_WINDOW + SPAN]
    for k in range(3):
        x[PLACE + k] += half * x[VELOCITY + k]
    finish_window(x, WORK_WINDOW, VELOCITY, GRAVITY)
    for k in range(3):
        x[PLACE + k] += half * x[VELOCITY + k]


def integrate(x: FloatArray, step: FloatArray, constants: FloatArray) -> None:
    """Integrate one step into the window of the work."""
    dt = step[DT]
    reading = (step[TURN], step[TURN + 1], step[TURN + 2])
    force = (
        step[FORCE] - constants[ACCEL_BIAS],
        step[FORCE + 1] - constants[ACCEL_BIAS + 1],
        step[FORCE + 2] - constants[ACCEL_BIAS + 2],
    )
    turn = corrected_turn(x, BIAS, WORK_MATRIX, reading[0], reading[1], reading[2], dt)
    extend_window(x, WORK_WINDOW, Q, turn, reading, force, dt)


def lose(x: FloatArray, step: FloatArray, gap: FloatArray) -> None:
    """Add what clipped and lost samples leave unknown to the noise of a window."""
    for axis in range(3):
        if step[CLIPPED + axis] > 0.0:
            c = step[CLIPPED + axis]
            gap[CLIPPED_AT] = 1.0
            lose_along(x, gap, c * (axis == 0), c * (axis == 1), c * (axis == 2))
    lose_along(x, gap, step[LOST_ALONG], step[LOST_ALONG + 1], step[LOST_ALONG + 2])
    gap[LOST_TURN] += step[LOST] ** 2
    gap[LOST_TURN + 3] += step[LOST] ** 2
    gap[LOST_TURN + 5] += step[LOST] ** 2
    gap[LOST_SPEED] += step[LOST + 1] ** 2


def lose_along(x: FloatArray, gap: FloatArray, bx: float, by: float, bz: float) -> None:
    """Add a standard deviation along one axis of the body to the noise of a window."""
    rx, ry, rz = quaternion_rotate(x[Q], x[Q + 1], x[Q + 2], x[Q + 3], bx, by, bz)
    gap[LOST_TURN] += rx * rx
    gap[LOST_TURN + 1] += rx * ry
    gap[LOST_TURN + 2] += rx * rz
    gap[LOST_TURN + 3] += ry * ry
    gap[LOST_TURN + 4] += ry * rz
    gap[LOST_TURN + 5] += rz * rz


def miss(x: FloatArray, after: FloatArray, gap: FloatArray) -> None:
    """Write by how much the end of a window misses the next knot of the path."""
    px, py, pz = turn_between(
        after[Q], after[Q + 1], after[Q + 2], after[Q + 3], x[Q], x[Q + 1], x[Q + 2], x[Q + 3]
    )
    gap[0], gap[1], gap[2] = px, py, pz
    for at, to in ((VELOCITY, XI), (PLACE, GAP_PLACE)):
        vx, vy, vz = after[at], after[at + 1], after[at + 2]
        gap[to] = x[at] - vx - (py * vz - pz * vy)
        gap[to + 1] = x[at + 1] - vy - (pz * vx - px * vz)
        gap[to + 2] = x[at + 2] - vz - (px * vy - py * vx)
    for k in range(3):
        gap[GAP_BIAS + k] = x[BIAS + k] - after[BIAS + k]


def turn_between(
    ax: float,
    ay: float,
    az: float,
    aw: float,
    bx: float,
    by: float,
    bz: float,
    bw: float,
) -> tuple[float, float, float]:
    """Return the rotation vector, in world axes, that leads from quaternion a to b."""
    x, y, z, w = quaternion_multiply(bx, by, bz, bw, -ax, -ay, -az, aw)
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    s = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 * math.atan2(s, w) / s if s > 1e-12 else 2.0
    return scale * x, scale * y, scale * z


def forward(
    x: FloatArray,
    n: int,
    settings: FloatArray,
    windows: FloatArray,
    gaps: FloatArray,
    path: FloatArray,
    constants: FloatArray,
    rest: BoolArray,
    rates: FloatArray,
    fields: FloatArray,
    weights: FloatArray,
    means: FloatArray,
    covariances: FloatArray,
    measured: FloatArray,
    counts: IntArray,
) -> None:
    """Filter forward over all knots; error and covariance before the first are in ``x``."""
    e, p = WINDOW, WINDOW + VECTORS * n
    longest = 1.5 * settings[WINDOW_S]
    for k in range(len(path)):
        if k > 0:
            for i in range(WINDOW):
                x[i] = windows[k - 1, i]
            predict(x, n, gaps[k - 1], settings)
        before, after = windows[max(k - 1, 0), SPAN], windows[min(k, len(windows) - 1), SPAN]
        span = min(0.5 * (before + after), longest)
        counts[k] = 0
        observe_place(x, n, path[k], settings, span, measured[k], counts[k:])
        if rest[k]:
            observe_rest(
                x, n, path[k], constants, rates[k], settings, span, measured[k], counts[k:]
            )
        if n > FIELD and fields[k, 0] == fields[k, 0]:
            variance = settings[FIELD_NOISE] ** 2 / (span * weights[k])
            observe_field(x, n, path[k], constants, fields[k], variance, measured[k], counts[k:])
        for i in range(n):
            means[k, i] = x[e + i]
            for j in range(n):
                covariances[k, i * n + j] = 0.5 * (x[p + i * n + j] + x[p + j * n + i])


def predict(x: FloatArray, n: int, gap: FloatArray, settings: FloatArray) -> None:
    """Move error and covariance over the window in ``x``."""
    e, p, span = WINDOW, WINDOW + VECTORS * n, x[SPAN]
    carry_rows(x, e, 1, 0.5 * span)
    multiply_rows(x, e, 1, 0, GRAVITY * span)
    carry_rows(x, e, 1, 0.5 * span)
    for i in range(LOST_TURN):
        x[e + (POSITION + i - GAP_PLACE if i >= GAP_PLACE else i)] += gap[i]
    carry_rows(x, p, n, 0.5 * span)
    carry_columns(x, p, n, 0.5 * span)
    predict_covariance(x, p, n, 0, GRAVITY)
    carry_rows(x, p, n, 0.5 * span)
    carry_columns(x, p, n, 0.5 * span)
    turn = settings[GYRO_NOISE] ** 2 * span + settings[GYRO_SCALE_NOISE] ** 2 * x[TURNED]
    speed = settings[SPEED_NOISE] ** 2 * span + gap[LOST_SPEED]
    speed += settings[SPEED_TURN_NOISE] ** 2 * x[TURNED]
    k = LOST_TURN
    for i in range(3):
        x[p + i * (n + 1)] += turn
        x[p + (XI + i) * (n + 1)] += speed
        x[p + (BIAS_ERROR + i) * (n + 1)] += settings[BIAS_WALK] ** 2 * span
        x[p + (POSITION + i) * (n + 1)] += gap[LOST_SPEED] * span * span
        for j in range(i, 3):
            x[p + i * n + j] += gap[k]
            if j > i:
                x[p + j * n + i] += gap[k]
            k += 1


def carry_rows(x: FloatArray, p: int, n: int, span: float) -> None:
    """Move positions on for ``span`` in every column of the matrix at ``p``."""
    for k in range(3 * n):
        x[p + POSITION * n + k] += span * x[p + XI * n + k]


def carry_columns(x: FloatArray, p: int, n: int, span: float) -> None:
    """Move positions on for ``span`` in every row of the matrix at ``p``."""
    for k in range(n):
        for i in range(3):
            x[p + k * n + POSITION + i] += span * x[p + k * n + XI + i]


def retreat_rows(x: FloatArray, p: int, n: int) -> None:
    """Apply the transposed transition over the window in ``x`` to each column of a matrix."""
    tilt, half = GRAVITY * x[SPAN], 0.5 * x[SPAN]
    for k in range(3 * n):
        x[p + XI * n + k] += half * x[p + POSITION * n + k]
    for i in range(3):
        phi, xi = p + i * n, p + (XI + i) * n
        for j in range(3):
            a, b = x[J_BIAS + 3 * i + j], x[V_BIAS + 3 * i + j]
            bias, accel = p + (BIAS_ERROR + j) * n, p + (ACCEL + j) * n
            for k in range(n):
                x[bias + k] += a * x[phi + k] + b * x[xi + k]
                x[accel + k] += a * x[xi + k]
        for j in range(9):
            a, b = x[J_MATRIX + 9 * i + j], x[V_MATRIX + 9 * i + j]
            row = p + (MATRIX + j) * n
            for k in range(n):
                x[row + k] += a * x[phi + k] + b * x[xi + k]
    for k in range(n):
        x[p + n + k] += tilt * x[p + XI * n + k]
        x[p + k] -= tilt * x[p + (XI + 1) * n + k]
    for k in range(3 * n):
        x[p + XI * n + k] += half * x[p + POSITION * n + k]


def transpose(x: FloatArray, p: int, n: int) -> None:
    for i in range(n):
        for j in range(i):
            a = x[p + i * n + j]
            x[p + i * n + j] = x[p + j * n + i]
            x[p + j * n + i] = a


def observe_place(
    x: FloatArray,
    n: int,
    at: FloatArray,
    settings: FloatArray,
    span: float,
    measured: FloatArray,
    count: IntArray,
) -> None:
    """Take in that the sensor stays about its place."""
    h = WINDOW + 3 * n
    variance = settings[PLACE_NOISE] ** 2 / span
    for i in range(3):
        clear(x, h, n)
        x[h + POSITION + i] = 1.0
        take(x, n, -at[PLACE + i], variance, measured, count)


def observe_rest(
    x: FloatArray,
    n: int,
    at: FloatArray,
    constants: FloatArray,
    rate: FloatArray,
    settings: FloatArray,
    span: float,
    measured: FloatArray,
    count: IntArray,
) -> None:
    """Take in that the sensor neither moves nor turns: what the gyro reads is bias.

    The row has no entry for the gyro matrix: it would see the noise of the readings, and take
    a matrix of -I for the best explanation of no rotation.
    """
    h = WINDOW + 3 * n
    for i in range(3):
        clear(x, h, n)
        x[h + XI + i] = 1.0
        take(x, n, -at[VELOCITY + i], settings[REST_SPEED] ** 2 / span, measured, count)
        turning = rate[i]
        for j in range(3):
            turning += constants[GYRO_MATRIX + 3 * i + j] * rate[j]
        clear(x, h, n)
        x[h + BIAS_ERROR + i] = 1.0
        take(x, n, turning - at[BIAS + i], settings[REST_RATE] ** 2 / span, measured, count)


def observe_field(
    x: FloatArray,
    n: int,
    at: FloatArray,
    constants: FloatArray,
    field: FloatArray,
    variance: float,
    measured: FloatArray,
    count: IntArray,
) -> None:
    """Take in that the magnetic field points north and keeps its strength and dip."""
    h = WINDOW + 3 * n
    q = (at[Q], at[Q + 1], at[Q + 2], at[Q + 3])
    late = constants[FIELD_DELAY]
    swings = quaternion_rotate(
        *q, field[FIELD_SWING], field[FIELD_SWING + 1], field[FIELD_SWING + 2]
    )
    east, north, up = quaternion_rotate(*q, field[0], field[1], field[2])
    east, north, up = east - late * swings[0], north - late * swings[1], up - late * swings[2]
    residuals = (-east, constants[USUAL_FIELD] - north, constants[USUAL_FIELD + 1] - up)
    turned = ((0.0, up, -north), (-up, 0.0, east), (north, -east, 0.0))
    for i in range(3):
        clear(x, h, n)
        for j in range(3):
            x[h + j] = turned[i][j]
        if i > 0:
            x[h + FIELD + i - 1] = -1.0
        x[h + DELAY] = -swings[i]
        take(x, n, residuals[i], variance, measured, count)


def take(
    x: FloatArray, n: int, residual: float, variance: float, measured: FloatArray, count: IntArray
) -> None:
    """Take in one scalar with the row H in ``x``, and write it down for the way back."""
    e, c, g, h, p = WINDOW, WINDOW + n, WINDOW + 2 * n, WINDOW + 3 * n, WINDOW + VECTORS * n
    clear(x, c, n)
    s, innovation = variance, residual
    for i in range(n):
        if x[h + i] != 0.0:
            project(x, p, n, c, i, x[h + i])
            innovation -= x[h + i] * x[e + i]
    for i in range(n):
        s += x[h + i] * x[c + i]
    at = count[0] * scalar_size(n)
    measured[at], measured[at + 1] = s, innovation
    for i in range(n):
        x[g + i] = x[c + i] / s
        measured[at + 2 + i] = x[g + i]
        measured[at + 2 + n + i] = x[h + i]
    count[0] += 1
    update(x, p, n, e, c, g, innovation, s)


def scalar_size(n: int) -> int:
    """Return how many values a measurement leaves: S, innovation, gain and H."""
    return 2 + 2 * n


def backward(
    x: FloatArray,
    n: int,
    windows: FloatArray,
    means: FloatArray,
    covariances: FloatArray,
    measured: FloatArray,
    counts: IntArray,
) -> None:
    """Turn filtered means into smoothed ones; ``x`` holds a window and the gradient."""
    e = WINDOW
    clear(x, e, n)
    for k in range(len(means) - 1, -1, -1):
        for i in range(n):
            moved = 0.0
            for j in range(n):
                moved += covariances[k, i * n + j] * x[e + j]
            means[k, i] -= moved
        for m in range(counts[k] - 1, -1, -1):
            at = m * scalar_size(n)
            g, h = at + 2, at + 2 + n
            slope = measured[k, at + 1] / measured[k, at]
            for i in range(n):
                slope += measured[k, g + i] * x[e + i]
            for i in range(n):
                x[e + i] -= measured[k, h + i] * slope
        if k > 0:
            for i in range(WINDOW):
                x[i] = windows[k - 1, i]
            retreat_rows(x, e, 1)


def uncertainty(
    x: FloatArray,
    n: int,
    windows: FloatArray,
    covariances: FloatArray,
    measured: FloatArray,
    counts: IntArray,
    spreads: FloatArray,
) -> None:
    """Write smoothed covariances of phi and bias; ``x`` holds a window and the Hessian."""
    p = WINDOW + VECTORS * n
    clear(x, p, n * n)
    for k in range(len(spreads) - 1, -1, -1):
        spread(x, n, covariances[k], spreads[k])
        for m in range(counts[k] - 1, -1, -1):
            forget(x, n, measured[k], m * scalar_size(n))
        if k > 0:
            for i in range(WINDOW):
                x[i] = windows[k - 1, i]
            retreat_rows(x, p, n)
            transpose(x, p, n)
            retreat_rows(x, p, n)


def forget(x: FloatArray, n: int, measured: FloatArray, at: int) -> None:
    """Lead the Hessian from after a scalar measurement to before it."""
    u, p = WINDOW, WINDOW + VECTORS * n
    g, h = at + 2, at + 2 + n
    bend = 1.0 / measured[at]
    for i in range(n):
        total = 0.0
        row = p + i * n
        for j in range(n):
            total += x[row + j] * measured[g + j]
        x[u + i] = total
        bend += total * measured[g + i]
    for i in range(n):
        hi = measured[h + i]
        if hi != 0.0:
            for j in range(n):
                x[p + i * n + j] += hi * (bend * measured[h + j] - x[u + j])
                x[p + j * n + i] -= hi * x[u + j]


def spread(x: FloatArray, n: int, covariance: FloatArray, out: FloatArray) -> None:
    """Write P - P Hessian P for phi (xx xy xz yy yz zz) and on the diagonal for the bias."""
    u, p = WINDOW, WINDOW + VECTORS * n
    m = 0
    for a in range(6):
        row, last = (a, 3) if a < 3 else (BIAS_ERROR + a - 3, BIAS_ERROR + a - 2)
        for j in range(n):
            total = 0.0
            for i in range(n):
                total += covariance[row * n + i] * x[p + i * n + j]
            x[u + j] = total
        for b in range(row, last):
            total = covariance[row * n + b]
            for j in range(n):
                total -= x[u + j] * covariance[b * n + j]
            out[m] = total
            m += 1


def fill(
    x: FloatArray,
    steps: FloatArray,
    knots: IntArray,
    path: FloatArray,
    constants: FloatArray,
    out: FloatArray,
) -> None:
    """Write the orientation at every sample: the corrected gyro between the knots."""
    for k in range(9):
        x[WORK_MATRIX + k] = constants[GYRO_MATRIX + k]
    for j in range(len(knots) - 1):
        for k in range(PATH):
            x[k] = path[j, k]
        first, last = knots[j], knots[j + 1]
        elapsed = 0.0
        for i in range(first, last + 1):
            if i > first:
                elapsed += steps[i, DT]
                hx, hy, hz = corrected_turn(
                    x, BIAS, WORK_MATRIX, steps[i, 0], steps[i, 1], steps[i, 2], steps[i, DT]
                )
                x[0], x[1], x[2], x[3] = quaternion_multiply(
                    x[0], x[1], x[2], x[3], *quaternion_exp(0.5 * hx, 0.5 * hy, 0.5 * hz)
                )
            out[i, 0], out[i, 1], out[i, 2], out[i, 3] = x[0], x[1], x[2], x[3]
        a = path[j + 1]
        px, py, pz = turn_between(x[0], x[1], x[2], x[3], a[0], a[1], a[2], a[3])
        done = 0.0
        for i in range(first, last + 1):
            if i > first:
                done += steps[i, DT]
            part = 0.5 * done / elapsed if elapsed > 0.0 else 0.0
            qx, qy, qz, qw = quaternion_multiply(
                *quaternion_exp(part * px, part * py, part * pz),
                out[i, 0],
                out[i, 1],
                out[i, 2],
                out[i, 3],
            )
            out[i, 0], out[i, 1], out[i, 2], out[i, 3] = qx, qy, qz, qw
