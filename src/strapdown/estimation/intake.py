"""Input stage of the filters: clock, usable vectors, and the rotation between samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Matrix, Record, Vector, filled, vector, zeros
from strapdown.geometry.triples import plus, scaled
from strapdown.geometry.vectors import put, square, three
from strapdown.samples.clock import DROPPED, MERGED, START, STEP, Clock, Counts, gap_after, tick
from strapdown.samples.sample import MAX_FIELD, MAX_FORCE, MAX_RATE, MIN_FIELD, Sample, usable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import Three
    from strapdown.estimation.params import FilterParams

BRIDGE_S: Final = 1.0  # longest gap that is bridged, and longest time that a rate is held
AT_RANGE: Final = 0.999  # of the range: a larger reading counts as clipped
LOST_SAMPLE: Final = 1.5  # mean intervals; in a longer step a sample is missing

RATE_BIT: Final = 1  # bits of FilterMemory.seen
FORCE_BIT: Final = 2
FIELD_BIT: Final = 4


class FilterMemory(Record):
    """State common to all filters; samples are in FLU axes, the world is ENU."""

    orientation: Vector = vector(0.0, 0.0, 0.0, 1.0)  # q_world_from_body, x y z w
    gyro_bias: Vector = filled(3)  # subtracted from readings [rad/s, body]
    gyro_bias_sigma: Vector = filled(3, -1.0)  # [rad/s]; -1 not known
    covariance: Matrix = zeros(3, 3)  # of the orientation, about the world's axes [rad^2]
    at_rest: bool = False
    disturbed: bool = False  # the magnetic field differs from the usual one
    has_heading: bool = False  # heading refers to magnetic north, not to the start
    heading_offset: float = 0.0  # heading of the magnetic world in that of the gyro [rad]
    clock: Clock = Clock()
    last_rate: Vector = filled(3)  # last usable angular velocity [rad/s, body]
    rate_held: float = BRIDGE_S  # for how long it has replaced unusable ones [s]
    force_wait: float = -1.0  # time since the last usable specific force [s]; -1 never
    field_wait: float = -1.0  # the same of the magnetic field
    rate_wait: float = -1.0  # the same of the angular velocity
    seen: int = 0  # bits of the sensors with usable vectors at the last stamp


class FilterCounts(Counts):
    """Counts of the samples, with the fields of FilterReport."""

    merged: int = 0
    invalid_angular_velocity: int = 0
    invalid_specific_force: int = 0
    invalid_magnetic_field: int = 0
    clipped_angular_velocity: int = 0
    clipped_specific_force: int = 0
    silent_angular_velocity_ns: int = 0
    silent_specific_force_ns: int = 0
    silent_magnetic_field_ns: int = 0


class Intake(NamedTuple):
    """Classification of a sample; the vectors are in the sample itself."""

    event: int  # DROPPED, START, STEP or MERGED
    dt: float  # seconds since the last sample; 0 at a start and when merged
    turn: Three  # rotation measured by the gyro over dt, bias included [rad, body]
    has_rate: bool
    has_force: bool
    has_field: bool
    clipping: int  # bits: gyro X=1 Y=2 Z=4, accelerometer X=8 Y=16 Z=32
    hole: float  # length of a gap in the rates that ends here [s]; else 0
    force_wait: float  # since the last usable specific force, and magnetic field [s];
    field_wait: float  # 0 for the first


@kernel
def intake(s: FilterMemory, counts: FilterCounts, p: FilterParams, sample: Sample) -> Intake:
    """Check the stamp and the vectors of a sample, and compute the rotation since the last."""
    w, f, m = sample.angular_velocity, sample.specific_force, sample.magnetic_field
    has_rate, has_force = usable(w, MAX_RATE), usable(f, MAX_FORCE)
    has_field = usable(m, MAX_FIELD) and square(m) > MIN_FIELD * MIN_FIELD
    seen = RATE_BIT * has_rate + FORCE_BIT * has_force + FIELD_BIT * has_field
    new, longest = seen & ~s.seen, gap_after(s.clock.interval)
    event, dt = tick(s.clock, counts, sample.t_ns, p.reset_after, new != 0)
    if event == MERGED:
        counts.merged += 1
        has_rate = has_rate and not s.seen & RATE_BIT
        has_force = has_force and not s.seen & FORCE_BIT
        has_field = has_field and not s.seen & FIELD_BIT
        seen |= s.seen
        # the vectors counted as unusable at this stamp were only late
        counts.invalid_angular_velocity -= has_rate
        counts.invalid_specific_force -= has_force
    else:
        counts.invalid_angular_velocity += not has_rate
        counts.invalid_specific_force += not has_force
        counts.invalid_magnetic_field += not has_field and not is_absent(m)
    if event == DROPPED:
        return Intake(DROPPED, 0.0, (0.0, 0.0, 0.0), False, False, False, 0, 0.0, 0.0, 0.0)
    s.seen = seen
    if event == START:
        s.rate_held = BRIDGE_S
    hole = s.rate_held + dt
    force_wait, field_wait = wait_for_vectors(s, counts, dt, has_rate, has_force, has_field)
    turn = turn_to(s, dt, w, p.mean_samples) if has_rate else turn_on(s, dt)
    hole = hole if has_rate and event == STEP and hole > longest else 0.0
    clipping = sample.clipping
    if has_rate:
        clipping |= axes_at(AT_RANGE * p.gyro_range, w)
    if has_force:
        clipping |= axes_at(AT_RANGE * p.accel_range, f) << 3
    counts.clipped_angular_velocity += clipping & 7 > 0
    counts.clipped_specific_force += clipping & 56 > 0
    return Intake(
        event, dt, turn, has_rate, has_force, has_field, clipping, hole, force_wait, field_wait
    )


@kernel
def wait_for_vectors(
    s: FilterMemory,
    counts: FilterCounts,
    dt: float,
    has_rate: bool,
    has_force: bool,
    has_field: bool,
) -> tuple[float, float]:
    """Update the time since each sensor's last vector; return those of force and field."""
    rate_wait, s.rate_wait = waited(s.rate_wait, dt, has_rate)
    force_wait, s.force_wait = waited(s.force_wait, dt, has_force)
    field_wait, s.field_wait = waited(s.field_wait, dt, has_field)
    if has_rate:
        silent_ns = whole_ns(rate_wait)
        counts.silent_angular_velocity_ns = max(counts.silent_angular_velocity_ns, silent_ns)
    if has_force:
        silent_ns = whole_ns(force_wait)
        counts.silent_specific_force_ns = max(counts.silent_specific_force_ns, silent_ns)
    if has_field:
        silent_ns = whole_ns(field_wait)
        counts.silent_magnetic_field_ns = max(counts.silent_magnetic_field_ns, silent_ns)
    return force_wait, field_wait


@kernel
def waited(before: float, dt: float, came: bool) -> tuple[float, float]:
    """Return the time since the last usable vector, and its new value; ``came``: one is present."""
    seconds = before + dt if before >= 0.0 else 0.0
    if came:
        return seconds, 0.0
    return seconds, seconds if before >= 0.0 else before


@kernel
def whole_ns(seconds: float) -> int:
    """Return a time in nanoseconds, limited to 64 bits."""
    return int(min(seconds, 9e9) * 1e9 + 0.5)


@kernel
def is_absent(v: Sequence[float]) -> bool:
    """Whether a vector is all NaN: a slower sensor has no reading at this stamp."""
    return math.isnan(v[0]) and math.isnan(v[1]) and math.isnan(v[2])


@kernel
def axes_at(limit: float, v: Sequence[float]) -> int:
    """Return the bits of the axes that reach a limit."""
    return (abs(v[0]) >= limit) + 2 * (abs(v[1]) >= limit) + 4 * (abs(v[2]) >= limit)


@kernel
def turn_to(s: FilterMemory, dt: float, rate: Vector, mean_samples: bool) -> Three:
    """Return the rotation up to a usable rate, less the part integrated at the held rate.

    It is the trapezoid of the last usable rate and this one. A mean covers its own interval;
    the trapezoid then applies only to the lost samples before it.
    """
    held = s.rate_held
    span = min(held + dt, BRIDGE_S)
    if held >= BRIDGE_S:
        new, old = min(dt, BRIDGE_S), 0.0
    else:
        known = 0.0
        if mean_samples:
            interval = s.clock.interval
            known = span if span < LOST_SAMPLE * interval else interval
        new = 0.5 * (span + known)
        old = 0.5 * (span - known) - held
    last = s.last_rate
    turn = plus(scaled(three(last), old), three(rate), new)
    put(last, three(rate))
    s.rate_held = 0.0
    return turn


@kernel
def turn_on(s: FilterMemory, dt: float) -> Three:
    """Return the rotation at the held last usable rate, for up to BRIDGE_S."""
    held = s.rate_held
    s.rate_held = held + dt
    span = max(min(held + dt, BRIDGE_S) - held, 0.0)
    return scaled(three(s.last_rate), span)
