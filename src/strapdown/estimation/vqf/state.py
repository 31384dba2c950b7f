"""State of VQF.

D. Laidig, T. Seel, "VQF: Highly accurate IMU orientation estimation with bias estimation and
magnetic disturbance rejection", Information Fusion 91, 2023.
"""

from __future__ import annotations

from strapdown._kernels.records import Record, Vector, filled, vector
from strapdown.estimation.intake import FilterMemory
from strapdown.estimation.vqf.low_pass import LowPass, LowPassOfNine, LowPassOfTwo, Pace

__all__ = ["FieldSignature", "Reading", "VqfMemory"]


class Reading(Record):
    """Vectors of a sample, and the time since each sensor's last one [s]; -1: no vector."""

    dt: float = 0.0  # since the sample before [s]
    turn: Vector = filled(3)  # rotation measured by the gyro over dt, bias included [rad, body]
    rate: Vector = filled(3)  # [rad/s, body]
    force: Vector = filled(3)  # [m/s^2, body]
    field: Vector = filled(3)  # [as measured, body]
    rate_wait: float = -1.0
    force_wait: float = -1.0
    field_wait: float = -1.0


class FieldSignature(Record):
    """Strength and dip of a magnetic field."""

    strength: float = 0.0  # [as measured]
    dip: float = 0.0  # angle by which it points down [rad]


class VqfMemory(FilterMemory):
    """State of VQF; orientation = heading * tilt * gyro."""

    gyro: Vector = vector(0.0, 0.0, 0.0, 1.0)  # integral of the gyro alone, x y z w
    tilt: Vector = vector(0.0, 0.0, 0.0, 1.0)  # the slow correction of tilt
    half_sine: float = 0.0  # sine and cosine of half the heading offset
    half_cosine: float = 1.0
    bias_covariance: Vector = filled(6)  # xx xy xz yy yz zz [rad^2/s^2]
    level: LowPass = LowPass()  # specific force, rotated by ``gyro``
    attitude: LowPassOfNine = LowPassOfNine()  # matrix of tilt * gyro, row by row
    level_bias: LowPassOfTwo = LowPassOfTwo()  # bias rotated by ``attitude``, level parts [rad/s]
    slow_rate: LowPass = LowPass()  # readings of the gyro
    slow_force: LowPass = LowPass()  # readings of the accelerometer
    slow_field: LowPassOfTwo = LowPassOfTwo()  # strength and dip of the magnetic field
    rate_pace: Pace = Pace()
    force_pace: Pace = Pace()
    field_pace: Pace = Pace()
    rest_s: float = 0.0  # for how long the sensor has been stationary [s]
    opening: float = 1.0  # least weight of the next magnetic field: 1, 1/2, 1/3 ... and 0
    usual: FieldSignature = FieldSignature()  # the field that counts as undisturbed
    undisturbed_s: float = 0.0  # for how long the field has been the usual one [s]
    rejected_s: float = 0.0  # for how long disturbed fields have been rejected [s]
    candidate: FieldSignature = FieldSignature(strength=-1.0)  # may become the usual field
    candidate_s: float = 0.0  # for how long it has been observed in rotation [s]
    near_dip: float = 0.0  # a dip near the last one [rad], its sine and its cosine
    near_sine: float = 0.0
    near_cosine: float = 1.0
    unseen: float = 0.0  # rotation missed by the clipped gyro so far [rad]
    broken: float = 0.0  # rotation lost up to this sample [rad]; else 0
    pause_s: float = 0.0  # remaining time without bias updates from motion [s]
    drift: float = 0.0  # growth of the variance of the bias [rad^2/s^3]
    noise_level: float = 0.0  # of the bias measured in motion, about level axes [rad^2/s^2]
    noise_vertical: float = 0.0  # ... and about the vertical
    noise_at_rest: float = 0.0
    has_base: bool = False
    base: Vector = filled(4)  # correction of tilt at the last restart of the averages
    now: Reading = Reading()  # the current sample
    first: Reading = Reading()  # the first sample,
    first_waits: bool = False  # which is processed when the sampling interval is known
