"""Stillness, sample by sample: window that ends with the sample, statistic, and phase."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Matrix, Record, Vector, filled, zeros
from strapdown.detection.intake import (
    DetectorEvent,
    DetectorMemory,
    complete,
    is_hole,
    seconds,
    take,
)
from strapdown.geometry.vectors import approach, clear, distance2, put, square, three
from strapdown.samples.clock import DROPPED, START

if TYPE_CHECKING:
    from strapdown._typing import Three
    from strapdown.detection.intake import DetectorCounts, Settings
    from strapdown.samples.sample import Sample

CAPACITY: Final = 512  # largest number of samples in a window

MOVING, QUIET, STILL = range(3)  # phases; QUIET is not yet long enough
SHOE, ARE, MV, MAG, LOWPASS, VARIANCE = range(6)  # kinds, in the order of StillnessKind
GAP, OPEN = 1, 2  # flags
FULL: Final = 0.75  # of its length: a shorter window has no statistic
FEWEST: Final = 2  # samples


class StillnessMemory(DetectorMemory):
    """Window and its sums, low-passed sample, and quiet phase."""

    phase: int = MOVING
    statistic: float = -1.0  # of the window that ends here; -1: not enough samples
    limit: float = 0.0  # below which it is quiet
    wait: float = 0.0  # time since the last usable sample [s]
    slow_rate: Vector = filled(3)  # low-passed angular velocity [rad/s]
    slow_force: Vector = filled(3)  # low-passed specific force [m/s^2]
    count: int = 0  # samples in the window
    newest: int = 0  # index of the last one in the ring
    rate_sum: Vector = filled(3)  # of the angular velocities in the window,
    rate_squares: float = 0.0  # and of their squares
    force_sum: Vector = filled(3)  # of the specific forces,
    force_squares: Vector = filled(3)  # and of their squares on each axis
    first_ns: int = 0  # of the quiet phase; its last sample,
    last_ns: int = 0
    since_ns: int = 0  # and the time when it was long enough
    quiet_sum: float = 0.0  # of the statistic in this phase
    quiet_count: int = 0  # samples in it
    stamps: list[int] = [0] * CAPACITY  # ring of the last samples
    rates: Matrix = zeros(CAPACITY, 3)
    forces: Matrix = zeros(CAPACITY, 3)


class StillnessNow(Record):
    """Phase and statistic after a sample."""

    phase: int = MOVING
    statistic: float = -1.0
    limit: float = 0.0
    count: int = 0


class StillnessEvent(DetectorEvent):
    """Still interval."""

    duration_s: float = math.nan
    statistic: float = math.nan
    now: StillnessNow = StillnessNow()


@kernel
def step(
    s: StillnessMemory, counts: DetectorCounts, p: Settings, sample: Sample, event: StillnessEvent
) -> bool:
    """Process a sample; a still interval is complete when motion begins."""
    found = follow(s, counts, p, sample, event)
    now = event.now
    now.phase, now.count = s.phase, s.count
    now.statistic, now.limit = s.statistic, s.limit
    return found


@kernel
def follow(
    s: StillnessMemory, counts: DetectorCounts, p: Settings, sample: Sample, event: StillnessEvent
) -> bool:
    """Add a sample to the window, and update the phase by its statistic."""
    taken = take(s, counts, sample)
    if taken.event == DROPPED:
        return False
    s.wait += taken.dt
    found = False
    if taken.event == START:
        found = finish(s, event, 0)
        s.count = 0
    uses_rate = p.kind in (SHOE, ARE, LOWPASS)
    uses_force = p.kind != ARE
    if (uses_rate and not taken.has_rate) or (uses_force and not taken.has_force):
        return found
    wait = s.wait
    s.wait = 0.0
    if s.count > 0 and is_hole(s, wait):
        found = finish(s, event, GAP) or found
        s.count = 0
    rate = three(sample.angular_velocity) if uses_rate else (0.0, 0.0, 0.0)
    force = three(sample.specific_force) if uses_force else (0.0, 0.0, 0.0)
    if p.kind == LOWPASS:
        slow_statistic(s, p, wait, rate, force)
    else:
        push(s, p, sample.t_ns, rate, force)
        window_statistic(s, p)
    return judge(s, p, sample.t_ns, event) or found


@kernel
def push(s: StillnessMemory, p: Settings, t_ns: int, rate: Three, force: Three) -> None:
    """Add a sample to the window, and remove samples that are too old."""
    newest, count = (s.newest + 1) % CAPACITY, s.count
    # the window has the samples of its length, within half a sampling interval
    oldest_ns = t_ns - int((p.window_s - 0.5 * s.clock.interval) * 1e9)
    while count > 0:
        oldest = (newest - count) % CAPACITY
        if count < CAPACITY and s.stamps[oldest] > oldest_ns:
            break
        add(s, oldest, -1.0)
        count -= 1
    put(s.rates[newest], rate)
    put(s.forces[newest], force)
    s.stamps[newest] = t_ns
    s.newest, s.count = newest, count + 1
    if newest == 0 or count == 0:
        # once per round sums are computed again, so that rounding errors do not accumulate
        clear(s.rate_sum)
        clear(s.force_sum)
        clear(s.force_squares)
        s.rate_squares = 0.0
        for k in range(count + 1):
            add(s, (newest - k) % CAPACITY, 1.0)
    else:
        add(s, newest, 1.0)


@kernel
def add(s: StillnessMemory, place: int, sign: float) -> None:
    """Add a sample of the ring to the sums (sign 1), or subtract it (sign -1)."""
    rate, force = s.rates[place], s.forces[place]
    for k in range(3):
        w, f = rate[k], force[k]
        s.rate_sum[k] += sign * w
        s.rate_squares += sign * w * w
        s.force_sum[k] += sign * f
        s.force_squares[k] += sign * f * f


@kernel
def window_statistic(s: StillnessMemory, p: Settings) -> None:
    """Compute the statistic of the window, and its limit for this number of samples."""
    n, kind = s.count, p.kind
    oldest = (s.newest - n + 1) % CAPACITY
    covered = seconds(s.stamps[s.newest], s.stamps[oldest]) + s.clock.interval
    if n < FEWEST or (covered < FULL * p.window_s and n < CAPACITY):
        s.statistic = -1.0
        return
    accel = p.accel_sigma_m_s2 * p.accel_sigma_m_s2
    gyro = p.gyro_sigma_rad_s * p.gyro_sigma_rad_s
    variance = squares = mean = turn = 0.0
    for k in range(3):
        force, rate = s.force_sum[k] / n, s.rate_sum[k] / n
        axis = max(s.force_squares[k] / n - force * force, 0.0)
        variance += axis
        squares += axis * axis
        mean += force * force
        turn += rate * rate
    mean, turn = math.sqrt(mean), math.sqrt(turn)
    # A bias within its limit explains this much of the mean.
    off = max(abs(mean - p.gravity_m_s2) - p.accel_bias_m_s2, 0.0)
    turning = max(turn - p.gyro_bias_rad_s, 0.0)
    rates = max(s.rate_squares / n - turn * turn + turning * turning, 0.0)
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
    s.statistic = statistic
    s.limit = p.threshold
    if math.isnan(p.threshold):
        s.limit = chi_square(freedom, p.quantile) / (freedom if kind == VARIANCE else n)


@kernel
def chi_square(freedom: float, quantile: float) -> float:
    """Return a quantile of the chi-square distribution from that of the normal one.

    E. Wilson, M. Hilferty, "The distribution of chi-square", PNAS 17, 1931.
    """
    spread = 2.0 / (9.0 * freedom)
    root = 1.0 - spread + quantile * math.sqrt(spread)
    return freedom * root * root * root


@kernel
def slow_statistic(s: StillnessMemory, p: Settings, wait: float, rate: Three, force: Three) -> None:
    """Compute the largest ratio of low-pass deviations and rate to their limits, squared."""
    began = s.count == 0
    weight = 1.0 if began else -math.expm1(-wait / p.tau_s)
    s.count = 1
    approach(s.slow_rate, weight, rate)
    approach(s.slow_force, weight, force)
    shake, jolt = distance2(rate, s.slow_rate), distance2(force, s.slow_force)
    statistic = max(
        shake / (p.rate_deviation_rad_s * p.rate_deviation_rad_s),
        jolt / (p.force_deviation_m_s2 * p.force_deviation_m_s2),
        square(s.slow_rate) / (p.rate_limit_rad_s * p.rate_limit_rad_s),
    )
    s.statistic = -1.0 if began else statistic
    s.limit = p.threshold


@kernel
def judge(s: StillnessMemory, p: Settings, t_ns: int, event: StillnessEvent) -> bool:
    """Update the phase: quiet below the limit, still after long enough, moving above a multiple."""
    if s.statistic < 0.0:
        return False
    if s.phase == MOVING:
        if s.statistic >= s.limit:
            return False
        s.phase = QUIET
        s.quiet_sum = 0.0
        s.quiet_count = 0
        s.first_ns = t_ns
    elif s.statistic >= p.leave_ratio * s.limit:
        return finish(s, event, 0)
    s.quiet_sum += s.statistic
    s.quiet_count += 1
    s.last_ns = t_ns
    if s.phase == QUIET and seconds(t_ns, s.first_ns) >= p.min_duration_s:
        s.phase = STILL
        s.since_ns = t_ns
    return False


@kernel
def finish(s: StillnessMemory, event: StillnessEvent, flags: int) -> bool:
    """End a quiet phase, and write it if it was long enough."""
    phase = s.phase
    s.phase = MOVING
    if phase < STILL:
        return False
    event.duration_s = seconds(s.last_ns, s.first_ns)
    event.statistic = s.quiet_sum / s.quiet_count
    return complete(event, s.first_ns, s.last_ns, s.since_ns, 0, flags)


@kernel
def close(s: StillnessMemory, _p: Settings, event: StillnessEvent) -> bool:
    """End the data: write the still interval that lasts to the end."""
    return finish(s, event, OPEN)
