"""Parameters of stillness detection, and kinds of its statistic."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar

from strapdown._checks import as_member
from strapdown.detection.detector import DetectorParams
from strapdown.errors import ValueRangeError
from strapdown.samples.params import MAY_BE_ZERO
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._kernels.records import Record

__all__ = ["StillnessKind", "StillnessParams"]


class StillnessKind(StrEnum):
    """Kind of statistic; see :class:`StillnessDetector`."""

    SHOE = "shoe"
    ARE = "are"
    MV = "mv"
    MAG = "mag"
    LOWPASS = "lowpass"
    VARIANCE = "variance"


@dataclass(frozen=True)
class StillnessParams(DetectorParams):
    """Parameters of stillness detection; the defaults are for a foot-mounted sensor.

    Parameters
    ----------
    window_s : float
        Length of the window. A longer one is more reliable, and later by half of it. It has at
        most 512 samples.
    accel_sigma_m_s2, gyro_sigma_rad_s : float
        Units of the statistic; with ``threshold=None`` the noise of one sample.
    gravity_m_s2 : float
        Reading of the accelerometer at rest.
    accel_bias_m_s2, gyro_bias_rad_s : float
        Largest bias: this much of the length of a mean is ignored. Needed for a gyro whose bias
        has not been subtracted.
    threshold : float, optional
        Threshold of the statistic; with a larger one more samples are still. None: from the
        chi-square law of white noise, for the number of samples in the window, and the
        ``false_alarm_rate``; not for ``lowpass``, which has no such law.
    leave_ratio : float
        Stillness ends above this multiple of the threshold.
    min_duration_s : float
        A shorter quiet phase is not still.
    false_alarm_rate : float
        Share of the windows of a still sensor above the threshold that the law gives. Used only
        with ``threshold=None``.
    tau_s : float
        Time constant of the low-pass of ``lowpass``.
    rate_deviation_rad_s, force_deviation_m_s2, rate_limit_rad_s : float
        Limits of ``lowpass``: deviation of the angular velocity and of the specific force from
        their low-passed values, and largest low-passed angular velocity. A constant rotation
        below the last limit cannot be distinguished from a gyro bias and counts as still.

    Raises
    ------
    ValueRangeError
        A value is not finite and positive, or the false-alarm rate is not below 1.
    """

    window_s: float = 0.025
    accel_sigma_m_s2: float = 0.01
    gyro_sigma_rad_s: float = 0.1 * RAD_PER_DEG
    gravity_m_s2: float = STANDARD_GRAVITY
    accel_bias_m_s2: float = field(default=0.0, metadata=MAY_BE_ZERO)
    gyro_bias_rad_s: float = field(default=0.0, metadata=MAY_BE_ZERO)
    threshold: float | None = 1e5
    leave_ratio: float = 2.0
    min_duration_s: float = field(default=0.0, metadata=MAY_BE_ZERO)
    tau_s: float = 0.5
    rate_deviation_rad_s: float = 2.0 * RAD_PER_DEG
    force_deviation_m_s2: float = 0.5
    rate_limit_rad_s: float = 3.0 * RAD_PER_DEG
    false_alarm_rate: float = 1e-3

    # number of the kind, and quantile of the normal distribution at the false-alarm rate
    BESIDE: ClassVar[Mapping[str, Any]] = {"kind": 0, "quantile": 0.0}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.false_alarm_rate < 1.0 <= self.leave_ratio:
            raise ValueRangeError(
                "expected false_alarm_rate below 1 and leave_ratio of at least 1, got "
                f"{self.false_alarm_rate} and {self.leave_ratio}"
            )

    def settings(self, **beside: object) -> Record:
        """Return the parameters as a record for kernels, with the ``kind`` of the statistic."""
        quantile = -NormalDist().inv_cdf(self.false_alarm_rate)
        return super().settings(quantile=quantile, **beside)

    @classmethod
    def of(cls, kind: StillnessKind | str) -> StillnessParams:
        """Return the defaults of a kind of statistic.

        Raises
        ------
        UnknownNameError
            There is no such kind.
        """
        kind = as_member(StillnessKind, kind, "kind of stillness")
        if kind is StillnessKind.LOWPASS:
            return cls(threshold=1.0, min_duration_s=1.0)
        if kind is StillnessKind.VARIANCE:
            return cls(window_s=1.0, accel_sigma_m_s2=0.02, threshold=4.0, min_duration_s=1.0)
        if kind in (StillnessKind.MV, StillnessKind.MAG):
            return cls(threshold=1e4)
        return cls()
