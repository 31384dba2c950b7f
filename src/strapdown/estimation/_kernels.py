"""One sample into an orientation filter: plain floats, one flat state, ENU and FLU.

A filter is two vectors, lists in a streaming filter and arrays in a compiled run: ``state``
(float), all that its future depends on, and ``account`` (int), the last stamp and what has
been counted.

=====  ===============  ==================================================================
state  name             holds
=====  ===============  ==================================================================
0-3    ORIENTATION      q_world_from_body, x y z w
4      STEPS            intervals in the mean of the next, at most 20; -1 before any sample
5      INTERVAL         running mean of the sampling interval [s]
6-8    RATE             last usable angular velocity [rad/s]
9      HELD             how long it has stood in for unusable ones [s]; BRIDGE_S: given up
10-12  BIAS             gyro bias [rad/s, body]
13-15  SLOW_RATE        low-passed angular velocity [rad/s, body]
16-18  SLOW_FORCE       low-passed specific force [m/s^2, body]
19     REST             how long the sensor has been at rest [s]
20-22  FORCE            mean specific force, first pole [m/s^2, world]
23-25  UP               the same, second pole: the direction that is up
26     UP_AGE           how long UP has been averaged [s]; -1 never
27     UP_WAIT          time since the last usable specific force [s]
28     FIELD_NORTH      horizontal part of the usual magnetic field [as measured]
29     FIELD_UP         vertical part of it
30     FIELD_AGE        how long heading has been averaged [s]; -1 never
31     FIELD_WAIT       time since the last usable magnetic field [s]
=====  ===============  ==================================================================
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.geometry._kernels import quaternion_exp, quaternion_multiply, quaternion_rotate

if TYPE_CHECKING:
    from typing import TypeAlias

    from strapdown._typing import FloatArray, IntArray

    State: TypeAlias = list[float] | FloatArray
    Account: TypeAlias = list[int] | IntArray

ORIENTATION: Final = 0
STEPS: Final = 4
INTERVAL: Final = 5
RATE: Final = 6
HELD: Final = 9
BIAS: Final = 10
SLOW_RATE: Final = 13
SLOW_FORCE: Final = 16
REST: Final = 19
FORCE: Final = 20
UP: Final = 23
UP_AGE: Final = 26
UP_WAIT: Final = 27
FIELD_NORTH: Final = 28
FIELD_UP: Final = 29
FIELD_AGE: Final = 30
FIELD_WAIT: Final = 31

BRIDGE_S: Final = 1.0  # no hole is bridged, and no rate held, for longer
FRESH: Final = tuple(
    {ORIENTATION + 3: 1.0, STEPS: -1.0, HELD: BRIDGE_S, UP_AGE: -1.0, FIELD_AGE: -1.0}.get(i, 0.0)
    for i in range(FIELD_WAIT + 1)
)

LAST_NS: Final = 0  # places in the account; from 1 on in the order of FilterReport
SAMPLES: Final = 1
GAPS: Final = 2
LONGEST_GAP_NS: Final = 3
DUPLICATES: Final = 4
BACKWARD: Final = 5
INVALID_RATE: Final = 6
INVALID_FORCE: Final = 7
INVALID_FIELD: Final = 8
RESTARTS: Final = 9
ACCOUNT_SIZE: Final = 10

# Beyond these no sensor measures, and far below them no arithmetic overflows.
MAX_RATE: Final = 1e4  # rad/s
MAX_FORCE: Final = 1e5  # m/s^2
MAX_FIELD: Final = 1e6  # T, or whatever unit the field comes in
MIN_FIELD: Final = 1e-9

GAP_INTERVALS: Final = 5.0  # a step longer than so many mean intervals is a gap, ...
GAP_FLOOR_S: Final = 0.02  # ... if it is also longer than this
MOST_STEPS: Final = 20.0  # intervals that the mean remembers
BACKWARD_RESTART_S: Final = 1.0
LOOSE_S: Final = 0.5  # averaging time that is left after a hole
MIN_UP: Final = 1.0  # m/s^2; a mean specific force this small (free fall) has no direction

REST_RATE: Final = 2.0 * math.pi / 180.0  # rad/s, about the low-passed value; as in VQF
REST_FORCE: Final = 0.5  # m/s^2, likewise
REST_SMOOTHING_S: Final = 0.5
REST_AFTER_S: Final = 1.5
BIAS_S: Final = 1.0

FIELD_TOLERANCE: Final = 0.1  # of the usual field: that far away a sample counts half
FIELD_MEMORY_S: Final = 20.0


def complementary_run(
    state: FloatArray,
    account: IntArray,
    t_ns: IntArray,
    rate: FloatArray,
    force: FloatArray,
    field: FloatArray,
    tau_acc: float,
    tau_mag: float,
    bias_limit: float,
    reset_after: float,
    out: FloatArray,
) -> None:
    """Step through arrays of samples and write the orientation after each."""
    for i in range(len(t_ns)):
        complementary_step(
            state,
            account,
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
            tau_acc,
            tau_mag,
            bias_limit,
            reset_after,
        )
        for k in range(4):
            out[i, k] = state[ORIENTATION + k]


def complementary_step(
    state: State,
    account: Account,
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
    tau_acc: float,
    tau_mag: float,
    bias_limit: float,
    reset_after: float,
) -> None:
    """Predict by the gyro, then correct tilt by the accelerometer and heading by the field."""
    gap_after = max(GAP_INTERVALS * state[INTERVAL], GAP_FLOOR_S)
    dt = tick(state, account, t_ns, gap_after, reset_after)
    has_rate = usable(wx, wy, wz, MAX_RATE)
    has_force = usable(ax, ay, az, MAX_FORCE)
    has_field = usable(mx, my, mz, MAX_FIELD) and mx * mx + my * my + mz * mz > MIN_FIELD**2
    account[INVALID_RATE] += not has_rate
    account[INVALID_FORCE] += not has_force
    account[INVALID_FIELD] += not has_field and not is_absent(mx, my, mz)
    if dt < 0.0:
        return
    if dt == 0.0:
        forget(state)
    x, y, z, w = orientation(state)
    if has_rate:
        if state[HELD] + dt > gap_after:
            loosen(state)
        rotate_body(state, dt, wx, wy, wz)
    else:
        hold_rate(state, dt)
    state[UP_WAIT] = min(state[UP_WAIT] + dt, BRIDGE_S)
    state[FIELD_WAIT] = min(state[FIELD_WAIT] + dt, BRIDGE_S)
    if has_force:
        correct_tilt(state, ax, ay, az, tau_acc)
    if has_field:
        correct_heading(state, mx, my, mz, tau_mag)
    if has_rate and has_force:
        learn_bias(state, dt, wx, wy, wz, ax, ay, az, bias_limit)
    normalise(state, x, y, z, w)


def tick(state: State, account: Account, t_ns: int, gap_after: float, reset_after: float) -> float:
    """Return the seconds since the last sample: 0 for a start, -1 for a sample to drop."""
    previous, steps, interval = account[LAST_NS], state[STEPS], state[INTERVAL]
    account[SAMPLES] += 1
    apart = t_ns * 1e-9 - previous * 1e-9  # the exact difference may not fit in 64 bits
    if steps < 0.0 or apart < -BACKWARD_RESTART_S or apart > reset_after:
        account[RESTARTS] += steps >= 0.0
        account[LAST_NS] = t_ns
        state[STEPS] = max(steps, 0.0)
        return 0.0
    if t_ns <= previous:
        account[DUPLICATES] += t_ns == previous
        account[BACKWARD] += t_ns < previous
        return -1.0
    dt = (t_ns - previous) * 1e-9
    if steps == 1.0 and interval > max(GAP_INTERVALS * dt, GAP_FLOOR_S):
        count_gap(account, int(interval * 1e9 + 0.5))  # the first step: only now it shows
        interval = dt
    elif steps > 0.0 and dt > gap_after:
        count_gap(account, t_ns - previous)
    account[LAST_NS] = t_ns
    state[STEPS] = min(steps + 1.0, MOST_STEPS)
    regular = min(dt, 2.0 * interval) if steps > 0.0 else dt
    state[INTERVAL] = interval + (regular - interval) / state[STEPS]
    return dt


def count_gap(account: Account, gap_ns: int) -> None:
    """Count a gap."""
    account[GAPS] += 1
    account[LONGEST_GAP_NS] = max(account[LONGEST_GAP_NS], gap_ns)


def usable(x: float, y: float, z: float, limit: float) -> bool:
    """Whether a vector is finite and plausible (a comparison with NaN is false)."""
    return abs(x) < limit and abs(y) < limit and abs(z) < limit


def is_absent(x: float, y: float, z: float) -> bool:
    """Whether a vector is all NaN: a slower sensor did not measure at this stamp."""
    return math.isnan(x) and math.isnan(y) and math.isnan(z)


def forget(state: State) -> None:
    """Let the next usable samples set tilt and heading anew; what was calibrated stays."""
    state[HELD] = BRIDGE_S
    state[REST] = 0.0
    state[UP_AGE] = -1.0
    state[FIELD_AGE] = -1.0


def loosen(state: State) -> None:
    """After a hole in the rates: what happened in it is lost, so average anew."""
    state[REST] = 0.0
    state[UP_AGE] = min(state[UP_AGE], LOOSE_S)
    state[FIELD_AGE] = min(state[FIELD_AGE], LOOSE_S)


def orientation(state: State) -> tuple[float, float, float, float]:
    return (
        state[ORIENTATION],
        state[ORIENTATION + 1],
        state[ORIENTATION + 2],
        state[ORIENTATION + 3],
    )


def rotate_body(state: State, dt: float, wx: float, wy: float, wz: float) -> None:
    """Rotate by the trapezoid of the last usable rate and this one, back over what was held."""
    held = state[HELD]
    span = min(held + dt, BRIDGE_S)
    new = 0.5 * span if held < BRIDGE_S else min(dt, BRIDGE_S)
    old = 0.5 * span - held if held < BRIDGE_S else 0.0
    rotate_by(state, old, new, wx, wy, wz)
    state[RATE], state[RATE + 1], state[RATE + 2] = wx, wy, wz
    state[HELD] = 0.0


def hold_rate(state: State, dt: float) -> None:
    """Rotate on with the last usable rate, for a while."""
    held = state[HELD]
    state[HELD] = min(held + dt, BRIDGE_S)
    rotate_by(state, state[HELD] - held, 0.0, 0.0, 0.0, 0.0)


def rotate_by(state: State, old: float, new: float, wx: float, wy: float, wz: float) -> None:
    """Rotate the body for ``old`` seconds at the last rate and ``new`` seconds at this one."""
    span = old + new
    p = quaternion_exp(
        0.5 * (old * state[RATE] + new * wx - span * state[BIAS]),
        0.5 * (old * state[RATE + 1] + new * wy - span * state[BIAS + 1]),
        0.5 * (old * state[RATE + 2] + new * wz - span * state[BIAS + 2]),
    )
    store_orientation(state, *quaternion_multiply(*orientation(state), *p))


def correct_tilt(state: State, ax: float, ay: float, az: float, tau: float) -> None:
    """Turn the world by the smallest rotation that brings the mean specific force up.

    The mean is a vector mean in world axes: the accelerations of a motion that stays in
    place average out, as they would not in directions (D. Laidig, T. Seel, "VQF",
    Information Fusion 91, 2023). Two equal poles delay it by ``tau`` together.
    """
    age, wait, pole = state[UP_AGE], state[UP_WAIT], 0.5 * tau
    approach(
        state,
        FORCE,
        opening_gain(age, wait, pole),
        *quaternion_rotate(*orientation(state), ax, ay, az),
    )
    second = gain(wait, pole) if age >= tau else 1.0
    approach(state, UP, second, state[FORCE], state[FORCE + 1], state[FORCE + 2])
    state[UP_AGE] = aged(age, wait)
    state[UP_WAIT] = 0.0
    x, y, z = state[UP], state[UP + 1], state[UP + 2]
    norm = math.sqrt(x * x + y * y + z * z)
    if norm < MIN_UP:
        return
    w = norm + z
    scale = math.sqrt(x * x + y * y + w * w)
    if scale > 1e-12 * norm:
        turn_world(state, y / scale, -x / scale, 0.0, w / scale)
    else:
        turn_world(state, 1.0, 0.0, 0.0, 0.0)


def correct_heading(state: State, mx: float, my: float, mz: float, tau: float) -> None:
    """Turn the world about the vertical so that the horizontal field comes to point north.

    A field that differs from the usual one in strength or dip is disturbed and counts less.
    """
    age, wait = state[FIELD_AGE], state[FIELD_WAIT]
    east, north, up = quaternion_rotate(*orientation(state), mx, my, mz)
    level = math.hypot(east, north)
    memory = opening_gain(age, wait, FIELD_MEMORY_S)
    state[FIELD_NORTH] += memory * (level - state[FIELD_NORTH])
    state[FIELD_UP] += memory * (up - state[FIELD_UP])
    usual = state[FIELD_NORTH] ** 2 + state[FIELD_UP] ** 2
    strange = (level - state[FIELD_NORTH]) ** 2 + (up - state[FIELD_UP]) ** 2
    trust = FIELD_TOLERANCE**2 * usual / (FIELD_TOLERANCE**2 * usual + strange)
    angle = trust * opening_gain(age, wait, tau) * math.atan2(east, north)
    state[FIELD_AGE] = aged(age, wait)
    state[FIELD_WAIT] = 0.0
    turn_world(state, *quaternion_exp(0.0, 0.0, 0.5 * angle))


def learn_bias(
    state: State,
    dt: float,
    wx: float,
    wy: float,
    wz: float,
    ax: float,
    ay: float,
    az: float,
    limit: float,
) -> None:
    """At rest, found as VQF finds it, what the gyro still reads is its bias."""
    smooth = gain(dt, REST_SMOOTHING_S) if state[UP_AGE] > 0.0 else 1.0
    approach(state, SLOW_RATE, smooth, wx, wy, wz)
    approach(state, SLOW_FORCE, smooth, ax, ay, az)
    bx, by, bz = state[SLOW_RATE], state[SLOW_RATE + 1], state[SLOW_RATE + 2]
    shake = (wx - bx) ** 2 + (wy - by) ** 2 + (wz - bz) ** 2
    jolt = (
        (ax - state[SLOW_FORCE]) ** 2
        + (ay - state[SLOW_FORCE + 1]) ** 2
        + (az - state[SLOW_FORCE + 2]) ** 2
    )
    still = shake < REST_RATE**2 and jolt < REST_FORCE**2 and usable(bx, by, bz, limit)
    state[REST] = min(state[REST] + dt, REST_AFTER_S) if still else 0.0
    if state[REST] >= REST_AFTER_S:
        approach(state, BIAS, gain(dt, BIAS_S), bx, by, bz)


def gain(wait: float, tau: float) -> float:
    """Weight of a new value in a first-order low-pass after ``wait`` seconds."""
    return -math.expm1(-wait / tau)


def opening_gain(age: float, wait: float, tau: float) -> float:
    """Weight of a new value in what begins as a plain mean and becomes a low-pass."""
    return max(gain(wait, tau), wait / (age + wait)) if age >= 0.0 else 1.0


def aged(age: float, wait: float) -> float:
    return age + wait if age >= 0.0 else 0.0


def approach(state: State, at: int, weight: float, x: float, y: float, z: float) -> None:
    """Move a vector of the state towards a value."""
    state[at] += weight * (x - state[at])
    state[at + 1] += weight * (y - state[at + 1])
    state[at + 2] += weight * (z - state[at + 2])


def turn_world(state: State, x: float, y: float, z: float, w: float) -> None:
    """Turn everything that stands in world axes."""
    store_orientation(state, *quaternion_multiply(x, y, z, w, *orientation(state)))
    for at in (FORCE, UP):
        state[at], state[at + 1], state[at + 2] = quaternion_rotate(
            x, y, z, w, state[at], state[at + 1], state[at + 2]
        )


def store_orientation(state: State, x: float, y: float, z: float, w: float) -> None:
    state[ORIENTATION], state[ORIENTATION + 1], state[ORIENTATION + 2] = x, y, z
    state[ORIENTATION + 3] = w


def normalise(state: State, x: float, y: float, z: float, w: float) -> None:
    """Scale the orientation to length 1, on the side of the quaternion before it."""
    a, b, c, d = orientation(state)
    scale = 1.0 / math.sqrt(a * a + b * b + c * c + d * d)
    if a * x + b * y + c * z + d * w < 0.0:
        scale = -scale
    store_orientation(state, scale * a, scale * b, scale * c, scale * d)
