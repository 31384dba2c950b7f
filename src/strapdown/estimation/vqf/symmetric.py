"""Symmetric 3x3 matrices, kept as six numbers: xx xy xz yy yz zz."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from strapdown._kernel import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._records import Vector

Six: TypeAlias = tuple[float, float, float, float, float, float]
Nine: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]

DIAGONAL: Final = (0, 3, 5)


@kernel
def six(m: Sequence[float]) -> Six:
    """Return a symmetric matrix as it is now."""
    return m[0], m[1], m[2], m[3], m[4], m[5]


@kernel
def nine(m: Sequence[float]) -> Nine:
    """Return a matrix, kept row by row, as it is now."""
    return m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]


@kernel
def quadratic(m: Sequence[float], x: float, y: float, z: float) -> float:
    """Return v^T M v, not below 0."""
    level = x * (m[0] * x + 2.0 * (m[1] * y + m[2] * z))
    return max(level + y * (m[3] * y + 2.0 * m[4] * z) + m[5] * z * z, 0.0)


@kernel
def inverse(xx: float, xy: float, xz: float, yy: float, yz: float, zz: float) -> Six:
    """Return the inverse of a matrix."""
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


@kernel
def shrink(p: Vector, a: Nine, s: Six) -> Nine:
    """Take a covariance P to P - K A^T after a measurement; return its gain K = A S.

    A = P H^T row by row; S is the inverse of the covariance of what was measured.
    """
    a00, a01, a02, a10, a11, a12, a20, a21, a22 = a
    s00, s01, s02, s11, s12, s22 = s
    k00 = a00 * s00 + a01 * s01 + a02 * s02
    k01 = a00 * s01 + a01 * s11 + a02 * s12
    k02 = a00 * s02 + a01 * s12 + a02 * s22
    k10 = a10 * s00 + a11 * s01 + a12 * s02
    k11 = a10 * s01 + a11 * s11 + a12 * s12
    k12 = a10 * s02 + a11 * s12 + a12 * s22
    k20 = a20 * s00 + a21 * s01 + a22 * s02
    k21 = a20 * s01 + a21 * s11 + a22 * s12
    k22 = a20 * s02 + a21 * s12 + a22 * s22
    p[0] -= k00 * a00 + k01 * a01 + k02 * a02
    p[1] -= k00 * a10 + k01 * a11 + k02 * a12
    p[2] -= k00 * a20 + k01 * a21 + k02 * a22
    p[3] -= k10 * a10 + k11 * a11 + k12 * a12
    p[4] -= k10 * a20 + k11 * a21 + k12 * a22
    p[5] -= k20 * a20 + k21 * a21 + k22 * a22
    return k00, k01, k02, k10, k11, k12, k20, k21, k22
