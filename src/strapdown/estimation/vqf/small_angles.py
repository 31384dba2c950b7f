"""Rotations, angles and gains by short series if they are small, accurate to 1e-16."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown.geometry.formulas import quaternion_exp

if TYPE_CHECKING:
    from strapdown._typing import Four, Three

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


@kernel
def unit(x: float, y: float, z: float, w: float) -> Four:
    """Return a quaternion scaled to length 1."""
    square = x * x + y * y + z * z + w * w
    # Newton's step is accurate to 1e-16 if the length is close to 1.
    scale = 1.5 - 0.5 * square if abs(square - 1.0) < 1e-8 else 1.0 / math.sqrt(square)
    return x * scale, y * scale, z * scale, w * scale


@kernel
def half_turn(x: float, y: float, z: float) -> Four:
    """Return the quaternion of twice the rotation vector, by a series if it is small."""
    s = x * x + y * y + z * z
    if s > 0.01:
        return quaternion_exp(x, y, z)
    c, w = sine_and_cosine(s)
    return c * x, c * y, c * z, w


@kernel
def small_turn(angle: float) -> tuple[float, float]:
    """Return sine and cosine, by the same series."""
    s = angle * angle
    if s > 0.01:
        return math.sin(angle), math.cos(angle)
    c, cosine = sine_and_cosine(s)
    return c * angle, cosine


@kernel
def sine_and_cosine(s: float) -> tuple[float, float]:
    """Return sin(u)/u and cos(u) by their Taylor series in s = u^2; the next terms: below 3e-17."""
    s2 = s * s
    c = (1.0 - s * SINE_2) + s2 * ((SINE_4 - s * SINE_6) + s2 * SINE_8)
    return c, (1.0 - s * 0.5) + s2 * ((COSINE_4 - s * COSINE_6) + s2 * COSINE_8)


@kernel
def upright(x: float, y: float, z: float) -> Three:
    """Return x, y, w of the smallest rotation that points a unit vector up; its z is 0."""
    s = x * x + y * y
    if s < 1e-5 and z > 0.0:  # the series of sqrt((1 + sqrt(1 - s)) / 2), and of half its inverse
        half = 0.5 + s * (UPRIGHT_2 + s * UPRIGHT_4)
        return half * y, -half * x, 1.0 - s * (0.125 + s * TILTED_4)
    double_square = 1.0 + z if z > -0.5 else s / (1.0 - z)  # the same; 1 + z cancels near -1
    w = math.sqrt(0.5 * double_square)
    if w > 1e-6:
        return 0.5 * y / w, -0.5 * x / w, w
    return 1.0, 0.0, 0.0


@kernel
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


@kernel
def wrapped(angle: float) -> float:
    """Wrap an angle between -2 pi and 2 pi to -pi to pi."""
    if angle > math.pi:
        return angle - 2.0 * math.pi
    return angle + 2.0 * math.pi if angle < -math.pi else angle


@kernel
def quick_gain(wait: float, tau: float) -> float:
    """Return the weight of a new value in a first-order low-pass after ``wait`` seconds."""
    x = wait / tau
    if x > 0.01:
        return -math.expm1(-x)
    return x * (1.0 - x * (0.5 - x * (EXP_2 - x * (EXP_3 - x * EXP_4))))
