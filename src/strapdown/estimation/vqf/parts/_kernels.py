"""The pieces of VQF: its low-pass, and rotations and gains without a sine or exponential.

A low-pass of n numbers is laid out as: outputs (n), two rows of its memory (n each), how many
samples are in the mean that stands for it at first (-1: it runs), and coefficients b0, a1, a2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.estimation._kernels import GAP_INTERVALS
from strapdown.geometry._kernels import quaternion_exp

if TYPE_CHECKING:
    from strapdown._typing import FloatArray

INLINE = True
BORROWS = True

PACE_MEMORY: Final = 200.0  # intervals that a mean interval remembers
PACE_WEIGHT: Final = 1.0 / PACE_MEMORY
PACE_TOLERANCE: Final = 0.05  # of the interval that the low-passes are designed for
MOST_CUT_OFF: Final = 0.45  # of a low-pass, as a part of the sampling rate

# Taylor coefficients of sin(u)/u and cos(u), and of (1 - exp(-u))/u, without their signs
SINE_2: Final = 1.0 / 6.0
SINE_4: Final = 1.0 / 120.0
SINE_6: Final = 1.0 / 5040.0
SINE_8: Final = 1.0 / 362880.0
COSINE_4: Final = 1.0 / 24.0
COSINE_6: Final = 1.0 / 720.0
COSINE_8: Final = 1.0 / 40320.0
UPRIGHT_2: Final = 1.0 / 16.0
UPRIGHT_4: Final = 7.0 / 256.0
TILTED_4: Final = 5.0 / 128.0
EXP_2: Final = 1.0 / 6.0
EXP_3: Final = 1.0 / 24.0
EXP_4: Final = 1.0 / 120.0
# of atan(u)/u
ATAN_2: Final = 1.0 / 3.0
ATAN_4: Final = 1.0 / 5.0
ATAN_6: Final = 1.0 / 7.0
ATAN_8: Final = 1.0 / 9.0
ATAN_10: Final = 1.0 / 11.0
ATAN_12: Final = 1.0 / 13.0
ATAN_14: Final = 1.0 / 15.0
ATAN_16: Final = 1.0 / 17.0


def design(state: FloatArray, at: int, size: int, tau: float, interval: float) -> None:
    """Set the coefficients of a low-pass: Butterworth, second order, bilinear transform.

    The memory is changed so that a steady input goes on without a jump.
    """
    c = math.tan(math.pi * min(interval / (math.sqrt(2.0) * math.pi * tau), MOST_CUT_OFF))
    scale = 1.0 / (c * c + math.sqrt(2.0) * c + 1.0)
    b0 = c * c * scale
    a1 = 2.0 * (c * c - 1.0) * scale
    a2 = (1.0 - math.sqrt(2.0) * c + c * c) * scale
    end = at + 3 * size
    first, second = state[end + 1] - b0, b0 - a2 - state[end + 1] + state[end + 3]
    state[end + 1], state[end + 2], state[end + 3] = b0, a1, a2
    if state[end] < 0.0:
        for i in range(at, at + size):
            state[i + size] += first * state[i]
            state[i + 2 * size] += second * state[i]


def settle(state: FloatArray, at: int, size: int) -> None:
    """Let a low-pass run on from its mean, as if that had been the input for ever."""
    end = at + 3 * size
    b0, a2 = state[end + 1], state[end + 3]
    state[end] = -1.0
    for i in range(at, at + size):
        state[i + size] = (1.0 - b0) * state[i]
        state[i + 2 * size] = (b0 - a2) * state[i]


def average_anew(state: FloatArray, at: int, size: int, worth: float) -> None:
    """Let a low-pass go on as a mean, in which what is known counts as so many samples."""
    end = at + 3 * size
    if state[end] < 0.0:
        for i in range(at, at + size):
            state[i + size] = state[i]
        state[end] = worth
    state[end] = min(state[end], worth)


def low_pass(state: FloatArray, at: int, size: int, tau: float, interval: float) -> None:
    """Replace the inputs, written in the place of the outputs, by the outputs."""
    end = at + 3 * size
    b0, a1, a2 = state[end + 1], state[end + 2], state[end + 3]
    count = state[end]
    if count >= 0.0:
        state[end] = count + 1.0
        for i in range(at, at + size):
            state[i] = state[i + size] = state[i + size] + (state[i] - state[i + size]) / (
                count + 1.0
            )
        if (count + 1.0) * interval >= tau:
            settle(state, at, size)
        return
    for i in range(at, at + size):
        x = b0 * state[i]
        y = x + state[i + size]
        state[i + size] = 2.0 * x - a1 * y + state[i + 2 * size]
        state[i + 2 * size] = x - a2 * y
        state[i] = y


def four(state: FloatArray, at: int) -> tuple[float, float, float, float]:
    return state[at], state[at + 1], state[at + 2], state[at + 3]


def unit(x: float, y: float, z: float, w: float) -> tuple[float, float, float, float]:
    """Return a quaternion scaled to length 1."""
    square = x * x + y * y + z * z + w * w
    # Newton's step is exact to 1e-16 where the length is all but 1 already.
    scale = 1.5 - 0.5 * square if abs(square - 1.0) < 1e-8 else 1.0 / math.sqrt(square)
    return x * scale, y * scale, z * scale, w * scale


def store_four(state: FloatArray, at: int, x: float, y: float, z: float, w: float) -> None:
    state[at], state[at + 1], state[at + 2], state[at + 3] = x, y, z, w


def quadratic(
    xx: float, xy: float, xz: float, yy: float, yz: float, zz: float, x: float, y: float, z: float
) -> float:
    """Return v^T M v for a symmetric matrix and a vector, not below 0."""
    return max(
        x * (xx * x + 2.0 * (xy * y + xz * z)) + y * (yy * y + 2.0 * yz * z) + zz * z * z, 0.0
    )


def half_turn(x: float, y: float, z: float) -> tuple[float, float, float, float]:
    """Return the quaternion of twice the rotation vector, without sines where it is small."""
    s = x * x + y * y + z * z
    if s > 0.01:
        return quaternion_exp(x, y, z)
    # the Taylor series of sin(u)/u and cos(u) in s = u^2: the next terms are below 3e-17
    s2 = s * s
    c = (1.0 - s * SINE_2) + s2 * ((SINE_4 - s * SINE_6) + s2 * SINE_8)
    w = (1.0 - s * 0.5) + s2 * ((COSINE_4 - s * COSINE_6) + s2 * COSINE_8)
    return c * x, c * y, c * z, w


def small_turn(angle: float) -> tuple[float, float]:
    """Return sine and cosine, by the same series."""
    s = angle * angle
    if s > 0.01:
        return math.sin(angle), math.cos(angle)
    s2 = s * s
    c = (1.0 - s * SINE_2) + s2 * ((SINE_4 - s * SINE_6) + s2 * SINE_8)
    return c * angle, (1.0 - s * 0.5) + s2 * ((COSINE_4 - s * COSINE_6) + s2 * COSINE_8)


def upright(x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return x, y and w of the smallest rotation that brings a unit vector up; its z is 0."""
    s = x * x + y * y
    if s < 1e-5 and z > 0.0:  # the series of sqrt((1 + sqrt(1 - s)) / 2), and of half its inverse
        half = 0.5 + s * (UPRIGHT_2 + s * UPRIGHT_4)
        return half * y, -half * x, 1.0 - s * (0.125 + s * TILTED_4)
    double_square = 1.0 + z if z > -0.5 else s / (1.0 - z)  # the same; 1 + z cancels near -1
    w = math.sqrt(0.5 * double_square)
    if w > 1e-6:
        return 0.5 * y / w, -0.5 * x / w, w
    return 1.0, 0.0, 0.0


def clipped(value: float, most: float) -> float:
    return min(max(value, -most), most)


def inverse(
    xx: float, xy: float, xz: float, yy: float, yz: float, zz: float
) -> tuple[float, float, float, float, float, float]:
    """Return the inverse of a symmetric matrix: xx xy xz yy yz zz."""
    a, b, c = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    scale = 1.0 / (xx * a + xy * b + xz * c)
    return (
        a * scale,
        b * scale,
        c * scale,
        (xx * zz - xz * xz) * scale,
        (xy * xz - xx * yz) * scale,
        (xx * yy - xy * xy) * scale,
    )


def angle(y: float, x: float) -> float:
    """Return atan2(y, x)."""
    if abs(y) < 0.125 * x:
        r = y / x
        s = r * r
        s2 = s * s
        head = (1.0 - s * ATAN_2) + s2 * (ATAN_4 - s * ATAN_6)
        tail = (ATAN_8 - s * ATAN_10) + s2 * ((ATAN_12 - s * ATAN_14) + s2 * ATAN_16)
        return r * (head + s2 * s2 * tail)
    return math.atan2(y, x)


def wrapped(angle: float) -> float:
    """Bring an angle between -2 pi and 2 pi between -pi and pi."""
    if angle > math.pi:
        return angle - 2.0 * math.pi
    return angle + 2.0 * math.pi if angle < -math.pi else angle


def quick_gain(wait: float, tau: float) -> float:
    """Weight of a new value in a first-order low-pass after ``wait`` seconds."""
    x = wait / tau
    if x > 0.01:
        return -math.expm1(-x)
    return x * (1.0 - x * (0.5 - x * (EXP_2 - x * (EXP_3 - x * EXP_4))))


def paced(state: FloatArray, at: int, wait: float) -> bool:
    """Follow a sampling interval; return whether the low-passes no longer fit it."""
    if wait <= 0.0:
        return False
    mean, count = state[at], min(state[at + 1] + 1.0, PACE_MEMORY)
    weight = PACE_WEIGHT if count == PACE_MEMORY else 1.0 / count
    if count <= 2.0 or (count == 3.0 and mean > GAP_INTERVALS * wait):
        mean = wait  # before it was only a guess, or a gap
    mean += (min(wait, 2.0 * mean) - mean) * weight
    state[at], state[at + 1] = mean, count
    return bool(abs(mean - state[at + 2]) > PACE_TOLERANCE * state[at + 2])
