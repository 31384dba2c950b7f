"""Detection of stuck sensors: repeated values, and missing noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import bind, inlined_kernel, kernel
from strapdown._kernels.records import Record
from strapdown.detection.clipping import ACCEL_FLOOR, AXES, FAR, GYRO_FLOOR, SHARE, STEEP, AxesEvent
from strapdown.detection.detector import Detector, DetectorParams
from strapdown.detection.intake import (
    DetectorMemory,
    close_stretch,
    complete,
    seconds,
    take_in_order,
)

if TYPE_CHECKING:
    from strapdown._kernels.records import Vector
    from strapdown.detection.intake import Settings, Taken
    from strapdown.samples.sample import Sample

__all__ = ["StuckDetector", "StuckParams"]


@dataclass(frozen=True)
class StuckParams(DetectorParams):
    """Parameters of the detector.

    Parameters
    ----------
    triplet_chance, axis_chance : float
        A run of equal triplets, or of equal values of one axis, is stuck if its probability is
        below this.
    latest_s : float
        Equal triplets for this time are always stuck.
    gyro_sigma_rad_s, accel_sigma_m_s2 : float, optional
        Noise of one sample. If declared, an axis with less than a tenth of this variance for
        ``quiet_s`` is stuck, too.
    quiet_s : float
        Time of too little noise after which an axis is stuck.
    noise_free : bool
        Whether the sensor is simulated without noise, so that values may repeat.

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
    noise_free: bool = False


LEAST_RUN: Final = 8.0
KEEP: Final = 1.0 - 1e-3  # counts of equal neighbours fade over 1000 samples
PRIOR_SAME: Final = 5.0  # prior: one neighbour in two is equal
PRIOR_SEEN: Final = 10.0
LEAST_SAME: Final = 0.01
LEAST_SAME_QUIET: Final = 0.9  # where values change by single codes
QUIET_SHARE: Final = 0.1  # of the variance of the noise

LOW_NOISE: Final = 64  # after the bits of the six axes: gyro 64, accelerometer 128
OPEN: Final = 256


class Run(Record):
    """Run of equal values, of an axis or of a triplet, and counts of equal neighbours."""

    length: float = 0.0  # values in the run
    since_ns: int = 0  # the first of them
    same: float = 0.0  # equal neighbours before it, and all neighbours; both fade
    seen: float = 0.0


class Axis(Record):
    """An axis of a sensor."""

    last: float = 0.0  # the sample before
    finest: float = FAR  # smallest step seen, other than 0
    arrival: float = 0.0  # the last step that was not 0
    farthest: float = 0.0  # largest absolute value
    mean: float = 0.0  # over the last second, and
    variance: float = 0.0  # variance about it
    quiet: bool = False  # it has too little noise, since
    quiet_ns: int = 0
    run: Run = Run()


class Sensor(Record):
    """A gyro or an accelerometer."""

    primed: bool = False  # there is a previous sample
    axes: list[Axis] = [Axis()] * 3
    triplet: Run = Run()
    bits: int = 0  # axes that are stuck at the last sample
    low_noise: bool = False  # an axis has too little noise
    longest: int = 0  # run of a stretch


class StuckMemory(DetectorMemory):
    """Both sensors, and the stretch in which something is stuck."""

    gyro: Sensor = Sensor()
    accel: Sensor = Sensor()
    now: int = 0  # bits of what is stuck, as in the flags
    active: bool = False  # in a stretch
    first_ns: int = 0  # of the stretch; its last sample that is stuck
    last_ns: int = 0
    certain_ns: int = 0
    bits: int = 0


@kernel
def forget(s: StuckMemory, _t_ns: int) -> None:
    """Discard the previous samples."""
    s.gyro.primed = s.gyro.low_noise = s.accel.primed = s.accel.low_noise = False
    s.gyro.bits = s.accel.bits = 0


@inlined_kernel
def proceed(s: StuckMemory, p: Settings, sample: Sample, taken: Taken, event: AxesEvent) -> bool:
    """Process a sample; a stretch is complete when nothing is stuck any more."""
    t_ns, dt, clipped = sample.t_ns, min(taken.dt, 1.0), sample.clipping
    if taken.has_rate:
        sigma = p.gyro_sigma_rad_s
        look(s.gyro, p, sigma, GYRO_FLOOR, t_ns, dt, clipped & 7, sample.angular_velocity)
    if taken.has_force:
        sigma = p.accel_sigma_m_s2
        look(s.accel, p, sigma, ACCEL_FLOOR, t_ns, dt, clipped >> 3, sample.specific_force)
    s.now = s.gyro.bits | s.accel.bits << 3
    s.now |= LOW_NOISE * s.gyro.low_noise | 2 * LOW_NOISE * s.accel.low_noise
    if s.now:
        extend(s, t_ns)
        return False
    return s.active and finish(s, event, False)


@kernel
def look(
    sensor: Sensor,
    p: Settings,
    sigma: float,
    floor: float,
    t_ns: int,
    dt: float,
    clipped: int,
    values: Vector,
) -> None:
    """Determine the stuck axes of a sensor."""
    primed, before = sensor.primed, sensor.bits
    sensor.primed = True
    bits, low_noise, all_same, steep = 0, False, primed, False
    for k in range(3):
        axis, value = sensor.axes[k], values[k]
        change = value - axis.last if primed else 1.0
        same = primed and change == 0.0
        all_same = all_same and same
        if primed and not same:
            axis.arrival = abs(change)
            axis.finest = min(axis.finest, abs(change))
        axis.last = value
        axis.farthest = max(axis.farthest, abs(value))
        at_end = abs(value) >= floor and abs(value) >= SHARE * axis.farthest
        axis_steep = axis.arrival > STEEP * axis.finest
        steep = steep or axis_steep
        follow(axis.run, t_ns, primed, same, before >> k & 1 != 0)
        saturated = clipped >> k & 1 != 0 or at_end
        if not saturated and is_unlikely(axis.run, axis_steep, p.axis_chance):
            bits |= 1 << k
        if is_quiet(axis, sigma, p.quiet_s, t_ns, dt, primed, value):
            low_noise = True
    run = sensor.triplet
    follow(run, t_ns, primed, all_same, before & 1 != 0)
    lasting = run.length >= LEAST_RUN and seconds(t_ns, run.since_ns) >= p.latest_s
    if lasting or is_unlikely(run, steep, p.triplet_chance):
        bits = 7
    sensor.bits = 0 if p.noise_free else bits
    sensor.low_noise = low_noise


@kernel
def follow(run: Run, t_ns: int, primed: bool, same: bool, was_stuck: bool) -> None:
    """Lengthen a run, or count it and begin another."""
    if same:
        run.length += 1.0
        return
    length = run.length
    if primed and length > 0.0 and not was_stuck:  # a stuck run is no evidence of chance
        keep = KEEP if length == 1.0 else KEEP**length
        run.same = run.same * keep + (length - 1.0)
        run.seen = run.seen * keep + length
    run.length = 1.0
    run.since_ns = t_ns


@kernel
def is_unlikely(run: Run, steep: bool, chance: float) -> bool:
    """Return whether a run is longer than chance explains."""
    if run.length < LEAST_RUN:
        return False
    same = (run.same + PRIOR_SAME) / (run.seen + PRIOR_SEEN)
    same = max(same, LEAST_SAME if steep else LEAST_SAME_QUIET)
    return bool(same ** (run.length - 1.0) < chance)


@kernel
def is_quiet(
    axis: Axis, sigma: float, quiet_s: float, t_ns: int, dt: float, primed: bool, value: float
) -> bool:
    """Return whether an axis has had too little noise for too long."""
    if math.isnan(sigma):
        return False
    if not primed:
        axis.mean = value
        axis.variance = sigma * sigma
    off = value - axis.mean
    axis.mean += dt * off
    axis.variance += dt * (off * off - axis.variance)
    if axis.variance >= QUIET_SHARE * sigma * sigma:
        axis.quiet = False
        return False
    if not axis.quiet:
        axis.quiet = True
        axis.quiet_ns = t_ns
    return seconds(t_ns, axis.quiet_ns) >= quiet_s


@kernel
def extend(s: StuckMemory, t_ns: int) -> None:
    """Begin a stretch, or add a sample to it."""
    if not s.active:
        s.active = True
        s.certain_ns = t_ns
        s.first_ns = min(first_of(s.gyro, t_ns), first_of(s.accel, t_ns))
        s.bits = s.gyro.longest = s.accel.longest = 0
    s.last_ns = t_ns
    s.bits |= s.now
    lengthen(s.gyro)
    lengthen(s.accel)


@kernel
def first_of(sensor: Sensor, t_ns: int) -> int:
    """Return the stamp of the first of the equal samples, or of those without noise."""
    first = t_ns
    for k in range(3):
        axis = sensor.axes[k]
        if sensor.bits >> k & 1:
            first = min(first, run_of(sensor, axis).since_ns)
        if sensor.low_noise and axis.quiet:
            first = min(first, axis.quiet_ns)
    return first


@kernel
def lengthen(sensor: Sensor) -> None:
    """Update the longest run of a stretch."""
    for k in range(3):
        if sensor.bits >> k & 1:
            sensor.longest = max(sensor.longest, int(run_of(sensor, sensor.axes[k]).length))


@kernel
def run_of(sensor: Sensor, axis: Axis) -> Run:
    """Return the run of a stuck axis: that of the triplet, if all axes are stuck."""
    return sensor.triplet if sensor.bits == 7 else axis.run


@kernel
def finish(s: StuckMemory, event: AxesEvent, is_open: bool) -> bool:
    """Write the event of the stretch, and wait for the next stretch."""
    s.active = False
    event.gyro_samples = s.gyro.longest
    event.accel_samples = s.accel.longest
    return complete(event, s.first_ns, s.last_ns, s.certain_ns, 0, s.bits | OPEN * is_open)


close = bind(close_stretch, finish=finish)
step = bind(take_in_order, proceed=proceed, close=close, forget=forget)


class StuckDetector(Detector[StuckParams]):
    """Detect sensors, or single axes, that repeat one value.

    Values repeat by chance where the noise is not much larger than a code. The share of equal
    neighbours is measured over the last 1000 samples, at least 1 in 100; a run of at least 8
    equal values is stuck if its probability is below that of the parameters. Where values last
    changed by single codes (at most four times the finest step of the axis), as those of many
    sensors at rest, nine neighbours in ten may be equal. Stuck samples do not count as chance,
    and an axis at the end of its range is not stuck but clipped.

    Latency: 8 samples where values are finely resolved. Otherwise, and before there are counts,
    1 s or 260 samples, whichever is less, and 330 samples for a single axis. A sensor
    whose noise is below a third of a code may read the same for more than 1 s: raise
    ``latest_s``. Memory: 65 numbers.

    Events ``stuck`` begin with the first and end with the last of the equal samples; their flags
    ``gyro_x`` to ``accel_z`` name axes, ``gyro_low_noise`` and ``accel_low_noise`` mark
    an axis with too little noise, and ``open`` an event during which the data end. The values
    ``gyro_samples`` and ``accel_samples`` are the longest runs. An event is complete when values
    change again; :attr:`stuck` gives the present faults at any time.

    Parameters
    ----------
    params : StuckParams, optional
    compiled : bool, optional
        As in :class:`~strapdown.detection.Detector`.
    """

    NAME = "stuck"
    PARAMS = StuckParams
    FLAGS = (*AXES, "gyro_low_noise", "accel_low_noise", "open")
    MEMORY = StuckMemory
    EVENT = AxesEvent
    STEP = step
    CLOSE = close

    @property
    def stuck(self) -> frozenset[str]:
        """Faults at the last sample, by the names of the flags."""
        bits = int(self._number("now"))
        return frozenset(name for bit, name in enumerate(self.FLAGS) if bits >> bit & 1)
