"""Complementary filter of gyro, accelerometer and magnetometer."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import bind, kernel
from strapdown._kernels.records import Vector, filled
from strapdown.errors import ValueRangeError
from strapdown.estimation.attitude import gain, opening_gain, turn_world
from strapdown.estimation.classical import (
    MIN_UP,
    ClassicalMemory,
    ClassicalParams,
    aged,
    classical_step,
    stands_for,
    steepness,
    tighten_heading,
    tighten_tilt,
    upward,
)
from strapdown.estimation.filter import RecursiveFilter
from strapdown.geometry.formulas import quaternion_exp, quaternion_rotate
from strapdown.geometry.vectors import approach, distance2, four, length, put, square, three
from strapdown.samples.clock import START
from strapdown.samples.params import MAY_BE_ZERO
from strapdown.samples.sample import Sample, usable
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._typing import Four
    from strapdown.estimation.intake import Intake

__all__ = ["ComplementaryFilter", "ComplementaryParams"]

MOST_FORCE: Final = 16.0 * STANDARD_GRAVITY  # m/s^2, a usual range

REST_RATE: Final = 2.0 * math.pi / 180.0  # rad/s, about the low-passed value; as in VQF
REST_FORCE: Final = 0.5  # m/s^2, likewise
REST_SMOOTHING_S: Final = 0.5
REST_AFTER_S: Final = 1.5
BIAS_S: Final = 1.0

FIELD_TOLERANCE: Final = 0.1  # of the usual field: at this distance the weight of a sample is 1/2
FIELD_MEMORY_S: Final = 20.0


@dataclass(frozen=True)
class ComplementaryParams(ClassicalParams):
    """Parameters; the defaults suit hand-held, worn and flown sensors.

    Parameters
    ----------
    tau_acc : float
        Delay of the averaged specific force that corrects tilt [s]. Longer: less disturbed by
        acceleration, more by gyro errors.
    tau_mag : float
        Time constant of the heading correction [s]. Longer: less disturbed by changing
        magnetic fields, more by gyro errors.
    bias_limit : float
        Largest gyro bias on an axis that is learnt at rest [rad/s]; a slower steady rotation
        is mistaken for a bias. 0: no bias is learnt.
    gyro_noise, gyro_bias, accel_noise, field_noise, sample_kind
        As in :class:`~strapdown.estimation.classical.ClassicalParams`.
    reset_after, gyro_range, accel_range
        As in :class:`~strapdown.estimation.params.FilterParams`.

    Raises
    ------
    ValueRangeError
        A value is not finite, or not positive (bias_limit: negative).
    """

    accel_noise: float = 0.15
    tau_acc: float = 3.0
    tau_mag: float = 9.0
    bias_limit: float = field(default=2.0 * RAD_PER_DEG, metadata=MAY_BE_ZERO)

    @classmethod
    def from_gains(cls, gain_acc: float, gain_mag: float, rate_hz: float) -> ComplementaryParams:
        """Return parameters with the time constants of gains per sample, as ROS nodes have them.

        Parameters
        ----------
        gain_acc, gain_mag : float
            Part of the error in tilt, and in heading, that one sample corrects, 0 to 1.
        rate_hz : float
            Samples a second.

        Raises
        ------
        ValueRangeError
            A gain is not between 0 and 1, or the rate is not positive.
        """
        for name, value, most in (
            ("gain_acc", gain_acc, 1.0),
            ("gain_mag", gain_mag, 1.0),
            ("rate_hz", rate_hz, math.inf),
        ):
            if not 0.0 < value < most:
                raise ValueRangeError(f"expected {name} between 0 and {most}, got {value}")
        tau_acc, tau_mag = (-1.0 / (rate_hz * math.log1p(-gain)) for gain in (gain_acc, gain_mag))
        return cls(tau_acc=tau_acc, tau_mag=tau_mag)


class ComplementaryMemory(ClassicalMemory):
    """State of the complementary filter."""

    slow_rate: Vector = filled(3)  # low-passed angular velocity [rad/s, body]
    slow_force: Vector = filled(3)  # low-passed specific force [m/s^2, body]
    rest_s: float = 0.0  # how long the sensor has been at rest [s]
    force: Vector = filled(3)  # mean specific force, first pole [m/s^2, world]
    up: Vector = filled(3)  # the same, second pole: the direction that is up
    field_level: float = 0.0  # horizontal part of the usual magnetic field [as measured]
    field_up: float = 0.0  # vertical part of it


@kernel
def correct(s: ComplementaryMemory, p: ComplementaryParams, sample: Sample, taken: Intake) -> None:
    """Correct tilt by the accelerometer and heading by the field, and learn the bias at rest."""
    if taken.event == START or taken.hole > 0.0:
        s.rest_s = 0.0
    if taken.has_force and not taken.clipping & 56:
        correct_tilt(s, p, stands_for(s, taken, taken.force_wait), sample.specific_force)
    if taken.has_field:
        correct_heading(s, p, stands_for(s, taken, taken.field_wait), sample.magnetic_field)
    if taken.has_rate and taken.has_force:
        learn_bias(s, p, taken.dt, sample.angular_velocity, sample.specific_force)


@kernel
def correct_tilt(
    s: ComplementaryMemory, p: ComplementaryParams, wait: float, force: Vector
) -> None:
    """Turn the world by the smallest rotation that points the mean specific force up.

    The mean is a vector mean in world axes, in which the accelerations of a motion about one
    place average out; in a mean of directions they do not (D. Laidig, T. Seel, "VQF",
    Information Fusion 91, 2023). Its two equal poles together delay it by ``tau``. The length
    of a specific force is limited to the usual range of accelerometers, as larger ones are
    impacts.
    """
    age, tau = s.up_age, p.tau_acc
    pole = 0.5 * tau
    part = opening_gain(age, wait, pole)
    bound = MOST_FORCE / max(math.sqrt(square(force)), MOST_FORCE)
    x, y, z = quaternion_rotate(*four(s.orientation), *three(force))
    approach(s.force, part, (bound * x, bound * y, bound * z))
    second = gain(wait, pole) if age >= tau else 1.0
    approach(s.up, second, s.force)
    s.up_age = aged(age, wait)
    tighten_tilt(s, opening_gain(age, wait, tau), p.accel_noise / STANDARD_GRAVITY, wait)
    if square(s.up) > MIN_UP * MIN_UP:
        turn_with_world(s, upward(1.0, three(s.up)))


@kernel
def correct_heading(
    s: ComplementaryMemory, p: ComplementaryParams, wait: float, field: Vector
) -> None:
    """Turn the world about the vertical so that the horizontal field points north.

    A field that differs from the usual one in strength or dip has less weight.
    """
    age = s.north_age
    east, north, up = quaternion_rotate(*four(s.orientation), *three(field))
    level = length(east, north)
    memory = opening_gain(age, wait, FIELD_MEMORY_S)
    s.field_level += memory * (level - s.field_level)
    s.field_up += memory * (up - s.field_up)
    off_level, off_up = level - s.field_level, up - s.field_up
    usual = s.field_level * s.field_level + s.field_up * s.field_up
    strange = off_level * off_level + off_up * off_up
    tolerated = FIELD_TOLERANCE * FIELD_TOLERANCE * usual
    trust = tolerated / (tolerated + strange)
    part = trust * opening_gain(age, wait, p.tau_mag)
    s.disturbed = trust < 0.5
    s.north_age = aged(age, wait)
    s.has_heading = True
    turn_with_world(s, quaternion_exp(0.0, 0.0, 0.5 * part * math.atan2(east, north)))
    tighten_heading(s, part, p.field_noise, wait, steepness(level, up))


@kernel
def learn_bias(
    s: ComplementaryMemory, p: ComplementaryParams, dt: float, rate: Vector, force: Vector
) -> None:
    """Learn the gyro bias from the readings at rest; rest is detected as in VQF."""
    smooth = gain(dt, REST_SMOOTHING_S) if s.up_age > 0.0 else 1.0
    approach(s.slow_rate, smooth, rate)
    approach(s.slow_force, smooth, force)
    shake, jolt = distance2(rate, s.slow_rate), distance2(force, s.slow_force)
    still = (
        shake < REST_RATE * REST_RATE
        and jolt < REST_FORCE * REST_FORCE
        and usable(s.slow_rate, p.bias_limit)
    )
    s.rest_s = min(s.rest_s + dt, REST_AFTER_S) if still else 0.0
    s.at_rest = s.rest_s >= REST_AFTER_S
    if s.at_rest:
        part = gain(dt, BIAS_S)
        kept = 1.0 - part
        approach(s.gyro_bias, part, s.slow_rate)
        s.bias_variance *= kept * kept
        s.bias_variance += part * (p.gyro_noise * p.gyro_noise) / BIAS_S
        s.tilt_cross *= kept
        s.heading_cross *= kept
    for k in range(3):
        s.gyro_bias_sigma[k] = math.sqrt(s.bias_variance)


@kernel
def turn_with_world(s: ComplementaryMemory, turn: Four) -> None:
    """Turn the orientation and the vectors in world axes."""
    turn_world(s.orientation, turn)
    put(s.force, quaternion_rotate(*turn, *three(s.force)))
    put(s.up, quaternion_rotate(*turn, *three(s.up)))


class ComplementaryFilter(RecursiveFilter[ComplementaryParams]):
    """Orientation from gyro and accelerometer, and heading from a magnetometer if there is one.

    The gyro is integrated over each stamped interval. In world axes the specific force is
    averaged as a vector (two equal poles), and the smallest rotation that points the average
    up corrects tilt. A first-order correction turns the horizontal magnetic field to north; a
    field of unusual strength or dip has less weight. While the sensor is at rest, the gyro
    bias is learnt. At the start plain means are used in place of the averages, so the first
    output is the orientation from the first sample, with heading 0 (in ENU: forward is east)
    without a magnetometer. Time steps are the differences of the stamps.

    Unusable vectors (NaN, infinite, implausible) are left out for each sensor separately:
    rates are bridged by the trapezoid of their neighbours for up to a second, and corrections
    wait for the next usable vector. Gaps in time are bridged likewise, and tilt is averaged
    again after them. All of this is counted in :class:`~strapdown.estimation.FilterReport`.

    Parameters
    ----------
    params : ComplementaryParams, optional

    References
    ----------
    R. Mahony, T. Hamel, J.-M. Pflimlin, "Nonlinear complementary filters on the special
    orthogonal group", IEEE Transactions on Automatic Control 53(5), 2008. D. Laidig, T. Seel,
    "VQF: Highly accurate IMU orientation estimation with bias estimation and magnetic
    disturbance rejection", Information Fusion 91, 2023: averaging in world axes, rest.

    Examples
    --------
    >>> from strapdown.estimation import ComplementaryFilter
    >>> from strapdown.samples import ImuSample
    >>> orientation = ComplementaryFilter()
    >>> orientation.update(ImuSample(0, (0.0, 0.0, 0.0), (0.0, 0.0, 9.81))).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """

    NAME = "complementary"
    DEFAULTS = ComplementaryParams()
    MEMORY = ComplementaryMemory
    STEP = bind(classical_step, correct=correct)
