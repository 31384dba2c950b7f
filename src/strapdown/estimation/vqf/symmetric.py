"""Symmetric 3x3 matrices, stored as six numbers: xx xy xz yy yz zz."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from strapdown._kernels.kernel import kernel
from strapdown.geometry.vectors import dot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._kernels.records import Vector
    from strapdown._typing import Three

Six: TypeAlias = tuple[float, float, float, float, float, float]
Nine: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]

DIAGONAL: Final = (0, 3, 5)


@kernel
def six(m: Sequence[float]) -> Six:
    """Return a copy of a symmetric matrix as a tuple."""
    return m[0], m[1], m[2], m[3], m[4], m[5]


@kernel
def rows(m: Sequence[float]) -> tuple[Three, Three, Three]:
    """Return copies of the rows of a matrix that is stored row by row."""
    return (m[0], m[1], m[2]), (m[3], m[4], m[5]), (m[6], m[7], m[8])


@kernel
def times(m: Six, v: Three) -> Three:
    """Return M v."""
    xx, xy, xz, yy, yz, zz = m
    x, y, z = v
    return xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z


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
    """Update a covariance P to P - K A^T after a measurement; return its gain K = A S.

    A = P H^T row by row; S is the inverse of the covariance of the innovation.
    """
    a0, a1, a2 = rows(a)
    k0, k1, k2 = times(s, a0), times(s, a1), times(s, a2)
    p[0] -= dot(k0, a0)
    p[1] -= dot(k0, a1)
    p[2] -= dot(k0, a2)
    p[3] -= dot(k1, a1)
    p[4] -= dot(k1, a2)
    p[5] -= dot(k2, a2)
    return (*k0, *k1, *k2)
