"""Parameters of the error-state filter."""

from __future__ import annotations

from dataclasses import dataclass, field

from strapdown.estimation.params import FilterParams
from strapdown.samples import SampleKind
from strapdown.samples.params import MAY_BE_ZERO

__all__ = ["ErrorStateParams"]


@dataclass(frozen=True)
class ErrorStateParams(FilterParams):
    """Noise model of the sensor, the motion and the magnetic field.

    The defaults suit consumer MEMS sensors that are held, worn or flown. The parameters of the
    sensor may be taken from its data sheet. Those of motion and field describe correlated
    errors: values much smaller than the errors themselves make the filter overconfident.

    Parameters
    ----------
    gyro_noise : float
        Noise density of the gyro, and of all other errors of the rotation between samples
        [rad/sqrt(s)]. Larger: tilt and heading follow accelerometer and magnetometer quicker.
    gyro_scale_noise : float
        Noise density of the gyro in proportion to the angular velocity [sqrt(s)]. Larger: fast
        motion is trusted less, and the gyro matrix is learnt slower.
    gyro_bias_sigma : float
        Standard deviation of the gyro bias at the start [rad/s]. Larger: biases are learnt
        quicker, and so are wrong ones if the sensor never rests. The filter doubles it when
        the estimated bias is far beyond it.
    gyro_bias_walk : float
        Random walk of the gyro bias [rad/s/sqrt(s)]. Larger: the bias follows changes quicker.
    gyro_matrix_sigma : float
        Standard deviation of the elements of the gyro's matrix of scale and misalignment [-].
        Larger: learnt quicker, but sooner wrong in motion that hardly determines them. 0: not
        estimated.
    accel_noise : float
        Noise density of the integrated specific force [m/s/sqrt(s)]. Larger: the accelerometer
        is trusted less.
    accel_bias_sigma : float
        Standard deviation of the accelerometer bias [m/s^2]. Larger: more of an error is
        assigned to bias and less to tilt. 0: not estimated.
    speed_sigma : float
        Standard deviation of the velocity [m/s]. Smaller: tilt is corrected quicker, but
        disturbed more by sustained motion in one direction, which affects the estimated gyro
        errors first.
    speed_time : float
        Correlation time of the velocity [s]. Shorter acts like a smaller ``speed_sigma``.
    rest_speed_sigma : float
        Standard deviation of the velocity at rest [m/s].
    rest_rate_sigma : float
        Standard deviation of the angular velocity at rest [rad/s]. Smaller: biases are learnt
        quicker at rest.
    field_noise : float
        White noise of the magnetometer, relative to the field [-].
    field_sigma : float
        Error of the direction of the horizontal field, as it changes with place and attitude
        [rad]. Larger: heading follows the magnetometer slower.
    field_time : float
        Correlation time of this error [s]. Longer acts like a larger ``field_sigma``.
    north_sigma : float
        Lasting error of that direction [rad]. Larger: the variance of heading is larger.
    field_delay_sigma : float
        Standard deviation of the delay of the magnetometer relative to the gyro [s]. 0: the
        delay is not estimated.
    tilt_sigma : float
        Standard deviation of the tilt from the first specific force [rad]. Larger: starts in
        motion converge quicker.
    heading_sigma : float
        Standard deviation of the heading from the first magnetic field [rad].
    reset_after, sample_kind, gyro_range, accel_range
        As in :class:`~strapdown.estimation.params.FilterParams`. The default kind is the
        mean over the sampling interval, as gyros with a digital filter give it.

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
