"""Stuck sensors, sample by sample.

Eight channels are watched for runs of equal values: the axes gyro x y z, accelerometer x y z, and
the triplets of both.

======  ==============  ===================================================================
state   name            holds
======  ==============  ===================================================================
2-7     LAST            the sample before, gyro then accelerometer
8-9     PRIMED          1: there was one
10-15   FINEST          smallest step seen on each axis, other than 0
16-21   ARRIVAL         the last step of each axis that was not 0
22-27   FARTHEST        largest absolute value of each axis
28-51   CHANNELS        RUN (equal values in a row), SAME and SEEN (equal neighbours, and all;
                        both fade)
52-57   MEAN            of each axis over the last second
58-63   VARIANCE        about it
64      ACTIVE          1 in a stretch in which something is stuck
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
from strapdown.detection.clipping._kernels import ACCEL_FLOOR, FAR, GYRO_FLOOR, SHARE, STEEP

if TYPE_CHECKING:
    from strapdown.intake._kernels import Floats, Ints

LAST: Final = 2
PRIMED: Final = 8
FINEST: Final = 10
ARRIVAL: Final = 16
FARTHEST: Final = 22
CHANNELS: Final = 28
RUN: Final = 0
SAME: Final = 1
SEEN: Final = 2
CHANNEL_SIZE: Final = 3
TRIPLETS: Final = 6  # first of the channels of triplets
MEAN: Final = 52
VARIANCE: Final = 58
ACTIVE: Final = 64
FRESH: Final = (*FRESH_CLOCK, *[0.0] * 8, *[FAR] * 6, *[0.0] * (ACTIVE - 15))

RUN_NS: Final = OWN_ACCOUNT  # first sample of the run of each channel
QUIET_NS: Final = OWN_ACCOUNT + 8  # since when each axis has had too little noise
QUIET: Final = OWN_ACCOUNT + 14  # bits of these axes
NOW: Final = OWN_ACCOUNT + 15  # bits of what is stuck, as in the flags
FIRST_NS: Final = OWN_ACCOUNT + 16  # of a stretch; its last sample that is stuck
LAST_STUCK_NS: Final = OWN_ACCOUNT + 17
CERTAIN_NS: Final = OWN_ACCOUNT + 18
BITS: Final = OWN_ACCOUNT + 19
LONGEST: Final = OWN_ACCOUNT + 20  # runs of a stretch: gyro, accelerometer
FRESH_ACCOUNT: Final = (*FRESH_COUNTS, *[0] * 22)

# settings
TRIPLET_CHANCE: Final = 0
AXIS_CHANCE: Final = 1
LATEST: Final = 2
GYRO_SIGMA: Final = 3
ACCEL_SIGMA: Final = 4
QUIET_FOR: Final = 5
NOISE_FREE: Final = 6

LEAST_RUN: Final = 8.0
KEEP: Final = 1.0 - 1e-3  # equal neighbours are counted over 1000 samples
PRIOR_SAME: Final = 5.0  # before these are known one neighbour in two may be equal
PRIOR_SEEN: Final = 10.0
LEAST_SAME: Final = 0.01
LEAST_SAME_QUIET: Final = 0.9  # where values change by single codes
QUIET_SHARE: Final = 0.1  # of the variance of the noise

LOW_NOISE: Final = 64  # after the bits of the six axes: gyro 64, accelerometer 128
OPEN: Final = 256


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
    """Take a sample; a stretch is complete when nothing is stuck any more."""
    sample = take(state, account, t_ns, wx, wy, wz, ax, ay, az)
    if sample.event == DROPPED:
        return False
    found = False
    if sample.event == BEGIN:
        found = close(state, account, settings, event, values)
        state[PRIMED] = state[PRIMED + 1] = 0.0
        account[NOW] = 0
    bits = account[NOW]
    dt = min(sample.dt, 1.0)
    if sample.has_rate:
        bits &= ~(7 | LOW_NOISE)
        bits |= look(state, account, settings, 0, t_ns, dt, clipped & 7, wx, wy, wz)
    if sample.has_force:
        bits &= ~(7 << 3 | LOW_NOISE << 1)
        bits |= look(state, account, settings, 1, t_ns, dt, clipped >> 3, ax, ay, az)
    account[NOW] = bits
    if bits:
        extend(state, account, t_ns, bits)
    elif state[ACTIVE] > 0.0:
        found = finish(state, account, event, values, 0)
    return found


def extend(state: Floats, account: Ints, t_ns: int, bits: int) -> None:
    """Begin a stretch, or add a sample to it."""
    if state[ACTIVE] == 0.0:
        begin(state, account, t_ns, bits)
    account[LAST_STUCK_NS] = t_ns
    account[BITS] |= bits
    for axis in range(6):
        if bits >> axis & 1:
            run = int(state[CHANNELS + channel_of(bits, axis) * CHANNEL_SIZE + RUN])
            account[LONGEST + axis // 3] = max(account[LONGEST + axis // 3], run)


def channel_of(bits: int, axis: int) -> int:
    """Return the channel that says how long an axis has been stuck: its triplet's, if it is."""
    sensor = axis // 3
    return TRIPLETS + sensor if bits >> 3 * sensor & 7 == 7 else axis


def look(
    state: Floats,
    account: Ints,
    settings: Floats,
    sensor: int,
    t_ns: int,
    dt: float,
    clipped: int,
    x: float,
    y: float,
    z: float,
) -> int:
    """Return the bits of what is stuck of a sensor."""
    primed = state[PRIMED + sensor] > 0.0
    state[PRIMED + sensor] = 1.0
    bits, all_same, steep = 0, primed, False
    for k in range(3):
        axis = 3 * sensor + k
        value = x if k == 0 else y if k == 1 else z
        change = value - state[LAST + axis] if primed else 1.0
        same = primed and change == 0.0
        all_same = all_same and same
        if primed and not same:
            state[ARRIVAL + axis] = abs(change)
            state[FINEST + axis] = min(state[FINEST + axis], abs(change))
        state[LAST + axis] = value
        state[FARTHEST + axis] = max(state[FARTHEST + axis], abs(value))
        floor = GYRO_FLOOR if sensor == 0 else ACCEL_FLOOR
        at_end = abs(value) >= floor and abs(value) >= SHARE * state[FARTHEST + axis]
        saturated = clipped >> k & 1 != 0 or at_end
        axis_steep = state[ARRIVAL + axis] > STEEP * state[FINEST + axis]
        steep = steep or axis_steep
        follow(state, account, axis, t_ns, primed, same)
        if not saturated and is_unlikely(state, axis, axis_steep, settings[AXIS_CHANCE]):
            bits |= 1 << axis
        if is_quiet(state, account, settings, axis, t_ns, dt, primed, value):
            bits |= LOW_NOISE << sensor
    channel = TRIPLETS + sensor
    follow(state, account, channel, t_ns, primed, all_same)
    run = state[CHANNELS + channel * CHANNEL_SIZE + RUN]
    lasting = run >= LEAST_RUN and seconds(t_ns, account[RUN_NS + channel]) >= settings[LATEST]
    if lasting or is_unlikely(state, channel, steep, settings[TRIPLET_CHANCE]):
        bits |= 7 << 3 * sensor
    return bits if settings[NOISE_FREE] == 0.0 else bits & LOW_NOISE << sensor


def follow(state: Floats, account: Ints, channel: int, t_ns: int, primed: bool, same: bool) -> None:
    """Lengthen the run of a channel, or count it and begin another."""
    at = CHANNELS + channel * CHANNEL_SIZE
    if same:
        state[at + RUN] += 1.0
        return
    run = state[at + RUN]
    if primed and account[NOW] >> (channel if channel < TRIPLETS else 3 * (channel - TRIPLETS)) & 1:
        run = 0.0  # what was stuck says nothing on chance
    if primed and run > 0.0:
        keep = KEEP if run == 1.0 else KEEP**run
        state[at + SAME] = state[at + SAME] * keep + (run - 1.0)
        state[at + SEEN] = state[at + SEEN] * keep + run
    state[at + RUN] = 1.0
    account[RUN_NS + channel] = t_ns


def is_unlikely(state: Floats, channel: int, steep: bool, chance: float) -> bool:
    """Say whether a run is longer than chance makes it."""
    at = CHANNELS + channel * CHANNEL_SIZE
    if state[at + RUN] < LEAST_RUN:
        return False
    same = (state[at + SAME] + PRIOR_SAME) / (state[at + SEEN] + PRIOR_SEEN)
    same = max(same, LEAST_SAME if steep else LEAST_SAME_QUIET)
    return bool(same ** (state[at + RUN] - 1.0) < chance)


def is_quiet(
    state: Floats,
    account: Ints,
    settings: Floats,
    axis: int,
    t_ns: int,
    dt: float,
    primed: bool,
    value: float,
) -> bool:
    """Say whether an axis has had too little noise for too long."""
    sigma = settings[GYRO_SIGMA + axis // 3]
    if math.isnan(sigma):
        return False
    if not primed:
        state[MEAN + axis] = value
        state[VARIANCE + axis] = sigma * sigma
    off = value - state[MEAN + axis]
    state[MEAN + axis] += dt * off
    state[VARIANCE + axis] += dt * (off * off - state[VARIANCE + axis])
    if state[VARIANCE + axis] >= QUIET_SHARE * sigma * sigma:
        account[QUIET] &= ~(1 << axis)
        return False
    if account[QUIET] >> axis & 1 == 0:
        account[QUIET] |= 1 << axis
        account[QUIET_NS + axis] = t_ns
    return seconds(t_ns, account[QUIET_NS + axis]) >= settings[QUIET_FOR]


def begin(state: Floats, account: Ints, t_ns: int, bits: int) -> None:
    """Begin a stretch, with the first of the equal samples, or of those without noise."""
    state[ACTIVE] = 1.0
    account[CERTAIN_NS] = account[FIRST_NS] = t_ns
    account[BITS] = account[LONGEST] = account[LONGEST + 1] = 0
    for axis in range(6):
        if bits >> axis & 1:
            since = account[RUN_NS + channel_of(bits, axis)]
            account[FIRST_NS] = min(account[FIRST_NS], since)
        if bits & LOW_NOISE << axis // 3 and account[QUIET] >> axis & 1:
            account[FIRST_NS] = min(account[FIRST_NS], account[QUIET_NS + axis])


def finish(state: Floats, account: Ints, event: Ints, values: Floats, flags: int) -> bool:
    """Write the stretch and wait for the next."""
    state[ACTIVE] = 0.0
    values[0] = account[LONGEST]
    values[1] = account[LONGEST + 1]
    first, last, certain = account[FIRST_NS], account[LAST_STUCK_NS], account[CERTAIN_NS]
    return record(event, first, last, certain, 0, flags | account[BITS])


def close(state: Floats, account: Ints, _settings: Floats, event: Ints, values: Floats) -> bool:
    """Write the stretch that has not ended, if there is one, and wait for the next."""
    return state[ACTIVE] > 0.0 and finish(state, account, event, values, OPEN)
