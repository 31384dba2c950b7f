"""Vectors as tuples of three floats: sums and products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel

if TYPE_CHECKING:
    from strapdown._typing import Three

ZERO: Final = (0.0, 0.0, 0.0)


@kernel
def add(a: Three, b: Three) -> Three:
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def plus(a: Three, b: Three, weight: float) -> Three:
    """Return a + weight b."""
    return a[0] + weight * b[0], a[1] + weight * b[1], a[2] + weight * b[2]


@kernel
def scaled(a: Three, factor: float) -> Three:
    """Return factor a."""
    return factor * a[0], factor * a[1], factor * a[2]


@kernel
def unit(k: int) -> Three:
    """Return the unit vector along an axis."""
    return 1.0 * (k == 0), 1.0 * (k == 1), 1.0 * (k == 2)


@kernel
def cross(a: Three, b: Three) -> Three:
    """Return a x b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )
