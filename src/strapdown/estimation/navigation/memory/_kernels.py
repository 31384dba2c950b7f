"""What the strapdown navigator remembers, and what it is told.

After the places of :mod:`strapdown.estimation.navigation._kernels`:

=====  ===============  ==================================================================
state  name             holds
=====  ===============  ==================================================================
340    BEHIND           time since the last sample that was integrated [s]
341    STARTED          1 where there is a sample to integrate from
342    SPACING          the last two spacings [s]; 0 where the history does not reach
344    RATES            the last three angular velocities, newest first [rad/s, body]
353    FORCES           the same of specific force [m/s^2, body]
362    TURN             integral of the last sample alone [rad, body]
365    PUSHES           the same of specific force, of the last two [m/s, body]
371    FORCE            last usable specific force [m/s^2, body]
374    MEAN_FORCE       its running mean
377    FORCE_SPREAD     running mean square of its deviation [m^2/s^4]
378    RATE_SQUARE      running mean square of the angular velocity [rad^2/s^2]
379    CLIPPED_TURN     how long the gyro, and the accelerometer, have been saturated [s]
381    ALIGNED          1 when the start is over
382    ALIGN_TIME       how long it has taken [s]
383    COUNT            samples in the sums that follow
384    SUM_RATE         of angular velocity, of specific force, and of the squares of both
392    REFUSED          aidings of each kind that were refused in a row
=====  ===============  ==================================================================
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.estimation._kernels import (
    BIAS,
    FRESH_HEAD,
    GAP_FLOOR_S,
    GAP_INTERVALS,
    INTERVAL,
    ORIENTATION,
    OWN_SETTINGS,
    RATE,
    approach,
    gain,
)
from strapdown.estimation.navigation._kernels import (
    ACCEL_BIAS,
    D_ACCEL_BIAS,
    D_ORIENTATION,
    D_POSITION,
    D_VELOCITY,
    NAVIGATOR,
    POSITION,
    SIZE,
    SPREAD,
    VELOCITY,
    widen,
)
from strapdown.integration.navigation._kernels import Earth, plus

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.integration._kernels import Vector

BORROWS = True

BEHIND: Final = NAVIGATOR
STARTED: Final = BEHIND + 1
SPACING: Final = STARTED + 1
RATES: Final = SPACING + 2
FORCES: Final = RATES + 9
TURN: Final = FORCES + 9
PUSHES: Final = TURN + 3
FORCE: Final = PUSHES + 6
MEAN_FORCE: Final = FORCE + 3
FORCE_SPREAD: Final = MEAN_FORCE + 3
RATE_SQUARE: Final = FORCE_SPREAD + 1
CLIPPED_TURN: Final = RATE_SQUARE + 1
CLIPPED_PUSH: Final = CLIPPED_TURN + 1
ALIGNED: Final = CLIPPED_PUSH + 1
ALIGN_TIME: Final = ALIGNED + 1
COUNT: Final = ALIGN_TIME + 1
SUM_RATE: Final = COUNT + 1
SUM_FORCE: Final = SUM_RATE + 3
SUM_RATE_SQUARE: Final = SUM_FORCE + 3
SUM_FORCE_SQUARE: Final = SUM_RATE_SQUARE + 1
REFUSED: Final = SUM_FORCE_SQUARE + 1
KINDS: Final = 5
FRESH: Final = FRESH_HEAD + (0.0,) * (REFUSED + KINDS - len(FRESH_HEAD))

GYRO_NOISE: Final = OWN_SETTINGS
ACCEL_NOISE: Final = GYRO_NOISE + 1
GYRO_WALK: Final = ACCEL_NOISE + 1
ACCEL_WALK: Final = GYRO_WALK + 1
ALIGN_FOR: Final = ACCEL_WALK + 1
GYRO_BIAS_SIGMA: Final = ALIGN_FOR + 1
ACCEL_BIAS_SIGMA: Final = GYRO_BIAS_SIGMA + 1
VELOCITY_SIGMA: Final = ACCEL_BIAS_SIGMA + 1
HEADING: Final = VELOCITY_SIGMA + 1
HEADING_SIGMA: Final = HEADING + 1
EARTH: Final = HEADING_SIGMA + 1

# A row of results: q, v, p, gyro bias, accelerometer bias, angular velocity, the sigmas of the
# biases (accelerometer first), the covariance of position, velocity and orientation.
ROW_SIGMAS: Final = 4 + 3 * 5
ROW_COVARIANCE: Final = ROW_SIGMAS + 6
ROW: Final = ROW_COVARIANCE + 81

SMOOTHING_S: Final = 0.5  # of what is known of the motion before a hole
LOST_TURN: Final = 1.0  # of the usual turn in the time of a hole
LOST_PUSH: Final = 0.5
CLIPPED: Final = 0.5  # of a full range, while an axis is saturated


def remember_motion(state: FloatArray, h: float, w: Vector, f: Vector) -> None:
    """Keep the usual size of rates and accelerations, for what may happen in a hole."""
    weight = gain(h, SMOOTHING_S) if state[STARTED] > 0.0 else 1.0
    approach(state, MEAN_FORCE, weight, f[0], f[1], f[2])
    away = plus(f, three(state, MEAN_FORCE), -1.0)
    state[FORCE_SPREAD] += weight * (dot(away, away) - state[FORCE_SPREAD])
    state[RATE_SQUARE] += weight * (dot(w, w) - state[RATE_SQUARE])


def loosen(state: FloatArray, hole: float) -> None:
    """Widen the covariance for a hole: what happened in it is lost, not known."""
    angle = LOST_TURN * math.sqrt(state[RATE_SQUARE]) * hole
    gravity = math.sqrt(dot(three(state, MEAN_FORCE), three(state, MEAN_FORCE)))
    away = gravity * min(1.0, angle) + math.sqrt(state[FORCE_SPREAD])
    speed = LOST_PUSH * hole * away
    widen(state, D_ORIENTATION, angle * angle)
    widen(state, D_VELOCITY, speed * speed)
    widen(state, D_POSITION, 0.25 * speed * speed * hole * hole)


def widen_clipped(state: FloatArray, clipped: int, h: float, w: Vector, f: Vector) -> None:
    """Widen the covariance while axes are saturated, as of an error that lasts."""
    for bits, at, error, reading in (
        (7, CLIPPED_TURN, D_ORIENTATION, w),
        (56, CLIPPED_PUSH, D_VELOCITY, f),
    ):
        if clipped & bits:
            size = CLIPPED * CLIPPED * dot(reading, reading)
            widen(state, error, size * h * (2.0 * state[at] + h))
            state[at] += h
        else:
            state[at] = 0.0


def describe(state: FloatArray, row: FloatArray) -> None:
    """Write a row of results."""
    for k in range(4):
        row[k] = state[ORIENTATION + k]
    for k in range(3):
        row[4 + k] = state[VELOCITY + k]
        row[7 + k] = state[POSITION + k]
        row[10 + k] = state[BIAS + k]
        row[13 + k] = state[ACCEL_BIAS + k]
        row[16 + k] = state[RATE + k] - state[BIAS + k]
    for k in range(6):
        variance = state[SPREAD + (SIZE + 1) * (D_ACCEL_BIAS + k)]
        row[ROW_SIGMAS + k] = math.sqrt(max(variance, 0.0))
    for j in range(D_ACCEL_BIAS):
        for k in range(D_ACCEL_BIAS):
            row[ROW_COVARIANCE + D_ACCEL_BIAS * j + k] = state[SPREAD + SIZE * j + k]


def earth_of(settings: FloatArray) -> Earth:
    """Return the world around the origin."""
    at = EARTH
    return Earth(
        settings[at], settings[at + 1], settings[at + 2], settings[at + 3], settings[at + 4],
        settings[at + 5], settings[at + 6],
    )  # fmt: skip


def gap_after(state: FloatArray) -> float:
    longest: float = max(GAP_INTERVALS * state[INTERVAL], GAP_FLOOR_S)
    return longest


def unbiased(state: FloatArray, bias: int, total: Vector, h: float) -> Vector:
    """Return an integral over h seconds less a bias."""
    return plus(total, three(state, bias), -h)


def three(state: FloatArray, at: int) -> Vector:
    return state[at], state[at + 1], state[at + 2]


def store(state: FloatArray, at: int, v: Vector) -> None:
    state[at], state[at + 1], state[at + 2] = v


def shift(state: FloatArray, at: int, size: int, newest: Vector) -> None:
    """Put a vector in front of a history of ``size`` floats."""
    for k in range(at + size - 1, at + 2, -1):
        state[k] = state[k - 3]
    store(state, at, newest)


def dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
