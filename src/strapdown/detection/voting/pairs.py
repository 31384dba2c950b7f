"""Identification of the faulty one of two sensors that differ.

The difference does not identify it, so each sensor is examined separately: whether it is clipped
or repeats itself; at rest, whether it has more noise than the other, or an impossible reading;
and in motion, whether it agrees with the sensors of the other quantity. For this the specific
force is propagated by the angular velocity, and corrected towards the measured one with the slow
time constant. Without acceleration both stay close, if both sensors are right.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown.detection.voting.memory import FAILED, STUCK_REPEATS, VOTES
from strapdown.geometry.formulas import quaternion_exp, quaternion_rotate
from strapdown.geometry.vectors import approach, clear, distance2, put, square, three
from strapdown.samples.sample import MAX_FORCE, MAX_RATE, usable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._kernels.records import Vector
    from strapdown.detection.intake import Settings
    from strapdown.detection.voting.memory import BodyMemory, Sensor, SensorMemory, Step

EQUAL: Final = -1  # the two do not differ
UNKNOWN: Final = -2  # they differ, and the faulty one is unknown
STILL_FORCE: Final = 0.2  # m/s^2 between fast and slow mean: the direction of gravity stays
SHAKEN: Final = 1.0  # m/s^2 of acceleration: above it the comparison is void
MORE: Final = 4.0  # times the squares of the other of two
LEAST_CUT: Final = 1e-3  # share of clipped readings


@kernel
def settle(
    sensors: Sequence[Sensor], accels: Sequence[Sensor], p: Settings, step: Step, others_agree: bool
) -> int:
    """Return the faulty one of two voting sensors, UNKNOWN, or EQUAL if they do not differ."""
    one = other = -1
    for i in range(len(sensors)):
        if sensors[i].rank == VOTES:
            one, other = (i, other) if one < 0 else (one, i)
    a, b = sensors[one].memory, sensors[other].memory
    if max(a.excess, b.excess) <= 1.0:
        return EQUAL
    blame = by_health(a, b, p)
    if blame == 0 and is_still(accels):
        blame = by_rest(a, b, step)
    if blame == 0 and others_agree:
        blame = by_motion(a, b, p)
    return UNKNOWN if blame == 0 else one if blame > 0 else other


@kernel
def by_health(a: SensorMemory, b: SensorMemory, p: Settings) -> int:
    """Return 1 if the first repeats itself or is clipped, -1 if the second is, 0 if neither."""
    blame = int(a.repeats >= STUCK_REPEATS) - int(b.repeats >= STUCK_REPEATS)
    if blame != 0 and not p.noise_free:
        return blame
    return larger(a.cut, b.cut, LEAST_CUT)


@kernel
def by_rest(a: SensorMemory, b: SensorMemory, step: Step) -> int:
    """Return 1 if the first has more noise or an impossible reading, -1 if the second, else 0."""
    blame = larger(a.power, b.power, 0.0)
    if blame != 0:
        return blame
    off_a = abs(math.sqrt(square(a.fast_value)) - step.at_rest)
    off_b = abs(math.sqrt(square(b.fast_value)) - step.at_rest)
    if min(off_a, off_b) >= 0.5 * step.bias or max(off_a, off_b) <= step.bias:
        return 0
    return 1 if off_a > off_b else -1


@kernel
def by_motion(a: SensorMemory, b: SensorMemory, p: Settings) -> int:
    """Return 1 if only the second agrees with the other quantity, -1 if only the first, else 0."""
    if min(a.miss, b.miss) > SHAKEN * SHAKEN:
        return 0
    return larger(a.miss, b.miss, MORE * p.accel_bias_m_s2 * p.accel_bias_m_s2)


@kernel
def larger(a: float, b: float, least: float) -> int:
    """Return 1 if the first of two squares is clearly larger, -1 if the second is, else 0."""
    return int(a > max(MORE * b, least)) - int(b > max(MORE * a, least))


@kernel
def is_still(accels: Sequence[Sensor]) -> bool:
    """Whether the reading of a working accelerometer is constant."""
    for i in range(len(accels)):
        s = accels[i].memory
        works = s.state != FAILED and s.repeats < STUCK_REPEATS
        if works and distance2(s.fast_value, s.slow_value) < STILL_FORCE * STILL_FORCE:
            return True
    return False


@kernel
def carry_all(
    gyros: Sequence[Sensor], accels: Sequence[Sensor], body: BodyMemory, step: Step
) -> None:
    """Propagate the median specific force by each gyro, and each force by the median gyro.

    The median favours neither of two sensors; a selected one would favour that of the same IMU.
    While more than two have not failed, their median identifies the faulty one, and nothing is
    propagated.
    """
    many_gyros, many_accels = are_many(gyros), are_many(accels)
    for i in range(len(gyros)):
        if many_gyros:
            drop_carried(gyros[i].memory)
        else:
            carry(gyros[i].memory, gyros[i].value, body.accel.middle, step)
        if many_accels:
            drop_carried(accels[i].memory)
        else:
            carry(accels[i].memory, body.gyro.middle, accels[i].value, step)


@kernel
def are_many(sensors: Sequence[Sensor]) -> bool:
    """Whether more than two have not failed."""
    good = 0
    for i in range(len(sensors)):
        good += sensors[i].memory.state != FAILED
    return good > 2


@kernel
def drop_carried(s: SensorMemory) -> None:
    """Discard the propagated specific force."""
    clear(s.carried)
    s.miss = 0.0


@kernel
def carry(s: SensorMemory, rate: Vector, force: Vector, step: Step) -> None:
    """Propagate a specific force by the rotation, and update the distance of the measured one."""
    if not (usable(rate, MAX_RATE) and usable(force, MAX_FORCE)):
        clear(s.carried)
        return
    if step.dt == 0.0 or square(s.carried) == 0.0:
        put(s.carried, three(force))
        return
    half = -0.5 * step.dt
    turn = quaternion_exp(half * rate[0], half * rate[1], half * rate[2])
    put(s.carried, quaternion_rotate(*turn, *three(s.carried)))
    s.miss += step.slow * (distance2(force, s.carried) - s.miss)
    approach(s.carried, step.slow, force)
