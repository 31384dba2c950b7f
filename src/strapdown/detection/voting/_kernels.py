"""Voting among sensors that measure the same, cycle by cycle."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.detection.voting.alignment._kernels import align, differentiate, mount, move
from strapdown.detection.voting.judging._kernels import count, follow, judge, middle
from strapdown.detection.voting.layout import (
    AGREE,
    APART,
    BLENDS,
    CLEARED,
    COMMON_NS,
    DISAGREE,
    EXCESS,
    FAILED,
    FAILED_S,
    FAST_GAIN,
    FAST_S,
    HAS_FAILED,
    HOLD,
    HOLD_S,
    INSIDE,
    IS_SELECTED,
    MEASURES,
    NOISE_FREE,
    OK,
    OVER,
    RANK,
    RECOVER_S,
    RECOVERED,
    RUN,
    SELECTED,
    SHARED,
    SLOW_GAIN,
    SLOW_S,
    STATE,
    STUCK_RUN,
    SUSPECT,
    SUSPECT_S,
    SUSPECTED,
    VOTES,
)
from strapdown.detection.voting.pairs._kernels import EQUAL, UNKNOWN, carry_all, settle

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

BORROWS = True

GUARD: Final = 3.0  # sigmas from the median that an output may be


def cycle(
    rows: FloatArray,
    shared: FloatArray,
    account: IntArray,
    settings: FloatArray,
    noise: FloatArray,
    rank: IntArray,
    mounts: FloatArray,
    before: FloatArray,
    stamps: IntArray,
    readings: FloatArray,
    here: FloatArray,
    output: FloatArray,
    log: IntArray,
) -> int:
    """Vote on a reading of each sensor; return the number of changes that were logged.

    ``readings`` (n, 7) are in sensor axes, NaN where missing, with the bits of clipped axes.
    ``before`` (n, 6) are those of the cycle before, ``here`` is scratch, ``output`` (6) the voted
    values.
    """
    n = len(stamps)
    dt = align(shared, account, before, stamps, readings, here)
    if dt < 0.0:
        return 0
    shared[FAST_GAIN] = -math.expm1(-dt / settings[FAST_S])
    shared[SLOW_GAIN] = -math.expm1(-dt / settings[SLOW_S])
    for i in range(n):
        mount(mounts[i], here[i])
    found = vote(rows, shared, account, settings, noise, rank, here, output, log, 0, 0, dt)
    differentiate(shared, output, dt)
    for i in range(n):
        move(mounts[i], shared, here[i])
    found = vote(rows, shared, account, settings, noise, rank, here, output, log, 1, found, dt)
    carry_all(rows, shared, here, dt)
    return found


def vote(
    rows: FloatArray,
    shared: FloatArray,
    account: IntArray,
    settings: FloatArray,
    noise: FloatArray,
    rank: IntArray,
    here: FloatArray,
    output: FloatArray,
    log: IntArray,
    q: int,
    found: int,
    dt: float,
) -> int:
    """Vote on a quantity: judge each sensor, then say what the body feels."""
    n, at, first = len(rank), 3 * q, q * len(rank)
    voters, total = count(rows, account, noise, here, q)
    for k in range(3):
        output[at + k] = middle(here, at + k, VOTES if voters > 0 else MEASURES)
    if voters > 0:
        follow(shared, q * SHARED, output, at)
    for i in range(n):
        judge(rows[first + i], shared, settings, here[i], output, q, voters, total, noise[q, i])
    blamed = settle(rows, shared, settings, here, q) if voters == 2 else EQUAL
    found = note_disagreement(account, shared, settings, log, q, found, blamed == UNKNOWN, dt)
    for i in range(n):
        row = rows[first + i]
        over = i == blamed if blamed != EQUAL and here[i, RANK] == VOTES else row[EXCESS] > 1.0
        over = over or (row[RUN] >= STUCK_RUN and settings[NOISE_FREE] == 0.0)
        found = advance(row, account, settings, log, q, i, found, over, dt)
    found = select(rows, account, shared, settings, rank, here, log, q, found, dt)
    give(rows, shared, settings, noise, here, output, q, voters)
    return found


def note_disagreement(
    account: IntArray,
    shared: FloatArray,
    settings: FloatArray,
    log: IntArray,
    q: int,
    found: int,
    disagrees: bool,
    dt: float,
) -> int:
    """Count for how long two have disagreed, and log when that begins and ends."""
    at = q * SHARED + APART
    before = shared[at]
    shared[at] = before + dt if disagrees else max(min(before, settings[FAILED_S]) - dt, 0.0)
    limit = settings[SUSPECT_S]
    if before < limit <= shared[at]:
        return write(log, found, account[COMMON_NS], DISAGREE, q, -1)
    if before >= limit > shared[at]:
        return write(log, found, account[COMMON_NS], AGREE, q, -1)
    return found


def advance(
    row: FloatArray,
    account: IntArray,
    settings: FloatArray,
    log: IntArray,
    q: int,
    sensor: int,
    found: int,
    over: bool,
    dt: float,
) -> int:
    """Change the state of a sensor as its time over the limit says."""
    now = account[COMMON_NS]
    nearly = 0.5 * dt  # times are sums of steps: do not miss a limit by a rounding
    if row[STATE] == FAILED:
        well = not over and row[EXCESS] < 0.5
        row[INSIDE] = row[INSIDE] + dt if well else 0.0
        if row[INSIDE] + nearly < settings[RECOVER_S]:
            return found
        row[STATE], row[OVER], row[INSIDE] = OK, 0.0, 0.0
        return write(log, found, now, RECOVERED, q, sensor)
    row[OVER] = row[OVER] + dt if over else max(row[OVER] - dt, 0.0)
    if row[OVER] + nearly >= settings[FAILED_S]:
        row[STATE], row[INSIDE] = FAILED, 0.0
        return write(log, found, now, HAS_FAILED, q, sensor)
    if row[STATE] == OK and row[OVER] + nearly >= settings[SUSPECT_S]:
        row[STATE] = SUSPECT
        return write(log, found, now, SUSPECTED, q, sensor)
    if row[STATE] == SUSPECT and row[OVER] == 0.0:
        row[STATE] = OK
        return write(log, found, now, CLEARED, q, sensor)
    return found


def select(
    rows: FloatArray,
    account: IntArray,
    shared: FloatArray,
    settings: FloatArray,
    rank: IntArray,
    here: FloatArray,
    log: IntArray,
    q: int,
    found: int,
    dt: float,
) -> int:
    """Select another sensor when the present one is not well."""
    at, n = q * SHARED, len(rank)
    shared[at + HOLD] += dt
    present = int(shared[at + SELECTED])
    state = rows[q * n + present, STATE]
    if state == OK or (state == SUSPECT and shared[at + HOLD] < settings[HOLD_S]):
        return found
    best = -1
    for i in range(n):
        well = rows[q * n + i, STATE] == OK and here[i, RANK] == VOTES
        if well and (best < 0 or rank[i] < rank[best]):
            best = i
    if best < 0:
        return found
    shared[at + SELECTED] = best
    shared[at + HOLD] = 0.0
    return write(log, found, account[COMMON_NS], IS_SELECTED, q, best)


def give(
    rows: FloatArray,
    shared: FloatArray,
    settings: FloatArray,
    noise: FloatArray,
    here: FloatArray,
    output: FloatArray,
    q: int,
    voters: int,
) -> None:
    """Put out the selected sensor or the mean of all, not far from the middle of three or more.

    ``output`` holds the middle, which stays where the selected sensor has no value.
    """
    n, at, first = len(here), 3 * q, q * len(here)
    selected = int(shared[q * SHARED + SELECTED])
    for k in range(3):
        middle_value = output[at + k]
        total = weights = 0.0
        for i in range(n):
            mixes = settings[BLENDS] > 0.0 and rows[first + i, STATE] == OK
            if here[i, RANK] < MEASURES or not (
                mixes or (settings[BLENDS] == 0.0 and i == selected)
            ):
                continue
            sigma = noise[q, i]
            value = here[i, at + k]
            if voters >= 3:
                guard = GUARD * sigma
                value = min(max(value, middle_value - guard), middle_value + guard)
            total += value / (sigma * sigma)
            weights += 1.0 / (sigma * sigma)
        if weights > 0.0:
            output[at + k] = total / weights


def write(log: IntArray, found: int, t_ns: int, kind: int, q: int, sensor: int) -> int:
    """Log a change."""
    log[found, 0] = t_ns
    log[found, 1] = kind
    log[found, 2] = q
    log[found, 3] = sensor
    return found + 1


def run(
    rows: FloatArray,
    shared: FloatArray,
    account: IntArray,
    settings: FloatArray,
    noise: FloatArray,
    rank: IntArray,
    mounts: FloatArray,
    before: FloatArray,
    stamps: IntArray,
    readings: FloatArray,
    here: FloatArray,
    outputs: FloatArray,
    states: IntArray,
    selected: IntArray,
    log: IntArray,
    first: int,
    most: int,
) -> tuple[int, int]:
    """Vote on many cycles; return how far, and how many changes, when the log may run out."""
    found = 0
    for c in range(first, len(stamps)):
        if found + most > len(log):
            return c, found
        for k in range(6):  # a cycle without a new stamp leaves them as they were
            outputs[c, k] = outputs[max(c - 1, 0), k]
        found += cycle(
            rows, shared, account, settings, noise, rank, mounts, before, stamps[c], readings[c],
            here, outputs[c], log[found:],
        )  # fmt: skip
        for k in range(len(rows)):
            states[c, k] = int(rows[k, STATE])
        selected[c, 0] = int(shared[SELECTED])
        selected[c, 1] = int(shared[SHARED + SELECTED])
    return len(stamps), found
