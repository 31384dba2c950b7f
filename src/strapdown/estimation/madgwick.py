"""Madgwick's filter: gradient descent at a fixed speed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import bind, kernel
from strapdown.estimation.classical import (
    ClassicalMemory,
    ClassicalParams,
    Sight,
    classical_step,
    descend,
    look,
    noise_of,
    tighten_both,
    weighted,
)
from strapdown.estimation.filter import RecursiveFilter
from strapdown.geometry.vectors import square
from strapdown.samples.params import MAY_BE_ZERO
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown.estimation.intake import Intake
    from strapdown.samples.sample import Sample

__all__ = ["MadgwickFilter", "MadgwickParams"]

LEAST_GRADIENT: Final = 1e-12


@dataclass(frozen=True)
class MadgwickParams(ClassicalParams):
    """Parameters; the default of beta is the best one for the BROAD benchmark.

    Parameters
    ----------
    beta : float
        Speed of the correction of the quaternion [1/s]; the orientation is corrected at
        2 beta [rad/s], regardless of the size of the error. Larger: less disturbed by gyro
        errors, more by acceleration and by changing magnetic fields. Madgwick sets it to
        sqrt(3/4) times the error of the gyro [rad/s].
    zeta : float
        Speed at which a gyro bias is learnt [1/s^2]: sqrt(3/4) times its drift [rad/s^2].
        0: no bias is learnt.
    bias_clip : float
        Largest gyro bias on an axis that is learnt [rad/s].
    gyro_noise, gyro_bias, accel_noise, field_noise, sample_kind
        As in :class:`~strapdown.estimation.classical.ClassicalParams`.
    reset_after, gyro_range, accel_range
        As in :class:`~strapdown.estimation.params.FilterParams`.

    Raises
    ------
    ValueRangeError
        A value is not finite, or not positive (zeta, bias_clip: negative).
    """

    accel_noise: float = 0.3
    beta: float = 0.12
    zeta: float = field(default=0.0, metadata=MAY_BE_ZERO)
    bias_clip: float = field(default=0.1, metadata=MAY_BE_ZERO)


@kernel
def correct(s: ClassicalMemory, p: MadgwickParams, sample: Sample, taken: Intake) -> None:
    """Make one step of fixed speed down the gradient of both errors."""
    sight = look(s, p, sample, taken)
    span = max(sight.up_wait, sight.north_wait)
    if span == 0.0:
        return
    # The sensor with the higher rate has already had steps in between.
    up, north = sight.up_wait / span, sight.north_wait / span
    slope = math.sqrt(square(weighted(sight, up, north)))
    if slope <= LEAST_GRADIENT:
        return
    # Limited by the largest curvature of the objective, so that no step overshoots.
    length = 2.0 * p.beta * span
    size = min(length / slope, 1.0 / (up + north))
    descend(s, sight, size * up, size * north, p.zeta / p.beta, p.bias_clip)
    # A slope below the noise is small by chance and must not reduce the variance further.
    size = min(size, length / usual_slope(p, sight))
    tighten_both(s, p, sight, size * up, size * north)


@kernel
def usual_slope(p: MadgwickParams, sight: Sight) -> float:
    """Return the size of the gradient due to noise alone."""
    if sight.up_wait > 0.0:
        return math.sqrt(noise_of(p.accel_noise / STANDARD_GRAVITY, sight.up_wait))
    return math.sqrt(noise_of(p.field_noise, sight.north_wait))


class MadgwickFilter(RecursiveFilter[MadgwickParams]):
    """Orientation by gradient descent on the errors of gravity and magnetic field.

    With the unit vectors a and m of specific force and magnetic field in body axes, and
    R = R(q_world_from_body), the objective is ``|R'up - a|^2 / 2 + |R'b - m|^2 / 2`` with
    ``b = (0, |h_xy|, h_z)``, ``h = R m``. As a rotation of the body its gradient is
    ``R'up x a + R'b x m``; the orientation is turned against it at 2 beta, and not past the
    minimum.

    Start, unusable vectors, gaps and clocks are handled as in
    :class:`~strapdown.estimation.ComplementaryFilter`: the samples of the first second set
    the orientation, then the law above applies.

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
    >>> from strapdown.estimation import MadgwickFilter
    >>> from strapdown.samples import ImuSample
    >>> orientation = MadgwickFilter()
    >>> orientation.update(ImuSample(0, (0.0, 0.0, 0.0), (0.0, 0.0, 9.81))).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """

    NAME = "madgwick"
    DEFAULTS = MadgwickParams()
    MEMORY = ClassicalMemory
    STEP = bind(classical_step, correct=correct)
