"""A whole recording through VQF: the bias from both directions, then filters without delay.

D. Laidig, T. Seel, "VQF", Information Fusion 91, 2023, section 3.7. Rows of ``passed``, what one
pass in one direction knows of each sample:

=====  ============  ==================================================================
place  name          holds
=====  ============  ==================================================================
0      EVENT         what the sample was for the intake; later variance of the bias about up
1      DT            seconds since the one before
2-4    TURN          what the gyro measured over them, bias included [rad, body]
5      HAS_FORCE     1 where there is a usable specific force, and magnetic field
6      HAS_FIELD
7      LOST          turn that was lost up to this sample [rad]
8-10   PASSED_BIAS   gyro bias [rad/s]
11-16  PASSED_SPREAD its covariance
17     RESTS         1 at rest
18     IS_DISTURBED  1 in a disturbed magnetic field
=====  ============  ==================================================================
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.estimation._kernels import (
    AT_REST,
    BIAS,
    BIAS_SIGMA,
    COVARIANCE,
    DISTURBED,
    HEADING_OFFSET,
    ORIENTATION,
    START,
)
from strapdown.estimation.vqf._kernels import LOOSE_ANGLE, take
from strapdown.estimation.vqf.corrections._kernels import (
    DIAGONAL,
    FIELD_WORTH,
    FORCE_WORTH,
    MIN_UP,
    UNKNOWN,
)
from strapdown.estimation.vqf.layout import (
    BROKEN,
    HEADING_SIGMA,
    RATE_NOISE,
    REJECTION_FACTOR,
    REJECTION_TIME,
    REJECTS,
    SPREAD,
    TAU_ACC,
    TAU_MAG,
    TILT_SIGMA,
)
from strapdown.estimation.vqf.parts._kernels import (
    average_anew,
    design,
    half_turn,
    inverse,
    low_pass,
    quadratic,
    quick_gain,
    settle,
    unit,
    upright,
    wrapped,
)
from strapdown.geometry._kernels import (
    quaternion_multiply,
    quaternion_rotate,
)

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

INLINE = True
BORROWS = True

EVENT: Final = 0
ABOUT_UP: Final = 0
DT: Final = 1
TURN: Final = 2
HAS_FORCE: Final = 5
HAS_FIELD: Final = 6
LOST: Final = 7
PASSED_BIAS: Final = 8
PASSED_SPREAD: Final = 11
RESTS: Final = 17
IS_DISTURBED: Final = 18
PASSED: Final = 19

SHORTEST_S: Final = 1e-9  # an interval that is not zero

LOST_ALL: Final = 1e3  # rad; at a restart of the clock nothing is known of the turn


def go_through(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    t_ns: IntArray,
    rate: FloatArray,
    force: FloatArray,
    field: FloatArray,
    clipped: IntArray,
    passed: FloatArray,
) -> None:
    """Run the recursive filter in one direction."""
    for i in range(len(t_ns)):
        sample = take(
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
            False,
        )
        passed[i, EVENT], passed[i, DT] = sample.event, sample.dt
        passed[i, TURN], passed[i, TURN + 1] = sample.turn_x, sample.turn_y
        passed[i, TURN + 2] = sample.turn_z
        passed[i, HAS_FORCE] = sample.force_wait >= 0.0
        passed[i, HAS_FIELD] = sample.field_wait >= 0.0
        passed[i, LOST] = LOST_ALL if sample.event == START else state[BROKEN]
        for k in range(3):
            passed[i, PASSED_BIAS + k] = state[BIAS + k]
        for k in range(6):
            passed[i, PASSED_SPREAD + k] = state[SPREAD + k]
        passed[i, RESTS], passed[i, IS_DISTURBED] = state[AT_REST], state[DISTURBED]


def smooth(
    settings: FloatArray,
    force_interval: float,
    field_interval: float,
    force: FloatArray,
    field: FloatArray,
    passed: FloatArray,
    back: FloatArray,
    gyro: FloatArray,
    level: FloatArray,
    room: FloatArray,
    out: FloatArray,
) -> None:
    """Join two passes and go through their samples once more, with filters that do not delay.

    ``back`` comes from the backward pass, in its order; ``gyro`` (N, 4), ``level`` (N, 3) and
    ``room`` (13,) are room to work in.
    """
    join(passed, back, out)
    integrate(passed, out, force, gyro, level)
    low_pass_both_ways(settings, force_interval, passed, room, level, out)
    level_out(passed, gyro, level, field, out)
    follow_heading(settings, field_interval, passed, out, False)
    follow_heading(settings, field_interval, passed, out, True)
    finish(passed, out)


def join(passed: FloatArray, back: FloatArray, out: FloatArray) -> None:
    """Weigh the biases of the two directions by their covariances; the backward one is negative.

    With S = (P1 + P2)^-1: b = b1 + P1 S (b2 - b1) and P = P1 - P1 S P1, which is the mean
    weighted by the inverses of P1 and P2.
    """
    n = len(out)
    for i in range(n):
        j = n - 1 - i
        at = PASSED_SPREAD
        pxx, pxy, pxz = passed[i, at], passed[i, at + 1], passed[i, at + 2]
        pyy, pyz, pzz = passed[i, at + 3], passed[i, at + 4], passed[i, at + 5]
        sxx, sxy, sxz, syy, syz, szz = inverse(
            pxx + back[j, at],
            pxy + back[j, at + 1],
            pxz + back[j, at + 2],
            pyy + back[j, at + 3],
            pyz + back[j, at + 4],
            pzz + back[j, at + 5],
        )
        # k = P1 S
        k00 = pxx * sxx + pxy * sxy + pxz * sxz
        k01 = pxx * sxy + pxy * syy + pxz * syz
        k02 = pxx * sxz + pxy * syz + pxz * szz
        k10 = pxy * sxx + pyy * sxy + pyz * sxz
        k11 = pxy * sxy + pyy * syy + pyz * syz
        k12 = pxy * sxz + pyy * syz + pyz * szz
        k20 = pxz * sxx + pyz * sxy + pzz * sxz
        k21 = pxz * sxy + pyz * syy + pzz * syz
        k22 = pxz * sxz + pyz * syz + pzz * szz
        b = PASSED_BIAS
        x, y, z = passed[i, b], passed[i, b + 1], passed[i, b + 2]
        dx, dy, dz = -back[j, b] - x, -back[j, b + 1] - y, -back[j, b + 2] - z
        out[i, BIAS] = x + k00 * dx + k01 * dy + k02 * dz
        out[i, BIAS + 1] = y + k10 * dx + k11 * dy + k12 * dz
        out[i, BIAS + 2] = z + k20 * dx + k21 * dy + k22 * dz
        passed[i, at] = pxx - (k00 * pxx + k01 * pxy + k02 * pxz)
        passed[i, at + 1] = pxy - (k00 * pxy + k01 * pyy + k02 * pyz)
        passed[i, at + 2] = pxz - (k00 * pxz + k01 * pyz + k02 * pzz)
        passed[i, at + 3] = pyy - (k10 * pxy + k11 * pyy + k12 * pyz)
        passed[i, at + 4] = pyz - (k10 * pxz + k11 * pyz + k12 * pzz)
        passed[i, at + 5] = pzz - (k20 * pxz + k21 * pyz + k22 * pzz)
        out[i, AT_REST] = max(passed[i, RESTS], back[j, RESTS])
        out[i, DISTURBED] = min(passed[i, IS_DISTURBED], back[j, IS_DISTURBED])


def integrate(
    passed: FloatArray, out: FloatArray, force: FloatArray, gyro: FloatArray, level: FloatArray
) -> None:
    """Turn by the gyro alone, and turn the specific forces with it."""
    x, y, z, w = 0.0, 0.0, 0.0, 1.0
    for i in range(len(out)):
        dt = passed[i, DT]
        turn = half_turn(
            0.5 * (passed[i, TURN] - dt * out[i, BIAS]),
            0.5 * (passed[i, TURN + 1] - dt * out[i, BIAS + 1]),
            0.5 * (passed[i, TURN + 2] - dt * out[i, BIAS + 2]),
        )
        x, y, z, w = unit(*quaternion_multiply(x, y, z, w, *turn))
        gyro[i, 0], gyro[i, 1], gyro[i, 2], gyro[i, 3] = x, y, z, w
        if passed[i, HAS_FORCE] > 0.0:
            level[i, 0], level[i, 1], level[i, 2] = quaternion_rotate(
                x, y, z, w, force[i, 0], force[i, 1], force[i, 2]
            )


def low_pass_both_ways(
    settings: FloatArray,
    interval: float,
    passed: FloatArray,
    room: FloatArray,
    level: FloatArray,
    out: FloatArray,
) -> None:
    """Low-pass the turned specific forces forwards, then backwards, so that nothing is delayed.

    Where a turn was lost the averages begin anew, and the variance of tilt is larger around.
    """
    n, tau = len(level), settings[TAU_ACC]
    kept = (1.0 - quick_gain(interval, tau)) ** 2
    least = settings[TILT_SIGMA] * settings[TILT_SIGMA]
    design(room, 0, 3, tau, interval)
    extra = 0.0
    for i in range(n):
        extra = kept * extra + average_after(room, passed[i, LOST], interval, tau)
        if passed[i, HAS_FORCE] > 0.0:
            low_pass_one(room, tau, interval, level, i)
        out[i, COVARIANCE] = least + extra
    settle(room, 0, 3)
    extra = 0.0
    for i in range(n - 1, -1, -1):
        if passed[i, HAS_FORCE] > 0.0:
            low_pass_one(room, tau, interval, level, i)
        else:
            level[i, 0], level[i, 1], level[i, 2] = room[0], room[1], room[2]
        out[i, COVARIANCE] = min(out[i, COVARIANCE] + extra, UNKNOWN)
        extra = kept * extra + average_after(room, passed[i, LOST], interval, tau)


def low_pass_one(room: FloatArray, tau: float, interval: float, level: FloatArray, i: int) -> None:
    room[0], room[1], room[2] = level[i, 0], level[i, 1], level[i, 2]
    low_pass(room, 0, 3, tau, interval)
    level[i, 0], level[i, 1], level[i, 2] = room[0], room[1], room[2]


def average_after(room: FloatArray, lost: float, interval: float, tau: float) -> float:
    """Average anew where a turn was lost; return what the variance of tilt is larger by."""
    if lost < LOOSE_ANGLE:
        return 0.0
    average_anew(room, 0, 3, FORCE_WORTH / (lost * lost * interval))
    return min(lost * lost, FORCE_WORTH / tau)


def level_out(
    passed: FloatArray, gyro: FloatArray, level: FloatArray, field: FloatArray, out: FloatArray
) -> None:
    """Bring the low-passed specific force up; find the heading of the magnetic field.

    The place of EVENT takes the variance of the bias about the vertical.
    """
    tx, ty, tz, tw = 0.0, 0.0, 0.0, 1.0
    for i in range(len(out)):
        ux, uy, uz = quaternion_rotate(tx, ty, tz, tw, level[i, 0], level[i, 1], level[i, 2])
        square = ux * ux + uy * uy + uz * uz
        if square >= MIN_UP * MIN_UP:
            scale = 1.0 / math.sqrt(square)
            px, py, pw = upright(scale * ux, scale * uy, scale * uz)
            tx, ty, tz, tw = unit(*quaternion_multiply(px, py, 0.0, pw, tx, ty, tz, tw))
        x, y, z, w = quaternion_multiply(
            tx, ty, tz, tw, gyro[i, 0], gyro[i, 1], gyro[i, 2], gyro[i, 3]
        )
        out[i, ORIENTATION], out[i, ORIENTATION + 1] = x, y
        out[i, ORIENTATION + 2], out[i, ORIENTATION + 3] = z, w
        at = PASSED_SPREAD
        passed[i, ABOUT_UP] = quadratic(
            passed[i, at], passed[i, at + 1], passed[i, at + 2],
            passed[i, at + 3], passed[i, at + 4], passed[i, at + 5],
            2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y),
        )  # fmt: skip
        if passed[i, HAS_FIELD] > 0.0:
            east, north, _ = quaternion_rotate(x, y, z, w, field[i, 0], field[i, 1], field[i, 2])
            out[i, HEADING_OFFSET] = math.atan2(east, north)


def follow_heading(
    settings: FloatArray, interval: float, passed: FloatArray, out: FloatArray, backward: bool
) -> None:
    """Replace the headings of the magnetic field by their low-pass, in one direction."""
    n = len(out)
    offset, opening, rejected, wait = 0.0, 1.0, 0.0, interval
    noise = settings[RATE_NOISE] * settings[RATE_NOISE]
    floor = settings[HEADING_SIGMA] * settings[HEADING_SIGMA]
    variance = UNKNOWN if backward or interval > 0.0 else 0.0
    for k in range(n):
        i = n - 1 - k if backward else k
        if k > 0:
            dt = passed[i + 1, DT] if backward else passed[i, DT]
            wait += dt
            lost = passed[i + 1, LOST] if backward else passed[i, LOST]
            if lost >= LOOSE_ANGLE:
                fields = FIELD_WORTH / (lost * lost * max(interval, SHORTEST_S))
                opening = max(opening, 1.0 / (1.0 + fields))
                variance += lost * lost
            grown = 2.0 * math.sqrt(variance * passed[i, ABOUT_UP])
            variance = min(variance + dt * (noise + grown), UNKNOWN)
        if passed[i, HAS_FIELD] > 0.0:
            weight = quick_gain(wait, settings[TAU_MAG])
            if settings[REJECTS] > 0.0:
                if out[i, DISTURBED] == 0.0:
                    rejected = max(rejected - settings[REJECTION_FACTOR] * wait, 0.0)
                elif rejected <= settings[REJECTION_TIME]:
                    rejected += wait
                    weight = 0.0
                else:
                    weight /= settings[REJECTION_FACTOR]
            if opening > 0.0:
                weight = max(weight, opening)
                opening /= opening + 1.0
                opening = opening if opening * settings[TAU_MAG] >= interval else 0.0
            if weight == 1.0:
                offset = out[i, HEADING_OFFSET]
            else:
                offset = wrapped(offset + weight * wrapped(out[i, HEADING_OFFSET] - offset))
            variance = floor + (1.0 - weight) ** 2 * (variance - floor)
            wait = 0.0
        out[i, HEADING_OFFSET] = offset
        at = COVARIANCE + 5
        out[i, at] = min(out[i, at], variance) if backward else variance


def finish(passed: FloatArray, out: FloatArray) -> None:
    """Turn to magnetic north, with signs that continue; fill in the covariances."""
    px, py, pz, pw = 0.0, 0.0, 0.0, 1.0
    for i in range(len(out)):
        half = 0.5 * out[i, HEADING_OFFSET]
        x, y, z, w = unit(
            *quaternion_multiply(
                0.0, 0.0, math.sin(half), math.cos(half),
                out[i, ORIENTATION], out[i, ORIENTATION + 1],
                out[i, ORIENTATION + 2], out[i, ORIENTATION + 3],
            )
        )  # fmt: skip
        if x * px + y * py + z * pz + w * pw < 0.0:
            x, y, z, w = -x, -y, -z, -w
        out[i, ORIENTATION], out[i, ORIENTATION + 1] = x, y
        out[i, ORIENTATION + 2], out[i, ORIENTATION + 3] = z, w
        px, py, pz, pw = x, y, z, w
        out[i, COVARIANCE + 3] = out[i, COVARIANCE]
        for k in range(3):
            out[i, BIAS_SIGMA + k] = math.sqrt(passed[i, PASSED_SPREAD + DIAGONAL[k]])
