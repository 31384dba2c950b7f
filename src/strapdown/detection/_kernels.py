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

if TYPE_CHECKING:
    from typing import TypeAlias

    from strapdown._typing import FloatArray, IntArray

    Floats: TypeAlias = list[float] | FloatArray
    Ints: TypeAlias = list[int] | IntArray

STEPS: Final = 0  # intervals in the mean of the next, at most MOST_STEPS; -1 before any sample
INTERVAL: Final = 1  # running mean of the sampling interval [s]
OWN: Final = 2
FRESH_CLOCK: Final = (-1.0, 0.0)

LAST_NS: Final = 0
SAMPLES: Final = 1
GAPS: Final = 2
LONGEST_GAP_NS: Final = 3
DUPLICATES: Final = 4
BACKWARD: Final = 5
INVALID_RATE: Final = 6
INVALID_FORCE: Final = 7
RESTARTS: Final = 8
UNDECIDED: Final = 9
OWN_ACCOUNT: Final = 10
FRESH_ACCOUNT: Final = (0,) * OWN_ACCOUNT

START: Final = 0
END: Final = 1
DECIDED: Final = 2
KIND: Final = 3
FLAGS: Final = 4
EVENT_SIZE: Final = 5

# Beyond these no sensor measures, and far below them no arithmetic overflows.
MAX_RATE: Final = 1e4  # rad/s
MAX_FORCE: Final = 1e5  # m/s^2

GAP_INTERVALS: Final = 5.0  # a step longer than so many mean intervals is a gap, ...
GAP_FLOOR_S: Final = 0.02  # ... if it is also longer than this
MOST_STEPS: Final = 20.0
BACKWARD_RESTART_S: Final = 1.0
FORWARD_RESTART_S: Final = 10.0

DROPPED: Final = 0  # a sample whose stamp repeats or goes back: nothing to do
BEGIN: Final = 1  # the first, or the first after a jump of the clock: forget what was before
NEXT: Final = 2


class Step(NamedTuple):
    """A sample, as the clock and the checks at the door see it."""

    event: int
    dt: float
    gap: bool
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
    has_rate = abs(wx) < MAX_RATE and abs(wy) < MAX_RATE and abs(wz) < MAX_RATE  # not NaN either
    has_force = abs(ax) < MAX_FORCE and abs(ay) < MAX_FORCE and abs(az) < MAX_FORCE
    account[SAMPLES] += 1
    account[INVALID_RATE] += not has_rate
    account[INVALID_FORCE] += not has_force
    previous, steps, interval = account[LAST_NS], state[STEPS], state[INTERVAL]
    apart = t_ns * 1e-9 - previous * 1e-9  # the exact difference may not fit in 64 bits
    if steps < 0.0 or apart < -BACKWARD_RESTART_S or apart > FORWARD_RESTART_S:
        account[RESTARTS] += steps >= 0.0
        account[LAST_NS] = t_ns
        state[STEPS] = 0.0
        return Step(BEGIN, 0.0, False, has_rate, has_force)
    if t_ns <= previous:
        account[DUPLICATES] += t_ns == previous
        account[BACKWARD] += t_ns < previous
        return Step(DROPPED, 0.0, False, has_rate, has_force)
    dt = (t_ns - previous) * 1e-9
    gap = steps > 0.0 and dt > max(GAP_INTERVALS * interval, GAP_FLOOR_S)
    if gap:
        account[GAPS] += 1
        account[LONGEST_GAP_NS] = max(account[LONGEST_GAP_NS], t_ns - previous)
    account[LAST_NS] = t_ns
    state[STEPS] = min(steps + 1.0, MOST_STEPS)
    regular = min(dt, 2.0 * interval) if steps > 0.0 else dt
    state[INTERVAL] = interval + (regular - interval) / state[STEPS]
    return Step(NEXT, dt, gap, has_rate, has_force)


def is_hole(state: Floats, wait: float) -> bool:
    """Whether values that are so many seconds apart do not follow one another."""
    return wait > max(GAP_INTERVALS * state[INTERVAL], GAP_FLOOR_S)


def seconds(later_ns: int, earlier_ns: int) -> float:
    """Return a time difference, correctly rounded: 100 ms are what 0.1 means."""
    return (later_ns - earlier_ns) / 1e9


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
