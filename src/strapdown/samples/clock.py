"""Clock of a stream of samples: one rule for steps, gaps, repeats and jumps."""

from __future__ import annotations

from typing import Final

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Record

# Classes of samples by their stamps.
DROPPED: Final = 0  # the stamp repeats or goes back: ignored
START: Final = 1  # the first, or the first after a jump of the clock
STEP: Final = 2
MERGED: Final = 3  # the stamp repeats, and the sample adds missing vectors

GAP_INTERVALS: Final = 5.0  # a step longer than this many mean intervals is a gap, ...
GAP_FLOOR_S: Final = 0.02  # ... if it is also longer than this
MOST_STEPS: Final = 20.0  # length of the running mean, in intervals
BACKWARD_RESTART_S: Final = 1.0


class Clock(Record):
    """Running mean of the sampling interval."""

    steps: float = -1.0  # intervals in the mean, at most MOST_STEPS; -1 before any sample
    interval: float = 0.0  # running mean of the sampling interval [s]


class Counts(Record):
    """Stamp of the last accepted sample, and counts."""

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
    """Count a sample; return its class by its stamp, and the seconds since the one before.

    A sample whose stamp repeats is accepted if ``merges``. After a jump back by more than a
    second, or ahead by more than ``reset_after`` seconds, the clock starts again.
    """
    counts.samples += 1
    previous, steps, interval = counts.last_ns, clock.steps, clock.interval
    apart = t_ns * 1e-9 - previous * 1e-9  # the exact difference may not fit in 64 bits
    if steps < 0.0 or apart < -BACKWARD_RESTART_S or apart > reset_after:
        counts.restarts += steps >= 0.0
        counts.last_ns = t_ns
        clock.steps = 0.0  # and the interval is estimated again
        return START, 0.0
    if t_ns == previous and merges:
        return MERGED, 0.0
    if t_ns <= previous:
        counts.duplicates += t_ns == previous
        counts.backward += t_ns < previous
        return DROPPED, 0.0
    dt = (t_ns - previous) * 1e-9
    if steps == 1.0 and interval > gap_after(dt):
        # the first step was a gap: only the second one shows it
        count_gap(counts, int(interval * 1e9 + 0.5))
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
    """Return the longest step that is not a gap [s]."""
    return max(GAP_INTERVALS * interval, GAP_FLOOR_S)


@kernel
def count_gap(counts: Counts, gap_ns: int) -> None:
    """Count a gap."""
    counts.gaps += 1
    counts.longest_gap_ns = max(counts.longest_gap_ns, gap_ns)
