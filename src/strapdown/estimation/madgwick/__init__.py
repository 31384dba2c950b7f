"""The filter of Madgwick: a descent of fixed speed down the gradient of the error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from strapdown.estimation.classical import ClassicalParams
from strapdown.estimation.filtering import RecursiveFilter
from strapdown.estimation.madgwick import _kernels as kernels

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["MadgwickFilter", "MadgwickParams"]


@dataclass(frozen=True)
class MadgwickParams(ClassicalParams):
    """What can be set; beta is the best one for the BROAD benchmark.

    Parameters
    ----------
    beta : float
        Speed of the correction [1/s], of the quaternion; the orientation is corrected at
        2 beta [rad/s], however large the error is. Larger: less disturbed by gyro errors, more
        by acceleration and by changing magnetic fields. Its author sets it to sqrt(3/4) times
        the error of the gyro [rad/s].
    zeta : float
        Speed at which a gyro bias is learnt [1/s^2]: sqrt(3/4) times its drift [rad/s^2].
        0 learns none.
    bias_clip : float
        Largest gyro bias on an axis that is learnt [rad/s].
    gyro_noise, gyro_bias, accel_noise, field_noise, sample_kind
        As in :class:`~strapdown.estimation.classical.ClassicalParams`.
    reset_after, gyro_range, accel_range
        As in :class:`~strapdown.estimation.filtering.FilterParams`.

    Raises
    ------
    ValueRangeError
        A value is not finite, or not positive (zeta, bias_clip: negative).
    """

    accel_noise: float = 0.3
    beta: float = 0.12
    zeta: float = 0.0
    bias_clip: float = 0.1

    MAY_BE_ZERO: ClassVar[frozenset[str]] = ClassicalParams.MAY_BE_ZERO | {"zeta", "bias_clip"}


class MadgwickFilter(RecursiveFilter[MadgwickParams]):
    """Orientation by a descent of the error of gravity and magnetic field.

    With the unit vectors a and m of specific force and magnetic field in body axes, and
    R = R(q_world_from_body), the objective is ``|R'up - a|^2 / 2 + |R'b - m|^2 / 2`` with
    b = (0, |h_xy|, h_z), h = R m. As a rotation of the body its gradient is
    ``R'up x a + R'b x m``; the orientation is turned against it at 2 beta, and not past the
    point where it vanishes.

    Start, unusable vectors, gaps and clocks are handled as in
    :class:`~strapdown.estimation.ComplementaryFilter`: the first samples set the orientation,
    whatever it is, and the law above begins after a second.

    Parameters
    ----------
    params : MadgwickParams, optional

    References
    ----------
    S. Madgwick, "An efficient orientation filter for inertial and inertial/magnetic sensor
    arrays", report, University of Bristol, 2010. S. Madgwick, A. Harrison, R. Vaidyanathan,
    "Estimation of IMU and MARG orientation using a gradient descent algorithm", ICORR 2011.

    Examples
    --------
    >>> from strapdown.estimation import ImuSample, MadgwickFilter
    >>> orientation = MadgwickFilter()
    >>> orientation.update(ImuSample(0, (0.0, 0.0, 0.0), (0.0, 0.0, 9.81))).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """

    NAME = "madgwick"
    KERNELS: ClassVar[ModuleType] = kernels
    DEFAULTS = MadgwickParams()
