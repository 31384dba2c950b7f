"""A complementary filter: the gyro at short times, gravity and magnetic north at long ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from strapdown.errors import ValueRangeError
from strapdown.estimation.classical import ClassicalParams
from strapdown.estimation.complementary import _kernels as kernels
from strapdown.estimation.filtering import RecursiveFilter
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["ComplementaryFilter", "ComplementaryParams"]


@dataclass(frozen=True)
class ComplementaryParams(ClassicalParams):
    """What can be set; one set of defaults serves hand-held, worn and flown sensors.

    Parameters
    ----------
    tau_acc : float
        Delay of the averaged specific force that corrects tilt [s]. Longer: less disturbed by
        acceleration, more by gyro errors.
    tau_mag : float
        Time constant of the heading correction [s]. Longer: less disturbed by changing
        magnetic fields, more by gyro errors.
    bias_limit : float
        Largest gyro bias on an axis that is learnt at rest [rad/s]; a steady turn that is
        slower passes for a bias. 0 learns none.
    gyro_noise, gyro_bias, accel_noise, field_noise, sample_kind
        As in :class:`~strapdown.estimation.classical.ClassicalParams`.
    reset_after, gyro_range, accel_range
        As in :class:`~strapdown.estimation.filtering.FilterParams`.

    Raises
    ------
    ValueRangeError
        A value is not finite, or not positive (bias_limit: negative).
    """

    accel_noise: float = 0.15
    tau_acc: float = 3.0
    tau_mag: float = 9.0
    bias_limit: float = 2.0 * RAD_PER_DEG

    MAY_BE_ZERO: ClassVar[frozenset[str]] = ClassicalParams.MAY_BE_ZERO | {"bias_limit"}

    @classmethod
    def from_gains(cls, gain_acc: float, gain_mag: float, rate_hz: float) -> ComplementaryParams:
        """Return the time constants of gains per sample, as nodes for ROS name them.

        Parameters
        ----------
        gain_acc, gain_mag : float
            Part of the error in tilt, and in heading, that one sample corrects, 0 to 1.
        rate_hz : float
            Samples a second.

        Raises
        ------
        ValueRangeError
            A gain is not between 0 and 1, or the rate is not positive.
        """
        for name, value, most in (
            ("gain_acc", gain_acc, 1.0),
            ("gain_mag", gain_mag, 1.0),
            ("rate_hz", rate_hz, math.inf),
        ):
            if not 0.0 < value < most:
                raise ValueRangeError(f"expected {name} between 0 and {most}, got {value}")
        tau_acc, tau_mag = (-1.0 / (rate_hz * math.log1p(-gain)) for gain in (gain_acc, gain_mag))
        return cls(tau_acc=tau_acc, tau_mag=tau_mag)


class ComplementaryFilter(RecursiveFilter[ComplementaryParams]):
    """Orientation from gyro and accelerometer, and heading from a magnetometer if there is one.

    The gyro is integrated over each stamped interval. In world axes the specific force is
    averaged as a vector (two equal poles), and the smallest rotation that brings the average
    up corrects tilt. The horizontal magnetic field is turned to north by a first-order
    correction that a field of unusual strength or dip weakens. While the sensor rests, the
    gyro's bias is learnt. At a start plain means stand for the averages, so the first output
    is already the orientation that the first sample gives, with heading 0 (in ENU: forward is
    east) without a magnetometer. Time steps come from the stamps.

    Unusable vectors (NaN, infinite, implausible) are left out one sensor at a time: rates are
    bridged by the trapezoid of their neighbours for up to a second, the others are waited
    for. So are gaps in time, after which tilt is averaged anew. Nothing of this is silent: see
    :class:`~strapdown.estimation.FilterReport`.

    Parameters
    ----------
    params : ComplementaryParams, optional

    References
    ----------
    R. Mahony, T. Hamel, J.-M. Pflimlin, "Nonlinear complementary filters on the special
    orthogonal group", IEEE Transactions on Automatic Control 53(5), 2008. D. Laidig, T. Seel,
    "VQF: Highly accurate IMU orientation estimation with bias estimation and magnetic
    disturbance rejection", Information Fusion 91, 2023: averaging in world axes, rest.

    Examples
    --------
    >>> from strapdown.estimation import ComplementaryFilter, ImuSample
    >>> orientation = ComplementaryFilter()
    >>> orientation.update(ImuSample(0, (0.0, 0.0, 0.0), (0.0, 0.0, 9.81))).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """

    NAME = "complementary"
    KERNELS: ClassVar[ModuleType] = kernels
    DEFAULTS = ComplementaryParams()
