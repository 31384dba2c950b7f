"""Parameters of the foot-mounted navigator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from strapdown.estimation.params import FilterParams
from strapdown.samples.params import MAY_BE_ZERO
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FootParams"]


@dataclass(frozen=True)
class FootParams(FilterParams):
    """Parameters; the defaults suit walking, running and climbing.

    Parameters
    ----------
    reset_after, sample_kind, gyro_range, accel_range
        As in :class:`~strapdown.estimation.params.FilterParams`; after a jump of the clock
        the state is kept, with a larger covariance.
    gyro_noise, accel_noise : float
        Noise densities [rad/sqrt(s)], [m/s/sqrt(s)]. They are far above those of the sensor, as
        they include scale, alignment and bandwidth errors in the impacts of a gait. Larger:
        a stance corrects the motion before it more.
    gyro_walk, accel_walk : float
        Of the biases [rad/s/sqrt(s)], [m/s^2/sqrt(s)].
    align_for : float
        Least time for which the foot rests flat at the start [s].
    gyro_bias_sigma, accel_bias_sigma, velocity_sigma : float
        Standard deviations at the start [rad/s], [m/s^2], [m/s]. The last is large, so that a
        start in motion does little harm; at rest the first updates reduce it.
    still_sigma : float
        Standard deviation of the velocity of the sole in a stance, for a sample at 200 Hz [m/s].
    still_statistic : float
        Largest value of the statistic of a still foot. In gaits that do not reach it,
        ``still_sigma`` grows with the root of the lower envelope of the statistic.
    envelope_growth : float
        Rate at which the envelope rises [1/s]. Larger: tighter velocities in gaits with short
        stances, but also in a swing between still stances.
    rate_sigma : float
        Standard deviation of the angular velocity of a still foot, for a sample at 200 Hz
        [rad/s].
    contact_height : float
        Height of the sensor above the ground with the foot flat at the start [m]. The foot
        rolls about the contact point, not about the sensor.
    floor_sigma : float
        Standard deviation of the heights of stances on one floor [m].
    stair_height : float
        A stance that is farther above or below the last one is on another floor [m]; 0: floors
        are not assumed to be level.
    gravity : float
        Gravity [m/s^2].

    Raises
    ------
    ValueRangeError
        A value is negative (or zero, where it must not be), or not finite.
    UnknownNameError
        There is no such kind of sample.
    """

    gyro_noise: float = 0.005
    accel_noise: float = 0.05
    gyro_walk: float = 1e-5
    accel_walk: float = 1e-4
    align_for: float = 0.1
    gyro_bias_sigma: float = 0.005
    accel_bias_sigma: float = 0.1
    velocity_sigma: float = 0.3
    still_sigma: float = 0.007
    still_statistic: float = 3e3
    envelope_growth: float = 3.0  # e^3 = 20
    rate_sigma: float = 0.005
    contact_height: float = field(default=0.08, metadata=MAY_BE_ZERO)
    floor_sigma: float = 0.02
    stair_height: float = field(default=0.08, metadata=MAY_BE_ZERO)
    gravity: float = STANDARD_GRAVITY

    heading: ClassVar[float] = 0.0  # relative to the start
    heading_sigma: ClassVar[float] = 0.0
    altitude_walk: ClassVar[float] = 0.0  # without a barometer
    altitude_bias_sigma: ClassVar[float] = 0.0
    BESIDE: ClassVar[Mapping[str, float]] = {
        **FilterParams.BESIDE,
        "heading": heading,
        "heading_sigma": heading_sigma,
        "altitude_walk": altitude_walk,
        "altitude_bias_sigma": altitude_bias_sigma,
    }
