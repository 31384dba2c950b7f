"""How samples come in: one rule for the clock of a stream, and for the vectors that can be used.

Who takes samples keeps two numbers in its state, one after the other: how many intervals are in
their mean (-1 before any sample), and the mean [s]. Its account begins with the stamp of the last
sample that was taken and with what is counted here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import TypeAlias

    from strapdown._typing import FloatArray, IntArray

    Floats: TypeAlias = list[float] | FloatArray
    Ints: TypeAlias = list[int] | IntArray

BORROWS = True

FRESH_CLOCK: Final = (-1.0, 0.0)

# places in the account
LAST_NS: Final = 0
SAMPLES: Final = 1
GAPS: Final = 2
LONGEST_GAP_NS: Final = 3
DUPLICATES: Final = 4
BACKWARD: Final = 5

# what a sample is by its stamp
DROPPED: Final = 0  # it repeats or goes back: nothing to do
START: Final = 1  # the first, or the first after a jump of the clock
STEP: Final = 2
MERGED: Final = 3  # it repeats, and brings what was missing

# Beyond these no sensor measures, and far below them no arithmetic overflows.
MAX_RATE: Final = 1e4  # rad/s
MAX_FORCE: Final = 1e5  # m/s^2
MAX_FIELD: Final = 1e6  # T, or whatever unit the field comes in
MIN_FIELD: Final = 1e-9

GAP_INTERVALS: Final = 5.0  # a step longer than so many mean intervals is a gap, ...
GAP_FLOOR_S: Final = 0.02  # ... if it is also longer than this
MOST_STEPS: Final = 20.0  # intervals that the mean remembers
BACKWARD_RESTART_S: Final = 1.0


def tick(
    state: Floats, account: Ints, clock: int, t_ns: int, reset_after: float, merges: bool
) -> tuple[int, float]:
    """Count a sample; return what it is by its stamp, and the seconds since the one before.

    ``clock`` is the place of the clock in the state. A sample of the same stamp that ``merges`` is
    taken. After a jump back by a second, or ahead by ``reset_after``, the clock starts anew.
    """
    account[SAMPLES] += 1
    previous, steps, interval = account[LAST_NS], state[clock], state[clock + 1]
    apart = t_ns * 1e-9 - previous * 1e-9  # the exact difference may not fit in 64 bits
    if steps < 0.0 or apart < -BACKWARD_RESTART_S or apart > reset_after:
        account[LAST_NS] = t_ns
        state[clock] = 0.0  # and the interval is learnt anew
        return START, 0.0
    if t_ns == previous and merges:
        return MERGED, 0.0
    if t_ns <= previous:
        account[DUPLICATES] += t_ns == previous
        account[BACKWARD] += t_ns < previous
        return DROPPED, 0.0
    dt = (t_ns - previous) * 1e-9
    if steps == 1.0 and interval > gap_after(dt):
        count_gap(account, int(interval * 1e9 + 0.5))  # the first step: only now it shows
        interval = dt
    elif steps > 0.0 and dt > gap_after(interval):
        count_gap(account, t_ns - previous)
    account[LAST_NS] = t_ns
    state[clock] = min(steps + 1.0, MOST_STEPS)
    regular = min(dt, 2.0 * interval) if steps > 0.0 else dt
    state[clock + 1] = interval + (regular - interval) / state[clock]
    return STEP, dt


def gap_after(interval: float) -> float:
    """Return how long a step is at most that is no gap [s]."""
    return max(GAP_INTERVALS * interval, GAP_FLOOR_S)


def count_gap(account: Ints, gap_ns: int) -> None:
    """Count a gap."""
    account[GAPS] += 1
    account[LONGEST_GAP_NS] = max(account[LONGEST_GAP_NS], gap_ns)


def usable(x: float, y: float, z: float, limit: float) -> bool:
    """Whether a vector is finite and plausible (a comparison with NaN is false)."""
    return abs(x) < limit and abs(y) < limit and abs(z) < limit
