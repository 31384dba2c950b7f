"""What corrects VQF: rest, tilt by gravity, the gyro's bias, heading by the magnetic field.

D. Laidig, T. Seel, "VQF: Highly accurate IMU orientation estimation with bias estimation and
magnetic disturbance rejection", Information Fusion 91, 2023. What the state holds stands in
:mod:`strapdown.estimation.vqf.layout`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

from strapdown.estimation._kernels import (
    AT_REST,
    BIAS,
    COVARIANCE,
    DISTURBED,
    HEADING_OFFSET,
    ORIENTATION,
)
from strapdown.estimation.vqf.layout import (
    BASE,
    BIAS_CLIP,
    BIAS_FORGETTING,
    BIAS_SIGMA_MOTION,
    BIAS_SIGMA_REST,
    BIAS_SIGMA_START,
    BIAS_VERTICAL,
    CANDIDATE,
    CANDIDATE_TIME,
    DIP_ANCHOR,
    DIP_TOLERANCE,
    DRIFT,
    FIELD_MEMORY,
    FIELD_PACE,
    FIELD_TAU,
    FIRST_FIELD_TIME,
    FORCE_PACE,
    FRAME,
    FRAME_SIZE,
    GYRO,
    HALF,
    HEADING_SIGMA,
    LEARNS_AT_REST,
    LEARNS_IN_MOTION,
    LEVEL,
    NEW_FIELD_RATE,
    NEW_FIELD_TIME,
    NOISE_AT_REST,
    NOISE_LEVEL,
    NOISE_VERTICAL,
    OPENING,
    PAUSE,
    RATE_NOISE,
    RATE_PACE,
    REJECTED,
    REJECTION_FACTOR,
    REJECTION_TIME,
    REJECTS,
    REST,
    REST_FORCE,
    REST_RATE,
    REST_TAU,
    REST_TIME,
    SLOW_FIELD,
    SLOW_FORCE,
    SLOW_RATE,
    SPREAD,
    STRENGTH_TOLERANCE,
    TAU_ACC,
    TAU_MAG,
    TILT,
    TILT_SIGMA,
    UNDISTURBED,
    UNDISTURBED_TIME,
    USUAL,
)
from strapdown.estimation.vqf.parts._kernels import (
    angle,
    clipped,
    design,
    four,
    inverse,
    low_pass,
    paced,
    quadratic,
    quick_gain,
    small_turn,
    store_four,
    unit,
    upright,
    wrapped,
)
from strapdown.geometry._kernels import (
    quaternion_rotate,
)

if TYPE_CHECKING:
    from strapdown._typing import FloatArray

INLINE = True
BORROWS = True

Matrix: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]

FORGOTTEN: Final = 0.1 * math.pi / 180.0  # rad/s, what a bias may drift in BIAS_FORGETTING
NO_BASE: Final = 2.0  # stands for the last part of a quaternion that is not there
MIN_UP: Final = 1.0  # m/s^2; a mean specific force this small (free fall) has no direction
UNKNOWN: Final = math.pi**2 / 3.0  # rad^2, variance of an angle of which nothing is known
CORRELATED_S: Final = 0.3  # so long specific forces of a motion err in the same way, ...
FORCE_WORTH: Final = 0.2**2 * CORRELATED_S  # rad^2 s, ... by so much of gravity: what a mean errs
STEADY_FIELD_S: Final = 1.0  # the same for heading by the magnetic field
FIELD_WORTH: Final = 0.1**2 * STEADY_FIELD_S
TINY: Final = 1e-30  # keeps a quotient finite
IDENTITY: Final = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
DIAGONAL: Final = (0, 3, 5)  # of a symmetric matrix kept as xx xy xz yy yz zz


def design_for_rate(state: FloatArray, settings: FloatArray) -> None:
    interval = state[RATE_PACE + 2] = state[RATE_PACE]
    design(state, SLOW_RATE, 3, settings[REST_TAU], interval)


def design_for_force(state: FloatArray, settings: FloatArray) -> None:
    interval = state[FORCE_PACE + 2] = state[FORCE_PACE]
    design(state, LEVEL, 3, settings[TAU_ACC], interval)
    design(state, FRAME, FRAME_SIZE, settings[TAU_ACC], interval)
    design(state, SLOW_FORCE, 3, settings[REST_TAU], interval)
    drift = FORGOTTEN * FORGOTTEN / settings[BIAS_FORGETTING]
    state[DRIFT] = drift
    state[NOISE_LEVEL] = steady_noise(settings[BIAS_SIGMA_MOTION], drift * interval)
    state[NOISE_VERTICAL] = state[NOISE_LEVEL] / settings[BIAS_VERTICAL]
    state[NOISE_AT_REST] = steady_noise(settings[BIAS_SIGMA_REST], drift * interval)


def design_for_field(state: FloatArray, settings: FloatArray) -> None:
    interval = state[FIELD_PACE + 2] = state[FIELD_PACE]
    design(state, SLOW_FIELD, 2, settings[FIELD_TAU], interval)


def watch_rate(
    state: FloatArray, settings: FloatArray, wait: float, x: float, y: float, z: float
) -> None:
    """End the rest if the rate differs from its low-pass, or that is more than a bias."""
    if paced(state, RATE_PACE, wait):
        design_for_rate(state, settings)
    state[SLOW_RATE], state[SLOW_RATE + 1], state[SLOW_RATE + 2] = x, y, z
    low_pass(state, SLOW_RATE, 3, settings[REST_TAU], state[RATE_PACE])
    sx, sy, sz = state[SLOW_RATE], state[SLOW_RATE + 1], state[SLOW_RATE + 2]
    off = (x - sx) * (x - sx) + (y - sy) * (y - sy) + (z - sz) * (z - sz)
    most = max(abs(sx), abs(sy), abs(sz))
    if off >= settings[REST_RATE] * settings[REST_RATE] or most > settings[BIAS_CLIP]:
        state[REST] = 0.0
        state[AT_REST] = 0.0


def watch_force(
    state: FloatArray, settings: FloatArray, wait: float, x: float, y: float, z: float
) -> None:
    """End the rest if the specific force differs from its low-pass, or let it go on."""
    if paced(state, FORCE_PACE, wait):
        design_for_force(state, settings)
    state[SLOW_FORCE], state[SLOW_FORCE + 1], state[SLOW_FORCE + 2] = x, y, z
    low_pass(state, SLOW_FORCE, 3, settings[REST_TAU], state[FORCE_PACE])
    x -= state[SLOW_FORCE]
    y -= state[SLOW_FORCE + 1]
    z -= state[SLOW_FORCE + 2]
    if x * x + y * y + z * z >= settings[REST_FORCE] * settings[REST_FORCE]:
        state[REST] = 0.0
        state[AT_REST] = 0.0
        return
    state[REST] += wait
    if state[REST] >= settings[REST_TIME]:
        state[AT_REST] = 1.0


def correct_tilt(
    state: FloatArray, settings: FloatArray, x: float, y: float, z: float
) -> tuple[float, float]:
    """Turn by the smallest rotation that brings the low-passed specific force up.

    Return east and north of its direction before, as far as they tell of the bias: what sets
    tilt at first does not.
    """
    state[LEVEL], state[LEVEL + 1], state[LEVEL + 2] = quaternion_rotate(
        *four(state, GYRO), x, y, z
    )
    at = BASE if state[LEVEL + 9] >= 0.0 and state[BASE + 3] != NO_BASE else TILT
    first = state[LEVEL + 9] == 0.0
    low_pass(state, LEVEL, 3, settings[TAU_ACC], state[FORCE_PACE])
    qx, qy, qz, qw = unit(*four(state, at))
    x, y, z = quaternion_rotate(qx, qy, qz, qw, state[LEVEL], state[LEVEL + 1], state[LEVEL + 2])
    square = x * x + y * y + z * z
    if square < MIN_UP * MIN_UP:
        return 0.0, 0.0
    scale = math.sqrt(square) * (1.0 / square)  # both at a time, other than 1 / sqrt
    x, y, z = scale * x, scale * y, scale * z
    px, py, pw = upright(x, y, z)
    store_four(
        state,
        TILT,
        pw * qx + px * qw + py * qz,
        pw * qy - px * qz + py * qw,
        pw * qz + px * qy - py * qx,
        pw * qw - px * qx - py * qy,
    )
    return (0.0, 0.0) if first else (x, y)


def learn_bias(
    state: FloatArray, settings: FloatArray, wait: float, up_x: float, up_y: float, r: Matrix
) -> None:
    """Follow the bias: at rest by what the gyro reads, in motion by what tilt had to be corrected.

    A Kalman filter with the measurement e = H (bias - estimate), H the identity or the low-passed
    matrix of the attitude.
    """
    bx, by, bz = state[BIAS], state[BIAS + 1], state[BIAS + 2]
    for i in range(9):
        state[FRAME + i] = r[i]
    state[FRAME + 9] = r[0] * bx + r[1] * by + r[2] * bz
    state[FRAME + 10] = r[3] * bx + r[4] * by + r[5] * bz
    low_pass(state, FRAME, FRAME_SIZE, settings[TAU_ACC], state[FORCE_PACE])
    start = settings[BIAS_SIGMA_START] * settings[BIAS_SIGMA_START]
    for i in DIAGONAL:
        if state[SPREAD + i] < start:
            state[SPREAD + i] += state[DRIFT] * wait
    state[PAUSE] = max(state[PAUSE] - state[FORCE_PACE], 0.0)
    if state[AT_REST] > 0.0 and settings[LEARNS_AT_REST] > 0.0:
        h = IDENTITY
        level = vertical = state[NOISE_AT_REST]
        ex, ey, ez = state[SLOW_RATE] - bx, state[SLOW_RATE + 1] - by, state[SLOW_RATE + 2] - bz
    elif state[PAUSE] == 0.0 and settings[LEARNS_IN_MOTION] > 0.0:
        h = nine(state, FRAME)
        level, vertical = state[NOISE_LEVEL], state[NOISE_VERTICAL]
        pace = 1.0 / state[FORCE_PACE + 2]
        ex = state[FRAME + 9] - up_y * pace - (h[0] * bx + h[1] * by + h[2] * bz)
        ey = state[FRAME + 10] + up_x * pace - (h[3] * bx + h[4] * by + h[5] * bz)
        ez = -(h[6] * bx + h[7] * by + h[8] * bz)
    else:
        return
    clip = settings[BIAS_CLIP]
    update_bias(
        state, clip, h, level, vertical, clipped(ex, clip), clipped(ey, clip), clipped(ez, clip)
    )


def update_bias(
    state: FloatArray, clip: float, h: Matrix, level: float, vertical: float,
    ex: float, ey: float, ez: float,
) -> None:  # fmt: skip
    """Update bias and covariance by three measurements with independent noises."""
    p = SPREAD
    pxx, pxy, pxz = state[p], state[p + 1], state[p + 2]
    pyy, pyz, pzz = state[p + 3], state[p + 4], state[p + 5]
    # a = P H^T
    a00 = pxx * h[0] + pxy * h[1] + pxz * h[2]
    a10 = pxy * h[0] + pyy * h[1] + pyz * h[2]
    a20 = pxz * h[0] + pyz * h[1] + pzz * h[2]
    a01 = pxx * h[3] + pxy * h[4] + pxz * h[5]
    a11 = pxy * h[3] + pyy * h[4] + pyz * h[5]
    a21 = pxz * h[3] + pyz * h[4] + pzz * h[5]
    a02 = pxx * h[6] + pxy * h[7] + pxz * h[8]
    a12 = pxy * h[6] + pyy * h[7] + pyz * h[8]
    a22 = pxz * h[6] + pyz * h[7] + pzz * h[8]
    # s = (noise + H a)^-1, symmetric
    s00, s01, s02, s11, s12, s22 = inverse(
        h[0] * a00 + h[1] * a10 + h[2] * a20 + level,
        h[0] * a01 + h[1] * a11 + h[2] * a21,
        h[0] * a02 + h[1] * a12 + h[2] * a22,
        h[3] * a01 + h[4] * a11 + h[5] * a21 + level,
        h[3] * a02 + h[4] * a12 + h[5] * a22,
        h[6] * a02 + h[7] * a12 + h[8] * a22 + vertical,
    )
    # k = a s
    k00 = a00 * s00 + a01 * s01 + a02 * s02
    k01 = a00 * s01 + a01 * s11 + a02 * s12
    k02 = a00 * s02 + a01 * s12 + a02 * s22
    k10 = a10 * s00 + a11 * s01 + a12 * s02
    k11 = a10 * s01 + a11 * s11 + a12 * s12
    k12 = a10 * s02 + a11 * s12 + a12 * s22
    k20 = a20 * s00 + a21 * s01 + a22 * s02
    k21 = a20 * s01 + a21 * s11 + a22 * s12
    k22 = a20 * s02 + a21 * s12 + a22 * s22
    state[BIAS] = clipped(state[BIAS] + (k00 * ex + k01 * ey + k02 * ez), clip)
    state[BIAS + 1] = clipped(state[BIAS + 1] + (k10 * ex + k11 * ey + k12 * ez), clip)
    state[BIAS + 2] = clipped(state[BIAS + 2] + (k20 * ex + k21 * ey + k22 * ez), clip)
    state[p] = pxx - (k00 * a00 + k01 * a01 + k02 * a02)
    state[p + 1] = pxy - (k00 * a10 + k01 * a11 + k02 * a12)
    state[p + 2] = pxz - (k00 * a20 + k01 * a21 + k02 * a22)
    state[p + 3] = pyy - (k10 * a10 + k11 * a11 + k12 * a12)
    state[p + 4] = pyz - (k10 * a20 + k11 * a21 + k12 * a22)
    state[p + 5] = pzz - (k20 * a20 + k21 * a21 + k22 * a22)


def nine(state: FloatArray, at: int) -> Matrix:
    return (
        state[at], state[at + 1], state[at + 2], state[at + 3], state[at + 4],
        state[at + 5], state[at + 6], state[at + 7], state[at + 8],
    )  # fmt: skip


def steady_noise(sigma: float, drift: float) -> float:
    """Return the variance of a measurement that leaves a drifting state uncertain by sigma."""
    square = sigma * sigma
    return square * square / drift + square


def correct_heading(
    state: FloatArray,
    settings: FloatArray,
    wait: float,
    east: float,
    north: float,
    up: float,
    errors: bool,
) -> None:
    """Turn a part of the angle about the vertical that brings the magnetic field north."""
    if paced(state, FIELD_PACE, wait):
        design_for_field(state, settings)
    weight = quick_gain(wait, settings[TAU_MAG])
    if settings[REJECTS] > 0.0:
        judge_field(state, settings, wait, east, north, up)
        if state[DISTURBED] == 0.0:
            refilled = state[REJECTED] - settings[REJECTION_FACTOR] * wait
            state[REJECTED] = max(refilled, 0.0)
        elif state[REJECTED] <= settings[REJECTION_TIME]:
            state[REJECTED] += wait
            weight = 0.0
        else:
            weight /= settings[REJECTION_FACTOR]
    opening = state[OPENING]
    if opening > 0.0:
        weight = max(weight, opening)
        after = opening / (opening + 1.0)
        state[OPENING] = after if after * settings[TAU_MAG] >= state[FIELD_PACE] else 0.0
    if errors:
        steepness = up * up / (east * east + north * north + TINY)
        narrow_heading(state, settings, weight, opening, steepness)
    if weight == 0.0:
        return
    _, _, sine, cosine = unit(0.0, 0.0, state[HALF], state[HALF + 1])
    c, s = cosine * cosine - sine * sine, 2.0 * sine * cosine
    change = weight * angle(c * east - s * north, s * east + c * north)
    state[HEADING_OFFSET] = wrapped(state[HEADING_OFFSET] + change)
    turned, kept = small_turn(0.5 * change)
    state[HALF] = turned * cosine + kept * sine
    state[HALF + 1] = kept * cosine - turned * sine


def judge_field(
    state: FloatArray, settings: FloatArray, wait: float, east: float, north: float, up: float
) -> None:
    """Tell whether the field is the usual one, and follow it; get used to another in time."""
    square = east * east + north * north
    state[SLOW_FIELD] = math.sqrt(square + up * up)
    state[SLOW_FIELD + 1] = dip(state, math.sqrt(square), up)
    low_pass(state, SLOW_FIELD, 2, settings[FIELD_TAU], state[FIELD_PACE])
    memory = quick_gain(wait, settings[FIELD_MEMORY])
    if resembles(state, settings, USUAL):
        state[UNDISTURBED] += wait
        if state[UNDISTURBED] >= settings[UNDISTURBED_TIME]:
            state[DISTURBED] = 0.0
            follow(state, USUAL, memory)
    else:
        state[UNDISTURBED] = 0.0
        state[DISTURBED] = 1.0
    if not resembles(state, settings, CANDIDATE):
        state[CANDIDATE_TIME] = 0.0
        follow(state, CANDIDATE, 1.0)
        return
    x, y, z = state[SLOW_RATE], state[SLOW_RATE + 1], state[SLOW_RATE + 2]
    if x * x + y * y + z * z >= settings[NEW_FIELD_RATE] * settings[NEW_FIELD_RATE]:
        state[CANDIDATE_TIME] += wait
    follow(state, CANDIDATE, memory)
    first = state[USUAL] == 0.0 and state[CANDIDATE_TIME] >= settings[FIRST_FIELD_TIME]
    if state[DISTURBED] > 0.0 and (first or state[CANDIDATE_TIME] >= settings[NEW_FIELD_TIME]):
        state[USUAL], state[USUAL + 1] = state[CANDIDATE], state[CANDIDATE + 1]
        state[DISTURBED] = 0.0
        state[UNDISTURBED] = settings[UNDISTURBED_TIME]


def dip(state: FloatArray, level: float, up: float) -> float:
    """Return the angle by which the field points down, found from the one of a field before."""
    sine, cosine = state[DIP_ANCHOR + 1], state[DIP_ANCHOR + 2]
    change = angle(-up * cosine - level * sine, level * cosine - up * sine)
    now = float(state[DIP_ANCHOR]) + change
    if abs(change) > 0.1:
        state[DIP_ANCHOR] = now
        state[DIP_ANCHOR + 1], state[DIP_ANCHOR + 2] = math.sin(now), math.cos(now)
    return now


def resembles(state: FloatArray, settings: FloatArray, at: int) -> bool:
    """Whether the low-passed field is close to a strength and a dip."""
    off = abs(state[SLOW_FIELD] - state[at]) < settings[STRENGTH_TOLERANCE] * state[at]
    return bool(off and abs(state[SLOW_FIELD + 1] - state[at + 1]) < settings[DIP_TOLERANCE])


def follow(state: FloatArray, at: int, weight: float) -> None:
    """Move a strength and a dip towards the low-passed field."""
    state[at] += weight * (state[SLOW_FIELD] - state[at])
    state[at + 1] += weight * (state[SLOW_FIELD + 1] - state[at + 1])


def let_errors_grow(state: FloatArray, settings: FloatArray, dt: float) -> None:
    """Let the variances of tilt and heading grow by noise, and as fast as the bias may turn."""
    p = SPREAD
    pxx, pxy, pxz = state[p], state[p + 1], state[p + 2]
    pyy, pyz, pzz = state[p + 3], state[p + 4], state[p + 5]
    x, y, z, w = four(state, ORIENTATION)
    up_x, up_y, up_z = 2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)
    about_up = quadratic(pxx, pxy, pxz, pyy, pyz, pzz, up_x, up_y, up_z)
    level = 0.5 * max(pxx + pyy + pzz - about_up, 0.0)
    noise = settings[RATE_NOISE] * settings[RATE_NOISE]
    tilt, heading = state[COVARIANCE], state[COVARIANCE + 5]
    tilt += dt * (noise + 2.0 * math.sqrt(tilt * level))
    heading += dt * (noise + 2.0 * math.sqrt(heading * about_up))
    state[COVARIANCE] = state[COVARIANCE + 3] = min(tilt, UNKNOWN)
    state[COVARIANCE + 5] = min(heading, UNKNOWN)


def narrow_tilt(state: FloatArray, settings: FloatArray, wait: float) -> None:
    """Let the variance of tilt shrink to what the specific force tells."""
    floor = settings[TILT_SIGMA] * settings[TILT_SIGMA]
    count = state[LEVEL + 9]
    tilt = state[COVARIANCE]
    if count >= 0.0:
        floor = max(floor, FORCE_WORTH / (count * state[FORCE_PACE] + CORRELATED_S))
        tilt = min(tilt, floor)
    kept = 1.0 - quick_gain(wait, settings[TAU_ACC])
    tilt = floor + kept * kept * (tilt - floor)
    state[COVARIANCE] = state[COVARIANCE + 3] = tilt


def narrow_heading(
    state: FloatArray, settings: FloatArray, weight: float, opening: float, steepness: float
) -> None:
    """Let the variance of heading shrink to what the magnetic field tells.

    ``steepness`` is the square of the tangent of its dip, by which an error of tilt grows.
    """
    floor = settings[HEADING_SIGMA] * settings[HEADING_SIGMA] + steepness * state[COVARIANCE]
    if opening > 0.0:
        floor = max(
            floor, FIELD_WORTH / ((1.0 / opening - 1.0) * state[FIELD_PACE] + STEADY_FIELD_S)
        )
    floor = min(floor, UNKNOWN)
    kept = 1.0 - weight
    state[COVARIANCE + 5] = floor + kept * kept * (state[COVARIANCE + 5] - floor)
