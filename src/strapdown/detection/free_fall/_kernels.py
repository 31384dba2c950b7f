"""Free fall, sample by sample.

=====  ===========  ====================================================================
state  name         holds
=====  ===========  ====================================================================
2      PHASE        IDLE, LOW (not yet long enough), FALLING, ENDED (waiting for impact)
3      WAIT         time since the last usable specific force, before this sample [s]
4      SINCE_PUSH   time since the specific force was above that of a push [s]
5-7    RATE         last usable angular velocity [rad/s]
8      RATE_AGE     how old it is [s]; at most RATE_KEPT_S
9      PUSHED       SINCE_PUSH at the start of this fall [s]
10     BEFORE       half of the interval before its first sample [s]
11     AFTER        half of the interval after its last sample [s]
12     LEAST        smallest corrected specific force [m/s^2]
13-18  SUMS         of corrected specific force, rotation's part, turn rate, and as a vector
19     SAMPLES_IN   how many samples are in the sums
20     PEAK         largest specific force after the end [m/s^2]
21     HOLED        1: a hole in the data ended it
22     HIT_CLIPPED  1: the accelerometer was saturated after the end
=====  ===========  ====================================================================
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

if TYPE_CHECKING:
    from strapdown.intake._kernels import Floats, Ints

PHASE: Final = OWN
WAIT: Final = 3
SINCE_PUSH: Final = 4
RATE: Final = 5
RATE_AGE: Final = 8
PUSHED: Final = 9
BEFORE: Final = 10
AFTER: Final = 11
LEAST: Final = 12
SUMS: Final = 13
SAMPLES_IN: Final = 19
PEAK: Final = 20
HOLED: Final = 21
HIT_CLIPPED: Final = 22

IDLE: Final = 0.0
LOW: Final = 1.0
FALLING: Final = 2.0
ENDED: Final = 3.0

LONG_AGO_S: Final = 1e6
RATE_KEPT_S: Final = 0.1  # a missing angular velocity is taken from the last one for so long
FRESH: Final = (*FRESH_CLOCK, IDLE, 0.0, LONG_AGO_S, 0.0, 0.0, 0.0, RATE_KEPT_S, *[0.0] * 14)

FIRST_NS: Final = OWN_ACCOUNT  # first and last low sample
LAST_LOW_NS: Final = OWN_ACCOUNT + 1
KEPT_NS: Final = OWN_ACCOUNT + 2  # last sample below the release
CERTAIN_NS: Final = OWN_ACCOUNT + 3
FRESH_ACCOUNT: Final = (*FRESH_COUNTS, 0, 0, 0, 0)

# settings
THRESHOLD: Final = 0
TURNING_THRESHOLD: Final = 1
TURNING_RATE: Final = 2
TURNING_SPREAD: Final = 3
MIN_DURATION: Final = 4
RELEASE_RATIO: Final = 5
BRIDGE: Final = 6
PUSH: Final = 7
PUSH_WINDOW: Final = 8
IMPACT: Final = 9
IMPACT_WINDOW: Final = 10
GRAVITY: Final = 11
LEVER_ARM: Final = 12

THROWN: Final = 1
HIT: Final = 2
CLIPPED: Final = 4
GAP: Final = 8
OPEN: Final = 16


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
    """Take a sample; a fall is complete when the wait for its impact is over."""
    sample = take(state, account, t_ns, wx, wy, wz, ax, ay, az)
    if sample.event == DROPPED:
        return False
    found = False
    if sample.event == BEGIN:
        found = close(state, account, settings, event, values)
        state[SINCE_PUSH] = LONG_AGO_S
        state[RATE_AGE] = RATE_KEPT_S
        state[WAIT] = 0.0
    dt = sample.dt
    state[RATE_AGE] = min(state[RATE_AGE] + dt, RATE_KEPT_S)
    state[SINCE_PUSH] = min(state[SINCE_PUSH] + dt, LONG_AGO_S)
    state[WAIT] += dt
    if sample.has_rate:
        state[RATE], state[RATE + 1], state[RATE + 2] = wx, wy, wz
        state[RATE_AGE] = 0.0
    if not sample.has_force:
        return found
    wait = state[WAIT]
    state[WAIT] = 0.0
    before = 0.0 if is_hole(state, wait) else 0.5 * wait
    raw = math.sqrt(ax * ax + ay * ay + az * az)
    rest, turned = without_rotation(state, settings, ax, ay, az)
    low = is_low(state, settings, rest, ax, ay, az)
    if state[PHASE] == LOW or state[PHASE] == FALLING:
        follow(state, account, settings, t_ns, raw, rest, low, before)
    if state[PHASE] == ENDED:
        found = land(state, account, settings, event, values, t_ns, raw, low, clipped)
    if state[PHASE] == IDLE and low:
        begin(state, account, t_ns, before)
    if low:
        add(state, rest, turned, ax, ay, az)
    if raw > settings[PUSH]:
        state[SINCE_PUSH] = 0.0
    return found


def without_rotation(
    state: Floats, settings: Floats, ax: float, ay: float, az: float
) -> tuple[float, float]:
    """Return |f - w x (w x r)|, what it would read in the centre of mass, and |w x (w x r)|."""
    if math.isnan(settings[LEVER_ARM]) or state[RATE_AGE] >= RATE_KEPT_S:
        return math.sqrt(ax * ax + ay * ay + az * az), math.nan
    x, y, z = settings[LEVER_ARM], settings[LEVER_ARM + 1], settings[LEVER_ARM + 2]
    wx, wy, wz = state[RATE], state[RATE + 1], state[RATE + 2]
    along, square = wx * x + wy * y + wz * z, wx * wx + wy * wy + wz * wz
    cx, cy, cz = wx * along - x * square, wy * along - y * square, wz * along - z * square
    rest = math.sqrt((ax - cx) ** 2 + (ay - cy) ** 2 + (az - cz) ** 2)
    return rest, math.sqrt(cx * cx + cy * cy + cz * cz)


def turn_rate(state: Floats) -> float:
    """Return the last angular rate, 0 where none is known."""
    if state[RATE_AGE] >= RATE_KEPT_S:
        return 0.0
    return math.sqrt(state[RATE] ** 2 + state[RATE + 1] ** 2 + state[RATE + 2] ** 2)


def is_low(state: Floats, settings: Floats, rest: float, ax: float, ay: float, az: float) -> bool:
    """Whether a sample is one of free fall.

    What spins steadily reads a constant vector away from its centre of mass: with an unknown
    lever arm more is allowed, if it stays near the mean of the phase so far. In a swing of a hand
    it does not.
    """
    if rest < settings[THRESHOLD]:
        return True
    if not math.isnan(settings[LEVER_ARM]) or rest >= settings[TURNING_THRESHOLD]:
        return False
    if turn_rate(state) <= settings[TURNING_RATE]:
        return False
    if state[PHASE] != LOW and state[PHASE] != FALLING:
        return True
    n = state[SAMPLES_IN]
    dx, dy, dz = ax - state[SUMS + 3] / n, ay - state[SUMS + 4] / n, az - state[SUMS + 5] / n
    return dx * dx + dy * dy + dz * dz < settings[TURNING_SPREAD] ** 2


def begin(state: Floats, account: Ints, t_ns: int, before: float) -> None:
    """Begin what may become a fall with this sample."""
    state[PHASE] = LOW
    state[PUSHED] = state[SINCE_PUSH]
    state[BEFORE] = before
    state[LEAST] = LONG_AGO_S
    for k in range(SUMS, HIT_CLIPPED + 1):
        state[k] = 0.0
    account[FIRST_NS] = t_ns
    keep(state, account, t_ns)


def keep(state: Floats, account: Ints, t_ns: int) -> None:
    """Let the phase last to this sample."""
    account[LAST_LOW_NS] = account[KEPT_NS] = t_ns
    state[AFTER] = -1.0


def add(state: Floats, rest: float, turned: float, ax: float, ay: float, az: float) -> None:
    """Add a low sample to the statistics of its phase."""
    state[LEAST] = min(state[LEAST], rest)
    state[SUMS] += rest
    state[SUMS + 1] += 0.0 if math.isnan(turned) else turned
    state[SUMS + 2] += turn_rate(state)
    state[SUMS + 3] += ax
    state[SUMS + 4] += ay
    state[SUMS + 5] += az
    state[SAMPLES_IN] += 1.0


def follow(
    state: Floats,
    account: Ints,
    settings: Floats,
    t_ns: int,
    raw: float,
    rest: float,
    low: bool,
    before: float,
) -> None:
    """Go on with a low phase, or end it.

    Before it is certain every sample has to be low; each stands for half of the intervals at
    its sides. Then only an impact ends it, a hole in the data, or a stretch above the release.
    """
    hole = before == 0.0
    over = not low and rest >= settings[RELEASE_RATIO] * settings[THRESHOLD]
    if state[AFTER] < 0.0 and not low:
        state[AFTER] = before
    if state[PHASE] == LOW:
        if hole or not low:
            state[PHASE] = IDLE
            return
    elif (
        hole
        or raw >= settings[IMPACT]
        or (over and seconds(t_ns, account[KEPT_NS]) > settings[BRIDGE])
    ):
        state[HOLED] = 1.0 if hole else 0.0
        state[PHASE] = ENDED
        return
    if low:
        keep(state, account, t_ns)
    elif not over:
        account[KEPT_NS] = t_ns
    lasted = seconds(t_ns, account[FIRST_NS]) + state[BEFORE] + before
    if state[PHASE] == LOW and lasted >= settings[MIN_DURATION]:
        state[PHASE] = FALLING
        account[CERTAIN_NS] = t_ns


def land(
    state: Floats,
    account: Ints,
    settings: Floats,
    event: Ints,
    values: Floats,
    t_ns: int,
    raw: float,
    low: bool,
    clipped: int,
) -> bool:
    """Wait for the impact after a fall, but not into the next one."""
    if low or seconds(t_ns, account[LAST_LOW_NS]) > settings[IMPACT_WINDOW]:
        return close(state, account, settings, event, values)
    state[PEAK] = max(state[PEAK], raw)
    if clipped >> 3:
        state[HIT_CLIPPED] = 1.0
    return False


def close(state: Floats, account: Ints, settings: Floats, event: Ints, values: Floats) -> bool:
    """Write the fall that is certain, if there is one, and wait for the next."""
    phase = state[PHASE]
    state[PHASE] = IDLE
    if phase < FALLING:
        return False
    hit = state[PEAK] >= settings[IMPACT]
    flags = (
        THROWN * (state[PUSHED] <= settings[PUSH_WINDOW])
        + HIT * hit
        + CLIPPED * (state[HIT_CLIPPED] > 0.0)
        + GAP * (state[HOLED] > 0.0)
        + OPEN * (phase == FALLING)
    )
    first, last = account[FIRST_NS], account[LAST_LOW_NS]
    fall = seconds(last, first) + state[BEFORE] + max(state[AFTER], 0.0)
    values[0] = fall
    values[1] = 0.5 * settings[GRAVITY] * fall * fall
    values[2] = state[LEAST]
    values[3] = state[SUMS] / state[SAMPLES_IN]
    values[4] = math.nan if math.isnan(settings[LEVER_ARM]) else state[SUMS + 1] / state[SAMPLES_IN]
    values[5] = state[SUMS + 2] / state[SAMPLES_IN]
    values[6] = state[PEAK] if hit else math.nan
    return record(event, first, last, account[CERTAIN_NS], 0, flags)
