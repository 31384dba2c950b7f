"""One sample, or one increment, into the strapdown navigator: ENU from FLU."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from strapdown.estimation._kernels import (
    BIAS,
    DROPPED,
    FORCE_BIT,
    MEAN_SAMPLES,
    RATE,
    RATE_BIT,
    RESET_AFTER,
    SEEN,
    START,
    intake,
    orientation,
    store_orientation,
)
from strapdown.estimation.navigation._kernels import (
    ACCEL_BIAS,
    NAVIGATOR,
    POSITION,
    ROW,
    SIZE,
    SPREAD,
    VELOCITY,
    correct,
    inject,
    propagate,
    publish,
)
from strapdown.estimation.navigation.alignment._kernels import align
from strapdown.estimation.navigation.memory._kernels import (
    ACCEL_NOISE,
    ACCEL_WALK,
    ALIGN_TIME,
    ALIGNED,
    BEHIND,
    FORCE,
    FORCES,
    GYRO_NOISE,
    GYRO_WALK,
    PUSHES,
    RATES,
    REFUSED,
    SPACING,
    STARTED,
    SUM_FORCE_SQUARE,
    TURN,
    describe,
    earth_of,
    gap_after,
    loosen,
    remember_motion,
    shift,
    store,
    three,
    unbiased,
    widen_clipped,
)
from strapdown.geometry._kernels import (
    quaternion_exp,
    quaternion_multiply,
    quaternion_rotate,
    quaternion_to_matrix,
)
from strapdown.integration._kernels import (
    MEAN,
    add,
    corrections,
    integral,
    is_uneven,
    quadrature_weights,
)
from strapdown.integration._kernels import RATE as POINT
from strapdown.integration.navigation._kernels import (
    HOLE,
    ZERO,
    Before,
    Motion,
    advance,
    change_of_integrals,
    plus,
    scaled,
)

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray
    from strapdown.integration._kernels import Vector

BORROWS = True


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
    """Take a sample; both sensors must have measured at its stamp, in it or in one before."""
    s = intake(state, account, settings, t_ns, wx, wy, wz, ax, ay, az, mx, my, mz, clipped)
    if s.event == DROPPED:
        return
    if s.event == START:
        begin(state, settings)
    state[BEHIND] += s.dt
    if s.has_force:
        store(state, FORCE, (ax, ay, az))
    both = RATE_BIT | FORCE_BIT
    if int(state[SEEN]) & both == both and (s.has_rate or s.has_force):
        take(state, settings, s.clipped)
    publish(state)


def take(state: FloatArray, settings: FloatArray, clipped: int) -> None:
    """Integrate from the last complete sample to this one."""
    h = state[BEHIND]
    state[BEHIND] = 0.0
    w, f = three(state, RATE), three(state, FORCE)
    angle, velocity = ZERO, ZERO
    if state[STARTED] > 0.0:
        angle, velocity = follow(state, settings, h, w, f, clipped)
    else:
        go_on(state, settings, ZERO, ZERO, ZERO, 0.0, w, f, clipped)
    state[STARTED] = 1.0
    shift(state, RATES, 9, w)
    shift(state, FORCES, 9, f)
    shift(state, TURN, 3, angle)
    shift(state, PUSHES, 6, velocity)


def follow(
    state: FloatArray, settings: FloatArray, h: float, w: Vector, f: Vector, clipped: int
) -> tuple[Vector, Vector]:
    """Go on by a sample h seconds after the last; return the integrals of its readings."""
    h1, h2 = state[SPACING], state[SPACING + 1]
    if h > gap_after(state):
        loosen(state, h)
        h1 = h2 = 0.0
    if is_uneven(round(h * 1e9), round(h1 * 1e9), round(h2 * 1e9)):
        h1 = h2 = 0.0
    kind = MEAN if settings[MEAN_SAMPLES] > 0.0 and h1 > 0.0 else POINT
    weights = quadrature_weights(h, h1, h2)
    angle = integral(kind, h, weights, w, *last_three(state, RATES))
    velocity = integral(kind, h, weights, f, *last_three(state, FORCES))
    if kind == MEAN:
        before = Before(three(state, PUSHES), h1, three(state, PUSHES + 3), h2, three(state, TURN))
        change = change_of_integrals(velocity, h, before)
    else:
        change = scaled(plus(f, three(state, FORCES), -1.0), h)
    turn, push = unbiased(state, BIAS, angle, h), unbiased(state, ACCEL_BIAS, velocity, h)
    if h1 > 0.0:
        coning, sculling = corrections(
            ZERO, scaled(unbiased(state, BIAS, three(state, TURN), h1), h / h1), turn,
            ZERO, scaled(unbiased(state, ACCEL_BIAS, three(state, PUSHES), h1), h / h1), push,
        )  # fmt: skip
        turn, push = add(turn, coning), add(push, sculling)
    go_on(state, settings, turn, push, change, h, w, f, clipped)
    state[SPACING], state[SPACING + 1] = h, h1
    return angle, velocity


def last_three(state: FloatArray, at: int) -> tuple[Vector, Vector, Vector]:
    """Return three vectors of a history."""
    return three(state, at), three(state, at + 3), three(state, at + 6)


def step_increment(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    t_ns: int,
    turn_h: float,
    push_h: float,
    ax: float,
    ay: float,
    az: float,
    vx: float,
    vy: float,
    vz: float,
    clipped: int,
) -> None:
    """Take an increment: turn and push (body axes at the middle) of the intervals before t_ns."""
    nan = math.nan
    per_turn = 1.0 / turn_h if turn_h > 0.0 else nan
    per_push = 1.0 / push_h if push_h > 0.0 else nan
    rx, ry, rz = per_turn * ax, per_turn * ay, per_turn * az
    fx, fy, fz = per_push * vx, per_push * vy, per_push * vz
    s = intake(state, account, settings, t_ns, rx, ry, rz, fx, fy, fz, nan, nan, nan, clipped)
    if s.event == DROPPED:
        return
    if s.event == START:
        begin(state, settings)
    state[BEHIND] += s.dt
    if not (s.has_rate and s.has_force):
        return
    w, f = (rx, ry, rz), (fx, fy, fz)
    store(state, FORCE, f)
    hole = state[BEHIND] - push_h if state[STARTED] > 0.0 else 0.0
    state[BEHIND] = 0.0
    if hole > HOLE * push_h:
        bridge(state, settings, hole, w, f)
        state[SPACING] = 0.0
    h1, push = state[SPACING], (vx, vy, vz)
    before = Before(three(state, PUSHES), h1, three(state, PUSHES + 3), state[SPACING + 1], ZERO)
    go_on(
        state, settings,
        unbiased(state, BIAS, (ax, ay, az), turn_h), unbiased(state, ACCEL_BIAS, push, push_h),
        change_of_integrals(push, push_h, before), push_h, w, f, clipped,
    )  # fmt: skip
    state[STARTED] = 1.0
    state[SPACING], state[SPACING + 1] = push_h, h1
    shift(state, RATES, 9, w)
    shift(state, FORCES, 9, f)
    shift(state, PUSHES, 6, push)
    publish(state)


def bridge(state: FloatArray, settings: FloatArray, hole: float, w: Vector, f: Vector) -> None:
    """Go on through a hole between increments, by the means of the rates on both sides."""
    if hole > gap_after(state):
        loosen(state, hole)
    mean_w = scaled(add(w, three(state, RATES)), 0.5)
    mean_f = scaled(add(f, three(state, FORCES)), 0.5)
    go_on(
        state, settings,
        scaled(plus(mean_w, three(state, BIAS), -1.0), hole),
        scaled(plus(mean_f, three(state, ACCEL_BIAS), -1.0), hole),
        ZERO, hole, mean_w, mean_f, 0,
    )  # fmt: skip


def go_on(
    state: FloatArray,
    settings: FloatArray,
    turn: Vector,
    push: Vector,
    change: Vector,
    h: float,
    w: Vector,
    f: Vector,
    clipped: int,
) -> None:
    """Align at rest while that lasts, then navigate; w and f are the readings."""
    remember_motion(state, h, w, f)
    if state[ALIGNED] > 0.0:
        if h > 0.0:
            widen_clipped(state, clipped, h, w, f)
            move(state, settings, turn, push, change, h)
    else:
        align(state, settings, h, w, f)


def move(
    state: FloatArray, settings: FloatArray, turn: Vector, push: Vector, change: Vector, h: float
) -> None:
    """Take the estimates and their covariance over a step."""
    q = orientation(state)
    here = Motion(q, three(state, VELOCITY), three(state, POSITION))
    there = advance(here, turn, push, change, h, earth_of(settings))
    x, y, z = scaled(turn, 0.25)
    middle = quaternion_multiply(*q, *quaternion_exp(x, y, z))
    x, y, z = scaled(quaternion_rotate(*middle, *push), 1.0 / h)
    propagate(
        state, h, quaternion_to_matrix(*middle), x, y, z,
        settings[ACCEL_NOISE], settings[GYRO_NOISE], settings[ACCEL_WALK], settings[GYRO_WALK],
    )  # fmt: skip
    store_orientation(state, *there.q)
    store(state, VELOCITY, there.v)
    store(state, POSITION, there.p)


def begin(state: FloatArray, settings: FloatArray) -> None:
    """Start the clock; where it jumped, nobody knows what happened between."""
    if state[ALIGNED] > 0.0:
        if state[STARTED] > 0.0:
            loosen(state, settings[RESET_AFTER])
    else:
        for k in range(ALIGN_TIME, SUM_FORCE_SQUARE + 1):
            state[k] = 0.0
    for k in range(BEHIND, FORCE):
        state[k] = 0.0


def run(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    t_ns: IntArray,
    rate: FloatArray,
    force: FloatArray,
    clipped: IntArray,
    out: FloatArray,
) -> None:
    """Step through arrays of samples and write what is known after each."""
    nan = math.nan
    for i in range(len(t_ns)):
        step(
            state, account, settings, t_ns[i], rate[i, 0], rate[i, 1], rate[i, 2],
            force[i, 0], force[i, 1], force[i, 2], nan, nan, nan, clipped[i],
        )  # fmt: skip
        describe(state, out[i])


def run_increments(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    t_ns: IntArray,
    turn_h: FloatArray,
    push_h: FloatArray,
    turn: FloatArray,
    push: FloatArray,
    clipped: IntArray,
    out: FloatArray,
) -> None:
    """Step through arrays of increments and write what is known after each."""
    for i in range(len(t_ns)):
        step_increment(
            state, account, settings, t_ns[i], turn_h[i], push_h[i],
            turn[i, 0], turn[i, 1], turn[i, 2], push[i, 0], push[i, 1], push[i, 2], clipped[i],
        )  # fmt: skip
        describe(state, out[i])


def aid(
    state: FloatArray,
    before: FloatArray,
    kind: int,
    rows: FloatArray,
    residuals: FloatArray,
    variances: FloatArray,
    gate: float,
    patience: int,
) -> tuple[float, bool]:
    """Take numbers measured together, of independent errors; return their NIS, and if they fit.

    Beyond ``gate`` they are refused, and the state stays as it was (``before``, a copy). After
    ``patience`` refusals of this kind in a row it is the state that is doubted: its covariance
    is scaled so that the numbers fit, and they are taken.
    """
    nis = tell(state, rows, residuals, variances)
    accepted = nis <= gate
    if not accepted:
        for k in range(len(state)):
            state[k] = before[k]
        state[REFUSED + kind] += gate > 0.0
        if state[REFUSED + kind] > patience:
            for k in range(SPREAD, NAVIGATOR):
                state[k] *= nis / len(residuals)
            tell(state, rows, residuals, variances)
            accepted = True
    if accepted:
        state[REFUSED + kind] = 0.0
        inject(state)
        publish(state)
    return nis, accepted


def tell(
    state: FloatArray, rows: FloatArray, residuals: FloatArray, variances: FloatArray
) -> float:
    """Correct by numbers one after the other; return the sum of their squared innovations."""
    nis = 0.0
    for k in range(len(residuals)):
        for j in range(SIZE):
            state[ROW + j] = rows[k, j]
        nis += correct(state, residuals[k], variances[k])
    return nis
