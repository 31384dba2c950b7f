"""Mean specific force, detection of rest, and variance of unmeasured motion.

Motion during a gap in the rates, on a clipped axis or without specific force is unknown. Its
variance is summed over the window and added to the process noise of rotation and velocity.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown.estimation.attitude import gain
from strapdown.estimation.error_state.history import (
    forget_rates,
    remember,
    rotation_across,
    weigh,
)
from strapdown.estimation.intake import BRIDGE_S, Intake
from strapdown.geometry.formulas import quaternion_rotate
from strapdown.geometry.triples import add, cross, plus, scaled
from strapdown.geometry.vectors import add_to, approach, clear, distance2, four, put, square, three
from strapdown.samples.clock import START, STEP
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._kernels.records import Vector
    from strapdown._typing import Three
    from strapdown.estimation.error_state.params import ErrorStateParams
    from strapdown.estimation.error_state.state import ErrorStateMemory, Lost, MotionHistory
    from strapdown.samples.sample import Sample

REST_RATE: Final = 2.0 * RAD_PER_DEG  # rad/s, about the low-passed value; as in VQF
REST_FORCE: Final = 0.5  # m/s^2, likewise
REST_RATE_LIMIT: Final = 6.0 * RAD_PER_DEG  # rad/s, of the low-passed value less the bias
RATE_DRIFT: Final = 0.4 * RAD_PER_DEG  # rad/s, of the low-passed value since rest began
FORCE_DRIFT: Final = 0.1  # m/s^2, likewise: 0.6 deg of tilt
REST_SMOOTHING_S: Final = 0.5
REST_AFTER_S: Final = 1.0
LONGEST_REST_S: Final = 10.0
LOST_SHARE: Final = 0.6  # of the rotation at the usual rate: sigma in a gap of the rates ...
LOST_AFTER_S: Final = 0.3  # ... of at least this length; proportionally less in a shorter one
LEAST_LOST_RATE: Final = 0.1  # rad/s; least rate assumed in a gap
CLIPPED_SHARE: Final = 0.5  # of a clipped rate, or of gravity: sigma of the part beyond the range
LEAST_CLIPPED_RATE: Final = 4.0  # rad/s; no gyro saturates below
DROPOUT_S: Final = 0.1  # longer zeros are readings
LEAST_DROPOUT: Final = 0.2  # rad/s or m/s^2, on an axis before
HELD_FORCE_S: Final = 0.1  # longest time for which the last specific force replaces missing ones


@kernel
def clear_lost(lost: Lost) -> None:
    """Clear the sums for a new window."""
    clear(lost.turn)
    lost.speed = 0.0
    lost.clipped = False


@kernel
def refuse_dropout(v: Vector, before: Vector, missing: float) -> None:
    """Mark a vector of zeros as lost (NaN) if it follows other readings and lasts a short time."""
    zero = v[0] == 0.0 and v[1] == 0.0 and v[2] == 0.0 and missing < DROPOUT_S
    if zero and max(abs(before[0]), abs(before[1]), abs(before[2])) > LEAST_DROPOUT:
        v[0] = math.nan


@kernel
def measured_turn(
    s: ErrorStateMemory, taken: Intake, before: Three, held: float, rate: Vector
) -> Three:
    """Return the rotation measured by the gyro, and add the variance of the unmeasured part.

    ``before`` is the last usable rate, ``held`` the time for which it was held before this
    sample [s].
    """
    lose_unseen(s, taken, held)
    history = s.history
    if taken.event == START:
        forget_rates(history)
    if taken.hole <= 0.0:
        if taken.event == STEP and taken.has_rate:
            remember(history, taken.turn, taken.dt)
        return taken.turn
    span, after = min(taken.hole, BRIDGE_S), three(rate)
    # coning of a rate that changes linearly across the gap
    turn = plus(taken.turn, cross(before, after), span * span / 12.0)
    if taken.hole <= BRIDGE_S and weigh(history, span):
        line = scaled(add(before, after), 0.5 * span)
        turn = add(plus(turn, line, -1.0), rotation_across(history, after))
    forget_rates(history)
    return turn


@kernel
def lose_unseen(s: ErrorStateMemory, taken: Intake, held: float) -> None:
    """Add the variance of the motion while there were no rates.

    The variance of a gap is added when the gap ends. The part of a gap beyond the time for
    which rates are held is added sample by sample.
    """
    motion, lost = s.motion, s.lost
    unheld = max(held - BRIDGE_S, 0.0)
    if taken.has_rate and taken.hole > 0.0:
        start, end = unheld, taken.hole
    elif not taken.has_rate and held >= BRIDGE_S:
        start, end = unheld, unheld + taken.dt
    else:
        return
    share = LOST_SHARE * min(end / LOST_AFTER_S, 1.0)
    turn2 = share * share * max(motion.rate_power, LEAST_LOST_RATE * LEAST_LOST_RATE)
    turned2 = min(turn2 * (end * end - start * start), math.pi * math.pi)
    add_to(lost.turn, (turned2, turned2, turned2))
    tilted = STANDARD_GRAVITY * min(math.sqrt(turned2), 1.0)
    speed = 0.5 * (end - start) * (tilted + math.sqrt(motion.force_power))
    lost.speed += speed * speed
    motion.rest = 0.0


@kernel
def clipped_axes(motion: MotionHistory, taken: Intake, before: Three, rate: Vector) -> int:
    """Return the bits of clipped axes; an axis that repeats the largest rate also counts."""
    bits = taken.clipping
    if not taken.has_rate:
        return bits
    peak = max(motion.peak, LEAST_CLIPPED_RATE, abs(rate[0]), abs(rate[1]), abs(rate[2]))
    motion.peak = peak
    for i in range(3):
        if taken.event == STEP and rate[i] == before[i] and abs(rate[i]) >= peak:
            bits |= 1 << i
    return bits


@kernel
def lose_clipped(s: ErrorStateMemory, clipping: int, dt: float, rate: Vector) -> None:
    """Add the variance of the rotation beyond the range of the gyro; it grows with the time."""
    motion, lost = s.motion, s.lost
    if clipping & 7 == 0:
        motion.rate_lost = 0.0
        return
    q = four(s.orientation)
    share = CLIPPED_SHARE * CLIPPED_SHARE * dt * (2.0 * motion.rate_lost + dt)
    for i in range(3):
        if clipping >> i & 1:
            x, y, z = quaternion_rotate(*q, 1.0 * (i == 0), 1.0 * (i == 1), 1.0 * (i == 2))
            x, y, z = rate[i] * x, rate[i] * y, rate[i] * z
            add_to(lost.turn, scaled((x * x, y * y, z * z), share))
    motion.rate_lost += dt
    lost.clipped = True


@kernel
def mean_force(
    s: ErrorStateMemory, p: ErrorStateParams, taken: Intake, clipping: int, force: Vector
) -> Three:
    """Return the mean specific force since the last sample; add the variance if it is unknown.

    A missing specific force is replaced by the last one for HELD_FORCE_S, then by that of a
    body with constant velocity.
    """
    motion, dt = s.motion, taken.dt
    old, new = three(motion.force), three(force)
    if taken.has_force and not clipping & 56:
        motion.force_lost = 0.0
    else:
        density = CLIPPED_SHARE * STANDARD_GRAVITY
        s.lost.speed += density * density * dt * (2.0 * motion.force_lost + dt)
        motion.force_lost += dt
    if taken.has_force:
        put(motion.force, new)
        if p.mean_samples or not s.has_tilt:
            return new
        return scaled(add(old, new), 0.5)
    if motion.force_lost < HELD_FORCE_S:
        return old
    x, y, z, w = four(s.orientation)
    up = quaternion_rotate(-x, -y, -z, w, 0.0, 0.0, STANDARD_GRAVITY)
    return add(up, three(s.accel_bias))


@kernel
def watch(s: ErrorStateMemory, dt: float, sample: Sample) -> None:
    """Detect rest as in VQF, and update the low-passed strength of the motion."""
    motion, bias = s.motion, s.gyro_bias
    rate, force, slow = sample.angular_velocity, sample.specific_force, motion.slow_rate
    smooth = gain(dt, REST_SMOOTHING_S) if dt > 0.0 else 1.0
    approach(slow, smooth, rate)
    approach(motion.slow_force, smooth, force)
    shake, jolt = distance2(rate, slow), distance2(force, motion.slow_force)
    motion.rate_power += smooth * (square(rate) - motion.rate_power)
    motion.force_power += smooth * (jolt - motion.force_power)
    turning = max(abs(slow[0] - bias[0]), abs(slow[1] - bias[1]), abs(slow[2] - bias[2]))
    still = (
        shake < REST_RATE * REST_RATE
        and jolt < REST_FORCE * REST_FORCE
        and turning < REST_RATE_LIMIT
        and distance2(slow, motion.rest_rate) < RATE_DRIFT * RATE_DRIFT
        and distance2(motion.slow_force, motion.rest_force) < FORCE_DRIFT * FORCE_DRIFT
    )
    if still:
        motion.rest = min(motion.rest + dt, LONGEST_REST_S)
    else:
        motion.rest = 0.0
        put(motion.rest_rate, three(slow))
        put(motion.rest_force, three(motion.slow_force))
    # the faster the apparent rotation, the longer it must be steady to count as rest
    s.at_rest = motion.rest >= REST_AFTER_S * max(1.0, turning / REST_RATE)
