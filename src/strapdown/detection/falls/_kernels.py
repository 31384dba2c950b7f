"""Falls of people, sample by sample: low, impact, tilt.

The last four seconds are kept in cells of 20 ms, a ring: what a decision needs is summed or
extreme in each. So memory does not depend on the sampling rate, and a sample costs the same
always; only a new or higher peak looks back over a second, and a decision over four.

======  ============  =================================================================
state   name          holds
======  ============  =================================================================
2       WAIT          time since the last usable specific force, before this sample [s]
3-5     FAST          specific force through the first pole of the 5 Hz low-pass
6-8     SMOOTH        the same through the second
9-11    SLOW          through a low-pass of 0.5 s, for lying still
12      PRIMED        1: the low-passes have seen a sample
13      WATCH         1: a fall was reported, look for lying still
14      STILL         1: it does lie still
15-17   UPRIGHT       mean specific force before that fall
18-23   CANDIDATE     IS_OPEN, PEAK, LEAST, LOW_TIME, FREE_TIME, CUT of the older candidate
24-29                 of the younger
30-     CELLS         fields of each cell, see below
======  ============  =================================================================
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
    UNDECIDED,
    is_hole,
    record,
    seconds,
    take,
)

if TYPE_CHECKING:
    from strapdown.intake._kernels import Floats, Ints

WAIT: Final = 2
FAST: Final = 3
SMOOTH: Final = 6
SLOW: Final = 9
PRIMED: Final = 12
WATCH: Final = 13
STILL: Final = 14
UPRIGHT: Final = 15
CANDIDATE: Final = 18
CANDIDATE_SIZE: Final = 6
CELLS: Final = CANDIDATE + 2 * CANDIDATE_SIZE

IS_OPEN: Final = 0  # fields of a candidate: 1 or 0, ...
PEAK: Final = 1  # ... largest specific force [m/s^2], ...
LEAST: Final = 2  # ... smallest in the second before it, ...
LOW_TIME: Final = 3  # ... how long it was low in it [s], ...
FREE_TIME: Final = 4  # ... how long it was nearly nothing [s], ...
CUT: Final = 5  # ... and 1 where the accelerometer was saturated

CELL_NS: Final = 20_000_000
RING: Final = 208  # cells; four seconds and some
NUMBER: Final = 0  # fields of a cell: which one it is, counted from ORIGIN_NS, ...
COVERED: Final = 1  # ... how much of it was measured [s], ...
FORCE: Final = 2  # ... integral of specific force, ...
LOWEST: Final = 5  # ... smallest, and when [ns after its beginning], ...
LOWEST_AT: Final = 6
LOW_FOR: Final = 7  # ... how long it was low [s], ...
FREE_FOR: Final = 8  # ... and nearly nothing, ...
FASTEST: Final = 9  # ... largest turn rate, ...
SWAY: Final = 10  # ... integrals of the smooth force, 3, and of its products, 6
CELL_SIZE: Final = 19
FAR: Final = 1e6

FRESH: Final = (*FRESH_CLOCK, *[0.0] * (CELLS - 2), *(-1.0, *[0.0] * (CELL_SIZE - 1)) * RING)

ORIGIN_NS: Final = OWN_ACCOUNT  # where cell 0 begins
PEAK_NS: Final = OWN_ACCOUNT + 1  # of the older candidate, then of the younger
LEAST_NS: Final = OWN_ACCOUNT + 3  # likewise
FALL_NS: Final = OWN_ACCOUNT + 5  # impact of the fall after which to look for lying still
STILL_NS: Final = OWN_ACCOUNT + 6  # since when it has been still
NOW_NS: Final = OWN_ACCOUNT + 7  # last sample that was taken
FRESH_ACCOUNT: Final = (*FRESH_COUNTS, 0, 0, 0, 0, 0, 0, 0, 0)

# settings
LOW: Final = 0
HIGH: Final = 1
HIGH_SLOW: Final = 2
ANGLE: Final = 3
COVERAGE: Final = 4
LIE_S: Final = 5
LIE_WITHIN_S: Final = 6
STILL_FORCE: Final = 7
STILL_RATE: Final = 8
WEIGHTS: Final = 9  # of a score, one a feature, then its offset (NaN: no score) and threshold
OFFSET: Final = 15
LIKELY: Final = 16
FEATURE: Final = 1  # place in the values of the first of six

SLOW_INTERVAL_S: Final = 0.025  # below 40 Hz peaks are missed
SECOND_NS: Final = 1_000_000_000
POLE_S: Final = 0.0204855  # two such poles halve the power at 5 Hz
SLOW_S: Final = 0.5
FREE: Final = 1.5  # m/s^2: below it for FREE_S only a device falls
FREE_S: Final = 0.2

FALL: Final = 0
LONG_LIE: Final = 1
CLIPPED: Final = 1
DROPPED_DEVICE: Final = 2


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
    """Decide what is due, then take the sample."""
    sample = take(state, account, t_ns, wx, wy, wz, ax, ay, az)
    if sample.event == DROPPED:
        return False
    if sample.event == BEGIN:
        found = close(state, account, settings, event, values)
        for k in range(WAIT, CANDIDATE):
            state[k] = 0.0
        for k in range(RING):
            state[CELLS + k * CELL_SIZE + NUMBER] = -1.0
        account[ORIGIN_NS] = t_ns
    else:
        found = decide_due(state, account, settings, event, values, t_ns, 2 * SECOND_NS)
    account[NOW_NS] = t_ns
    state[WAIT] += sample.dt
    rate = math.sqrt(wx * wx + wy * wy + wz * wz) if sample.has_rate else 0.0
    at = cell_of(state, account, t_ns)
    state[at + FASTEST] = max(state[at + FASTEST], rate)
    if not sample.has_force:
        return found
    hole = is_hole(state, state[WAIT])
    weight = state[INTERVAL] if hole else state[WAIT]
    smooth(state, state[WAIT], ax, ay, az)
    state[WAIT] = 0.0
    norm = math.sqrt(ax * ax + ay * ay + az * az)
    add(state, account, settings, t_ns, at, weight, ax, ay, az, norm)
    look_for_peak(state, account, settings, t_ns, norm, clipped)
    if state[WATCH] > 0.0 and not found:
        return watch(state, account, settings, event, values, t_ns, ax, ay, az, rate, hole)
    return found


def smooth(state: Floats, wait: float, ax: float, ay: float, az: float) -> None:
    """Low-pass the specific force at 5 Hz and at 0.5 s."""
    quick, slow = -math.expm1(-wait / POLE_S), -math.expm1(-wait / SLOW_S)
    if state[PRIMED] == 0.0:
        quick = slow = state[PRIMED] = 1.0
    for axis in range(3):
        force = ax if axis == 0 else ay if axis == 1 else az
        state[FAST + axis] += quick * (force - state[FAST + axis])
        state[SMOOTH + axis] += quick * (state[FAST + axis] - state[SMOOTH + axis])
        state[SLOW + axis] += slow * (force - state[SLOW + axis])


def cell_of(state: Floats, account: Ints, t_ns: int) -> int:
    """Return where the cell of an instant stands, emptied if it was another one's."""
    number = (t_ns - account[ORIGIN_NS]) // CELL_NS
    at = CELLS + number % RING * CELL_SIZE
    if state[at + NUMBER] != number:
        for k in range(CELL_SIZE):
            state[at + k] = 0.0
        state[at + NUMBER] = number
        state[at + LOWEST] = FAR
    return at


def add(
    state: Floats,
    account: Ints,
    settings: Floats,
    t_ns: int,
    at: int,
    weight: float,
    ax: float,
    ay: float,
    az: float,
    norm: float,
) -> None:
    """Add a sample to its cell; it stands for the time since the one before it."""
    state[at + COVERED] += weight
    state[at + FORCE] += weight * ax
    state[at + FORCE + 1] += weight * ay
    state[at + FORCE + 2] += weight * az
    if norm < state[at + LOWEST]:
        state[at + LOWEST] = norm
        state[at + LOWEST_AT] = (t_ns - account[ORIGIN_NS]) % CELL_NS
    if norm < settings[LOW]:
        state[at + LOW_FOR] += weight
    if norm < FREE:
        state[at + FREE_FOR] += weight
    x, y, z = state[SMOOTH], state[SMOOTH + 1], state[SMOOTH + 2]
    state[at + SWAY] += weight * x
    state[at + SWAY + 1] += weight * y
    state[at + SWAY + 2] += weight * z
    state[at + SWAY + 3] += weight * x * x
    state[at + SWAY + 4] += weight * y * y
    state[at + SWAY + 5] += weight * z * z
    state[at + SWAY + 6] += weight * x * y
    state[at + SWAY + 7] += weight * x * z
    state[at + SWAY + 8] += weight * y * z


def look_for_peak(
    state: Floats, account: Ints, settings: Floats, t_ns: int, norm: float, clipped: int
) -> None:
    """Move the youngest candidate to a larger sample within a second, or open another."""
    last = 1 if state[CANDIDATE + CANDIDATE_SIZE] > 0.0 else 0
    at = CANDIDATE + last * CANDIDATE_SIZE
    high = settings[HIGH_SLOW] if state[INTERVAL] > SLOW_INTERVAL_S else settings[HIGH]
    if state[at + IS_OPEN] > 0.0 and t_ns - account[PEAK_NS + last] <= SECOND_NS:
        if norm <= state[at + PEAK]:
            return
    elif norm > high:
        last = 1 if state[CANDIDATE + IS_OPEN] > 0.0 else 0
        at = CANDIDATE + last * CANDIDATE_SIZE
        state[at + IS_OPEN] = 1.0
    else:
        return
    state[at + PEAK] = norm
    state[at + CUT] = 1.0 if clipped >> 3 else 0.0
    account[PEAK_NS + last] = t_ns
    state[at + LEAST] = FAR
    state[at + LOW_TIME] = state[at + FREE_TIME] = 0.0
    here = (t_ns - account[ORIGIN_NS]) // CELL_NS
    for number in range(max(here - SECOND_NS // CELL_NS, 0), here + 1):
        cell = CELLS + number % RING * CELL_SIZE
        if state[cell + NUMBER] != number:
            continue
        state[at + LOW_TIME] += state[cell + LOW_FOR]
        state[at + FREE_TIME] += state[cell + FREE_FOR]
        if state[cell + LOWEST] < state[at + LEAST]:
            state[at + LEAST] = state[cell + LOWEST]
            offset = number * CELL_NS + int(state[cell + LOWEST_AT])
            account[LEAST_NS + last] = account[ORIGIN_NS] + offset


def decide_due(
    state: Floats,
    account: Ints,
    settings: Floats,
    event: Ints,
    values: Floats,
    t_ns: int,
    wait_ns: int,
) -> bool:
    """Decide the candidates whose peak is so long ago; a fall swallows the one within it."""
    found = False
    while not found and state[CANDIDATE] > 0.0 and t_ns - account[PEAK_NS] >= wait_ns:
        found = decide(state, account, settings, event, values, t_ns)
        younger = CANDIDATE + CANDIDATE_SIZE
        for k in range(CANDIDATE_SIZE):
            state[CANDIDATE + k] = state[younger + k]
            state[younger + k] = 0.0
        account[PEAK_NS] = account[PEAK_NS + 1]
        account[LEAST_NS] = account[LEAST_NS + 1]
    if found:
        state[CANDIDATE] = 0.0
    return found


def decide(
    state: Floats, account: Ints, settings: Floats, event: Ints, values: Floats, t_ns: int
) -> bool:
    """Write the older candidate if it is a fall."""
    peak = (account[PEAK_NS] - account[ORIGIN_NS]) // CELL_NS
    second = SECOND_NS // CELL_NS
    cover0, x0, y0, z0 = mean_force(state, peak - 2 * second, peak - second)
    cover1, _, _, _ = mean_force(state, peak - second, peak)
    cover2, x2, y2, z2 = mean_force(state, peak + second, peak + 2 * second)
    has_score = not math.isnan(settings[OFFSET])
    enough = settings[COVERAGE]
    if not has_score and cover1 >= enough and state[CANDIDATE + LEAST] >= settings[LOW]:
        return False
    if cover0 < enough or cover1 < enough or cover2 < enough:
        account[UNDECIDED] += 1
        return False
    values[0] = state[CANDIDATE + LEAST]
    values[1] = state[CANDIDATE + PEAK]
    values[2] = state[CANDIDATE + LOW_TIME]
    values[3] = angle_between(x0, y0, z0, x2, y2, z2)
    values[4] = horizontal_spread(state, peak - second, peak + second, x0, y0, z0)
    values[5] = fastest(state, peak - second, peak + second)
    values[6] = sway(state, peak + second, peak + 2 * second, 0.0, 0.0, 0.0)
    values[7] = math.nan
    values[8] = math.nan
    if has_score:
        values[7] = score(settings, values)
        is_fall = values[7] >= settings[LIKELY]
    else:
        is_fall = values[3] > settings[ANGLE]
    if not is_fall:
        return False
    account[FALL_NS] = account[PEAK_NS]
    state[WATCH] = 1.0
    state[STILL] = 0.0
    state[UPRIGHT], state[UPRIGHT + 1], state[UPRIGHT + 2] = x0, y0, z0
    flags = CLIPPED * (state[CANDIDATE + CUT] > 0.0)
    flags += DROPPED_DEVICE * (state[CANDIDATE + FREE_TIME] >= FREE_S)
    return record(event, account[LEAST_NS], account[PEAK_NS], t_ns, FALL, flags)


def mean_force(state: Floats, first: int, last: int) -> tuple[float, float, float, float]:
    """Return which share of some cells was measured, and the mean specific force in them."""
    covered = x = y = z = 0.0
    for number in range(max(first, 0), last):
        cell = CELLS + number % RING * CELL_SIZE
        if state[cell + NUMBER] == number:
            covered += state[cell + COVERED]
            x += state[cell + FORCE]
            y += state[cell + FORCE + 1]
            z += state[cell + FORCE + 2]
    if covered <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    share = covered / ((last - first) * CELL_NS * 1e-9)
    return share, x / covered, y / covered, z / covered


def fastest(state: Floats, first: int, last: int) -> float:
    """Return the largest turn rate in some cells."""
    largest = 0.0
    for number in range(max(first, 0), last):
        cell = CELLS + number % RING * CELL_SIZE
        if state[cell + NUMBER] == number:
            largest = max(largest, state[cell + FASTEST])
    return largest


def angle_between(x: float, y: float, z: float, a: float, b: float, c: float) -> float:
    """Return the angle between two vectors [rad]; exact also where they nearly coincide."""
    p, q, r = y * c - z * b, z * a - x * c, x * b - y * a
    return math.atan2(math.sqrt(p * p + q * q + r * r), x * a + y * b + z * c)


def horizontal_spread(state: Floats, first: int, last: int, x: float, y: float, z: float) -> float:
    """Return the largest standard deviation across a vertical, in a second of some cells."""
    length = math.sqrt(x * x + y * y + z * z)
    if length > 0.0:
        x, y, z = x / length, y / length, z / length
    largest = 0.0
    second = SECOND_NS // CELL_NS
    for begin in range(first, last - second + 1, 5):
        largest = max(largest, sway(state, begin, begin + second, x, y, z))
    return largest


def sway(state: Floats, first: int, last: int, x: float, y: float, z: float) -> float:
    """Return the standard deviation of the smooth force across a unit vector (0: in all axes)."""
    covered = sx = sy = sz = xx = yy = zz = xy = xz = yz = 0.0
    for number in range(max(first, 0), last):
        cell = CELLS + number % RING * CELL_SIZE
        if state[cell + NUMBER] == number:
            covered += state[cell + COVERED]
            at = cell + SWAY
            sx, sy, sz = sx + state[at], sy + state[at + 1], sz + state[at + 2]
            xx, yy, zz = xx + state[at + 3], yy + state[at + 4], zz + state[at + 5]
            xy, xz, yz = xy + state[at + 6], xz + state[at + 7], yz + state[at + 8]
    if covered <= 0.0:
        return 0.0
    sx, sy, sz = sx / covered, sy / covered, sz / covered
    vxx, vyy, vzz = xx / covered - sx * sx, yy / covered - sy * sy, zz / covered - sz * sz
    vxy, vxz, vyz = xy / covered - sx * sy, xz / covered - sx * sz, yz / covered - sy * sz
    along = x * x * vxx + y * y * vyy + z * z * vzz
    along += 2.0 * (x * y * vxy + x * z * vxz + y * z * vyz)
    return math.sqrt(max(vxx + vyy + vzz - along, 0.0))


def score(settings: Floats, values: Floats) -> float:
    """Return the probability of a logistic law over the features."""
    total = settings[OFFSET]
    for k in range(OFFSET - WEIGHTS):
        total += settings[WEIGHTS + k] * values[FEATURE + k]
    return 1.0 / (1.0 + math.exp(-min(max(total, -500.0), 500.0)))


def watch(
    state: Floats,
    account: Ints,
    settings: Floats,
    event: Ints,
    values: Floats,
    t_ns: int,
    ax: float,
    ay: float,
    az: float,
    rate: float,
    hole: bool,
) -> bool:
    """After a fall: find when someone lies still for long, in another posture than before."""
    if seconds(t_ns, account[FALL_NS]) > settings[LIE_WITHIN_S]:
        state[WATCH] = 0.0
        return False
    x, y, z = state[SLOW], state[SLOW + 1], state[SLOW + 2]
    moved = math.sqrt((ax - x) ** 2 + (ay - y) ** 2 + (az - z) ** 2)
    tilt = angle_between(x, y, z, state[UPRIGHT], state[UPRIGHT + 1], state[UPRIGHT + 2])
    still = moved < settings[STILL_FORCE] and rate < settings[STILL_RATE] and not hole
    if not (still and tilt > settings[ANGLE]):
        state[STILL] = 0.0
        return False
    if state[STILL] == 0.0:
        state[STILL] = 1.0
        account[STILL_NS] = t_ns
    if seconds(t_ns, account[STILL_NS]) < settings[LIE_S]:
        return False
    state[WATCH] = 0.0
    for k in range(8):
        values[k] = math.nan
    values[8] = seconds(t_ns, account[FALL_NS])
    return record(event, account[STILL_NS], t_ns, t_ns, LONG_LIE, 0)


def close(state: Floats, account: Ints, settings: Floats, event: Ints, values: Floats) -> bool:
    """End the data: decide the candidates by what was measured."""
    return decide_due(state, account, settings, event, values, account[NOW_NS], 0)
