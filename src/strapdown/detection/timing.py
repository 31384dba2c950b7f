"""Detection of clock faults: late or lost samples, wrong rate, jitter, stamps out of order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import bind, kernel
from strapdown.detection.detector import Detector, DetectorParams
from strapdown.detection.events import Event
from strapdown.detection.intake import (
    DetectorEvent,
    DetectorMemory,
    close_stretch,
    complete,
    seconds,
    take,
)
from strapdown.samples.clock import DROPPED, START
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown.detection.intake import DetectorCounts, Settings
    from strapdown.samples.sample import Sample

__all__ = ["TimingDetector", "TimingParams"]


@dataclass(frozen=True)
class TimingParams(DetectorParams):
    """Parameters of the detector.

    Parameters
    ----------
    rate_hz : float, optional
        Nominal rate. None, the default, learns it: then a *change* of the rate is a fault until
        the estimate has adapted (some 10 s).
    late_intervals : float
        A sample is late after this many intervals without one, ...
    late_s : float
        ... if that is also longer than this.
    lost_s : float
        After this time the sensor is lost.
    rate_tolerance : float
        Largest relative error of the rate in a window.
    rate_window_s : float
        Length of the window.
    jitter_tolerance : float
        An interval deviates if it differs from the median interval by more than this share.
        Jitter is a fault if more than 1 % of 1000 intervals deviate (99th percentile).
    merge_s : float
        A fault that follows sooner belongs to the same stretch; it is the latency.

    Raises
    ------
    ValueRangeError
        A value is not finite and positive.
    """

    rate_hz: float | None = None
    late_intervals: float = 5.0
    late_s: float = 0.02
    lost_s: float = 1.0
    rate_tolerance: float = 0.05
    rate_window_s: float = 1.0
    jitter_tolerance: float = 0.2
    merge_s: float = 1.0


LATE, LOST, RATE_WRONG, JITTERS, DUPLICATE, BACKWARD, OPEN = (1 << bit for bit in range(7))  # flags

MEDIAN_GAIN: Final = 1e-3  # finest relative step of the median, once it is known
LEAST_COUNT: Final = 10  # intervals in a window of the rate
ADAPTION: Final = 0.1  # gain of the mean interval per window
JITTER_COUNT: Final = 1000  # intervals in a window of the jitter
JITTER_SHARE: Final = 0.01  # of them that may deviate (99th percentile)


class TimingMemory(DetectorMemory):
    """Estimated intervals, two windows, and the stretch of faults."""

    median: float = 0.0  # of the intervals, a running estimate [s]
    intervals: int = 0  # number of them
    reference: float = 0.0  # mean interval of earlier windows, or declared [s]; 0: unknown
    window: float = 0.0  # length of the window of the rate [s], and
    window_count: int = 0  # its intervals
    checked: int = 0  # intervals of the window of the jitter, and
    deviant: int = 0  # those of them that deviate
    said: int = 0  # reported since the last sample: 1 late, 2 lost
    active: bool = False  # in a stretch
    first_ns: int = 0  # of the stretch; where its last fault ended
    last_ns: int = 0
    certain_ns: int = 0
    faults: int = 0  # bits
    longest: float = 0.0  # gap [s]
    rate_error: float = 0.0  # relative, the largest
    jitter: float = 0.0  # largest share of intervals that deviate
    duplicates: int = 0  # samples whose stamps repeat, or go back
    backward: int = 0


class TimingEvent(DetectorEvent):
    """A stretch of faults."""

    longest_gap_s: float = math.nan
    rate_error: float = math.nan
    jitter_share: float = math.nan
    duplicates: float = math.nan
    backward: float = math.nan


@kernel
def step(
    s: TimingMemory, counts: DetectorCounts, p: Settings, sample: Sample, event: TimingEvent
) -> bool:
    """Process a sample; a stretch is complete after ``merge_s`` without a fault."""
    t_ns, previous, running = sample.t_ns, counts.last_ns, s.clock.steps >= 0.0
    taken = take(s, counts, sample)
    if taken.event == DROPPED:
        repeats = t_ns == previous
        mark(s, DUPLICATE if repeats else BACKWARD, previous, previous)
        s.duplicates += repeats
        s.backward += not repeats
        return False
    s.said = 0
    if taken.event == START and not running:
        return False
    if taken.event == START and t_ns > previous:  # a long pause
        mark(s, LATE | LOST, previous, t_ns)
        s.longest = max(s.longest, t_ns * 1e-9 - previous * 1e-9)
        return False
    if taken.event == START:  # a clock that starts again
        found = close(s, p, event)
        mark(s, BACKWARD, t_ns, t_ns)
        s.backward += 1
        return found
    silence = silent_faults(s, p, taken.dt)
    if silence:
        mark(s, silence, previous, t_ns)
        s.longest = max(s.longest, taken.dt)
        return False
    follow(s, p, taken.dt)
    faults = judge(s, p)
    if faults:
        mark(s, faults, previous, t_ns)
    return s.active and seconds(t_ns, s.last_ns) > p.merge_s and finish(s, event, False)


@kernel
def silent_faults(s: TimingMemory, p: Settings, silence: float) -> int:
    """Return the faults of a time without a sample [s] as bits."""
    interval = s.median if math.isnan(p.rate_hz) else 1.0 / p.rate_hz
    late = max(p.late_intervals * interval, p.late_s) if interval > 0.0 else p.lost_s
    if silence <= late:
        return 0
    return LATE | LOST if silence > max(late, p.lost_s) else LATE


@kernel
def follow(s: TimingMemory, p: Settings, dt: float) -> None:
    """Update the estimates with an interval that is not a gap."""
    if s.intervals == 0:
        s.median = dt
    s.intervals += 1
    if dt != s.median:
        toward = max(0.5 / s.intervals, MEDIAN_GAIN) * s.median
        s.median += max(min(dt - s.median, toward), -toward)
    if not math.isnan(p.rate_hz):
        s.reference = 1.0 / p.rate_hz
    s.window += dt
    s.window_count += 1
    s.checked += 1
    s.deviant += abs(dt - s.median) > p.jitter_tolerance * s.median


@kernel
def judge(s: TimingMemory, p: Settings) -> int:
    """Return the faults of complete windows as bits."""
    faults = 0
    if s.window >= p.rate_window_s and s.window_count >= LEAST_COUNT:
        mean = s.window / s.window_count
        if s.reference == 0.0:
            s.reference = mean
        error = s.reference / mean - 1.0
        if abs(error) > p.rate_tolerance:
            faults |= RATE_WRONG
            if abs(error) > abs(s.rate_error) or not s.active:
                s.rate_error = error
        s.reference += ADAPTION * (mean - s.reference)
        s.window = 0.0
        s.window_count = 0
    if s.checked >= JITTER_COUNT:
        share = s.deviant / s.checked
        if share > JITTER_SHARE:
            faults |= JITTERS
            s.jitter = max(s.jitter, share) if s.active else share
        s.checked = s.deviant = 0
    return faults


@kernel
def mark(s: TimingMemory, faults: int, from_ns: int, to_ns: int) -> None:
    """Begin a stretch with a fault, or add the fault to it."""
    if not s.active:
        s.active = True
        s.first_ns = from_ns
        s.certain_ns = to_ns
        s.faults = s.duplicates = s.backward = 0
        s.longest = 0.0
    s.last_ns = to_ns
    s.faults |= faults


@kernel
def finish(s: TimingMemory, event: TimingEvent, is_open: bool) -> bool:
    """Write the event of the stretch, and wait for the next stretch."""
    s.active = False
    event.longest_gap_s = s.longest if s.faults & LATE else math.nan
    event.rate_error = s.rate_error if s.faults & RATE_WRONG else math.nan
    event.jitter_share = s.jitter if s.faults & JITTERS else math.nan
    event.duplicates = s.duplicates
    event.backward = s.backward
    return complete(event, s.first_ns, s.last_ns, s.certain_ns, 0, s.faults | OPEN * is_open)


close = bind(close_stretch, finish=finish)


class TimingDetector(Detector[TimingParams]):
    """Detect faults of the stamps of a sensor.

    Events ``timing`` are stretches with at least one fault, and their flags name them: ``late``,
    ``lost``, ``rate`` (wrong, or changed), ``jitter``, ``duplicate`` and ``backward`` stamps;
    with ``open`` the data end within ``merge_s`` of a fault. Their values: ``longest_gap_s``,
    ``rate_error`` (relative, the largest), ``jitter_share`` (of intervals that deviate),
    ``duplicates``, ``backward``.

    In a stream, missing samples trigger no update: call :meth:`check` from a timer.

    Latency: none to certainty of a late sample (with :meth:`check`) and of a stamp out of order,
    1 to 2 s of a wrong rate, up to 2000 samples of jitter; ``merge_s`` (1 s) to the event.
    Memory: 13 numbers.

    Parameters
    ----------
    params : TimingParams, optional
    compiled : bool, optional
        As in :class:`~strapdown.detection.Detector`.
    """

    NAME = "timing"
    PARAMS = TimingParams
    FLAGS = ("late", "lost", "rate", "jitter", "duplicate", "backward", "open")
    MEMORY = TimingMemory
    EVENT = TimingEvent
    STEP = step
    CLOSE = close

    def check(self, now_ns: int) -> Event | None:
        """Return an event if the next sample is late or lost, once each per gap.

        Parameters
        ----------
        now_ns : int
            Present time on the clock of the stamps [ns].

        Returns
        -------
        Event or None
            From the last sample until now, with the flags ``open`` and ``late``, or these and
            ``lost``. :meth:`update` or :meth:`finish` later returns the stretch itself.
        """
        execution = self._execution
        with execution.lock:
            memory, counts, settings = (execution.memory(part) for part in range(3))
            if memory.clock.steps < 0.0:
                return None
            silence_s = (now_ns - counts.last_ns) / NS_PER_S
            said = silent_faults(memory, settings, silence_s).bit_count()  # late, lost
            if said <= memory.said:
                return None
            memory.said = said
            execution.replace(0, memory)
        flags = frozenset({"open", *self.FLAGS[:said]})
        figures = {"longest_gap_s": silence_s}
        return Event(self.NAME, counts.last_ns, now_ns, now_ns, figures, flags)
