"""What every recursive filter shares: the head of the state, the intake, the loop over samples.

A filter is three vectors. ``state`` (float) is all that its future depends on, ``account``
(int) the last stamp and what has been counted, ``settings`` (float) its parameters in the
order of their data class. Samples stand in FLU body axes, the world is ENU.

=====  ===============  ==================================================================
state  name             holds
=====  ===============  ==================================================================
0-3    ORIENTATION      q_world_from_body, x y z w
4-6    BIAS             gyro bias, subtracted from readings [rad/s, body]
7-9    BIAS_SIGMA       its standard deviation [rad/s]; -1 not known
10-15  COVARIANCE       of the orientation, as a rotation about the world's axes: xx xy xz yy
                        yz zz [rad^2, world]
16     AT_REST          1 while the sensor is at rest
17     DISTURBED        1 while the magnetic field is not the usual one
18     HEADING_OFFSET   heading of the magnetic world in that of the gyro [rad]
19     STEPS            intervals in the mean of the next, at most 20; -1 before any sample
20     INTERVAL         running mean of the sampling interval [s]
21-23  RATE             last usable angular velocity [rad/s, body]
24     HELD             how long it has stood in for unusable ones [s]
25     FORCE_WAIT       time since the last usable specific force [s]; -1 never
26     FIELD_WAIT       time since the last usable magnetic field [s]; -1 never
27     RATE_WAIT        time since the last usable angular velocity [s]; -1 never
28     SEEN             bits of the sensors that were usable at the last stamp
29...  OWN              what else the filter remembers
=====  ===============  ==================================================================
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown.geometry._kernels import quaternion_exp, quaternion_multiply
from strapdown.intake import _kernels as rule
from strapdown.intake._kernels import gap_after, tick, usable

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import BoolArray, FloatArray, IntArray

    step: Callable[..., None]  # the filter's own, bound when the loop is compiled

BORROWS = True

ORIENTATION: Final = 0
BIAS: Final = 4
BIAS_SIGMA: Final = 7
COVARIANCE: Final = 10
AT_REST: Final = 16
DISTURBED: Final = 17
HEADING_OFFSET: Final = 18
OUTPUTS: Final = 19  # so many values, from the first on, make a row of results
STEPS: Final = 19
INTERVAL: Final = 20
RATE: Final = 21
HELD: Final = 24
FORCE_WAIT: Final = 25
FIELD_WAIT: Final = 26
RATE_WAIT: Final = 27
SEEN: Final = 28
OWN: Final = 29

BRIDGE_S: Final = 1.0  # no hole is bridged, and no rate held, for longer
FRESH_HEAD: Final = tuple(
    {
        ORIENTATION + 3: 1.0,
        BIAS_SIGMA: -1.0,
        BIAS_SIGMA + 1: -1.0,
        BIAS_SIGMA + 2: -1.0,
        STEPS: -1.0,
        HELD: BRIDGE_S,
        FORCE_WAIT: -1.0,
        FIELD_WAIT: -1.0,
        RATE_WAIT: -1.0,
    }.get(i, 0.0)
    for i in range(OWN)
)

RESET_AFTER: Final = 0  # places in the settings: the parameters that all filters have
MEAN_SAMPLES: Final = 1
GYRO_RANGE: Final = 2
ACCEL_RANGE: Final = 3
OWN_SETTINGS: Final = 4

LAST_NS: Final = rule.LAST_NS  # places in the account; after it in the order of FilterReport
SAMPLES: Final = rule.SAMPLES
DUPLICATES: Final = rule.DUPLICATES
BACKWARD: Final = rule.BACKWARD
MERGED_SAMPLES: Final = 6
INVALID_RATE: Final = 7
INVALID_FORCE: Final = 8
INVALID_FIELD: Final = 9
CLIPPED_RATE: Final = 10
CLIPPED_FORCE: Final = 11
SILENT_RATE_NS: Final = 12
SILENT_FORCE_NS: Final = 13
SILENT_FIELD_NS: Final = 14
RESTARTS: Final = 15
ACCOUNT_SIZE: Final = 16
LONGEST: Final = (rule.LONGEST_GAP_NS, SILENT_RATE_NS, SILENT_FORCE_NS, SILENT_FIELD_NS)

# What a sample is for the filter.
DROPPED: Final = rule.DROPPED
START: Final = rule.START
STEP: Final = rule.STEP
MERGED: Final = rule.MERGED

MAX_RATE: Final = rule.MAX_RATE
MAX_FORCE: Final = rule.MAX_FORCE
MAX_FIELD: Final = rule.MAX_FIELD
MIN_FIELD: Final = rule.MIN_FIELD
GAP_INTERVALS: Final = rule.GAP_INTERVALS
GAP_FLOOR_S: Final = rule.GAP_FLOOR_S
AT_RANGE: Final = 0.999  # of the range: a reading so large is taken for a clipped one
LOST_SAMPLE: Final = 1.5  # a step of so many mean intervals lacks a sample

RATE_BIT: Final = 1  # of SEEN
FORCE_BIT: Final = 2
FIELD_BIT: Final = 4


class Step(NamedTuple):
    """A sample, as a filter takes it."""

    event: int  # DROPPED, START, STEP or MERGED
    dt: float  # seconds since the last sample; 0 at a start and when merged
    turn_x: float  # what the gyro measured over dt, bias included [rad, body]
    turn_y: float
    turn_z: float
    has_rate: bool
    has_force: bool
    has_field: bool
    clipped: int  # bits: gyro X=1 Y=2 Z=4, accelerometer X=8 Y=16 Z=32
    hole: float  # a hole in the rates that ends here, longer than a gap [s]; else 0
    force_wait: float  # since the last usable specific force, and magnetic field [s];
    field_wait: float  # 0 for the first


class Rows(NamedTuple):
    """Where a run writes: one array a column of the result."""

    orientation: FloatArray
    covariance: FloatArray
    bias: FloatArray
    at_rest: BoolArray
    disturbed: BoolArray
    bias_sigma: FloatArray
    heading_offset: FloatArray


def run(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    t_ns: IntArray,
    rate: FloatArray,
    force: FloatArray,
    field: FloatArray,
    clipped: IntArray,
    out: Rows,
) -> None:
    """Step through arrays of samples and write what is known after each."""
    for i in range(len(t_ns)):
        step(  # noqa: F821 (bound when the loop is compiled)
            state,
            account,
            settings,
            t_ns[i],
            rate[i, 0],
            rate[i, 1],
            rate[i, 2],
            force[i, 0],
            force[i, 1],
            force[i, 2],
            field[i, 0],
            field[i, 1],
            field[i, 2],
            clipped[i],
        )
        write(out, i, state)


def write(out: Rows, i: int, state: FloatArray) -> None:
    """Write the head of a state as row i of results."""
    for k in range(4):
        out.orientation[i, k] = state[ORIENTATION + k]
    for k in range(3):
        out.bias[i, k] = state[BIAS + k]
        out.bias_sigma[i, k] = state[BIAS_SIGMA + k]
        out.covariance[i, 0, k] = state[COVARIANCE + k]
        out.covariance[i, k, 0] = state[COVARIANCE + k]
    out.covariance[i, 1, 1] = state[COVARIANCE + 3]
    out.covariance[i, 1, 2] = out.covariance[i, 2, 1] = state[COVARIANCE + 4]
    out.covariance[i, 2, 2] = state[COVARIANCE + 5]
    out.at_rest[i] = state[AT_REST] > 0.0
    out.disturbed[i] = state[DISTURBED] > 0.0
    out.heading_offset[i] = state[HEADING_OFFSET]


def intake(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    t_ns: int,
    wx: float,
    wy: float,
    wz: float,
    ax: float,
    ay: float,
    az: float,
    mx: float,
    my: float,
    mz: float,
    clipped: int,
) -> Step:
    """Judge a sample: its clock, its vectors, and the turn since the one before."""
    has_rate = usable(wx, wy, wz, MAX_RATE)
    has_force = usable(ax, ay, az, MAX_FORCE)
    has_field = usable(mx, my, mz, MAX_FIELD) and mx * mx + my * my + mz * mz > MIN_FIELD**2
    seen = RATE_BIT * has_rate + FORCE_BIT * has_force + FIELD_BIT * has_field
    new = seen & ~int(state[SEEN])
    longest, running = gap_after(state[INTERVAL]), state[STEPS] >= 0.0
    event, dt = tick(state, account, STEPS, t_ns, settings[RESET_AFTER], new != 0)
    account[RESTARTS] += event == START and running
    account[MERGED_SAMPLES] += event == MERGED
    if event != MERGED:
        account[INVALID_RATE] += not has_rate
        account[INVALID_FORCE] += not has_force
        account[INVALID_FIELD] += not has_field and not is_absent(mx, my, mz)
    if event == DROPPED:
        return Step(DROPPED, 0.0, 0.0, 0.0, 0.0, False, False, False, 0, 0.0, 0.0, 0.0)
    if event == MERGED:
        old = int(state[SEEN])
        has_rate = has_rate and not old & RATE_BIT
        has_force = has_force and not old & FORCE_BIT
        has_field = has_field and not old & FIELD_BIT
        seen |= old
        # what was taken for unusable at this stamp was only late
        account[INVALID_RATE] -= has_rate
        account[INVALID_FORCE] -= has_force
    state[SEEN] = seen
    if event == START:
        state[HELD] = BRIDGE_S
    hole = state[HELD] + dt
    waited(state, account, RATE_WAIT, SILENT_RATE_NS, dt, has_rate)
    force_wait = waited(state, account, FORCE_WAIT, SILENT_FORCE_NS, dt, has_force)
    field_wait = waited(state, account, FIELD_WAIT, SILENT_FIELD_NS, dt, has_field)
    if has_rate:
        x, y, z = turn_to(state, dt, wx, wy, wz, settings[MEAN_SAMPLES] > 0.0)
    else:
        x, y, z = turn_on(state, dt)
    hole = hole if has_rate and event == STEP and hole > longest else 0.0
    if has_rate:
        clipped |= axes_at(AT_RANGE * settings[GYRO_RANGE], wx, wy, wz)
    if has_force:
        clipped |= axes_at(AT_RANGE * settings[ACCEL_RANGE], ax, ay, az) << 3
    account[CLIPPED_RATE] += clipped & 7 > 0
    account[CLIPPED_FORCE] += clipped & 56 > 0
    return Step(
        event, dt, x, y, z, has_rate, has_force, has_field, clipped, hole, force_wait, field_wait
    )


def waited(
    state: FloatArray, account: IntArray, wait: int, silence: int, dt: float, came: bool
) -> float:
    """Return the time since the last usable vector; ``came``: there is one again."""
    seconds = state[wait] + dt if state[wait] >= 0.0 else 0.0
    if came:
        account[silence] = max(account[silence], int(min(seconds, 9e9) * 1e9 + 0.5))
        state[wait] = 0.0
    elif state[wait] >= 0.0:
        state[wait] = seconds
    return seconds


def is_absent(x: float, y: float, z: float) -> bool:
    """Whether a vector is all NaN: a slower sensor did not measure at this stamp."""
    return math.isnan(x) and math.isnan(y) and math.isnan(z)


def axes_at(limit: float, x: float, y: float, z: float) -> int:
    """Return the bits of the axes that reach a limit."""
    return (abs(x) >= limit) + 2 * (abs(y) >= limit) + 4 * (abs(z) >= limit)


def turn_to(
    state: FloatArray, dt: float, wx: float, wy: float, wz: float, mean_samples: bool
) -> tuple[float, float, float]:
    """Return the turn up to a usable rate, less what has been turned on credit before it.

    The trapezoid of the last usable rate and this one; a mean says all about its own interval,
    and the trapezoid stands for the samples that are lost before it.
    """
    held = state[HELD]
    span = min(held + dt, BRIDGE_S)
    if held >= BRIDGE_S:
        new, old = min(dt, BRIDGE_S), 0.0
    else:
        known = 0.0
        if mean_samples:
            interval = state[INTERVAL]
            known = span if span < LOST_SAMPLE * interval else interval
        new = 0.5 * (span + known)
        old = 0.5 * (span - known) - held
    turn = (
        old * state[RATE] + new * wx,
        old * state[RATE + 1] + new * wy,
        old * state[RATE + 2] + new * wz,
    )
    state[RATE], state[RATE + 1], state[RATE + 2] = wx, wy, wz
    state[HELD] = 0.0
    return turn


def turn_on(state: FloatArray, dt: float) -> tuple[float, float, float]:
    """Return the turn at the last usable rate, on credit, and for a while only."""
    held = state[HELD]
    state[HELD] = held + dt
    span = max(min(held + dt, BRIDGE_S) - held, 0.0)
    return span * state[RATE], span * state[RATE + 1], span * state[RATE + 2]


def rotate_body(state: FloatArray, x: float, y: float, z: float) -> None:
    """Rotate the body by a rotation vector in its own axes."""
    store_orientation(
        state, *quaternion_multiply(*orientation(state), *quaternion_exp(0.5 * x, 0.5 * y, 0.5 * z))
    )


def turn_world(state: FloatArray, x: float, y: float, z: float, w: float) -> None:
    """Rotate the body by a unit quaternion in world axes."""
    store_orientation(state, *quaternion_multiply(x, y, z, w, *orientation(state)))


def orientation(state: FloatArray) -> tuple[float, float, float, float]:
    return (
        state[ORIENTATION],
        state[ORIENTATION + 1],
        state[ORIENTATION + 2],
        state[ORIENTATION + 3],
    )


def store_orientation(state: FloatArray, x: float, y: float, z: float, w: float) -> None:
    state[ORIENTATION], state[ORIENTATION + 1] = x, y
    state[ORIENTATION + 2], state[ORIENTATION + 3] = z, w


def normalise(state: FloatArray, px: float, py: float, pz: float, pw: float) -> None:
    """Make the orientation unit, of the sign that continues from the one before."""
    x, y, z, w = orientation(state)
    scale = 1.0 / math.sqrt(x * x + y * y + z * z + w * w)
    if x * px + y * py + z * pz + w * pw < 0.0:
        scale = -scale
    store_orientation(state, scale * x, scale * y, scale * z, scale * w)


def gain(wait: float, tau: float) -> float:
    """Weight of a new value in a first-order low-pass after ``wait`` seconds."""
    return -math.expm1(-wait / tau)


def opening_gain(age: float, wait: float, tau: float) -> float:
    """Weight of a new value in what begins as a plain mean and becomes a low-pass."""
    return max(gain(wait, tau), wait / (age + wait)) if age >= 0.0 else 1.0


def approach(state: FloatArray, at: int, weight: float, x: float, y: float, z: float) -> None:
    """Move a vector of the state towards a value."""
    state[at] += weight * (x - state[at])
    state[at + 1] += weight * (y - state[at + 1])
    state[at + 2] += weight * (z - state[at + 2])
