"""One sample into a VQF-class filter: orientation = heading * slow tilt correction * gyro.

D. Laidig, T. Seel, "VQF: Highly accurate IMU orientation estimation with bias estimation and
magnetic disturbance rejection", Information Fusion 91, 2023. What the state holds stands in
:mod:`strapdown.estimation.vqf.layout`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown.estimation._kernels import (
    AT_REST,
    BIAS,
    BIAS_SIGMA,
    BRIDGE_S,
    COVARIANCE,
    DISTURBED,
    DROPPED,
    GAP_INTERVALS,
    HEADING_OFFSET,
    HELD,
    MEAN_SAMPLES,
    ORIENTATION,
    OWN,
    RATE,
    RATE_WAIT,
    START,
    STEP,
    intake,
    store_orientation,
)
from strapdown.estimation.vqf.corrections._kernels import (
    DIAGONAL,
    FIELD_WORTH,
    FORCE_WORTH,
    NO_BASE,
    UNKNOWN,
    correct_heading,
    correct_tilt,
    design_for_field,
    design_for_force,
    design_for_rate,
    learn_bias,
    let_errors_grow,
    narrow_tilt,
    watch_force,
    watch_rate,
)
from strapdown.estimation.vqf.layout import (
    BASE,
    BIAS_SIGMA_START,
    BROKEN,
    FIELD_PACE,
    FIRST,
    FIRST_VECTORS,
    FORCE_PACE,
    FRAME,
    FRAME_SIZE,
    FRESH,
    GYRO,
    HALF,
    LEVEL,
    OPENING,
    PAUSE,
    RATE_PACE,
    REJECTED,
    REJECTION_TIME,
    REST,
    SLOW_FIELD,
    SLOW_FORCE,
    SLOW_RATE,
    SPREAD,
    TAU_ACC,
    TILT,
    UNSEEN,
)
from strapdown.estimation.vqf.parts._kernels import (
    average_anew,
    four,
    half_turn,
    store_four,
    unit,
)
from strapdown.geometry._kernels import (
    quaternion_multiply,
    quaternion_to_matrix,
)

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

INLINE = True
BORROWS = True

GUESS_S: Final = 0.01  # sampling interval, until the second sample tells

IMPACT: Final = 200.0  # m/s^2; what is beyond says nothing of up
DEAD_RATE: Final = 0.1  # rad/s; out of a turn as fast as this the rate is never exactly 0, ...
DEAD_INTERVALS: Final = 5.0  # ... unless it stays so

# After a turn was lost the averages begin anew, with as much of the old as is worth it.
LOOSE_ANGLE: Final = 0.05  # rad; a loss below it is not worth it
HOLE_LOSS: Final = 0.25  # of the turn in a hole, that the trapezoid misses
STEADY_S: Final = 0.12  # a rate goes straight on for about so long
PAUSE_TAUS: Final = 3.0  # times tau_acc, until tilt corrections tell of the bias again
CLIPPED_LOSS: Final = 1.0  # of the turn read by a clipped gyro, that it may have missed

# Of T^2 w0 x w1: where the rate goes straight from w0 to w1 in a hole T, the turn is not about
# the mean rate (second term of the Magnus expansion).
BEND: Final = 1.0 / 12.0


class Sample(NamedTuple):
    """What one sample brings, and how long each sensor has been waited for [s]."""

    event: int  # what it is for the intake
    dt: float
    turn_x: float
    turn_y: float
    turn_z: float
    rate_wait: float  # negative: no such vector
    wx: float
    wy: float
    wz: float
    force_wait: float
    ax: float
    ay: float
    az: float
    field_wait: float
    mx: float
    my: float
    mz: float


def step(
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
) -> None:
    """Turn by the gyro, correct tilt, learn the bias, correct heading."""
    take(state, account, settings, t_ns, wx, wy, wz, ax, ay, az, mx, my, mz, clipped, True)


def take(
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
    errors: bool,
) -> Sample:
    """Do what ``step`` does, and return what has been made of the sample.

    ``errors``: whether to follow the covariance of the orientation as well.
    """
    old_x, old_y, old_z = state[RATE], state[RATE + 1], state[RATE + 2]
    rate_wait = max(state[RATE_WAIT], 0.0)
    if is_dead(state, wx, wy, wz):
        wx = wy = wz = math.nan
    s = intake(state, account, settings, t_ns, wx, wy, wz, ax, ay, az, mx, my, mz, clipped)
    state[BROKEN] = 0.0
    # A zero specific force has no direction; that of an impact, or a clipped one, a wrong one.
    square = ax * ax + ay * ay + az * az
    has_force = s.has_force and s.clipped & 56 == 0 and 0.0 < square < IMPACT * IMPACT
    x, y, z = s.turn_x, s.turn_y, s.turn_z
    # Before the second sample there is no interval to compare a hole with.
    hole = s.hole if state[FIRST] == 0.0 else 0.0
    if hole > 0.0:
        bend = hole * hole * BEND
        x += bend * (old_y * wz - old_z * wy)
        y += bend * (old_z * wx - old_x * wz)
        z += bend * (old_x * wy - old_y * wx)
    sample = Sample(
        s.event,
        s.dt, x, y, z,
        rate_wait + s.dt if s.has_rate else -1.0, wx, wy, wz,
        s.force_wait if has_force else -1.0, ax, ay, az,
        s.field_wait if s.has_field else -1.0, mx, my, mz,
    )  # fmt: skip
    if s.event == DROPPED:
        return sample
    if s.event == START:
        begin(state, settings)
    elif s.event == STEP and s.has_rate:
        notice_loss(state, settings, hole, sample, s.clipped, wx - old_x, wy - old_y, wz - old_z)
    px, py, pz, pw = four(state, ORIENTATION)
    again = state[FIRST] > 0.0 and s.event == STEP
    if again:
        restart(state, settings, s.dt)
    elif state[FIRST] > 0.0:
        remember(state, sample)
    for turn in range(0 if again else 1, 2):
        p = remembered(state, settings, s.dt) if turn == 0 else sample
        advance(state, settings, p, errors)
    x, y, z, w = four(state, ORIENTATION)
    if x * px + y * py + z * pz + w * pw < 0.0:  # the same rotation, of the sign that continues
        store_orientation(state, -x, -y, -z, -w)
    return sample


def is_dead(state: FloatArray, wx: float, wy: float, wz: float) -> bool:
    """Whether a rate is exactly 0 out of a turn: it was not read, as no gyro stops so suddenly."""
    x, y, z = state[RATE], state[RATE + 1], state[RATE + 2]
    turning = x * x + y * y + z * z > DEAD_RATE * DEAD_RATE
    short = state[HELD] < DEAD_INTERVALS * state[RATE_PACE]
    return bool(wx == 0.0 and wy == 0.0 and wz == 0.0 and turning and short)


def begin(state: FloatArray, settings: FloatArray) -> None:
    """Let the next usable samples set tilt and heading anew; what was calibrated stays."""
    for i in range(HALF + 2 - GYRO):
        state[GYRO + i] = FRESH[GYRO + i]
    for at, size in (
        (LEVEL, 3),
        (FRAME, FRAME_SIZE),
        (SLOW_RATE, 3),
        (SLOW_FORCE, 3),
        (SLOW_FIELD, 2),
    ):
        state[at + 3 * size] = 0.0
    state[HEADING_OFFSET] = state[REST] = state[AT_REST] = state[UNSEEN] = 0.0
    state[BASE + 3] = NO_BASE
    state[OPENING] = 1.0
    state[REJECTED] = settings[REJECTION_TIME]
    state[COVARIANCE] = UNKNOWN
    again = state[RATE_PACE] > 0.0
    state[COVARIANCE + 5] = UNKNOWN if again else 0.0
    state[PAUSE] = PAUSE_TAUS * settings[TAU_ACC] if again else 0.0
    if not again:
        expected = state[FORCE_PACE]
        design_all(state, settings, expected if expected > 0.0 else GUESS_S)
        for i in range(3):
            state[SPREAD + DIAGONAL[i]] = settings[BIAS_SIGMA_START] ** 2
        state[FIRST] = 1.0


def remember(state: FloatArray, p: Sample) -> None:
    """Keep the vectors of the first sample, also those that come late."""
    keep(state, 0, p.rate_wait, p.wx, p.wy, p.wz)
    keep(state, 1, p.force_wait, p.ax, p.ay, p.az)
    keep(state, 2, p.field_wait, p.mx, p.my, p.mz)


def keep(state: FloatArray, which: int, wait: float, x: float, y: float, z: float) -> None:
    if wait >= 0.0:
        at = FIRST_VECTORS + 4 * which
        state[at], state[at + 1], state[at + 2], state[at + 3] = 1.0, x, y, z


def remembered(state: FloatArray, settings: FloatArray, dt: float) -> Sample:
    """Return the first sample, as if it had come ``dt`` after one before."""
    state[FIRST] = 0.0
    at = FIRST_VECTORS
    wx, wy, wz = state[at + 1], state[at + 2], state[at + 3]
    turned = dt if settings[MEAN_SAMPLES] > 0.0 else 0.0
    return Sample(
        STEP, turned, turned * wx, turned * wy, turned * wz,
        dt if state[at] > 0.0 else -1.0, wx, wy, wz,
        dt if state[at + 4] > 0.0 else -1.0, state[at + 5], state[at + 6], state[at + 7],
        dt if state[at + 8] > 0.0 else -1.0, state[at + 9], state[at + 10], state[at + 11],
    )  # fmt: skip


def restart(state: FloatArray, settings: FloatArray, interval: float) -> None:
    """Undo the first sample, and prepare for samples at an interval."""
    for i in range(FIRST - OWN):
        state[OWN + i] = FRESH[OWN + i]
    for i in range(3):
        state[BIAS + i] = 0.0
    state[DISTURBED] = 0.0
    begin(state, settings)
    design_all(state, settings, interval)


def design_all(state: FloatArray, settings: FloatArray, interval: float) -> None:
    """Design every low-pass for one interval."""
    for at in (RATE_PACE, FORCE_PACE, FIELD_PACE):
        state[at], state[at + 1] = interval, 0.0
    design_for_rate(state, settings)
    design_for_force(state, settings)
    design_for_field(state, settings)


def notice_loss(
    state: FloatArray,
    settings: FloatArray,
    hole: float,
    p: Sample,
    clipped: int,
    dx: float,
    dy: float,
    dz: float,
) -> None:
    """Estimate what of the turn up to this sample went unmeasured, and let averages begin anew.

    dx, dy, dz is the change of the rate since the last usable one.
    """
    span = hole if hole > 0.0 else p.dt
    change = dx * dx + dy * dy + dz * dz
    harmless = change * span * span < (LOOSE_ANGLE / HOLE_LOSS) ** 2
    if harmless and hole == 0.0 and clipped & 7 == 0 and state[UNSEEN] == 0.0:
        return
    new = p.wx * p.wx + p.wy * p.wy + p.wz * p.wz
    lost = HOLE_LOSS * span * math.sqrt(change)
    if hole > 0.0:
        old = (p.wx - dx) ** 2 + (p.wy - dy) ** 2 + (p.wz - dz) ** 2
        lost = (lost + HOLE_LOSS * span * math.sqrt(max(old, new))) * span / (span + STEADY_S)
    if clipped & 7:
        state[UNSEEN] += lost + CLIPPED_LOSS * span * math.sqrt(new)
        return
    lost += state[UNSEEN]
    state[UNSEEN] = 0.0
    state[PAUSE] = PAUSE_TAUS * settings[TAU_ACC]
    if lost < LOOSE_ANGLE:
        return
    state[BROKEN] = lost
    if state[LEVEL + 9] < 0.0 or state[BASE + 3] == NO_BASE:
        store_four(state, BASE, *four(state, TILT))
    forces = FORCE_WORTH / (lost * lost * state[FORCE_PACE])
    average_anew(state, LEVEL, 3, forces)
    average_anew(state, FRAME, FRAME_SIZE, forces)
    fields = FIELD_WORTH / (lost * lost * state[FIELD_PACE])
    state[OPENING] = max(state[OPENING], 1.0 / (1.0 + fields))
    state[COVARIANCE] = min(state[COVARIANCE] + lost * lost, UNKNOWN)
    state[COVARIANCE + 5] = min(state[COVARIANCE + 5] + lost * lost, UNKNOWN)


def advance(state: FloatArray, settings: FloatArray, p: Sample, errors: bool) -> None:
    """Take one sample: predict, correct tilt, learn the bias, correct heading."""
    if errors:
        let_errors_grow(state, settings, p.dt)
    if p.rate_wait >= 0.0:
        watch_rate(state, settings, p.rate_wait, p.wx, p.wy, p.wz)
    held = state[HELD]
    if held > GAP_INTERVALS * state[RATE_PACE]:  # what tilt is corrected by is not the bias
        state[REST] = state[AT_REST] = 0.0
        state[PAUSE] = settings[TAU_ACC]
    dt = p.dt if held < BRIDGE_S else 0.0  # without a rate there is no bias in the turn
    turn = half_turn(
        0.5 * (p.turn_x - dt * state[BIAS]),
        0.5 * (p.turn_y - dt * state[BIAS + 1]),
        0.5 * (p.turn_z - dt * state[BIAS + 2]),
    )
    store_four(state, GYRO, *quaternion_multiply(*unit(*four(state, GYRO)), *turn))
    up_x, up_y = 0.0, 0.0
    if p.force_wait >= 0.0:
        watch_force(state, settings, p.force_wait, p.ax, p.ay, p.az)
        up_x, up_y = correct_tilt(state, settings, p.ax, p.ay, p.az)
    x, y, z, w = quaternion_multiply(*four(state, TILT), *four(state, GYRO))
    r = quaternion_to_matrix(x, y, z, w)
    if p.force_wait >= 0.0:
        learn_bias(state, settings, p.force_wait, up_x, up_y, r)
        if errors:
            narrow_tilt(state, settings, p.force_wait)
    if p.field_wait >= 0.0:
        east = r[0] * p.mx + r[1] * p.my + r[2] * p.mz
        north = r[3] * p.mx + r[4] * p.my + r[5] * p.mz
        above = r[6] * p.mx + r[7] * p.my + r[8] * p.mz
        correct_heading(state, settings, p.field_wait, east, north, above, errors)
    if errors:
        for i in range(3):
            state[BIAS_SIGMA + i] = math.sqrt(state[SPREAD + DIAGONAL[i]])
    sine, cosine = state[HALF], state[HALF + 1]
    store_orientation(
        state,
        cosine * x - sine * y,
        cosine * y + sine * x,
        cosine * z + sine * w,
        cosine * w - sine * z,
    )
