"""Parameters that all filters have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from strapdown.samples import SampleKind, as_kind
from strapdown.samples.params import MAY_BE_INFINITE, CheckedParams

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FilterParams"]


@dataclass(frozen=True)
class FilterParams(CheckedParams):
    """Parameters of the samples, common to all filters.

    Parameters
    ----------
    reset_after : float
        A longer gap restarts tilt and heading from the sensors [s]; a shorter one is bridged.
    sample_kind : SampleKind or {"point", "mean"}
        Meaning of an angular velocity: the value at its stamp (integrated by the trapezoid
        rule), or the mean since the stamp before.
    gyro_range, accel_range : float
        Range of the sensor on each axis [rad/s], [m/s^2]: a reading at the limit counts as
        clipped, even if the sample does not flag it. Infinite: not known.

    Raises
    ------
    ValueRangeError
        A value is not positive, or not finite where it must be.
    UnknownNameError
        The kind of sample is neither of the two.
    """

    reset_after: float = 10.0
    sample_kind: SampleKind = SampleKind.POINT
    gyro_range: float = field(default=math.inf, metadata=MAY_BE_INFINITE)
    accel_range: float = field(default=math.inf, metadata=MAY_BE_INFINITE)

    BESIDE: ClassVar[Mapping[str, float]] = {"mean_samples": False}

    def __post_init__(self) -> None:
        kind = as_kind(self.sample_kind, (SampleKind.POINT, SampleKind.MEAN))
        object.__setattr__(self, "sample_kind", kind)
        super().__post_init__()

    @property
    def mean_samples(self) -> bool:
        """Whether an angular velocity is the mean since the stamp before."""
        return self.sample_kind is SampleKind.MEAN
