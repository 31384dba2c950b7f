"""What a detector makes of a sample: its clock, and what of it can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Record
from strapdown.samples.clock import DROPPED, START, Clock, Counts, gap_after, tick
from strapdown.samples.sample import MAX_FORCE, MAX_RATE, Sample, usable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Settings: TypeAlias = Any  # parameters of a detector, as kernels take them
    Stretch: TypeAlias = Any  # a memory in which ``active`` says that a stretch goes on
    proceed: Callable[..., bool]  # the detector's own
    close: Callable[..., bool]
    forget: Callable[..., None]
    finish: Callable[..., bool]

RESTART_AFTER_S: Final = 10.0  # a longer gap is no gap, but another recording


class DetectorMemory(Record):
    """What every detector remembers; all of it is finite."""

    clock: Clock = Clock()


class DetectorCounts(Counts):
    """An account of the samples, field by field as in DetectorReport."""

    invalid_angular_velocity: int = 0
    invalid_specific_force: int = 0
    undecided: int = 0


class DetectorEvent(Record):
    """What a detector has found with a sample; the figures of its events follow, NaN unknown."""

    complete: bool = False  # there is an event: all else is written
    start_ns: int = 0
    end_ns: int = 0
    decided_ns: int = 0
    kind: int = 0  # number in KINDS
    flags: int = 0  # bits in the order of FLAGS
    undecided: int = 0  # candidates of which too little was measured


class Taken(NamedTuple):
    """A sample, as a detector takes it; its vectors stay in the sample."""

    event: int  # DROPPED, START (forget what was before) or STEP
    dt: float  # seconds since the last sample; 0 at a start
    has_rate: bool
    has_force: bool


@kernel
def take(s: DetectorMemory, counts: DetectorCounts, sample: Sample) -> Taken:
    """Count a sample, and say what it is worth."""
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
    """Take a sample that is later than the last; a jump of the clock ends what is open."""
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
    """Whether values that are so many seconds apart do not follow one another."""
    return wait > gap_after(s.clock.interval)


@kernel
def seconds(later_ns: int, earlier_ns: int) -> float:
    """Return a time difference, correctly rounded: 100 ms are what 0.1 means."""
    return (later_ns - earlier_ns) / 1e9


@kernel
def complete(
    event: DetectorEvent, start_ns: int, end_ns: int, decided_ns: int, kind: int, flags: int
) -> bool:
    """Write an event, and say that there is one."""
    event.start_ns, event.end_ns, event.decided_ns = start_ns, end_ns, decided_ns
    event.kind, event.flags = kind, flags
    return True


@kernel
def close_stretch(s: Stretch, _p: Settings, event: DetectorEvent) -> bool:
    """Write the stretch that has not ended, if there is one, and wait for the next."""
    return s.active and finish(s, event, True)  # noqa: F821 (bound by each detector)
