"""Parameters of the strapdown navigator."""

from __future__ import annotations

from dataclasses import dataclass, field

from strapdown.estimation.params import FilterParams
from strapdown.samples.params import MAY_BE_NEGATIVE, MAY_BE_ZERO

__all__ = ["NavigatorParams"]


@dataclass(frozen=True)
class NavigatorParams(FilterParams):
    """What the navigator is told about the sensor, and about the start.

    Noise densities are Allan deviations of white noise at 1 s; the walks are densities of the
    noise that makes the biases wander. Defaults are those of a consumer MEMS sensor. Larger
    noises let aiding correct more and the covariance grow faster.

    Parameters
    ----------
    reset_after, sample_kind, gyro_range, accel_range
        As in :class:`~strapdown.estimation.params.FilterParams`; after a jump of the clock
        the state stands, less sure.
    gyro_noise, accel_noise : float
        [rad/sqrt(s)], [m/s/sqrt(s)].
    gyro_walk, accel_walk : float
        [rad/s/sqrt(s)], [m/s^2/sqrt(s)].
    align_for : float
        How long the sensor is at rest at the start [s].
    gyro_bias_sigma, accel_bias_sigma : float
        Standard deviation of the biases before anything is measured [rad/s], [m/s^2].
    velocity_sigma : float
        Standard deviation of the velocity at the start [m/s].
    heading, heading_sigma : float
        Angle of the forward axis from east towards north at the start, and its standard
        deviation [rad]; 0 where heading is relative to the start.
    gate : float
        Probability with which a measurement that fits the model is accepted; 1 accepts all.
    patience : int
        So many refusals in a row of one kind are believed to be errors of what was told; after
        them the navigator doubts itself, widens its covariance until the next one fits, and
        takes it. Without this a navigator that is wrong by chance stays so for ever.
    buffer : float
        How late an aiding may come in streaming [s]. Samples so long ago are kept.

    Raises
    ------
    ValueRangeError
        A value is negative (or zero, where it must not be), or not finite; or the gate is no
        probability.
    UnknownNameError
        There is no such kind of sample.
    """

    gyro_noise: float = field(default=2e-4, metadata=MAY_BE_ZERO)
    accel_noise: float = field(default=3e-3, metadata=MAY_BE_ZERO)
    gyro_walk: float = field(default=2e-5, metadata=MAY_BE_ZERO)
    accel_walk: float = field(default=3e-4, metadata=MAY_BE_ZERO)
    align_for: float = field(default=1.0, metadata=MAY_BE_ZERO)
    gyro_bias_sigma: float = field(default=0.01, metadata=MAY_BE_ZERO)
    accel_bias_sigma: float = field(default=0.2, metadata=MAY_BE_ZERO)
    velocity_sigma: float = field(default=0.01, metadata=MAY_BE_ZERO)
    heading: float = field(default=0.0, metadata=MAY_BE_NEGATIVE)
    heading_sigma: float = field(default=0.0, metadata=MAY_BE_ZERO)
    gate: float = field(default=0.999, metadata={"most": 1.0})
    patience: int = 3
    buffer: float = field(default=1.0, metadata=MAY_BE_ZERO)
