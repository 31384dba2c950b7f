"""Vectors and matrices of records: read as tuples of floats, modified in place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from strapdown._kernels.kernel import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._kernels.records import Matrix, Vector
    from strapdown._typing import Four, Three


@kernel
def three(v: Sequence[float]) -> Three:
    """Return a copy of a vector as a tuple."""
    return v[0], v[1], v[2]


@kernel
def four(v: Sequence[float]) -> Four:
    """Return a copy of a quaternion as a tuple."""
    return v[0], v[1], v[2], v[3]


@kernel
def put(v: Vector, values: Three) -> None:
    """Write a vector."""
    v[0], v[1], v[2] = values


@kernel
def put_four(v: Vector, values: Four) -> None:
    """Write a quaternion."""
    v[0], v[1], v[2], v[3] = values


@kernel
def copy(v: Vector, values: Sequence[float]) -> None:
    """Write a vector of any length."""
    for i in range(len(v)):
        v[i] = values[i]


@kernel
def copy_rows(m: Matrix, values: Sequence[Sequence[float]]) -> None:
    """Write a matrix of any size."""
    for i in range(len(m)):
        copy(m[i], values[i])


@kernel
def clear(v: Vector) -> None:
    """Set every element of a vector to zero."""
    for i in range(len(v)):
        v[i] = 0.0


@kernel
def add_to(v: Vector, values: Three) -> None:
    """Add to a vector."""
    v[0] += values[0]
    v[1] += values[1]
    v[2] += values[2]


@kernel
def approach(v: Vector, weight: float, values: Sequence[float]) -> None:
    """Move a vector towards a value."""
    v[0] += weight * (values[0] - v[0])
    v[1] += weight * (values[1] - v[1])
    v[2] += weight * (values[2] - v[2])


@kernel
def dot(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the scalar product of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def matrix_times(m: Sequence[float], v: Three) -> Three:
    """Return the product of a matrix, stored row by row, and a vector."""
    x, y, z = v
    return (
        m[0] * x + m[1] * y + m[2] * z,
        m[3] * x + m[4] * y + m[5] * z,
        m[6] * x + m[7] * y + m[8] * z,
    )


@kernel
def square(v: Sequence[float]) -> float:
    """Return the squared length of a vector."""
    return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]


@kernel
def distance2(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the squared distance between two vectors."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return x * x + y * y + z * z


@kernel
def length(x: float, y: float) -> float:
    """Return the length of a vector in a plane.

    Python and the C library round ``hypot`` differently; this rounds the same everywhere.
    """
    return math.sqrt(x * x + y * y)


@kernel
def clamped(value: float, most: float) -> float:
    """Return a value clamped to -most ... most."""
    return min(max(value, -most), most)
