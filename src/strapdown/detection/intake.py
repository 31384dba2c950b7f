"""Intake of samples by detectors: clock and validity; completion of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Record
from strapdown.samples.clock import DROPPED, START, Clock, Counts, gap_after, tick
from strapdown.samples.sample import MAX_FORCE, MAX_RATE, Sample, usable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Settings: TypeAlias = Any  # record of the parameters of a detector
    Stretch: TypeAlias = Any  # a state whose ``active`` is true during a stretch
    proceed: Callable[..., bool]  # the detector's own
    close: Callable[..., bool]
    forget: Callable[..., None]
    finish: Callable[..., bool]

RESTART_AFTER_S: Final = 10.0  # after a longer gap another recording begins


class DetectorMemory(Record):
    """State of every detector; all values are finite."""

    clock: Clock = Clock()


class DetectorCounts(Counts):
    """Counts of the samples, with the fields of DetectorReport."""

    invalid_angular_velocity: int = 0
    invalid_specific_force: int = 0
    undecided: int = 0


class DetectorEvent(Record):
    """Event row of a sample; subclasses add the figures of the event, NaN where unknown."""

    complete: bool = False  # the sample completes an event, and the other fields are written
    start_ns: int = 0
    end_ns: int = 0
    decided_ns: int = 0
    kind: int = 0  # number in KINDS
    flags: int = 0  # bits in the order of FLAGS
    undecided: int = 0  # candidates with too few measurements


class Taken(NamedTuple):
    """Class, time step and validity of a sample."""

    event: int  # DROPPED, START (reset the detector) or STEP
    dt: float  # seconds since the last sample; 0 at a start
    has_rate: bool
    has_force: bool


@kernel
def take(s: DetectorMemory, counts: DetectorCounts, sample: Sample) -> Taken:
    """Count a sample; return its class, time step and validity."""
    has_rate = usable(sample.angular_velocity, MAX_RATE)
    has_force = usable(sample.specific_force, MAX_FORCE)
    counts.invalid_angular_velocity += not has_rate
    counts.invalid_specific_force += not has_force
    event, dt = tick(s.clock, counts, sample.t_ns, RESTART_AFTER_S, False)
    return Taken(event, dt, has_rate, has_force)


@kernel
def take_in_order(
    s: DetectorMemory, counts: DetectorCounts, p: Settings, sample: Sample, event: DetectorEvent
) -> bool:
    """Process a sample that is later than the last; a jump of the clock ends an open event."""
    taken = take(s, counts, sample)
    if taken.event == DROPPED:
        return False
    found = False
    event.undecided = 0
    if taken.event == START:
        found = close(s, p, event)  # noqa: F821 (these are bound by each detector)
        forget(s, sample.t_ns)  # noqa: F821
    found = proceed(s, p, sample, taken, event) or found  # noqa: F821
    counts.undecided += event.undecided
    return found


@kernel
def is_hole(s: DetectorMemory, wait: float) -> bool:
    """Whether there is a gap between values that are this many seconds apart."""
    return wait > gap_after(s.clock.interval)


@kernel
def seconds(later_ns: int, earlier_ns: int) -> float:
    """Return a time difference, correctly rounded: 100 ms give exactly 0.1."""
    return (later_ns - earlier_ns) / 1e9


@kernel
def complete(
    event: DetectorEvent, start_ns: int, end_ns: int, decided_ns: int, kind: int, flags: int
) -> bool:
    """Write an event, and return True."""
    event.start_ns, event.end_ns, event.decided_ns = start_ns, end_ns, decided_ns
    event.kind, event.flags = kind, flags
    return True


@kernel
def close_stretch(s: Stretch, _p: Settings, event: DetectorEvent) -> bool:
    """Write the event of an open stretch, if there is one, and wait for the next stretch."""
    return s.active and finish(s, event, True)  # noqa: F821 (bound by each detector)
