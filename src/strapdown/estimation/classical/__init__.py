"""What the complementary, Mahony and Madgwick filters share: parameters, opening, covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from strapdown.estimation.filtering import FilterParams
from strapdown.integration import SampleKind
from strapdown.units import RAD_PER_DEG

__all__ = ["ClassicalParams"]


@dataclass(frozen=True)
class ClassicalParams(FilterParams):
    """What a classical filter assumes of its sensors.

    The noise makes the covariance of the result and changes no orientation.

    Parameters
    ----------
    sample_kind : SampleKind or {"mean", "rate"}
        A mean is what sensors with a low-pass give, and what these filters integrate as they
        were published; directions are then compared at the orientation one sample before. Of a
        rate, the value at its stamp, the trapezoid is integrated, and directions are compared
        at the stamp.
    gyro_noise : float
        Angle random walk of the gyro [rad/sqrt(s)].
    gyro_bias : float
        Standard deviation of the gyro bias that is left on an axis [rad/s].
    accel_noise : float
        Density of noise, and of acceleration that the filter does not average out
        [m/s/sqrt(s)].
    field_noise : float
        Density of the noise of the heading that the magnetic field shows [rad sqrt(s)].
    """

    sample_kind: SampleKind = SampleKind.MEAN
    gyro_noise: float = 1e-3
    gyro_bias: float = 0.1 * RAD_PER_DEG
    accel_noise: float = 0.1
    field_noise: float = 0.02

    MAY_BE_ZERO: ClassVar[frozenset[str]] = frozenset({"gyro_noise", "gyro_bias"})
