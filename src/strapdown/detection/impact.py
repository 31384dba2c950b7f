"""Detection of impacts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import bind, inlined_kernel, kernel
from strapdown._kernels.records import Vector, filled
from strapdown.detection.detector import Detector, DetectorParams
from strapdown.detection.intake import (
    DetectorEvent,
    DetectorMemory,
    complete,
    is_hole,
    seconds,
    take_in_order,
)
from strapdown.geometry.vectors import approach, clear, distance2, put, square, three
from strapdown.samples.params import MAY_BE_INFINITE
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown.detection.intake import Taken
    from strapdown.samples.sample import Sample

__all__ = ["ImpactDetector", "ImpactParams"]


@dataclass(frozen=True)
class ImpactParams(DetectorParams):
    """Parameters of the detector.

    Parameters
    ----------
    threshold_m_s2 : float
        The norm of the specific force exceeds its low-passed value by more than this. An impact
        lasts while the excess is above a quarter of it.
    jerk_m_s3 : float
        Alternatively, the specific force changes faster than this; by default unused.
    smoothing_s : float
        Time constant of the low-pass.
    merge_s : float
        A peak that follows sooner is part of the same impact, such as ringing; the latency.
    longest_s : float
        A longer impact is cut, and another one may follow.

    Raises
    ------
    ValueRangeError
        A value is not positive, or not finite.
    """

    threshold_m_s2: float = 3.0 * STANDARD_GRAVITY
    jerk_m_s3: float = field(default=math.inf, metadata=MAY_BE_INFINITE)
    smoothing_s: float = 0.25
    merge_s: float = 0.05
    longest_s: float = 1.0


KEPT: Final = 256  # samples of an impact from which its width is computed
RELEASE: Final = 0.25  # of the threshold: an impact lasts while the excess is above

IDLE, RISING, HIT = range(3)  # phases; rising is above the release, hit above the threshold
CLIPPED, GAP, CUT_SHORT, OPEN = 1, 2, 4, 8  # flags


class ImpactMemory(DetectorMemory):
    """Low-passed specific force, previous sample, and the impact so far."""

    wait: float = 0.0  # time since the last usable specific force, before this sample [s]
    usual: float = 0.0  # norm of the specific force through the low-pass [m/s^2]
    mean: Vector = filled(3)  # the vector through the same; frozen during an impact
    primed: bool = False  # there is a previous sample:
    last: Vector = filled(3)  # [m/s^2]
    last_excess: float = 0.0  # its norm over the usual
    phase: int = IDLE
    first_ns: int = 0  # of the impact; its last sample that counts, and its peak
    last_high_ns: int = 0
    peak_ns: int = 0
    certain_ns: int = 0
    peak: float = 0.0  # largest excess
    peak_force: Vector = filled(3)  # specific force there
    change: Vector = filled(3)  # integral of the force minus its mean, to the last that counts
    pending: Vector = filled(3)  # the same, to this sample
    clipped: bool = False  # the accelerometer was saturated
    holed: bool = False  # a gap in the data ended it
    before: float = 0.0  # excess before its first sample
    length: int = 0  # samples in it, and a ring of the last of them:
    excesses: Vector = filled(KEPT)
    steps: Vector = filled(KEPT)  # [s]


class ImpactEvent(DetectorEvent):
    """An impact."""

    peak_m_s2: float = math.nan
    peak_x_m_s2: float = math.nan
    peak_y_m_s2: float = math.nan
    peak_z_m_s2: float = math.nan
    excess_m_s2: float = math.nan
    peak_after_s: float = math.nan
    direction_x: float = math.nan
    direction_y: float = math.nan
    direction_z: float = math.nan
    delta_velocity_x_m_s: float = math.nan
    delta_velocity_y_m_s: float = math.nan
    delta_velocity_z_m_s: float = math.nan
    half_duration_s: float = math.nan
    bandwidth_hz: float = math.nan


@kernel
def forget(s: ImpactMemory, _t_ns: int) -> None:
    """Discard the previous samples."""
    s.primed = False
    s.wait = 0.0


@inlined_kernel
def proceed(
    s: ImpactMemory, p: ImpactParams, sample: Sample, taken: Taken, event: ImpactEvent
) -> bool:
    """Process a sample; an impact is complete after ``merge_s`` below the release."""
    s.wait += taken.dt
    if not taken.has_force:
        return False
    dt, hole = s.wait, is_hole(s, s.wait)
    s.wait = 0.0
    force = sample.specific_force
    norm = math.sqrt(square(force))
    found = False
    if s.phase != IDLE and hole:
        s.holed = True
        found = close(s, p, event)
    if not s.primed or hole:
        s.primed = True
        s.usual = norm
        put(s.mean, three(force))
        remember(s, force, 0.0)
        return found
    excess = norm - s.usual
    found = found or advance(s, p, sample, dt, excess, event)
    gain = -math.expm1(-dt / p.smoothing_s)
    s.usual += gain * excess
    if s.phase == IDLE:
        approach(s.mean, gain, force)
    remember(s, force, excess)
    return found


@kernel
def remember(s: ImpactMemory, force: Vector, excess: float) -> None:
    """Store the values for the comparison with the next sample."""
    put(s.last, three(force))
    s.last_excess = excess


@kernel
def advance(
    s: ImpactMemory, p: ImpactParams, sample: Sample, dt: float, excess: float, event: ImpactEvent
) -> bool:
    """Begin, follow or end an impact."""
    t_ns, force = sample.t_ns, sample.specific_force
    jerked = math.sqrt(distance2(force, s.last)) > p.jerk_m_s3 * dt
    high = excess >= RELEASE * p.threshold_m_s2 or jerked
    if s.phase == IDLE:
        if not high:
            return False
        begin(s, t_ns)
    add(s, dt, force, excess)
    if excess > s.peak:
        s.peak_ns = t_ns
        s.peak = excess
        put(s.peak_force, three(force))
    s.clipped = s.clipped or sample.clipping >> 3 != 0
    if high or s.last_excess >= RELEASE * p.threshold_m_s2:
        put(s.change, three(s.pending))
    if high:
        s.last_high_ns = t_ns
    if s.phase == RISING and (excess > p.threshold_m_s2 or jerked):
        s.phase = HIT
        s.certain_ns = t_ns
    if s.phase == RISING and not high:
        s.phase = IDLE
        return False
    over = not high and seconds(t_ns, s.last_high_ns) > p.merge_s
    if over or seconds(t_ns, s.first_ns) >= p.longest_s:
        return finish(s, event, 0 if over else CUT_SHORT)
    return False


@kernel
def begin(s: ImpactMemory, t_ns: int) -> None:
    """Begin a candidate for an impact."""
    s.phase = RISING
    s.peak = 0.0
    clear(s.peak_force)
    clear(s.change)
    clear(s.pending)
    s.clipped = s.holed = False
    s.length = 0
    s.before = s.last_excess
    s.first_ns = s.last_high_ns = s.peak_ns = t_ns


@kernel
def add(s: ImpactMemory, dt: float, force: Vector, excess: float) -> None:
    """Integrate the specific force minus its mean (trapezoidal rule), and store the excess."""
    for k in range(3):
        s.pending[k] += dt * (0.5 * (force[k] + s.last[k]) - s.mean[k])
    at = s.length % KEPT
    s.excesses[at], s.steps[at] = excess, dt
    s.length += 1


@kernel
def width(s: ImpactMemory) -> float:
    """Return the time of the excess above half of its peak, with linear interpolation."""
    first = max(s.length - KEPT, 0)
    half = 0.5 * s.peak
    total = 0.0
    last = s.before if first == 0 else 0.0
    for number in range(first, s.length):
        here, dt = s.excesses[number % KEPT], s.steps[number % KEPT]
        above = 1.0 if here >= half else 0.0
        if (last >= half) != (here >= half):
            above = (max(last, here) - half) / abs(here - last)
        total += above * dt
        last = here
    return total


@kernel
def finish(s: ImpactMemory, event: ImpactEvent, flags: int) -> bool:
    """Write the impact, and wait for the next."""
    s.phase = IDLE
    x, y, z = three(s.peak_force)
    dx, dy, dz = x - s.mean[0], y - s.mean[1], z - s.mean[2]
    jump = max(math.sqrt(square((dx, dy, dz))), 1e-9)
    event.peak_m_s2 = math.sqrt(square(s.peak_force))
    event.peak_x_m_s2, event.peak_y_m_s2, event.peak_z_m_s2 = x, y, z
    event.excess_m_s2 = s.peak
    event.peak_after_s = seconds(s.peak_ns, s.first_ns)
    event.direction_x, event.direction_y, event.direction_z = dx / jump, dy / jump, dz / jump
    event.delta_velocity_x_m_s = s.change[0]
    event.delta_velocity_y_m_s = s.change[1]
    event.delta_velocity_z_m_s = s.change[2]
    event.half_duration_s = width(s)
    event.bandwidth_hz = 0.5 / s.clock.interval
    flags += CLIPPED * s.clipped + GAP * s.holed
    return complete(event, s.first_ns, s.last_high_ns, s.certain_ns, 0, flags)


@kernel
def close(s: ImpactMemory, _p: ImpactParams, event: ImpactEvent) -> bool:
    """Write the impact if it is certain, and wait for the next."""
    if s.phase == HIT:
        return finish(s, event, 0 if s.holed else OPEN)
    s.phase = IDLE
    return False


step = bind(take_in_order, proceed=proceed, close=close, forget=forget)


class ImpactDetector(Detector[ImpactParams]):
    """Detect impacts, and measure peak, direction and change of velocity.

    Latency: none to certainty (``t_decided_ns``); the event is complete ``merge_s`` (50 ms) after
    its last sample, at the latest ``longest_s`` after its first.

    Peaks depend on the bandwidth of the sensor, and are missed at low rates; the change of
    velocity is comparable between sensors.

    ============================  =============================================================
    value                         meaning
    ============================  =============================================================
    peak_m_s2                     norm of the specific force at the peak
    peak_{x,y,z}_m_s2             the same as a vector [FLU]
    excess_m_s2                   its norm minus the low-passed norm
    peak_after_s                  time of the peak after the start
    direction_{x,y,z}             unit vector of the change of specific force at the peak [FLU]
    delta_velocity_{x,y,z}_m_s    integral of the specific force minus its mean before [FLU]
    half_duration_s               time above half of the excess
    bandwidth_hz                  half of the sampling rate
    ============================  =============================================================

    ============  =============================================================================
    flag          meaning
    ============  =============================================================================
    clipped       the accelerometer was saturated: peak and change of velocity are lower bounds
    gap           a gap in the data ended it
    cut           it was longer than ``longest_s``
    open          the data end during it
    ============  =============================================================================

    Parameters
    ----------
    params : ImpactParams, optional
    compiled : bool, optional
        As in :class:`~strapdown.detection.Detector`.
    """

    NAME = "impact"
    PARAMS = ImpactParams
    FLAGS = ("clipped", "gap", "cut", "open")
    MEMORY = ImpactMemory
    EVENT = ImpactEvent
    STEP = step
    CLOSE = close
