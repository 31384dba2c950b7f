"""Strapdown mechanisation: attitude, velocity and position from one step to the next.

A step is described by its turn (rotation vector, coning included), its push (the integral of
the specific force in the turning axes of the body, sculling included) and by how much the
specific force changed in it. The first two give velocity and attitude after P. G. Savage
("Strapdown inertial navigation integration algorithm design", parts 1 and 2, Journal of
Guidance, Control, and Dynamics 21(1) and 21(2), 1998); the double integral of specific force
that position needs is exact for constant rates and specific force, and corrected for the
change to the same order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Record
from strapdown.geometry.formulas import quaternion_exp, quaternion_multiply, quaternion_rotate
from strapdown.geometry.triples import ZERO, add, cross, plus, scaled
from strapdown.geometry.vectors import length, square
from strapdown.geometry.wgs84 import (
    CENTRIFUGAL_RATIO,
    ECCENTRICITY_SQUARED,
    EQUATORIAL_GRAVITY,
    FLATTENING,
    SEMI_MAJOR_AXIS,
    SEMI_MINOR_AXIS,
    SOMIGLIANA,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._kernels.records import RecordArray
    from strapdown._typing import FloatArray, Four, IntArray, Three

SMALL_SQUARE = 0.01  # of an angle [rad^2], below which series are more accurate
HOLE = 0.5  # of an interval: a longer gap between increments is bridged

SECOND = ECCENTRICITY_SQUARED / (1.0 - FLATTENING) * SEMI_MAJOR_AXIS  # [m]


class Earth(Record):
    """World frame with the axes east, north, up of the origin, and its gravity."""

    gravity: float = 0.0  # of a flat Earth [m/s^2]; 0: WGS 84
    rate_north: float = 0.0  # angular velocity of the world [rad/s]
    rate_up: float = 0.0
    sine: float = 0.0  # of the latitude of the origin
    cosine: float = 1.0
    from_axis: float = 0.0  # distance of the origin from the Earth's axis [m]
    above: float = 0.0  # and above the plane of the equator [m]


class Motion(NamedTuple):
    """State of a body: q_world_from_body, velocity [m/s, world], position [m, world]."""

    q: Four
    v: Three
    p: Three


class Before(NamedTuple):
    """The last two steps, for the change of specific force: integrals and durations [s]."""

    push: Three
    h: float
    older: Three
    older_h: float
    turn: Three


FIRST = Before(ZERO, 0.0, ZERO, 0.0, ZERO)


@kernel
def advance(s: Motion, turn: Three, push: Three, change: Three, h: float, earth: Earth) -> Motion:
    """Return the state of the body after a step of h seconds.

    ``turn`` [rad], ``push`` [m/s]; ``change``: the change of specific force over the step times
    its duration [m/s], all in body axes and less biases.
    """
    velocity, path = increments(turn, push, change, h)
    q = quaternion_multiply(*s.q, *quaternion_exp(*scaled(turn, 0.5)))
    velocity = quaternion_rotate(*s.q, *velocity)
    path = quaternion_rotate(*s.q, *path)
    g = (0.0, 0.0, -earth.gravity)
    if earth.gravity == 0.0:
        half = 0.5 * h
        spin = (0.0, earth.rate_north, earth.rate_up)
        q = quaternion_multiply(*quaternion_exp(*scaled(spin, -half)), *q)
        g = gravity_at(earth, plus(s.p, s.v, half))
        # rotation of the world during the step, and Coriolis acceleration
        turned = plus(scaled(velocity, h), path, -1.0)
        path = plus(path, cross(spin, add(scaled(plus(s.v, g, h / 3.0), h), path)), -h)
        moved = add(scaled(plus(s.v, g, half), h), path)
        velocity = plus(velocity, cross(spin, plus(turned, moved, 2.0)), -1.0)
    size = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return Motion(
        (q[0] / size, q[1] / size, q[2] / size, q[3] / size),
        plus(add(s.v, velocity), g, h),
        add(plus(s.p, s.v, h), plus(path, scaled(g, 0.5 * h), h)),
    )


@kernel
def increments(turn: Three, push: Three, change: Three, h: float) -> tuple[Three, Three]:
    """Return the increments of velocity and position in the body axes at the start of a step.

    For a constant rate and specific force f these are the integral of Exp(w t) f and its
    integral, as Rodrigues' formula gives them. Where f changes by ``change`` / h, the second
    is smaller by a twelfth of ``change`` h, in the axes at the middle.
    """
    a, b, c = coefficients(square(turn))
    once = cross(turn, push)
    twice = cross(turn, once)
    mx, my, mz = quaternion_rotate(*quaternion_exp(*scaled(turn, 0.25)), *change)
    return (
        plus(plus(push, once, a), twice, b),
        (
            h * (0.5 * push[0] + b * once[0] + c * twice[0] - mx / 12.0),
            h * (0.5 * push[1] + b * once[1] + c * twice[1] - my / 12.0),
            h * (0.5 * push[2] + b * once[2] + c * twice[2] - mz / 12.0),
        ),
    )


@kernel
def coefficients(square: float) -> tuple[float, float, float]:
    """Return (1 - cos u) / u^2, (u - sin u) / u^3 and (1/2 - the first) / u^2, for u^2."""
    if square < SMALL_SQUARE:
        return (
            1 / 2 - square * (1 / 24 - square * (1 / 720 - square / 40320)),
            1 / 6 - square * (1 / 120 - square * (1 / 5040 - square / 362880)),
            1 / 24 - square * (1 / 720 - square * (1 / 40320 - square / 3628800)),
        )
    angle = math.sqrt(square)
    a = (1.0 - math.cos(angle)) / square
    return a, (angle - math.sin(angle)) / (angle * square), (0.5 - a) / square


@kernel
def change_of_integrals(push: Three, h: float, before: Before) -> Three:
    """Return the change of a quantity over a step, times h, from its integrals.

    It is that of the parabola with these integrals over three equal steps, or of the straight
    line over two steps; 0 without a step before.
    """
    if before.h == before.older_h == h:
        return plus(plus(scaled(push, 1.5), before.push, -2.0), before.older, 0.5)
    if before.h > 0.0:
        return line(before.push, before.h, push, h, h)
    return ZERO


@kernel
def line(a: Three, ha: float, b: Three, hb: float, h: float) -> Three:
    """Return h times the change over h of the line with integrals a over ha, then b over hb."""
    factor = 2.0 * h * h / (ha + hb)
    return plus(scaled(b, factor / hb), a, -factor / ha)


@kernel
def gravity_at(earth: Earth, position: Three) -> Three:
    """Return WGS 84 normal gravity, along the normal of the ellipsoid [m/s^2, world].

    The latitude by B. R. Bowring (Survey Review 23(181), 1976), gravity by NGA.STND.0036,
    eqs. 4-1 and 4-3; longitudes count from the origin.
    """
    if earth.gravity > 0.0:
        return 0.0, 0.0, -earth.gravity
    east, north, up = position
    out = earth.from_axis - earth.sine * north + earth.cosine * up
    z = earth.above + earth.cosine * north + earth.sine * up
    from_axis = length(out, east)
    sine, cosine = SEMI_MAJOR_AXIS * z, SEMI_MINOR_AXIS * from_axis
    for _ in range(3):
        sine, cosine = normalised(sine, cosine)
        sine, cosine = (
            (1.0 - FLATTENING) * (z + SECOND * (sine * sine * sine)),
            from_axis - ECCENTRICITY_SQUARED * SEMI_MAJOR_AXIS * (cosine * cosine * cosine),
        )
    sine = sine / (1.0 - FLATTENING)
    sine, cosine = normalised(sine, cosine)
    root = math.sqrt(1.0 - ECCENTRICITY_SQUARED * sine * sine)
    h = (from_axis * cosine + z * sine) / SEMI_MAJOR_AXIS - root
    slope = 2.0 * (1.0 + FLATTENING + CENTRIFUGAL_RATIO - 2.0 * FLATTENING * sine * sine)
    ellipsoid = EQUATORIAL_GRAVITY * (1.0 + SOMIGLIANA * sine * sine) / root
    g = ellipsoid * (1.0 - slope * h + 3.0 * h * h)
    if from_axis > 0.0:
        out, east = cosine * out / from_axis, cosine * east / from_axis
    return (
        -g * east,
        -g * (earth.cosine * sine - earth.sine * out),
        -g * (earth.sine * sine + earth.cosine * out),
    )


@kernel
def normalised(sine: float, cosine: float) -> tuple[float, float]:
    """Return sine and cosine of the same angle whose squares add up to 1."""
    size = length(sine, cosine)
    return sine / size, cosine / size


@kernel
def run(
    s: Motion,
    place: Sequence[Earth] | RecordArray,
    t_ns: IntArray,
    turn: FloatArray,
    push: FloatArray,
    turn_dt_ns: IntArray,
    push_dt_ns: IntArray,
    q: FloatArray,
    v: FloatArray,
    p: FloatArray,
    holes_ns: IntArray,
) -> None:
    """Step through increments; write the state after each, and the time bridged before it.

    A row that is not finite does not change the state; its time is bridged at the next row.
    """
    earth, before, reached_ns = place[0], FIRST, t_ns[0] - push_dt_ns[0]
    for i in range(len(t_ns)):
        w = (turn[i, 0], turn[i, 1], turn[i, 2])
        f = (push[i, 0], push[i, 1], push[i, 2])
        h, h_turn = push_dt_ns[i] * 1e-9, turn_dt_ns[i] * 1e-9
        if math.isfinite(w[0] + w[1] + w[2] + f[0] + f[1] + f[2]) and h > 0.0 and h_turn > 0.0:
            hole_ns = t_ns[i] - push_dt_ns[i] - reached_ns
            if hole_ns > HOLE * push_dt_ns[i]:
                s = bridge(s, scaled(w, 1.0 / h_turn), scaled(f, 1.0 / h), before, hole_ns, earth)
                before = FIRST
                holes_ns[i] = hole_ns
            change = change_of_integrals(f, h, before)
            if before.h == 0.0 and i + 1 < len(t_ns) and t_ns[i + 1] - push_dt_ns[i + 1] == t_ns[i]:
                next_push = (push[i + 1, 0], push[i + 1, 1], push[i + 1, 2])
                change = line(f, h, next_push, push_dt_ns[i + 1] * 1e-9, h)
            s = advance(s, w, f, change, h, earth)
            before = Before(f, h, before.push, before.h, w)
            reached_ns = t_ns[i]
        for k in range(3):
            q[i, k], v[i, k], p[i, k] = s.q[k], s.v[k], s.p[k]
        q[i, 3] = s.q[3]


@kernel
def bridge(
    s: Motion, rate: Three, force: Three, before: Before, hole_ns: int, earth: Earth
) -> Motion:
    """Return the state of the body after a gap, by the mean of the rates on both sides."""
    h, mean_rate, mean_force = hole_ns * 1e-9, rate, force
    if before.h > 0.0:
        mean_rate = plus(scaled(rate, 0.5), before.turn, 0.5 / before.h)
        mean_force = plus(scaled(force, 0.5), before.push, 0.5 / before.h)
    return advance(s, scaled(mean_rate, h), scaled(mean_force, h), ZERO, h, earth)
