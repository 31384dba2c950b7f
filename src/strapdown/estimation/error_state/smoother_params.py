"""Parameters of the smoother."""

from __future__ import annotations

from dataclasses import dataclass, field

from strapdown.estimation.params import FilterParams
from strapdown.samples import SampleKind
from strapdown.samples.params import MAY_BE_ZERO

__all__ = ["SmootherParams"]


@dataclass(frozen=True)
class SmootherParams(FilterParams):
    """Error model of the sensor and of its motion; the defaults are those of a consumer MEMS IMU.

    Noises are spectral densities: a standard deviation over an interval T is that times sqrt(T)
    for what is integrated, and divided by sqrt(T) for what is measured.

    Parameters
    ----------
    gyro_noise : float
        White noise of the gyro, and errors that act like it [rad/sqrt(s)]. Larger: trusts
        accelerometer and magnetometer more.
    gyro_scale_noise : float
        Noise of the gyro in proportion to the rate [sqrt(s)]. Larger: less is learnt from fast
        rotation.
    bias_walk : float
        Random walk of the gyro bias [rad/s/sqrt(s)]. Larger: the bias follows changes.
    speed_noise, speed_turn_noise : float
        Noise of the velocity that is integrated from the accelerometer [m/s/sqrt(s)], and in
        proportion to the rate [m/sqrt(s)/rad]: gyro and accelerometer do not measure at quite
        the same time and place. Larger: trusts the accelerometer less.
    place_noise : float
        Noise of the distance of the sensor from one place [m sqrt(s)]. Smaller: tilt follows
        the accelerometer more closely, and more is learnt about the gyro. Raise it for
        vehicles, lower it for a turntable.
    rest_speed, rest_rate : float
        Noise of the velocity [m/s sqrt(s)] and of the angular velocity [rad/s sqrt(s)] at rest.
    field_noise : float
        Noise of the magnetic field, relative to its strength [sqrt(s)]. Larger: heading
        follows the gyro more.
    window : float
        Time between knots [s]; longer is quicker. On recordings 0.05 to 0.2 give the same accuracy.
    field_tolerance : float
        A field that differs by this part of its strength has a quarter of the weight. Larger:
        fewer disturbances are rejected.
    tilt_prior, heading_prior : float
        Standard deviations at the start [rad]; heading only with a magnetometer.
    speed_prior, bias_prior, accel_prior : float
        Of velocity [m/s], gyro bias [rad/s] and accelerometer bias [m/s^2] at the start. A
        ``bias_prior`` that turns out to be too small is widened.
    matrix_prior : float
        Of each element of the gyro's scale and misalignment; 0: a calibrated gyro.
    delay_prior : float
        Of the delay of the magnetometer relative to the gyro [s].

    Notes
    -----
    ``docs/filters/smoother.md`` describes the model.
    """

    reset_after: float = 30.0
    sample_kind: SampleKind = SampleKind.MEAN
    gyro_noise: float = 0.001
    gyro_scale_noise: float = field(default=0.0003, metadata=MAY_BE_ZERO)
    bias_walk: float = field(default=3e-5, metadata=MAY_BE_ZERO)
    speed_noise: float = 0.03
    speed_turn_noise: float = field(default=0.007, metadata=MAY_BE_ZERO)
    place_noise: float = 10.0
    rest_speed: float = 0.003
    rest_rate: float = 0.001
    field_noise: float = 0.045
    window: float = 0.1
    field_tolerance: float = 0.05
    tilt_prior: float = 0.2
    heading_prior: float = 0.5
    speed_prior: float = 1.0
    bias_prior: float = 0.004
    accel_prior: float = field(default=0.05, metadata=MAY_BE_ZERO)
    matrix_prior: float = field(default=0.006, metadata=MAY_BE_ZERO)
    delay_prior: float = field(default=0.02, metadata=MAY_BE_ZERO)
