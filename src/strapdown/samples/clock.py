"""The clock of a stream of samples: one rule for steps, gaps, repeats and jumps."""

from __future__ import annotations

from typing import Final

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Record

# What a sample is by its stamp.
DROPPED: Final = 0  # it repeats or goes back: nothing to do
START: Final = 1  # the first, or the first after a jump of the clock
STEP: Final = 2
MERGED: Final = 3  # it repeats, and brings what was missing

GAP_INTERVALS: Final = 5.0  # a step longer than so many mean intervals is a gap, ...
GAP_FLOOR_S: Final = 0.02  # ... if it is also longer than this
MOST_STEPS: Final = 20.0  # intervals that the mean remembers
BACKWARD_RESTART_S: Final = 1.0


class Clock(Record):
    """What the past says of the next step."""

    steps: float = -1.0  # intervals in the mean, at most MOST_STEPS; -1 before any sample
    interval: float = 0.0  # running mean of the sampling interval [s]


class Counts(Record):
    """The stamp of the last sample that was taken, and what has been counted."""

    last_ns: int = 0
    samples: int = 0
    gaps: int = 0
    longest_gap_ns: int = 0
    duplicates: int = 0
    backward: int = 0
    restarts: int = 0


@kernel
def tick(
    clock: Clock, counts: Counts, t_ns: int, reset_after: float, merges: bool
) -> tuple[int, float]:
    """Count a sample; return what it is by its stamp, and the seconds since the one before.

    A sample of the same stamp that ``merges`` is taken. After a jump back by a second, or ahead
    by ``reset_after``, the clock starts anew.
    """
    counts.samples += 1
    previous, steps, interval = counts.last_ns, clock.steps, clock.interval
    apart = t_ns * 1e-9 - previous * 1e-9  # the exact difference may not fit in 64 bits
    if steps < 0.0 or apart < -BACKWARD_RESTART_S or apart > reset_after:
        counts.restarts += steps >= 0.0
        counts.last_ns = t_ns
        clock.steps = 0.0  # and the interval is learnt anew
        return START, 0.0
    if t_ns == previous and merges:
        return MERGED, 0.0
    if t_ns <= previous:
        counts.duplicates += t_ns == previous
        counts.backward += t_ns < previous
        return DROPPED, 0.0
    dt = (t_ns - previous) * 1e-9
    if steps == 1.0 and interval > gap_after(dt):
        count_gap(counts, int(interval * 1e9 + 0.5))  # the first step: only now it shows
        interval = dt
    elif steps > 0.0 and dt > gap_after(interval):
        count_gap(counts, t_ns - previous)
    counts.last_ns = t_ns
    clock.steps = min(steps + 1.0, MOST_STEPS)
    regular = min(dt, 2.0 * interval) if steps > 0.0 else dt
    clock.interval = interval + (regular - interval) / clock.steps
    return STEP, dt


@kernel
def gap_after(interval: float) -> float:
    """Return how long a step is at most that is no gap [s]."""
    return max(GAP_INTERVALS * interval, GAP_FLOOR_S)


@kernel
def count_gap(counts: Counts, gap_ns: int) -> None:
    """Count a gap."""
    counts.gaps += 1
    counts.longest_gap_ns = max(counts.longest_gap_ns, gap_ns)
