"""Stuck sensors: values that repeat, and noise that is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from strapdown.detection.detector import Detector, DetectorParams
from strapdown.detection.stuck import _kernels as kernels

__all__ = ["StuckDetector", "StuckParams"]


@dataclass(frozen=True)
class StuckParams(DetectorParams):
    """What can be set.

    Parameters
    ----------
    triplet_chance, axis_chance : float
        A run of equal triplets, or of equal values of one axis, is stuck when it is less likely
        than this.
    latest_s : float
        Equal triplets for so long are stuck in any case.
    gyro_sigma_rad_s, accel_sigma_m_s2 : float, optional
        Noise of one sample. Declared, an axis with less than a tenth of its variance is stuck
        too.
    quiet_s : float
        After having had so little noise for so long.
    noise_free : bool
        The sensor is simulated without noise: values may repeat.

    Raises
    ------
    ValueRangeError
        A value is not finite and positive.
    """

    triplet_chance: float = 1e-12
    axis_chance: float = 1e-15
    latest_s: float = 1.0
    gyro_sigma_rad_s: float | None = None
    accel_sigma_m_s2: float | None = None
    quiet_s: float = 10.0
    noise_free: bool = field(default=False, metadata={"zero": True})


class StuckDetector(Detector[StuckParams]):
    """Find sensors, or single axes, that repeat one value.

    Values repeat by chance where noise is not much larger than a code. How often neighbours are
    equal is counted over the last 1000 samples, at least 1 in 100; a run of at least 8 equal
    values is stuck when it is as unlikely as the parameters say. Where values last changed by
    single codes (four times the finest step of the axis, or less), as many sensors do once they
    come to rest, nine neighbours in ten may be equal. What is stuck is not counted as chance, and
    neither is an axis at the end of its range stuck: it is clipped.

    Latency: 8 samples where values are finely resolved. Where they are not, and before anything
    is known, 1 s or 260 samples, whichever is less, and 330 samples for a single axis. A sensor
    whose noise is below a third of a code may read the same for more than 1 s: raise
    ``latest_s``. Memory: 65 numbers.

    Events ``stuck`` begin with the first and end with the last of the equal samples; their flags
    ``gyro_x`` to ``accel_z`` name axes, ``gyro_low_noise`` and ``accel_low_noise`` say that an axis
    has lost its noise, and ``open`` that the data ended in it. The values ``gyro_samples`` and
    ``accel_samples`` are the longest runs. An event is complete when values change again; ask
    :attr:`stuck` at any time.

    Parameters
    ----------
    params : StuckParams, optional
    compiled : bool, optional
        False steps in plain Python, more slowly and to the same results.
    """

    NAME = "stuck"
    PARAMS = StuckParams
    KINDS = ("stuck",)
    VALUES = ("gyro_samples", "accel_samples")
    FLAGS = (
        *(f"{sensor}_{axis}" for sensor in ("gyro", "accel") for axis in "xyz"),
        "gyro_low_noise",
        "accel_low_noise",
        "open",
    )
    KERNELS: ClassVar = kernels

    @property
    def stuck(self) -> frozenset[str]:
        """What is stuck at the last sample, as the flags name it."""
        bits = int(self._account[kernels.NOW])
        return frozenset(name for bit, name in enumerate(self.FLAGS) if bits >> bit & 1)
