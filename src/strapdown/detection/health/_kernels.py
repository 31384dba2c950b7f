"""Health of gyro and accelerometer, sample by sample.

The state and the account of the detectors of stuck sensors and of clock faults stand, whole,
behind those of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown.detection._kernels import (
    BEGIN,
    EVENT_SIZE,
    FRESH_CLOCK,
    FRESH_COUNTS,
    LAST_NS,
    NEXT,
    OWN,
    OWN_ACCOUNT,
    record,
    seconds,
    take,
)
from strapdown.detection.stuck._kernels import FRESH as FRESH_STUCK
from strapdown.detection.stuck._kernels import FRESH_ACCOUNT as FRESH_STUCK_ACCOUNT
from strapdown.detection.stuck._kernels import LOW_NOISE, NOISE_FREE, NOW
from strapdown.detection.stuck._kernels import step as step_stuck
from strapdown.detection.timing._kernels import (
    ACTIVE,
    BACKWARD,
    BITS,
    DUPLICATE,
    JITTERS,
    LATE,
    LOST,
    RATE_WRONG,
)
from strapdown.detection.timing._kernels import FRESH as FRESH_TIMING
from strapdown.detection.timing._kernels import FRESH_ACCOUNT as FRESH_TIMING_ACCOUNT
from strapdown.detection.timing._kernels import step as step_timing

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

BORROWS = True

STUCK_STATE: Final = OWN
TIMING_STATE: Final = STUCK_STATE + len(FRESH_STUCK)
FIGURES: Final = TIMING_STATE + len(FRESH_TIMING)  # scratch: what they write of an event
FRESH: Final = (*FRESH_CLOCK, *FRESH_STUCK, *FRESH_TIMING, *[0.0] * 5)

REASONS: Final = 10  # bits of a sensor, in the order of what follows
STUCK: Final = 1
QUIET: Final = 2
CLIPPED: Final = 4
INVALID: Final = 8
MISSING: Final = 16
IS_LATE: Final = 32
IS_LOST: Final = 64
WRONG_RATE: Final = 128
HAS_JITTER: Final = 256
DISORDER: Final = 512
FAILS: Final = STUCK | MISSING | IS_LOST
OPEN: Final = 1 << 2 * REASONS

FIRST_NS: Final = OWN_ACCOUNT  # of a stretch in which a sensor is not well; its last sample
LAST_ILL_NS: Final = OWN_ACCOUNT + 1
IS_ILL: Final = OWN_ACCOUNT + 2
WORST: Final = OWN_ACCOUNT + 3  # 1 degraded, 2 failed
SEEN: Final = OWN_ACCOUNT + 4  # reasons of the stretch
SENSORS: Final = OWN_ACCOUNT + 5  # of each: REASON, ALL, VALID_NS, DEGRADED_NS, FAILED_NS, SINCE
REASON: Final = 0  # why it is not well now
ALL: Final = 1  # and since the beginning
VALID_NS: Final = 2  # last usable value
DEGRADED_NS: Final = 3  # time in that status
FAILED_NS: Final = 4
LAST_SEEN: Final = 5  # when each of the first five reasons held
SENSOR_SIZE: Final = 10
STUCK_ACCOUNT: Final = SENSORS + 2 * SENSOR_SIZE
TIMING_ACCOUNT: Final = STUCK_ACCOUNT + len(FRESH_STUCK_ACCOUNT)
EVENTS: Final = TIMING_ACCOUNT + len(FRESH_TIMING_ACCOUNT)  # scratch
FRESH_ACCOUNT: Final = (
    *FRESH_COUNTS,
    *[0] * (5 + 2 * SENSOR_SIZE),
    *FRESH_STUCK_ACCOUNT,
    *FRESH_TIMING_ACCOUNT,
    *[0] * EVENT_SIZE,
)

# settings
HYSTERESIS: Final = 0
MISSING_AFTER: Final = 1
STUCK_SETTINGS: Final = 2
TIMING_SETTINGS: Final = STUCK_SETTINGS + NOISE_FREE + 1


def step(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    event: IntArray,
    values: FloatArray,
    t_ns: int,
    wx: float,
    wy: float,
    wz: float,
    ax: float,
    ay: float,
    az: float,
    clipped: int,
) -> bool:
    """Take a sample; a stretch is complete when both sensors are well again."""
    unread, figures = account[EVENTS:], state[FIGURES:]
    step_stuck(
        state[STUCK_STATE:TIMING_STATE], account[STUCK_ACCOUNT:TIMING_ACCOUNT],
        settings[STUCK_SETTINGS:TIMING_SETTINGS], unread, figures,
        t_ns, wx, wy, wz, ax, ay, az, clipped,
    )  # fmt: skip
    step_timing(
        state[TIMING_STATE:FIGURES], account[TIMING_ACCOUNT:EVENTS], settings[TIMING_SETTINGS:],
        unread, figures, t_ns, wx, wy, wz, ax, ay, az, clipped,
    )  # fmt: skip
    for k in range(len(figures)):
        figures[k] = 0.0
    previous = account[LAST_NS]
    sample = take(state, account, t_ns, wx, wy, wz, ax, ay, az)
    found = False
    if sample.event == BEGIN:
        found = close(state, account, settings, event, values)
        for sensor in range(2):
            at = SENSORS + sensor * SENSOR_SIZE
            account[at + VALID_NS] = t_ns
            account[at + REASON] = 0
    now = account[LAST_NS]
    stuck = account[STUCK_ACCOUNT + NOW]
    clock = clock_reasons(state, account)
    worst = seen = 0
    for sensor in range(2):
        valid = sample.has_rate if sensor == 0 else sample.has_force
        faults = STUCK if stuck >> 3 * sensor & 7 else 0
        faults |= QUIET if stuck & LOW_NOISE << sensor else 0
        faults |= CLIPPED if clipped >> 3 * sensor & 7 else 0
        elapsed = now - previous if sample.event == NEXT else 0
        reason = judge(account, settings, sensor, now, elapsed, valid, faults) | clock
        at = SENSORS + sensor * SENSOR_SIZE
        account[at + REASON] = reason
        account[at + ALL] |= reason
        seen |= reason << REASONS * sensor
        if reason:
            worst = max(worst, 2 if reason & FAILS else 1)
    if seen:
        extend(account, now, worst, seen)
    elif account[IS_ILL]:
        found = finish(account, event, 0)
    return found


def clock_reasons(state: FloatArray, account: IntArray) -> int:
    """Return what is wrong with the clock: the faults of its stretch, as long as that lasts."""
    if state[TIMING_STATE + ACTIVE] == 0.0:
        return 0
    bits = account[TIMING_ACCOUNT + BITS]
    reasons = IS_LATE if bits & LATE else 0
    reasons |= IS_LOST if bits & LOST else 0
    reasons |= WRONG_RATE if bits & RATE_WRONG else 0
    reasons |= HAS_JITTER if bits & JITTERS else 0
    return reasons | (DISORDER if bits & (DUPLICATE | BACKWARD) else 0)


def judge(
    account: IntArray,
    settings: FloatArray,
    sensor: int,
    now: int,
    elapsed: int,
    valid: bool,
    faults: int,
) -> int:
    """Return why a sensor is not well; a reason stays for a while after it has gone."""
    at = SENSORS + sensor * SENSOR_SIZE
    before = account[at + REASON]
    if before & FAILS:
        account[at + FAILED_NS] += elapsed
    elif before:
        account[at + DEGRADED_NS] += elapsed
    if valid:
        account[at + VALID_NS] = now
    else:
        faults |= INVALID
        if seconds(now, account[at + VALID_NS]) >= settings[MISSING_AFTER]:
            faults |= MISSING
    for bit in range(5 if before or faults else 0):
        if faults >> bit & 1:
            account[at + LAST_SEEN + bit] = now
        elif before >> bit & 1:
            gone = seconds(now, account[at + LAST_SEEN + bit])
            faults |= 1 << bit if gone < settings[HYSTERESIS] else 0
    return faults


def extend(account: IntArray, now: int, worst: int, seen: int) -> None:
    """Begin a stretch, or add a sample to it."""
    if not account[IS_ILL]:
        account[IS_ILL] = 1
        account[FIRST_NS] = now
        account[WORST] = account[SEEN] = 0
    account[LAST_ILL_NS] = now
    account[WORST] = max(account[WORST], worst)
    account[SEEN] |= seen


def finish(account: IntArray, event: IntArray, flags: int) -> bool:
    """Write the stretch and wait for the next."""
    account[IS_ILL] = 0
    first, last = account[FIRST_NS], account[LAST_ILL_NS]
    return record(event, first, last, first, account[WORST] - 1, account[SEEN] | flags)


def close(
    _state: FloatArray,
    account: IntArray,
    _settings: FloatArray,
    event: IntArray,
    _values: FloatArray,
) -> bool:
    """Write the stretch that has not ended, if there is one, and wait for the next."""
    return account[IS_ILL] != 0 and finish(account, event, OPEN)
