"""Free fall of devices."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from strapdown.detection.detector import Detector, DetectorParams
from strapdown.detection.free_fall import _kernels as kernels
from strapdown.messages.imu import Imu
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown.samples import ImuSample

__all__ = ["FreeFallDetector", "FreeFallParams", "is_freefall"]


@dataclass(frozen=True)
class FreeFallParams(DetectorParams):
    """What can be set.

    Parameters
    ----------
    threshold_m_s2 : float
        A device falls while its specific force is below this. Higher finds falls of devices
        that turn or meet air, and takes swings of a hand for falls.
    turning_threshold_m_s2, turning_rate_rad_s, turning_spread_m_s2 : float
        The threshold while it turns faster than so, without a lever arm: away from the centre
        of mass a turning device reads the centripetal acceleration. In free fall that stays the
        same, so each sample has to be within the spread of the mean of those before it.
    min_duration_s : float
        So long at least; the latency. A fall of 0.1 s is one of 5 cm.
    release_ratio : float
        A fall ends above so many thresholds.
    bridge_s : float
        Longest spike, below an impact, that does not end it.
    push_m_s2, push_window_s : float
        Above so much, so long before, a fall began by a throw.
    impact_m_s2, impact_window_s : float
        Above so much, so soon after, it ended by an impact.
    gravity_m_s2 : float
        From which the height is computed.
    lever_arm_m : tuple of 3 float, optional
        Place of the accelerometer from the centre of mass [FLU]. With it, and with a gyro, the
        centripetal acceleration is subtracted.

    Raises
    ------
    ValueRangeError
        A value is not finite and positive.
    """

    threshold_m_s2: float = 0.35 * STANDARD_GRAVITY
    turning_threshold_m_s2: float = 0.6 * STANDARD_GRAVITY
    turning_rate_rad_s: float = 5.0
    turning_spread_m_s2: float = 0.1 * STANDARD_GRAVITY
    min_duration_s: float = 0.1
    release_ratio: float = 1.5
    bridge_s: float = field(default=0.01, metadata={"zero": True})
    push_m_s2: float = 1.5 * STANDARD_GRAVITY
    push_window_s: float = 0.3
    impact_m_s2: float = 3.0 * STANDARD_GRAVITY
    impact_window_s: float = 0.1
    gravity_m_s2: float = STANDARD_GRAVITY
    lever_arm_m: tuple[float, float, float] | None = field(default=None, metadata={"signed": True})


class FreeFallDetector(Detector[FreeFallParams]):
    """Find when a device falls freely: its specific force is small for some time.

    Latency: ``min_duration_s`` (0.1 s) from its first sample to certainty, which is when
    :attr:`falling` becomes true and what ``t_decided_ns`` says. The event itself comes when the
    fall is over and the wait for its impact too (``impact_window_s``), with its height.

    Events ``free_fall`` begin and end with the first and last low sample.

    ====================  =====================================================================
    value                 meaning
    ====================  =====================================================================
    fall_time_s           time without support: the sampling intervals at both ends count half
    height_m              ``g t^2 / 2``: how far it fell from rest
    minimum_m_s2          smallest specific force (of the centre of mass with a lever arm)
    mean_m_s2             mean of the same: what air, bias and turning leave
    rotation_m_s2         mean centripetal acceleration at the lever arm, subtracted
    turn_rate_rad_s       mean turn rate
    impact_m_s2           largest specific force after it, where there was an impact
    ====================  =====================================================================

    ============  =============================================================================
    flag          meaning
    ============  =============================================================================
    thrown        a push came just before: ``height_m`` is no drop, only a bound of the flight
    impact        it ended by an impact: a drop
    clipped       the accelerometer was saturated then: the impact is at least so large
    gap           a hole in the data ended it
    open          the data ended in it
    ============  =============================================================================

    Parameters
    ----------
    params : FreeFallParams, optional
    compiled : bool, optional
        False steps in plain Python, more slowly and to the same results.

    Examples
    --------
    >>> from strapdown.samples import ImuSample
    >>> detector = FreeFallDetector()
    >>> for k in range(20):
    ...     event = detector.update(ImuSample(k * 10_000_000, None, (0.0, 0.0, 0.1)))
    >>> detector.falling, detector.finish().duration_s
    (True, 0.19)
    """

    NAME = "free_fall"
    PARAMS = FreeFallParams
    KINDS = ("free_fall",)
    VALUES = (
        "fall_time_s",
        "height_m",
        "minimum_m_s2",
        "mean_m_s2",
        "rotation_m_s2",
        "turn_rate_rad_s",
        "impact_m_s2",
    )
    FLAGS = ("thrown", "impact", "clipped", "gap", "open")
    KERNELS: ClassVar = kernels

    @property
    def falling(self) -> bool:
        """Whether it is certain that the device falls now."""
        return bool(self._state[kernels.PHASE] == kernels.FALLING)


def is_freefall(sample: ImuSample | Imu, threshold: float = 1.0) -> bool:
    """Tell whether one sample reads less than a threshold: near-zero gravity.

    Right for an ideal sensor in free flight, and nothing more: one noisy sample fulfils it, an
    accelerometer bias of 0.1 g prevents it, and people who fall hardly ever do.
    :class:`FreeFallDetector` and :class:`~strapdown.detection.FallDetector` do better.

    Parameters
    ----------
    sample : ImuSample or Imu
        A sample, or a message of horus.
    threshold : float, optional
        [m/s^2].

    Returns
    -------
    bool
        False without a usable specific force.
    """
    if isinstance(sample, Imu):
        x, y, z = sample.linear_acceleration
    else:
        _, (x, y, z), _ = sample.vectors()
    return math.sqrt(x * x + y * y + z * z) < threshold
