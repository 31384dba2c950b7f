"""Detector of falls: low specific force, impact, tilt; and lying still after it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import bind, inlined_kernel, kernel
from strapdown._kernels.records import Record, Vector, filled
from strapdown.detection.detector import Detector
from strapdown.detection.falls.history import (
    CELL_NS,
    CELLS,
    FAR,
    SECOND,
    Cell,
    add,
    empty,
    fastest_turn,
    horizontal_spread,
    mean_force,
    sway,
)
from strapdown.detection.falls.params import FallParams
from strapdown.detection.intake import (
    DetectorEvent,
    DetectorMemory,
    complete,
    is_hole,
    seconds,
    take_in_order,
)
from strapdown.geometry.triples import cross
from strapdown.geometry.vectors import approach, clear, distance2, dot, put, square, three

if TYPE_CHECKING:
    from strapdown._typing import Three
    from strapdown.detection.falls.params import FallLaw
    from strapdown.detection.intake import Settings, Taken
    from strapdown.samples.sample import Sample

__all__ = ["FallDetector"]

SECOND_NS: Final = SECOND * CELL_NS
SLOW_INTERVAL_S: Final = 0.025  # below 40 Hz peaks are missed
POLE_S: Final = 0.0204855  # two such poles halve the power at 5 Hz
SLOW_S: Final = 0.5
FREE_S: Final = 0.2  # nearly zero for this time: a device falls, not a person

FALL, LONG_LIE = 0, 1  # kinds
CLIPPED, DROPPED_DEVICE = 1, 2  # flags


class Candidate(Record):
    """Peak that may be the impact of a fall."""

    is_open: bool = False
    peak: float = 0.0  # largest specific force [m/s^2]
    peak_ns: int = 0
    least: float = 0.0  # smallest specific force in the second before it
    least_ns: int = 0
    low_time: float = 0.0  # time below the low threshold in that second [s]
    free_time: float = 0.0  # time near zero in it [s]
    clipped: bool = False  # the accelerometer was saturated


class FallMemory(DetectorMemory):
    """Low-passed forces, candidates, the last fall, and the last seconds in cells."""

    wait: float = 0.0  # time since the last usable specific force, before this sample [s]
    fast: Vector = filled(3)  # specific force through the first pole of the 5 Hz low-pass
    smooth: Vector = filled(3)  # the same through the second
    slow: Vector = filled(3)  # through a low-pass of 0.5 s, for lying still
    primed: bool = False  # the low-passes are initialised
    watching: bool = False  # after a fall: look for lying still
    lying: bool = False  # lying still, since
    lying_ns: int = 0
    fall_ns: int = 0  # impact of that fall
    upright: Vector = filled(3)  # mean specific force before it
    candidates: list[Candidate] = [Candidate()] * 2  # the older, the younger
    origin_ns: int = 0  # start of cell 0
    now_ns: int = 0  # last accepted sample
    cells: list[Cell] = [Cell()] * CELLS


class FallEvent(DetectorEvent):
    """Fall, or long lie."""

    low_m_s2: float = math.nan
    peak_m_s2: float = math.nan
    low_duration_s: float = math.nan
    angle_rad: float = math.nan
    horizontal_std_m_s2: float = math.nan
    rate_peak_rad_s: float = math.nan
    activity_m_s2: float = math.nan
    score: float = math.nan
    since_fall_s: float = math.nan


@inlined_kernel
def proceed(s: FallMemory, p: Settings, sample: Sample, taken: Taken, event: FallEvent) -> bool:
    """Decide the candidates that are due, then process the sample."""
    found = decide_due(s, p, sample.t_ns, 2 * SECOND_NS, event)
    s.now_ns = sample.t_ns
    s.wait += taken.dt
    rate = math.sqrt(square(sample.angular_velocity)) if taken.has_rate else 0.0
    cell = cell_of(s, sample.t_ns)
    cell.fastest = max(cell.fastest, rate)
    if not taken.has_force:
        return found
    force = sample.specific_force
    hole = is_hole(s, s.wait)
    weight = s.clock.interval if hole else s.wait
    smoothen(s, force)
    norm = math.sqrt(square(force))
    add(cell, weight, force, norm, p.low_m_s2, s.smooth, (sample.t_ns - s.origin_ns) % CELL_NS)
    look_for_peak(s, p, sample.t_ns, norm, sample.clipping >> 3 != 0)
    if s.watching and not found:
        return watch(s, p, sample, rate, hole, event)
    return found


@kernel
def forget(s: FallMemory, t_ns: int) -> None:
    """Discard the previous samples, and count cells from here."""
    s.wait = 0.0
    clear(s.fast)
    clear(s.smooth)
    clear(s.slow)
    s.primed = s.watching = s.lying = False
    for k in range(CELLS):
        s.cells[k].number = -1
    s.origin_ns = t_ns


@kernel
def smoothen(s: FallMemory, force: Vector) -> None:
    """Low-pass the specific force at 5 Hz and at 0.5 s."""
    quick, slow = -math.expm1(-s.wait / POLE_S), -math.expm1(-s.wait / SLOW_S)
    if not s.primed:
        quick = slow = 1.0
        s.primed = True
    approach(s.fast, quick, force)
    approach(s.smooth, quick, s.fast)
    approach(s.slow, slow, force)
    s.wait = 0.0


@kernel
def cell_of(s: FallMemory, t_ns: int) -> Cell:
    """Return the cell of an instant, emptied if it holds an older one."""
    number = (t_ns - s.origin_ns) // CELL_NS
    cell = s.cells[number % CELLS]
    if cell.number != number:
        empty(cell, number)
    return cell


@kernel
def look_for_peak(s: FallMemory, p: Settings, t_ns: int, norm: float, clipped: bool) -> None:
    """Move the youngest candidate to a larger sample within a second, or open another."""
    older, younger = s.candidates[0], s.candidates[1]
    candidate = younger if younger.is_open else older
    is_slow = s.clock.interval > SLOW_INTERVAL_S
    if candidate.is_open and t_ns - candidate.peak_ns <= SECOND_NS:
        if norm <= candidate.peak:
            return
    elif norm > (p.high_below_40_hz_m_s2 if is_slow else p.high_m_s2):
        candidate = younger if older.is_open else older
        candidate.is_open = True
    else:
        return
    candidate.peak = norm
    candidate.clipped = clipped
    candidate.peak_ns = t_ns
    look_back(s, candidate, t_ns)


@kernel
def look_back(s: FallMemory, candidate: Candidate, t_ns: int) -> None:
    """Find the smallest specific force, and the low times, in the second before a peak."""
    candidate.least = FAR
    candidate.low_time = candidate.free_time = 0.0
    here = (t_ns - s.origin_ns) // CELL_NS
    for number in range(max(here - SECOND, 0), here + 1):
        cell = s.cells[number % CELLS]
        if cell.number == number:
            candidate.low_time += cell.low_for
            candidate.free_time += cell.free_for
            if cell.lowest < candidate.least:
                candidate.least = cell.lowest
                candidate.least_ns = s.origin_ns + (number * CELL_NS + cell.lowest_at_ns)


@kernel
def decide_due(s: FallMemory, p: Settings, t_ns: int, wait_ns: int, event: FallEvent) -> bool:
    """Decide the candidates whose peak is ``wait_ns`` ago; a fall absorbs the one within it."""
    older, younger = s.candidates[0], s.candidates[1]
    found = False
    while not found and older.is_open and t_ns - older.peak_ns >= wait_ns:
        found = decide(s, p, older, t_ns, event)
        become(older, younger)
        younger.is_open = False
    if found:
        older.is_open = False
    return found


@kernel
def become(candidate: Candidate, other: Candidate) -> None:
    """Copy a candidate."""
    candidate.is_open, candidate.clipped = other.is_open, other.clipped
    candidate.peak, candidate.peak_ns = other.peak, other.peak_ns
    candidate.least, candidate.least_ns = other.least, other.least_ns
    candidate.low_time, candidate.free_time = other.low_time, other.free_time


@kernel
def decide(s: FallMemory, p: Settings, candidate: Candidate, t_ns: int, event: FallEvent) -> bool:
    """Write a candidate if it is a fall."""
    peak = (candidate.peak_ns - s.origin_ns) // CELL_NS
    covered_before, before = mean_force(s.cells, peak - 2 * SECOND, peak - SECOND)
    covered, _ = mean_force(s.cells, peak - SECOND, peak)
    covered_after, after = mean_force(s.cells, peak + SECOND, peak + 2 * SECOND)
    has_score = not math.isnan(p.offset)
    if not has_score and covered >= p.coverage and candidate.least >= p.low_m_s2:
        return False
    if min(covered_before, covered, covered_after) < p.coverage:
        event.undecided += 1
        return False
    event.low_m_s2 = candidate.least
    event.peak_m_s2 = candidate.peak
    event.low_duration_s = candidate.low_time
    event.angle_rad = angle_between(before, after)
    event.horizontal_std_m_s2 = horizontal_spread(s.cells, peak - SECOND, peak + SECOND, before)
    event.rate_peak_rad_s = fastest_turn(s.cells, peak - SECOND, peak + SECOND)
    event.activity_m_s2 = sway(s.cells, peak + SECOND, peak + 2 * SECOND, (0.0, 0.0, 0.0))
    event.score = probability(p, event) if has_score else math.nan
    event.since_fall_s = math.nan
    is_fall = event.score >= p.likely if has_score else event.angle_rad > p.angle_rad
    if not is_fall:
        return False
    s.fall_ns = candidate.peak_ns
    s.watching = True
    s.lying = False
    put(s.upright, before)
    flags = CLIPPED * candidate.clipped + DROPPED_DEVICE * (candidate.free_time >= FREE_S)
    return complete(event, candidate.least_ns, candidate.peak_ns, t_ns, FALL, flags)


@kernel
def angle_between(v: Three, other: Three) -> float:
    """Return the angle between two vectors [rad]; exact also where they nearly coincide."""
    return math.atan2(math.sqrt(square(cross(v, other))), dot(v, other))


@kernel
def probability(p: Settings, event: FallEvent) -> float:
    """Return the probability of a logistic law over the features."""
    features = (
        event.peak_m_s2,
        event.low_duration_s,
        event.angle_rad,
        event.horizontal_std_m_s2,
        event.rate_peak_rad_s,
        event.activity_m_s2,
    )
    total = p.offset
    for k in range(6):
        total += p.weights[k] * features[k]
    return 1.0 / (1.0 + math.exp(-min(max(total, -500.0), 500.0)))


@kernel
def watch(
    s: FallMemory, p: Settings, sample: Sample, rate: float, hole: bool, event: FallEvent
) -> bool:
    """After a fall: detect lying still for long, in another posture than before."""
    t_ns = sample.t_ns
    if seconds(t_ns, s.fall_ns) > p.long_lie_within_s:
        s.watching = False
        return False
    moved = math.sqrt(distance2(sample.specific_force, s.slow))
    still = moved < p.still_m_s2 and rate < p.still_rad_s and not hole
    if not (still and angle_between(three(s.slow), three(s.upright)) > p.angle_rad):
        s.lying = False
        return False
    if not s.lying:
        s.lying = True
        s.lying_ns = t_ns
    if seconds(t_ns, s.lying_ns) < p.long_lie_s:
        return False
    s.watching = False
    event.low_m_s2 = event.peak_m_s2 = event.low_duration_s = event.angle_rad = math.nan
    event.horizontal_std_m_s2 = event.rate_peak_rad_s = event.activity_m_s2 = math.nan
    event.score = math.nan
    event.since_fall_s = seconds(t_ns, s.fall_ns)
    return complete(event, s.lying_ns, t_ns, t_ns, LONG_LIE, 0)


@kernel
def close(s: FallMemory, p: Settings, event: FallEvent) -> bool:
    """End the data: decide the candidates by the measurements so far."""
    return decide_due(s, p, s.now_ns, 0, event)


step = bind(take_in_order, proceed=proceed, close=close, forget=forget)


class FallDetector(Detector[FallParams]):
    """Detect falls of people: a low specific force, an impact, and another posture after it.

    A sample above ``high_m_s2`` opens a candidate, and a larger one within a second moves it. It is
    a fall if the specific force was low in the second before it, and if its mean, a second
    before and a second after, differs in direction by more than ``angle_rad``. Lying still is not
    required, since people move after a fall; it is a separate event.

    Latency: 2 s from the impact. For sampling rates of 20 to 1000 Hz.

    An event ``fall`` begins with the smallest specific force and ends with the impact. An event
    ``long_lie`` begins when the wearer lies still after a fall, and ends ``long_lie_s`` later;
    there is at most one per fall.

    =====================  ====================================================================
    value                  meaning
    =====================  ====================================================================
    low_m_s2               smallest specific force in the second before the impact
    peak_m_s2              specific force at the impact; a lower bound if clipped
    low_duration_s         time below ``low_m_s2`` in that second
    angle_rad              change of posture
    horizontal_std_m_s2    largest standard deviation of the horizontal specific force in 1 s,
                           below 5 Hz
    rate_peak_rad_s        largest turn rate within a second of the impact; 0 without a gyro
    activity_m_s2          standard deviation below 5 Hz from 1 s to 2 s after it
    score                  probability, with a fitted score
    since_fall_s           of a long lie: time since the impact
    =====================  ====================================================================

    The flag ``clipped`` means that the accelerometer was saturated at the peak, and ``free_fall``
    that it read nearly zero (below 1.5 m/s^2) for 0.2 s before: people do not fall like that, and
    the device may have been dropped.

    This is a signal detector and not a medical device: it has not been shown to serve anybody's
    safety.

    Parameters
    ----------
    params : FallParams, optional
        ``FALL_PRESETS`` has some by the place of the sensor; by default the waist.
    score : FallScore, optional
        Decide by a law that was fitted to recordings.
    compiled : bool, optional
        As in :class:`~strapdown.detection.Detector`.

    References
    ----------
    A. Sucerquia, J. D. Lopez, J. F. Vargas-Bonilla, "SisFall: a fall and movement dataset", Sensors
    17(1):198, 2017 (horizontal standard deviation). Q. T. Huynh et al., "Optimization of an
    accelerometer and gyroscope-based fall detection algorithm", Journal of Sensors 2015.
    """

    NAME = "fall"
    PARAMS = FallParams
    KINDS = ("fall", "long_lie")
    FLAGS = ("clipped", "free_fall")
    MEMORY = FallMemory
    EVENT = FallEvent
    STEP = step
    CLOSE = close

    def __init__(
        self,
        params: FallParams | None = None,
        *,
        score: FallLaw | None = None,
        compiled: bool | None = None,
    ) -> None:
        self.score = score
        super().__init__(params, compiled=compiled)

    def _settings(self) -> Record:
        law = self.score
        if law is None:
            return self.params.settings()
        weights = [*law.weights]
        return self.params.settings(weights=weights, offset=law.offset, likely=law.threshold)
