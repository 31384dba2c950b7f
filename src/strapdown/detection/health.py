"""Health of a gyro and an accelerometer: status and reasons."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import bind, kernel
from strapdown._kernels.records import Record
from strapdown.detection.clipping import AxesEvent
from strapdown.detection.detector import Detector, DetectorParams
from strapdown.detection.intake import (
    DetectorCounts,
    DetectorEvent,
    DetectorMemory,
    close_stretch,
    complete,
    seconds,
    take,
)
from strapdown.detection.stuck import Sensor, StuckMemory, StuckParams
from strapdown.detection.stuck import step as step_stuck
from strapdown.detection.timing import TimingEvent, TimingMemory, TimingParams, silent_faults
from strapdown.detection.timing import step as step_timing
from strapdown.samples.clock import START, STEP
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown.detection.intake import Settings
    from strapdown.samples.sample import Sample

__all__ = ["Health", "HealthDetector", "HealthParams", "HealthStatus"]

_SENSORS = ("gyro", "accel")
_OF_VALUES = ("stuck", "low_noise", "clipping", "invalid", "missing")
_OF_CLOCK = ("late", "lost", "rate", "jitter", "disorder")
_REASONS = (*_OF_VALUES, *_OF_CLOCK)


class HealthStatus(StrEnum):
    """Status of a sensor."""

    OK = "ok"
    DEGRADED = "degraded"
    FAILED = "failed"


@dataclass(frozen=True)
class Health:
    """Health of a sensor.

    Parameters
    ----------
    sensor : str
        ``gyro`` or ``accel``.
    status : HealthStatus
        Failed if it is stuck, missing or lost; degraded for any other reason.
    reasons : frozenset of str
        Any of ``stuck``, ``low_noise``, ``clipping``, ``invalid`` (a value is missing, not finite
        or implausible), ``missing`` (no usable value for long), ``late``, ``lost``, ``rate``,
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
        """Return the fields in types of JSON."""
        return asdict(self) | {"status": self.status.value, "reasons": sorted(self.reasons)}


@dataclass(frozen=True)
class HealthParams(DetectorParams):
    """Parameters of the detector.

    Parameters
    ----------
    hysteresis_s : float
        Time for which a reason is kept after its last occurrence.
    missing_s : float
        A sensor without a usable value for this time is missing.
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


REASONS: Final = len(_REASONS)  # bits of a sensor, in their order:
STUCK, QUIET, CLIPPED, INVALID, MISSING, LATE, LOST = (1 << bit for bit in range(7))
DISORDER: Final = 512
OF_VALUES: Final = len(_OF_VALUES)
ORDERLY: Final = 15  # flags of timing in the order of reasons; those beyond are disorder
FAILS: Final = STUCK | MISSING | LOST
OPEN: Final = 1 << 2 * REASONS


class SensorHealth(Record):
    """Present and past health of a sensor."""

    reasons: int = 0  # present reasons
    all_reasons: int = 0  # reasons since the beginning
    valid_ns: int = 0  # last usable value
    degraded_ns: int = 0  # time in that status
    failed_ns: int = 0
    last_seen_ns: list[int] = [0] * OF_VALUES  # when each of these reasons held


class HealthMemory(DetectorMemory):
    """States of the fault detectors, of both sensors, and of the stretch with a fault."""

    stuck: StuckMemory = StuckMemory()
    stuck_counts: DetectorCounts = DetectorCounts()
    timing: TimingMemory = TimingMemory()
    timing_counts: DetectorCounts = DetectorCounts()
    gyro: SensorHealth = SensorHealth()
    accel: SensorHealth = SensorHealth()
    active: bool = False  # in a stretch
    first_ns: int = 0  # of the stretch; its last sample
    last_ill_ns: int = 0
    worst: int = 0  # 1 degraded, 2 failed
    seen: int = 0  # reasons of the stretch


class HealthEvent(DetectorEvent):
    """Stretch in which a sensor is degraded or failed."""

    stuck: AxesEvent = AxesEvent()  # rows of the fault detectors
    timing: TimingEvent = TimingEvent()


@kernel
def step(
    s: HealthMemory, counts: DetectorCounts, p: Settings, sample: Sample, event: HealthEvent
) -> bool:
    """Process a sample; a stretch is complete when both sensors are ok again."""
    step_stuck(s.stuck, s.stuck_counts, p.stuck, sample, event.stuck)
    step_timing(s.timing, s.timing_counts, p.timing, sample, event.timing)
    previous = counts.last_ns
    taken = take(s, counts, sample)
    now = counts.last_ns
    found = False
    if taken.event == START:
        found = close(s, p, event)
        forget(s.gyro, now)
        forget(s.accel, now)
    elapsed = now - previous if taken.event == STEP else 0
    clipped, clock = sample.clipping, clock_reasons(s.timing)
    faults = faults_of(s.stuck.gyro, clipped & 7)
    gyro = judge(s.gyro, p, now, elapsed, taken.has_rate, faults, clock)
    faults = faults_of(s.stuck.accel, clipped >> 3 & 7)
    accel = judge(s.accel, p, now, elapsed, taken.has_force, faults, clock)
    if gyro or accel:
        extend(s, now, gyro, accel)
    elif s.active:
        found = finish(s, event, False)
    return found


@kernel
def forget(sensor: SensorHealth, now: int) -> None:
    """Reset the reasons of a sensor."""
    sensor.valid_ns = now
    sensor.reasons = 0


@kernel
def faults_of(stuck: Sensor, clipped: int) -> int:
    """Return the faults of the values of a sensor as bits."""
    faults = STUCK if stuck.bits else 0
    faults |= QUIET if stuck.low_noise else 0
    return faults | (CLIPPED if clipped else 0)


@kernel
def clock_reasons(timing: TimingMemory) -> int:
    """Return the faults of the clock as bits, as long as its stretch of faults lasts."""
    if not timing.active:
        return 0
    reasons = (timing.faults & ORDERLY) << OF_VALUES
    return reasons | (DISORDER if timing.faults > ORDERLY else 0)


@kernel
def judge(
    sensor: SensorHealth, p: Settings, now: int, elapsed: int, valid: bool, faults: int, clock: int
) -> int:
    """Return the reasons of a sensor; each is kept for ``hysteresis_s`` after it ends."""
    before = sensor.reasons
    if before & FAILS:
        sensor.failed_ns += elapsed
    elif before:
        sensor.degraded_ns += elapsed
    if valid:
        sensor.valid_ns = now
    else:
        faults |= INVALID
        if seconds(now, sensor.valid_ns) >= p.missing_s:
            faults |= MISSING
    for bit in range(OF_VALUES if before or faults else 0):
        if faults >> bit & 1:
            sensor.last_seen_ns[bit] = now
        elif before >> bit & 1:
            gone = seconds(now, sensor.last_seen_ns[bit])
            faults |= 1 << bit if gone < p.hysteresis_s else 0
    sensor.reasons = faults | clock
    sensor.all_reasons |= sensor.reasons
    return sensor.reasons


@kernel
def extend(s: HealthMemory, now: int, gyro: int, accel: int) -> None:
    """Begin a stretch, or add a sample to it."""
    if not s.active:
        s.active = True
        s.first_ns = now
        s.worst = s.seen = 0
    s.last_ill_ns = now
    s.worst = max(s.worst, 2 if (gyro | accel) & FAILS else 1)
    s.seen |= gyro | accel << REASONS


@kernel
def finish(s: HealthMemory, event: HealthEvent, is_open: bool) -> bool:
    """Write the event of the stretch, and wait for the next stretch."""
    s.active = False
    return complete(
        event, s.first_ns, s.last_ill_ns, s.first_ns, s.worst - 1, s.seen | OPEN * is_open
    )


close = bind(close_stretch, finish=finish)


class HealthDetector(Detector[HealthParams]):
    """Determine the health of the gyro and the accelerometer from single faults.

    It combines :class:`~strapdown.detection.StuckDetector`,
    :class:`~strapdown.detection.TimingDetector`, clipping bits of samples, and missing values.
    :meth:`health` returns the present health at any time.

    Latency: that of the detectors; a reason is kept for 1 s. Memory: 160 numbers.

    Events are stretches in which a sensor is degraded or failed; their kind, ``degraded`` or
    ``failed``, is the worst status. Their flags are the reasons, such as ``accel_stuck``; with
    ``open`` the data end during it.

    Parameters
    ----------
    params : HealthParams, optional
    compiled : bool, optional
        As in :class:`~strapdown.detection.Detector`.
    """

    NAME = "health"
    PARAMS = HealthParams
    KINDS = ("degraded", "failed")
    FLAGS = (*(f"{sensor}_{reason}" for sensor in _SENSORS for reason in _REASONS), "open")
    MEMORY = HealthMemory
    EVENT = HealthEvent
    STEP = step
    CLOSE = close

    def health(self, now_ns: int | None = None) -> dict[str, Health]:
        """Return the health of both sensors.

        Parameters
        ----------
        now_ns : int, optional
            Present time on the clock of the stamps [ns]: without new samples the sensors become
            late or lost. By default the time of the last sample.
        """
        with self._execution.lock:
            s, last_ns = self._memory, self._counts.last_ns
        silent = 0
        if now_ns is not None and s.clock.steps >= 0.0:
            silence = (now_ns - last_ns) / NS_PER_S
            silent = silent_faults(s.timing, self.params.timing.settings(), silence) << OF_VALUES
        return {n: _health(n, getattr(s, n), getattr(s, n).reasons | silent) for n in _SENSORS}

    @property
    def summary(self) -> dict[str, Health]:
        """Worst status of each sensor since the last reset, with all reasons."""
        s = self._memory
        return {n: _health(n, getattr(s, n), getattr(s, n).all_reasons) for n in _SENSORS}


def _health(name: str, sensor: SensorHealth, bits: int) -> Health:
    """Return the health of a sensor for given reasons."""
    status = HealthStatus.OK
    if bits:
        status = HealthStatus.FAILED if bits & FAILS else HealthStatus.DEGRADED
    return Health(
        name,
        status,
        frozenset(reason for bit, reason in enumerate(_REASONS) if bits >> bit & 1),
        sensor.degraded_ns / NS_PER_S,
        sensor.failed_ns / NS_PER_S,
    )
