"""Voting among sensors that measure the same, cycle by cycle.

``rows`` holds a row for each quantity (0 angular velocity, 1 specific force) and sensor, quantity
first; ``shared`` what belongs to a quantity, and last what belongs to the body; ``account`` stamps.
All values are finite: a reading that is not is left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.intake._kernels import GAP_FLOOR_S, MAX_FORCE, MAX_RATE, gap_after

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

BORROWS = True

# rows
STATE: Final = 0
OVER: Final = 1  # time over the limit, less the time since [s]
INSIDE: Final = 2  # time inside half the limit [s]
FAST: Final = 3  # residual through the fast low-pass, and through the slow one
SLOW: Final = 6
POWER: Final = 9  # half the squares of its changes, a noise, through the fast low-pass
CROSS: Final = 12  # product of residual and value through the same
OWN: Final = 13  # value of the sensor through the same
OWN_POWER: Final = 16  # its squares about that
LAST: Final = 17  # its value before
RUN: Final = 20  # equal values in a row
EXCESS: Final = 21  # statistics over their limits, the largest
RESIDUAL: Final = 22  # of the cycle before
CALM: Final = 25  # value of the sensor through the slow low-pass
ROW: Final = 28

# shared, for each quantity
NEAR: Final = 0  # the voted value through the fast low-pass, and through the slow one
FAR: Final = 3
SIZE: Final = 6  # its square through the fast one, and half the square of its changes
CHANGE: Final = 7
MIDDLE: Final = 8  # the voted value of the cycle before
SELECTED: Final = 11
HOLD: Final = 12  # time since the selection changed [s]
APART: Final = 13  # time for which two disagree [s]
SHARED: Final = 14
# and after both
TURN: Final = 2 * SHARED  # voted angular velocity, and its derivative
ALPHA: Final = TURN + 3
INTERVAL: Final = TURN + 6  # running mean [s]
CYCLES: Final = TURN + 7
FAST_GAIN: Final = TURN + 8  # of the low-passes in this cycle
SLOW_GAIN: Final = TURN + 9
SHARED_SIZE: Final = TURN + 10

# account
COMMON_NS: Final = 0
DROPPED: Final = 1  # cycles without a new stamp
RESTARTS: Final = 2
FIRST_STAMP: Final = 3  # then the last stamp of each sensor, and how often it was missing

# settings
FAST_S: Final = 0
SLOW_S: Final = 1
GYRO_BIAS: Final = 2
ACCEL_BIAS: Final = 3
SCALE: Final = 4
SUSPECT_S: Final = 5
FAILED_S: Final = 6
RECOVER_S: Final = 7
HOLD_S: Final = 8
GRAVITY: Final = 9
BLENDS: Final = 10
NOISE_FREE: Final = 11

OK: Final = 0.0
SUSPECT: Final = 1.0
FAILED: Final = 2.0

# what is logged: stamp, kind, quantity, sensor
SUSPECTED: Final = 0
HAS_FAILED: Final = 1
CLEARED: Final = 2
RECOVERED: Final = 3
IS_SELECTED: Final = 4
DISAGREE: Final = 5
AGREE: Final = 6
LOG: Final = 4

MULTIPLE: Final = 4.0  # of sigma in a limit
GUARD: Final = 3.0  # sigmas from the median that an output may be
STUCK_RUN: Final = 8.0
FAR_OVER: Final = 1e30
UNKNOWN: Final = -1  # which of two is wrong
EQUAL: Final = -2  # neither
RESTART_S: Final = 1.0
WAIT_INTERVALS: Final = 1.5  # so long other sensors wait for one
ALPHA_S: Final = 0.02  # low-pass of the angular acceleration
STILL_FORCE: Final = 0.2  # m/s^2 between fast and slow mean: the direction of gravity stays
NOISIER: Final = 4.0  # times the power of the other of two
MANY: Final = 20.0  # intervals in the mean


def cycle(
    rows: FloatArray,
    shared: FloatArray,
    account: IntArray,
    settings: FloatArray,
    noise: FloatArray,
    rank: IntArray,
    mounts: FloatArray,
    before: FloatArray,
    stamps: IntArray,
    readings: FloatArray,
    here: FloatArray,
    output: FloatArray,
    log: IntArray,
) -> int:
    """Vote on a reading of each sensor; return the number of changes that were logged.

    ``readings`` (n, 6) are in sensor axes, NaN where missing. ``before`` are those of the cycle
    before, ``here`` (n, 7) is scratch, ``output`` (6) the voted values.
    """
    n = len(stamps)
    dt = align(shared, account, before, stamps, readings, here)
    if dt < 0.0:
        return 0
    shared[FAST_GAIN] = -math.expm1(-dt / settings[FAST_S])
    shared[SLOW_GAIN] = -math.expm1(-dt / settings[SLOW_S])
    for i in range(n):
        mount(mounts[i], here[i])
    found = vote(rows, shared, account, settings, noise, rank, here, output, log, 0, 0, dt)
    differentiate(shared, output, dt)
    for i in range(n):
        move(mounts[i], shared, here[i])
    return vote(rows, shared, account, settings, noise, rank, here, output, log, 1, found, dt)


def align(
    shared: FloatArray,
    account: IntArray,
    before: FloatArray,
    stamps: IntArray,
    readings: FloatArray,
    here: FloatArray,
) -> float:
    """Bring readings to a common stamp; return the time step, negative if there is none."""
    n = len(stamps)
    latest = stamps[0]
    for i in range(n):
        latest = max(latest, stamps[i])
    limit = WAIT_INTERVALS * shared[INTERVAL] if shared[CYCLES] > 2.0 else GAP_FLOOR_S
    common = latest
    for i in range(n):
        if (latest - stamps[i]) * 1e-9 <= limit:
            common = min(common, stamps[i])
    apart = (common - account[COMMON_NS]) * 1e-9
    dt = float(apart)
    if shared[CYCLES] == 0.0 or apart < -RESTART_S or apart > RESTART_S:
        account[RESTARTS] += shared[CYCLES] > 0.0
        shared[CYCLES] = 1.0
        dt = 0.0
        for i in range(n):
            account[FIRST_STAMP + i] = stamps[i]
            for k in range(6):
                before[i, k] = readings[i, k]
    elif apart <= 0.0:
        account[DROPPED] += 1
        return -1.0
    else:
        shared[CYCLES] = min(shared[CYCLES] + 1.0, MANY)
        regular = min(dt, 2.0 * shared[INTERVAL]) if shared[CYCLES] > 2.0 else dt
        shared[INTERVAL] += (regular - shared[INTERVAL]) / (shared[CYCLES] - 1.0)
        dt = min(dt, gap_after(shared[INTERVAL]))
    account[COMMON_NS] = common
    for i in range(n):
        last = account[FIRST_STAMP + i]
        span = (stamps[i] - last) * 1e-9
        part = (common - last) * 1e-9 / span if span > 0.0 else 1.0
        absent = (latest - stamps[i]) * 1e-9 > limit
        for k in range(6):
            new = readings[i, k]
            mixed = before[i, k] + part * (new - before[i, k]) if 0.0 <= part < 1.0 else new
            here[i, k] = math.nan if absent else mixed
            before[i, k] = new
        account[FIRST_STAMP + i] = stamps[i]
    return dt


def mount(pose: FloatArray, values: FloatArray) -> None:
    """Turn a reading into body axes by the matrix that the first nine numbers are."""
    for at in range(0, 6, 3):
        x, y, z = values[at], values[at + 1], values[at + 2]
        for k in range(3):
            values[at + k] = pose[3 * k] * x + pose[3 * k + 1] * y + pose[3 * k + 2] * z


def differentiate(shared: FloatArray, output: FloatArray, dt: float) -> None:
    """Follow the voted angular velocity and its derivative."""
    if not math.isfinite(output[0] + output[1] + output[2]):
        return
    gain = -math.expm1(-dt / ALPHA_S)
    for k in range(3):
        if dt > 0.0:
            slope = (output[k] - shared[TURN + k]) / dt
            shared[ALPHA + k] += gain * (slope - shared[ALPHA + k])
        shared[TURN + k] = output[k]


def move(pose: FloatArray, shared: FloatArray, values: FloatArray) -> None:
    """Bring a specific force to the origin of the body, from the lever arm."""
    x, y, z = pose[9], pose[10], pose[11]
    if x == 0.0 and y == 0.0 and z == 0.0:
        return
    p, q, r = shared[TURN], shared[TURN + 1], shared[TURN + 2]
    a, b, c = shared[ALPHA], shared[ALPHA + 1], shared[ALPHA + 2]
    u, v, w = q * z - r * y, r * x - p * z, p * y - q * x
    values[3] -= b * z - c * y + q * w - r * v
    values[4] -= c * x - a * z + r * u - p * w
    values[5] -= a * y - b * x + p * v - q * u


def vote(
    rows: FloatArray,
    shared: FloatArray,
    account: IntArray,
    settings: FloatArray,
    noise: FloatArray,
    rank: IntArray,
    here: FloatArray,
    output: FloatArray,
    log: IntArray,
    q: int,
    found: int,
    dt: float,
) -> int:
    """Vote on a quantity: judge each sensor, then say what the body feels."""
    n, at, first = len(rank), 3 * q, q * len(rank)
    voters, total = count(rows, account, noise, here, q)
    for k in range(3):
        output[at + k] = middle(here, at + k, 2.0 if voters > 0 else 1.0)
    if voters > 0:
        follow(shared, q * SHARED, output, at)
    for i in range(n):
        judge(rows[first + i], shared, settings, here[i], output, q, voters, total, noise[q, i])
    blamed = settle(rows, settings, here, first, q) if voters == 2 else EQUAL
    found = note_disagreement(account, shared, settings, log, q, found, blamed == UNKNOWN, dt)
    for i in range(n):
        row = rows[first + i]
        over = row[EXCESS] > 1.0
        if blamed != EQUAL and here[i, 6] == 2.0:
            over = i == blamed
        over = over or (row[RUN] >= STUCK_RUN and settings[NOISE_FREE] == 0.0)
        found = advance(row, account, settings, log, q, i, found, over, dt)
    found = select(rows, account, shared, settings, rank, here, log, q, found, dt)
    give(rows, shared, settings, noise, here, output, q, voters)
    return found


def count(
    rows: FloatArray, account: IntArray, noise: FloatArray, here: FloatArray, q: int
) -> tuple[int, float]:
    """Mark sensors that vote by 2, others with a value by 1; count voters, sum variances."""
    n, at = len(here), 3 * q
    most = MAX_RATE if q == 0 else MAX_FORCE
    voters, total = 0, 0.0
    for i in range(n):
        x, y, z = here[i, at], here[i, at + 1], here[i, at + 2]
        valid = abs(x) < most and abs(y) < most and abs(z) < most
        account[FIRST_STAMP + (1 + q) * n + i] += not valid
        votes = valid and rows[q * n + i, STATE] != FAILED
        here[i, 6] = 2.0 if votes else 1.0 if valid else 0.0
        if votes:
            voters += 1
            total += noise[q, i] * noise[q, i]
    return voters, total


def judge(
    row: FloatArray,
    shared: FloatArray,
    settings: FloatArray,
    value: FloatArray,
    middles: FloatArray,
    q: int,
    voters: int,
    total: float,
    sigma: float,
) -> None:
    """Say how far over the limit a sensor is."""
    if value[6] == 0.0:
        row[EXCESS] = FAR_OVER
        return
    watch(row, shared, value, 3 * q)
    votes = value[6] == 2.0
    if votes and voters == 1:
        row[EXCESS] = 0.0  # nobody is left to compare it with
        for k in range(FAST, OWN):
            row[k] = 0.0
        return
    partners = votes and voters == 2
    # The median of three or more is about as noisy as half of a mean of squares says.
    variance = total if partners else sigma * sigma + 0.5 * total / max(voters, 1)
    double = 2.0 if partners else 1.0
    compare(row, shared, settings, q * SHARED, value, middles, 3 * q, double, variance)


def middle(here: FloatArray, column: int, least: float) -> float:
    """Return the median of a column over the sensors of at least this rank; NaN of none."""
    n, count = len(here), 0
    for i in range(n):
        count += here[i, 6] >= least
    low = high = math.nan
    for i in range(n):
        if here[i, 6] < least:
            continue
        value, below = here[i, column], 0
        for j in range(n):
            other = here[j, column]
            below += here[j, 6] >= least and (other < value or (other == value and j < i))
        if below == (count - 1) // 2:
            low = value
        if below == count // 2:
            high = value
    return 0.5 * (low + high)


def follow(shared: FloatArray, common: int, output: FloatArray, at: int) -> None:
    """Follow the middle of the sensors through both low-passes."""
    fast, slow = shared[FAST_GAIN], shared[SLOW_GAIN]
    square = change = 0.0
    for k in range(3):
        value = output[at + k]
        square += value * value
        step = value - shared[common + MIDDLE + k]
        change += 0.5 * step * step
        shared[common + MIDDLE + k] = value
        shared[common + NEAR + k] += fast * (value - shared[common + NEAR + k])
        shared[common + FAR + k] += slow * (value - shared[common + FAR + k])
    shared[common + SIZE] += fast * (square - shared[common + SIZE])
    shared[common + CHANGE] += fast * (change - shared[common + CHANGE])


def watch(row: FloatArray, shared: FloatArray, value: FloatArray, at: int) -> None:
    """Follow what a sensor shows by itself: its mean, its power, and values that repeat."""
    fast, slow = shared[FAST_GAIN], shared[SLOW_GAIN]
    if row[RUN] == 0.0:
        for k in range(3):
            row[OWN + k] = row[CALM + k] = value[at + k]
    same, power = True, 0.0
    for k in range(3):
        new = value[at + k]
        same = same and new == row[LAST + k]
        row[LAST + k] = new
        off = new - row[OWN + k]
        power += off * off
        row[OWN + k] += fast * off
        row[CALM + k] += slow * (new - row[CALM + k])
    row[OWN_POWER] += fast * (power - row[OWN_POWER])
    row[RUN] = row[RUN] + 1.0 if same else 1.0


def compare(
    row: FloatArray,
    shared: FloatArray,
    settings: FloatArray,
    common: int,
    value: FloatArray,
    middles: FloatArray,
    at: int,
    double: float,
    variance: float,
) -> None:
    """Compare a sensor with the middle of all, or with its partner: twice as far."""
    fast, slow = shared[FAST_GAIN], shared[SLOW_GAIN]
    near = far = power = cross = mean_square = 0.0
    for k in range(3):
        residual = double * (value[at + k] - middles[at + k])
        step = residual - row[RESIDUAL + k]
        row[RESIDUAL + k] = residual
        row[FAST + k] += fast * (residual - row[FAST + k])
        row[SLOW + k] += slow * (residual - row[SLOW + k])
        row[POWER + k] += fast * (0.5 * step * step - row[POWER + k])
        cross += residual * middles[at + k]
        near = max(near, abs(row[FAST + k]))
        far = max(far, abs(row[SLOW + k]))
        power = max(power, row[POWER + k])
        mean_square += shared[common + FAR + k] * shared[common + FAR + k]
    row[CROSS] += fast * (cross - row[CROSS])
    bias = settings[GYRO_BIAS + (common > 0)]
    size = math.sqrt(shared[common + SIZE])
    quiet = 0.5 * fast * variance  # of noise behind the low-pass
    by_scale = settings[SCALE] * size
    limit = MULTIPLE * math.sqrt(quiet + by_scale * by_scale) + bias
    calm = settings[SCALE] * math.sqrt(mean_square)
    slow_limit = MULTIPLE * math.sqrt(0.5 * slow * variance + calm * calm) + bias
    by_change = settings[SCALE] * settings[SCALE] * shared[common + CHANGE]
    noise_limit = MULTIPLE * math.sqrt(variance + by_change)
    excess = max(near / limit, far / slow_limit)
    if noise_limit > 0.0:
        excess = max(excess, math.sqrt(power) / noise_limit)
    if size > 0.0:
        along = max(2.0 * by_scale + MULTIPLE * math.sqrt(quiet), bias)
        excess = max(excess, abs(row[CROSS]) / size / along)
    row[EXCESS] = excess


def settle(
    rows: FloatArray,
    settings: FloatArray,
    here: FloatArray,
    first: int,
    q: int,
) -> int:
    """Return which of two that differ is wrong, UNKNOWN, or EQUAL if they do not differ."""
    one = other = -1
    for i in range(len(here)):
        if here[i, 6] == 2.0:
            one, other = (i, other) if one < 0 else (one, i)
    a, b = rows[first + one], rows[first + other]
    if max(a[EXCESS], b[EXCESS]) <= 1.0:
        return EQUAL
    wrong = UNKNOWN
    a_stuck, b_stuck = a[RUN] >= STUCK_RUN, b[RUN] >= STUCK_RUN
    off_a, off_b = distance(a, settings, q), distance(b, settings, q)
    bias = settings[GYRO_BIAS + q]
    if settings[NOISE_FREE] == 0.0 and a_stuck != b_stuck:
        wrong = one if a_stuck else other
    elif is_still(rows):
        if a[OWN_POWER] > NOISIER * b[OWN_POWER]:
            wrong = one
        elif b[OWN_POWER] > NOISIER * a[OWN_POWER]:
            wrong = other
        elif min(off_a, off_b) < 0.5 * bias and max(off_a, off_b) > bias:
            wrong = one if off_a > off_b else other
    return wrong


def is_still(rows: FloatArray) -> bool:
    """Say whether an accelerometer that is not stuck reads the same all the time."""
    n = len(rows) // 2
    for i in range(n, 2 * n):
        row, apart = rows[i], 0.0
        for k in range(3):
            change = row[OWN + k] - row[CALM + k]
            apart += change * change
        if row[STATE] != FAILED and row[RUN] < STUCK_RUN and apart < STILL_FORCE * STILL_FORCE:
            return True
    return False


def distance(row: FloatArray, settings: FloatArray, q: int) -> float:
    """Return how far a sensor is from what it should read at rest."""
    x, y, z = row[OWN], row[OWN + 1], row[OWN + 2]
    norm = math.sqrt(x * x + y * y + z * z)
    return norm if q == 0 else abs(norm - settings[GRAVITY])


def note_disagreement(
    account: IntArray,
    shared: FloatArray,
    settings: FloatArray,
    log: IntArray,
    q: int,
    found: int,
    disagrees: bool,
    dt: float,
) -> int:
    """Count for how long two have disagreed, and log when that begins and ends."""
    at = q * SHARED + APART
    before = shared[at]
    shared[at] = before + dt if disagrees else max(min(before, settings[FAILED_S]) - dt, 0.0)
    limit = settings[SUSPECT_S]
    if before < limit <= shared[at]:
        return write(log, found, account[COMMON_NS], DISAGREE, q, -1)
    if before >= limit > shared[at]:
        return write(log, found, account[COMMON_NS], AGREE, q, -1)
    return found


def advance(
    row: FloatArray,
    account: IntArray,
    settings: FloatArray,
    log: IntArray,
    q: int,
    sensor: int,
    found: int,
    over: bool,
    dt: float,
) -> int:
    """Change the state of a sensor as its time over the limit says."""
    now = account[COMMON_NS]
    nearly = 0.5 * dt  # times are sums of steps: do not miss a limit by a rounding
    if row[STATE] == FAILED:
        well = not over and row[EXCESS] < 0.5
        row[INSIDE] = row[INSIDE] + dt if well else 0.0
        if row[INSIDE] + nearly < settings[RECOVER_S]:
            return found
        row[STATE], row[OVER], row[INSIDE] = OK, 0.0, 0.0
        return write(log, found, now, RECOVERED, q, sensor)
    row[OVER] = row[OVER] + dt if over else max(row[OVER] - dt, 0.0)
    if row[OVER] + nearly >= settings[FAILED_S]:
        row[STATE], row[INSIDE] = FAILED, 0.0
        return write(log, found, now, HAS_FAILED, q, sensor)
    if row[STATE] == OK and row[OVER] + nearly >= settings[SUSPECT_S]:
        row[STATE] = SUSPECT
        return write(log, found, now, SUSPECTED, q, sensor)
    if row[STATE] == SUSPECT and row[OVER] == 0.0:
        row[STATE] = OK
        return write(log, found, now, CLEARED, q, sensor)
    return found


def select(
    rows: FloatArray,
    account: IntArray,
    shared: FloatArray,
    settings: FloatArray,
    rank: IntArray,
    here: FloatArray,
    log: IntArray,
    q: int,
    found: int,
    dt: float,
) -> int:
    """Select another sensor when the present one is not well."""
    at, n = q * SHARED, len(rank)
    shared[at + HOLD] += dt
    present = int(shared[at + SELECTED])
    state = rows[q * n + present, STATE]
    if state == OK or (state == SUSPECT and shared[at + HOLD] < settings[HOLD_S]):
        return found
    best = -1
    for i in range(n):
        well = rows[q * n + i, STATE] == OK and here[i, 6] == 2.0
        if well and (best < 0 or rank[i] < rank[best]):
            best = i
    if best < 0:
        return found
    shared[at + SELECTED] = best
    shared[at + HOLD] = 0.0
    return write(log, found, account[COMMON_NS], IS_SELECTED, q, best)


def give(
    rows: FloatArray,
    shared: FloatArray,
    settings: FloatArray,
    noise: FloatArray,
    here: FloatArray,
    output: FloatArray,
    q: int,
    voters: int,
) -> None:
    """Put out the selected sensor or the mean of all, not far from the middle of three or more.

    ``output`` holds the middle, which stays where the selected sensor has no value.
    """
    n, at, first = len(here), 3 * q, q * len(here)
    selected = int(shared[q * SHARED + SELECTED])
    for k in range(3):
        middle_value = output[at + k]
        total = weights = 0.0
        for i in range(n):
            mixes = settings[BLENDS] > 0.0 and rows[first + i, STATE] == OK
            if here[i, 6] < 1.0 or not (mixes or (settings[BLENDS] == 0.0 and i == selected)):
                continue
            sigma = noise[q, i]
            value = here[i, at + k]
            if voters >= 3:
                guard = GUARD * sigma
                value = min(max(value, middle_value - guard), middle_value + guard)
            total += value / (sigma * sigma)
            weights += 1.0 / (sigma * sigma)
        if weights > 0.0:
            output[at + k] = total / weights


def write(log: IntArray, found: int, t_ns: int, kind: int, q: int, sensor: int) -> int:
    """Log a change."""
    log[found, 0] = t_ns
    log[found, 1] = kind
    log[found, 2] = q
    log[found, 3] = sensor
    return found + 1


def run(
    rows: FloatArray,
    shared: FloatArray,
    account: IntArray,
    settings: FloatArray,
    noise: FloatArray,
    rank: IntArray,
    mounts: FloatArray,
    before: FloatArray,
    stamps: IntArray,
    readings: FloatArray,
    here: FloatArray,
    outputs: FloatArray,
    states: IntArray,
    selected: IntArray,
    log: IntArray,
    first: int,
    most: int,
) -> tuple[int, int]:
    """Vote on many cycles; return how far, and how many changes, when the log may run out."""
    found = 0
    for c in range(first, len(stamps)):
        if found + most > len(log):
            return c, found
        for k in range(6):  # a cycle without a new stamp leaves them as they were
            outputs[c, k] = outputs[max(c - 1, 0), k]
        found += cycle(
            rows, shared, account, settings, noise, rank, mounts, before, stamps[c], readings[c],
            here, outputs[c], log[found:],
        )  # fmt: skip
        for k in range(len(rows)):
            states[c, k] = int(rows[k, STATE])
        selected[c, 0] = int(shared[SELECTED])
        selected[c, 1] = int(shared[SHARED + SELECTED])
    return len(stamps), found
