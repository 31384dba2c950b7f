"""What a navigator is told before it begins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.estimation.filter import FilterParams
from strapdown.estimation.navigation.errors import mirror, publish
from strapdown.estimation.navigation.memory import NavigatorMemory
from strapdown.inertial.navigation import NavigationStart
from strapdown.samples.params import MAY_BE_NEGATIVE, MAY_BE_ZERO

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike

__all__ = ["NavigatorParams", "NavigatorStart"]


@dataclass(frozen=True)
class NavigatorParams(FilterParams):
    """What the navigator is told about the sensor, and about the start.

    Noise densities are Allan deviations of white noise at 1 s; the walks are densities of the
    noise that makes the biases wander. Defaults are those of a consumer MEMS sensor. Larger
    noises let aiding correct more and the covariance grow faster.

    Parameters
    ----------
    reset_after, sample_kind, gyro_range, accel_range
        As in :class:`~strapdown.estimation.filter.FilterParams`; after a jump of the clock
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


@dataclass(frozen=True, eq=False)
class NavigatorStart(NavigationStart):
    """A known start, instead of an alignment at rest.

    Parameters
    ----------
    q_world_from_body, velocity_world, position_world
        As in :class:`~strapdown.inertial.navigation.NavigationStart`; ENU from FLU.
    gyro_bias, accel_bias : (3,), optional
        [rad/s], [m/s^2, body].
    covariance : (15, 15), optional
        Of the errors of position, velocity, rotation about the axes of the world, bias of the
        accelerometer, bias of the gyro; by default all but the biases are known.

    Raises
    ------
    ShapeError, ValueRangeError
        An array has another shape, or is not finite, or the covariance is not symmetric.
    """

    gyro_bias: ArrayLike = (0.0, 0.0, 0.0)
    accel_bias: ArrayLike = (0.0, 0.0, 0.0)
    covariance: ArrayLike | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("gyro_bias", "accel_bias"):
            object.__setattr__(self, name, as_finite(getattr(self, name), name, (3,)))
        if self.covariance is not None:
            covariance = as_finite(self.covariance, "covariance", (15,))
            if covariance.shape != (15, 15):
                raise ShapeError(f"expected covariance of shape (15, 15), got {covariance.shape}")
            if not np.allclose(covariance, covariance.T):
                raise ValueRangeError("expected a symmetric covariance; give (P + P.T) / 2")
            object.__setattr__(self, "covariance", covariance)

    def memory(self, params: NavigatorParams) -> NavigatorMemory:
        """Return what a navigator knows that begins here."""
        covariance = self.covariance
        if covariance is None:
            sigmas = [0.0] * 9 + [params.accel_bias_sigma] * 3 + [params.gyro_bias_sigma] * 3
            covariance = np.diag(np.square(sigmas))
        memory = NavigatorMemory(
            orientation=_as_list(self.q_world_from_body),
            gyro_bias=_as_list(self.gyro_bias),
            velocity=_as_list(self.velocity_world),
            position=_as_list(self.position_world),
            accel_bias=_as_list(self.accel_bias),
            error_covariance=_as_list(covariance),
            aligned=True,
        )
        mirror(memory.error_covariance)
        publish(memory)
        return memory


def _as_list(array: ArrayLike) -> list[Any]:
    return list(np.asarray(array).tolist())
