"""Parameters of the error-state filter."""

from __future__ import annotations

from dataclasses import dataclass, field

from strapdown.estimation.params import FilterParams
from strapdown.samples import SampleKind
from strapdown.samples.params import MAY_BE_ZERO

__all__ = ["ErrorStateParams"]


@dataclass(frozen=True)
class ErrorStateParams(FilterParams):
    """What the filter believes about the sensor, the motion and the magnetic field.

    One set of defaults serves consumer MEMS sensors that are held, worn or flown. Those of the
    sensor may be taken from its data sheet; those of motion and field are densities of errors
    that last, so values much smaller than the errors themselves make the filter overconfident.

    Parameters
    ----------
    gyro_noise : float
        Noise density of the gyro, with what else makes the turn between samples uncertain
        [rad/sqrt(s)]. Larger: tilt and heading follow accelerometer and magnetometer quicker.
    gyro_scale_noise : float
        Noise density per root of the turned angle: turns at rate w are uncertain by this times
        w [sqrt(s)]. Larger: fast motion is trusted less, and M is learnt slower.
    gyro_bias_sigma : float
        What biases are like [rad/s]. Larger: they are learnt quicker, and wrong ones too, where
        a sensor never rests. Doubled by itself when a bias turns out to be far beyond it.
    gyro_bias_walk : float
        How fast biases drift [rad/s/sqrt(s)]. Larger: what was learnt is forgotten sooner.
    gyro_matrix_sigma : float
        What the elements of the gyro's matrix of scale and misalignment are like [-]. Larger:
        learnt quicker, and sooner wrong where motion hardly shows them. 0: not estimated.
    accel_noise : float
        Noise density of the integrated specific force [m/s/sqrt(s)]. Larger: the accelerometer
        is trusted less.
    accel_bias_sigma : float
        What accelerometer biases are like [m/s^2]. Larger: more is taken for bias and less for
        tilt. 0: not estimated.
    speed_sigma : float
        What velocities are like [m/s]. Smaller: tilt is corrected quicker, and disturbed more
        by motion that goes on in one direction; what is learnt of the gyro suffers first.
    speed_time : float
        For how long a velocity lasts [s]. Shorter acts like a smaller ``speed_sigma``.
    rest_speed_sigma : float
        Velocity that is left at rest [m/s].
    rest_rate_sigma : float
        Angular velocity that is left at rest [rad/s]. Smaller: biases follow rest quicker.
    field_noise : float
        White noise of the magnetometer, as a part of the field [-].
    field_sigma : float
        Error of the direction of the horizontal field, as it changes with place and attitude
        [rad]. Larger: heading follows the magnetometer slower.
    field_time : float
        For how long such an error lasts [s]. Longer acts like a larger ``field_sigma``.
    north_sigma : float
        Error of that direction that stays [rad]. Larger: heading is claimed to be less certain.
    field_delay_sigma : float
        How late the magnetometer may be after the gyro [s]; it is estimated. 0: not at all.
    tilt_sigma : float
        Error of the tilt that the first specific force gives [rad]. Larger: starts in motion
        settle quicker.
    heading_sigma : float
        Error of the heading that the first magnetic field gives [rad].
    reset_after, sample_kind, gyro_range, accel_range
        As in :class:`~strapdown.estimation.params.FilterParams`. A sample is taken for the
        mean over its interval, for so gyros with a digital filter deliver it.

    Raises
    ------
    ValueRangeError
        A value is not finite, or not positive where it must be.
    """

    sample_kind: SampleKind = SampleKind.MEAN

    gyro_noise: float = 0.002
    gyro_scale_noise: float = field(default=0.0005, metadata=MAY_BE_ZERO)
    gyro_bias_sigma: float = 0.004
    gyro_bias_walk: float = field(default=1.5e-4, metadata=MAY_BE_ZERO)
    gyro_matrix_sigma: float = field(default=0.004, metadata=MAY_BE_ZERO)
    accel_noise: float = 0.05
    accel_bias_sigma: float = field(default=0.05, metadata=MAY_BE_ZERO)
    speed_sigma: float = 1.25
    speed_time: float = 0.5
    rest_speed_sigma: float = 0.02
    rest_rate_sigma: float = 0.004
    field_noise: float = field(default=0.03, metadata=MAY_BE_ZERO)
    field_sigma: float = 0.1
    field_time: float = 3.0
    north_sigma: float = field(default=0.03, metadata=MAY_BE_ZERO)
    field_delay_sigma: float = field(default=0.02, metadata=MAY_BE_ZERO)
    tilt_sigma: float = 0.25
    heading_sigma: float = 0.3
