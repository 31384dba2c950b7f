"""Recursive VQF: orientation = heading * slow tilt correction * gyro.

D. Laidig, T. Seel, "VQF: Highly accurate IMU orientation estimation with bias estimation and
magnetic disturbance rejection", Information Fusion 91, 2023. The state is defined in
:mod:`strapdown.estimation.vqf.state`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown.estimation.attitude import UNKNOWN, continuous
from strapdown.estimation.filter import RecursiveFilter
from strapdown.estimation.intake import BRIDGE_S, FilterCounts, Intake, intake
from strapdown.estimation.vqf.heading import correct_heading, design_for_field, opening_after
from strapdown.estimation.vqf.low_pass import average_anew, forget, set_pace
from strapdown.estimation.vqf.params import VqfParams
from strapdown.estimation.vqf.small_angles import half_turn, unit
from strapdown.estimation.vqf.state import Reading, VqfMemory
from strapdown.estimation.vqf.symmetric import DIAGONAL
from strapdown.estimation.vqf.tilt_and_bias import (
    FORCE_WORTH,
    correct_tilt,
    design_for_force,
    design_for_rate,
    learn_bias,
    let_errors_grow,
    narrow_tilt,
    set_tilt_variance,
    watch_force,
    watch_rate,
)
from strapdown.geometry.formulas import quaternion_multiply, quaternion_to_matrix
from strapdown.geometry.triples import cross, plus, scaled
from strapdown.geometry.vectors import clear, four, matrix_times, put, put_four, square, three
from strapdown.samples.clock import DROPPED, GAP_INTERVALS, START, STEP

if TYPE_CHECKING:
    from strapdown._kernels.records import Vector
    from strapdown._typing import Three
    from strapdown.samples.sample import Sample

__all__ = ["GUESS_S", "LOOSE_ANGLE", "VqfFilter", "take"]

GUESS_S: Final = 0.01  # sampling interval, assumed until the second sample

IMPACT: Final = 200.0  # m/s^2; a larger specific force does not correct tilt
DEAD_RATE: Final = 0.1  # rad/s; after a faster rotation a rate of exactly 0 is a lost reading, ...
DEAD_INTERVALS: Final = 5.0  # ... unless it lasts longer

# After a lost rotation the averages restart; the old mean keeps a weight by its accuracy.
LOOSE_ANGLE: Final = 0.05  # rad; a smaller loss does not restart them
HOLE_LOSS: Final = 0.25  # of the rotation in a gap: error of the trapezoid
HARMLESS: Final = LOOSE_ANGLE / HOLE_LOSS
STEADY_S: Final = 0.12  # time for which a rate continues linearly
PAUSE_TAUS: Final = 3.0  # times tau_acc, until the bias is again learnt in motion
CLIPPED_LOSS: Final = 1.0  # of the rotation measured by a clipped gyro: error of it

# Of T^2 w0 x w1: if the rate changes linearly from w0 to w1 in a gap T, the rotation is not
# about the mean rate (second term of the Magnus expansion).
BEND: Final = 1.0 / 12.0


@kernel
def take(s: VqfMemory, counts: FilterCounts, p: VqfParams, sample: Sample) -> int:
    """Process a sample; at the second one, process the first again with the known interval.

    Return the classification of its stamp. A rate that is a lost reading is replaced by NaN.
    """
    last, rate_wait = three(s.last_rate), max(s.rate_wait, 0.0)
    if is_dead(s, sample.angular_velocity):
        put(sample.angular_velocity, (math.nan, math.nan, math.nan))
    taken = intake(s, counts, p, sample)
    if taken.event == DROPPED:
        return DROPPED
    # Before the second sample there is no interval to detect a gap with.
    hole = 0.0 if s.first_waits else taken.hole
    read(s.now, sample, taken, rate_wait, hole, last)
    s.broken = 0.0
    if taken.event == START:
        begin(s, p)
    elif taken.event == STEP and taken.has_rate:
        rate = s.now.rate
        change = plus(three(rate), last, -1.0)
        notice_loss(s, p, hole, taken.clipping, change)
    before = four(s.orientation)
    if s.first_waits and taken.event == STEP:
        restart(s, p, taken.dt)
        advance(s, p, s.first)
    elif s.first_waits:
        remember_first(s)
    advance(s, p, s.now)
    put_four(s.orientation, continuous(four(s.orientation), before))
    return taken.event


@kernel
def advance(s: VqfMemory, p: VqfParams, now: Reading) -> None:
    """Rotate by the gyro, correct tilt, learn the bias, correct heading."""
    let_errors_grow(s, p, now.dt)
    turn_by_gyro(s, p, now)
    up_x, up_y = 0.0, 0.0
    if now.force_wait >= 0.0:
        watch_force(s, p, now.force_wait, now.force)
        up_x, up_y = correct_tilt(s, p, now.force)
    x, y, z, w = quaternion_multiply(*four(s.tilt), *four(s.gyro))
    r = quaternion_to_matrix(x, y, z, w)
    if now.force_wait >= 0.0:
        learn_bias(s, p, now.force_wait, up_x, up_y, r)
        narrow_tilt(s, p, now.force_wait)
    if now.field_wait >= 0.0:
        correct_heading(s, p, now.field_wait, matrix_times(r, three(now.field)))
    for i in range(3):
        s.gyro_bias_sigma[i] = math.sqrt(s.bias_covariance[DIAGONAL[i]])
    sine, cosine = s.half_sine, s.half_cosine
    turned = (cosine * x - sine * y, cosine * y + sine * x)
    put_four(s.orientation, (*turned, cosine * z + sine * w, cosine * w - sine * z))


@kernel
def turn_by_gyro(s: VqfMemory, p: VqfParams, now: Reading) -> None:
    """Rotate by the measured rotation, less the bias."""
    if now.rate_wait >= 0.0:
        watch_rate(s, p, now.rate_wait, now.rate)
    held = s.rate_held
    if held > GAP_INTERVALS * s.rate_pace.interval:  # the tilt corrections are not due to the bias
        s.rest_s = 0.0
        s.at_rest = False
        s.pause_s = p.tau_acc
    dt = now.dt if held < BRIDGE_S else 0.0  # without a rate the rotation contains no bias
    half = half_turn(*scaled(plus(three(now.turn), three(s.gyro_bias), -dt), 0.5))
    put_four(s.gyro, quaternion_multiply(*unit(*four(s.gyro)), *half))


@kernel
def is_dead(s: VqfMemory, rate: Vector) -> bool:
    """Whether a rate of exactly 0 follows a fast rotation, which is a lost reading."""
    turning = square(s.last_rate) > DEAD_RATE * DEAD_RATE
    short = s.rate_held < DEAD_INTERVALS * s.rate_pace.interval
    return rate[0] == 0.0 and rate[1] == 0.0 and rate[2] == 0.0 and turning and short


@kernel
def read(
    now: Reading, sample: Sample, taken: Intake, rate_wait: float, hole: float, last: Three
) -> None:
    """Copy the usable vectors of a sample; correct the rotation in a gap for a changing axis."""
    now.dt = taken.dt
    put(now.turn, taken.turn)
    now.rate_wait = now.force_wait = now.field_wait = -1.0
    if taken.has_rate:
        now.rate_wait = rate_wait + taken.dt
        put(now.rate, three(sample.angular_velocity))
    # A zero specific force has no direction; that of an impact or a clipped axis is wrong.
    size2 = square(sample.specific_force)
    if taken.has_force and taken.clipping & 56 == 0 and 0.0 < size2 < IMPACT * IMPACT:
        now.force_wait = taken.force_wait
        put(now.force, three(sample.specific_force))
    if taken.has_field:
        now.field_wait = taken.field_wait
        put(now.field, three(sample.magnetic_field))
    if hole > 0.0:
        bend = cross(last, three(now.rate))
        put(now.turn, plus(three(now.turn), bend, hole * hole * BEND))


@kernel
def begin(s: VqfMemory, p: VqfParams) -> None:
    """Restart tilt and heading from the next usable samples; keep the gyro bias."""
    open_anew(s, p)
    if s.rate_pace.interval > 0.0:
        s.covariance[2][2] = UNKNOWN
        s.pause_s = PAUSE_TAUS * p.tau_acc
        return
    expected = s.force_pace.interval
    start_bias(s, p, expected if expected > 0.0 else GUESS_S)
    s.first_waits = True


@kernel
def open_anew(s: VqfMemory, p: VqfParams) -> None:
    """Reset the orientation; restart all averages."""
    put_four(s.gyro, (0.0, 0.0, 0.0, 1.0))
    put_four(s.tilt, (0.0, 0.0, 0.0, 1.0))
    s.half_sine, s.half_cosine, s.heading_offset = 0.0, 1.0, 0.0
    s.level.count = s.attitude.count = s.level_bias.count = 0.0
    s.slow_rate.count = s.slow_force.count = s.slow_field.count = 0.0
    s.rest_s = s.unseen = 0.0
    s.at_rest = s.has_base = s.has_heading = False
    s.opening = 1.0
    s.rejected_s = p.rejection_time
    set_tilt_variance(s, UNKNOWN)


@kernel
def start_bias(s: VqfMemory, p: VqfParams, interval: float) -> None:
    """Reset the covariance of the bias; design every low-pass for one interval."""
    clear(s.bias_covariance)
    for i in DIAGONAL:
        s.bias_covariance[i] = p.bias_sigma_start * p.bias_sigma_start
    s.covariance[2][2] = 0.0  # heading is exact at the start
    s.pause_s = 0.0
    set_pace(s.rate_pace, interval)
    set_pace(s.force_pace, interval)
    set_pace(s.field_pace, interval)
    design_for_rate(s, p)
    design_for_force(s, p)
    design_for_field(s, p)


@kernel
def restart(s: VqfMemory, p: VqfParams, interval: float) -> None:
    """Undo the first sample, and prepare it as if there was one an interval before."""
    forget(s.level)
    forget(s.attitude)
    forget(s.level_bias)
    forget(s.slow_rate)
    forget(s.slow_force)
    forget(s.slow_field)
    clear(s.gyro_bias)
    s.usual.strength, s.usual.dip = 0.0, 0.0
    s.candidate.strength, s.candidate.dip = -1.0, 0.0
    s.near_dip, s.near_sine, s.near_cosine = 0.0, 0.0, 1.0
    s.undisturbed_s = s.candidate_s = s.broken = 0.0
    s.disturbed = False
    open_anew(s, p)
    start_bias(s, p, interval)
    s.first_waits = False
    first = s.first
    first.dt = interval if p.mean_samples else 0.0
    for k in range(3):
        first.turn[k] = first.dt * first.rate[k]
    first.rate_wait = interval if first.rate_wait >= 0.0 else -1.0
    first.force_wait = interval if first.force_wait >= 0.0 else -1.0
    first.field_wait = interval if first.field_wait >= 0.0 else -1.0


@kernel
def remember_first(s: VqfMemory) -> None:
    """Keep the vectors of the first sample, including late ones of the same stamp."""
    now, first = s.now, s.first
    if now.rate_wait >= 0.0:
        first.rate_wait = now.rate_wait
        put(first.rate, three(now.rate))
    if now.force_wait >= 0.0:
        first.force_wait = now.force_wait
        put(first.force, three(now.force))
    if now.field_wait >= 0.0:
        first.field_wait = now.field_wait
        put(first.field, three(now.field))


@kernel
def notice_loss(s: VqfMemory, p: VqfParams, hole: float, clipping: int, change: Three) -> None:
    """Estimate the unmeasured rotation up to this sample, and restart the averages if needed.

    ``change`` is the change of the rate since the last usable one [rad/s].
    """
    rate, span = s.now.rate, hole if hole > 0.0 else s.now.dt
    change2 = square(change)
    harmless = change2 * span * span < HARMLESS * HARMLESS
    if harmless and hole == 0.0 and clipping & 7 == 0 and s.unseen == 0.0:
        return
    rate2 = square(rate)
    lost = HOLE_LOSS * span * math.sqrt(change2)
    if hole > 0.0:
        old2 = square(plus(three(rate), change, -1.0))
        lost = (lost + HOLE_LOSS * span * math.sqrt(max(old2, rate2))) * span / (span + STEADY_S)
    if clipping & 7:
        s.unseen += lost + CLIPPED_LOSS * span * math.sqrt(rate2)
        return
    lost += s.unseen
    s.unseen = 0.0
    s.pause_s = PAUSE_TAUS * p.tau_acc
    if lost >= LOOSE_ANGLE:
        loosen(s, lost)


@kernel
def loosen(s: VqfMemory, lost: float) -> None:
    """Restart the averages after a lost rotation; keep the tilt correction before it as base."""
    s.broken = lost
    if s.level.count < 0.0 or not s.has_base:
        put_four(s.base, four(s.tilt))
        s.has_base = True
    forces = FORCE_WORTH / (lost * lost * s.force_pace.interval)
    average_anew(s.level, forces)
    average_anew(s.attitude, forces)
    average_anew(s.level_bias, forces)
    s.opening = max(s.opening, opening_after(lost, s.field_pace.interval))
    set_tilt_variance(s, min(s.covariance[0][0] + lost * lost, UNKNOWN))
    s.covariance[2][2] = min(s.covariance[2][2] + lost * lost, UNKNOWN)


class VqfFilter(RecursiveFilter[VqfParams]):
    """VQF of Laidig and Seel for samples with stamps, gaps and errors.

    The orientation is heading * tilt correction * gyro. The integrated gyro rotates the
    specific force into an almost inertial frame, in which a low-pass keeps gravity and the
    accelerations of a motion average out; the smallest rotation that points the result up
    corrects tilt. A Kalman filter learns the gyro bias: at rest from the readings, in motion
    from those corrections. The magnetic field corrects heading, unless it is disturbed. Tilt
    and bias do not depend on it: ``heading_offset`` is the angle between the headings with and
    without the field, so the orientation without the field is that with it, turned back by the
    offset about up.

    With the parameters as published and regular samples the results are those of the authors'
    implementation, whose gyro sample is a mean over the interval before its stamp: hence the
    default ``sample_kind``. ``docs/filters/vqf.md`` lists the differences.

    Parameters
    ----------
    params : VqfParams, optional
    compiled : bool, optional
        True steps by machine code from the first sample, and waits until it is compiled; False
        in plain Python. By default a filter starts in plain Python at once, and changes over
        when machine code is there. The numbers are the same.

    Examples
    --------
    >>> from strapdown.estimation.vqf import VqfFilter
    >>> from strapdown.samples import ImuSample
    >>> vqf = VqfFilter()
    >>> vqf.update(ImuSample(0, (0.0, 0.0, 0.0), (0.0, 0.0, 9.81))).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """

    NAME = "vqf"
    DEFAULTS = VqfParams()
    MEMORY = VqfMemory
    STEP = take
    HAS_HEADING_OFFSET = True
