"""What single samples tell: the mean specific force, rest, and what has been lost.

What a hole in the rates, a clipped axis or a missing specific force hides is not known; its
variance is gathered over the window and added to that of turn and velocity.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.estimation._kernels import (
    AT_REST,
    BIAS,
    BRIDGE_S,
    MEAN_SAMPLES,
    approach,
    gain,
    orientation,
)
from strapdown.estimation.eskf.layout import (
    ACCEL_BIAS,
    ALIGNED,
    CLIPPED,
    FORCE,
    FORCE_LOST,
    FORCE_POWER,
    LOST_SPEED,
    LOST_TURN,
    PEAK,
    RATE_LOST,
    RATE_POWER,
    REST,
    SLOW_FORCE,
    SLOW_RATE,
)
from strapdown.geometry._kernels import quaternion_rotate
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from typing import TypeAlias

    from strapdown._typing import FloatArray

    Three: TypeAlias = tuple[float, float, float]

BORROWS = True

REST_RATE: Final = 2.0 * math.pi / 180.0  # rad/s, about the low-passed value; as in VQF
REST_FORCE: Final = 0.5  # m/s^2, likewise
REST_RATE_LIMIT: Final = 6.0 * math.pi / 180.0  # rad/s, of the low-passed value without bias
REST_SMOOTHING_S: Final = 0.5
REST_AFTER_S: Final = 1.0
LONGEST_REST_S: Final = 10.0
LOST_SHARE: Final = 0.6  # of the turn at the usual rate: what a hole in the rates hides ...
LOST_AFTER_S: Final = 0.3  # ... if it is as long as this; less in a shorter one
LEAST_LOST_RATE: Final = 0.1  # rad/s; so much a body is believed to turn unseen
CLIPPED_SHARE: Final = 0.5  # of a clipped rate, or of gravity: what may lie beyond the range
LEAST_CLIPPED_RATE: Final = 4.0  # rad/s; no gyro saturates below
DROPOUT_S: Final = 0.1  # longer zeros are readings
LEAST_DROPOUT: Final = 0.2  # rad/s or m/s^2, on an axis before
HELD_FORCE_S: Final = 0.1  # so long the last specific force stands for missing ones


def nan_if_dropout(x: float, y: float, z: float, before: Three, missing: float) -> float:
    """Return x, or NaN where three zeros follow other readings: lost ones, unless it goes on."""
    zero = x == 0.0 and y == 0.0 and z == 0.0 and missing < DROPOUT_S
    usual = max(abs(before[0]), abs(before[1]), abs(before[2])) > LEAST_DROPOUT
    return math.nan if zero and usual else x


def lose(state: FloatArray, has_rate: bool, hole: float, held: float, dt: float) -> None:
    """Count what the body did while there were no rates: it is lost, not known.

    A hole is counted when it ends, but for what lasted longer than rates are held, ``held``
    before this sample: that has been counted sample by sample.
    """
    unheld = max(held - BRIDGE_S, 0.0)
    if has_rate and hole > 0.0:
        start, end = unheld, hole
    elif not has_rate and held >= BRIDGE_S:
        start, end = unheld, unheld + dt
    else:
        return
    share = LOST_SHARE * min(end / LOST_AFTER_S, 1.0)
    turn2 = share * share * max(state[RATE_POWER], LEAST_LOST_RATE**2)
    turned2 = min(turn2 * (end * end - start * start), math.pi**2)
    for i in range(3):
        state[LOST_TURN + i] += turned2
    tilted = STANDARD_GRAVITY * min(math.sqrt(turned2), 1.0)
    state[LOST_SPEED] += (0.5 * (end - start) * (tilted + math.sqrt(state[FORCE_POWER]))) ** 2
    state[REST] = 0.0


def coned(reading: Three, hole: float, before: Three, after: Three) -> Three:
    """Return a turn across a hole with the coning of rates that change linearly in it."""
    k = hole * hole / 12.0
    return (
        reading[0] + k * (before[1] * after[2] - before[2] * after[1]),
        reading[1] + k * (before[2] * after[0] - before[0] * after[2]),
        reading[2] + k * (before[0] * after[1] - before[1] * after[0]),
    )


def stuck(state: FloatArray, before: Three, rate: Three, after_another: bool) -> int:
    """Return the bits of axes that stand still at the largest rate so far: they are clipped."""
    peak = max(state[PEAK], LEAST_CLIPPED_RATE, abs(rate[0]), abs(rate[1]), abs(rate[2]))
    state[PEAK] = peak
    bits = 0
    for i in range(3):
        if after_another and rate[i] == before[i] and abs(rate[i]) >= peak:
            bits |= 1 << i
    return bits


def clip_rate(state: FloatArray, clipped: int, dt: float, rate: Three) -> None:
    """Count what lies beyond the range of the gyro as lost turn, growing with its length."""
    if clipped & 7 == 0:
        state[RATE_LOST] = 0.0
        return
    q = orientation(state)
    share = CLIPPED_SHARE**2 * dt * (2.0 * state[RATE_LOST] + dt)
    for i in range(3):
        if clipped >> i & 1:
            x, y, z = quaternion_rotate(*q, 1.0 * (i == 0), 1.0 * (i == 1), 1.0 * (i == 2))
            state[LOST_TURN] += share * (rate[i] * x) ** 2
            state[LOST_TURN + 1] += share * (rate[i] * y) ** 2
            state[LOST_TURN + 2] += share * (rate[i] * z) ** 2
    state[RATE_LOST] += dt
    state[CLIPPED] = 1.0


def mean_force(
    state: FloatArray,
    settings: FloatArray,
    has_force: bool,
    clipped: bool,
    dt: float,
    force: Three,
) -> Three:
    """Return the mean specific force since the last sample; count as lost what is not known.

    For a while the last one stands for those that are missing, then that of a body which keeps
    its velocity.
    """
    old = (state[FORCE], state[FORCE + 1], state[FORCE + 2])
    if has_force and not clipped:
        state[FORCE_LOST] = 0.0
    else:
        share = (CLIPPED_SHARE * STANDARD_GRAVITY) ** 2 * dt
        state[LOST_SPEED] += share * (2.0 * state[FORCE_LOST] + dt)
        state[FORCE_LOST] += dt
    if has_force:
        state[FORCE], state[FORCE + 1], state[FORCE + 2] = force
        if settings[MEAN_SAMPLES] > 0.0 or state[ALIGNED] == 0.0:
            return force
        return (
            0.5 * (old[0] + force[0]),
            0.5 * (old[1] + force[1]),
            0.5 * (old[2] + force[2]),
        )
    if state[FORCE_LOST] < HELD_FORCE_S:
        return old
    x, y, z, w = orientation(state)
    ux, uy, uz = quaternion_rotate(-x, -y, -z, w, 0.0, 0.0, STANDARD_GRAVITY)
    return ux + state[ACCEL_BIAS], uy + state[ACCEL_BIAS + 1], uz + state[ACCEL_BIAS + 2]


def watch(
    state: FloatArray,
    dt: float,
    wx: float,
    wy: float,
    wz: float,
    ax: float,
    ay: float,
    az: float,
) -> None:
    """Tell rest as VQF does, and how strong the motion is."""
    smooth = gain(dt, REST_SMOOTHING_S) if dt > 0.0 else 1.0
    approach(state, SLOW_RATE, smooth, wx, wy, wz)
    approach(state, SLOW_FORCE, smooth, ax, ay, az)
    bx, by, bz = state[SLOW_RATE], state[SLOW_RATE + 1], state[SLOW_RATE + 2]
    shake = (wx - bx) ** 2 + (wy - by) ** 2 + (wz - bz) ** 2
    jolt = (
        (ax - state[SLOW_FORCE]) ** 2
        + (ay - state[SLOW_FORCE + 1]) ** 2
        + (az - state[SLOW_FORCE + 2]) ** 2
    )
    state[RATE_POWER] += smooth * (wx * wx + wy * wy + wz * wz - state[RATE_POWER])
    state[FORCE_POWER] += smooth * (jolt - state[FORCE_POWER])
    turning = max(abs(bx - state[BIAS]), abs(by - state[BIAS + 1]), abs(bz - state[BIAS + 2]))
    still = shake < REST_RATE**2 and jolt < REST_FORCE**2 and turning < REST_RATE_LIMIT
    state[REST] = min(state[REST] + dt, LONGEST_REST_S) if still else 0.0
    # the quicker it seems to turn, the longer it must be steady to be at rest
    state[AT_REST] = state[REST] >= REST_AFTER_S * max(1.0, turning / REST_RATE)
