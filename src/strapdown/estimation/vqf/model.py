"""The parameters of VQF, and what it remembers.

D. Laidig, T. Seel, "VQF: Highly accurate IMU orientation estimation with bias estimation and
magnetic disturbance rejection", Information Fusion 91, 2023.
"""

from __future__ import annotations

from dataclasses import dataclass

from strapdown._kernels.records import Record, Vector, filled, vector
from strapdown.estimation.intake import FilterMemory
from strapdown.estimation.params import FilterParams
from strapdown.estimation.vqf.low_pass import LowPass, LowPassOfNine, LowPassOfTwo, Pace
from strapdown.samples import SampleKind
from strapdown.units import RAD_PER_DEG

__all__ = ["Field", "Reading", "VqfMemory", "VqfParams"]


@dataclass(frozen=True)
class VqfParams(FilterParams):
    """The parameters that the authors publish, and what the covariance of the result assumes.

    Parameters
    ----------
    tau_acc : float
        Time constant of the low-pass of the specific force [s]. Longer: tilt is less disturbed
        by acceleration, more by gyro errors.
    tau_mag : float
        Time constant of the heading correction [s]. Longer: less disturbed by changing
        magnetic fields, more by gyro errors.
    learn_bias_in_motion, learn_bias_at_rest : bool
        Whether the gyro's bias is learnt from the tilt corrections, and from rest.
    reject_disturbed_field : bool
        Whether a magnetic field of unusual strength or dip is kept from correcting heading.
    bias_sigma_start : float
        Standard deviation of the bias at first [rad/s]. Larger: quicker, noisier at first.
    bias_forgetting_time : float
        In this time the bias may drift by 0.1 deg/s [s]. Shorter: follows changes quicker.
    bias_clip : float
        Largest bias on an axis [rad/s], and largest disagreement that one sample may show; a
        steady turn that is slower passes for a bias at rest. Raise it for a gyro with a
        larger bias.
    bias_sigma_motion, bias_sigma_rest : float
        Steady uncertainty of the bias in motion and at rest [rad/s]. Smaller: trusts each
        sample more.
    bias_vertical_forgetting : float
        Trust in a vertical bias of 0 in motion, relative to what tilt tells. It is not
        measured there; larger pulls it to 0 quicker.
    rest_time : float
        So long nothing may move until it counts as rest [s].
    rest_tau : float
        Time constant of the low-passes that readings are compared with [s].
    rest_rate, rest_force : float
        Largest distance from the low-pass at rest [rad/s], [m/s^2]. Raise them where a
        noisy or vibrating sensor is never found at rest.
    field_tau : float
        Time constant of the low-pass of strength and dip [s].
    field_memory : float
        Time constant with which the usual field is followed [s].
    strength_tolerance, dip_tolerance : float
        A field within this part of the usual strength, and this angle of its dip [rad],
        is undisturbed. Smaller: rejects more.
    new_field_time, first_field_time : float
        A steady field is the new usual one after so long in rotation; the first field after
        the second time [s].
    new_field_rate : float
        Rotation as fast as this counts for that [rad/s].
    undisturbed_time : float
        So long a field must be the usual one before it counts as undisturbed [s].
    rejection_time : float
        Longest complete rejection of disturbed fields [s]; after it they correct weakly.
    rejection_factor : float
        How much more weakly, and how much quicker the time above is regained.
    rate_noise : float
        Noise of the gyro that the covariance assumes [rad/sqrt(s)].
    tilt_sigma, heading_sigma : float
        Errors of tilt and of magnetic heading that stay, in the covariance [rad].

    References
    ----------
    D. Laidig, T. Seel, "VQF: Highly accurate IMU orientation estimation with bias estimation
    and magnetic disturbance rejection", Information Fusion 91, 2023, table 2.
    """

    sample_kind: SampleKind = SampleKind.MEAN
    tau_acc: float = 3.0
    tau_mag: float = 9.0
    learn_bias_in_motion: bool = True
    learn_bias_at_rest: bool = True
    reject_disturbed_field: bool = True
    bias_sigma_start: float = 0.5 * RAD_PER_DEG
    bias_forgetting_time: float = 100.0
    bias_clip: float = 2.0 * RAD_PER_DEG
    bias_sigma_motion: float = 0.1 * RAD_PER_DEG
    bias_vertical_forgetting: float = 1e-4
    bias_sigma_rest: float = 0.03 * RAD_PER_DEG
    rest_time: float = 1.5
    rest_tau: float = 0.5
    rest_rate: float = 2.0 * RAD_PER_DEG
    rest_force: float = 0.5
    field_tau: float = 0.05
    field_memory: float = 20.0
    strength_tolerance: float = 0.1
    dip_tolerance: float = 10.0 * RAD_PER_DEG
    new_field_time: float = 20.0
    first_field_time: float = 5.0
    new_field_rate: float = 20.0 * RAD_PER_DEG
    undisturbed_time: float = 0.5
    rejection_time: float = 60.0
    rejection_factor: float = 2.0
    rate_noise: float = 1e-3
    tilt_sigma: float = 0.01
    heading_sigma: float = 0.035


class Reading(Record):
    """What a sample brings, and how long each sensor was waited for [s]; -1: it brings none."""

    dt: float = 0.0  # since the sample before [s]
    turn: Vector = filled(3)  # what the gyro measured over it, bias included [rad, body]
    rate: Vector = filled(3)  # [rad/s, body]
    force: Vector = filled(3)  # [m/s^2, body]
    field: Vector = filled(3)  # [as measured, body]
    rate_wait: float = -1.0
    force_wait: float = -1.0
    field_wait: float = -1.0


class Field(Record):
    """What a magnetic field is recognised by."""

    strength: float = 0.0  # [as measured]
    dip: float = 0.0  # angle by which it points down [rad]


class VqfMemory(FilterMemory):
    """What the filter knows and remembers; orientation = heading * tilt * gyro."""

    gyro: Vector = vector(0.0, 0.0, 0.0, 1.0)  # what the gyro says alone, x y z w
    tilt: Vector = vector(0.0, 0.0, 0.0, 1.0)  # the slow correction of tilt
    half_sine: float = 0.0  # of half the heading offset
    half_cosine: float = 1.0
    bias_covariance: Vector = filled(6)  # xx xy xz yy yz zz [rad^2/s^2]
    level: LowPass = LowPass()  # specific force as the gyro turns it
    attitude: LowPassOfNine = LowPassOfNine()  # matrix of tilt * gyro, row by row
    level_bias: LowPassOfTwo = LowPassOfTwo()  # the bias as that turns it, level parts [rad/s]
    slow_rate: LowPass = LowPass()  # readings of the gyro
    slow_force: LowPass = LowPass()  # readings of the accelerometer
    slow_field: LowPassOfTwo = LowPassOfTwo()  # strength and dip of the magnetic field
    rate_pace: Pace = Pace()
    force_pace: Pace = Pace()
    field_pace: Pace = Pace()
    rest_s: float = 0.0  # how long nothing has moved [s]
    opening: float = 1.0  # least weight of the next magnetic field: 1, 1/2, 1/3 ... and 0
    usual: Field = Field()  # the field that counts as undisturbed
    undisturbed_s: float = 0.0  # how long the field has been the usual one [s]
    rejected_s: float = 0.0  # how long disturbed fields have been rejected [s]
    candidate: Field = Field(strength=-1.0)  # the field that may become the usual one
    candidate_s: float = 0.0  # how long it has been seen in rotation [s]
    near_dip: float = 0.0  # a dip near the last one [rad], its sine and its cosine
    near_sine: float = 0.0
    near_cosine: float = 1.0
    unseen: float = 0.0  # turn that a clipped gyro has missed so far [rad]
    broken: float = 0.0  # turn that was lost up to this sample [rad]; else 0
    pause_s: float = 0.0  # how long motion still teaches nothing about the bias [s]
    drift: float = 0.0  # how the variance of the bias grows [rad^2/s^3]
    noise_level: float = 0.0  # of the bias measured in motion, about level axes [rad^2/s^2]
    noise_vertical: float = 0.0  # ... and about the vertical
    noise_at_rest: float = 0.0
    has_base: bool = False
    base: Vector = filled(4)  # the correction of tilt when averages began anew, if they did
    now: Reading = Reading()  # the sample that is taken
    first: Reading = Reading()  # the first sample,
    first_waits: bool = False  # which waits to be told the sampling interval
