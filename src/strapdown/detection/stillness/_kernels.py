"""Stillness, sample by sample, from a trailing window.

=======  ===========  ===================================================================
state    name         holds
=======  ===========  ===================================================================
2        PHASE        MOVING, QUIET (not yet long enough), STILL
3        STATISTIC    of the window that ends here; -1: not enough samples
4        LIMIT        below which it is quiet
5        COUNT        samples in the window
6        NEWEST       place of the last one in the ring
7        WAIT         time since the last usable sample [s]
8-10     SLOW_RATE    low-passed angular velocity [rad/s]
11-13    SLOW_FORCE   low-passed specific force [m/s^2]
14-16    RATES        sum of the angular velocities in the window
17       RATE_SQUARE  sum of their squares
18-20    FORCES       sum of the specific forces
21-23    SQUARES      sum of the squares on each axis
24       QUIET_SUM    sum of the statistic in this phase
25       QUIET_COUNT  samples in it
26...    RING         angular velocity and specific force of the last CAPACITY samples
=======  ===========  ===================================================================

The account keeps FIRST_NS and LAST_NS_QUIET of the phase, SINCE_NS when it was long enough, and
the stamps of the ring.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.detection._kernels import (
    BEGIN,
    DROPPED,
    FRESH_CLOCK,
    FRESH_COUNTS,
    OWN,
    OWN_ACCOUNT,
    is_hole,
    record,
    seconds,
    take,
)
from strapdown.detection._kernels import INTERVAL as MEAN_INTERVAL

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.intake._kernels import Floats, Ints

PHASE: Final = OWN
STATISTIC: Final = 3
LIMIT: Final = 4
COUNT: Final = 5
NEWEST: Final = 6
WAIT: Final = 7
SLOW_RATE: Final = 8
SLOW_FORCE: Final = 11
RATES: Final = 14
RATE_SQUARE: Final = 17
FORCES: Final = 18
SQUARES: Final = 21
QUIET_SUM: Final = 24
QUIET_COUNT: Final = 25
RING: Final = 26
CAPACITY: Final = 512

MOVING: Final = 0.0
QUIET: Final = 1.0
STILL: Final = 2.0
FRESH: Final = (*FRESH_CLOCK, MOVING, -1.0, *[0.0] * (RING - 4 + 6 * CAPACITY))

FIRST_NS: Final = OWN_ACCOUNT
LAST_NS_QUIET: Final = OWN_ACCOUNT + 1
SINCE_NS: Final = OWN_ACCOUNT + 2
STAMPS: Final = OWN_ACCOUNT + 3
FRESH_ACCOUNT: Final = (*FRESH_COUNTS, *[0] * (3 + CAPACITY))

# settings
KIND_NUMBER: Final = 0
WINDOW: Final = 1
ACCEL_SIGMA: Final = 2
GYRO_SIGMA: Final = 3
GRAVITY: Final = 4
ACCEL_BIAS: Final = 5
GYRO_BIAS: Final = 6
THRESHOLD: Final = 7  # NaN: by the chi-square law
LEAVE_RATIO: Final = 8
MIN_DURATION: Final = 9
TAU: Final = 10
RATE_DEVIATION: Final = 11
FORCE_DEVIATION: Final = 12
RATE_LIMIT: Final = 13
QUANTILE: Final = 14  # of the normal distribution, at the false-alarm rate

SHOE: Final = 0
ARE: Final = 1
MV: Final = 2
MAG: Final = 3
LOWPASS: Final = 4
VARIANCE: Final = 5

GAP: Final = 1
OPEN: Final = 2
FULL: Final = 0.75  # of its length: a shorter window says nothing
FEWEST: Final = 2  # samples


def step(
    state: Floats,
    account: Ints,
    settings: Floats,
    event: Ints,
    values: Floats,
    t_ns: int,
    wx: float,
    wy: float,
    wz: float,
    ax: float,
    ay: float,
    az: float,
    clipped: int,  # noqa: ARG001 (the shape of every detector: a clipped sample is not still)
) -> bool:
    """Take a sample; a still interval is complete when the motion after it begins."""
    sample = take(state, account, t_ns, wx, wy, wz, ax, ay, az)
    if sample.event == DROPPED:
        return False
    kind = int(settings[KIND_NUMBER])
    state[WAIT] += sample.dt
    found = False
    if sample.event == BEGIN:
        found = finish(state, account, event, values, 0)
        state[COUNT] = 0.0
    uses_rate = kind in (SHOE, ARE, LOWPASS)
    uses_force = kind != ARE
    if (uses_rate and not sample.has_rate) or (uses_force and not sample.has_force):
        return found
    wait = state[WAIT]
    state[WAIT] = 0.0
    if state[COUNT] > 0.0 and is_hole(state, wait):
        found = finish(state, account, event, values, GAP) or found
        state[COUNT] = 0.0
    if not uses_rate:
        wx = wy = wz = 0.0
    if not uses_force:
        ax = ay = az = 0.0
    if kind == LOWPASS:
        slow_statistic(state, settings, wait, wx, wy, wz, ax, ay, az)
    else:
        push(state, account, settings, t_ns, wx, wy, wz, ax, ay, az)
        window_statistic(state, account, settings, kind)
    return judge(state, account, settings, event, values, t_ns) or found


def push(
    state: Floats,
    account: Ints,
    settings: Floats,
    t_ns: int,
    wx: float,
    wy: float,
    wz: float,
    ax: float,
    ay: float,
    az: float,
) -> None:
    """Let a sample into the window, and out what is too old."""
    newest = int(state[NEWEST]) + 1
    count = int(state[COUNT])
    if newest == CAPACITY:  # once a round: rounding errors of the sums do not pile up
        newest = 0
    # the window holds what is less than its length old, half a sampling interval more or less
    oldest_ns = t_ns - int((settings[WINDOW] - 0.5 * state[MEAN_INTERVAL]) * 1e9)
    while count > 0:
        oldest = (newest - count) % CAPACITY
        if count < CAPACITY and account[STAMPS + oldest] > oldest_ns:
            break
        add(state, oldest, -1.0)
        count -= 1
    at = RING + 6 * newest
    state[at], state[at + 1], state[at + 2] = wx, wy, wz
    state[at + 3], state[at + 4], state[at + 5] = ax, ay, az
    account[STAMPS + newest] = t_ns
    state[NEWEST], state[COUNT] = newest, count + 1
    if newest == 0 or count == 0:
        for k in range(RATES, QUIET_SUM):
            state[k] = 0.0
        for k in range(count + 1):
            add(state, (newest - k) % CAPACITY, 1.0)
    else:
        add(state, newest, 1.0)


def add(state: Floats, place: int, sign: float) -> None:
    """Add a sample of the ring to the sums, or take it out of them."""
    at = RING + 6 * place
    for k in range(3):
        w, f = state[at + k], state[at + 3 + k]
        state[RATES + k] += sign * w
        state[RATE_SQUARE] += sign * w * w
        state[FORCES + k] += sign * f
        state[SQUARES + k] += sign * f * f


def window_statistic(state: Floats, account: Ints, settings: Floats, kind: int) -> None:
    """Compute the statistic of the window, and the limit for so many samples."""
    n = state[COUNT]
    newest = int(state[NEWEST])
    oldest = (newest - int(n) + 1) % CAPACITY
    covered = seconds(account[STAMPS + newest], account[STAMPS + oldest]) + state[MEAN_INTERVAL]
    if n < FEWEST or (covered < FULL * settings[WINDOW] and n < CAPACITY):
        state[STATISTIC] = -1.0
        return
    accel = settings[ACCEL_SIGMA] * settings[ACCEL_SIGMA]
    gyro = settings[GYRO_SIGMA] * settings[GYRO_SIGMA]
    variance = squares = mean = turn = 0.0
    for k in range(3):
        force, rate = state[FORCES + k] / n, state[RATES + k] / n
        axis = max(state[SQUARES + k] / n - force * force, 0.0)
        variance += axis
        squares += axis * axis
        mean += force * force
        turn += rate * rate
    mean, turn = math.sqrt(mean), math.sqrt(turn)
    # A bias no larger than said can stand behind this much of the mean.
    off = max(abs(mean - settings[GRAVITY]) - settings[ACCEL_BIAS], 0.0)
    turning = max(turn - settings[GYRO_BIAS], 0.0)
    rates = max(state[RATE_SQUARE] / n - turn * turn + turning * turning, 0.0)
    if kind == SHOE:
        # |f - g u|^2 about u = mean / |mean| is the variance and the offset of the mean
        statistic, freedom = (variance + off * off) / accel + rates / gyro, 6.0 * n - 2.0
    elif kind == ARE:
        statistic, freedom = rates / gyro, 3.0 * n
    elif kind == MV:
        statistic, freedom = variance / accel, 3.0 * n - 3.0
    elif kind == MAG:
        statistic, freedom = off * off / accel, 1.0
    else:
        statistic = math.sqrt(squares / 3.0) * n / (n - 1.0) / accel
        freedom = 3.0 * n - 3.0
    state[STATISTIC] = statistic
    state[LIMIT] = settings[THRESHOLD]
    if math.isnan(state[LIMIT]):
        mean_of = freedom if kind == VARIANCE else n
        state[LIMIT] = chi_square(freedom, settings[QUANTILE]) / mean_of


def chi_square(freedom: float, quantile: float) -> float:
    """Return a quantile of the chi-square distribution from that of the normal one.

    E. Wilson, M. Hilferty, "The distribution of chi-square", PNAS 17, 1931.
    """
    spread = 2.0 / (9.0 * freedom)
    root = 1.0 - spread + quantile * math.sqrt(spread)
    return freedom * root * root * root


def slow_statistic(
    state: Floats,
    settings: Floats,
    wait: float,
    wx: float,
    wy: float,
    wz: float,
    ax: float,
    ay: float,
    az: float,
) -> None:
    """Compare a sample with the low-passed ones: the largest ratio to its limit, squared."""
    began = state[COUNT] == 0.0
    weight = 1.0 if began else -math.expm1(-wait / settings[TAU])
    state[COUNT] = 1.0
    sample = (wx, wy, wz, ax, ay, az)
    shake = jolt = turn = 0.0
    for k in range(3):
        state[SLOW_RATE + k] += weight * (sample[k] - state[SLOW_RATE + k])
        state[SLOW_FORCE + k] += weight * (sample[3 + k] - state[SLOW_FORCE + k])
        sway, push = sample[k] - state[SLOW_RATE + k], sample[3 + k] - state[SLOW_FORCE + k]
        shake += sway * sway
        jolt += push * push
        turn += state[SLOW_RATE + k] * state[SLOW_RATE + k]
    statistic = max(
        shake / (settings[RATE_DEVIATION] * settings[RATE_DEVIATION]),
        jolt / (settings[FORCE_DEVIATION] * settings[FORCE_DEVIATION]),
        turn / (settings[RATE_LIMIT] * settings[RATE_LIMIT]),
    )
    state[STATISTIC] = -1.0 if began else statistic
    state[LIMIT] = settings[THRESHOLD]


def judge(
    state: Floats, account: Ints, settings: Floats, event: Ints, values: Floats, t_ns: int
) -> bool:
    """Enter below the limit, leave above a multiple of it; still is what is quiet long enough."""
    statistic, limit = state[STATISTIC], state[LIMIT]
    if statistic < 0.0:
        return False
    if state[PHASE] == MOVING:
        if statistic >= limit:
            return False
        state[PHASE] = QUIET
        state[QUIET_SUM] = state[QUIET_COUNT] = 0.0
        account[FIRST_NS] = t_ns
    elif statistic >= settings[LEAVE_RATIO] * limit:
        return finish(state, account, event, values, 0)
    state[QUIET_SUM] += statistic
    state[QUIET_COUNT] += 1.0
    account[LAST_NS_QUIET] = t_ns
    lasted = seconds(t_ns, account[FIRST_NS])
    if state[PHASE] == QUIET and lasted >= settings[MIN_DURATION]:
        state[PHASE] = STILL
        account[SINCE_NS] = t_ns
    return False


def finish(state: Floats, account: Ints, event: Ints, values: Floats, flags: int) -> bool:
    """End a quiet phase, and write it if it was long enough."""
    phase = state[PHASE]
    state[PHASE] = MOVING
    if phase < STILL:
        return False
    first, last = account[FIRST_NS], account[LAST_NS_QUIET]
    values[0] = seconds(last, first)
    values[1] = state[QUIET_SUM] / state[QUIET_COUNT]
    return record(event, first, last, account[SINCE_NS], 0, flags)


def close(
    state: Floats,
    account: Ints,
    settings: Floats,  # noqa: ARG001 (the shape of every detector)
    event: Ints,
    values: Floats,
) -> bool:
    """End the data: write the still interval that lasts to the end."""
    return finish(state, account, event, values, OPEN)


def trace(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    t_ns: IntArray,
    rate: FloatArray,
    force: FloatArray,
    clipped: IntArray,
    event: IntArray,
    values: FloatArray,
    out: FloatArray,
    still: BoolArray,
) -> None:
    """Step through arrays and write statistic, limit, samples in the window, and stillness."""
    first = 0
    for i in range(len(t_ns)):
        before = state[PHASE]
        step(
            state, account, settings, event, values, t_ns[i],
            rate[i, 0], rate[i, 1], rate[i, 2], force[i, 0], force[i, 1], force[i, 2], clipped[i],
        )  # fmt: skip
        out[i, 0], out[i, 1], out[i, 2] = state[STATISTIC], state[LIMIT], state[COUNT]
        if before == MOVING:
            first = i
        if state[PHASE] == STILL:
            for k in range(i if before == STILL else first, i + 1):
                still[k] = True
