"""Parameters of the strapdown navigator."""

from __future__ import annotations

from dataclasses import dataclass, field

from strapdown.estimation.params import FilterParams
from strapdown.samples.params import MAY_BE_NEGATIVE, MAY_BE_ZERO

__all__ = ["NavigatorParams"]


@dataclass(frozen=True)
class NavigatorParams(FilterParams):
    """Noise of the sensor, and uncertainty of the start.

    Noise densities are Allan deviations of white noise at 1 s; the walks are the random walks of
    the biases. Defaults are those of a consumer MEMS sensor. With larger noises aiding corrects
    more, and the covariance grows faster.

    Parameters
    ----------
    reset_after, sample_kind, gyro_range, accel_range
        As in :class:`~strapdown.estimation.params.FilterParams`; after a jump of the clock
        the state is kept, with a larger covariance.
    gyro_noise, accel_noise : float
        Noise densities [rad/sqrt(s)], [m/s/sqrt(s)].
    gyro_walk, accel_walk : float
        Random walk of the biases [rad/s/sqrt(s)], [m/s^2/sqrt(s)].
    align_for : float
        Duration of the alignment at rest at the start [s].
    gyro_bias_sigma, accel_bias_sigma : float
        Prior standard deviation of the biases [rad/s], [m/s^2].
    altitude_walk, altitude_bias_sigma : float
        Random walk of the bias of a barometer's altitude [m/sqrt(s)], and its prior standard
        deviation [m].
    velocity_sigma : float
        Standard deviation of the velocity at the start [m/s].
    heading, heading_sigma : float
        Angle of the forward axis from east towards north at the start, and its standard
        deviation [rad]; 0 for a heading relative to the start.
    gate : float
        Probability with which a measurement that fits the model is accepted; 1 accepts all.
    patience : int
        Number of consecutive rejections of one kind that are attributed to the aiding. At the
        next one the covariance is scaled until it fits, and it is accepted, so that a wrong
        state does not persist.
    buffer : float
        Largest delay of an aiding in streaming [s]; samples are kept for this time.

    Raises
    ------
    ValueRangeError
        A value is negative (or zero, where it must not be), or not finite; or the gate is no
        probability.
    UnknownNameError
        The kind of sample is unknown.
    """

    gyro_noise: float = field(default=2e-4, metadata=MAY_BE_ZERO)
    accel_noise: float = field(default=3e-3, metadata=MAY_BE_ZERO)
    gyro_walk: float = field(default=2e-5, metadata=MAY_BE_ZERO)
    accel_walk: float = field(default=3e-4, metadata=MAY_BE_ZERO)
    align_for: float = field(default=1.0, metadata=MAY_BE_ZERO)
    gyro_bias_sigma: float = field(default=0.01, metadata=MAY_BE_ZERO)
    accel_bias_sigma: float = field(default=0.2, metadata=MAY_BE_ZERO)
    altitude_walk: float = field(default=0.03, metadata=MAY_BE_ZERO)
    altitude_bias_sigma: float = field(default=10.0, metadata=MAY_BE_ZERO)
    velocity_sigma: float = field(default=0.01, metadata=MAY_BE_ZERO)
    heading: float = field(default=0.0, metadata=MAY_BE_NEGATIVE)
    heading_sigma: float = field(default=0.0, metadata=MAY_BE_ZERO)
    gate: float = field(default=0.999, metadata={"most": 1.0})
    patience: int = 3
    buffer: float = field(default=1.0, metadata=MAY_BE_ZERO)
