"""Free fall of devices."""

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
from strapdown.geometry.vectors import add_to, clear, distance2, put, square, three
from strapdown.messages.imu import Imu
from strapdown.samples.params import MAY_BE_NEGATIVE, MAY_BE_ZERO
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown.detection.intake import Settings, Taken
    from strapdown.samples.sample import ImuSample, Sample

__all__ = ["FreeFallDetector", "FreeFallParams", "is_freefall"]


@dataclass(frozen=True)
class FreeFallParams(DetectorParams):
    """Parameters of the detector.

    Parameters
    ----------
    threshold_m_s2 : float
        A device falls while its specific force is below this. A higher value also finds falls
        of devices that rotate or have air drag, but mistakes swings of a hand for falls.
    turning_threshold_m_s2, turning_rate_rad_s, turning_spread_m_s2 : float
        Threshold while the device rotates faster than the rate, without a lever arm: away from
        the centre of mass a rotating device reads the centripetal acceleration. That is constant
        in free fall, so each sample has to be within the spread of the mean of those before it.
    min_duration_s : float
        Shortest fall; the latency. A fall of 0.1 s has a height of 5 cm.
    release_ratio : float
        A fall ends above this multiple of the threshold.
    bridge_s : float
        Longest spike, below an impact, that does not end a fall.
    push_m_s2, push_window_s : float
        A specific force above this, within this time before a fall, marks it as thrown.
    impact_m_s2, impact_window_s : float
        A specific force above this, within this time after a fall, is its impact.
    gravity_m_s2 : float
        Gravity for the computation of the height.
    lever_arm_m : tuple of 3 float, optional
        Position of the accelerometer from the centre of mass [FLU]. With it, and with a gyro,
        the centripetal acceleration is subtracted.

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
    bridge_s: float = field(default=0.01, metadata=MAY_BE_ZERO)
    push_m_s2: float = 1.5 * STANDARD_GRAVITY
    push_window_s: float = 0.3
    impact_m_s2: float = 3.0 * STANDARD_GRAVITY
    impact_window_s: float = 0.1
    gravity_m_s2: float = STANDARD_GRAVITY
    lever_arm_m: tuple[float, float, float] | None = field(default=None, metadata=MAY_BE_NEGATIVE)


# Phases: LOW is not yet long enough, ENDED waits for an impact.
IDLE, LOW, FALLING, ENDED = range(4)

LONG_AGO_S: Final = 1e6
RATE_KEPT_S: Final = 0.1  # age up to which the last angular velocity replaces a missing one

THROWN, HIT, CLIPPED, GAP, OPEN = 1, 2, 4, 8, 16  # flags


class FreeFallMemory(DetectorMemory):
    """Phase, and figures of the fall so far."""

    phase: int = IDLE
    wait: float = 0.0  # time since the last usable specific force, before this sample [s]
    since_push: float = LONG_AGO_S  # time since the specific force was above that of a push [s]
    rate: Vector = filled(3)  # last usable angular velocity [rad/s]
    rate_age: float = RATE_KEPT_S  # how old it is [s]; at most RATE_KEPT_S
    pushed: float = 0.0  # since_push at the start of this fall [s]
    before: float = 0.0  # half of the interval before its first sample [s]
    after: float = 0.0  # half of the interval after its last sample [s]; -1 not known
    first_ns: int = 0  # first and last low sample
    last_low_ns: int = 0
    kept_ns: int = 0  # last sample below the release
    certain_ns: int = 0
    least: float = 0.0  # smallest corrected specific force [m/s^2]
    samples: int = 0  # low ones, and sums over them:
    rest_sum: float = 0.0  # of corrected specific force,
    turned_sum: float = 0.0  # of the centripetal acceleration,
    rate_sum: float = 0.0  # of turn rate,
    force_sum: Vector = filled(3)  # of the vector
    peak: float = 0.0  # largest specific force after the end [m/s^2]
    holed: bool = False  # a gap in the data ended it
    hit_clipped: bool = False  # the accelerometer was saturated after the end


class FreeFallEvent(DetectorEvent):
    """A free fall."""

    fall_time_s: float = math.nan
    height_m: float = math.nan
    minimum_m_s2: float = math.nan
    mean_m_s2: float = math.nan
    rotation_m_s2: float = math.nan
    turn_rate_rad_s: float = math.nan
    impact_m_s2: float = math.nan


@kernel
def forget(s: FreeFallMemory, _t_ns: int) -> None:
    """Discard the previous samples."""
    s.since_push = LONG_AGO_S
    s.rate_age = RATE_KEPT_S
    s.wait = 0.0


@inlined_kernel
def proceed(
    s: FreeFallMemory, p: Settings, sample: Sample, taken: Taken, event: FreeFallEvent
) -> bool:
    """Process a sample; a fall is complete when the wait for its impact is over."""
    s.rate_age = min(s.rate_age + taken.dt, RATE_KEPT_S)
    s.since_push = min(s.since_push + taken.dt, LONG_AGO_S)
    s.wait += taken.dt
    if taken.has_rate:
        put(s.rate, three(sample.angular_velocity))
        s.rate_age = 0.0
    if not taken.has_force:
        return False
    force = sample.specific_force
    before = 0.0 if is_hole(s, s.wait) else 0.5 * s.wait
    s.wait = 0.0
    raw = math.sqrt(square(force))
    rest, turned = without_rotation(s, p, force)
    low = is_low(s, p, rest, force)
    if s.phase in (LOW, FALLING):
        follow(s, p, sample.t_ns, raw, rest, low, before)
    found = False
    if s.phase == ENDED and (low or seconds(sample.t_ns, s.last_low_ns) > p.impact_window_s):
        found = close(s, p, event)
    elif s.phase == ENDED:  # wait for the impact, but not into the next fall
        s.peak = max(s.peak, raw)
        s.hit_clipped = s.hit_clipped or sample.clipping >> 3 != 0
    if s.phase == IDLE and low:
        begin(s, sample.t_ns, before)
    if low:
        add(s, rest, turned, force)
    if raw > p.push_m_s2:
        s.since_push = 0.0
    return found


@kernel
def without_rotation(s: FreeFallMemory, p: Settings, force: Vector) -> tuple[float, float]:
    """Return |f - w x (w x r)|, the reading in the centre of mass, and |w x (w x r)|."""
    arm, rate = p.lever_arm_m, s.rate
    if math.isnan(arm[0]) or s.rate_age >= RATE_KEPT_S:
        return math.sqrt(square(force)), math.nan
    along, turn = rate[0] * arm[0] + rate[1] * arm[1] + rate[2] * arm[2], square(rate)
    inward = (
        rate[0] * along - arm[0] * turn,
        rate[1] * along - arm[1] * turn,
        rate[2] * along - arm[2] * turn,
    )
    return math.sqrt(distance2(force, inward)), math.sqrt(square(inward))


@kernel
def turn_rate(s: FreeFallMemory) -> float:
    """Return the norm of the last angular velocity, 0 if unknown."""
    return math.sqrt(square(s.rate)) if s.rate_age < RATE_KEPT_S else 0.0


@kernel
def is_low(s: FreeFallMemory, p: Settings, rest: float, force: Vector) -> bool:
    """Whether a sample is one of free fall.

    A device that spins steadily reads a constant vector away from its centre of mass: with an
    unknown lever arm the threshold is higher, if the sample is near the mean of the phase so far.
    In a swing of a hand it is not.
    """
    if rest < p.threshold_m_s2:
        return True
    if not math.isnan(p.lever_arm_m[0]) or rest >= p.turning_threshold_m_s2:
        return False
    if turn_rate(s) <= p.turning_rate_rad_s:
        return False
    if s.phase not in (LOW, FALLING):
        return True
    n, total = s.samples, s.force_sum
    off = distance2(force, (total[0] / n, total[1] / n, total[2] / n))
    return bool(off < p.turning_spread_m_s2 * p.turning_spread_m_s2)


@kernel
def begin(s: FreeFallMemory, t_ns: int, before: float) -> None:
    """Begin a candidate for a fall with this sample."""
    s.phase = LOW
    s.pushed = s.since_push
    s.before = before
    s.least = LONG_AGO_S
    s.samples = 0
    s.rest_sum = s.turned_sum = s.rate_sum = s.peak = 0.0
    clear(s.force_sum)
    s.holed = s.hit_clipped = False
    s.first_ns = t_ns
    keep(s, t_ns)


@kernel
def keep(s: FreeFallMemory, t_ns: int) -> None:
    """Extend the phase to this sample."""
    s.last_low_ns = s.kept_ns = t_ns
    s.after = -1.0


@kernel
def add(s: FreeFallMemory, rest: float, turned: float, force: Vector) -> None:
    """Add a low sample to the statistics of its phase."""
    s.least = min(s.least, rest)
    s.rest_sum += rest
    s.turned_sum += 0.0 if math.isnan(turned) else turned
    s.rate_sum += turn_rate(s)
    add_to(s.force_sum, three(force))
    s.samples += 1


@kernel
def follow(
    s: FreeFallMemory, p: Settings, t_ns: int, raw: float, rest: float, low: bool, before: float
) -> None:
    """Continue a low phase, or end it.

    Until the fall is certain, every sample has to be low; each counts for half of the intervals
    on both sides. Afterwards only an impact, a gap in the data, or a stretch above the release
    ends it.
    """
    hole = before == 0.0
    over = not low and rest >= p.release_ratio * p.threshold_m_s2
    if s.after < 0.0 and not low:
        s.after = before
    if s.phase == LOW:
        if hole or not low:
            s.phase = IDLE
            return
    elif hole or raw >= p.impact_m_s2 or (over and seconds(t_ns, s.kept_ns) > p.bridge_s):
        s.holed = hole
        s.phase = ENDED
        return
    if low:
        keep(s, t_ns)
    elif not over:
        s.kept_ns = t_ns
    lasted = seconds(t_ns, s.first_ns) + s.before + before
    if s.phase == LOW and lasted >= p.min_duration_s:
        s.phase = FALLING
        s.certain_ns = t_ns


@kernel
def close(s: FreeFallMemory, p: Settings, event: FreeFallEvent) -> bool:
    """Write the fall if it is certain, and wait for the next."""
    phase = s.phase
    s.phase = IDLE
    if phase < FALLING:
        return False
    hit = s.peak >= p.impact_m_s2
    flags = (
        THROWN * (s.pushed <= p.push_window_s)
        + HIT * hit
        + CLIPPED * s.hit_clipped
        + GAP * s.holed
        + OPEN * (phase == FALLING)
    )
    lasted = seconds(s.last_low_ns, s.first_ns) + s.before + max(s.after, 0.0)
    event.fall_time_s = lasted
    event.height_m = 0.5 * p.gravity_m_s2 * lasted * lasted
    event.minimum_m_s2 = s.least
    event.mean_m_s2 = s.rest_sum / s.samples
    event.rotation_m_s2 = s.turned_sum / s.samples
    if math.isnan(p.lever_arm_m[0]):
        event.rotation_m_s2 = math.nan
    event.turn_rate_rad_s = s.rate_sum / s.samples
    event.impact_m_s2 = s.peak if hit else math.nan
    return complete(event, s.first_ns, s.last_low_ns, s.certain_ns, 0, flags)


step = bind(take_in_order, proceed=proceed, close=close, forget=forget)


class FreeFallDetector(Detector[FreeFallParams]):
    """Detect free fall of a device: its specific force is small for some time.

    Latency: ``min_duration_s`` (0.1 s) from its first sample to certainty, when :attr:`falling`
    becomes true (``t_decided_ns``). The event itself, with its height, is complete after the fall
    and the wait for its impact (``impact_window_s``).

    Events ``free_fall`` begin and end with the first and last low sample.

    ====================  =====================================================================
    value                 meaning
    ====================  =====================================================================
    fall_time_s           time without support: the sampling intervals at both ends count half
    height_m              ``g t^2 / 2``: height of a fall from rest
    minimum_m_s2          smallest specific force (of the centre of mass with a lever arm)
    mean_m_s2             mean of the same: due to air drag, bias and rotation
    rotation_m_s2         mean centripetal acceleration at the lever arm, subtracted
    turn_rate_rad_s       mean turn rate
    impact_m_s2           largest specific force after it, where there was an impact
    ====================  =====================================================================

    ============  =============================================================================
    flag          meaning
    ============  =============================================================================
    thrown        a push just before: ``height_m`` is not a drop, only a bound of the flight
    impact        an impact ended it: a drop
    clipped       the accelerometer was saturated then: ``impact_m_s2`` is a lower bound
    gap           a gap in the data ended it
    open          the data end during it
    ============  =============================================================================

    Parameters
    ----------
    params : FreeFallParams, optional
    compiled : bool, optional
        As in :class:`~strapdown.detection.Detector`.

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
    FLAGS = ("thrown", "impact", "clipped", "gap", "open")
    MEMORY = FreeFallMemory
    EVENT = FreeFallEvent
    STEP = step
    CLOSE = close

    @property
    def falling(self) -> bool:
        """Whether it is certain that the device falls now."""
        return bool(self._number("phase") == FALLING)


def is_freefall(sample: ImuSample | Imu, threshold: float = 1.0) -> bool:
    """Return whether the specific force of one sample is below a threshold: near-zero gravity.

    Correct only for an ideal sensor in free fall: one noisy sample can trigger it, an
    accelerometer bias of 0.1 g prevents it, and falling people hardly ever trigger it. Prefer
    :class:`FreeFallDetector` and :class:`~strapdown.detection.FallDetector`.

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
