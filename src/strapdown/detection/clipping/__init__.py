"""Clipping: samples at the end of a sensor's range."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from strapdown.detection.clipping import _kernels as kernels
from strapdown.detection.detector import Detector, DetectorParams
from strapdown.px4.health import ClippingReport

if TYPE_CHECKING:
    from strapdown._typing import ByteArray, FloatArray
    from strapdown.series import ImuSeries

__all__ = ["ClippingDetector", "ClippingParams", "clipping_bits"]


@dataclass(frozen=True)
class ClippingParams(DetectorParams):
    """What can be set.

    Parameters
    ----------
    gyro_range_rad_s, accel_range_m_s2 : float, optional
        Ends of the ranges: 99.9 % of it and more is clipped. None, the default, learns them from
        the values; infinite looks at no value, only at clipping that the samples bring along.
    merge_s : float
        What follows sooner is the same stretch; the latency.

    Raises
    ------
    ValueRangeError
        A value is not positive, or not a number.
    """

    gyro_range_rad_s: float | None = field(default=None, metadata={"infinite": True})
    accel_range_m_s2: float | None = field(default=None, metadata={"infinite": True})
    merge_s: float = 0.1


class ClippingDetector(Detector[ClippingParams]):
    """Find stretches in which a sensor is saturated, and count their samples.

    Clipping that the samples bring along (``gyro_clipping``, ``accel_clipping``: PX4's, a
    driver's, a simulator's) counts in any case. Without a declared range the end of an axis is
    learnt, for each of its sides: the extreme so far, three times in a row, reached by a step of
    more than four times the finest step of the axis. It has to be above 18 m/s^2 or 1.2 rad/s,
    since no sensor on the market has a smaller range, and a larger value disproves it. What came
    before the third of these samples is not counted; :func:`clipping_bits` looks back.
    Values that were calibrated across axes do not stay on one code when they clip: declare the
    range, or detect before.

    Latency: none to certainty (``t_decided_ns``), ``merge_s`` (100 ms) to the event.

    Events ``clipping`` begin and end with a clipped sample; their values ``gyro_samples`` and
    ``accel_samples`` count clipped samples, and the flags ``gyro_x`` to ``accel_z`` name axes;
    ``open`` says that the data ended in it.

    Parameters
    ----------
    params : ClippingParams, optional
    compiled : bool, optional
        False steps in plain Python, more slowly and to the same results.
    """

    NAME = "clipping"
    PARAMS = ClippingParams
    KINDS = ("clipping",)
    VALUES = ("gyro_samples", "accel_samples")
    FLAGS = (*(f"{sensor}_{axis}" for sensor in ("gyro", "accel") for axis in "xyz"), "open")
    KERNELS: ClassVar = kernels

    @property
    def gyro(self) -> ClippingReport:
        """How often the gyro was saturated, in usable samples."""
        return self._tally(0)

    @property
    def accel(self) -> ClippingReport:
        """How often the accelerometer was saturated, in usable samples."""
        return self._tally(1)

    def _tally(self, sensor: int) -> ClippingReport:
        at = kernels.TALLY + sensor * kernels.TALLY_SIZE
        seen, cut, x, y, z, longest = (int(n) for n in self._account[at : at + kernels.NOW])
        return ClippingReport(seen, cut, (x, y, z), longest)

    @property
    def limits(self) -> FloatArray:
        """Ends of the ranges, (2 sensors, 3 axes, 2 sides): declared or learnt, else infinite."""
        channels = np.array(self._state[kernels.CHANNELS : kernels.ACTIVE])
        learnt = channels.reshape(2, 3, 2, kernels.CHANNEL_SIZE)[..., kernels.LIMIT]
        limits = np.where(learnt > 0.0, learnt, math.inf)
        for sensor, declared in enumerate(self.params.settings()[:2]):
            if not math.isnan(declared):
                limits[sensor] = declared
        return limits


def clipping_bits(
    series: ImuSeries, params: ClippingParams | None = None
) -> tuple[ByteArray, ByteArray]:
    """Return which axes are clipped at each sample, with ranges learnt from the whole series.

    Parameters
    ----------
    series : ImuSeries
        Clipping bits that it has are kept.
    params : ClippingParams, optional

    Returns
    -------
    gyro, accel : (N,) uint8
        Bits X=1, Y=2, Z=4, in the body axes of the series; ``series.replace(gyro_clipping=gyro,
        accel_clipping=accel)`` carries them to filters, and
        :func:`~strapdown.px4.health.clipping_report` counts them.
    """
    detector = ClippingDetector(params)
    named = series.replace(body="FLU")  # sides and axes of the series, whatever they are called
    detector.run(named)
    found = []
    for values, known, limits in (
        (series.angular_velocity, series.gyro_clipping, detector.limits[0]),
        (series.specific_force, series.accel_clipping, detector.limits[1]),
    ):
        ends = kernels.SHARE * limits
        at_end = (values >= ends[:, 0]) | (-values >= ends[:, 1])
        bits = np.asarray((at_end * np.array([1, 2, 4])).sum(axis=1), np.uint8)
        found.append(bits if known is None else bits | known)
    return found[0], found[1]
