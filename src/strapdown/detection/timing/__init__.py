"""Faults of a clock: samples that are late or lost, a wrong rate, jitter, stamps out of order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from strapdown.detection._kernels import LAST_NS, STEPS
from strapdown.detection.detector import Detector, DetectorParams
from strapdown.detection.events import Event
from strapdown.detection.timing import _kernels as kernels
from strapdown.units import NS_PER_S

__all__ = ["TimingDetector", "TimingParams"]


@dataclass(frozen=True)
class TimingParams(DetectorParams):
    """What can be set.

    Parameters
    ----------
    rate_hz : float, optional
        Nominal rate. None, the default, learns it: then a *change* of the rate is its error,
        for as long as it takes to get used to it (some 10 s).
    late_intervals : float
        A sample that has not come after so many intervals is late, ...
    late_s : float
        ... if that is also longer than this.
    lost_s : float
        After so long the sensor is lost.
    rate_tolerance : float
        Largest relative error of the rate in a window.
    rate_window_s : float
        Length of the window.
    jitter_tolerance : float
        An interval that is off by more of the median interval deviates. More than 1 % of 1000
        that deviate are jitter: the 99th percentile is beyond.
    merge_s : float
        What follows sooner is the same stretch; the latency.

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


class TimingDetector(Detector[TimingParams]):
    """Find what is wrong with the stamps of a sensor.

    Events ``timing`` are stretches with at least one fault, and their flags say which: ``late``,
    ``lost``, ``rate`` (wrong, or changed), ``jitter``, ``duplicate`` and ``backward`` stamps,
    and ``open``: the data ended within ``merge_s`` of a fault. Their values: ``longest_gap_s``,
    ``rate_error`` (relative, the largest), ``jitter_share`` (of intervals that deviate),
    ``duplicates``, ``backward``.

    In a stream no sample tells that there is none: call :meth:`check` from a timer.

    Latency: none to certainty of a late sample (with :meth:`check`) and of a stamp out of order,
    1 to 2 s of a wrong rate, up to 2000 samples of jitter; ``merge_s`` (1 s) to the event.
    Memory: 13 numbers.

    Parameters
    ----------
    params : TimingParams, optional
    compiled : bool, optional
        False steps in plain Python, more slowly and to the same results.
    """

    NAME = "timing"
    PARAMS = TimingParams
    KINDS = ("timing",)
    VALUES = ("longest_gap_s", "rate_error", "jitter_share", "duplicates", "backward")
    FLAGS = ("late", "lost", "rate", "jitter", "duplicate", "backward", "open")
    KERNELS: ClassVar = kernels

    def check(self, now_ns: int) -> Event | None:
        """Say whether the next sample is late or lost, each once a gap.

        Parameters
        ----------
        now_ns : int
            The time now, on the clock of the stamps [ns].

        Returns
        -------
        Event or None
            From the last sample until now, flagged ``open``, and ``late`` or ``late`` and
            ``lost``. The stretch itself comes later from :meth:`update` or :meth:`finish`.
        """
        if self._state[STEPS] < 0.0:
            return None
        last_ns = int(self._account[LAST_NS])
        silence_s = (now_ns - last_ns) / NS_PER_S
        late = kernels.late_after(self._state, self._settings)
        lost = max(late, self.params.lost_s)
        said = 2 if silence_s > lost else 1 if silence_s > late else 0
        if said <= self._account[kernels.SAID]:
            return None
        self._account[kernels.SAID] = said
        flags = frozenset({"open", "late"} if said == 1 else {"open", "late", "lost"})
        return Event(self.NAME, last_ns, now_ns, now_ns, {"longest_gap_s": silence_s}, flags)
