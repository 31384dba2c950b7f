"""Clipping, sample by sample.

A sensor's axis has two sides, so there are twelve channels: gyro x+ x- y+ y- z+ z-, then the
accelerometer's.

======  ==============  ===================================================================
state   name            holds
======  ==============  ===================================================================
2-7     LAST            the sample before, gyro then accelerometer
8-9     PRIMED          1: there was one
10-15   FINEST          smallest step seen on each axis, other than 0
16-21   SAME            how often neighbours are equal on each axis, away from its extremes
22-     CHANNELS        EXTREME, RUN (samples in a row there), ARRIVAL (step to it), LIMIT
        (end)           ACTIVE: 1 in a stretch of clipping
======  ==============  ===================================================================
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.detection._kernels import (
    BEGIN,
    DROPPED,
    FRESH_CLOCK,
    FRESH_COUNTS,
    OWN_ACCOUNT,
    record,
    seconds,
    take,
)

if TYPE_CHECKING:
    from strapdown.intake._kernels import Floats, Ints

LAST: Final = 2
PRIMED: Final = 8
FINEST: Final = 10
SAME: Final = 16
CHANNELS: Final = 22
EXTREME: Final = 0
RUN: Final = 1
ARRIVAL: Final = 2
LIMIT: Final = 3  # learnt end of the range; 0: not known
CHANNEL_SIZE: Final = 4
ACTIVE: Final = CHANNELS + 12 * CHANNEL_SIZE
FAR: Final = 1e30
FRESH: Final = (*FRESH_CLOCK, *[0.0] * 8, *[FAR] * 6, *[0.1] * 6, *[0.0] * (12 * CHANNEL_SIZE + 1))

FIRST_NS: Final = OWN_ACCOUNT  # of a stretch; its last clipped sample
LAST_CUT_NS: Final = OWN_ACCOUNT + 1
CERTAIN_NS: Final = OWN_ACCOUNT + 2
AXES: Final = OWN_ACCOUNT + 3  # bits of a stretch, and its clipped samples: gyro, accelerometer
IN_IT: Final = OWN_ACCOUNT + 4
TALLY: Final = OWN_ACCOUNT + 6  # of each sensor: SEEN, CLIPPED, X, Y, Z, LONGEST, its run now
TALLY_SIZE: Final = 7
SEEN: Final = 0
CUT: Final = 1
BY_AXIS: Final = 2
LONGEST: Final = 5
NOW: Final = 6
FRESH_ACCOUNT: Final = (*FRESH_COUNTS, *[0] * (TALLY + 2 * TALLY_SIZE - OWN_ACCOUNT))

# settings
GYRO_RANGE: Final = 0
ACCEL_RANGE: Final = 1
MERGE: Final = 2

SHARE: Final = 0.999  # of the range: what reads more is clipped
ENOUGH: Final = 3.0  # equal extremes in a row, ...
BY_CHANCE: Final = 1e-6  # ... and as many as hardly come by chance
SAME_MEMORY: Final = 200.0  # samples
LEAST_SAME: Final = 1e-3
MOST_SAME: Final = 0.5  # an axis without noise rests on its extremes: nothing to learn
STEEP: Final = 4.0  # finest steps in the step that leads there; a smooth peak is flatter
GYRO_FLOOR: Final = 1.2  # rad/s, below the smallest range of gyros on the market (75 deg/s)
ACCEL_FLOOR: Final = 18.0  # m/s^2, likewise (2 g)

OPEN: Final = 64  # after the bits of the six axes


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
    clipped: int,
) -> bool:
    """Take a sample; a stretch is complete when nothing is clipped for the merging time."""
    sample = take(state, account, t_ns, wx, wy, wz, ax, ay, az)
    if sample.event == DROPPED:
        return False
    found = False
    if sample.event == BEGIN:
        found = close(state, account, settings, event, values)
        state[PRIMED] = state[PRIMED + 1] = 0.0
    bits = 0
    if sample.has_rate:
        known = clipped & 7
        bits |= look(state, account, settings, 0, known, wx, wy, wz)
    if sample.has_force:
        known = clipped >> 3
        bits |= look(state, account, settings, 1, known, ax, ay, az) << 3
    if bits:
        if state[ACTIVE] == 0.0:
            state[ACTIVE] = 1.0
            account[FIRST_NS] = account[CERTAIN_NS] = t_ns
            account[AXES] = account[IN_IT] = account[IN_IT + 1] = 0
        account[LAST_CUT_NS] = t_ns
        account[AXES] |= bits
        account[IN_IT] += bits & 7 != 0
        account[IN_IT + 1] += bits >> 3 != 0
    elif state[ACTIVE] > 0.0 and seconds(t_ns, account[LAST_CUT_NS]) > settings[MERGE]:
        found = finish(state, account, event, values, 0)
    return found


def look(
    state: Floats,
    account: Ints,
    settings: Floats,
    sensor: int,
    known: int,
    x: float,
    y: float,
    z: float,
) -> int:
    """Return the clipped axes of a sensor, and count them."""
    limit = settings[GYRO_RANGE + sensor]
    bits = known
    for axis in range(3):
        value = x if axis == 0 else y if axis == 1 else z
        if not math.isnan(limit):
            at_end = abs(value) >= SHARE * limit
        else:
            at_end = learn(state, 3 * sensor + axis, value)
        if at_end:
            bits |= 1 << axis
        state[LAST + 3 * sensor + axis] = value
    state[PRIMED + sensor] = 1.0
    count(account, TALLY + sensor * TALLY_SIZE, bits)
    return bits


def learn(state: Floats, axis: int, value: float) -> bool:
    """Say whether a value stands at the end of a range that is learnt from the values.

    Saturated, an axis comes to its extreme by a step of any size and stays on one code; an
    unsaturated one turns round there in ever smaller steps, or leaves at once.
    """
    if state[PRIMED + axis // 3] == 0.0:
        state[LAST + axis] = value
    change = value - state[LAST + axis]
    if change != 0.0:
        state[FINEST + axis] = min(state[FINEST + axis], abs(change))
    high = CHANNELS + 2 * axis * CHANNEL_SIZE
    low = high + CHANNEL_SIZE
    if -SHARE * state[low + EXTREME] < value < SHARE * state[high + EXTREME]:
        state[high + RUN] = state[low + RUN] = 0.0
        state[SAME + axis] += ((change == 0.0) - state[SAME + axis]) / SAME_MEMORY
        return False
    follow_extreme(state, high, axis, value, change)
    follow_extreme(state, low, axis, -value, -change)
    return is_at_end(state[high + LIMIT], value) or is_at_end(state[low + LIMIT], -value)


def is_at_end(limit: float, here: float) -> bool:
    """Whether a value stands at the end of a range, where that is known."""
    return limit > 0.0 and here >= SHARE * limit


def follow_extreme(state: Floats, at: int, axis: int, here: float, change: float) -> None:
    """Follow the extreme of one side of an axis, and learn its limit."""
    if here > state[at + EXTREME]:
        if SHARE * here > state[at + LIMIT]:
            state[at + LIMIT] = 0.0
        state[at + EXTREME] = here
    if here < state[at + EXTREME]:
        state[at + RUN] = 0.0
        return
    if change != 0.0 or state[at + RUN] == 0.0:
        state[at + RUN] = 0.0
        state[at + ARRIVAL] = change
    state[at + RUN] += 1.0
    run, same = state[at + RUN], max(state[SAME + axis], LEAST_SAME)
    is_run = run >= ENOUGH and same < MOST_SAME and same ** (run - 1.0) < BY_CHANCE
    is_far = here >= (GYRO_FLOOR if axis < 3 else ACCEL_FLOOR)
    if is_run and is_far and state[at + ARRIVAL] > STEEP * state[FINEST + axis]:
        state[at + LIMIT] = here


def count(account: Ints, at: int, bits: int) -> None:
    """Count a sample of a sensor."""
    account[at + SEEN] += 1
    account[at + CUT] += bits != 0
    for axis in range(3):
        account[at + BY_AXIS + axis] += bits >> axis & 1
    account[at + NOW] = account[at + NOW] + 1 if bits else 0
    account[at + LONGEST] = max(account[at + LONGEST], account[at + NOW])


def finish(state: Floats, account: Ints, event: Ints, values: Floats, flags: int) -> bool:
    """Write the stretch and wait for the next."""
    state[ACTIVE] = 0.0
    values[0] = account[IN_IT]
    values[1] = account[IN_IT + 1]
    first, last, certain = account[FIRST_NS], account[LAST_CUT_NS], account[CERTAIN_NS]
    return record(event, first, last, certain, 0, flags | account[AXES])


def close(state: Floats, account: Ints, _settings: Floats, event: Ints, values: Floats) -> bool:
    """Write the stretch that has not ended, if there is one, and wait for the next."""
    return state[ACTIVE] > 0.0 and finish(state, account, event, values, OPEN)
