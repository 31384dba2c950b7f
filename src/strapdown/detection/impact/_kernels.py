"""Impacts, sample by sample.

======  ==============  ===================================================================
state   name            holds
======  ==============  ===================================================================
2       WAIT            time since the last usable specific force, before this sample [s]
3       USUAL           norm of the specific force through the low-pass [m/s^2]
4-6     MEAN            the vector through the same; it stands still in an impact
7       PRIMED          1: there was a sample before
8-10    LAST            the sample before [m/s^2]
11      LAST_EXCESS     its norm over USUAL
12      PHASE           IDLE, RISING (above the release), HIT (above the threshold)
13      PEAK            largest excess
14-16   PEAK_FORCE      specific force there
17-19   CHANGE          integral of the force over MEAN, to the last sample that counts
20-22   PENDING         the same, to this sample
23      CUT             1: the accelerometer was saturated
24      HOLED           1: a hole in the data ended it
25      BEFORE          excess before its first sample
26      LENGTH          samples in it
27-     RING            excess and time step of the last of them
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
    INTERVAL,
    OWN_ACCOUNT,
    is_hole,
    record,
    seconds,
    take,
)

if TYPE_CHECKING:
    from strapdown.intake._kernels import Floats, Ints

WAIT: Final = 2
USUAL: Final = 3
MEAN: Final = 4
PRIMED: Final = 7
LAST: Final = 8
LAST_EXCESS: Final = 11
PHASE: Final = 12
PEAK: Final = 13
PEAK_FORCE: Final = 14
CHANGE: Final = 17
PENDING: Final = 20
CUT: Final = 23
HOLED: Final = 24
BEFORE: Final = 25
LENGTH: Final = 26
RING: Final = 27
KEPT: Final = 256  # samples of an impact from which its width is taken
FRESH: Final = (*FRESH_CLOCK, *[0.0] * (RING - 2 + 2 * KEPT))

FIRST_NS: Final = OWN_ACCOUNT  # of the impact; its last sample that counts, and its peak
LAST_HIGH_NS: Final = OWN_ACCOUNT + 1
PEAK_NS: Final = OWN_ACCOUNT + 2
CERTAIN_NS: Final = OWN_ACCOUNT + 3
FRESH_ACCOUNT: Final = (*FRESH_COUNTS, 0, 0, 0, 0)

# settings
THRESHOLD: Final = 0
JERK: Final = 1
SMOOTHING: Final = 2
MERGE: Final = 3
LONGEST: Final = 4

IDLE: Final = 0.0
RISING: Final = 1.0
HIT: Final = 2.0
RELEASE: Final = 0.25  # of the threshold: from there to there an impact lasts

CLIPPED: Final = 1
GAP: Final = 2
CUT_SHORT: Final = 4
OPEN: Final = 8


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
    """Take a sample; an impact is complete when it has been low for the merging time."""
    sample = take(state, account, t_ns, wx, wy, wz, ax, ay, az)
    if sample.event == DROPPED:
        return False
    found = False
    if sample.event == BEGIN:
        found = close(state, account, settings, event, values)
        state[PRIMED] = state[WAIT] = 0.0
    state[WAIT] += sample.dt
    if not sample.has_force:
        return found
    dt = state[WAIT]
    state[WAIT] = 0.0
    norm = math.sqrt(ax * ax + ay * ay + az * az)
    if state[PHASE] != IDLE and is_hole(state, dt):
        state[HOLED] = 1.0
        found = close(state, account, settings, event, values)
    if state[PRIMED] == 0.0 or is_hole(state, dt):
        state[PRIMED] = 1.0
        state[USUAL] = norm
        state[MEAN], state[MEAN + 1], state[MEAN + 2] = ax, ay, az
        remember(state, ax, ay, az, 0.0)
        return found
    excess = norm - state[USUAL]
    found = found or advance(
        state, account, settings, event, values, t_ns, dt, ax, ay, az, excess, clipped
    )
    gain = -math.expm1(-dt / settings[SMOOTHING])
    state[USUAL] += gain * excess
    if state[PHASE] == IDLE:
        state[MEAN] += gain * (ax - state[MEAN])
        state[MEAN + 1] += gain * (ay - state[MEAN + 1])
        state[MEAN + 2] += gain * (az - state[MEAN + 2])
    remember(state, ax, ay, az, excess)
    return found


def remember(state: Floats, ax: float, ay: float, az: float, excess: float) -> None:
    """Keep what the next sample is compared with."""
    state[LAST], state[LAST + 1], state[LAST + 2] = ax, ay, az
    state[LAST_EXCESS] = excess


def advance(
    state: Floats,
    account: Ints,
    settings: Floats,
    event: Ints,
    values: Floats,
    t_ns: int,
    dt: float,
    ax: float,
    ay: float,
    az: float,
    excess: float,
    clipped: int,
) -> bool:
    """Begin, follow or end an impact."""
    dx, dy, dz = ax - state[LAST], ay - state[LAST + 1], az - state[LAST + 2]
    jerked = math.sqrt(dx * dx + dy * dy + dz * dz) > settings[JERK] * dt
    high = excess >= RELEASE * settings[THRESHOLD] or jerked
    if state[PHASE] == IDLE:
        if not high:
            return False
        begin(state, account, t_ns)
    add(state, dt, ax, ay, az, excess)
    if excess > state[PEAK]:
        account[PEAK_NS] = t_ns
        rise(state, ax, ay, az, excess)
    if clipped >> 3:
        state[CUT] = 1.0
    if high or state[LAST_EXCESS] >= RELEASE * settings[THRESHOLD]:
        commit(state)
    if high:
        account[LAST_HIGH_NS] = t_ns
    if state[PHASE] == RISING and (excess > settings[THRESHOLD] or jerked):
        state[PHASE] = HIT
        account[CERTAIN_NS] = t_ns
    if state[PHASE] == RISING and not high:
        state[PHASE] = IDLE
        return False
    over = not high and seconds(t_ns, account[LAST_HIGH_NS]) > settings[MERGE]
    if over or seconds(t_ns, account[FIRST_NS]) >= settings[LONGEST]:
        return finish(state, account, event, values, 0 if over else CUT_SHORT)
    return False


def rise(state: Floats, ax: float, ay: float, az: float, excess: float) -> None:
    """Keep a larger peak."""
    state[PEAK] = excess
    state[PEAK_FORCE], state[PEAK_FORCE + 1], state[PEAK_FORCE + 2] = ax, ay, az


def begin(state: Floats, account: Ints, t_ns: int) -> None:
    """Begin what may become an impact."""
    for k in range(PEAK, RING):
        state[k] = 0.0
    state[PHASE] = RISING
    state[BEFORE] = state[LAST_EXCESS]
    account[FIRST_NS] = account[LAST_HIGH_NS] = account[PEAK_NS] = t_ns


def add(state: Floats, dt: float, ax: float, ay: float, az: float, excess: float) -> None:
    """Integrate the specific force over its mean, by the trapezoid, and keep the excess."""
    state[PENDING] += dt * (0.5 * (ax + state[LAST]) - state[MEAN])
    state[PENDING + 1] += dt * (0.5 * (ay + state[LAST + 1]) - state[MEAN + 1])
    state[PENDING + 2] += dt * (0.5 * (az + state[LAST + 2]) - state[MEAN + 2])
    at = RING + 2 * (int(state[LENGTH]) % KEPT)
    state[at], state[at + 1] = excess, dt
    state[LENGTH] += 1.0


def commit(state: Floats) -> None:
    """Let the change of velocity so far be part of the impact."""
    for k in range(3):
        state[CHANGE + k] = state[PENDING + k]


def width(state: Floats) -> float:
    """Return how long the excess is above half of its peak, straight between the samples."""
    length = int(state[LENGTH])
    first = max(length - KEPT, 0)
    half = 0.5 * state[PEAK]
    total = 0.0
    last = state[BEFORE] if first == 0 else 0.0
    for number in range(first, length):
        at = RING + 2 * (number % KEPT)
        here, dt = state[at], state[at + 1]
        above = 1.0 if here >= half else 0.0
        if (last >= half) != (here >= half):
            above = (max(last, here) - half) / abs(here - last)
        total += above * dt
        last = here
    return total


def finish(state: Floats, account: Ints, event: Ints, values: Floats, flags: int) -> bool:
    """Write the impact and wait for the next."""
    state[PHASE] = IDLE
    flags += CLIPPED * (state[CUT] > 0.0) + GAP * (state[HOLED] > 0.0)
    x, y, z = state[PEAK_FORCE], state[PEAK_FORCE + 1], state[PEAK_FORCE + 2]
    dx, dy, dz = x - state[MEAN], y - state[MEAN + 1], z - state[MEAN + 2]
    length = max(math.sqrt(dx * dx + dy * dy + dz * dz), 1e-9)
    values[0] = math.sqrt(x * x + y * y + z * z)
    values[1], values[2], values[3] = x, y, z
    values[4] = state[PEAK]
    values[5] = seconds(account[PEAK_NS], account[FIRST_NS])
    values[6], values[7], values[8] = dx / length, dy / length, dz / length
    for k in range(3):
        values[9 + k] = state[CHANGE + k]
    values[12] = width(state)
    values[13] = 0.5 / state[INTERVAL]
    first, last, certain = account[FIRST_NS], account[LAST_HIGH_NS], account[CERTAIN_NS]
    return record(event, first, last, certain, 0, flags)


def close(state: Floats, account: Ints, _settings: Floats, event: Ints, values: Floats) -> bool:
    """Write the impact that is certain, if there is one, and wait for the next."""
    if state[PHASE] == HIT:
        return finish(state, account, event, values, 0 if state[HOLED] > 0.0 else OPEN)
    state[PHASE] = IDLE
    return False
