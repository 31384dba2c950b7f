"""Impacts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from strapdown.detection.detector import Detector, DetectorParams
from strapdown.detection.impact import _kernels as kernels
from strapdown.units import STANDARD_GRAVITY

__all__ = ["ImpactDetector", "ImpactParams"]


@dataclass(frozen=True)
class ImpactParams(DetectorParams):
    """What can be set.

    Parameters
    ----------
    threshold_m_s2 : float
        The norm of the specific force exceeds its low-passed value by more than this. An impact
        lasts from a quarter of it to a quarter of it.
    jerk_m_s3 : float
        Or the specific force changes faster than this; by default never.
    smoothing_s : float
        Time constant of the low-pass.
    merge_s : float
        What follows sooner is the same impact, so that ringing is one; the latency.
    longest_s : float
        An impact that lasts longer is cut, and another one may follow.

    Raises
    ------
    ValueRangeError
        A value is not positive, or not finite.
    """

    threshold_m_s2: float = 3.0 * STANDARD_GRAVITY
    jerk_m_s3: float = field(default=math.inf, metadata={"infinite": True})
    smoothing_s: float = 0.25
    merge_s: float = 0.05
    longest_s: float = 1.0


class ImpactDetector(Detector[ImpactParams]):
    """Find impacts, and measure peak, direction and change of velocity.

    Latency: none to certainty (``t_decided_ns``); the event comes ``merge_s`` (50 ms) after its
    last sample, at the latest ``longest_s`` after its first.

    Peaks depend on the bandwidth of the sensor, and at low rates are missed; the change of
    velocity is comparable.

    ============================  =============================================================
    value                         meaning
    ============================  =============================================================
    peak_m_s2                     norm of the specific force at the peak
    peak_{x,y,z}_m_s2             the same as a vector [FLU]
    excess_m_s2                   its norm over the low-passed norm
    peak_after_s                  time of the peak after the start
    direction_{x,y,z}             unit vector of the change of specific force at the peak [FLU]
    delta_velocity_{x,y,z}_m_s    integral of the specific force over its mean before [FLU]
    half_duration_s               time above half of the excess
    bandwidth_hz                  half of the sampling rate
    ============================  =============================================================

    ============  =============================================================================
    flag          meaning
    ============  =============================================================================
    clipped       the accelerometer was saturated: peak and change of velocity are at least so large
    gap           a hole in the data ended it
    cut           it was longer than ``longest_s``
    open          the data ended in it
    ============  =============================================================================

    Parameters
    ----------
    params : ImpactParams, optional
    compiled : bool, optional
        False steps in plain Python, more slowly and to the same results.
    """

    NAME = "impact"
    PARAMS = ImpactParams
    KINDS = ("impact",)
    VALUES = (
        "peak_m_s2",
        *(f"peak_{axis}_m_s2" for axis in "xyz"),
        "excess_m_s2",
        "peak_after_s",
        *(f"direction_{axis}" for axis in "xyz"),
        *(f"delta_velocity_{axis}_m_s" for axis in "xyz"),
        "half_duration_s",
        "bandwidth_hz",
    )
    FLAGS = ("clipped", "gap", "cut", "open")
    KERNELS: ClassVar = kernels
