"""Rounding as in C, and to the integers of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import ArrayLike, FloatArray, IntArray

    Time = TypeVar("Time", int, IntArray)

__all__ = ["INT16", "as_int16", "nearest_us", "round_half_away"]

INT16: Final = np.iinfo(np.int16)


def round_half_away(values: ArrayLike) -> FloatArray:
    """Round to whole numbers, halves away from zero, as ``roundf`` does with float32."""
    wide = np.asarray(values, np.float64)  # adding 0.5 to a float32 is exact in float64
    return np.copysign(np.floor(np.abs(wide) + 0.5), wide)


def as_int16(whole: NDArray[np.floating]) -> NDArray[np.int16]:
    """Return whole numbers as int16 counts of a chip, saturated."""
    counts: NDArray[np.int16] = np.clip(whole, INT16.min, INT16.max).astype(np.int16)
    return counts


def nearest_us(t_ns: Time) -> Time:
    """Round times [ns] to whole microseconds, halves up."""
    return (t_ns + NS_PER_US // 2) // NS_PER_US
