"""What every detector shares: the clock and the account of the samples, and the loop.

A detector is a function ``step(state, account, settings, event, values, t_ns, wx, wy, wz, ax,
ay, az, clipped)`` and a function ``close(state, account, settings, event, values)`` in its own
module of kernels, over lists in a stream of plain Python and over arrays when compiled.

* ``state`` (float, finite): begins with STEPS and INTERVAL of the clock; the detector's own
  part begins at OWN.
* ``account`` (int): the last stamp, what has been counted (in the order of
  :class:`~strapdown.detection.DetectorReport`), from OWN_ACCOUNT on the detector's own stamps.
* ``settings``: the fields of its parameters, in their order.
* ``event`` (int): START, END, DECIDED [ns], KIND (number in ``KINDS``), FLAGS (bits in the order
  of ``FLAGS``), and ``values``: in the order of ``VALUES``, NaN where not known. Both are
  written when an event is complete, and then ``step`` or ``close`` returns True.
* Vectors that were not measured are NaN. ``clipped`` are bits: gyro X1 Y2 Z4, accel X8 Y16 Z32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown.intake import _kernels as rule
from strapdown.intake._kernels import MAX_FORCE, MAX_RATE, gap_after, tick, usable

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray
    from strapdown.intake._kernels import Floats, Ints

STEPS: Final = 0  # intervals in the mean of the next, at most MOST_STEPS; -1 before any sample
INTERVAL: Final = 1  # running mean of the sampling interval [s]
OWN: Final = 2
FRESH_CLOCK: Final = rule.FRESH_CLOCK

LAST_NS: Final = rule.LAST_NS
SAMPLES: Final = rule.SAMPLES
INVALID_RATE: Final = 6
INVALID_FORCE: Final = 7
RESTARTS: Final = 8
UNDECIDED: Final = 9
OWN_ACCOUNT: Final = 10
FRESH_COUNTS: Final = (0,) * OWN_ACCOUNT

START: Final = 0
END: Final = 1
DECIDED: Final = 2
KIND: Final = 3
FLAGS: Final = 4
EVENT_SIZE: Final = 5

RESTART_AFTER_S: Final = 10.0  # a longer gap is no gap, but another recording

# what a sample is by its stamp
DROPPED: Final = rule.DROPPED
BEGIN: Final = rule.START  # forget what was before
NEXT: Final = rule.STEP


class Step(NamedTuple):
    """A sample, as the clock and the checks at the door see it."""

    event: int
    dt: float
    has_rate: bool
    has_force: bool


def take(
    state: Floats,
    account: Ints,
    t_ns: int,
    wx: float,
    wy: float,
    wz: float,
    ax: float,
    ay: float,
    az: float,
) -> Step:
    """Count a sample, and say what it is worth."""
    has_rate, has_force = usable(wx, wy, wz, MAX_RATE), usable(ax, ay, az, MAX_FORCE)
    account[INVALID_RATE] += not has_rate
    account[INVALID_FORCE] += not has_force
    running = state[STEPS] >= 0.0
    event, dt = tick(state, account, STEPS, t_ns, RESTART_AFTER_S, False)
    account[RESTARTS] += event == BEGIN and running
    return Step(event, dt, has_rate, has_force)


def is_hole(state: Floats, wait: float) -> bool:
    """Whether values that are so many seconds apart do not follow one another."""
    return wait > gap_after(state[INTERVAL])


def seconds(later_ns: int, earlier_ns: int) -> float:
    """Return a time difference, correctly rounded: 100 ms are what 0.1 means."""
    return (later_ns - earlier_ns) / 1e9


def record(event: Ints, start_ns: int, end_ns: int, decided_ns: int, kind: int, flags: int) -> bool:
    """Write an event, and say that there is one."""
    event[START] = start_ns
    event[END] = end_ns
    event[DECIDED] = decided_ns
    event[KIND] = kind
    event[FLAGS] = flags
    return True


def step(
    state: Floats,
    account: Ints,
    settings: Floats,
    event: Ints,
    values: Floats,
    t_ns: int,
    wx: float,
    wy: float,
    wz: float,
    ax: float,
    ay: float,
    az: float,
    clipped: int,
) -> bool:
    """Stand for the step of a detector, which is bound when the loop is compiled."""
    raise NotImplementedError


def run(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    t_ns: IntArray,
    rate: FloatArray,
    force: FloatArray,
    clipped: IntArray,
    first: int,
    events: IntArray,
    values: FloatArray,
) -> tuple[int, int]:
    """Step through arrays of samples; return how far, and how many events, when rows run out."""
    found = 0
    for i in range(first, len(t_ns)):
        if found == len(events):
            return i, found
        found += step(
            state,
            account,
            settings,
            events[found],
            values[found],
            t_ns[i],
            rate[i, 0],
            rate[i, 1],
            rate[i, 2],
            force[i, 0],
            force[i, 1],
            force[i, 2],
            clipped[i],
        )
    return len(t_ns), found
