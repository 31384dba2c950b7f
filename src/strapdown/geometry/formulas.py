"""Quaternion formulas, component by component, each defined once.

Every function takes and returns plain components, so the same source serves floats in a
streaming filter, compiled loops, and whole arrays in :mod:`strapdown.geometry.quaternion`.
Order x, y, z, w; Hamilton product; a unit quaternion ``q_a_from_b`` converts components in
frame b to components in frame a.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from strapdown._kernels.kernel import kernel

if TYPE_CHECKING:
    from strapdown._typing import FloatArray

    Real = TypeVar("Real", float, FloatArray)


@kernel
def quaternion_multiply(
    px: Real, py: Real, pz: Real, pw: Real, qx: Real, qy: Real, qz: Real, qw: Real
) -> tuple[Real, Real, Real, Real]:
    """Return the Hamilton product p q."""
    return (
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
        pw * qw - px * qx - py * qy - pz * qz,
    )


@kernel
def quaternion_rotate(
    qx: Real, qy: Real, qz: Real, qw: Real, vx: Real, vy: Real, vz: Real
) -> tuple[Real, Real, Real]:
    """Return the vector v rotated by the unit quaternion q."""
    # v + 2 w (u x v) + 2 u x (u x v), with u the vector part: 18 products instead of 27.
    tx = 2.0 * (qy * vz - qz * vy)
    ty = 2.0 * (qz * vx - qx * vz)
    tz = 2.0 * (qx * vy - qy * vx)
    return (
        vx + qw * tx + (qy * tz - qz * ty),
        vy + qw * ty + (qz * tx - qx * tz),
        vz + qw * tz + (qx * ty - qy * tx),
    )


@kernel
def quaternion_to_matrix(
    x: Real, y: Real, z: Real, w: Real
) -> tuple[Real, Real, Real, Real, Real, Real, Real, Real, Real]:
    """Return the rotation matrix of a unit quaternion, row by row."""
    return (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - z * w),
        2.0 * (x * z + y * w),
        2.0 * (x * y + z * w),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - x * w),
        2.0 * (x * z - y * w),
        2.0 * (y * z + x * w),
        1.0 - 2.0 * (x * x + y * y),
    )


@kernel
def quaternion_from_half_angles_zyx(
    sin_roll: Real,
    cos_roll: Real,
    sin_pitch: Real,
    cos_pitch: Real,
    sin_yaw: Real,
    cos_yaw: Real,
) -> tuple[Real, Real, Real, Real]:
    """Return the quaternion of Rz(yaw) Ry(pitch) Rx(roll) from half-angle sines and cosines."""
    return (
        sin_roll * cos_pitch * cos_yaw - cos_roll * sin_pitch * sin_yaw,
        cos_roll * sin_pitch * cos_yaw + sin_roll * cos_pitch * sin_yaw,
        cos_roll * cos_pitch * sin_yaw - sin_roll * sin_pitch * cos_yaw,
        cos_roll * cos_pitch * cos_yaw + sin_roll * sin_pitch * sin_yaw,
    )


@kernel
def quaternion_exp(x: float, y: float, z: float) -> tuple[float, float, float, float]:
    """Return (sin|u| u/|u|, cos|u|), the rotation by the vector 2u, for plain floats."""
    square = x * x + y * y + z * z
    angle = math.sqrt(square)
    # below 1e-4 the next term of the series, angle^4 / 120, is under 1e-18
    scale = math.sin(angle) / angle if angle > 1e-4 else 1.0 - square / 6.0
    return x * scale, y * scale, z * scale, math.cos(angle)


@kernel
def quaternion_log(x: float, y: float, z: float, w: float) -> tuple[float, float, float]:
    """Return u, half the vector of the rotation by at most pi, for plain floats."""
    sine = math.sqrt(x * x + y * y + z * z)
    if sine == 0.0:
        return 0.0, 0.0, 0.0
    scale = math.atan2(sine, abs(w)) / sine
    if w < 0.0:
        scale = -scale
    return x * scale, y * scale, z * scale


# Angles of the InertialUnit as Webots R2021b to R2025a (profiles R2023b and R2025a) compute them
# from a quaternion, in this order of evaluation, so that the bits agree. R2021a uses the NUE terms
# in all worlds.


@kernel
def webots_nue_terms(x: Real, y: Real, z: Real, w: Real) -> tuple[Real, Real, Real, Real, Real]:
    """Return the terms of roll, pitch and yaw in a NUE world.

    These are cos(pitch) times sine and cosine of roll, the sine of pitch, and cos(pitch) times
    sine and cosine of yaw: roll = atan2(first, second), pitch = asin(third), and
    yaw = atan2(fourth, fifth).
    """
    return (
        2.0 * x * w - 2.0 * y * z,
        1.0 - 2.0 * x * x - 2.0 * z * z,
        2.0 * x * y + 2.0 * z * w,
        2.0 * y * w - 2.0 * x * z,
        1.0 - 2.0 * y * y - 2.0 * z * z,
    )


@kernel
def webots_enu_terms(x: Real, y: Real, z: Real, w: Real) -> tuple[Real, Real, Real, Real, Real]:
    """Return the terms in an ENU world, in the order of :func:`webots_nue_terms`."""
    return (
        2.0 * (w * x + y * z),
        1.0 - 2.0 * (x * x + y * y),
        2.0 * (w * y - z * x),
        2.0 * (w * z + x * y),
        1.0 - 2.0 * (y * y + z * z),
    )
