"""Parameters of VQF."""

from __future__ import annotations

from dataclasses import dataclass

from strapdown.estimation.params import FilterParams
from strapdown.samples import SampleKind
from strapdown.units import RAD_PER_DEG

__all__ = ["VqfParams"]


@dataclass(frozen=True)
class VqfParams(FilterParams):
    """Parameters of the publication, and noises for the covariance of the result.

    Parameters
    ----------
    tau_acc : float
        Time constant of the low-pass of the specific force [s]. Longer: tilt is less disturbed
        by acceleration, more by gyro errors.
    tau_mag : float
        Time constant of the heading correction [s]. Longer: less disturbed by changing
        magnetic fields, more by gyro errors.
    learn_bias_in_motion, learn_bias_at_rest : bool
        Whether the gyro bias is learnt from the tilt corrections, and at rest.
    reject_disturbed_field : bool
        Whether a magnetic field of unusual strength or dip is rejected.
    bias_sigma_start : float
        Standard deviation of the bias at the start [rad/s]. Larger: learnt quicker, but with
        more noise at the start.
    bias_forgetting_time : float
        Time in which the bias may drift by 0.1 deg/s [s]. Shorter: follows changes quicker.
    bias_clip : float
        Largest bias on an axis, and largest error in one update [rad/s]; a slower steady
        rotation is mistaken for a bias at rest. Raise it for a gyro with a larger bias.
    bias_sigma_motion, bias_sigma_rest : float
        Steady uncertainty of the bias in motion and at rest [rad/s]. Smaller: trusts each
        sample more.
    bias_vertical_forgetting : float
        Weight of a vertical bias of 0 in motion, where it is not observable, relative to the
        measurements from tilt. Larger pulls it to 0 quicker.
    rest_time : float
        Time without motion until rest is detected [s].
    rest_tau : float
        Time constant of the low-pass filters for the detection of rest [s].
    rest_rate, rest_force : float
        Largest distance from the low-passed reading at rest [rad/s], [m/s^2]. Raise them if
        the rest of a noisy or vibrating sensor is not detected.
    field_tau : float
        Time constant of the low-pass of strength and dip [s].
    field_memory : float
        Time constant of the usual field [s].
    strength_tolerance, dip_tolerance : float
        Largest difference from the usual strength (relative) and dip [rad] of an undisturbed
        field. Smaller: rejects more.
    new_field_time, first_field_time : float
        Time in rotation after which a steady field becomes the usual one [s]; the second is
        that of the first field.
    new_field_rate : float
        Slowest rotation that counts for these times [rad/s].
    undisturbed_time : float
        Time for which a field must be close to the usual one to count as undisturbed [s].
    rejection_time : float
        Longest complete rejection of disturbed fields [s]; afterwards they have less weight.
    rejection_factor : float
        Divisor of this weight, and factor at which the time of rejection recovers in an
        undisturbed field.
    rate_noise : float
        Noise density of the gyro in the covariance [rad/sqrt(s)].
    tilt_sigma, heading_sigma : float
        Lasting errors of tilt and of magnetic heading in the covariance [rad].

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
