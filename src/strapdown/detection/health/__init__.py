"""Health: whether a gyro and an accelerometer can be relied on, and why not."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from strapdown.detection._kernels import LAST_NS, STEPS
from strapdown.detection.detector import Detector, DetectorParams
from strapdown.detection.health import _kernels as kernels
from strapdown.detection.stuck import StuckParams
from strapdown.detection.timing import TimingParams
from strapdown.detection.timing._kernels import late_after
from strapdown.errors import ValueRangeError
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray, IntArray

__all__ = ["Health", "HealthDetector", "HealthParams", "HealthStatus"]

_SENSORS = ("gyro", "accel")
_REASONS = (
    "stuck", "low_noise", "clipping", "invalid", "missing", "late", "lost", "rate", "jitter",
    "disorder",
)  # fmt: skip


class HealthStatus(StrEnum):
    """Whether a sensor can be relied on."""

    OK = "ok"
    DEGRADED = "degraded"
    FAILED = "failed"


@dataclass(frozen=True)
class Health:
    """How a sensor is.

    Parameters
    ----------
    sensor : str
        ``gyro`` or ``accel``.
    status : HealthStatus
        Failed if it is stuck, missing or lost; degraded for any other reason.
    reasons : frozenset of str
        Of ``stuck``, ``low_noise``, ``clipping``, ``invalid`` (a value is missing, not finite or
        implausible), ``missing`` (none was usable for long), ``late``, ``lost``, ``rate``,
        ``jitter``, ``disorder`` (stamps repeat or go back).
    degraded_s, failed_s : float
        Time in that status since the beginning [s].
    """

    sensor: str
    status: HealthStatus
    reasons: frozenset[str]
    degraded_s: float = 0.0
    failed_s: float = 0.0

    def to_dict(self) -> dict[str, object]:
        """Return it as JSON holds it."""
        return asdict(self) | {"status": self.status.value, "reasons": sorted(self.reasons)}


@dataclass(frozen=True)
class HealthParams(DetectorParams):
    """What can be set.

    Parameters
    ----------
    hysteresis_s : float
        A reason stays for so long after it has gone.
    missing_s : float
        A sensor without a usable value for so long is missing.
    stuck : StuckParams
    timing : TimingParams

    Raises
    ------
    ValueRangeError
        A time is not finite and positive.
    """

    hysteresis_s: float = 1.0
    missing_s: float = 1.0
    stuck: StuckParams = field(default_factory=StuckParams)
    timing: TimingParams = field(default_factory=TimingParams)

    def __post_init__(self) -> None:
        times = (self.hysteresis_s, self.missing_s)
        if not all(0.0 < time < float("inf") for time in times):
            raise ValueRangeError(f"expected times above 0 of HealthParams, got {times}")

    def settings(self) -> tuple[float, ...]:
        """Return the numbers as the kernels take them."""
        return (
            self.hysteresis_s, self.missing_s, *self.stuck.settings(), *self.timing.settings()
        )  # fmt: skip


class HealthDetector(Detector[HealthParams]):
    """Say how the gyro and the accelerometer are, from what is known of single faults.

    It watches for what :class:`~strapdown.detection.StuckDetector` and
    :class:`~strapdown.detection.TimingDetector` find, for clipping that the samples bring along,
    and for values that are missing. Ask :meth:`health` at any time.

    Latency: that of the detectors; a reason stays for 1 s. Memory: 160 numbers.

    Events are stretches in which a sensor is not well, of the kind ``degraded`` or ``failed``:
    the worst status. Their flags are the reasons, such as ``accel_stuck``; ``open`` says that the
    data ended in it.

    Parameters
    ----------
    params : HealthParams, optional
    compiled : bool, optional
        False steps in plain Python, more slowly and to the same results.
    """

    NAME = "health"
    PARAMS = HealthParams
    KINDS = ("degraded", "failed")
    VALUES = ()
    FLAGS = (*(f"{sensor}_{reason}" for sensor in _SENSORS for reason in _REASONS), "open")
    KERNELS: ClassVar = kernels

    # Its kernels hand parts of the arrays on, which lists would copy.
    def _as_vector(self, values: Sequence[float] | FloatArray) -> FloatArray:
        return np.array(values, np.float64)

    def _as_whole(self, values: Sequence[int] | IntArray) -> IntArray:
        return np.array(values, np.int64)

    def health(self, now_ns: int | None = None) -> dict[str, Health]:
        """Return how the sensors are.

        Parameters
        ----------
        now_ns : int, optional
            The time now, on the clock of the stamps [ns]: a sample that does not come makes
            sensors late or lost. By default the time of the last sample.
        """
        return {
            sensor: self._health(i, kernels.REASON, now_ns) for i, sensor in enumerate(_SENSORS)
        }

    @property
    def summary(self) -> dict[str, Health]:
        """The worst status of each sensor since the beginning, with all reasons."""
        return {sensor: self._health(i, kernels.ALL, None) for i, sensor in enumerate(_SENSORS)}

    def _health(self, sensor: int, which: int, now_ns: int | None) -> Health:
        at = kernels.SENSORS + sensor * kernels.SENSOR_SIZE
        bits = int(self._account[at + which])
        if now_ns is not None and self._state[STEPS] >= 0.0:
            silence = (now_ns - int(self._account[LAST_NS])) / NS_PER_S
            clock = self._as_vector(self._state)[kernels.TIMING_STATE :]
            late = late_after(clock, np.array(self.params.timing.settings()))
            bits |= kernels.IS_LATE if silence > late else 0
            bits |= kernels.IS_LOST if silence > max(late, self.params.timing.lost_s) else 0
        status = HealthStatus.OK
        if bits:
            status = HealthStatus.FAILED if bits & kernels.FAILS else HealthStatus.DEGRADED
        return Health(
            _SENSORS[sensor],
            status,
            frozenset(name for bit, name in enumerate(_REASONS) if bits >> bit & 1),
            int(self._account[at + kernels.DEGRADED_NS]) / NS_PER_S,
            int(self._account[at + kernels.FAILED_NS]) / NS_PER_S,
        )
