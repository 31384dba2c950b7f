"""Clipping: samples at the end of a sensor's range."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._kernels.kernel import bind, inlined_kernel, kernel
from strapdown._kernels.records import Record
from strapdown.detection.detector import Detector, DetectorParams
from strapdown.detection.intake import (
    DetectorEvent,
    DetectorMemory,
    close_stretch,
    complete,
    seconds,
    take_in_order,
)
from strapdown.px4.health import ClippingReport
from strapdown.samples.params import MAY_BE_INFINITE

if TYPE_CHECKING:
    from strapdown._kernels.records import Vector
    from strapdown._typing import ByteArray, FloatArray
    from strapdown.detection.intake import Settings, Taken
    from strapdown.samples.sample import Sample
    from strapdown.series import ImuSeries

__all__ = ["ClippingDetector", "ClippingParams", "clipping_bits"]


@dataclass(frozen=True)
class ClippingParams(DetectorParams):
    """Parameters of the detector.

    Parameters
    ----------
    gyro_range_rad_s, accel_range_m_s2 : float, optional
        Ends of the ranges: values of 99.9 % and more are clipped. None, the default, learns them
        from the values; infinity ignores the values and uses only the clipping bits of samples.
    merge_s : float
        Clipping that follows sooner belongs to the same stretch; it is the latency.

    Raises
    ------
    ValueRangeError
        A value is not positive, or not a number.
    """

    gyro_range_rad_s: float | None = field(default=None, metadata=MAY_BE_INFINITE)
    accel_range_m_s2: float | None = field(default=None, metadata=MAY_BE_INFINITE)
    merge_s: float = 0.1


FAR: Final = 1e30
SHARE: Final = 0.999  # of the range: larger values are clipped
ENOUGH: Final = 3  # equal extremes in a row, ...
BY_CHANCE: Final = 1e-6  # ... and a run less likely than this by chance
SAME_MEMORY: Final = 200.0  # samples
LEAST_SAME: Final = 1e-3
MOST_SAME: Final = 0.5  # an axis without noise repeats its extremes: nothing to learn
STEEP: Final = 4.0  # finest steps in the step to the end; a smooth peak has smaller ones
GYRO_FLOOR: Final = 1.2  # rad/s, below the smallest range of gyros on the market (75 deg/s)
ACCEL_FLOOR: Final = 18.0  # m/s^2, likewise (2 g)

AXES: Final = tuple(f"{sensor}_{axis}" for sensor in ("gyro", "accel") for axis in "xyz")
OPEN: Final = 64  # after the bits of the six axes


class Side(Record):
    """One side of an axis."""

    extreme: float = 0.0
    run: int = 0  # consecutive samples at the extreme
    arrival: float = 0.0  # step to it
    limit: float = 0.0  # learnt end of the range; 0: not known


class Axis(Record):
    """An axis of a sensor."""

    last: float = 0.0  # the sample before
    finest: float = FAR  # smallest step seen, other than 0
    same: float = 0.1  # how often neighbours are equal, away from the extremes
    high: Side = Side()
    low: Side = Side()


class Sensor(Record):
    """A gyro or an accelerometer, with counts of saturated samples."""

    primed: bool = False  # there was a sample before
    axes: list[Axis] = [Axis()] * 3
    seen: int = 0  # samples
    clipped: int = 0
    by_axis: list[int] = [0] * 3
    run: int = 0  # consecutive clipped samples
    longest: int = 0


class ClippingMemory(DetectorMemory):
    """Both sensors, and the stretch of clipping."""

    gyro: Sensor = Sensor()
    accel: Sensor = Sensor()
    active: bool = False  # in a stretch
    first_ns: int = 0  # of the stretch; its last clipped sample
    last_ns: int = 0
    axes: int = 0  # bits, and its clipped samples
    gyro_samples: int = 0
    accel_samples: int = 0


class AxesEvent(DetectorEvent):
    """Stretch of faults on axes of the gyro or the accelerometer."""

    gyro_samples: float = math.nan
    accel_samples: float = math.nan


@kernel
def forget(s: ClippingMemory, _t_ns: int) -> None:
    """Discard the previous samples."""
    s.gyro.primed = s.accel.primed = False


@inlined_kernel
def proceed(s: ClippingMemory, p: Settings, sample: Sample, taken: Taken, event: AxesEvent) -> bool:
    """Process a sample; a stretch is complete after ``merge_s`` without clipping."""
    rates = forces = 0
    if taken.has_rate:
        rates = sample.clipping & 7
        rates = look(s.gyro, p.gyro_range_rad_s, GYRO_FLOOR, rates, sample.angular_velocity)
    if taken.has_force:
        forces = sample.clipping >> 3
        forces = look(s.accel, p.accel_range_m_s2, ACCEL_FLOOR, forces, sample.specific_force)
    if rates or forces:
        extend(s, sample.t_ns, rates, forces)
        return False
    over = s.active and seconds(sample.t_ns, s.last_ns) > p.merge_s
    return over and finish(s, event, False)


@kernel
def look(sensor: Sensor, limit: float, floor: float, known: int, values: Vector) -> int:
    """Return the clipped axes of a sensor as bits, and count them."""
    bits = known
    for k in range(3):
        axis, value = sensor.axes[k], values[k]
        if not sensor.primed:
            axis.last = value
        known_limit = not math.isnan(limit)
        if abs(value) >= SHARE * limit if known_limit else learn(axis, floor, value):
            bits |= 1 << k
        axis.last = value
    sensor.primed = True
    count(sensor, bits)
    return bits


@kernel
def learn(axis: Axis, floor: float, value: float) -> bool:
    """Return whether a value is at the end of a range that is learnt from the values.

    A saturated axis reaches its extreme by a step of any size and stays on one code; an
    unsaturated one reverses there in ever smaller steps, or leaves at once.
    """
    change = value - axis.last
    if change != 0.0:
        axis.finest = min(axis.finest, abs(change))
    high, low = axis.high, axis.low
    if -SHARE * low.extreme < value < SHARE * high.extreme:
        high.run = low.run = 0
        axis.same += ((change == 0.0) - axis.same) / SAME_MEMORY
        return False
    follow_extreme(axis, high, floor, value, change)
    follow_extreme(axis, low, floor, -value, -change)
    return is_at_end(high, value) or is_at_end(low, -value)


@kernel
def is_at_end(side: Side, here: float) -> bool:
    """Whether a value is at the end of the range, if that is known."""
    return side.limit > 0.0 and here >= SHARE * side.limit


@kernel
def follow_extreme(axis: Axis, side: Side, floor: float, here: float, change: float) -> None:
    """Follow the extreme of one side of an axis, and learn its limit."""
    if here > side.extreme:
        if SHARE * here > side.limit:
            side.limit = 0.0
        side.extreme = here
    if here < side.extreme:
        side.run = 0
        return
    if change != 0.0 or side.run == 0:
        side.run = 0
        side.arrival = change
    side.run += 1
    same = max(axis.same, LEAST_SAME)
    is_run = side.run >= ENOUGH and same < MOST_SAME and same ** (side.run - 1.0) < BY_CHANCE
    if is_run and here >= floor and side.arrival > STEEP * axis.finest:
        side.limit = here


@kernel
def count(sensor: Sensor, bits: int) -> None:
    """Count a sample of a sensor."""
    sensor.seen += 1
    sensor.clipped += bits != 0
    for k in range(3):
        sensor.by_axis[k] += bits >> k & 1
    sensor.run = sensor.run + 1 if bits else 0
    sensor.longest = max(sensor.longest, sensor.run)


@kernel
def extend(s: ClippingMemory, t_ns: int, rates: int, forces: int) -> None:
    """Begin a stretch, or add a sample to it."""
    if not s.active:
        s.active = True
        s.first_ns = t_ns
        s.axes = s.gyro_samples = s.accel_samples = 0
    s.last_ns = t_ns
    s.axes |= rates | forces << 3
    s.gyro_samples += rates != 0
    s.accel_samples += forces != 0


@kernel
def finish(s: ClippingMemory, event: AxesEvent, is_open: bool) -> bool:
    """Write the event of the stretch, and wait for the next stretch."""
    s.active = False
    event.gyro_samples = s.gyro_samples
    event.accel_samples = s.accel_samples
    return complete(event, s.first_ns, s.last_ns, s.first_ns, 0, s.axes | OPEN * is_open)


close = bind(close_stretch, finish=finish)
step = bind(take_in_order, proceed=proceed, close=close, forget=forget)


class ClippingDetector(Detector[ClippingParams]):
    """Find stretches in which a sensor is saturated, and count their samples.

    Clipping bits of samples (``gyro_clipping``, ``accel_clipping``, for instance from PX4, a
    driver or a simulator) are always used. Without a declared range the end of an axis is learnt
    on each side: the extreme so far, three times in a row, reached by a step of more than four
    times the finest step of the axis. It has to be above 18 m/s^2 or 1.2 rad/s, since no sensor
    on the market has a smaller range, and a larger value disproves it. Samples before the third
    of these are not counted; :func:`clipping_bits` includes them. Values with a calibration
    across axes do not stay on one code when they clip: declare the range, or detect before the
    calibration.

    Latency: none to certainty (``t_decided_ns``), ``merge_s`` (100 ms) to the event.

    Events ``clipping`` begin and end with a clipped sample; their values ``gyro_samples`` and
    ``accel_samples`` count clipped samples, and the flags ``gyro_x`` to ``accel_z`` name axes;
    with ``open`` the data end during it.

    Parameters
    ----------
    params : ClippingParams, optional
    compiled : bool, optional
        As in :class:`~strapdown.detection.Detector`.
    """

    NAME = "clipping"
    PARAMS = ClippingParams
    FLAGS = (*AXES, "open")
    MEMORY = ClippingMemory
    EVENT = AxesEvent
    STEP = step
    CLOSE = close

    @property
    def gyro(self) -> ClippingReport:
        """Counts of saturation of the gyro, over usable samples."""
        return _tally(self._memory.gyro)

    @property
    def accel(self) -> ClippingReport:
        """Counts of saturation of the accelerometer, over usable samples."""
        return _tally(self._memory.accel)

    @property
    def limits(self) -> FloatArray:
        """Ends of the ranges, (2 sensors, 3 axes, 2 sides): declared or learnt, else infinite."""
        s = self._memory
        sides = [[(a.high.limit, a.low.limit) for a in each.axes] for each in (s.gyro, s.accel)]
        limits = np.array(sides)
        limits[limits == 0.0] = math.inf
        declared = self.params.gyro_range_rad_s, self.params.accel_range_m_s2
        for sensor, known in enumerate(declared):
            if known is not None:
                limits[sensor] = known
        return limits


def _tally(sensor: Sensor) -> ClippingReport:
    x, y, z = sensor.by_axis
    return ClippingReport(sensor.seen, sensor.clipped, (x, y, z), sensor.longest)


def clipping_bits(
    series: ImuSeries, params: ClippingParams | None = None
) -> tuple[ByteArray, ByteArray]:
    """Return the clipped axes of each sample, with ranges learnt from the whole series.

    Parameters
    ----------
    series : ImuSeries
        Its clipping bits are kept.
    params : ClippingParams, optional

    Returns
    -------
    gyro, accel : (N,) uint8
        Bits X=1, Y=2, Z=4, in the body axes of the series; ``series.replace(gyro_clipping=gyro,
        accel_clipping=accel)`` passes them to filters, and
        :func:`~strapdown.px4.clipping_report` counts them.
    """
    detector = ClippingDetector(params)
    named = series.replace(body="FLU")  # sides and axes of the series, regardless of its frame
    detector.run(named)
    found = []
    for values, known, limits in (
        (series.angular_velocity, series.gyro_clipping, detector.limits[0]),
        (series.specific_force, series.accel_clipping, detector.limits[1]),
    ):
        ends = SHARE * limits
        at_end = (values >= ends[:, 0]) | (-values >= ends[:, 1])
        bits = np.asarray((at_end * np.array([1, 2, 4])).sum(axis=1), np.uint8)
        found.append(bits if known is None else bits | known)
    return found[0], found[1]
