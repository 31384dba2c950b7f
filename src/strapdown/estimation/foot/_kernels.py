"""A sensor on a foot: one sample into the filter.

The filter is that of the strapdown navigator, whose state comes first. After it:

=====  ===============  ==================================================================
place  name             holds
=====  ===============  ==================================================================
+0     STATISTIC        how much the foot moves (SHOE); -1 not known
+1     QUIET            its lower envelope: how much it moves in the stances of this gait
+2     REJECTED         zero velocities in a row that did not fit
+3     CALM             how long the statistic has been near its envelope [s]
+4     STANCE           1 while the foot stands
+5     FLOOR            height of the floor under it [m, world]; with HAS_FLOOR
+7     FLOOR_VARIANCE   of this height [m^2]
+8     CONTACT          from the sensor to where the foot touches the floor [m, body]
=====  ===============  ==================================================================

The window of the statistic lives in a state of its own, ``watch``, that of the stillness detector.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.detection.stillness._kernels import STATISTIC as WATCHED
from strapdown.detection.stillness._kernels import step as watch_for_stillness
from strapdown.estimation._kernels import (
    AT_REST,
    BACKWARD,
    BIAS,
    DUPLICATES,
    INTERVAL,
    RATE,
    orientation,
)
from strapdown.estimation.navigation._kernels import (
    CROSSED,
    D_GYRO_BIAS,
    D_ORIENTATION,
    D_POSITION,
    D_VELOCITY,
    ERROR,
    INNOVATION,
    NAVIGATOR,
    POSITION,
    ROW,
    SIZE,
    SPREAD,
    VARIANCE,
    VELOCITY,
    begin_row,
    correct,
    inject,
    publish,
)
from strapdown.estimation.navigation.memory._kernels import (
    ALIGNED,
    BEHIND,
    EARTH,
    FORCE,
    ROW_COVARIANCE,
    SPACING,
    describe,
    store,
    three,
)
from strapdown.estimation.navigation.memory._kernels import FRESH as FRESH_NAVIGATOR
from strapdown.estimation.navigation.memory._kernels import ROW as DESCRIPTION
from strapdown.estimation.navigation.step._kernels import step as navigate
from strapdown.geometry._kernels import (
    quaternion_rotate,
    quaternion_to_matrix,
)
from strapdown.integration.navigation._kernels import cross

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray
    from strapdown.integration._kernels import Vector

BORROWS = True

STATISTIC: Final = len(FRESH_NAVIGATOR)
QUIET: Final = STATISTIC + 1
REJECTED: Final = QUIET + 1
CALM: Final = REJECTED + 1
STANCE: Final = CALM + 1
FLOOR: Final = STANCE + 1
HAS_FLOOR: Final = FLOOR + 1
FLOOR_VARIANCE: Final = HAS_FLOOR + 1
CONTACT: Final = FLOOR_VARIANCE + 1
FRESH: Final = (*FRESH_NAVIGATOR, -1.0, *[0.0] * (CONTACT + 2 - STATISTIC))

# Settings: those of the navigator, with its Earth of 7 numbers, then
STILL_SIGMA: Final = EARTH + 7
STILL: Final = STILL_SIGMA + 1
GROWTH: Final = STILL + 1
RATE_SIGMA: Final = GROWTH + 1
CONTACT_HEIGHT: Final = RATE_SIGMA + 1
FLOOR_SIGMA: Final = CONTACT_HEIGHT + 1
STAIR: Final = FLOOR_SIGMA + 1
SETTINGS_SIZE: Final = STAIR + 1

NOISE_INTERVAL_S: Final = 0.005  # the noises of zero velocity and rate are those of 200 a second
SHORTEST_S: Final = 1e-4
STEEPNESS: Final = 1.5  # of the noise over the statistic
MOVING: Final = 300.0  # times the envelope: nothing is known of the velocity
GATE: Final = 30.7  # of three numbers: exceeded once in a million
REOPEN: Final = 3.0  # rejections in a row, after which the filter is taken to be wrong
STANDS: Final = 2.0  # times the envelope: the foot stands, ...
STANDS_S: Final = 0.05  # ... if that lasts
LIFTED: Final = 20.0

# What a sample brought to the filter, for the way back: up to MOST numbers, each with its row,
# the covariance of the state with it, its variance, and the innovation.
MOST: Final = 7
ENTRY: Final = 2 * SIZE + 2
NUMBERS: Final = MOST * ENTRY
PASSED: Final = NUMBERS  # 1: a step was made, of so many seconds, at this rotation and force
STEP_S: Final = PASSED + 1
ROTATION: Final = STEP_S + 1
PUSH: Final = ROTATION + 9
NEW_FLOOR: Final = PUSH + 3  # 1: a new floor, and the covariance of the state with its height
WITH_FLOOR: Final = NEW_FLOOR + 1
TAPE: Final = WITH_FLOOR + SIZE


HEIGHT_VARIANCE: Final = ROW_COVARIANCE + 20
HEIGHT: Final = 9  # of the position
SCRATCH: Final = 8 + NAVIGATOR - ERROR  # what the detector writes, then a copy of the errors
COPY: Final = 8 - ERROR
FOOT_ROW: Final = DESCRIPTION + 2


def step(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    watch: FloatArray,
    watch_account: IntArray,
    watch_settings: FloatArray,
    event: IntArray,
    scratch: FloatArray,
    tape: FloatArray,
    t_ns: int,
    wx: float,
    wy: float,
    wz: float,
    ax: float,
    ay: float,
    az: float,
    clipped: int,
) -> None:
    """Take a sample: move on, then say how fast a foot that moves so little can be.

    ``tape``, empty but for the way back, is filled with what happened.
    """
    tape[:] = 0.0
    was_aligned = state[ALIGNED] > 0.0
    dropped = account[DUPLICATES] + account[BACKWARD]
    qx, qy, qz, qw = orientation(state)
    v = three(state, VELOCITY)
    nan = math.nan
    navigate(state, account, settings, t_ns, wx, wy, wz, ax, ay, az, nan, nan, nan, clipped)
    if account[DUPLICATES] + account[BACKWARD] > dropped or state[BEHIND] > 0.0:
        return
    w, f = three(state, RATE), three(state, FORCE)
    watch_for_stillness(
        watch, watch_account, watch_settings, event, scratch, t_ns,
        w[0], w[1], w[2], f[0], f[1], f[2], clipped,
    )  # fmt: skip
    if state[ALIGNED] == 0.0:
        return
    if not was_aligned:
        stand(state, settings)
    h = state[SPACING]
    if len(tape) and was_aligned:
        record_step(state, settings, tape, h, (qx, qy, qz, qw), v)
    state[STATISTIC] = watch[WATCHED]
    if state[STATISTIC] < 0.0:
        return
    follow(state, settings, h)
    measure(state, settings, scratch, tape, w)
    inject(state)
    publish(state)


def stand(state: FloatArray, settings: FloatArray) -> None:
    """Begin: the foot stands flat, so what is down now points to the sole for ever."""
    x, y, z, w = orientation(state)
    down = quaternion_rotate(-x, -y, -z, w, 0.0, 0.0, -settings[CONTACT_HEIGHT])
    state[CONTACT], state[CONTACT + 1], state[CONTACT + 2] = down
    for k in range(REJECTED, CONTACT):
        state[k] = 0.0
    state[QUIET] = settings[STILL]


def follow(state: FloatArray, settings: FloatArray, h: float) -> None:
    """Follow the lower envelope of the statistic, and tell when the foot stands."""
    statistic = state[STATISTIC]
    rising = state[QUIET] * math.exp(min(settings[GROWTH] * h, 100.0))
    state[QUIET] = max(settings[STILL], min(statistic, rising))
    ratio = statistic / state[QUIET]
    state[CALM] = state[CALM] + h if ratio < STANDS else 0.0
    if ratio > LIFTED:
        state[STANCE] = 0.0
    state[AT_REST] = state[STANCE]


def measure(
    state: FloatArray, settings: FloatArray, scratch: FloatArray, tape: FloatArray, w: Vector
) -> None:
    """Take what the statistic says: little velocity where the sole is, little rate, the floor."""
    ratio = state[STATISTIC] / state[QUIET]
    if ratio > MOVING:
        return
    gait = math.sqrt(state[QUIET] / settings[STILL])
    spread = NOISE_INTERVAL_S / max(state[INTERVAL], SHORTEST_S)
    growth = max(1.0, ratio) ** STEEPNESS
    for k in range(ERROR, NAVIGATOR):
        scratch[COPY + k] = state[k]
    variance = (settings[STILL_SIGMA] * gait * growth) ** 2 * spread
    nis = tell_velocity(state, tape, w, variance)
    if nis <= GATE or state[REJECTED] >= REOPEN:
        state[REJECTED] = 0.0
    else:
        state[REJECTED] += 1.0
        refuse(state, scratch, tape, 0)
    if state[QUIET] <= settings[STILL]:
        for k in range(ERROR, NAVIGATOR):
            scratch[COPY + k] = state[k]
        variance = (settings[RATE_SIGMA] * growth) ** 2 * spread
        if tell_rate(state, tape, w, variance) > GATE:
            refuse(state, scratch, tape, 3)
    if state[STANCE] == 0.0 and state[CALM] >= STANDS_S:
        state[STANCE] = state[AT_REST] = 1.0
        if settings[STAIR] > 0.0:
            land(state, settings, tape)


def tell_velocity(state: FloatArray, tape: FloatArray, w: Vector, variance: float) -> float:
    """Tell that the point under the foot does not move, v + R (w x c) = 0; return the NIS."""
    q = orientation(state)
    c = three(state, CONTACT)
    rate = (w[0] - state[BIAS], w[1] - state[BIAS + 1], w[2] - state[BIAS + 2])
    u = quaternion_rotate(*q, *cross(rate, c))
    m = quaternion_to_matrix(*q)
    nis = 0.0
    for k in range(3):
        begin_row(state)
        state[ROW + D_VELOCITY + k] = 1.0
        # the attitude turns u, and the rate is what was read less the bias
        unit = (1.0 * (k == 0), 1.0 * (k == 1), 1.0 * (k == 2))
        store(state, ROW + D_ORIENTATION, cross(u, unit))
        store(state, ROW + D_GYRO_BIAS, cross((m[3 * k], m[3 * k + 1], m[3 * k + 2]), c))
        nis += take(state, tape, k, -(state[VELOCITY + k] + u[k]), variance)
    return nis


def tell_rate(state: FloatArray, tape: FloatArray, w: Vector, variance: float) -> float:
    """Tell that the foot does not turn; return the NIS."""
    nis = 0.0
    for k in range(3):
        begin_row(state)
        state[ROW + D_GYRO_BIAS + k] = 1.0
        nis += take(state, tape, 3 + k, w[k] - state[BIAS + k], variance)
    return nis


def land(state: FloatArray, settings: FloatArray, tape: FloatArray) -> None:
    """Put the foot on the floor that it left, or, if that is too far off, on another one."""
    height = state[POSITION + 2] + state[ERROR + D_POSITION + 2]
    off = state[FLOOR] - height
    if state[HAS_FLOOR] > 0.0 and abs(off) < settings[STAIR]:
        begin_row(state)
        state[ROW + D_POSITION + 2] = 1.0
        take(state, tape, 6, state[FLOOR] - state[POSITION + 2], settings[FLOOR_SIGMA] ** 2)
        return
    state[FLOOR] = height
    state[HAS_FLOOR] = 1.0
    # From here on heights are those above the new floor, whose own error is kept apart.
    at = D_POSITION + 2
    state[FLOOR_VARIANCE] += state[SPREAD + (SIZE + 1) * at]
    if len(tape):
        tape[NEW_FLOOR] = 1.0
        for k in range(SIZE):
            tape[WITH_FLOOR + k] = state[SPREAD + SIZE * at + k]
    for k in range(SIZE):
        state[SPREAD + SIZE * at + k] = state[SPREAD + SIZE * k + at] = 0.0


def take(
    state: FloatArray, tape: FloatArray, number: int, residual: float, variance: float
) -> float:
    """Take a number, and write it down; return its squared innovation."""
    nis: float = correct(state, residual, variance)
    if len(tape):
        at = ENTRY * number
        for k in range(SIZE):
            tape[at + k] = state[ROW + k]
            tape[at + SIZE + k] = state[CROSSED + k]
        tape[at + 2 * SIZE], tape[at + 2 * SIZE + 1] = state[VARIANCE], state[INNOVATION]
    return nis


def refuse(state: FloatArray, scratch: FloatArray, tape: FloatArray, number: int) -> None:
    """Undo that three numbers were taken."""
    for k in range(ERROR, NAVIGATOR):
        state[k] = scratch[COPY + k]
    if len(tape):
        tape[ENTRY * number : ENTRY * (number + 3)] = 0.0


def record_step(
    state: FloatArray,
    settings: FloatArray,
    tape: FloatArray,
    h: float,
    q: tuple[float, float, float, float],
    v: Vector,
) -> None:
    """Write down a step: rotation and specific force [world] in its middle."""
    tape[PASSED], tape[STEP_S] = 1.0, h
    if h == 0.0:
        return
    x, y, z, w = orientation(state)
    mx, my, mz, mw = q[0] + x, q[1] + y, q[2] + z, q[3] + w
    length = math.sqrt(mx * mx + my * my + mz * mz + mw * mw)
    matrix = quaternion_to_matrix(mx / length, my / length, mz / length, mw / length)
    for k in range(9):
        tape[ROTATION + k] = matrix[k]
    for k in range(3):
        tape[PUSH + k] = (state[VELOCITY + k] - v[k]) / h
    tape[PUSH + 2] += settings[EARTH]


def run(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    watch: FloatArray,
    watch_account: IntArray,
    watch_settings: FloatArray,
    t_ns: IntArray,
    rate: FloatArray,
    force: FloatArray,
    clipped: IntArray,
    event: IntArray,
    scratch: FloatArray,
    out: FloatArray,
    states: FloatArray,
    tapes: FloatArray,
) -> None:
    """Step through arrays; write rows of results, and for the way back states and tapes."""
    for i in range(len(t_ns)):
        step(
            state, account, settings, watch, watch_account, watch_settings, event, scratch,
            tapes[i] if len(tapes) else scratch[:0], t_ns[i],
            rate[i, 0], rate[i, 1], rate[i, 2], force[i, 0], force[i, 1], force[i, 2], clipped[i],
        )  # fmt: skip
        write(state, out[i])
        if len(tapes):
            for k in range(len(state)):
                states[i, k] = state[k]


def write(state: FloatArray, row: FloatArray) -> None:
    """Write a row: what the navigator knows, and the stance."""
    describe(state, row)
    row[HEIGHT_VARIANCE] += state[FLOOR_VARIANCE]
    row[DESCRIPTION] = state[STANCE]
    row[DESCRIPTION + 1] = state[STATISTIC]
