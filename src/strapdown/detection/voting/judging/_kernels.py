"""Voting: how far each sensor is from the middle of all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.detection.voting.layout import (
    BITS,
    CALM,
    CHANGE,
    CROSS,
    CUT,
    EXCESS,
    FAILED,
    FAR,
    FAST,
    FAST_GAIN,
    FIRST_STAMP,
    GYRO_BIAS,
    LAST,
    MEASURES,
    MIDDLE,
    NEAR,
    OWN,
    OWN_POWER,
    POWER,
    RANK,
    RESIDUAL,
    RUN,
    SCALE,
    SHARED,
    SIZE,
    SLOW,
    SLOW_GAIN,
    STATE,
    VOTES,
)
from strapdown.intake._kernels import MAX_FORCE, MAX_RATE, usable

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

BORROWS = True

MULTIPLE: Final = 4.0  # of sigma in a limit
FAR_OVER: Final = 1e30


def middle(here: FloatArray, column: int, least: float) -> float:
    """Return the median of a column over the sensors of at least this rank; NaN of none."""
    n, count = len(here), 0
    for i in range(n):
        count += here[i, RANK] >= least
    low = high = math.nan
    for i in range(n):
        if here[i, RANK] < least:
            continue
        value, below = here[i, column], 0
        for j in range(n):
            other = here[j, column]
            below += here[j, RANK] >= least and (other < value or (other == value and j < i))
        if below == (count - 1) // 2:
            low = value
        if below == count // 2:
            high = value
    return 0.5 * (low + high)


def follow(shared: FloatArray, common: int, output: FloatArray, at: int) -> None:
    """Follow the middle of the sensors through both low-passes."""
    fast, slow = shared[FAST_GAIN], shared[SLOW_GAIN]
    square = change = 0.0
    for k in range(3):
        value = output[at + k]
        square += value * value
        step = value - shared[common + MIDDLE + k]
        change += 0.5 * step * step
        shared[common + MIDDLE + k] = value
        shared[common + NEAR + k] += fast * (value - shared[common + NEAR + k])
        shared[common + FAR + k] += slow * (value - shared[common + FAR + k])
    shared[common + SIZE] += fast * (square - shared[common + SIZE])
    shared[common + CHANGE] += fast * (change - shared[common + CHANGE])


def count(
    rows: FloatArray, account: IntArray, noise: FloatArray, here: FloatArray, q: int
) -> tuple[int, float]:
    """Say who votes and who measures; count voters, sum variances."""
    n, at = len(here), 3 * q
    most = MAX_RATE if q == 0 else MAX_FORCE
    voters, total = 0, 0.0
    for i in range(n):
        valid = usable(here[i, at], here[i, at + 1], here[i, at + 2], most)
        account[FIRST_STAMP + (1 + q) * n + i] += not valid
        votes = valid and rows[q * n + i, STATE] != FAILED
        here[i, RANK] = VOTES if votes else MEASURES if valid else 0.0
        if votes:
            voters += 1
            total += noise[q, i] * noise[q, i]
    return voters, total


def judge(
    row: FloatArray,
    shared: FloatArray,
    settings: FloatArray,
    value: FloatArray,
    middles: FloatArray,
    q: int,
    voters: int,
    total: float,
    sigma: float,
) -> None:
    """Say how far over the limit a sensor is."""
    if value[RANK] == 0.0:
        row[EXCESS] = FAR_OVER
        return
    watch(row, shared, value, q)
    votes = value[RANK] == VOTES
    if votes and voters == 1:
        row[EXCESS] = 0.0  # nobody is left to compare it with
        row[FAST:OWN] = 0.0
        return
    partners = votes and voters == 2
    # The median of three or more is about as noisy as half of a mean of squares says.
    variance = total if partners else sigma * sigma + 0.5 * total / max(voters, 1)
    double = 2.0 if partners else 1.0
    compare(row, shared, settings, q * SHARED, value, middles, 3 * q, double, variance)


def watch(row: FloatArray, shared: FloatArray, value: FloatArray, q: int) -> None:
    """Follow what a sensor shows by itself: its mean, its power, and values that repeat."""
    fast, slow, at = shared[FAST_GAIN], shared[SLOW_GAIN], 3 * q
    if row[RUN] == 0.0:
        for k in range(3):
            row[OWN + k] = row[CALM + k] = value[at + k]
    same, power = True, 0.0
    for k in range(3):
        new = value[at + k]
        same = same and new == row[LAST + k]
        row[LAST + k] = new
        off = new - row[OWN + k]
        power += off * off
        row[OWN + k] += fast * off
        row[CALM + k] += slow * (new - row[CALM + k])
    row[OWN_POWER] += fast * (power - row[OWN_POWER])
    row[RUN] = row[RUN] + 1.0 if same else 1.0
    cut = int(value[BITS]) >> 3 * q & 7 != 0
    row[CUT] += slow * (cut - row[CUT])


def compare(
    row: FloatArray,
    shared: FloatArray,
    settings: FloatArray,
    common: int,
    value: FloatArray,
    middles: FloatArray,
    at: int,
    double: float,
    variance: float,
) -> None:
    """Compare a sensor with the middle of all, or with its partner: twice as far.

    ``variance`` is that of the difference. Statistics: mean of the residual over both low-passes,
    its noise, and its part along the value, a wrong scale.
    """
    fast, slow = shared[FAST_GAIN], shared[SLOW_GAIN]
    near = far = power = cross = mean_square = 0.0
    for k in range(3):
        residual = double * (value[at + k] - middles[at + k])
        step = residual - row[RESIDUAL + k]
        row[RESIDUAL + k] = residual
        row[FAST + k] += fast * (residual - row[FAST + k])
        row[SLOW + k] += slow * (residual - row[SLOW + k])
        row[POWER + k] += fast * (0.5 * step * step - row[POWER + k])
        cross += residual * middles[at + k]
        near = max(near, abs(row[FAST + k]))
        far = max(far, abs(row[SLOW + k]))
        power = max(power, row[POWER + k])
        mean_square += shared[common + FAR + k] * shared[common + FAR + k]
    row[CROSS] += fast * (cross - row[CROSS])
    row[EXCESS] = excess(row, shared, settings, common, variance, near, far, power, mean_square)


def excess(
    row: FloatArray,
    shared: FloatArray,
    settings: FloatArray,
    common: int,
    variance: float,
    near: float,
    far: float,
    power: float,
    mean_square: float,
) -> float:
    """Return the largest of the statistics over their limits."""
    fast, slow = shared[FAST_GAIN], shared[SLOW_GAIN]
    bias = settings[GYRO_BIAS + (common > 0)]
    size = math.sqrt(shared[common + SIZE])
    quiet = 0.5 * fast * variance  # of noise behind the low-pass
    by_scale = settings[SCALE] * size
    limit = MULTIPLE * math.sqrt(quiet + by_scale * by_scale) + bias
    calm = settings[SCALE] * math.sqrt(mean_square)
    slow_limit = MULTIPLE * math.sqrt(0.5 * slow * variance + calm * calm) + bias
    by_change = settings[SCALE] * settings[SCALE] * shared[common + CHANGE]
    noise_limit = MULTIPLE * math.sqrt(variance + by_change)
    largest: float = max(near / limit, far / slow_limit)
    if noise_limit > 0.0:
        largest = max(largest, math.sqrt(power) / noise_limit)
    if size > 0.0:
        along = max(2.0 * by_scale + MULTIPLE * math.sqrt(quiet), bias)
        largest = max(largest, abs(row[CROSS]) / size / along)
    return largest
