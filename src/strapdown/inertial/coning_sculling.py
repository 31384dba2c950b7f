"""Increment integrator with coning and sculling, one sample at a time.

Angular velocity and specific force are point samples, means, or integrals since the sample
before. A four-point Adams-Moulton rule turns point samples into such integrals (Hairer,
Norsett and Wanner, "Solving ordinary differential equations I", III.1). The recursions of
P. G. Savage, "Strapdown inertial navigation integration algorithm design" parts 1 and 2,
Journal of Guidance, Control, and Dynamics 21(1) and 21(2), 1998, sum these with the sculling
correction, and correct the rotation within a step for coning. The rotations of the steps of an
interval are multiplied: the sum of coning terms, which is of second order in the angle a of a
cone, would leave a drift of w a^3 / 2 at a frequency w of one cycle in each interval.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from strapdown._kernels.kernel import inlined_kernel
from strapdown.geometry.formulas import quaternion_exp, quaternion_multiply
from strapdown.geometry.triples import ZERO, add, plus, scaled
from strapdown.geometry.vectors import square

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, ByteArray, FloatArray, Four, IntArray, Three

# Kinds of samples: the value at its stamp, or mean or integral since the sample before. ABSENT is
# no sensor, with zeros as increments.
POINT, MEAN, INTEGRAL, ABSENT = range(4)

# Outcome of a sample; each sample is counted as exactly one of these. UNEVEN: integrated by the
# trapezoid rule, because the spacing is too uneven for the quadrature.
EVENTS = 7
STARTED, INTEGRATED, UNEVEN, NOT_FINITE, REPEATED, GAP, BACKWARD = range(EVENTS)

NEVER = -(2**63)
UNBOUNDED = 2**63 - 1  # longer than any spacing
UNTURNED = (0.0, 0.0, 0.0, 1.0)
LONGEST_TURN = 1.5 * math.pi
"""Angle of an interval up to which its rotation vector follows from its rotation [rad]; a whole
turn is none. Beyond, the coning terms are summed."""
ROUNDING = 4e-15
"""Rounding of the rotation of an interval, relative to its angle."""


class Rule(NamedTuple):
    """Kinds of the samples, end of an interval, and longest step that is integrated."""

    gyro_kind: int
    accel_kind: int
    samples_min: int
    interval_min_ns: int
    max_gap_ns: int


class Columns(NamedTuple):
    """Output columns, with one row for each interval."""

    t_ns: IntArray
    dt_ns: IntArray
    delta_angle: FloatArray
    delta_velocity: FloatArray
    coning: FloatArray
    sculling: FloatArray
    gyro_clipping: ByteArray
    accel_clipping: ByteArray


class IntegratorState(NamedTuple):
    """State of the integrator, which can be saved, restored and compared."""

    t_ns: int  # stamp of the last sample that was used
    start_ns: int  # start of the open interval
    samples: int  # samples in the open interval
    h1_ns: int  # the last two spacings; 0 before the start of the history
    h2_ns: int
    w1: Three  # the last three samples of angular velocity, newest first
    w2: Three
    w3: Three
    f1: Three  # the last three samples of specific force
    f2: Three
    f3: Three
    angle: Three  # integral over the last step
    velocity: Three
    alpha: Three  # sums over the open interval
    nu: Three
    coning: Three
    sculling: Three
    turn: Four  # rotation since the start of the open interval, x, y, z, w
    gyro_clipping: int
    accel_clipping: int
    hole: int  # 1: an increment since the last sample is unknown
    discarded: int  # open intervals given up, and the time that no increment covers
    lost_ns: int


@inlined_kernel
def begin(t_ns: int, w: Three, f: Three, discarded: int, lost_ns: int) -> IntegratorState:
    """Return the state after a first sample."""
    return IntegratorState(
        t_ns, t_ns, 0, 0, 0, w, ZERO, ZERO, f, ZERO, ZERO,
        ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, UNTURNED, 0, 0, 0, discarded, lost_ns,
    )  # fmt: skip


@inlined_kernel
def close(s: IntegratorState) -> IntegratorState:
    """Return the state at the start of the next interval."""
    return IntegratorState(
        s.t_ns, s.t_ns, 0, s.h1_ns, s.h2_ns, s.w1, s.w2, s.w3, s.f1, s.f2, s.f3,
        s.angle, s.velocity, ZERO, ZERO, ZERO, ZERO, UNTURNED, 0, 0, s.hole, s.discarded,
        s.lost_ns,
    )  # fmt: skip


@inlined_kernel
def with_hole(s: IntegratorState) -> IntegratorState:
    """Return the state after a lost increment, which restarts at the next sample."""
    return IntegratorState(
        s.t_ns, s.start_ns, s.samples, s.h1_ns, s.h2_ns, s.w1, s.w2, s.w3, s.f1, s.f2, s.f3,
        s.angle, s.velocity, s.alpha, s.nu, s.coning, s.sculling, s.turn,
        s.gyro_clipping, s.accel_clipping, 1, s.discarded, s.lost_ns,
    )  # fmt: skip


@inlined_kernel
def is_ready(s: IntegratorState, rule: Rule) -> bool:
    """Return whether the open interval is complete."""
    return s.samples >= rule.samples_min or s.t_ns - s.start_ns >= rule.interval_min_ns


@inlined_kernel
def advance(
    s: IntegratorState,
    t_ns: int,
    w: Three,
    f: Three,
    gyro_clipping: int,
    accel_clipping: int,
    rule: Rule,
) -> tuple[IntegratorState, int]:
    """Process one sample; return the new state and the outcome of the sample."""
    if not (is_finite(w) and is_finite(f)):
        lost = INTEGRAL in (rule.gyro_kind, rule.accel_kind)
        return with_hole(s) if lost else s, NOT_FINITE
    if s.t_ns == NEVER:
        return begin(t_ns, w, f, 0, 0), STARTED
    if t_ns == s.t_ns:
        return s, REPEATED
    discarded = s.discarded + (1 if s.samples > 0 else 0)
    if t_ns < s.t_ns:
        return begin(t_ns, w, f, discarded, s.lost_ns + (s.t_ns - s.start_ns)), BACKWARD
    h_ns = t_ns - s.t_ns
    # The halves, in floating point, detect a difference that overflows 64 bits.
    if h_ns > rule.max_gap_ns or t_ns / 2 - s.t_ns / 2 > rule.max_gap_ns or s.hole:
        return begin(t_ns, w, f, discarded, s.lost_ns + (t_ns - s.start_ns)), GAP

    h = h_ns * 1e-9
    uneven, weights = False, (0.0, 0.0, 0.0, 0.0)
    if POINT in (rule.gyro_kind, rule.accel_kind):
        uneven = is_uneven(h_ns, s.h1_ns, s.h2_ns)
        weights = quadrature_weights(h, 0.0 if uneven else s.h1_ns * 1e-9, s.h2_ns * 1e-9)
    angle = integral(rule.gyro_kind, h, weights, w, s.w1, s.w2, s.w3)
    velocity = integral(rule.accel_kind, h, weights, f, s.f1, s.f2, s.f3)
    coning, sculling = corrections(s.alpha, s.angle, angle, s.nu, s.velocity, velocity)
    return IntegratorState(
        t_ns, s.start_ns, s.samples + 1, h_ns, s.h1_ns, w, s.w1, s.w2, f, s.f1, s.f2,
        angle, velocity, add(s.alpha, angle), add(s.nu, velocity),
        add(s.coning, coning), add(s.sculling, sculling), turned(s.turn, s.angle, angle),
        s.gyro_clipping | gyro_clipping, s.accel_clipping | accel_clipping,
        0, s.discarded, s.lost_ns,
    ), UNEVEN if uneven else INTEGRATED  # fmt: skip


@inlined_kernel
def is_uneven(h0: int, h1: int, h2: int) -> bool:
    """Whether one spacing of the stencil is more than twice another."""
    if h1 == 0 or h0 == h1 == h2:
        return False
    shortest = min(h0, h1) if h2 == 0 else min(h0, h1, h2)
    return max(h0, h1, h2) > 2 * shortest


@inlined_kernel
def quadrature_weights(h0: float, h1: float, h2: float) -> Four:
    """Return the weights of the newest four samples in the integral over the newest spacing.

    They integrate the polynomial through the samples, in divided differences; for equal
    spacing they are h/24 (9, 19, -5, 1). With a shorter history (a spacing of 0) it is the
    parabola or the trapezoid.
    """
    if h0 == h1 == h2:
        c = h0 / 24.0
        return 9.0 * c, 19.0 * c, -5.0 * c, c
    half = h0 / 2.0
    if h1 == 0.0:
        return half, half, 0.0, 0.0
    second = -(h0 * h0 * h0) / 6.0
    newest = 1.0 / (h0 * (h0 + h1))
    middle = -1.0 / (h0 * h1)
    oldest = 1.0 / (h1 * (h0 + h1))
    if h2 == 0.0:
        return half + second * newest, half + second * middle, second * oldest, 0.0
    third = -(h0 * h0 * h0) * (h0 + 2.0 * h1) / (12.0 * (h0 + h1 + h2))
    both = second + third
    return (
        half + both * newest,
        half + both * middle - third / (h1 * (h1 + h2)),
        both * oldest + third / (h1 * h2),
        -third / (h2 * (h1 + h2)),
    )


@inlined_kernel
def integral(
    kind: int, h: float, weights: Four, v0: Three, v1: Three, v2: Three, v3: Three
) -> Three:
    """Return the integral over the last step of h, from the newest of four samples on."""
    if kind >= INTEGRAL:
        return v0
    x0, y0, z0 = v0
    if kind == MEAN:
        return h * x0, h * y0, h * z0
    c0, c1, c2, c3 = weights
    x1, y1, z1 = v1
    x2, y2, z2 = v2
    x3, y3, z3 = v3
    return (
        c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3,
        c0 * y0 + c1 * y1 + c2 * y2 + c3 * y3,
        c0 * z0 + c1 * z1 + c2 * z2 + c3 * z3,
    )


@inlined_kernel
def corrections(
    alpha: Three, last_angle: Three, angle: Three,
    nu: Three, last_velocity: Three, velocity: Three,
) -> tuple[Three, Three]:  # fmt: skip
    """Return the coning and sculling terms of a new angle and velocity (Savage 1998).

    With a = alpha + last_angle/6 and b = nu + last_velocity/6, where alpha and nu are the sums
    before: 1/2 a x angle, and 1/2 (a x velocity + b x angle).
    """
    x, y, z = angle
    u, v, w = velocity
    ax, ay, az = (
        alpha[0] + last_angle[0] / 6.0,
        alpha[1] + last_angle[1] / 6.0,
        alpha[2] + last_angle[2] / 6.0,
    )
    bx, by, bz = (
        nu[0] + last_velocity[0] / 6.0,
        nu[1] + last_velocity[1] / 6.0,
        nu[2] + last_velocity[2] / 6.0,
    )
    return (
        (0.5 * (ay * z - az * y), 0.5 * (az * x - ax * z), 0.5 * (ax * y - ay * x)),
        (
            0.5 * ((ay * w - az * v) + (by * z - bz * y)),
            0.5 * ((az * u - ax * w) + (bz * x - bx * z)),
            0.5 * ((ax * v - ay * u) + (bx * y - by * x)),
        ),
    )


@inlined_kernel
def turned(turn: Four, last_angle: Three, angle: Three) -> Four:
    """Return a rotation followed by that of a step: angle + last_angle x angle / 12.

    After a step beyond the longest turn it is unknown: NaN.
    """
    x, y, z = angle
    u, v, w = last_angle
    x, y, z = (
        x + (v * z - w * y) / 12.0,
        y + (w * x - u * z) / 12.0,
        z + (u * y - v * x) / 12.0,
    )
    if not x * x + y * y + z * z < LONGEST_TURN * LONGEST_TURN:
        return math.nan, math.nan, math.nan, math.nan
    return quaternion_multiply(*turn, *quaternion_exp(0.5 * x, 0.5 * y, 0.5 * z))


@inlined_kernel
def coning_of(s: IntegratorState) -> Three:
    """Return the rotation vector of the open interval less the sum of its angles."""
    total = square(s.alpha)
    x, y, z, w = s.turn
    if total > LONGEST_TURN * LONGEST_TURN or math.isnan(w):
        return s.coning
    sine = math.sqrt(square((x, y, z)))
    scale = 2.0 * math.atan2(sine, w) / sine if sine > 0.0 else 2.0
    coning = plus(scaled((x, y, z), scale), s.alpha, -1.0)
    # Within rounding the sum is as good, and exactly zero for turns about one axis.
    return s.coning if square(coning) <= ROUNDING * ROUNDING * total else coning


@inlined_kernel
def is_finite(v: Three) -> bool:
    return math.isfinite(v[0]) and math.isfinite(v[1]) and math.isfinite(v[2])


@inlined_kernel
def integrate(
    state: IntegratorState,
    t_ns: IntArray,
    angular_velocity: FloatArray,
    specific_force: FloatArray,
    gyro_clipping: ByteArray,
    accel_clipping: ByteArray,
    is_last: BoolArray,
    rule: Rule,
    tally: IntArray,
    out: Columns,
) -> tuple[IntegratorState, int]:
    """Process all samples; write a row at the end of each interval; return the number of rows."""
    rows = 0
    for i in range(len(t_ns)):
        w = (angular_velocity[i, 0], angular_velocity[i, 1], angular_velocity[i, 2])
        f = (specific_force[i, 0], specific_force[i, 1], specific_force[i, 2])
        state, event = advance(state, t_ns[i], w, f, gyro_clipping[i], accel_clipping[i], rule)
        tally[event] += 1
        if state.samples > 0 and (is_last[i] or is_ready(state, rule)):
            write(out, rows, state)
            state = close(state)
            rows += 1
    return state, rows


@inlined_kernel
def write(out: Columns, row: int, s: IntegratorState) -> None:
    coning = coning_of(s)
    out.t_ns[row] = s.t_ns
    out.dt_ns[row] = s.t_ns - s.start_ns
    for axis in range(3):
        out.delta_angle[row, axis] = s.alpha[axis] + coning[axis]
        out.delta_velocity[row, axis] = s.nu[axis] + s.sculling[axis]
        out.coning[row, axis] = coning[axis]
        out.sculling[row, axis] = s.sculling[axis]
    out.gyro_clipping[row] = s.gyro_clipping
    out.accel_clipping[row] = s.accel_clipping
