"""State that a navigator starts from, if it does not align at rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.estimation.navigation.errors import mirror, publish
from strapdown.estimation.navigation.state import ALTITUDE_BIAS, SIZE, NavigatorMemory
from strapdown.inertial.navigation import NavigationStart

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike
    from strapdown.estimation.navigation.params import NavigatorParams

__all__ = ["NavigationPrior"]


@dataclass(frozen=True, eq=False)
class NavigationPrior(NavigationStart):
    """Prior of the state of a navigator, in place of an alignment at rest.

    Parameters
    ----------
    q_world_from_body, velocity_world, position_world
        As in :class:`~strapdown.inertial.navigation.NavigationStart`; ENU from FLU.
    gyro_bias, accel_bias : (3,), optional
        Biases [rad/s], [m/s^2, body].
    covariance : (15, 15), optional
        Of the errors of position, velocity, rotation about the axes of the world, bias of the
        accelerometer, bias of the gyro; by default all but the biases are known exactly.

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
        """Return the initial state of a navigator."""
        covariance = self.covariance
        if covariance is None:
            sigmas = [0.0] * 9 + [params.accel_bias_sigma] * 3 + [params.gyro_bias_sigma] * 3
            covariance = np.diag(np.square(sigmas))
        errors = np.zeros((SIZE, SIZE))
        errors[:ALTITUDE_BIAS, :ALTITUDE_BIAS] = covariance
        errors[ALTITUDE_BIAS, ALTITUDE_BIAS] = params.altitude_bias_sigma**2
        memory = NavigatorMemory(
            orientation=_as_list(self.q_world_from_body),
            gyro_bias=_as_list(self.gyro_bias),
            velocity=_as_list(self.velocity_world),
            position=_as_list(self.position_world),
            accel_bias=_as_list(self.accel_bias),
            error_covariance=_as_list(errors),
            aligned=True,
        )
        mirror(memory.error_covariance)
        publish(memory)
        return memory


def _as_list(array: ArrayLike) -> list[Any]:
    return list(np.asarray(array).tolist())
