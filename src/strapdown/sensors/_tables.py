"""Tables of the user: checked, copied, and linear in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ShapeError, ValueRangeError

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["freeze", "increasing", "integral", "like"]


def increasing(value: ArrayLike, name: str) -> FloatArray:
    """Return ``value`` as finite floats (N,), N >= 1, that strictly increase.

    Raises
    ------
    ShapeError
        It has another shape.
    ValueRangeError
        A value is not finite, or not above the one before; the message names the row.
    """
    array = as_finite(value, name, ())
    if array.ndim != 1 or not len(array):
        raise ShapeError(f"expected {name} of shape (N,), got {array.shape}")
    late = np.flatnonzero(np.diff(array) <= 0.0)
    if late.size:
        row = int(late[0]) + 1
        raise ValueRangeError(
            f"expected {name} strictly increasing, got {array[row]} after {array[row - 1]} "
            f"in row {row}; sort the table, or drop the row"
        )
    return array


def like(value: ArrayLike, name: str, shape: tuple[int, ...]) -> FloatArray:
    """Return ``value`` as finite floats of exactly this shape.

    Raises
    ------
    ShapeError
        It has another shape.
    ValueRangeError
        A value is not finite.
    """
    array = as_finite(value, name, shape)
    if array.shape != shape:
        raise ShapeError(f"expected {name} of shape {shape}, got {array.shape}")
    return array


def freeze(owner: object, name: str, array: FloatArray) -> None:
    """Store a read-only copy in a frozen data class."""
    array = array.copy()
    array.flags.writeable = False
    object.__setattr__(owner, name, array)


def integral(nodes: FloatArray, values: FloatArray, at: FloatArray) -> FloatArray:
    """Integrate from the first node to ``at``: linear between nodes, constant outside."""
    steps = np.diff(nodes)
    sums = np.concatenate(([0.0], np.cumsum(steps * (values[1:] + values[:-1]) / 2.0)))
    slopes = np.concatenate(([0.0], np.diff(values) / steps, [0.0]))
    passed = np.searchsorted(nodes, at, side="right")
    before = np.maximum(passed - 1, 0)
    since = at - nodes[before]
    summed: FloatArray = sums[before] + since * (values[before] + 0.5 * slopes[passed] * since)
    return summed
