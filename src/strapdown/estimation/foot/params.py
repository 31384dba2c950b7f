"""What a navigator on a foot is told."""

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
    """What can be set; one set of defaults serves walking, running and climbing.

    Parameters
    ----------
    reset_after, sample_kind, gyro_range, accel_range
        As in :class:`~strapdown.estimation.params.FilterParams`; after a jump of the clock
        the state stands, less sure.
    gyro_noise, accel_noise : float
        Densities [rad/sqrt(s)], [m/s/sqrt(s)]. Far above the sensor's own: they stand for
        scale, alignment and bandwidth in the blows of a gait. Larger: each stance says more
        about what came before it.
    gyro_walk, accel_walk : float
        Of the biases [rad/s/sqrt(s)], [m/s^2/sqrt(s)].
    align_for : float
        How long the foot rests flat at the start at least [s].
    gyro_bias_sigma, accel_bias_sigma, velocity_sigma : float
        Standard deviations at the start [rad/s], [m/s^2], [m/s]. The last is large, so that a
        start in motion does little harm; rest is recognised at once.
    still_sigma : float
        Velocity of the sole in a stance, of one sample at 200 a second [m/s].
    still_statistic : float
        Up to here the foot stands as still as a foot can. In gaits that never get there
        ``still_sigma`` grows with the root of the lower envelope of the statistic.
    envelope_growth : float
        Rate at which the envelope rises [1/s]. Faster: gaits whose stances are short get
        tighter velocities, and a swing between quiet stances too.
    rate_sigma : float
        Angular velocity of a standing foot, of one sample at 200 a second [rad/s].
    contact_height : float
        Of the sensor above the ground, as the foot stands flat at the start [m]. The foot
        rolls about the ground, not about the sensor.
    floor_sigma : float
        How well the heights of stances on one floor agree [m].
    stair_height : float
        A stance that is farther above or below the last one stands on another floor [m];
        0: floors are not assumed to be level.
    gravity : float
        [m/s^2].

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

    heading: ClassVar[float] = 0.0  # is relative to the start
    heading_sigma: ClassVar[float] = 0.0
    BESIDE: ClassVar[Mapping[str, float]] = {
        **FilterParams.BESIDE,
        "heading": heading,
        "heading_sigma": heading_sigma,
    }
