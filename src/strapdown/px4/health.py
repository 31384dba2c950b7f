"""Health of an IMU: vibration and clipping over the windows of a log."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._html import FieldsAsHtml
from strapdown.errors import ShapeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from strapdown._typing import BoolArray, ByteArray, IntArray

__all__ = [
    "MEAN_CRITICAL",
    "MEAN_WARNING",
    "PEAK_CRITICAL",
    "PEAK_WARNING",
    "ClippingReport",
    "Level",
    "VibrationReport",
    "clipping_report",
    "vibration_report",
]

MEAN_WARNING: Final = 4.905
"""Mean vibration metric of an accelerometer from which a log needs inspection [m/s^2]."""
MEAN_CRITICAL: Final = 9.81
"""Mean metric from which a vehicle should not fly [m/s^2]."""
PEAK_WARNING: Final = 9.81
"""Peak of the metric that needs inspection, regardless of the mean [m/s^2]."""
PEAK_CRITICAL: Final = 19.62
"""Peak of the metric that is critical, regardless of the mean [m/s^2]."""


class Level(StrEnum):
    """Severity of a vibration metric for a vehicle."""

    GOOD = "good"
    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True)
class VibrationReport(FieldsAsHtml):
    """The vibration metric of one sensor over a log.

    Parameters
    ----------
    windows : int
        Number of values.
    mean, p50, p95, p99, peak : float
        Statistics of the metric, in its unit (m/s^2 for an accelerometer, rad/s for a
        gyroscope); NaN without values. The percentiles show short events that a mean hides.
    peak_t_ns : int
        Time of the peak [ns]; 0 without values.
    """

    windows: int
    mean: float
    p50: float
    p95: float
    p99: float
    peak: float
    peak_t_ns: int

    @property
    def level(self) -> Level:
        """Severity for an accelerometer: the worse of the mean and the peak.

        The limits of the mean are those of PX4's Flight Review; a mean below them can hide peaks
        that make an estimator fail, so the peak has limits of twice these values.
        """
        if self.mean >= MEAN_CRITICAL or self.peak >= PEAK_CRITICAL:
            return Level.CRITICAL
        if self.mean >= MEAN_WARNING or self.peak >= PEAK_WARNING:
            return Level.WARNING
        return Level.GOOD


@dataclass(frozen=True)
class ClippingReport(FieldsAsHtml):
    """Saturation of a sensor.

    Parameters
    ----------
    windows : int
        Number of windows, or samples.
    clipped : int
        Those with any axis saturated.
    by_axis : tuple of 3 int
        Those with x, y and z saturated.
    longest_run : int
        Largest number of consecutive ones.
    """

    windows: int
    clipped: int
    by_axis: tuple[int, int, int]
    longest_run: int

    @property
    def share(self) -> float:
        """Share of the windows with any axis saturated; 0 without windows."""
        return self.clipped / self.windows if self.windows else 0.0


def vibration_report(t_ns: IntArray, metric: ArrayLike) -> VibrationReport:
    """Summarise a vibration metric.

    Parameters
    ----------
    t_ns : (N,) int64
        Time of each value [ns].
    metric : (N,)
        PX4's vibration metric of each window, from ``vehicle_imu_status`` or
        :func:`~strapdown.px4.vehicle_imu_vibration`; NaN values are left out.

    Returns
    -------
    VibrationReport

    Raises
    ------
    ShapeError
        The numbers of values and stamps differ.
    """
    values = np.asarray(metric, np.float64)
    if values.shape != t_ns.shape:
        raise ShapeError(f"expected {t_ns.shape} values of the metric, got {values.shape}")
    known = np.isfinite(values)
    values, stamps = values[known], t_ns[known]
    if not values.size:
        return VibrationReport(0, np.nan, np.nan, np.nan, np.nan, np.nan, 0)
    p50, p95, p99 = np.percentile(values, (50, 95, 99)).tolist()
    worst = int(values.argmax())
    mean, peak = float(values.mean()), float(values[worst])
    return VibrationReport(len(values), mean, p50, p95, p99, peak, int(stamps[worst]))


def clipping_report(bits: ByteArray) -> ClippingReport:
    """Count the windows with saturated axes.

    Parameters
    ----------
    bits : (N,) uint8
        Saturated axes of each window: X=1, Y=2, Z=4.

    Returns
    -------
    ClippingReport
    """
    clipped = bits != 0
    x, y, z = (int(np.count_nonzero(bits & axis)) for axis in (1, 2, 4))
    return ClippingReport(len(bits), int(clipped.sum()), (x, y, z), _longest_run(clipped))


def _longest_run(flags: BoolArray) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return int((edges[1::2] - edges[::2]).max(initial=0))
