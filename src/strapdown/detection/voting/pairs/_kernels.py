"""Voting: which of two sensors that differ is wrong.

The difference does not say it, so each sensor is looked at by itself: whether it is clipped or
repeats itself; at rest, whether it has more noise than the other, or reads what cannot be; and in
motion, whether it agrees with the sensors of the other quantity. For this the specific force is
carried along by the angular velocity, and pulled to the measured one over the slow time
constant. Without acceleration both stay together, if both sensors are right.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.detection.voting.layout import (
    ACCEL_BIAS,
    APART,
    CALM,
    CARRIED,
    CUT,
    EXCESS,
    FAILED,
    GRAVITY,
    GYRO_BIAS,
    MIDDLE,
    MISS,
    NOISE_FREE,
    OWN,
    OWN_POWER,
    RANK,
    RUN,
    SHARED,
    SLOW_GAIN,
    STATE,
    STUCK_RUN,
    VOTES,
)
from strapdown.geometry._kernels import quaternion_exp, quaternion_rotate
from strapdown.intake._kernels import MAX_FORCE, MAX_RATE, usable

if TYPE_CHECKING:
    from strapdown._typing import FloatArray

BORROWS = True

EQUAL: Final = -1  # the two do not differ
UNKNOWN: Final = -2  # they do, and nothing says which is wrong
STILL_FORCE: Final = 0.2  # m/s^2 between fast and slow mean: the direction of gravity stays
SHAKEN: Final = 1.0  # m/s^2 of acceleration: nothing agrees with anything any more
MORE: Final = 4.0  # times the squares of the other of two
LEAST_CUT: Final = 1e-3  # share of clipped readings


def settle(
    rows: FloatArray, shared: FloatArray, settings: FloatArray, here: FloatArray, q: int
) -> int:
    """Return which of two sensors that vote is wrong, UNKNOWN, or EQUAL if they do not differ."""
    one = other = -1
    n = len(here)
    for i in range(n):
        if here[i, RANK] == VOTES:
            one, other = (i, other) if one < 0 else (one, i)
    a, b = rows[q * n + one], rows[q * n + other]
    if max(a[EXCESS], b[EXCESS]) <= 1.0:
        return EQUAL
    settled = shared[(1 - q) * SHARED + APART] == 0.0
    blame = by_health(a, b, settings)
    if blame == 0 and is_still(rows):
        blame = at_rest(a, b, settings, q)
    if blame == 0 and settled:
        blame = in_motion(a, b, settings)
    return UNKNOWN if blame == 0 else one if blame > 0 else other


def by_health(a: FloatArray, b: FloatArray, settings: FloatArray) -> int:
    """Return 1 if the first repeats itself or is clipped, -1 if the second is, 0 if neither."""
    blame = (a[RUN] >= STUCK_RUN) - (b[RUN] >= STUCK_RUN)
    if blame != 0 and settings[NOISE_FREE] == 0.0:
        return int(blame)
    return larger(a[CUT], b[CUT], LEAST_CUT)


def at_rest(a: FloatArray, b: FloatArray, settings: FloatArray, q: int) -> int:
    """Return 1 if the first has more noise or reads what cannot be, -1 if the second, else 0."""
    blame = larger(a[OWN_POWER], b[OWN_POWER], 0.0)
    if blame != 0:
        return blame
    off_a, off_b, bias = distance(a, settings, q), distance(b, settings, q), settings[GYRO_BIAS + q]
    if min(off_a, off_b) >= 0.5 * bias or max(off_a, off_b) <= bias:
        return 0
    return 1 if off_a > off_b else -1


def in_motion(a: FloatArray, b: FloatArray, settings: FloatArray) -> int:
    """Return 1 if only the second agrees with the other quantity, -1 if only the first, else 0."""
    if min(a[MISS], b[MISS]) > SHAKEN * SHAKEN:
        return 0
    return larger(a[MISS], b[MISS], MORE * settings[ACCEL_BIAS] * settings[ACCEL_BIAS])


def larger(a: float, b: float, least: float) -> int:
    """Return 1 if the first of two squares is clearly larger, -1 if the second is, else 0."""
    return int(a > max(MORE * b, least)) - int(b > max(MORE * a, least))


def is_still(rows: FloatArray) -> bool:
    """Whether an accelerometer that is not stuck reads the same all the time."""
    n = len(rows) // 2
    for i in range(n, 2 * n):
        row, apart = rows[i], 0.0
        for k in range(3):
            change = row[OWN + k] - row[CALM + k]
            apart += change * change
        if row[STATE] != FAILED and row[RUN] < STUCK_RUN and apart < STILL_FORCE * STILL_FORCE:
            return True
    return False


def distance(row: FloatArray, settings: FloatArray, q: int) -> float:
    """Return how far a sensor is from what it should read at rest."""
    x, y, z = row[OWN], row[OWN + 1], row[OWN + 2]
    norm = math.sqrt(x * x + y * y + z * z)
    return norm if q == 0 else abs(norm - settings[GRAVITY])


def carry_all(rows: FloatArray, shared: FloatArray, here: FloatArray, dt: float) -> None:
    """Carry the middle of the specific forces by each gyro, and each by the middle of the gyros.

    The middle favours neither of two; what is selected would favour its own neighbour. While more
    than two have not failed, the middle of these says who is wrong, and nothing is carried.
    """
    n, slow = len(here), shared[SLOW_GAIN]
    middle_rate, middle_force = shared[MIDDLE:], shared[SHARED + MIDDLE :]
    for q in range(2):
        good = 0
        for i in range(n):
            good += rows[q * n + i, STATE] != FAILED
        for i in range(n):
            row = rows[q * n + i]
            if good > 2:
                row[CARRIED] = row[CARRIED + 1] = row[CARRIED + 2] = row[MISS] = 0.0
            elif q == 0:
                carry(row, here[i], middle_force, slow, dt)
            else:
                carry(row, middle_rate, here[i, 3:], slow, dt)


def carry(row: FloatArray, rate: FloatArray, force: FloatArray, slow: float, dt: float) -> None:
    """Carry a specific force along with the body, and note how far the measured one is from it."""
    wx, wy, wz = rate[0], rate[1], rate[2]
    fx, fy, fz = force[0], force[1], force[2]
    x, y, z = row[CARRIED], row[CARRIED + 1], row[CARRIED + 2]
    if not (usable(wx, wy, wz, MAX_RATE) and usable(fx, fy, fz, MAX_FORCE)):
        row[CARRIED] = row[CARRIED + 1] = row[CARRIED + 2] = 0.0
        return
    if dt == 0.0 or (x == 0.0 and y == 0.0 and z == 0.0):
        row[CARRIED], row[CARRIED + 1], row[CARRIED + 2] = fx, fy, fz
        return
    half = -0.5 * dt
    turn = quaternion_exp(half * wx, half * wy, half * wz)
    x, y, z = quaternion_rotate(*turn, x, y, z)
    dx, dy, dz = fx - x, fy - y, fz - z
    row[MISS] += slow * (dx * dx + dy * dy + dz * dz - row[MISS])
    row[CARRIED], row[CARRIED + 1], row[CARRIED + 2] = x + slow * dx, y + slow * dy, z + slow * dz
