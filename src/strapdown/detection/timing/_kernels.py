"""Faults of a clock, sample by sample.

======  ==============  ===================================================================
state   name            holds
======  ==============  ===================================================================
2       MEDIAN          of the intervals, a running estimate [s]
3       COUNT           intervals behind it
4       REFERENCE       mean interval of earlier windows, or the declared one [s]; 0: unknown
5       WINDOW          length of the window of the rate [s], and
6       WINDOW_COUNT    its intervals
7       CHECKED         intervals of the window of the jitter, and
8       DEVIANT         those of them that deviate
9       ACTIVE          1 in a stretch of faults, and its figures:
10      LONGEST         longest gap [s]
11      RATE_ERROR      largest relative error of the rate
12      JITTER          largest share of intervals that deviate
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
    LAST_NS,
    OWN_ACCOUNT,
    STEPS,
    record,
    seconds,
    take,
)

if TYPE_CHECKING:
    from strapdown.intake._kernels import Floats, Ints

MEDIAN: Final = 2
COUNT: Final = 3
REFERENCE: Final = 4
WINDOW: Final = 5
WINDOW_COUNT: Final = 6
CHECKED: Final = 7
DEVIANT: Final = 8
ACTIVE: Final = 9
LONGEST: Final = 10
RATE_ERROR: Final = 11
JITTER: Final = 12
FRESH: Final = (*FRESH_CLOCK, *[0.0] * 11)

FIRST_NS: Final = OWN_ACCOUNT  # of a stretch; where its last fault ended
LAST_FAULT_NS: Final = OWN_ACCOUNT + 1
CERTAIN_NS: Final = OWN_ACCOUNT + 2
BITS: Final = OWN_ACCOUNT + 3
REPEATED: Final = OWN_ACCOUNT + 4  # samples of a stretch whose stamps repeat, or go back
RETURNED: Final = OWN_ACCOUNT + 5
SAID: Final = OWN_ACCOUNT + 6  # since the last sample: 1 that the next is late, 2 lost
FRESH_ACCOUNT: Final = (*FRESH_COUNTS, *[0] * 7)

# settings
RATE: Final = 0
LATE_INTERVALS: Final = 1
LATE_FLOOR: Final = 2
LOST_AFTER: Final = 3
RATE_TOLERANCE: Final = 4
RATE_WINDOW: Final = 5
JITTER_TOLERANCE: Final = 6
MERGE: Final = 7

# flags
LATE: Final = 1
LOST: Final = 2
RATE_WRONG: Final = 4
JITTERS: Final = 8
DUPLICATE: Final = 16
BACKWARD: Final = 32
OPEN: Final = 64

MEDIAN_GAIN: Final = 1e-3  # finest relative step of the median, once it is known
LEAST_COUNT: Final = 10.0  # intervals in a window of the rate
ADAPTION: Final = 0.1  # of the mean interval to that of a window
JITTER_COUNT: Final = 1000.0  # intervals in a window of the jitter
JITTER_SHARE: Final = 0.01  # of them may deviate: then their 99th percentile is inside


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
    _clipped: int,
) -> bool:
    """Take a sample; a stretch is complete when the clock has been well for the merging time."""
    previous, running = account[LAST_NS], state[STEPS] >= 0.0
    sample = take(state, account, t_ns, wx, wy, wz, ax, ay, az)
    if sample.event == DROPPED:
        repeats = t_ns == previous
        mark(state, account, DUPLICATE if repeats else BACKWARD, previous, previous)
        account[REPEATED] += repeats
        account[RETURNED] += not repeats
        return False
    account[SAID] = 0
    if sample.event == BEGIN:
        return running and restart(state, account, settings, event, values, previous, t_ns)
    silence = late_after(state, settings)
    if sample.dt > silence:
        lost = sample.dt > max(silence, settings[LOST_AFTER])
        mark(state, account, LATE | LOST if lost else LATE, previous, t_ns)
        state[LONGEST] = max(state[LONGEST], sample.dt)
        return False
    follow(state, settings, sample.dt)
    faults = judge(state, settings)
    if faults:
        mark(state, account, faults, previous, t_ns)
        return False
    well = state[ACTIVE] > 0.0 and seconds(t_ns, account[LAST_FAULT_NS]) > settings[MERGE]
    return well and finish(state, account, event, values, 0)


def restart(
    state: Floats,
    account: Ints,
    settings: Floats,
    event: Ints,
    values: Floats,
    previous: int,
    t_ns: int,
) -> bool:
    """Take a jump of the clock: a long pause, or a clock that starts again."""
    if t_ns > previous:
        mark(state, account, LATE | LOST, previous, t_ns)
        state[LONGEST] = max(state[LONGEST], t_ns * 1e-9 - previous * 1e-9)
        return False
    found = close(state, account, settings, event, values)
    mark(state, account, BACKWARD, t_ns, t_ns)
    account[RETURNED] += 1
    return found


def late_after(state: Floats, settings: Floats) -> float:
    """Return how long no sample may come [s]."""
    rate = settings[RATE]
    interval = state[MEDIAN] if math.isnan(rate) else 1.0 / rate
    if interval == 0.0:
        return settings[LOST_AFTER]
    return max(settings[LATE_INTERVALS] * interval, settings[LATE_FLOOR])


def follow(state: Floats, settings: Floats, dt: float) -> None:
    """Learn from an interval that is no gap."""
    if state[COUNT] == 0.0:
        state[MEDIAN] = dt
    state[COUNT] += 1.0
    gain = max(0.5 / state[COUNT], MEDIAN_GAIN)
    if dt != state[MEDIAN]:
        toward = gain * state[MEDIAN]
        off = dt - state[MEDIAN]
        state[MEDIAN] += max(min(off, toward), -toward)
    if not math.isnan(settings[RATE]):
        state[REFERENCE] = 1.0 / settings[RATE]
    state[WINDOW] += dt
    state[WINDOW_COUNT] += 1.0
    usual = state[MEDIAN]
    state[CHECKED] += 1.0
    state[DEVIANT] += abs(dt - usual) > settings[JITTER_TOLERANCE] * usual


def judge(state: Floats, settings: Floats) -> int:
    """Return what is wrong with the windows that are complete."""
    faults = 0
    if state[WINDOW] >= settings[RATE_WINDOW] and state[WINDOW_COUNT] >= LEAST_COUNT:
        mean = state[WINDOW] / state[WINDOW_COUNT]
        if state[REFERENCE] == 0.0:
            state[REFERENCE] = mean
        error = state[REFERENCE] / mean - 1.0
        if abs(error) > settings[RATE_TOLERANCE]:
            faults |= RATE_WRONG
            if abs(error) > abs(state[RATE_ERROR]) or state[ACTIVE] == 0.0:
                state[RATE_ERROR] = error
        state[REFERENCE] += ADAPTION * (mean - state[REFERENCE])
        state[WINDOW] = state[WINDOW_COUNT] = 0.0
    if state[CHECKED] >= JITTER_COUNT:
        share = state[DEVIANT] / state[CHECKED]
        if share > JITTER_SHARE:
            faults |= JITTERS
            state[JITTER] = share if state[ACTIVE] == 0.0 else max(state[JITTER], share)
        state[CHECKED] = state[DEVIANT] = 0.0
    return faults


def mark(state: Floats, account: Ints, faults: int, from_ns: int, to_ns: int) -> None:
    """Begin a stretch with a fault, or add the fault to it."""
    if state[ACTIVE] == 0.0:
        state[ACTIVE] = 1.0
        account[FIRST_NS] = from_ns
        account[CERTAIN_NS] = to_ns
        account[BITS] = account[REPEATED] = account[RETURNED] = 0
        state[LONGEST] = 0.0
    account[LAST_FAULT_NS] = to_ns
    account[BITS] |= faults


def finish(state: Floats, account: Ints, event: Ints, values: Floats, flags: int) -> bool:
    """Write the stretch and wait for the next."""
    state[ACTIVE] = 0.0
    bits = account[BITS]
    values[0] = state[LONGEST] if bits & LATE else math.nan
    values[1] = state[RATE_ERROR] if bits & RATE_WRONG else math.nan
    values[2] = state[JITTER] if bits & JITTERS else math.nan
    values[3] = account[REPEATED]
    values[4] = account[RETURNED]
    first, last, certain = account[FIRST_NS], account[LAST_FAULT_NS], account[CERTAIN_NS]
    return record(event, first, last, certain, 0, flags | bits)


def close(state: Floats, account: Ints, _settings: Floats, event: Ints, values: Floats) -> bool:
    """Write the stretch that has not ended, if there is one, and wait for the next."""
    return state[ACTIVE] > 0.0 and finish(state, account, event, values, OPEN)
