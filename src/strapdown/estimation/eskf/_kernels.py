"""One sample into the error-state Kalman filter: ``layout`` says where everything is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.estimation._kernels import (
    AT_REST,
    BIAS,
    BIAS_SIGMA,
    BRIDGE_S,
    COVARIANCE,
    DROPPED,
    HELD,
    ORIENTATION,
    RATE,
    START,
    STEP,
    intake,
    normalise,
    orientation,
    turn_world,
)
from strapdown.estimation.error_state._kernels import (
    ACCEL,
    BIAS_ERROR,
    MATRIX,
    SPAN,
    TURNED,
    XI,
    clear,
    clear_window,
    corrected_turn,
    extend_window,
    finish_window,
    predict_covariance,
    project,
    update,
)
from strapdown.estimation.eskf.field._kernels import (
    forget_field,
    gather_field,
    let_field_age,
    measure_field,
)
from strapdown.estimation.eskf.layout import (
    ACCEL_BIAS,
    ACCEL_BIAS_SIGMA,
    ACCEL_NOISE,
    AGE,
    ALIGNED,
    BIAS_SCALE,
    CLIPPED,
    COLUMN,
    DELAY,
    DEVIATION,
    ERROR,
    ERRORS,
    FIELD_COUNT,
    FORCE,
    FORCE_LOST,
    FRESH,
    GAIN,
    GYRO_BIAS_SIGMA,
    GYRO_BIAS_WALK,
    GYRO_MATRIX,
    GYRO_MATRIX_SIGMA,
    GYRO_NOISE,
    GYRO_SCALE_NOISE,
    LOST_SPEED,
    LOST_TURN,
    NORTH,
    READING,
    REST,
    REST_RATE_SIGMA,
    REST_SPEED_SIGMA,
    SPEED_SIGMA,
    SPEED_TIME,
    TILT_SIGMA,
    VELOCITY,
    WINDOW_AT,
    P,
)
from strapdown.estimation.eskf.motion._kernels import (
    clip_rate,
    coned,
    lose,
    mean_force,
    nan_if_dropout,
    stuck,
    watch,
)
from strapdown.geometry._kernels import quaternion_exp, quaternion_rotate
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

__all__ = ["FRESH", "step"]

BORROWS = True

WINDOW_S: Final = 0.1
MATRIX_LIMIT: Final = 0.05  # scale and misalignment beyond 5 % are no calibration error

MIN_FORCE: Final = 1.0  # m/s^2; a specific force this small (free fall) has no direction
ODD_FORCE: Final = 0.2  # of gravity: so far off, the first specific force says little of tilt
ODD_TILT_SIGMA: Final = 0.5  # rad

ODD_SPEED: Final = 16.0  # squared, in standard deviations: then velocity has been lost
ODD_BIAS: Final = 2.5  # standard deviations; a larger bias doubles what biases may be


def step(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    t_ns: int,
    wx: float,
    wy: float,
    wz: float,
    ax: float,
    ay: float,
    az: float,
    mx: float,
    my: float,
    mz: float,
    clipped: int,
) -> None:
    """Preintegrate a sample; at the end of a window predict and correct."""
    before = (state[RATE], state[RATE + 1], state[RATE + 2])
    force = (state[FORCE], state[FORCE + 1], state[FORCE + 2])
    held = state[HELD]
    wx = nan_if_dropout(wx, wy, wz, before, held)
    ax = nan_if_dropout(ax, ay, az, force, state[FORCE_LOST])
    s = intake(state, account, settings, t_ns, wx, wy, wz, ax, ay, az, mx, my, mz, clipped)
    if s.event == DROPPED:
        return
    if s.event == START:
        begin(state, settings)
    x, y, z, w = orientation(state)
    reading = (s.turn_x, s.turn_y, s.turn_z)
    lose(state, s.has_rate, s.hole, held, s.dt)
    if s.hole > 0.0:
        reading = coned(reading, min(s.hole, BRIDGE_S), before, (wx, wy, wz))
    clipped = s.clipped
    if s.has_rate:
        clipped |= stuck(state, before, (wx, wy, wz), s.event == STEP)
        clip_rate(state, clipped, s.dt, (wx, wy, wz))
    fx, fy, fz = mean_force(state, settings, s.has_force, clipped & 56 > 0, s.dt, (ax, ay, az))
    for i in range(3):
        state[READING + i] += reading[i]
    extend_window(
        state,
        WINDOW_AT,
        ORIENTATION,
        corrected_turn(state, BIAS, GYRO_MATRIX, *reading, s.dt),
        reading,
        (fx - state[ACCEL_BIAS], fy - state[ACCEL_BIAS + 1], fz - state[ACCEL_BIAS + 2]),
        s.dt,
    )
    if s.has_force and state[ALIGNED] == 0.0:
        align_tilt(state, settings, ax, ay, az)
    if s.has_field and state[ALIGNED] > 0.0:
        gather_field(state, settings, (mx, my, mz), s.has_rate, (wx, wy, wz))
    if s.has_rate and s.has_force:
        watch(state, s.dt, wx, wy, wz, ax, ay, az)
    state[COVARIANCE] += settings[GYRO_NOISE] ** 2 * s.dt
    state[COVARIANCE + 3] += settings[GYRO_NOISE] ** 2 * s.dt
    state[COVARIANCE + 5] += settings[GYRO_NOISE] ** 2 * s.dt
    if state[WINDOW_AT + SPAN] + 0.5 * s.dt >= WINDOW_S:
        finish(state, settings)
    normalise(state, x, y, z, w)


def begin(state: FloatArray, settings: FloatArray) -> None:
    """Start: tilt, heading and velocity are unknown; what was calibrated stays."""
    clear(state, VELOCITY, 3)
    for i in range(BIAS_ERROR):
        set_variance(state, i, math.pi if i < XI else settings[SPEED_SIGMA])
    if state[BIAS_SCALE] == 0.0:
        state[BIAS_SCALE] = settings[GYRO_BIAS_SIGMA]
        for i in range(3):
            set_variance(state, BIAS_ERROR + i, settings[GYRO_BIAS_SIGMA])
            set_variance(state, ACCEL + i, settings[ACCEL_BIAS_SIGMA])
        for i in range(9):
            set_variance(state, MATRIX + i, settings[GYRO_MATRIX_SIGMA])
    forget_field(state, settings)
    state[ALIGNED] = 0.0
    state[REST] = 0.0
    state[AT_REST] = 0.0
    clear_samples(state)
    publish(state)


def clear_samples(state: FloatArray) -> None:
    """Begin a window."""
    clear_window(state, WINDOW_AT)
    clear(state, READING, 3)
    clear(state, LOST_TURN, 3)
    state[LOST_SPEED] = 0.0
    state[CLIPPED] = 0.0


def set_variance(state: FloatArray, i: int, sigma: float) -> None:
    """Make one error as large as ``sigma`` and independent of the others."""
    for j in range(ERRORS):
        state[P + i * ERRORS + j] = 0.0
        state[P + j * ERRORS + i] = 0.0
    state[P + i * ERRORS + i] = sigma * sigma


def align_tilt(state: FloatArray, settings: FloatArray, ax: float, ay: float, az: float) -> None:
    """Turn the world by the smallest rotation that brings the specific force up."""
    x, y, z = quaternion_rotate(*orientation(state), ax, ay, az)
    norm = math.sqrt(x * x + y * y + z * z)
    if norm < MIN_FORCE:
        return
    w = norm + z
    scale = math.sqrt(x * x + y * y + w * w)
    if scale > 1e-6 * norm:
        turn_world(state, y / scale, -x / scale, 0.0, w / scale)
    else:
        turn_world(state, 1.0, 0.0, 0.0, 0.0)
    odd = abs(norm - STANDARD_GRAVITY) > ODD_FORCE * STANDARD_GRAVITY
    sigma = max(settings[TILT_SIGMA], ODD_TILT_SIGMA) if odd else settings[TILT_SIGMA]
    set_variance(state, 0, sigma)
    set_variance(state, 1, sigma)
    set_variance(state, 2, 0.0)
    clear_samples(state)
    publish(state)
    state[ALIGNED] = 1.0


def finish(state: FloatArray, settings: FloatArray) -> None:
    """End a window: predict over it, take in what is known of it, and begin the next."""
    span = state[WINDOW_AT + SPAN]
    if state[ALIGNED] == 0.0 or span == 0.0:
        clear_samples(state)
        return
    finish_window(state, WINDOW_AT, VELOCITY, STANDARD_GRAVITY)
    predict_covariance(state, P, ERRORS, WINDOW_AT, STANDARD_GRAVITY)
    add_noise(state, settings, span)
    clear(state, ERROR, ERRORS)
    measure_velocity(state, settings, span)
    if state[AT_REST] > 0.0:
        measure_rest(state, settings, span)
    if state[FIELD_COUNT] > 0.0:
        measure_field(state, settings, span)
    correct(state)
    widen_biases(state)
    refuse_matrix(state, settings)
    clear_samples(state)
    publish(state)


def add_noise(state: FloatArray, settings: FloatArray, span: float) -> None:
    """Let errors grow by what happened in the window."""
    n = ERRORS
    turn = settings[GYRO_NOISE] ** 2 * span
    turn += settings[GYRO_SCALE_NOISE] ** 2 * state[WINDOW_AT + TURNED]
    speed = settings[ACCEL_NOISE] ** 2 * span + state[LOST_SPEED]
    for i in range(3):
        state[P + i * (n + 1)] += turn + state[LOST_TURN + i]
        state[P + (XI + i) * (n + 1)] += speed
        state[P + (BIAS_ERROR + i) * (n + 1)] += settings[GYRO_BIAS_WALK] ** 2 * span
    let_field_age(state, settings, span)


def measure_velocity(state: FloatArray, settings: FloatArray, span: float) -> None:
    """Take in that what is worn or held does not travel: its velocity is 0, give or take."""
    n = ERRORS
    usual = settings[SPEED_SIGMA] ** 2
    odd = 0.0
    for i in range(3):
        odd += state[VELOCITY + i] ** 2 / (state[P + (XI + i) * (n + 1)] + usual)
    if odd > ODD_SPEED:  # a throw, a fall, a blow: forget the velocity, not the tilt
        for i in range(3):
            state[P + (XI + i) * (n + 1)] += state[VELOCITY + i] ** 2
    if state[AT_REST] > 0.0:
        r = settings[REST_SPEED_SIGMA] ** 2
    else:
        r = usual * max(1.0, 2.0 * settings[SPEED_TIME] / span)
    for i in range(3):
        s = start_update(state, XI + i, r)
        if state[CLIPPED] > 0.0:
            clear(state, GAIN + MATRIX, 9)
        residual = -state[VELOCITY + i] - state[ERROR + XI + i]
        update(state, P, n, ERROR, COLUMN, GAIN, residual, s)


def measure_rest(state: FloatArray, settings: FloatArray, span: float) -> None:
    """At rest, what is left of the gyro's reading is bias; M is not touched.

    M takes no part: through the noise in the reading it would be driven towards -1.
    """
    r = settings[REST_RATE_SIGMA] ** 2
    reading = (state[READING], state[READING + 1], state[READING + 2])
    turn = corrected_turn(state, BIAS, GYRO_MATRIX, *reading, span)
    for i in range(3):
        s = start_update(state, BIAS_ERROR + i, r)
        clear(state, GAIN + MATRIX, 9)
        residual = turn[i] / span - state[ERROR + BIAS_ERROR + i]
        update(state, P, ERRORS, ERROR, COLUMN, GAIN, residual, s)


def start_update(state: FloatArray, i: int, r: float) -> float:
    """Write P H^T and the gain for a measurement of error ``i`` alone; return its variance."""
    clear(state, COLUMN, ERRORS)
    project(state, P, ERRORS, COLUMN, i, 1.0)
    s: float = state[COLUMN + i] + r
    for j in range(ERRORS):
        state[GAIN + j] = state[COLUMN + j] / s
    return s


def correct(state: FloatArray) -> None:
    """Move the nominal state by the error that was found, and make P symmetric again."""
    n, e = ERRORS, ERROR
    turn = quaternion_exp(0.5 * state[e], 0.5 * state[e + 1], 0.5 * state[e + 2])
    turn_world(state, *turn)
    v = quaternion_rotate(*turn, state[VELOCITY], state[VELOCITY + 1], state[VELOCITY + 2])
    for i in range(3):
        state[VELOCITY + i] = v[i] + state[e + XI + i]
        state[BIAS + i] += state[e + BIAS_ERROR + i]
        state[ACCEL_BIAS + i] += state[e + ACCEL + i]
    for i in range(9):
        state[GYRO_MATRIX + i] += state[e + MATRIX + i]
    state[DEVIATION] += state[e + NORTH]
    state[DELAY] += state[e + AGE]
    for i in range(n):
        for j in range(i):
            mean = 0.5 * (state[P + i * n + j] + state[P + j * n + i])
            state[P + i * n + j] = mean
            state[P + j * n + i] = mean


def widen_biases(state: FloatArray) -> None:
    """Believe in larger biases, on any axis, when one is far beyond what was believed."""
    scale = state[BIAS_SCALE]
    largest = max(abs(state[BIAS]), abs(state[BIAS + 1]), abs(state[BIAS + 2]))
    if largest > ODD_BIAS * scale:
        state[BIAS_SCALE] = 2.0 * scale
        for i in range(3):
            state[P + (BIAS_ERROR + i) * (ERRORS + 1)] += 3.0 * scale * scale


def refuse_matrix(state: FloatArray, settings: FloatArray) -> None:
    """Begin anew with M where no gyro can be that wrong: something else was."""
    largest = 0.0
    for i in range(9):
        largest = max(largest, abs(state[GYRO_MATRIX + i]))
    if largest > MATRIX_LIMIT:
        for i in range(9):
            state[GYRO_MATRIX + i] = 0.0
            set_variance(state, MATRIX + i, settings[GYRO_MATRIX_SIGMA])


def publish(state: FloatArray) -> None:
    """Write what is known to the head of the state."""
    k = COVARIANCE
    for i in range(3):
        at = P + (BIAS_ERROR + i) * (ERRORS + 1)
        state[BIAS_SIGMA + i] = math.sqrt(max(state[at], 0.0))
        for j in range(i, 3):
            state[k] = state[P + i * ERRORS + j]
            k += 1
