"""Mahony's filter: an explicit complementary filter on the rotation group."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import bind, kernel
from strapdown.estimation.attitude import gain
from strapdown.estimation.classical import (
    ClassicalMemory,
    ClassicalParams,
    classical_step,
    descend,
    look,
    tighten_both,
    weighted,
)
from strapdown.estimation.filter import RecursiveFilter
from strapdown.geometry.vectors import square
from strapdown.samples.params import MAY_BE_ZERO

if TYPE_CHECKING:
    from strapdown.estimation.intake import Intake
    from strapdown.samples.sample import Sample

__all__ = ["MahonyFilter", "MahonyParams"]

MOST_ERROR: Final = 0.2  # rad; a bias is learnt from smaller errors only


@dataclass(frozen=True)
class MahonyParams(ClassicalParams):
    """Parameters; the default gains are the best ones for the BROAD benchmark.

    Parameters
    ----------
    k_p : float
        Rate of the correction per error [1/s]. Larger: less disturbed by gyro errors,
        more by acceleration and by changing magnetic fields.
    k_i : float
        Rate of change of the gyro bias per error [1/s^2]. Larger: a bias is learnt sooner, and
        acceleration is sooner mistaken for one. 0: no bias is learnt.
    field_weight : float
        Weight of the magnetic field relative to that of the specific force.
    bias_clip : float
        Largest gyro bias on an axis that is learnt [rad/s].
    gyro_noise, gyro_bias, accel_noise, field_noise, sample_kind
        As in :class:`~strapdown.estimation.classical.ClassicalParams`.
    reset_after, gyro_range, accel_range
        As in :class:`~strapdown.estimation.params.FilterParams`.

    Raises
    ------
    ValueRangeError
        A value is not finite, or not positive (k_i, field_weight, bias_clip: negative).
    """

    accel_noise: float = 0.5
    k_p: float = 0.74
    k_i: float = field(default=0.0012, metadata=MAY_BE_ZERO)
    field_weight: float = field(default=1.0, metadata=MAY_BE_ZERO)
    bias_clip: float = field(default=0.1, metadata=MAY_BE_ZERO)


@kernel
def correct(s: ClassicalMemory, p: MahonyParams, sample: Sample, taken: Intake) -> None:
    """Turn in proportion to the errors of both directions."""
    sight = look(s, p, sample, taken)
    span = sight.up_wait + p.field_weight * sight.north_wait
    if span == 0.0:
        return
    # Exact over the span, in which the error shrinks: a long span stays stable.
    size = gain(span, 1.0 / p.k_p) / span
    up, north = size * sight.up_wait, size * p.field_weight * sight.north_wait
    # A bias does not cause errors this large; after integrating one the bias would need minutes
    # to recover.
    error = math.sqrt(square(weighted(sight, 1.0, 1.0)))
    learning = p.k_i / p.k_p if error < MOST_ERROR else 0.0
    descend(s, sight, up, north, learning, p.bias_clip)
    tighten_both(s, p, sight, up, north)


class MahonyFilter(RecursiveFilter[MahonyParams]):
    """Orientation by a correction in proportion to the errors of gravity and magnetic field.

    With the unit vectors a and m of specific force and magnetic field in body axes, and
    R = R(q_world_from_body), the error is ``a x R'up + w m x R'(0, |h_xy|, h_z)``, h = R m.
    The orientation turns at ``angular velocity - bias + k_p error``, the bias at ``-k_i
    error``. The correction is integrated exactly over the time that a measurement
    represents, so it is stable for every step.

    Start, unusable vectors, gaps and clocks are handled as in
    :class:`~strapdown.estimation.ComplementaryFilter`: the samples of the first second set
    the orientation, then the law above applies.

    Parameters
    ----------
    params : MahonyParams, optional

    References
    ----------
    R. Mahony, T. Hamel, J.-M. Pflimlin, "Nonlinear complementary filters on the special
    orthogonal group", IEEE Transactions on Automatic Control 53(5), 2008.

    Examples
    --------
    >>> from strapdown.estimation import MahonyFilter
    >>> from strapdown.samples import ImuSample
    >>> orientation = MahonyFilter()
    >>> orientation.update(ImuSample(0, (0.0, 0.0, 0.0), (0.0, 0.0, 9.81))).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """

    NAME = "mahony"
    DEFAULTS = MahonyParams()
    MEMORY = ClassicalMemory
    STEP = bind(classical_step, correct=correct)
